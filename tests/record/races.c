/*
 * All that threads may do with the tracing library at the same time, for ThreadSanitizer: threads
 * that come, record events of all kinds and sizes and go, their signal handlers, and meanwhile
 * recordings that end and begin, dumps, and categories that are switched.
 *
 * races DIR stream|ring|oneshot ROUNDS
 */
#include <pthread.h>
#include <signal.h>
#include <spur_trace.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 4, EVENTS = 800, LENGTH = 600 };

static void handler(int signo)
{
	SPUR_TRACE_INSTANT("race", "handler", (I64, "signo", signo));
}

static void nested(int n)
{
	SPUR_TRACE_SPAN("race", "nested", (I64, "n", n));
	if (n)
		nested(n - 1);
}

static void *record(void *who)
{
	const uintptr_t number = (uintptr_t)who;
	char text[LENGTH + 1], name[16];

	snprintf(name, sizeof(name), "thread %u", (unsigned)number);
	spur_trace_thread_name(name);
	memset(text, 'a' + (int)number % 26, LENGTH);
	text[LENGTH] = '\0';
	for (int i = 0; i < EVENTS; i++) {
		SPUR_TRACE_INSTANT("race", "text", (U64, "n", (uint64_t)i),
				   (TEXT, "text", text + i % LENGTH));
		SPUR_TRACE_COUNTER("other", "counter", (U64, "value", (uint64_t)i));
		snprintf(name, sizeof(name), "name %d", i % 50);
		SPUR_TRACE_INSTANT("race", "string", (U64, "id", spur_trace_string(name)));
		nested(i % 8);
		if (i % 64 == 0) {
			spur_trace_fiber((uint64_t)i);
			spur_trace_fiber_name((uint64_t)i, name);
		}
		if (i % 512 == 0)
			pthread_kill(pthread_self(), SIGUSR1);
	}
	spur_trace_fiber(0);
	return NULL;
}

static int begin(const char *dir, enum spur_trace_mode mode)
{
	const struct spur_trace_options options = { .mode = mode, .size = 1 << 20 };

	return spur_trace_start_with(dir, &options);
}

/* While the threads record. */
static void disturb(const char *dir, enum spur_trace_mode mode)
{
	char dump[4096];

	snprintf(dump, sizeof(dump), "%s.dump", dir);
	for (int i = 0; i < 10; i++) {
		spur_trace_enable("other", i % 2);
		usleep(300);
		if (i == 3)
			spur_trace_dump(dump);
		if (i % 5 == 4) {
			spur_trace_stop();
			if (begin(dir, mode))
				abort();
		}
	}
}

int main(int argc, char **argv)
{
	enum spur_trace_mode mode = SPUR_TRACE_STREAM;
	pthread_t threads[THREADS];

	if (argc != 4)
		return 2;
	if (!strcmp(argv[2], "ring"))
		mode = SPUR_TRACE_RING;
	if (!strcmp(argv[2], "oneshot"))
		mode = SPUR_TRACE_ONESHOT;
	signal(SIGUSR1, handler);
	if (begin(argv[1], mode))
		return 1;
	for (int round = 0; round < atoi(argv[3]); round++) {
		for (uintptr_t i = 0; i < THREADS; i++)
			if (pthread_create(&threads[i], NULL, record, (void *)i))
				abort();
		disturb(argv[1], mode);
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
	}
	spur_trace_stop();
	puts("recorded");
	return 0;
}
