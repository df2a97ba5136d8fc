/*
 * The disk has no room for the chunks of new threads, and the handler of a timer leaves the points
 * of a thread by siglongjmp() while they are counted as lost. The recording must end all the same.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

#include "spur_trace.h"

enum { JUMPS = 3000, EVERY_US = 50 };

static sigjmp_buf out;
static volatile long jumps;

static void handler(int sig)
{
	(void)sig;
	jumps++;
	siglongjmp(out, 1);
}

static void *work(void *arg)
{
	const struct itimerval often = { { 0, EVERY_US }, { 0, EVERY_US } };
	sigset_t alarm;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	signal(SIGALRM, handler);
	sigsetjmp(out, 1);
	pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (jumps < JUMPS)
		SPUR_TRACE_INSTANT("app", "lost");
	pthread_sigmask(SIG_BLOCK, &alarm, NULL);
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	return arg;
}

int main(void)
{
	pthread_t t;
	sigset_t alarm;

	for (int i = 0; i < 1 << 20; i++)
		SPUR_TRACE_INSTANT("app", "first");
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm, NULL);
	pthread_create(&t, NULL, work, NULL);
	pthread_join(t, NULL);
	puts("ended");
	return 0;
}
