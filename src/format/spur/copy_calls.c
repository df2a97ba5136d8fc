/*
 * What becomes of each record of a copy that keeps only some. UNWIND and TAIL records end calls
 * without saying which, so the calls that are open are followed, and whether each is kept.
 */
#include "format/spur/copy.h"

/* The calls of a thread that are open: whether they are kept. */
struct calls {
	bool *kept;
	size_t count, cap;
};

/* What a decision is in the map. */
enum { DECISION_BITS = 2 };

static bool decide(struct spb_copying *c, const struct spb_record *r, enum spb_keep keep,
		   uint64_t n)
{
	struct map64_slot *const slot = map64_put(&c->decisions, spb_off(c->s, r->p));

	if (slot)
		slot->value = n << DECISION_BITS | keep;
	return slot;
}

static bool call_push(struct calls *calls, bool kept)
{
	if (!mem_grow((void **)&calls->kept, &calls->cap, calls->count + 1, sizeof(bool), SIZE_MAX))
		return false;
	calls->kept[calls->count++] = kept;
	return true;
}

/* SPEC spur/unwind */
static bool unwind(struct spb_copying *c, const struct spb_record *r, struct calls *calls)
{
	const uint64_t asked = r->words ? spb_64(r->payload) : 1;
	const uint64_t n = asked < calls->count ? asked : calls->count;
	uint64_t kept = 0;

	for (uint64_t i = 0; i < n; i++)
		kept += calls->kept[--calls->count];
	if (kept == n)
		return true;
	return decide(c, r, kept ? SPB_KEEP_FEWER : SPB_DROP, kept);
}

/* SPEC spur/tail-call */
static bool tail(struct spb_copying *c, const struct spb_record *r, struct calls *calls)
{
	const bool is_kept = spb_copy_has(c, spb_off(c->s, r->p));
	const bool before = calls->count && calls->kept[--calls->count];
	const bool any = calls->count || before;

	if (!call_push(calls, is_kept))
		return false;
	return !is_kept || before || !any || decide(c, r, SPB_KEEP_AS_ENTER, 0);
}

static bool record_follow(struct spb_copying *c, const struct spb_record *r, struct calls *calls)
{
	switch ((enum spb_kind)r->kind) {
	case SPB_ENTER:
		return call_push(calls, spb_copy_has(c, spb_off(c->s, r->p)));
	case SPB_EXIT:
		calls->count -= calls->count != 0;
		return true;
	case SPB_TAIL:
		return tail(c, r, calls);
	case SPB_UNWIND:
		return unwind(c, r, calls);
	default:
		return true;
	}
}

bool spb_copy_calls(struct spb_copying *c)
{
	struct spb *const s = c->s;
	struct calls calls = { 0 };
	bool good = true;

	if (!c->part->kept)
		return true;
	for (size_t i = 0; good && i < s->nthreads; i++) {
		const struct spb_thread *const th = &s->threads[i];

		calls.count = 0;
		for (uint32_t k = 0; good && k < th->count; k++) {
			struct spb_cursor at;
			struct spb_record r;

			/* SPEC spur/gap */
			if (k && spb_gap_ticks(s, s->chunks[th->first + k - 1].number,
					       s->chunks[th->first + k].number, 0))
				calls.count = 0;
			spb_cursor_open(s, &at, s->chunks[th->first + k].number, 0);
			while (good && spb_record_next(s, &at, NULL, &r))
				good = record_follow(c, &r, &calls);
		}
	}
	mem_free(calls.kept);
	return good;
}

enum spb_keep spb_copy_keeps(struct spb_copying *c, const struct spb_record *r, uint64_t *fewer)
{
	const uint64_t off = spb_off(c->s, r->p);
	const struct map64_slot *slot;

	switch ((enum spb_kind)r->kind) {
	case SPB_TIME:
	case SPB_FIBER:
	case SPB_CPU:
	case SPB_PAD:
		return SPB_KEEP;
	case SPB_TAIL:
	case SPB_UNWIND:
		slot = c->decisions.count ? map64_find(&c->decisions, off) : NULL;
		if (!slot)
			return r->kind == SPB_UNWIND || spb_copy_has(c, off) ? SPB_KEEP : SPB_DROP;
		*fewer = slot->value >> DECISION_BITS;
		return slot->value & ((1u << DECISION_BITS) - 1);
	default:
		return spb_copy_has(c, off) ? SPB_KEEP : SPB_DROP;
	}
}
