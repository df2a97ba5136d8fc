/*
 * Unwinds from a signal handler at every instruction that a child runs between two of its own: in
 * hooks, thunks and what they call. Each time, backtrace() must find the functions that are open,
 * and no others. The child is stepped through by its parent. Prints what was wrong.
 *
 *	stepped [STEPS]
 */
#define _GNU_SOURCE
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { MOST = 64, WRONG_SHOWN = 5 };

#define CHAIN __attribute__((noinline, section("chain")))
#ifdef __clang__
#define QUIET __attribute__((no_instrument_function, xray_never_instrument, noinline))
#else
#define QUIET __attribute__((no_instrument_function, patchable_function_entry(0), noinline))
#endif

extern char __start_chain[], __stop_chain[], etext[], __executable_start[];

static volatile long sum;
static void *usual[MOST]; /* what backtrace() finds in main(), and from there on outwards */
static int nusual;
static volatile unsigned long interrupted, handled, wrong, ended;

CHAIN static void fourth(const char *text)
{
	sum += atoi(text);
}

CHAIN static void third(const char *text)
{
	fourth(text);
	sum++;
}

CHAIN static void second(const char *text)
{
	third(text);
	fourth(text);
	sum++;
}

CHAIN static void first(const char *text)
{
	second(text);
	sum++;
}

/* How many frames there are in a deep recursion. */
__attribute__((noinline)) static int deep(int n)
{
	static void *at[4096];
	const int found = n ? deep(n - 1) : backtrace(at, 4096);

	sum++;
	return found;
}

/* The function of the chain that has the address: 1 to 4; 0: none. */
QUIET static int level(const void *address)
{
	void (*const names[])(const char *) = { fourth, third, second, first };
	int found = 0;
	const char *best = NULL;

	if ((const char *)address < __start_chain || (const char *)address >= __stop_chain)
		return 0;
	for (int i = 0; i < 4; i++) {
		const char *const f = (const char *)names[i];

		if (f <= (const char *)address && (!best || f > best)) {
			best = f;
			found = 4 - i;
		}
	}
	return found;
}

QUIET static int is_program(const void *address)
{
	return (const char *)address >= __executable_start && (const char *)address < etext;
}

/* The functions of the chain, innermost first, each called by the one before in the source. */
QUIET static const char *judge(void **at, int n, unsigned long pc)
{
	int i = 0, before = 0;

	/* What the program itself calls may be interrupted too, or the slot that leads there. */
	while (i < n && n - i > nusual && !level(at[i]) && at[0] == (void *)pc)
		i++;
	if (i < n && level(at[i])) {
		for (; i < n && level(at[i]); i++) {
			const int l = level(at[i]);

			/* second() calls fourth() too. */
			if (before && l != before - 1 && !(before == 4 && l == 2))
				return "calls in a wrong order";
			before = l;
		}
		if (before != 1)
			return "a call is missing";
	}
	if (n - i != nusual)
		return "the callers of the chain are missing";
	/* The place in main() is another one. */
	for (int k = 1; k < nusual; k++)
		if (at[i + k] != usual[k])
			return "other callers of main()";
	return is_program(at[i]) ? NULL : "main() is missing";
}

QUIET static void handler(int sig, siginfo_t *info, void *context)
{
	const unsigned long pc = (unsigned long)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	void *at[MOST];
	const int n = backtrace(at, MOST);
	const char *const why = n < 3 ? "no frames" : judge(at + 2, n - 2, pc);

	(void)sig;
	(void)info;
	handled++;
	if (why && wrong++ < WRONG_SHOWN) {
		printf("%s, at %s%#lx:", why, is_program((void *)pc) ? "" : "a hook, ", pc);
		for (int i = 0; i < n; i++)
			printf(" %d/%p", level(at[i]), at[i]);
		puts("");
	}
	interrupted = pc;
	__asm__ volatile("int3");
}

QUIET static void child(void)
{
	struct sigaction a = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };

	nusual = backtrace(usual, MOST);
	/* Its own frame. */
	memmove(usual, usual + 1, (size_t)--nusual * sizeof(*usual));
	sigaction(SIGUSR1, &a, NULL);
	ptrace(PTRACE_TRACEME, 0, 0, 0);
}

QUIET static unsigned long place(pid_t pid)
{
	struct user_regs_struct r;

	if (ptrace(PTRACE_GETREGS, pid, 0, &r))
		_exit(3);
	return r.rip;
}

/* Lets the child go on. Returns false when it has ended. */
QUIET static int go_on(pid_t pid, int how, int sig)
{
	int status;

	if (ptrace(how, pid, 0, sig) || waitpid(pid, &status, 0) < 0)
		_exit(3);
	/* The library had signals blocked when this one was sent. */
	while (WIFSTOPPED(status) && WSTOPSIG(status) == SIGUSR1)
		if (ptrace(PTRACE_CONT, pid, 0, SIGUSR1) || waitpid(pid, &status, 0) < 0)
			_exit(3);
	if (WIFEXITED(status))
		return 0;
	if (WIFSIGNALED(status) || WSTOPSIG(status) != SIGTRAP) {
		printf("ended by signal %d\n", WIFSIGNALED(status) ? WTERMSIG(status) :
								     WSTOPSIG(status));
		fflush(stdout);
		kill(pid, SIGKILL);
		_exit(1);
	}
	return 1;
}

/* Has the child interrupted where it is, and brings it back there. */
QUIET static int interrupt(pid_t pid)
{
	unsigned long back;

	if (!go_on(pid, PTRACE_CONT, SIGUSR1))
		return 0;
	back = (unsigned long)ptrace(PTRACE_PEEKDATA, pid, &interrupted, 0);
	do
		if (!go_on(pid, PTRACE_SINGLESTEP, 0))
			return 0;
	while (place(pid) != back);
	return 1;
}

QUIET static void parent(pid_t pid, long steps)
{
	int status;

	waitpid(pid, &status, 0);
	while (steps-- > 0 && !ptrace(PTRACE_PEEKDATA, pid, &ended, 0))
		if (!go_on(pid, PTRACE_SINGLESTEP, 0) || !interrupt(pid))
			return;
	ptrace(PTRACE_DETACH, pid, 0, 0);
	waitpid(pid, &status, 0);
}

QUIET int main(int argc, char **argv)
{
	const long steps = argc > 1 ? atol(argv[1]) : 100000;
	const pid_t pid = fork();

	if (pid) {
		parent(pid, steps);
		return 0;
	}
	child();
	printf("%d frames of a recursion\n", deep(1500) - nusual);
	fflush(stdout);
	/* Once without steps, so that stacks and pages are known. */
	first("1");
	__asm__ volatile("int3");
	first("7");
	ended = 1;
	printf("%s handlers, %lu wrong\n", handled > 100 ? "enough" : "few", wrong);
	return 0;
}
