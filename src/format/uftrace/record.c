/* What writers need of a row: the place and ticks of its record, and the schema of its class. */
#include "base/bits.h"
#include "format/uftrace/reader.h"
#include "model/schema.h"

void uftrace_place(struct spur_trace *t, const struct spur_event *ev, struct spur_place *place)
{
	place->raw = uftrace_raw(t->state, ev);
}

/* SPEC uftrace/raw-ticks: ns; LOST and bookkeeping records have none */
bool uftrace_ticks(struct spur_trace *t, const struct spur_event *ev, uint64_t ticks[2])
{
	struct uftrace *u = t->state;
	const uint8_t *p = uftrace_raw(u, ev);

	if (!p || ev->kind == SPUR_LOST || ev->cls == uftrace_perf_class(u) ||
	    ev->cls == uftrace_line_class(u))
		return false;
	/* The time of a record of another file is in its trailer or page, or text. */
	ticks[0] = uftrace_is_side(u, ev->stream) || ev->kind == SPUR_LOG ? (uint64_t)ev->ts
									  : load64(p, u->swap);
	ticks[1] = ticks[0];
	return true;
}

/* --- schemas --- */

static bool schema_of_one(struct uftrace *u, struct spur_schema *s, struct spur_field field)
{
	struct spur_field *f = schema_fields(&u->t->arena, s, 1);

	if (f)
		*f = field;
	return f != NULL;
}

static bool schema_of_task(struct uftrace *u, struct spur_schema *s)
{
	struct spur_field *f = schema_fields(&u->t->arena, s, 2);

	if (!f)
		return false;
	f[0] = (struct spur_field){
		.name = u->names.pid, .type = SPUR_I64, .is_signed = true, .bits = 32
	};
	f[1] = f[0];
	f[1].name = u->names.ppid;
	return true;
}

/* SPEC uftrace/schema: the place of the call, or where nothing tells it the address */
static bool schema_of_call(struct uftrace *u, struct spur_schema *s)
{
	struct spur_field *f = schema_fields(&u->t->arena, s, 2);

	if (!f)
		return false;
	f[0] = (struct spur_field){ .name = u->names.from, .type = SPUR_STRING, .optional = true };
	f[1] = (struct spur_field){ .name = u->names.address,
				    .type = SPUR_U64,
				    .show = SPUR_SHOW_HEX,
				    .optional = true,
				    .bits = 64 };
	return true;
}

/* SPEC uftrace/schema: by the event's number; a watched variable's name is only in its events */
static bool schema_of_event(struct uftrace *u, uint64_t id, struct spur_schema *s)
{
	switch (id) {
	case UFTRACE_EV_TASK_NAME:
		return schema_of_one(
			u, s, (struct spur_field){ .name = u->names.comm, .type = SPUR_STRING });
	case UFTRACE_EV_TASK_NEW:
	case UFTRACE_EV_TASK_EXIT:
		return schema_of_task(u, s);
	case UFTRACE_EV_EXTERN:
		return schema_of_one(
			u, s, (struct spur_field){ .name = u->names.msg, .type = SPUR_STRING });
	case UFTRACE_EV_WATCH_CPU:
		s->open = true;
		return schema_of_one(u, s,
				     (struct spur_field){ .name = u->names.cpu,
							  .type = SPUR_I64,
							  .is_signed = true,
							  .optional = true,
							  .bits = 32 });
	case UFTRACE_EV_WATCH_VAR:
		s->open = true;
		return true;
	case UFTRACE_EV_CALLSITE:
		s->open = true;
		return schema_of_call(u, s);
	default:
		return schema_of_one(u, s,
				     (struct spur_field){ .name = u->names.data,
							  .type = SPUR_BYTES,
							  .optional = true });
	}
}

/* Returns false if out of memory. */
static bool schema_fill(struct uftrace *u, const struct event_class *cls, struct spur_schema *s)
{
	bool known = false;

	if (cls->flags & CLASS_SCHED)
		return true;
	if (cls->flags & CLASS_EVENT)
		return uftrace_kernel_schema(u, cls->addr, &s->begin, &s->nbegin, &known) &&
		       (known || schema_of_event(u, cls->addr, s));
	/*
	 * SPEC uftrace/schema: how many arguments of a kernel function there are, its records tell
	 */
	s->open = (cls->flags & CLASS_KERNEL) != 0;
	return true;
}

const struct spur_schema *uftrace_schema(struct spur_trace *t, const struct event_class *cls)
{
	struct spur_schema *s;

	if (class_plan(cls, false) || class_plan(cls, true))
		return schema_of_class(&t->arena, cls);
	s = arena_alloc(&t->arena, sizeof(*s));
	if (!s)
		return NULL;
	*s = (struct spur_schema){ 0 };
	return schema_fill(t->state, cls, s) ? s : NULL;
}
