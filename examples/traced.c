/*
 * A program that traces itself: cc traced.c -lspur-trace; SPUR_TRACE=out.spur ./a.out; then
 * `spur report out.spur`.
 */
#include <spur_trace.h>

static unsigned step(unsigned n)
{
	SPUR_TRACE_SPAN("example", "step", (U64, "n", n));
	return n % 2 ? 3 * n + 1 : n / 2;
}

static unsigned steps_to_one(unsigned n)
{
	unsigned steps = 0;

	SPUR_TRACE_SPAN("example", "steps to one", (U64, "from", n));
	for (; n != 1; steps++)
		n = step(n);
	SPUR_TRACE_COUNTER("example", "steps", (U64, "count", steps));
	return steps;
}

int main(void)
{
	unsigned most = 0;

	spur_trace_thread_name("main");
	for (unsigned n = 1; n < 1000; n++) {
		const unsigned steps = steps_to_one(n);

		if (steps > most)
			SPUR_TRACE_INSTANT("example", "longest so far", (U64, "from", n));
		most = steps > most ? steps : most;
	}
	return 0;
}
