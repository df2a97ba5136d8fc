/*
 * What the programs of bench/record share: a loop is timed by thread CPU time and compared with two
 * readings of the clock, timed in turn with it in the same process. Where functions are recorded,
 * define BARE as what keeps a function from being recorded before this file is included.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

#ifndef BARE
#define BARE
#endif

enum { TIMES = 7 };

/* Thread CPU time, in ns. */
BARE static inline double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

BARE static inline int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

BARE static inline double median(double times[TIMES])
{
	qsort(times, TIMES, sizeof(double), by_value);
	return times[TIMES / 2];
}

/* Two readings of the clock, in ns, as the mean of n. */
BARE static inline double two_clocks(long n)
{
	const double begin = cpu_ns();

	for (long i = 0; i < n; i++) {
		const uint64_t x = __rdtsc();

		__asm__ volatile("" : : "r"(x) : "memory");
		__asm__ volatile("" : : "r"(__rdtsc()) : "memory");
	}
	return (cpu_ns() - begin) / (double)n;
}

#endif
