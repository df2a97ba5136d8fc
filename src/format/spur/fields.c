/* Arguments of events, and the fields and raw times of records. */
#include "format/spur/reader.h"

#include <stdio.h>

#include "model/schema.h"

static const char *const kind_names[] = {
	[SPB_HOLE] = "hole",   [SPB_BEGIN] = "begin",	[SPB_END] = "end",
	[SPB_EVENT] = "event", [SPB_ENTER] = "enter",	[SPB_EXIT] = "exit",
	[SPB_TAIL] = "tail",   [SPB_UNWIND] = "unwind", [SPB_TIME] = "time",
	[SPB_FIBER] = "fiber", [SPB_LOST] = "lost",	[SPB_SWITCH] = "switch",
	[12] = "kind 12",      [13] = "kind 13",	[SPB_RESERVED] = "reserved",
	[SPB_PAD] = "pad",
};

/*
 * The record of a row. A file that is being written to may have changed since the row was made, so
 * sizes are compared with the row's. Returns false if the row has no such record.
 */
static bool record_of(const struct spb *s, const struct spur_event *ev, struct spb_record *r)
{
	const uint8_t *const p = s->src->data + ev->off;
	const uint64_t in_chunk = (ev->off - SPB_HEADER) % s->chunk_size;
	uint64_t word;
	uint32_t head = SPB_WORD;

	if (ev->off < SPB_HEADER || ev->off > s->src->size || ev->len > s->src->size - ev->off ||
	    ev->len < SPB_WORD || in_chunk < SPB_CHUNK_HEAD)
		return false;
	word = spb_64(p);
	if ((word >> 4 & 15) == SPB_LENGTH_FAR)
		head += SPB_WORD;
	if (head > ev->len)
		return false;
	*r = (struct spb_record){ .p = p,
				  .payload = p + head,
				  .words = (ev->len - head) / SPB_WORD,
				  .len = ev->len,
				  .id = (uint32_t)(word >> 8) & 0xFFFFFF,
				  .kind = word & 15 };
	return true;
}

/* SPEC spur/string: ids of strings become the strings. Returns false if out of memory. */
static bool strings_put(const struct spb *s, const struct plan *plan, struct spur_args *args)
{
	for (size_t i = 0; i < args->count && i < plan->count; i++) {
		struct spur_value *const v = &args->store->items[i];
		const struct map64_slot *slot;
		char number[32];
		size_t len;

		if (plan->ops[i].show != SPB_SHOW_STRING)
			continue;
		v->show = SPUR_SHOW_PLAIN;
		v->type = SPUR_STRING;
		slot = map64_find(&s->strings, v->u);
		if (slot) {
			v->text = trace_string(s->t, (uint32_t)slot->value, &len);
		} else {
			len = (size_t)snprintf(number, sizeof(number), "#%llu",
					       (unsigned long long)v->u);
			v->text = args_text(args, number, len);
			if (!v->text)
				return false;
		}
		v->count = (uint32_t)len;
	}
	return true;
}

/* The bytes of the payload that are not arguments: an id, an address. */
static size_t before_arguments(const struct spb_record *r, const struct spur_event *ev)
{
	switch ((enum spb_kind)r->kind) {
	case SPB_EVENT:
		return ev->kind >= SPUR_ASYNC_BEGIN && ev->kind <= SPUR_FLOW_END ? SPB_WORD : 0;
	case SPB_ENTER:
	case SPB_EXIT:
	case SPB_TAIL:
		return r->id ? 0 : SPB_WORD;
	default:
		return 0;
	}
}

enum spur_status spb_args(struct spur_trace *t, const struct spur_event *ev, struct spur_args *args)
{
	const struct event_class *const c = trace_class(t, ev->cls);
	const struct plan *const plan = class_plan(c, ev->kind == SPUR_END_SPAN);
	struct spb_record r;
	enum spur_status st;
	size_t skip, used;

	if (!plan || !record_of(t->state, ev, &r))
		return SPUR_OK;
	skip = before_arguments(&r, ev);
	if (skip > r.words * SPB_WORD)
		return SPUR_WARN;
	/* A record without a payload has no arguments: they were asked for only later. */
	if (r.words * SPB_WORD == skip && !r.words)
		return SPUR_OK;
	st = plan_run(plan, r.payload + skip, r.words * SPB_WORD - skip, args, &used);
	return strings_put(t->state, plan, args) ? st : SPUR_FAIL;
}

enum spur_status spb_fields(struct spur_trace *t, const struct spur_event *ev,
			    struct spur_args *args)
{
	const struct spb *const s = t->state;
	struct spb_record r;

	if (ev->cls == s->own[SPB_CLASS_DESCRIPTOR]) {
		args_u64(args, s->words[SPB_W_SIZE], ev->len, SPUR_SHOW_PLAIN);
		args_u64(args, s->words[SPB_W_TYPE], ev->id, SPUR_SHOW_PLAIN);
		return SPUR_OK;
	}
	if (!record_of(s, ev, &r))
		return SPUR_OK;
	args_literal(args, s->words[SPB_W_KIND], kind_names[r.kind]);
	args_u64(args, s->words[SPB_W_ID], r.id, SPUR_SHOW_PLAIN);
	args_u64(args, s->words[SPB_W_TIME], spb_64(r.p) >> 32, SPUR_SHOW_PLAIN);
	for (uint32_t i = 0; i < r.words; i++)
		args_u64(args, s->words[SPB_W_PAYLOAD], spb_64(r.payload + i * SPB_WORD),
			 SPUR_SHOW_HEX);
	return SPUR_OK;
}

void spb_place(struct spur_trace *t, const struct spur_event *ev, struct spur_place *place)
{
	const struct spb *const s = t->state;

	if (ev->off <= s->src->size && ev->len <= s->src->size - ev->off)
		place->raw = s->src->data + ev->off;
}

bool spb_ticks(struct spur_trace *t, const struct spur_event *ev, uint64_t ticks[2])
{
	const struct spb *const s = t->state;
	struct spb_record r;
	uint64_t near;

	if (ev->flags & SPUR_F_RETIMED || !record_of(s, ev, &r) || r.kind == SPB_HOLE)
		return false;
	if (r.kind == SPB_TIME && r.words) {
		ticks[0] = ticks[1] = spb_64(r.payload);
		return true;
	}
	/* The row's time is near enough to tell which of those with these low 32 bits it is. */
	near = spb_ticks_near(s, ev->ts);
	near += (uint64_t)(int64_t)(int32_t)((uint32_t)(spb_64(r.p) >> 32) - (uint32_t)near);
	ticks[0] = ticks[1] = near;
	return true;
}

static void schema_strings(const struct plan *plan, const struct spur_field *fields, uint32_t n)
{
	for (uint32_t i = 0; plan && i < n; i++)
		if (plan->ops[i].show == SPB_SHOW_STRING) {
			/* The schema was made for this class, and nothing else has seen it. */
			struct spur_field *const f = (struct spur_field *)&fields[i];

			f->type = SPUR_STRING;
			f->show = SPUR_SHOW_PLAIN;
			f->bits = 0;
		}
}

const struct spur_schema *spb_schema(struct spur_trace *t, const struct event_class *cls)
{
	const struct spur_schema *const s = schema_of_class(&t->arena, cls);

	if (s) {
		schema_strings(class_plan(cls, false), s->begin, s->nbegin);
		schema_strings(class_plan(cls, true), s->end, s->nend);
	}
	return s;
}
