/*
 * A program to be recorded with LTTng-UST: two threads with five events a round, three classes of
 * integers, text and floats. See record-lttng.
 *
 *	lttng-app ROUNDS
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng-app.h"

#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 2, STEPS = 3 };

static long rounds;

static void *work(void *self)
{
	static const char *const names[] = { "read", "write", "flush", "lookup in the cache" };

	for (long i = 0; i < rounds; i++) {
		lttng_ust_tracepoint(bench, request, (int)i, i * 37, names[i % 4]);
		for (int k = 0; k < STEPS; k++)
			lttng_ust_tracepoint(bench, step, (int)i, k);
		lttng_ust_tracepoint(bench, done, (int)i, (double)i / 8);
	}
	return self;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	rounds = argc > 1 ? atol(argv[1]) : 1000;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
