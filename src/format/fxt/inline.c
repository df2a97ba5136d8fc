/*
 * Events with threads and texts that stand in the record, as many writers make them. What they were
 * found to be is kept in small tables, so that they cost little more than those by index. See
 * plain.h.
 */
#include "base/text.h"
#include "format/fxt/plain.h"

void fxt_see_thread(struct fxt *x, uint64_t pid, uint64_t tid, uint32_t track)
{
	x->seen->threads[hash64(pid << 32 ^ tid) % FXT_SEEN] =
		(struct fxt_thread_seen){ .pid = pid, .tid = tid, .now = track + 1 };
}

/* Of the text's words, of a long one the last ones, with its padding. */
static size_t text_slot(const uint8_t *p, uint64_t len)
{
	enum { HASHED = 64 };
	const uint64_t words = align_up(len, FXT_WORD);
	uint64_t h = len;

	for (uint64_t i = words > HASHED ? words - HASHED : 0; i < words; i += FXT_WORD)
		h = hash64(h ^ load64(p + i, false));
	return (h >> 32) * (FXT_SEEN / 2) >> 32;
}

/* Whether the bytes after a text are zeros; others are to be told. */
static bool padding_clear(const uint8_t *p, uint64_t len)
{
	const uint64_t last = load64(p + align_up(len, FXT_WORD) - FXT_WORD, order_swaps(false));

	return !(len % FXT_WORD) || !(last >> 8 * (len % FXT_WORD));
}

/* A text that is none of the two of its slot takes the place of the older one. */
static uint32_t text_slow(struct fxt *x, struct fxt_text_seen *s, const uint8_t *p, uint64_t len)
{
	if (!utf8_all_valid((const char *)p, len))
		return 0;
	s[1] = s[0];
	s->id = trace_intern_n(x->t, (const char *)p, len);
	s->text = s->id ? trace_string(x->t, s->id, NULL) : NULL;
	s->len = (uint32_t)len;
	return s->id ? s->id + 1 : 0;
}

/*
 * 1 + string id of a text of one byte at least, which is there with its padding (whole words at
 * p). Returns 0 if there is something to be said of the text, or if out of memory.
 */
static inline uint32_t text_now(struct fxt *x, const uint8_t *p, uint64_t len)
{
	struct fxt_text_seen *const s = x->seen->texts[text_slot(p, len)];

	if (!padding_clear(p, len))
		return 0;
	for (int i = 0; i < 2; i++)
		if (s[i].text && s[i].len == len && memcmp(s[i].text, p, len) == 0)
			return s[i].id + 1;
	return text_slow(x, s, p, len);
}

/* 1 + string id of a reference, as text_now(); *q is moved past inline data. */
static uint32_t ref_now(struct fxt *x, struct plain_tables in, uint64_t ref, const uint8_t **q,
			const uint8_t *end)
{
	const uint64_t len = ref & (FXT_INLINE - 1);
	const uint8_t *const p = *q;

	if (!(ref & FXT_INLINE))
		return in.strings[ref].now;
	if (!len || align_up(len, FXT_WORD) > (uint64_t)(end - p))
		return 0;
	*q += align_up(len, FXT_WORD);
	return text_now(x, p, len);
}

/* What rows of the name and category have in common; both are 1 + string id. */
static struct fxt_string *name_seen(struct fxt *x, uint32_t cat, uint32_t name)
{
	struct fxt_string *const s =
		x->seen->names[hash64((uint64_t)cat << 32 | name) % (FXT_SEEN / 2)];

	for (int i = 0; i < 2; i++)
		if (s[i].now == name && s[i].cat == cat)
			return &s[i];
	s[1] = s[0];
	s[0] = (struct fxt_string){ .now = name };
	return s;
}

/* The end of the arguments, as plain_args(), for names that are inline. */
static const uint8_t *inline_args(struct fxt *x, struct plain_tables in, const uint8_t *q,
				  const uint8_t *end, uint64_t n)
{
	for (; n; n--) {
		uint64_t h, size, need, len;

		if (end - q < FXT_WORD)
			return NULL;
		h = load64(q, x->swap);
		size = fxt_bytes(h);
		need = fxt_arg_bytes[h & 15];
		len = fxt_get(h, FXT_F_ARG_NAME_INDEX);
		if (need && (h & (unsigned)FXT_INLINE << 16) && len) {
			if (size > (uint64_t)(end - q) || size < need + align_up(len, FXT_WORD) ||
			    !text_now(x, q + FXT_WORD, len))
				return NULL;
			q += size;
		} else {
			q = plain_args(x, in.strings, q, end, 1, x->swap);
			if (!q)
				return NULL;
		}
	}
	return q;
}

bool fxt_inline_event(struct fxt *x, struct plain_tables in, const uint8_t *p,
		      const uint8_t *data_end, struct plain_event *e)
{
	const bool swap = x->swap;
	const uint8_t *q = p + 2 * FXT_WORD, *end;
	uint64_t ticks, stop;
	uint32_t name;

	if (data_end - p < 2 * FXT_WORD)
		return false;
	e->h = load64(p, swap);
	e->bytes = fxt_bytes(e->h);
	e->shape = &fxt_event_shapes[fxt_get(e->h, FXT_F_EVENT_TYPE)];
	if (fxt_type(e->h) != FXT_EVENT || !e->shape->known ||
	    e->bytes - 2 * FXT_WORD > (uint64_t)(data_end - p) - 2 * FXT_WORD)
		return false;
	end = p + e->bytes;
	ticks = load64(p + FXT_WORD, swap);
	e->track = in.threads[fxt_get(e->h, FXT_F_EVENT_THREAD)].now;
	if (!fxt_get(e->h, FXT_F_EVENT_THREAD)) {
		if (end - q < 2 * FXT_WORD)
			return false;
		e->track = fxt_thread_seen(x, load64(q, swap), load64(q + FXT_WORD, swap));
		q += 2 * FXT_WORD;
	}
	e->cat = ref_now(x, in, fxt_get(e->h, FXT_F_EVENT_CATEGORY), &q, end);
	name = e->cat ? ref_now(x, in, fxt_get(e->h, FXT_F_EVENT_NAME), &q, end) : 0;
	if (!e->track || !name)
		return false;
	q = inline_args(x, in, q, end, fxt_get(e->h, FXT_F_EVENT_ARGS));
	if (!q || (uint64_t)(end - q) - (e->shape->tail & FXT_WORD) > FXT_WORD ||
	    !fxt_clock_fast(in.clock, ticks, &e->ts))
		return false;
	e->tail = load64(p + ((uint64_t)(q - p) & e->shape->tail), swap);
	stop = (e->tail & e->shape->span) | (ticks & ~e->shape->span);
	if (stop < ticks || !fxt_clock_fast(in.clock, stop, &e->dur))
		return false;
	e->dur -= e->ts;
	e->name = name_seen(x, e->cat, name);
	return e->name->name_cls[e->shape->other] ||
	       fxt_know_class(x, e->name, e->cat, e->shape->other);
}
