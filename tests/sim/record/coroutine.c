/*
 * Switching of stacks. swapcontext() would do, but it calls the system twice, which takes most of
 * the time of a simulated step.
 */
#include "coroutine.h"

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)

enum { WIPED = 6 << 10 }; /* deeper than any function goes that is called often */
enum { KEPT = 6 }; /* registers that a call must keep, besides the stack pointer */

void sim_stack_switch(void **from, void *to);
__asm__(".pushsection .text\n"
	".globl sim_stack_switch\n"
	".type sim_stack_switch, @function\n"
	"sim_stack_switch:\n"
	"	push %rbp\n	push %rbx\n	push %r12\n	push %r13\n	push %r14\n	"
	"push %r15\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbx\n	"
	"pop %rbp\n"
	"	ret\n"
	".size sim_stack_switch, .-sim_stack_switch\n"
	".popsection\n");

void coroutine_make(struct coroutine *c, void *stack, size_t size, void (*body)(void))
{
	/* As if `body` had been called: the stack is aligned before its return address. */
	uint64_t *top = (uint64_t *)(((uintptr_t)stack + size) & ~(uintptr_t)15);

	*--top = 0;
	*--top = (uint64_t)(uintptr_t)body;
	for (unsigned i = 0; i < KEPT; i++)
		*--top = 0;
	c->sp = top;
}

void coroutine_switch(struct coroutine *from, struct coroutine *to)
{
	sim_stack_switch(&from->sp, to->sp);
}

char *coroutine_live(const struct coroutine *c, char *stack)
{
	char *const live = c->sp;
	const size_t free = (size_t)(live - stack);

	memset(live - (free < WIPED ? free : WIPED), 0, free < WIPED ? free : WIPED);
	return live;
}

#else

void coroutine_make(struct coroutine *c, void *stack, size_t size, void (*body)(void))
{
	getcontext(&c->context);
	c->context.uc_stack.ss_sp = stack;
	c->context.uc_stack.ss_size = size;
	c->context.uc_link = NULL;
	makecontext(&c->context, body, 0);
}

void coroutine_switch(struct coroutine *from, struct coroutine *to)
{
	swapcontext(&from->context, &to->context);
}

char *coroutine_live(const struct coroutine *c, char *stack)
{
	(void)c;
	return stack;
}

#endif
