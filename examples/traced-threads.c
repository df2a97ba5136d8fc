/*
 * Threads that hand work to each other, with flows from the span that asks to the span that does
 * it: cc traced-threads.c -lspur-trace -pthread; SPUR_TRACE=out.spur ./a.out; then `spur convert
 * --to=perfetto out.spur -o out.pftrace` draws an arrow for each job.
 */
#include <spur_trace.h>

#include <pthread.h>
#include <stdio.h>

enum { JOBS = 100, WORKERS = 3 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int queue[JOBS], added, taken;

/* Returns a job, or -1 if there will be no more. */
static int queue_take(void)
{
	int job = -1;

	SPUR_TRACE_SPAN("queue", "take");
	pthread_mutex_lock(&mutex);
	while (taken == added && added < JOBS)
		pthread_cond_wait(&changed, &mutex);
	if (taken < added)
		job = queue[taken++];
	SPUR_TRACE_COUNTER("queue", "length", (I64, "jobs", added - taken));
	pthread_mutex_unlock(&mutex);
	return job;
}

static void queue_add(int job)
{
	SPUR_TRACE_SPAN("queue", "add", (I64, "job", job));
	SPUR_TRACE_FLOW_BEGIN("queue", "job", (uint64_t)job);
	pthread_mutex_lock(&mutex);
	queue[added++] = job;
	SPUR_TRACE_COUNTER("queue", "length", (I64, "jobs", added - taken));
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

static void *work(void *name)
{
	spur_trace_thread_name((const char *)name);
	for (int job; (job = queue_take()) >= 0;) {
		volatile unsigned sum = 0;

		SPUR_TRACE_SPAN("work", "job", (I64, "job", job));
		SPUR_TRACE_FLOW_END("queue", "job", (uint64_t)job);
		for (unsigned i = 0; i < 1000; i++)
			sum += i;
	}
	return NULL;
}

int main(void)
{
	static char names[WORKERS][16];
	pthread_t threads[WORKERS];

	spur_trace_thread_name("main");
	for (int i = 0; i < WORKERS; i++) {
		snprintf(names[i], sizeof(names[i]), "worker %d", i + 1);
		if (pthread_create(&threads[i], NULL, work, names[i]))
			return 1;
	}
	for (int job = 0; job < JOBS; job++)
		queue_add(job);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
