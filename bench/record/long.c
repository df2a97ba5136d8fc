/*
 * Records for long, from several threads at a fixed rate, and says how many events it made and how
 * much memory it took at most:
 *
 *	SPUR_TRACE=DIR long [SECONDS [EVENTS A SECOND, IN ALL THREADS [THREADS]]]
 *
 * Every second event is the end of a span, every fourth one an instant, so a recording has 8 bytes
 * for each. bench/record/run compares the number with what the recording has and says was lost.
 */
#include <spur_trace.h>

#include <pthread.h>
#include <sys/resource.h>

#include "measure.h"

enum { BURST = 4000, SECOND = 1000000000, THREADS_MOST = 1024 };

static long seconds = 10, rate = 20000000, threads = 2;

/* What a thread has made. */
struct work {
	pthread_t thread;
	uint64_t events;
	double cpu_ns, late_ns;
};

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * SECOND + (double)t.tv_nsec;
}

static void *work(void *arg)
{
	struct work *const w = arg;
	const double per_event = (double)SECOND * (double)threads / (double)rate;
	const double begin = now_ns(), end = begin + (double)seconds * SECOND;
	const struct timespec nap = { 0, 50000 };
	double now = begin;

	while (now < end) {
		for (int i = 0; i < BURST; i += 4) {
			SPUR_TRACE_SPAN("long", "span");
			SPUR_TRACE_INSTANT("long", "instant");
			SPUR_TRACE_INSTANT("long", "another");
		}
		w->events += BURST;
		while (now = now_ns(), begin + (double)w->events * per_event > now && now < end)
			nanosleep(&nap, NULL);
	}
	w->late_ns = now - begin - (double)w->events * per_event;
	w->cpu_ns = cpu_ns();
	return NULL;
}

int main(int argc, char **argv)
{
	static struct work works[THREADS_MOST];
	uint64_t events = 0;
	double cpu = 0, late = 0;
	struct rusage use;

	seconds = argc > 1 ? atol(argv[1]) : seconds;
	rate = argc > 2 ? atol(argv[2]) : rate;
	threads = argc > 3 ? atol(argv[3]) : threads;
	if (seconds < 1 || rate < 1 || threads < 1 || threads > THREADS_MOST)
		return 2;
	for (long i = 0; i < threads; i++)
		if (pthread_create(&works[i].thread, NULL, work, &works[i]))
			return 1;
	for (long i = 0; i < threads; i++) {
		pthread_join(works[i].thread, NULL);
		events += works[i].events;
		cpu += works[i].cpu_ns;
		late = works[i].late_ns > late ? works[i].late_ns : late;
	}
	getrusage(RUSAGE_SELF, &use);
	printf("%llu events in %ld s by %ld threads, %.1f ns of CPU each, %.3f s late, %ld KiB\n",
	       (unsigned long long)events, seconds, threads, cpu / (double)events, late / SECOND,
	       use.ru_maxrss);
	return 0;
}
