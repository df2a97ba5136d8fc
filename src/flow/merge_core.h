/*
 * Merges sorted sequences of anything that begins with its time (int64_t): rows, lines. The caller
 * gives each input some items at a time and takes them in the order of (time, number of the input),
 * stable within an input.
 *
 * Up to ORDER_WINDOW inputs are merged by windows: the items that come before the earliest end of
 * what the inputs have are put in order at once (order.h). More are merged by a loser tree, run by
 * run.
 *
 * Times of an input may go back. The order must not depend on how many items are given at once, so
 * windows count the latest time so far as an item's key, and runs are found by looking at each
 * item, not by bisection.
 *
 * INVARIANT of the tree, once built and while no input was changed without merge_core_replay():
 * tree[0] is the key of the input whose next item comes first, tree[1 .. count) are the losers of
 * the matches; the leaf of input i is at count + i.
 */
#ifndef SPUR_FLOW_MERGE_CORE_H
#define SPUR_FLOW_MERGE_CORE_H

#include <assert.h>
#include <string.h>

#include "flow/order.h"

enum { MERGE_ENDED = 1u << 31 };

/* An input's items, which are the caller's; those from `pos` on have not been taken. */
struct merge_input {
	const char *items;
	uint32_t pos, n;
};

struct merge_window {
	int64_t *keys; /* by item: the latest time of the input up to it */
	size_t cap;
	int64_t latest; /* key of the last item given */
	size_t safe; /* items before this one belong to the window */
};

/* Order of an input: the time of its next item, then its number; inputs without items are last. */
struct merge_key {
	int64_t ts;
	uint32_t place; /* number of the input, with MERGE_ENDED */
};

/* Zero-initialise. */
struct merge_core {
	struct merge_input *inputs;
	struct merge_window *windows; /* NULL: the tree is used */
	struct merge_key *tree;
	struct order order; /* of the window; which item of an input is next, its `pos` says */
	int64_t base; /* the window's first key */
	uint32_t count;
	size_t stride; /* bytes from item to item */
};

/* Returns false if out of memory. Items are `stride` bytes apart. */
bool merge_core_init(struct merge_core *c, uint32_t count, size_t stride);
void merge_core_free(struct merge_core *c);
/*
 * The next items of an input that has none left; n == 0: it has ended. Returns false if out of
 * memory.
 */
bool merge_core_give(struct merge_core *c, uint32_t i, const void *items, size_t n);

/*
 * Bounds a window: `active` gets the inputs that have items in it, in their order. Returns how many
 * there are; 0: all inputs have ended. Requires that each input that has not ended has items.
 */
uint32_t merge_core_window(struct merge_core *c, uint32_t active[ORDER_WINDOW]);
/* Puts the items of a window of several inputs in order: c->order. Returns false: out of memory. */
bool merge_core_sort(struct merge_core *c, const uint32_t *active, uint32_t n);

/* Builds the tree, once all inputs have their first items. */
void merge_core_build(struct merge_core *c);

static inline int64_t merge_core_time(const struct merge_input *in, size_t i, size_t stride)
{
	int64_t ts;

	memcpy(&ts, in->items + i * stride, sizeof(ts));
	return ts;
}

/* As one wide comparison: branches on the order of interleaved inputs are never predicted. */
static inline bool merge_key_less(struct merge_key a, struct merge_key b)
{
	return (__int128)((unsigned __int128)a.ts << 32 | a.place) <
	       (__int128)((unsigned __int128)b.ts << 32 | b.place);
}

static inline struct merge_key merge_core_key(const struct merge_core *c, uint32_t i, size_t stride)
{
	const struct merge_input *in = &c->inputs[i];

	assert(in->pos <= in->n);
	if (in->pos == in->n)
		return (struct merge_key){ .ts = INT64_MAX, .place = i | MERGE_ENDED };
	return (struct merge_key){ .ts = merge_core_time(in, in->pos, stride), .place = i };
}

/* The input whose next item comes first; with MERGE_ENDED: there is no item left. */
static inline uint32_t merge_core_first(const struct merge_core *c)
{
	return c->tree[0].place;
}

/*
 * Input i changed: plays its matches again up to the root. `stride` is c->stride, a constant to the
 * compiler.
 */
static inline void merge_core_replay(struct merge_core *c, uint32_t i, size_t stride)
{
	struct merge_key key = merge_core_key(c, i, stride);

	assert(stride == c->stride && i < c->count);
	for (uint32_t node = (i + c->count) / 2; node; node /= 2) {
		const struct merge_key other = c->tree[node];
		const bool loses = merge_key_less(other, key);
		const int64_t ts_mask = -(int64_t)loses & (key.ts ^ other.ts);
		const uint32_t place_mask = -(uint32_t)loses & (key.place ^ other.place);

		c->tree[node] = (struct merge_key){ .ts = other.ts ^ ts_mask,
						    .place = other.place ^ place_mask };
		key.ts ^= ts_mask;
		key.place ^= place_mask;
	}
	c->tree[0] = key;
}

/* How many items of the first input come before those of all others; 1 or more. */
static inline size_t merge_core_run(const struct merge_core *c, uint32_t first, size_t stride)
{
	struct merge_key limit = { .ts = INT64_MAX, .place = UINT32_MAX };
	const struct merge_input *in = &c->inputs[first];
	size_t end = in->pos + 1;
	int64_t last; /* the last time that still comes before */

	assert(stride == c->stride && in->pos < in->n);
	for (uint32_t node = (first + c->count) / 2; node; node /= 2)
		if (merge_key_less(c->tree[node], limit))
			limit = c->tree[node];
	if (limit.place & MERGE_ENDED)
		return in->n - in->pos;
	last = first < limit.place ? limit.ts : limit.ts - 1;
	for (; in->n - end >= 4; end += 4)
		if ((int)(merge_core_time(in, end, stride) > last) |
		    (int)(merge_core_time(in, end + 1, stride) > last) |
		    (int)(merge_core_time(in, end + 2, stride) > last) |
		    (int)(merge_core_time(in, end + 3, stride) > last))
			break;
	while (end < in->n && merge_core_time(in, end, stride) <= last)
		end++;
	return end - in->pos;
}

#endif
