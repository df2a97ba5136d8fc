/* Jobs on threads, and how many threads are sensible. See work.h. */
#include "base/work.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/os.h"
#include "base/text.h"

enum { THREADS_MAX = 256, CPUS_MAX = 1 << 16 };

static unsigned cpus_by_mask(void)
{
	for (size_t cpus = CPU_SETSIZE; cpus <= CPUS_MAX; cpus *= 2) {
		cpu_set_t *set = CPU_ALLOC(cpus);
		const size_t size = CPU_ALLOC_SIZE(cpus);
		int count = 0, rc;

		if (!set)
			break;
		rc = os_sched_getaffinity(0, size, set);
		if (!rc)
			count = CPU_COUNT_S(size, set);
		CPU_FREE(set);
		if (!rc)
			return count > 0 ? (unsigned)count : 1;
		/* EINVAL: the machine has more CPUs than the mask has bits. */
		if (errno != EINVAL)
			break;
	}
	return 1;
}

static struct text file_text(const char *path, char *buf, size_t size)
{
	const ssize_t n = file_head(path, FILE_REGULAR, buf, size);

	return text_make(buf, n > 0 ? (size_t)n : 0);
}

/*
 * Returns the number of CPUs that `QUOTA PERIOD` grants, rounded up, or THREADS_MAX if it sets no
 * limit.
 */
static unsigned quota_cpus(struct text t)
{
	uint64_t quota, period;

	if (!text_u64(&t, 10, &quota) || !text_skip(&t, " ") || !text_u64(&t, 10, &period) ||
	    !period)
		return THREADS_MAX;
	quota = quota / period + (quota % period != 0);
	return quota < 1 ? 1 : quota < THREADS_MAX ? (unsigned)quota : THREADS_MAX;
}

/* The least quota of this process's cgroup (version 2) and of those around it. */
static unsigned cpus_by_quota(void)
{
	char buf[4096], path[4096];
	struct text rest = file_text("/proc/self/cgroup", buf, sizeof(buf)), line;
	unsigned cpus = THREADS_MAX;

	while (text_line(&rest, &line)) {
		if (!text_skip(&line, "0::"))
			continue;
		for (;;) {
			char max[64];
			const int n = snprintf(path, sizeof(path), "/sys/fs/cgroup%.*s/cpu.max",
					       (int)line.len, line.p);
			unsigned here;

			if (n < 0 || (size_t)n >= sizeof(path))
				break;
			here = quota_cpus(file_text(path, max, sizeof(max)));
			if (here < cpus)
				cpus = here;
			if (text_rfind(line, '/') <= 0)
				break;
			line.len = (size_t)text_rfind(line, '/');
		}
		break;
	}
	return cpus;
}

unsigned work_cpus(void)
{
	const unsigned mask = cpus_by_mask(), quota = cpus_by_quota();

	return mask < quota ? mask : quota;
}

struct work {
	void (*fn)(void *arg, size_t job, unsigned worker);
	void *arg;
	size_t jobs;
	_Atomic size_t next;
	_Atomic unsigned workers;
	uint64_t *charged; /* the caller's counter of failed allocations */
};

static void *work_loop(void *p)
{
	struct work *w = p;
	const unsigned worker = atomic_fetch_add(&w->workers, 1);

	assert(worker < THREADS_MAX);
	mem_charge(w->charged);
	for (size_t job; (job = atomic_fetch_add(&w->next, 1)) < w->jobs;)
		w->fn(w->arg, job, worker);
	return NULL;
}

void work_run(unsigned threads, size_t jobs, void (*fn)(void *arg, size_t job, unsigned worker),
	      void *arg)
{
	struct work w = { .fn = fn, .arg = arg, .jobs = jobs, .charged = mem_charged };
	pthread_t ids[THREADS_MAX];
	unsigned started = 0;

	if (threads > THREADS_MAX)
		threads = THREADS_MAX;
	if (threads > jobs)
		threads = (unsigned)jobs;
	while (started + 1 < threads && !pthread_create(&ids[started], NULL, work_loop, &w))
		started++;
	work_loop(&w);
	while (started)
		pthread_join(ids[--started], NULL);
}
