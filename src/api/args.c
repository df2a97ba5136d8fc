/* Arguments of events. */
#include "api/api.h"
#include "flow/args.h"
#include "flow/pipe.h"

enum spur_status spur_args(struct spur_trace *t, const struct spur_event *ev,
			   struct spur_args *args)
{
	enum spur_status st;
	uint64_t failures;
	uint64_t *charged;

	if (!api_row(t, "spur_args", ev) ||
	    !api_given(t, "spur_args", args, "a place for arguments"))
		return SPUR_FAIL;
	charged = mem_charge(&t->mem_failures);
	failures = mem_failures();
	st = args_decode(t, ev, args);
	if (mem_failures() != failures || st == SPUR_FAIL)
		st = api_no_memory(t, NULL);
	mem_charge(charged);
	return st;
}
