/*
 * A signal handler interrupts a thread between the instructions at a function's entry that a
 * recorder replaces, says "inside", and waits there until one has replaced them. Then the function
 * is called CALLS times.
 *
 *	attach_handler [stack]	the handler runs on a stack of its own
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

enum { CALLS = 100, INSIDE = 2, STACK = 64 << 10, TRAP_FLAG = 0x100, NOP = 0x90 };

static char stack[STACK];

__attribute__((noinline, patchable_function_entry(5))) static int called(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n;
}

static void handler(int sig, siginfo_t *info, void *context)
{
	greg_t *const regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	const volatile unsigned char *const first = (const volatile unsigned char *)called;

	(void)sig, (void)info;
	if (regs[REG_RIP] != (greg_t)called + INSIDE)
		return;
	regs[REG_EFL] &= ~TRAP_FLAG;
	(void)!write(STDOUT_FILENO, "inside\n", 7);
	while (*first == NOP)
		usleep(1000);
}

static void *run(void *arg)
{
	const stack_t own = { .ss_sp = stack, .ss_size = sizeof(stack) };
	int sum = 0;

	sigaltstack(&own, NULL);
	__asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
	sum += called(1);
	for (int i = 0; i < CALLS; i++)
		sum += called(1);
	if (sum != CALLS + 1)
		abort();
	return arg;
}

static void leave(int sig)
{
	(void)sig;
	_exit(0);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = handler };
	pthread_t thread;

	(void)argv;
	action.sa_flags = SA_SIGINFO | (argc > 1 ? SA_ONSTACK : 0);
	sigaction(SIGTRAP, &action, NULL);
	signal(SIGTERM, leave);
	if (pthread_create(&thread, NULL, run, NULL))
		return 1;
	/* Until it is told to end, when the recorder has detached. */
	for (;;)
		pause();
}
