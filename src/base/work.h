/* A fixed set of jobs on a few threads. */
#ifndef SPUR_BASE_WORK_H
#define SPUR_BASE_WORK_H

#include <stdbool.h>
#include <stddef.h>

/* Processors that this process may use (affinity mask and cgroup quota regarded), at least 1. */
unsigned work_cpus(void);
/*
 * Calls fn(arg, job, worker) for job 0 .. jobs-1, each once, on up to `threads` threads (the
 * caller's is one of them), taking jobs in order; worker < threads. Returns when all are done. With
 * threads <= 1, or where threads cannot be had, runs them in order on the caller's.
 */
void work_run(unsigned threads, size_t jobs, void (*fn)(void *arg, size_t job, unsigned worker),
	      void *arg);

#endif
