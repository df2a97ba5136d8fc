/*
 * What it costs to record a call: a leaf in a loop, a recursive Fibonacci function, a chain of 8
 * calls, each in ns and as a ratio to two readings of the clock; medians of 7.
 *
 *	calls [N]
 *
 * bench/record/run builds it in each way that functions can be recorded, and runs it under each
 * recorder. Built by clang with -fxray-instrument: -DSLEDS; with -fpatchable-function-entry=5:
 * -DNOPS. With -DLIBRARY the leaf is strlen(), a function of another library.
 */
#define _GNU_SOURCE
#include <string.h>

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

#include "measure.h"

enum { FIB = 25, FIB_CALLS = 242785, CHAIN = 8, KINDS = 4 };

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
	return two_clocks(n);
}

BARE int main(int argc, char **argv)
{
	static const char *const names[KINDS] = { "leaf", "fib", "chain", "two clocks" };
	const long n = argc > 1 ? atol(argv[1]) : 1000000;
	double times[KINDS][TIMES], clocks;

	for (int i = 0; i < TIMES; i++)
		for (int k = 0; k < KINDS; k++)
			times[k][i] = measure(k, n);
	clocks = median(times[KINDS - 1]);
	for (int k = 0; k < KINDS; k++)
		printf("%-26s %6.2f ns  ratio %.3f\n", names[k], median(times[k]),
		       median(times[k]) / clocks);
	return 0;
}
