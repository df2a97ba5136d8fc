/*
 * The quick path of the call-stack machine (pair.h), for inner loops: one track's stack in
 * registers. Most rows are a BEGIN that fits the stack as it is or an END of the topmost frame. One
 * comparison recognizes them, and they are applied in place:
 *
 *	struct fit v = fit_load(s, row);
 *	...
 *	bits = fit_bits(&v, row);			row is of the same track
 *	if (bits == v.begin && fit_has_room(&v))
 *		fit_push(&v, row, user);
 *	else if (fit_is_end(&v, bits) && fit_matches(&v, row))
 *		fit_pop(&v, length);			the frame is at v.next until the next push
 *	else
 *		fit_store(s, v.next); the machine in full (walk.h); v = fit_load(s, row);
 *
 * The quick path does what the machine would do, and nothing else: a caller may use it for any
 * number of rows, or for none.
 *
 * INVARIANT: a row whose bits in `mask` equal `begin` has no recorded depth, or that of `next`. One
 * for which fit_is_end() returns true has no recorded depth, or that of the frame below `next`.
 * Recorded depths are below UINT16_MAX. No row fits while the stack has an index or is out of
 * memory.
 */
#ifndef SPUR_FLOW_FIT_H
#define SPUR_FLOW_FIT_H

#include "flow/pair.h"

static_assert(offsetof(struct spur_event, kind) == 56 &&
		      offsetof(struct pair_frame, flags) == offsetof(struct pair_frame, cls) + 4,
	      "kind to depth of a row, cls and flags of a frame are compared as one word");

struct fit {
	struct pair_frame *next; /* the place above the topmost frame */
	struct pair_frame *limit; /* no frame is pushed here or above */
	uint64_t begin, mask;
	uint64_t level; /* one level of recorded depth; 0 if rows have no depth */
};

/* Lets no row fit from now on. */
void fit_close(struct fit *v);

/*
 * Returns the view for rows like this one. No row fits a stack without memory (s->cap == 0).
 * Inlined with fit_store(): rows of a merged trace change the track, and so the view, all the time.
 */
static inline struct fit fit_load(const struct pair_stack *s, const struct spur_event *row)
{
	const bool depth = row->flags & SPUR_F_DEPTH;
	const size_t cap = depth && s->cap > UINT16_MAX ? UINT16_MAX : s->cap;
	struct fit v = {
		.begin = row_rest(SPUR_BEGIN, depth ? SPUR_F_DEPTH : 0, 0, depth ? s->n : 0),
		.mask = row_rest(UINT8_MAX, SPUR_F_DEPTH, 0, depth ? UINT16_MAX : 0),
		.level = row_rest(0, 0, 0, depth),
	};

	assert(s->calls <= s->n && s->n <= s->cap);
	if (s->cap) {
		v.next = s->frames + s->n;
		v.limit = s->frames + cap;
	}
	if (!s->cap || s->index || (depth && s->n >= UINT16_MAX))
		fit_close(&v);
	return v;
}

/* Writes the number of frames back to the stack. */
static inline void fit_store(struct pair_stack *s, const struct pair_frame *next)
{
	const uint32_t n = s->cap ? (uint32_t)(next - s->frames) : 0;

	assert(n <= s->cap && (n == s->n || !s->index));
	s->calls += n - s->n;
	s->n = n;
}

static inline __attribute__((always_inline)) uint64_t fit_bits(const struct fit *v,
							       const struct spur_event *row)
{
	uint64_t bits;

	memcpy(&bits, (const char *)row + offsetof(struct spur_event, kind), sizeof(bits));
	return bits & v->mask;
}

/* Returns true if the row of these bits may be an END of the topmost frame. */
static inline __attribute__((always_inline)) bool fit_is_end(const struct fit *v, uint64_t bits)
{
	return bits == v->begin - v->level + row_rest(SPUR_END_SPAN, 0, 0, 0);
}

/* Returns true if the row of these bits, next after a BEGIN that fits, may be its END. */
static inline __attribute__((always_inline)) bool fit_is_leaf(const struct fit *v, uint64_t bits)
{
	return bits == v->begin + row_rest(SPUR_END_SPAN, 0, 0, 0);
}

/* Returns true if there is room for a frame and the topmost one is a call. */
static inline __attribute__((always_inline)) bool fit_has_room(const struct fit *v)
{
	return v->next != v->limit && !(v->next[-1].flags & (PAIR_SCHED | PAIR_SPAN));
}

/* Pushes the frame of a BEGIN that fits. Requires fit_has_room(). */
static inline __attribute__((always_inline)) void
fit_push(struct fit *v, const struct spur_event *row, uint64_t user)
{
	struct pair_frame *f = v->next;

	f->ts = row->ts;
	f->child = 0;
	f->cls = row->cls;
	f->flags = 0;
	f->user = user;
	v->next++;
	v->begin += v->level;
}

/*
 * Returns true if an END for which fit_is_end() is true ends the topmost frame and that frame is
 * not directly inside a SPAN.
 */
static inline __attribute__((always_inline)) bool fit_matches(const struct fit *v,
							      const struct spur_event *row)
{
	const struct pair_frame *f = v->next - 1;
	uint64_t frame;

	memcpy(&frame, (const char *)f + offsetof(struct pair_frame, cls), sizeof(frame));
	return frame == row_pair(row->cls, 0) && !(f[-1].flags & PAIR_SPAN);
}

/* Pops the topmost frame, which lasted `length` ns. Requires fit_matches(). */
static inline __attribute__((always_inline)) void fit_pop(struct fit *v, uint64_t length)
{
	struct pair_frame *below = v->next - 2;

	below->child = (int64_t)((uint64_t)below->child + length);
	v->next--;
	v->begin -= v->level;
}

#endif
