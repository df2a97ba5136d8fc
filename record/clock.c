/* The clock of a recording, and how it relates to the system's clocks. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core.h"

#include <linux/perf_event.h>
#include <sys/prctl.h>

bool spur_trace_tsc;

uint64_t spur_trace_ns(void)
{
	return seam_clock(CLOCK_MONOTONIC);
}

uint64_t core_clock_ticks(void)
{
	return spur_trace_tsc ? seam_tsc() : seam_clock(CLOCK_MONOTONIC);
}

struct core_moment core_clock_moment(void)
{
	return (struct core_moment){ core_clock_ticks(), seam_clock(CLOCK_MONOTONIC) };
}

struct core_pair core_clock_pair(void)
{
	struct core_pair best = { 0, 0, 0 };
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 8; i++) {
		const uint64_t before = core_clock_ticks(), mono = seam_clock(CLOCK_MONOTONIC),
			       after = core_clock_ticks();

		if (after - before < least) {
			least = after - before;
			best.ticks = before + (after - before) / 2;
			best.mono = mono;
		}
	}
	best.real = seam_clock(CLOCK_REALTIME) - (seam_clock(CLOCK_MONOTONIC) - best.mono);
	if (!spur_trace_tsc)
		best.ticks = best.mono;
	return best;
}

/* SPEC spur/clock: the TSC only where the kernel itself trusts it. */
void core_clock_find(void)
{
#if defined(__x86_64__)
	char name[16];

	core_file_read("/sys/devices/system/clocksource/clocksource0/current_clocksource", name,
		       sizeof(name));
	spur_trace_tsc = strncmp(name, "tsc\n", 4) == 0 && prctl(PR_GET_TSC, &(int){ 0 }) == 0;
#endif
}

uint64_t core_clock_hz(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_DUMMY,
					.exclude_kernel = 1 };
	const long page = sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *p;
	uint64_t hz = 0;
	int fd;

	if (!spur_trace_tsc)
		return 1000000000;
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return 0;
	p = mmap(NULL, (size_t)page, PROT_READ, MAP_SHARED, fd, 0);
	if (p != MAP_FAILED) {
		if (p->cap_user_time && p->time_mult && p->time_shift < 64)
			hz = (uint64_t)(((unsigned __int128)1000000000 << p->time_shift) /
					p->time_mult);
		munmap(p, (size_t)page);
	}
	close(fd);
	return hz;
}
