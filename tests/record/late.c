/*
 * A thread whose first event has to wait for its chunk longer than 2^31 ticks: includes the whole
 * library, to keep its lock for that long.
 */
#include "spur_trace.c"

#include <stdlib.h>

static volatile bool waits;

static void *first(void *arg)
{
	waits = true;
	SPUR_TRACE_SPAN("app", "late");
	(void)arg;
	return NULL;
}

/* The point is known and on before the thread comes, so that only the chunk is missing. */
int main(void)
{
	const struct timespec wait = { 1, 300000000 };
	pthread_t t;

	first(NULL);
	waits = false;
	core_lock();
	if (pthread_create(&t, NULL, first, NULL))
		abort();
	while (!waits)
		;
	nanosleep(&wait, NULL);
	core_unlock();
	pthread_join(t, NULL);
	return 0;
}
