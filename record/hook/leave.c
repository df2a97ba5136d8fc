/*
 * Calls that an unwinder leaves: by an exception, by the end of a thread. It asks each frame's
 * personality, so hooks that calls return through have one.
 */
#include "hook.h"

#include <unwind.h>

/*
 * The stack pointer behind the return address of the innermost call that returns through a hook:
 * the calls inside it have ended before, and the stack is as it was. The unwinder is not asked,
 * since there are several and each has contexts of its own.
 */
static uint64_t innermost(const struct hook_thread *t)
{
	for (const struct hook_call *c = t->top; t->stack && c > t->stack->base; c--) {
		const uint64_t *const slot = (const uint64_t *)(t->low + c[-1].key);

		if ((uint64_t)slot % sizeof(*slot) == 0 && hook_is_thunk(*slot))
			return (uint64_t)(slot + 1);
	}
	return 0;
}

int hook_personality(int version, int actions, uint64_t class, void *exception, void *context)
{
	uint64_t target;

	(void)version;
	(void)class;
	(void)exception;
	(void)context;
	if (!(actions & _UA_CLEANUP_PHASE) || !core_on)
		return _URC_CONTINUE_UNWIND;
	target = innermost(&hook_here);
	if (target)
		hook_left(target);
	return _URC_CONTINUE_UNWIND;
}
