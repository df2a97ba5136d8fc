/* Arguments of events, and the fields and raw times of records. */
#include "format/spur/reader.h"

#include <stdio.h>

#include "model/schema.h"

static const char *const kind_names[] = {
	[SPB_HOLE] = "hole",   [SPB_BEGIN] = "begin",	[SPB_END] = "end",
	[SPB_EVENT] = "event", [SPB_ENTER] = "enter",	[SPB_EXIT] = "exit",
	[SPB_TAIL] = "tail",   [SPB_UNWIND] = "unwind", [SPB_TIME] = "time",
	[SPB_FIBER] = "fiber", [SPB_LOST] = "lost",	[SPB_SWITCH] = "switch",
	[SPB_CPU] = "cpu",     [SPB_MORE] = "more",	[SPB_RESERVED] = "reserved",
	[SPB_PAD] = "pad",
};

bool spb_record_of(const struct spb *s, const struct spur_event *ev, struct spb_record *r)
{
	const uint8_t *const p = s->data + ev->off;
	const uint64_t in_chunk = (ev->off - SPB_HEADER) % s->chunk_size;
	uint64_t word, words;
	uint32_t head = SPB_WORD;

	if (ev->off < SPB_HEADER || ev->off > s->size || ev->len > s->size - ev->off ||
	    ev->len < SPB_WORD || in_chunk < SPB_CHUNK_HEAD)
		return false;
	word = spb_64(p);
	if ((word >> 4 & 15) == SPB_LENGTH_FAR)
		head += SPB_WORD;
	if (head > ev->len)
		return false;
	words = (ev->len - head) / SPB_WORD;
	/* SPEC spur/more: the row's length is also that of the records that continue this one. */
	if (word && head > SPB_WORD && spb_32(p + SPB_WORD) < words)
		words = spb_32(p + SPB_WORD);
	else if (word && head == SPB_WORD && (word >> 4 & 15) < words)
		words = word >> 4 & 15;
	*r = (struct spb_record){ .p = p,
				  .payload = p + head,
				  .words = (uint32_t)words,
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

const struct spb_site *spb_site_of(const struct spb *s, const struct spb_record *r)
{
	const bool call = r->kind >= SPB_ENTER && r->kind <= SPB_TAIL;
	const struct spb_table *const t = call ? &s->functions : &s->sites;

	if (r->kind < SPB_BEGIN || r->kind > SPB_TAIL || !r->id)
		return NULL;
	return spb_table_find(t, r->id);
}

/* The bytes of the payload that are not arguments: an id, an address. SPEC spur/site-has */
static size_t before_arguments(const struct spb_record *r, const struct spb_site *site)
{
	switch ((enum spb_kind)r->kind) {
	case SPB_BEGIN:
	case SPB_END:
	case SPB_EVENT:
		return site->before;
	case SPB_ENTER:
	case SPB_EXIT:
	case SPB_TAIL:
		return r->id ? 0 : SPB_WORD;
	default:
		return 0;
	}
}

/*
 * Decodes the arguments of a record behind the first `skip` bytes of its payload. SPEC
 * spur/argument: a record without a payload has no arguments, since they were asked for only later.
 */
static enum spur_status args_take(struct spb *s, const struct spb_record *r,
				  const struct spb_shape *shape, size_t skip,
				  struct spur_args *args)
{
	const uint8_t *p = r->payload;
	size_t used, len = (size_t)r->words * SPB_WORD;
	enum spur_status st;

	if (!r->words)
		return SPUR_OK;
	if (__builtin_expect(p + len != r->p + r->len, 0)) {
		p = spb_payload(s, r, args, &len);
		if (!p)
			return SPUR_FAIL;
	}
	if (skip > len)
		return SPUR_WARN;
	if (!shape->plan) {
		st = spb_values(s, shape, p + skip, len - skip, args);
	} else {
		st = plan_run(shape->plan, p + skip, len - skip, args, &used);
		spb_follow_lock(s->follow);
		if (!strings_put(s, shape->plan, args))
			st = SPUR_FAIL;
		spb_follow_unlock(s->follow);
	}
	return st == SPUR_WARN && skip == len ? SPUR_OK : st;
}

enum spur_status spb_args(struct spur_trace *t, const struct spur_event *ev, struct spur_args *args)
{
	struct spb *const s = spb_of(t, ev);
	const struct spb_site *site;
	const struct spb_shape *shape;
	struct spb_record r;
	size_t skip;

	if (!ev->nargs || !spb_record_of(s, ev, &r))
		return SPUR_OK;
	spb_follow_lock(s->follow);
	site = spb_site_of(s, &r);
	skip = site ? before_arguments(&r, site) : 0;
	shape = !site ? NULL : ev->kind == SPUR_END_SPAN ? site->exit : site->entry;
	spb_follow_unlock(s->follow);
	return shape ? args_take(s, &r, shape, skip, args) : SPUR_OK;
}

enum spur_status spb_args_fit(struct spb *s, const struct spb_record *r, size_t *before)
{
	const struct spb_site *const site = spb_site_of(s, r);
	const bool end = r->kind == SPB_END || r->kind == SPB_EXIT;
	const struct spb_shape *const shape = !site ? NULL : end ? site->exit : site->entry;
	struct spur_args args = { 0 };
	enum spur_status st = SPUR_OK;

	*before = site ? before_arguments(r, site) : 0;
	if (shape)
		st = args_take(s, r, shape, *before, &args);
	spur_args_free(&args);
	return st;
}

enum spur_status spb_fields(struct spur_trace *t, const struct spur_event *ev,
			    struct spur_args *args)
{
	const struct spb *const s = spb_of(t, ev);
	struct spb_record r;

	if (ev->cls == s->own[SPB_CLASS_DESCRIPTOR]) {
		args_u64(args, s->words[SPB_W_SIZE], ev->len, SPUR_SHOW_PLAIN);
		args_u64(args, s->words[SPB_W_TYPE], ev->id, SPUR_SHOW_PLAIN);
		return SPUR_OK;
	}
	if (!spb_record_of(s, ev, &r))
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
	const struct spb *const s = spb_of(t, ev);

	if (ev->off <= s->size && ev->len <= s->size - ev->off)
		place->raw = s->data + ev->off;
}

bool spb_ticks(struct spur_trace *t, const struct spur_event *ev, uint64_t ticks[2])
{
	const struct spb *const s = spb_of(t, ev);
	struct spb_record r;
	uint64_t near;

	if (ev->flags & SPUR_F_RETIMED || !spb_record_of(s, ev, &r) || r.kind == SPB_HOLE)
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
