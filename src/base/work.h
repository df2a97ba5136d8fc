/* A fixed set of jobs on a few threads. */
#ifndef SPUR_BASE_WORK_H
#define SPUR_BASE_WORK_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Returns the number of CPUs that this process may use, by its affinity mask and cgroup quota, at
 * least 1.
 */
unsigned work_cpus(void);
/*
 * Calls fn(arg, job, worker) for job 0 .. jobs-1, each once, on up to `threads` threads (the
 * caller's is one of them), taking jobs in order; worker < threads. Returns when all are done. With
 * threads <= 1, or if no thread can be created, runs the jobs in order on the calling thread.
 */
void work_run(unsigned threads, size_t jobs, void (*fn)(void *arg, size_t job, unsigned worker),
	      void *arg);

#endif
