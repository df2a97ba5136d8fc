/* Counters: of the kernel's perf events for a program as a whole, and of /proc for each process. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "recorder/kernel.h"

enum { OPENED_MOST = 1 << 24 };

/* In place of a type of perf events: a line of /proc/PID/status, or a field of /proc/PID/stat. */
enum { OF_STATUS = 1000, OF_STAT };

static const struct {
	const char *name;
	uint32_t type;
	uint64_t config;
	const char *line; /* of /proc/PID/status */
} counters[] = {
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, NULL },
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, NULL },
	{ "cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, NULL },
	{ "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, NULL },
	{ "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, NULL },
	{ "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, NULL },
	{ "task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, NULL },
	{ "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, NULL },
	{ "context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, NULL },
	{ "cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, NULL },
	{ "max-rss", OF_STATUS, 1024, "VmHWM:" },
	{ "rss", OF_STATUS, 1024, "VmRSS:" },
	{ "threads", OF_STATUS, 1, "Threads:" },
	{ "user-time", OF_STAT, 14, NULL },
	{ "system-time", OF_STAT, 15, NULL },
	{ "minor-faults", OF_STAT, 10, NULL },
	{ "major-faults", OF_STAT, 12, NULL },
};

enum { COUNTERS = sizeof(counters) / sizeof(counters[0]), FIELD_TIME = 14 };

struct kernel_count {
	struct opened {
		unsigned counter;
		int fd;
	} *items; /* of each thread that was running already, or of the one that starts all */
	size_t count, cap;
};

int kernel_counter(const char *name, size_t len)
{
	for (size_t i = 0; i < COUNTERS; i++)
		if (strlen(counters[i].name) == len && strncmp(counters[i].name, name, len) == 0)
			return (int)i;
	return -1;
}

const char *kernel_counter_name(unsigned i)
{
	return i < COUNTERS ? counters[i].name : NULL;
}

/* --- perf events --- */

static int counter_open(unsigned i, int32_t tid, bool running, bool user)
{
	struct perf_event_attr a = { .type = counters[i].type,
				     .size = sizeof(a),
				     .config = counters[i].config,
				     .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
						    PERF_FORMAT_TOTAL_TIME_RUNNING };

	a.disabled = a.enable_on_exec = !running;
	a.inherit = 1;
	a.exclude_hv = 1;
	a.exclude_kernel = user;
	return os_perf_event_open(&a, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Switches and migrations happen in the kernel alone, so without it they are not counted. */
static bool has_user_part(unsigned i)
{
	return counters[i].type != PERF_TYPE_SOFTWARE ||
	       (counters[i].config != PERF_COUNT_SW_CONTEXT_SWITCHES &&
		counters[i].config != PERF_COUNT_SW_CPU_MIGRATIONS);
}

/* Opens a counter for a thread. Returns 0 or an errno; *user: it leaves the kernel out. */
static int counter_add(struct kernel_count *c, unsigned i, int32_t tid, bool running, bool *user)
{
	int fd;

	if (!mem_grow((void **)&c->items, &c->cap, c->count + 1, sizeof(*c->items), OPENED_MOST))
		return ENOMEM;
	fd = counter_open(i, tid, running, *user);
	if (fd < 0 && !*user && (errno == EACCES || errno == EPERM) && has_user_part(i)) {
		fd = counter_open(i, tid, running, true);
		*user = fd >= 0;
	}
	if (fd < 0)
		return errno;
	c->items[c->count++] = (struct opened){ i, fd };
	return 0;
}

struct kernel_count *kernel_count_new(uint64_t wanted, pid_t pid, bool running, uint64_t *refused,
				      int *why, uint64_t *user)
{
	struct kernel_count *const c = mem_alloc(sizeof(*c));
	int32_t first = pid, *tids = NULL;
	size_t n = 1;

	if (running)
		tids = kernel_threads(pid, &n);
	*refused = *user = 0;
	for (unsigned i = 0; c && i < COUNTERS; i++) {
		bool outside = false;
		int error = 0;

		if (!(wanted >> i & 1) || counters[i].type >= OF_STATUS)
			continue;
		for (size_t k = 0; k < n && (!error || error == ESRCH); k++)
			error = counter_add(c, i, tids ? tids[k] : first, running, &outside);
		*user |= (uint64_t)outside << i;
		if (error && error != ESRCH) {
			*why = error;
			*refused |= UINT64_C(1) << i;
		}
	}
	mem_free(tids);
	return c;
}

/* A counter that shared the hardware with others is scaled to the whole time. */
static bool counter_read(int fd, uint64_t *value)
{
	uint64_t v[3]; /* the count, the time that it was to count, the time that it did */

	if (os_read(fd, v, sizeof(v)) != sizeof(v))
		return false;
	*value = v[0];
	if (v[2] && v[2] < v[1])
		*value = (uint64_t)((unsigned __int128)v[0] * v[1] / v[2]);
	return true;
}

uint64_t kernel_count_read(const struct kernel_count *c, uint64_t values[64])
{
	uint64_t read = 0;

	for (size_t i = 0; c && i < c->count; i++) {
		const uint64_t bit = UINT64_C(1) << c->items[i].counter;
		uint64_t value;

		if (!counter_read(c->items[i].fd, &value))
			continue;
		values[c->items[i].counter] =
			value + (read & bit ? values[c->items[i].counter] : 0);
		read |= bit;
	}
	return read;
}

void kernel_count_free(struct kernel_count *c)
{
	for (size_t i = 0; c && i < c->count; i++)
		os_close(c->items[i].fd);
	if (c)
		mem_free(c->items);
	mem_free(c);
}

/* --- /proc --- */

/* Reads a file of a process. Returns false if it is gone. */
static bool proc_read(pid_t pid, const char *name, char *to, size_t room)
{
	char path[64];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = os_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd >= 0) {
		n = os_read(fd, to, room - 1);
		os_close(fd);
	}
	to[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static bool status_value(const char *status, unsigned i, uint64_t *value)
{
	const char *const line = strstr(status, counters[i].line);

	/* /proc says nothing of the memory of a process that has ended. */
	if (!line || (line != status && line[-1] != '\n'))
		return false;
	*value = strtoull(line + strlen(counters[i].line), NULL, 10) * counters[i].config;
	return true;
}

static bool stat_value(const char *stat, unsigned i, uint64_t *value)
{
	const char *p = strrchr(stat, ')');

	for (uint64_t field = 2; p && field < counters[i].config; field++)
		p = strchr(p + 1, ' ');
	if (!p)
		return false;
	*value = strtoull(p, NULL, 10);
	if (counters[i].config == FIELD_TIME || counters[i].config == FIELD_TIME + 1)
		*value *= 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	return true;
}

uint64_t kernel_count_process(uint64_t wanted, pid_t pid, uint64_t values[64])
{
	char status[4096] = "", stat[1024] = "";
	uint64_t read = 0;

	for (unsigned i = 0; i < COUNTERS; i++) {
		bool good = false;

		if (!(wanted >> i & 1))
			continue;
		if (counters[i].type == OF_STATUS)
			good = (*status || proc_read(pid, "status", status, sizeof(status))) &&
			       status_value(status, i, &values[i]);
		else if (counters[i].type == OF_STAT)
			good = (*stat || proc_read(pid, "stat", stat, sizeof(stat))) &&
			       stat_value(stat, i, &values[i]);
		read |= good ? UINT64_C(1) << i : 0;
	}
	return read;
}
