/*
 * A track's stack in registers, for the inner loops of passes that fold frames. What most rows are, a BEGIN on the
 * stack as it is or an END of its topmost frame, is told by one comparison and done in place; everything else takes the
 * way of walk.h, after fit_store() and before fit_load().
 *
 * INVARIANT: a row whose bits in `mask` are `begin` lies at the depth of `next`, or has none; one whose bits are those
 * of fit_is_end() at the depth below. With recorded depth that is below UINT16_MAX. Where the stack has an index
 * nothing fits.
 */
#ifndef SPUR_FLOW_FIT_H
#define SPUR_FLOW_FIT_H

#include "flow/pair.h"

static_assert(offsetof(struct spur_event, kind) == 56 &&
		      offsetof(struct pair_frame, flags) == offsetof(struct pair_frame, cls) + 4,
	      "kind to depth of a row, cls and flags of a frame are compared as one word");

struct fit {
	struct pair_frame *next, *limit; /* behind the topmost frame; where no more may come */
	uint64_t begin, mask;
	uint64_t level; /* one of depth; 0 where rows have none */
};

/* For rows like this one. The stack has memory (cap > 0). */
struct fit fit_load(const struct pair_stack *s, const struct spur_event *row);
/* From now on nothing fits. */
void fit_close(struct fit *v);
/* Writes back how many frames there are. */
void fit_store(struct pair_stack *s, const struct pair_frame *next);

static inline __attribute__((always_inline)) uint64_t fit_bits(const struct fit *v,
							       const struct spur_event *row)
{
	uint64_t bits;

	memcpy(&bits, (const char *)row + offsetof(struct spur_event, kind), sizeof(bits));
	return bits & v->mask;
}

/* The bits of a row that may be an END of the topmost frame. */
static inline __attribute__((always_inline)) bool fit_is_end(const struct fit *v, uint64_t bits)
{
	return bits == v->begin - v->level + row_rest(SPUR_END_SPAN, 0, 0, 0);
}

/* The bits of a row behind a fitting BEGIN that may be its END. */
static inline __attribute__((always_inline)) bool fit_is_leaf(const struct fit *v, uint64_t bits)
{
	return bits == v->begin + row_rest(SPUR_END_SPAN, 0, 0, 0);
}

/* A frame may come on top: there is room, and what is on top is a call. */
static inline __attribute__((always_inline)) bool fit_has_room(const struct fit *v)
{
	return v->next != v->limit && !(v->next[-1].flags & (PAIR_SCHED | PAIR_SPAN));
}

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

/* The topmost frame is what the fitting END ends, and directly inside a call. */
static inline __attribute__((always_inline)) bool fit_matches(const struct fit *v,
							      const struct spur_event *row)
{
	const struct pair_frame *f = v->next - 1;
	uint64_t frame;

	memcpy(&frame, (const char *)f + offsetof(struct pair_frame, cls), sizeof(frame));
	return frame == row_pair(row->cls, 0) && !(f[-1].flags & PAIR_SPAN);
}

/* Takes the topmost frame, whose length this is, off. */
static inline __attribute__((always_inline)) void fit_pop(struct fit *v, uint64_t length)
{
	struct pair_frame *below = v->next - 2;

	below->child = (int64_t)((uint64_t)below->child + length);
	v->next--;
	v->begin -= v->level;
}

#endif
