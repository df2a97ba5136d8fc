/*
 * Threads record up to where they are gone: signals come while they end, and a destructor calls a
 * function as often as the system lets destructors run. Their stacks are unmapped then. ending
 * THREADS prints how often each function was called.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define FUNCTION __attribute__((noinline))

enum { STACK = 128 << 10, SIGNALS = 1000, CALLS = 10 };

static long called, handled, destroyed;
static pthread_key_t key;

FUNCTION static void call(void)
{
	__atomic_fetch_add(&called, 1, __ATOMIC_RELAXED);
}

FUNCTION static void handle(void)
{
	__atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}

FUNCTION static void destroy(void)
{
	__atomic_fetch_add(&destroyed, 1, __ATOMIC_RELAXED);
}

static void on_signal(int sig)
{
	(void)sig;
	handle();
}

static void on_end(void *left)
{
	destroy();
	if ((uintptr_t)left > 1)
		pthread_setspecific(key, (void *)((uintptr_t)left - 1));
}

static void *run(void *arg)
{
	pthread_setspecific(key, (void *)PTHREAD_DESTRUCTOR_ITERATIONS);
	for (int i = 0; i < CALLS; i++)
		call();
	return arg;
}

static void thread(void)
{
	char *const stack =
		mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;
	pthread_t t;
	int n = 0;

	if (stack == MAP_FAILED || pthread_attr_init(&attr) ||
	    pthread_attr_setstack(&attr, stack, STACK) || pthread_create(&t, &attr, run, NULL))
		abort();
	while (n < SIGNALS && pthread_tryjoin_np(t, NULL)) {
		pthread_kill(t, SIGUSR1);
		n++;
	}
	if (n == SIGNALS)
		pthread_join(t, NULL);
	munmap(stack, STACK);
}

int main(int argc, char **argv)
{
	const int threads = argc > 1 ? atoi(argv[1]) : 100;

	signal(SIGUSR1, on_signal);
	pthread_key_create(&key, on_end);
	for (int i = 0; i < threads; i++)
		thread();
	printf("call %ld\nhandle %ld\ndestroy %ld\n", called, handled, destroyed);
	return 0;
}
