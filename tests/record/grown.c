/*
 * In each thread a signal handler has more calls open than the thread ever had, so that the array
 * of open calls grows, while the thread enters and leaves a function. Threads stay until the end,
 * so that each has an array of its own.
 *
 *	grown THREADS
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The array has 4,096 items at first. */
enum { THREAD_CALLS = 4000, HANDLER_CALLS = 200 };

static __thread volatile sig_atomic_t seen;
static int started, ended;

__attribute__((noinline)) static void leaf(void)
{
	__asm__ volatile("");
}

__attribute__((noinline)) static void down(int n)
{
	if (n)
		down(n - 1);
	__asm__ volatile("");
}

static void handler(int sig)
{
	(void)sig;
	down(HANDLER_CALLS);
	seen = 1;
}

__attribute__((noinline)) static void deep(int n)
{
	if (n) {
		deep(n - 1);
	} else {
		__atomic_add_fetch(&started, 1, __ATOMIC_SEQ_CST);
		while (!seen)
			leaf();
	}
	__asm__ volatile("");
}

static void *run(void *arg)
{
	deep(THREAD_CALLS);
	__atomic_add_fetch(&ended, 1, __ATOMIC_SEQ_CST);
	for (;;)
		pause();
	return arg;
}

int main(int argc, char **argv)
{
	const int threads = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t t;

	signal(SIGUSR1, handler);
	for (int i = 1; i <= threads; i++) {
		if (pthread_create(&t, NULL, run, NULL))
			return 1;
		while (__atomic_load_n(&started, __ATOMIC_SEQ_CST) < i)
			usleep(100);
		pthread_kill(t, SIGUSR1);
		while (__atomic_load_n(&ended, __ATOMIC_SEQ_CST) < i)
			usleep(100);
	}
	puts("all ended");
	exit(4);
}
