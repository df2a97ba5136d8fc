/* Items of a lane in their order, block by block as arrays. */
#ifndef SPUR_STORE_CURSOR_H
#define SPUR_STORE_CURSOR_H

#include "store/parts.h"

struct cursor {
	const struct store *store;
	uint32_t lane;
	uint64_t block, nblocks; /* the next one; all that were there at cursor_begin() */
	uint32_t at, n; /* of the block at hand */
	int64_t from, to; /* items that begin from `from` to before `to` */
	uint64_t number; /* of the first item of the block */
	int64_t start[STORE_BLOCK], end[STORE_BLOCK];
	uint64_t label[STORE_BLOCK], marks[STORE_BLOCK];
};

/*
 * Begins with the first item that begins at `from` or later, and ends before the first one that
 * begins at `to` or later. Requires that the lane exists.
 */
void cursor_begin(struct cursor *c, const struct store *s, uint32_t lane, int64_t from, int64_t to);
/* Reads the next block that has items of the range. Returns false if no block is left. */
bool cursor_block(struct cursor *c);

/* Returns true if there is an item at c->at. */
static inline bool cursor_has(struct cursor *c)
{
	return c->at < c->n || cursor_block(c);
}

static inline bool cursor_is_span(const struct cursor *c, uint32_t i)
{
	return c->marks[i] >> MARKS_SHIFT & STORE_SPAN;
}

static inline bool cursor_is_off_cpu(const struct cursor *c, uint32_t i)
{
	return cursor_is_span(c, i) && (c->marks[i] & KIND_MASK) == SPUR_SWITCH;
}

/*
 * Returns true for a span whose end the data has, before `t`; that of a complete span is in its
 * first row.
 */
static inline bool cursor_has_ended(const struct cursor *c, uint32_t i, int64_t t)
{
	return cursor_is_span(c, i) && !(c->marks[i] >> MARKS_SHIFT & STORE_OPEN) &&
	       ((c->marks[i] & KIND_MASK) == SPUR_SPAN || store_before(c->end[i], t));
}

#endif
