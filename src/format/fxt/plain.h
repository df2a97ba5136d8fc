/*
 * Plain events: those whose strings and thread are by index and registered, and about which nothing
 * is to be said. They are nearly all there is, so they have a way of their own, without branches
 * that the data decides; all else goes through shape.h and rows.c.
 */
#ifndef SPUR_FORMAT_FXT_PLAIN_H
#define SPUR_FORMAT_FXT_PLAIN_H

#include "format/fxt/reader.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* SPEC fxt/inline-strings: top bits of the references to category and name */
#define INLINE_STRINGS (UINT64_C(1) << 47 | UINT64_C(1) << 63)

/*
 * What the type of an event means for its row. Masks have all bits or none: which comes next cannot
 * be predicted.
 */
struct event_shape {
	uint64_t tail; /* mask: a word stands behind the arguments */
	uint64_t id; /* mask: it is an id */
	uint64_t span; /* mask: it is the end of a span */
	uint8_t kind;
	bool known, other; /* other: no duration */
};
extern const struct event_shape fxt_event_shapes[16];

/* Bytes of an argument whose name is by index; 0: look closer. */
extern const uint8_t fxt_arg_bytes[16];

/* One that has something inline, or a value by index. */
bool fxt_arg_is_plain(const struct fxt *x, const uint8_t *p, uint64_t size);
/*
 * Makes a name know its class. False: something is odd about it or the category, or it is the empty
 * name, which has rules of its own.
 */
bool fxt_know_class(struct fxt *x, struct fxt_string *name, uint32_t cat, bool other);

/* An event, taken apart. */
struct plain_event {
	uint64_t h, bytes, tail;
	int64_t ts, dur;
	const struct event_shape *shape;
	struct fxt_string *name;
	uint32_t cat, track; /* 1 + string id, 1 + track */
};

/* Where its references are looked up. */
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

/* The end of the arguments of an event; NULL: there is something to be said about them. */
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
 * The event at `p`; false where there is none, or anything is odd about it. What its type decides
 * is computed for all types. `swap` and `plain` (ticks are ns) are constants where it matters.
 * INVARIANT: p <= data_end, and a record is looked at only where all of it is there.
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
	if (!q || p + e->bytes - q < (ptrdiff_t)(e->shape->tail & FXT_WORD) ||
	    (plain ? e->ts < 0 : !fxt_clock_fast(in.clock, ticks, &e->ts)))
		return false;
	/* Without a tail any word of the record will do. */
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

/* 1 + track of an inline thread that was seen before; 0: not. */
static inline uint32_t fxt_thread_seen(const struct fxt *x, uint64_t pid, uint64_t tid)
{
	const struct fxt_thread_seen *s = &x->seen->threads[hash64(pid << 32 ^ tid) % FXT_SEEN];

	return s->pid == pid && s->tid == tid ? s->now : 0;
}

/*
 * The same as plain_event() for events whose thread, category or name may stand in the record;
 * false too where the thread was not seen before.
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
