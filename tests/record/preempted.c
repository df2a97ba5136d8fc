/*
 * Fibers that a timer's handler switches by swapcontext() or siglongjmp(), so that each may be
 * interrupted within the library or a hook, and go on when others have recorded. Each makes ROUNDS
 * rounds, of one instant (with POINTS) and some calls; prints whether the calls returned what they
 * should.
 *
 *	preempted ROUNDS [jump]
 */
#define _GNU_SOURCE
#include <setjmp.h>
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
static sigjmp_buf places[FIBERS];
static bool jumps, left[FIBERS];
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

/* To a fiber that has begun in the same way as it was left. */
static void go_on(int to)
{
	if (left[to])
		siglongjmp(places[to], 1);
	setcontext(&fibers[to]);
}

static void tick(int sig)
{
	const int from = running, to = next();

	(void)sig;
	running = to;
	if (to == from)
		return;
	if (!jumps) {
		swapcontext(&fibers[from], &fibers[to]);
	} else if (!sigsetjmp(places[from], 1)) {
		left[from] = true;
		go_on(to);
	}
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
	if (running < 0)
		setcontext(&home);
	go_on(running);
}

int main(int argc, char **argv)
{
	const struct itimerval often = { { 0, EVERY_US }, { 0, EVERY_US } };
	char *const stacks = mmap(NULL, FIBERS * STACK, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sigaction sa = { .sa_handler = tick };
	sigset_t alarm;

	if (argc < 2 || stacks == MAP_FAILED)
		return 2;
	/* Before a fiber runs, a handler would take this stack for the first one's. */
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_BLOCK, &alarm, NULL);
	rounds = atol(argv[1]);
	jumps = argc > 2;
	for (int i = 0; i < FIBERS; i++) {
		getcontext(&fibers[i]);
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
