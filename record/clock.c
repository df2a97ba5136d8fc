/* The clock of a recording, and how it relates to the system's clocks. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core.h"

#include <linux/perf_event.h>
#include <sys/prctl.h>

uint32_t spur_trace_tsc[SEAM_GUARD];
CORE_HERE struct core_guard core_guard;
CORE_HERE bool core_guarded;
CORE_HERE bool core_clock_learns;
static bool is_tsc;

enum { MOMENT_READINGS = 3, PAIR_READINGS = 8 };

uint64_t spur_trace_ticks(void)
{
	core_look_orphan();
	return core_clock_ticks();
}

uint64_t core_clock_ticks(void)
{
	return is_tsc ? seam_tsc() : seam_clock(CLOCK_MONOTONIC);
}

/*
 * Of some readings the closest one: between two clocks the thread may be interrupted, and what a
 * tick is may have to be known from two such moments that are close to each other.
 */
static struct core_moment closest(unsigned readings)
{
	struct core_moment best = { 0, 0 };
	uint64_t least = UINT64_MAX;

	while (readings--) {
		const uint64_t before = core_clock_ticks(), mono = seam_clock(CLOCK_MONOTONIC),
			       after = core_clock_ticks();

		if (after - before < least) {
			least = after - before;
			best.ticks = before + (after - before) / 2;
			best.mono = mono;
		}
	}
	if (!is_tsc)
		best.ticks = best.mono;
	return best;
}

struct core_moment core_clock_moment(void)
{
	return closest(is_tsc ? MOMENT_READINGS : 1);
}

struct core_pair core_clock_pair(void)
{
	const struct core_moment best = closest(PAIR_READINGS);

	return (struct core_pair){ best.ticks, best.mono,
				   seam_clock(CLOCK_REALTIME) -
					   (seam_clock(CLOCK_MONOTONIC) - best.mono) };
}

/*
 * SPEC spur/learned-clock: where the kernel does not tell the frequency, it follows from the time
 * since the recording began. Without it, the times of a process that is killed would follow from
 * its chunks alone, the first of which is taken microseconds after the beginning.
 */
void core_clock_learn(void)
{
	__extension__ typedef unsigned __int128 wide; /* ISO C has none */
	uint64_t ticks, mono;
	struct core_moment now;
	uint8_t *head;

	if (!core_clock_learns)
		return;
	now = closest(MOMENT_READINGS);
	seam_add32(&core_users, 1);
	seam_fence_threads();
	head = core_session.head;
	if (seam_load(&core_session.number)) {
		ticks = now.ticks - seam_load(head + SPB_BEGIN_AT);
		mono = now.mono - seam_load(head + SPB_BEGIN_AT + 8);
		if ((int64_t)ticks > 0 && (int64_t)mono > 0)
			seam_store(head + SPB_HZ_AT, (uint64_t)((wide)ticks * 1000000000 / mono));
	}
	seam_add32(&core_users, UINT32_MAX);
}

/* SPEC spur/clock: the TSC only where the kernel itself trusts it. */
void core_clock_find(void)
{
#if defined(__x86_64__)
	char name[16];

	core_file_read("/sys/devices/system/clocksource/clocksource0/current_clocksource", name,
		       sizeof(name));
	is_tsc = strncmp(name, "tsc\n", 4) == 0 && prctl(PR_GET_TSC, &(int){ 0 }) == 0;
#endif
	core_guarded = seam_guard(&core_guard, sizeof(core_guard)) &&
		       seam_guard(spur_trace_tsc, sizeof(spur_trace_tsc));
	core_guard_set();
}

void core_guard_set(void)
{
	core_guard.alive = 1;
	spur_trace_tsc[0] = is_tsc;
}

uint64_t core_clock_hz(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_DUMMY,
					.exclude_kernel = 1 };
	__extension__ typedef unsigned __int128 wide; /* ISO C has none */
	const long page = sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *p;
	uint64_t hz = 0;
	int fd;

	if (!is_tsc)
		return 1000000000;
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return 0;
	p = mmap(NULL, (size_t)page, PROT_READ, MAP_SHARED, fd, 0);
	if (p != MAP_FAILED) {
		if (p->cap_user_time && p->time_mult && p->time_shift < 64)
			hz = (uint64_t)(((wide)1000000000 << p->time_shift) / p->time_mult);
		munmap(p, (size_t)page);
	}
	close(fd);
	return hz;
}
