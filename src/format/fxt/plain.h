/*
 * Plain events: valid events whose strings and thread are registered and referenced by index.
 * Nearly all events are plain, so they have a fast path without data-dependent branches; everything
 * else goes through shape.h and rows.c.
 */
#ifndef SPUR_FORMAT_FXT_PLAIN_H
#define SPUR_FORMAT_FXT_PLAIN_H

#include "format/fxt/reader.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* SPEC fxt/inline-strings: top bits of the references to category and name */
#define INLINE_STRINGS (UINT64_C(1) << 47 | UINT64_C(1) << 63)

/*
 * What the type of an event means for its row. Masks have all bits set or none, since branches on
 * the type cannot be predicted.
 */
struct event_shape {
	uint64_t tail; /* mask: a word follows the arguments */
	uint64_t id; /* mask: it is an id */
	uint64_t span; /* mask: it is the end of a span */
	uint8_t kind;
	bool known, other; /* other: no duration */
};
extern const struct event_shape fxt_event_shapes[16];

/* Size of an argument whose name is given by index; 0: it needs a closer look. */
extern const uint8_t fxt_arg_bytes[16];

/* Checks an argument that has inline text, or a value given by index. */
bool fxt_arg_is_plain(const struct fxt *x, const uint8_t *p, uint64_t size);
/*
 * Stores the class with its name. Returns false if the name or category is invalid, or if the name
 * is empty, which has special rules.
 */
bool fxt_know_class(struct fxt *x, struct fxt_string *name, uint32_t cat, bool other);

/* The parts of an event. */
struct plain_event {
	uint64_t h, bytes, tail;
	int64_t ts, dur;
	const struct event_shape *shape;
	struct fxt_string *name;
	uint32_t cat, track; /* 1 + string id, 1 + track */
};

/* The tables that its references are looked up in. */
struct plain_tables {
	struct fxt_string *strings;
	const struct fxt_slot *threads;
	const struct fxt_clock *clock;
};

ALWAYS_INLINE struct plain_tables plain_tables(const struct fxt *x)
{
	return (struct plain_tables){ x->provider->strings, x->provider->threads,
				      &x->provider->clock };
}

/* Returns the end of an event's arguments, or NULL if they are not plain. */
ALWAYS_INLINE const uint8_t *plain_args(const struct fxt *x, const struct fxt_string *strings,
					const uint8_t *q, const uint8_t *end, uint64_t n, bool swap)
{
	for (; n; n--) {
		uint64_t h, size, need;

		if (end - q < FXT_WORD)
			return NULL;
		h = load64(q, swap);
		size = fxt_bytes(h);
		need = fxt_arg_bytes[h & 15];
		if (size > (uint64_t)(end - q) || size < need)
			return NULL;
		if (!need || (h & (unsigned)FXT_INLINE << 16)) {
			if (!fxt_arg_is_plain(x, q, size))
				return NULL;
		} else if (!strings[fxt_get(h, FXT_F_ARG_NAME_INDEX)].now) {
			return NULL;
		}
		q += size;
	}
	return q;
}

/*
 * Decodes the event at `p`. Returns false if the record is not a plain event. Values that depend on
 * the type are computed for all types. `swap` and `plain` (ticks are ns) are constants in hot
 * loops. INVARIANT: p <= data_end, and a record is read only if all of it is available.
 */
ALWAYS_INLINE bool plain_event(struct fxt *x, struct plain_tables in, const uint8_t *p,
			       const uint8_t *data_end, struct plain_event *e, bool swap,
			       bool plain)
{
	uint64_t ticks, stop;
	const uint8_t *q;

	if (data_end - p < 2 * FXT_WORD)
		return false;
	e->h = load64(p, swap);
	e->bytes = fxt_bytes(e->h);
	e->shape = &fxt_event_shapes[fxt_get(e->h, FXT_F_EVENT_TYPE)];
	e->track = in.threads[fxt_get(e->h, FXT_F_EVENT_THREAD)].now;
	e->name = &in.strings[fxt_get(e->h, FXT_F_EVENT_NAME_INDEX)];
	e->cat = in.strings[fxt_get(e->h, FXT_F_EVENT_CATEGORY_INDEX)].now;
	ticks = load64(p + FXT_WORD, swap);
	e->ts = (int64_t)ticks;
	if ((e->h & (15 | INLINE_STRINGS)) != FXT_EVENT || !e->shape->known || !e->track ||
	    e->bytes - 2 * FXT_WORD > (uint64_t)(data_end - p) - 2 * FXT_WORD)
		return false;
	q = plain_args(x, in.strings, p + 2 * FXT_WORD, p + e->bytes,
		       fxt_get(e->h, FXT_F_EVENT_ARGS), swap);
	/* SPEC fxt/longer: one more word at most; what is longer may have a mark */
	if (!q ||
	    (uint64_t)(p + e->bytes - q) - (e->shape->tail & FXT_WORD) > FXT_WORD ||
	    (plain ? e->ts < 0 : !fxt_clock_fast(in.clock, ticks, &e->ts)))
		return false;
	/* Without a tail this reads any word of the record. */
	e->tail = load64(p + ((uint64_t)(q - p) & e->shape->tail), swap);
	stop = (e->tail & e->shape->span) | (ticks & ~e->shape->span);
	e->dur = (int64_t)stop;
	if (stop < ticks || (plain ? e->dur < 0 : !fxt_clock_fast(in.clock, stop, &e->dur)))
		return false;
	e->dur -= e->ts;
	return (e->name->cat == e->cat && e->name->name_cls[e->shape->other]) ||
	       fxt_know_class(x, e->name, e->cat, e->shape->other);
}

/* --- inline.c --- */

/* Returns 1 + the track of an inline thread that was seen before, else 0. */
static inline uint32_t fxt_thread_seen(const struct fxt *x, uint64_t pid, uint64_t tid)
{
	const struct fxt_thread_seen *s = &x->seen->threads[hash64(pid << 32 ^ tid) % FXT_SEEN];

	return s->pid == pid && s->tid == tid ? s->now : 0;
}

/*
 * As plain_event(), for events whose thread, category or name may be inline. Also returns false if
 * the thread was not seen before.
 */
bool fxt_inline_event(struct fxt *x, struct plain_tables in, const uint8_t *p,
		      const uint8_t *data_end, struct plain_event *e);

ALWAYS_INLINE void plain_row(struct spur_event *row, const struct plain_event *e, uint64_t off)
{
	row_store(row, (uint64_t)e->ts, e->tail & e->shape->id, off,
		  (struct row_words){ .len_track = row_pair((uint32_t)e->bytes, e->track - 1),
				      .stream_cat = e->name->stream_cat,
				      .name_cls = e->name->name_cls[e->shape->other],
				      .rest = row_rest(e->shape->kind, 0, SPUR_NO_CPU, 0) });
	row->dur = e->dur;
	row->nargs = (uint8_t)fxt_get(e->h, FXT_F_EVENT_ARGS);
}

#endif
