/*
 * Runs of plain events: those whose provider, clock, strings and thread the output already has.
 * They are written as they are stored, in one piece. See copying.h.
 */
#include "format/fxt/copying.h"

enum { RUN_RECORDS = 1 << 16 /* the walk looks at a request to stop in between */ };

void fxt_copy_changed(struct fxt_copying *k, struct fxt_walk *w)
{
	struct fxt_copied *p = &k->providers[w->number];
	const unsigned type = fxt_type(w->head);

	if (type == FXT_METADATA || type == FXT_INIT) {
		k->settled = 0;
		w->clock = NULL;
	} else if (type == FXT_STRING && p->string_told && fxt_get(w->head, FXT_F_STRING_INDEX)) {
		p->string_told[fxt_get(w->head, FXT_F_STRING_INDEX)] = false;
	} else if (type == FXT_THREAD && p->thread_told) {
		p->thread_told[fxt_get(w->head, FXT_F_THREAD_INDEX)] = false;
	}
	/* SPEC fxt/provider-fallback: others may refer to it too. */
	if ((type == FXT_STRING || type == FXT_THREAD) && !w->number && k->nproviders > 1)
		k->quick = false;
	if (!w->clock)
		w->clock = fxt_copy_clock(k, w->number, w->off);
}

static bool is_told(const struct fxt_copied *p, uint64_t ref)
{
	return (ref & FXT_INLINE) || p->string_told[ref];
}

/* Whether the output has what the arguments of an event refer to. */
static bool args_told(const struct fxt_copying *k, const struct fxt_copied *p, const uint8_t *q,
		      const uint8_t *end, uint64_t n)
{
	for (; n; n--) {
		uint64_t h, size;

		if (end - q < FXT_WORD)
			return false;
		h = load64(q, k->x->swap);
		size = fxt_get(h, FXT_F_SIZE) * FXT_WORD;
		/* Names of koids and pointers travel. */
		if (!size || size > (uint64_t)(end - q) || fxt_type(h) == FXT_ARG_KOID ||
		    (fxt_type(h) == FXT_ARG_POINTER && k->x->names.npointers) ||
		    !is_told(p, fxt_get(h, FXT_F_ARG_NAME)) ||
		    (fxt_type(h) == FXT_ARG_STRING && !is_told(p, fxt_get(h, FXT_F_ARG_STRING))))
			return false;
		q += size;
	}
	return true;
}

/* Whether the output has all that the event of `bytes` at p refers to. */
static bool event_told(const struct fxt_copying *k, const struct fxt_copied *p, const uint8_t *at,
		       uint64_t h, uint64_t bytes)
{
	const uint64_t cat = fxt_get(h, FXT_F_EVENT_CATEGORY), name = fxt_get(h, FXT_F_EVENT_NAME),
		       texts = fxt_text_bytes(cat) + fxt_text_bytes(name);

	return fxt_get(h, FXT_F_EVENT_TYPE) < FXT_EVENT_TYPES &&
	       p->thread_told[fxt_get(h, FXT_F_EVENT_THREAD)] && is_told(p, cat) &&
	       is_told(p, name) && texts <= bytes - 2 * FXT_WORD &&
	       args_told(k, p, at + 2 * FXT_WORD + texts, at + bytes, fxt_get(h, FXT_F_EVENT_ARGS));
}

void fxt_copy_plain(struct fxt_copying *k, struct fxt_walk *w, uint64_t *next)
{
	const struct kept *kept = k->part->kept;
	const struct fxt *x = k->x;
	const struct fxt_copied *p = &k->providers[w->number];
	const struct fxt_clock *const clock = w->clock;
	const bool settled = k->settled == w->number + 1 && p->string_told;
	const uint8_t *const data = x->src->data;
	uint64_t off = w->off + w->size, run = off, want = *next;
	int64_t last = INT64_MIN, highest = k->highest;

	for (unsigned n = 0;
	     n < RUN_RECORDS && want != UINT64_MAX && x->src->size - off >= 2 * FXT_WORD; n++) {
		const uint64_t h = load64(data + off, x->swap), bytes = fxt_words(h) * FXT_WORD;
		int64_t ts;

		if (fxt_type(h) != FXT_EVENT || bytes < 2 * FXT_WORD ||
		    bytes > x->src->size - off ||
		    !fxt_clock_fast(clock, load64(data + off + FXT_WORD, x->swap), &ts))
			break;
		if (off - run >= FXT_RUN_MOST) {
			out_bytes(k->o, data + run, off - run);
			source_passed(x->src, run, off);
			run = off;
		}
		if (kept && off != want) {
			if (off > want)
				break;
			out_bytes(k->o, data + run, off - run);
			run = off + bytes;
		} else {
			if (!settled || !event_told(k, p, data + off, h, bytes))
				break;
			want = kept ? kept_next(kept, x->stream, off + 1) : 0;
			last = ts > last ? ts : last;
			k->copy->records++;
		}
		highest = ts > highest ? ts : highest;
		off += bytes;
	}
	out_bytes(k->o, data + run, off - run);
	k->highest = highest;
	if (last != INT64_MIN && fxt_copy_moved(k, last) > k->written)
		k->written = fxt_copy_moved(k, last);
	*next = want;
	w->off = off;
	w->size = 0;
}
