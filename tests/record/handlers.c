/*
 * Signal handlers come anywhere, on the thread's stack or on an alternate one, and have large
 * frames: handlers MILLISECONDS plain|alternate|both. Prints how often each function was called.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline))

static volatile sig_atomic_t ended;
static volatile long plain, alternate, calls;
static volatile char sink;

FUNCTION static void frame(void)
{
	volatile char b[200000];

	memset((char *)b, 1, sizeof(b));
	sink = b[7];
}

FUNCTION static void on_plain(int sig)
{
	(void)sig;
	plain++;
	frame();
}

FUNCTION static void on_alternate(int sig)
{
	(void)sig;
	alternate++;
}

static void on_end(int sig)
{
	(void)sig;
	ended = 1;
}

FUNCTION static long fib(int n)
{
	calls++;
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static void timer(int sig, long ns)
{
	struct sigevent e = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = sig };
	const struct itimerspec each = { { 0, ns }, { 0, ns } };
	timer_t t;

	if (timer_create(CLOCK_MONOTONIC, &e, &t) || timer_settime(t, 0, &each, NULL))
		abort();
}

int main(int argc, char **argv)
{
	static char memory[1 << 18];
	const stack_t stack = { .ss_sp = memory, .ss_size = sizeof(memory) };
	const struct sigaction on_stack = { .sa_handler = on_alternate,
					    .sa_flags = SA_RESTART | SA_ONSTACK };
	sigset_t all;

	sigaltstack(&stack, NULL);
	signal(SIGUSR1, on_plain);
	sigaction(SIGUSR2, &on_stack, NULL);
	signal(SIGALRM, on_end);
	ualarm(argc > 1 ? (unsigned)atoi(argv[1]) * 1000 : 100000, 0);
	if (argc < 3 || strcmp(argv[2], "alternate") != 0)
		timer(SIGUSR1, 70000);
	if (argc < 3 || strcmp(argv[2], "plain") != 0)
		timer(SIGUSR2, 110000);
	while (!ended)
		fib(12);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	printf("plain %ld\nalternate %ld\nfib %ld\n", plain, alternate, calls);
	return 0;
}
