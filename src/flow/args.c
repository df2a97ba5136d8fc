/* See args.h. */
#include "flow/args.h"

#include "format/format.h"
#include "model/args.h"

enum spur_status args_decode(struct spur_trace *t, const struct spur_event *ev,
			     struct spur_args *args)
{
	const struct event_class *c;
	const struct plan *plan;
	const uint8_t *p;
	size_t used;

	args_reset(args);
	if (t->format->args)
		return t->format->args(t, ev, args);
	if (!ev->cls)
		return SPUR_OK;
	c = trace_class(t, ev->cls);
	plan = class_plan(c, ev->kind == SPUR_END_SPAN);
	p = plan ? format_place(t, ev).raw : NULL;
	return p ? plan_run(plan, p, ev->len, args, &used) : SPUR_OK;
}

enum spur_status trace_args(struct spur_trace *t, const struct spur_event *ev,
			    struct spur_args *args)
{
	const uint64_t failures = mem_failures();
	const enum spur_status st = args_decode(t, ev, args);

	return mem_failures() == failures ? st : SPUR_FAIL;
}
