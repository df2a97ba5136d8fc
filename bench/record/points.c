/*
 * What points of the tracing library cost: for each the median of 7 runs, as ns of thread CPU time
 * and as a ratio to two readings of the clock, which are timed in turn with it. Run it as
 * SPUR_TRACE=/dev/shm/out.spur points [EVENTS]; the recording grows by about 60 bytes an event.
 */
#include <spur_trace.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { RUNS = 7 };

#define NOINLINE __attribute__((noinline))

static NOINLINE void none(int i)
{
	__asm__ volatile("" : : "r"(i));
}

static NOINLINE void clocks(int i)
{
	(void)i;
	__asm__ volatile("" : : "r"(__rdtsc()));
	__asm__ volatile("" : : "r"(__rdtsc()));
}

static NOINLINE void span(int i)
{
	SPUR_TRACE_SPAN("bench", "span");
	__asm__ volatile("" : : "r"(i));
}

static NOINLINE void span_number(int i)
{
	SPUR_TRACE_SPAN("bench", "number", (I64, "i", i));
	__asm__ volatile("");
}

static const char *volatile text = "twelve bytes";

static NOINLINE void span_text(int i)
{
	SPUR_TRACE_SPAN("bench", "text", (TEXT, "text", text));
	__asm__ volatile("" : : "r"(i));
}

static NOINLINE void instant(int i)
{
	SPUR_TRACE_INSTANT("bench", "instant");
	__asm__ volatile("" : : "r"(i));
}

static NOINLINE void off(int i)
{
	SPUR_TRACE_INSTANT("off", "instant");
	__asm__ volatile("" : : "r"(i));
}

static const struct {
	const char *name;
	void (*run)(int);
} points[] = {
	{ "nothing", none },
	{ "two clocks", clocks },
	{ "span", span },
	{ "span, a number", span_number },
	{ "span, a text of 12 bytes", span_text },
	{ "instant", instant },
	{ "point that is off", off },
};

enum { POINTS = sizeof(points) / sizeof(*points) };

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 1000000;
	static double times[POINTS][RUNS];

	spur_trace_enable("off", false);
	for (int run = -1; run < RUNS; run++)
		for (int p = 0; p < POINTS; p++) {
			const double begin = cpu_ns();

			for (int i = 0; i < n; i++)
				points[p].run(i);
			if (run >= 0)
				times[p][run] = (cpu_ns() - begin) / n;
		}
	for (int p = 0; p < POINTS; p++)
		qsort(times[p], RUNS, sizeof(double), compare);
	for (int p = 0; p < POINTS; p++)
		printf("%-26s %6.2f ns  ratio %.2f\n", points[p].name, times[p][RUNS / 2],
		       times[p][RUNS / 2] / times[1][RUNS / 2]);
	return 0;
}
