/*
 * A signal handler records while its thread takes the next page, at each instruction, and its event
 * ends just as far behind the full page as the interrupted one would have. Both go into the next
 * page, so the thread takes no more than that one. Prints how many pages were taken too many.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <ucontext.h>

#include "spur_trace.h"

enum { TRAP_FLAG = 0x100, ROOM = 2 };

static long wanted, seen; /* the instruction at which the handler records, and how many ran */
static bool some; /* room for a word was left in the page */

static void handler(int sig, siginfo_t *info, void *context)
{
	ucontext_t *const c = context;

	(void)sig, (void)info;
	if (seen++ != wanted)
		return;
	if (some)
		SPUR_TRACE_INSTANT("app", "handler", (U64, "n", wanted));
	else
		SPUR_TRACE_INSTANT("app", "handler", (U64, "n", wanted), (U64, "m", wanted));
	c->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

static void flag_set(bool on)
{
	if (on)
		__asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
	else
		__asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
}

/* Until that many bytes are left in the page. */
static void fill(long left)
{
	while (spur_trace_here.end - spur_trace_here.at != left)
		SPUR_TRACE_INSTANT("app", "filler");
}

/* Returns false if the event was complete before that instruction. */
static bool trial(long at, long *skipped)
{
	char *end;

	fill(some ? 8 : 0);
	end = spur_trace_here.end;
	wanted = at;
	seen = 0;
	flag_set(true);
	SPUR_TRACE_INSTANT("app", "event", (U64, "n", at), (U64, "m", at));
	flag_set(false);
	/* Or it is in another chunk. */
	*skipped += spur_trace_here.end - end == 2 * (long)SPUR_TRACE_PAGE;
	return seen > at;
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	long skipped = 0;

	sigaction(SIGTRAP, &action, NULL);
	SPUR_TRACE_INSTANT("app", "first");
	for (int room = 0; room < ROOM; room++) {
		long at = 0;

		some = room;
		while (trial(at, &skipped))
			at++;
		printf("%s steps\n", at > 50 ? "enough" : "few");
	}
	printf("%ld pages too many\n", skipped);
	return 0;
}
