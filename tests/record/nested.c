/*
 * Signal handlers on an alternate stack that interrupt each other, and call functions: one that
 * interrupts another must not overwrite its frames. Prints how often each function was called.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline))

enum { ROUNDS = 2000, CALLS = 20, WORDS = 64, STACK = 256 << 10 };

static long outer_calls, inner_calls;
static volatile sig_atomic_t ended;
static pthread_t main_thread;

FUNCTION static void outer_call(void)
{
	outer_calls++;
}

FUNCTION static void inner_call(void)
{
	inner_calls++;
}

FUNCTION static void outer(int sig)
{
	volatile long words[WORDS];

	for (int i = 0; i < WORDS; i++)
		words[i] = sig + i;
	for (int i = 0; i < CALLS; i++)
		outer_call();
	for (int i = 0; i < WORDS; i++)
		if (words[i] != sig + i)
			_exit(9);
}

FUNCTION static void inner(int sig)
{
	(void)sig;
	inner_call();
}

static void *interrupt(void *arg)
{
	while (!ended) {
		pthread_kill(main_thread, SIGUSR2);
		usleep(20);
	}
	return arg;
}

int main(void)
{
	const stack_t stack = { .ss_sp = malloc(STACK), .ss_size = STACK };
	struct sigaction a = { .sa_handler = outer, .sa_flags = SA_ONSTACK };
	pthread_t thread;

	main_thread = pthread_self();
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &a, NULL);
	a.sa_handler = inner;
	sigaction(SIGUSR2, &a, NULL);
	pthread_create(&thread, NULL, interrupt, NULL);
	for (int i = 0; i < ROUNDS; i++)
		raise(SIGUSR1);
	ended = 1;
	pthread_join(thread, NULL);
	signal(SIGUSR2, SIG_IGN);
	printf("%ld,outer_call\n%ld,inner_call\n", outer_calls, inner_calls);
	return 0;
}
