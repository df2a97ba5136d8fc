/*
 * What it costs to record a call, as a ratio to the price of reading the clock twice, measured in
 * the same process: thread CPU time, medians of 7.
 *
 *	gcc -O2 [-fpatchable-function-entry=5 -DNOPS] bench/record/calls.c -o calls
 *	spur record -q --no-library-calls -o DIR ./calls [N [NAME]]
 *
 * Also built with -pg, -pg -mfentry, -finstrument-functions, or by clang with -fxray-instrument
 * -fxray-instruction-threshold=1 -DSLEDS. With -DLIBRARY the leaf is strlen(),
 * a function of another library: record it with --library-calls strlen.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

#if defined(SLEDS)
#define BARE __attribute__((xray_never_instrument))
#define HOOKED __attribute__((noinline, xray_always_instrument))
#elif defined(NOPS)
#define BARE __attribute__((patchable_function_entry(0, 0)))
#define HOOKED __attribute__((noinline))
#else
#define BARE __attribute__((no_instrument_function))
#define HOOKED __attribute__((noinline))
#endif

enum { TIMES = 7, FIB = 25, FIB_CALLS = 242785, CHAIN = 8, KINDS = 4 };

static volatile long sink;

HOOKED static void leaf(void)
{
	sink++;
}

HOOKED static long fib(long n)
{
	long a, b;

	if (n < 2)
		return n;
	a = fib(n - 1);
	__asm__ volatile("" : "+r"(a));
	b = fib(n - 2);
	__asm__ volatile("" : "+r"(b));
	return a + b;
}

#define LINK(name, next)           \
	HOOKED static void name(void) \
	{                          \
		next();            \
		sink++;            \
	}

LINK(chain7, leaf)
LINK(chain6, chain7)
LINK(chain5, chain6)
LINK(chain4, chain5)
LINK(chain3, chain4)
LINK(chain2, chain3)
LINK(chain1, chain2)

BARE static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

BARE static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

BARE static double clocks(long n)
{
	const double begin = cpu_ns();

	for (long i = 0; i < n; i++) {
		const uint64_t x = __rdtsc();

		__asm__ volatile("" : : "r"(x) : "memory");
		__asm__ volatile("" : : "r"(__rdtsc()) : "memory");
	}
	return (cpu_ns() - begin) / (double)n;
}

BARE static double measure(int kind, long n)
{
	const double begin = cpu_ns();

	switch (kind) {
	case 0:
		for (long i = 0; i < n; i++)
#if defined(LIBRARY)
			sink += (long)strlen((const char *)&sink);
#else
			leaf();
#endif
		return (cpu_ns() - begin) / (double)n;
	case 1:
		for (long i = 0; i < n; i += FIB_CALLS)
			sink += fib(FIB);
		return (cpu_ns() - begin) / (double)((n + FIB_CALLS - 1) / FIB_CALLS * FIB_CALLS);
	case 2:
		for (long i = 0; i < n; i += CHAIN)
			chain1();
		return (cpu_ns() - begin) / (double)((n + CHAIN - 1) / CHAIN * CHAIN);
	}
	return clocks(n);
}

BARE int main(int argc, char **argv)
{
	const long n = argc > 1 ? atol(argv[1]) : 1000000;
	double r[KINDS][TIMES];

	for (int i = 0; i < TIMES; i++)
		for (int k = 0; k < KINDS; k++)
			r[k][i] = measure(k, n);
	for (int k = 0; k < KINDS; k++)
		qsort(r[k], TIMES, sizeof(double), by_value);
	printf("%-12s clock twice %.2f ns; leaf %.3f fib %.3f chain %.3f\n",
	       argc > 2 ? argv[2] : "", r[3][TIMES / 2], r[0][TIMES / 2] / r[3][TIMES / 2],
	       r[1][TIMES / 2] / r[3][TIMES / 2], r[2][TIMES / 2] / r[3][TIMES / 2]);
	return 0;
}
