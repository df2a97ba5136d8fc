/*
 * A signal handler leaves by siglongjmp() while the thread is in the library, at each of its
 * instructions: the child makes the library's whole time due before each event, or fills its page;
 * its parent steps through that event so far, and then has a handler jump out of it. The library
 * must go on. Prints after how many jumps it did; the child records one instant for each.
 *
 *	left time|page|call	of a point, or of a call that `spur record` records
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spur_trace.h"

enum { STRIDE = 3, PATIENCE_S = 60 };

static sigjmp_buf out;
static volatile sig_atomic_t whole; /* the event was recorded before the signal came */

static void handler(int sig)
{
	(void)sig;
	siglongjmp(out, 1);
}

__attribute__((noinline)) static void called(void)
{
	__asm__ volatile("");
}

/* Until another event needs another page. */
static void fill(void)
{
	while (spur_trace_here.end && spur_trace_here.at < spur_trace_here.end)
		SPUR_TRACE_INSTANT("app", "filler");
}

/* Has the parent step through an event, and another one says that the library goes on. */
static void child(char way)
{
	signal(SIGUSR1, handler);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* should it hang */
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	SPUR_TRACE_INSTANT("app", "stepped");
	SPUR_TRACE_INSTANT("app", "behind");
	while (!whole) {
		if (!sigsetjmp(out, 1)) {
			if (way == 'p')
				fill();
			else
				spur_trace_here.sync = 0;
			__asm__ volatile("int3");
			if (way == 'c')
				called();
			else
				SPUR_TRACE_INSTANT("app", "stepped");
			whole = 1;
			__asm__ volatile("int3");
		}
		spur_trace_thread_name("stepped");
		SPUR_TRACE_INSTANT("app", "behind");
	}
}

/* Returns the signal that the child stops at; 0: it has ended. */
static int go_on(pid_t pid, enum __ptrace_request how, int sig)
{
	int status;

	alarm(PATIENCE_S);
	if (ptrace(how, pid, 0, sig) || waitpid(pid, &status, 0) < 0)
		_exit(3);
	/* The library had signals blocked when this one was sent. */
	while (WIFSTOPPED(status) && WSTOPSIG(status) == SIGUSR1)
		if (ptrace(PTRACE_CONT, pid, 0, SIGUSR1) || waitpid(pid, &status, 0) < 0)
			_exit(3);
	if (WIFEXITED(status) || WIFSIGNALED(status))
		return 0;
	return WSTOPSIG(status);
}

/* Returns whether the event was recorded within that many steps. */
static bool step(pid_t pid, unsigned long steps)
{
	while (steps-- > 0) {
		if (go_on(pid, PTRACE_SINGLESTEP, 0) != SIGTRAP)
			_exit(4);
		if (ptrace(PTRACE_PEEKDATA, pid, &whole, 0) & 1)
			return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	const pid_t pid = fork();
	unsigned long steps = 0, jumps = 0;
	int status;

	if (argc < 2)
		return 2;
	if (!pid) {
		child(*argv[1]);
		return 0;
	}
	waitpid(pid, &status, 0);
	while (WIFSTOPPED(status) && !step(pid, steps)) {
		if (go_on(pid, PTRACE_CONT, SIGUSR1) != SIGTRAP)
			return 5;
		jumps++;
		steps += STRIDE;
	}
	if (go_on(pid, PTRACE_CONT, 0) != SIGTRAP)
		return 6;
	ptrace(PTRACE_DETACH, pid, 0, 0);
	waitpid(pid, &status, 0);
	printf("%s jumps, then %d\n", jumps > 10 ? "enough" : "few", status);
	printf("%lu\n", jumps + 2);
	return 0;
}
