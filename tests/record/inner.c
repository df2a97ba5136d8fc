/*
 * The alternate stack for signals lies in the thread's own stack, and the handler of a timer may be
 * interrupted by itself: prints whether all calls returned what they should.
 *
 *	inner MILLISECONDS
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 3, EVERY_NS = 60000, STACK = 64 << 10, DEPTH = 6, DEEPEST = 3 };

static long milliseconds;
static volatile bool wrong;
static __thread volatile int inside;

__attribute__((noinline)) static int sum(int n)
{
	int rest;

	if (!n)
		return 0;
	rest = sum(n - 1);
	__asm__ volatile("" : "+r"(rest));
	return rest + n;
}

static void tick(int sig)
{
	(void)sig;
	if (inside == DEEPEST)
		return;
	inside++;
	if (sum(DEPTH / 2) != DEPTH / 2 * (DEPTH / 2 + 1) / 2)
		wrong = true;
	inside--;
}

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void *work(void *arg)
{
	const struct itimerspec often = { { 0, EVERY_NS }, { 0, EVERY_NS } };
	const long end = now() + milliseconds;
	char memory[STACK];
	const stack_t alternate = { .ss_sp = memory, .ss_size = sizeof(memory) };
	const stack_t none = { .ss_flags = SS_DISABLE };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1 };
	timer_t timer;

	event._sigev_un._tid = (int)syscall(SYS_gettid);
	if (sigaltstack(&alternate, NULL) || timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	    timer_settime(timer, 0, &often, NULL))
		abort();
	while (now() < end)
		if (sum(DEPTH) != DEPTH * (DEPTH + 1) / 2)
			wrong = true;
	timer_delete(timer);
	sigaltstack(&none, NULL);
	return arg;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = tick, .sa_flags = SA_ONSTACK | SA_NODEFER };
	pthread_t threads[THREADS];

	if (argc < 2)
		return 2;
	milliseconds = atol(argv[1]);
	sigaction(SIGUSR1, &sa, NULL);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			abort();
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	puts(wrong ? "wrong" : "right");
	return 3;
}
