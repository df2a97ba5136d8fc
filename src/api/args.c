/* Arguments of events. */
#include "flow/pipe.h"

enum spur_status spur_args(struct spur_trace *t, const struct spur_event *ev,
			   struct spur_args *args)
{
	uint64_t *const charged = mem_charge(&t->mem_failures);
	const uint64_t failures = mem_failures();
	enum spur_status st = args_decode(t, ev, args);

	if (mem_failures() != failures)
		st = SPUR_FAIL;
	mem_charge(charged);
	return st;
}
