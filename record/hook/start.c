/* The library in a recorded program begins: see hook.h. */
#include "hook.h"

/*
 * After the tracing library's own constructor, which starts the recording. Not recorded is what
 * other libraries do before.
 */
__attribute__((constructor)) static void start(void)
{
	if (spur_trace_is_on())
		hook_begin();
}

/* The end of the program: what it refused itself meanwhile is told too. */
__attribute__((destructor)) static void stop(void)
{
	hook_refused();
}
