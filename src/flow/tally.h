/*
 * How often each value came: 8 bytes a value, hashed, so that what is counted can be sorted in the end and any rank of
 * it found exactly. Durations of one function repeat: the different ones grow with about the square root of the calls.
 */
#ifndef SPUR_FLOW_TALLY_H
#define SPUR_FLOW_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map64.h"

enum { TALLY_MOST = 1 << 16, TALLY_COUNT_BITS = 24 };
static const uint64_t tally_count_max = (UINT64_C(1) << TALLY_COUNT_BITS) - 1;

struct tally {
	/*
	 * value << TALLY_COUNT_BITS | count, 0 where free; a full count is followed by another slot of the value.
	 * Once sorted, used slots only.
	 */
	uint64_t *slots;
	size_t cap, used; /* cap: a power of two, or 0 */
	bool sorted;
};

/* Where the value belongs; those that differ little stand together. */
static inline size_t tally_place(const struct tally *t, uint64_t value)
{
	return (hash64(value >> 3) << 3 | (value & 7)) & (t->cap - 1);
}

/* Counts the value once more where it is known at its very place and has room; false: tally_add() must. */
static inline bool tally_hit(struct tally *t, uint64_t value)
{
	uint64_t *slot;

	if (!t->cap)
		return false;
	slot = &t->slots[tally_place(t, value)];
	if (*slot >> TALLY_COUNT_BITS != value || !*slot || (~*slot & tally_count_max) == 0)
		return false;
	(*slot)++;
	return true;
}

enum tally_status { TALLY_OK, TALLY_FULL, TALLY_NO_MEMORY };

/*
 * Counts `*times` of the value down to 0. TALLY_FULL: it holds TALLY_MOST slots, or the value has more than 40 bits;
 * `*times` are left. Not once it is sorted.
 */
enum tally_status tally_add(struct tally *t, uint64_t value, uint64_t *times);
/* Calls `each` for every slot. False where `each` said so. */
bool tally_each(const struct tally *t, bool (*each)(void *self, uint64_t value, uint64_t times),
		void *self);
/* The value that stands at `rank` (from 0) of all in ascending order. Sorts. */
uint64_t tally_at(struct tally *t, uint64_t rank);
void tally_free(struct tally *t);

#endif
