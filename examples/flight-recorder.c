/*
 * A program that always records, keeps the last events only, and copies them when something took
 * too long: cc flight-recorder.c -lspur-trace; ./a.out; then `spur replay slow.spur` shows what
 * came before. Other dumps come at a signal: SPUR_TRACE_DUMP=USR1 SPUR_TRACE_MODE=ring
 * SPUR_TRACE=out.spur ./a.out, without the call of spur_trace_start_with().
 */
#include <spur_trace.h>

#include <stdio.h>
#include <string.h>

enum { REQUESTS = 100000, SLOW = 77777 };

static void read_block(unsigned n)
{
	volatile unsigned sum = 0;

	SPUR_TRACE_SPAN("disk", "read", (U64, "block", n));
	for (unsigned i = 0; i < n % 10; i++)
		sum += i;
}

/* Returns the number of blocks that it had to read: in one request that is by far too many. */
static unsigned serve(unsigned request)
{
	const unsigned blocks = request == SLOW ? 1000 : 2;

	SPUR_TRACE_SPAN("server", "request", (U64, "number", request));
	for (unsigned i = 0; i < blocks; i++)
		read_block(request + i);
	return blocks;
}

int main(void)
{
	struct spur_trace_options options;
	int why;

	memset(&options, 0, sizeof(options));
	options.mode = SPUR_TRACE_RING;
	options.size = 1 << 20;
	why = spur_trace_start_with("ring.spur", &options);
	if (why) {
		fprintf(stderr, "ring.spur: %s\n", strerror(why));
		return 1;
	}
	for (unsigned request = 0; request < REQUESTS; request++)
		if (serve(request) > 100) {
			why = spur_trace_dump("slow.spur");
			if (why)
				fprintf(stderr, "slow.spur: %s\n", strerror(why));
		}
	return 0;
}
