/* Stacks that are switched by hand. */
#ifndef SPUR_TESTS_SIM_RECORD_COROUTINE_H
#define SPUR_TESTS_SIM_RECORD_COROUTINE_H

#include <stddef.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

struct coroutine {
#if defined(__x86_64__)
	void *sp; /* where the registers are that a call must keep */
#else
	ucontext_t context;
#endif
};

/* The coroutine will run `body`, which must not return. `size`: of the stack, in bytes. */
void coroutine_make(struct coroutine *c, void *stack, size_t size, void (*body)(void));
/* Returns when something switches back to `from`. */
void coroutine_switch(struct coroutine *from, struct coroutine *to);
/*
 * The first byte of its stack that it will still use; the rest is set to zero, so that what is
 * stored there next does not depend on what was there.
 */
char *coroutine_live(const struct coroutine *c, char *stack);

#endif
