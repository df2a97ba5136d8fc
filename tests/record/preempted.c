/*
 * Fibers that a timer's handler switches by swapcontext(), so that each may be interrupted within
 * the library or a hook, and go on when others have recorded. Each makes so many rounds, of one
 * instant (with POINTS) and some calls; prints whether the calls returned what they should.
 *
 *	preempted ROUNDS
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

#ifdef POINTS
#include "spur_trace.h"
#endif

enum { FIBERS = 4, STACK = 64 << 10, EVERY_US = 50, DEPTH = 6 };

static ucontext_t fibers[FIBERS], home;
static volatile int running;
static volatile bool ended[FIBERS], wrong;
static long rounds;

/* Called with the signal blocked. The next fiber that has not ended; -1: all have. */
static int next(void)
{
	for (int i = 1; i <= FIBERS; i++)
		if (!ended[(running + i) % FIBERS])
			return (running + i) % FIBERS;
	return -1;
}

static void tick(int sig)
{
	const int from = running, to = next();

	(void)sig;
	running = to;
	if (to != from)
		swapcontext(&fibers[from], &fibers[to]);
}

__attribute__((noinline)) static int leaf(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n;
}

__attribute__((noinline)) static int sum(int n)
{
	int rest;

	if (!n)
		return 0;
	rest = sum(n - 1);
	__asm__ volatile("" : "+r"(rest));
	return rest + leaf(n);
}

static void fiber(int i)
{
	sigset_t alarm;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &alarm, NULL);
	for (long k = 0; k < rounds; k++) {
#ifdef POINTS
		SPUR_TRACE_INSTANT("app", "round", (I64, "fiber", i), (I64, "round", k));
#endif
		if (sum(DEPTH) != DEPTH * (DEPTH + 1) / 2)
			wrong = true;
	}
	sigprocmask(SIG_BLOCK, &alarm, NULL);
	ended[i] = true;
	running = next();
	setcontext(running < 0 ? &home : &fibers[running]);
}

int main(int argc, char **argv)
{
	const struct itimerval often = { { 0, EVERY_US }, { 0, EVERY_US } };
	char *const stacks = mmap(NULL, FIBERS * STACK, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sigaction sa = { .sa_handler = tick };

	if (argc < 2 || stacks == MAP_FAILED)
		return 2;
	rounds = atol(argv[1]);
	for (int i = 0; i < FIBERS; i++) {
		getcontext(&fibers[i]);
		sigaddset(&fibers[i].uc_sigmask, SIGALRM);
		fibers[i].uc_stack.ss_sp = stacks + i * STACK;
		fibers[i].uc_stack.ss_size = STACK;
		makecontext(&fibers[i], (void (*)(void))fiber, 1, i);
	}
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	swapcontext(&home, &fibers[0]);
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	puts(wrong ? "wrong" : "right");
	return 3;
}
