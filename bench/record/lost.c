/*
 * What an event costs that is lost because the recording has no room, as ns of thread CPU time:
 * SPUR_TRACE=out.spur SPUR_TRACE_MODE=oneshot SPUR_TRACE_SIZE=512K lost [THREADS]. The first half
 * of the events fills the recording.
 */
#include <spur_trace.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { EVENTS = 1000000, THREADS = 64 };

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static __attribute__((noinline)) void event(int i)
{
	SPUR_TRACE_INSTANT("bench", "lost", (I64, "i", i));
}

static void *run(void *arg)
{
	double *const ns = arg;
	double begin;

	for (int i = 0; i < EVENTS; i++)
		event(i);
	begin = cpu_ns();
	for (int i = 0; i < EVENTS; i++)
		event(i);
	*ns = (cpu_ns() - begin) / EVENTS;
	return NULL;
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t threads[THREADS];
	double ns[THREADS], sum = 0;

	if (n < 1 || n > THREADS)
		return 2;
	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, run, &ns[i]))
			return 1;
	for (int i = 0; i < n; i++) {
		pthread_join(threads[i], NULL);
		sum += ns[i];
	}
	printf("%d threads: %.1f ns\n", n, sum / n);
	return 0;
}
