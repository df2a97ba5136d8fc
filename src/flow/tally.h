/*
 * A table of values and how often each occurred: 8 bytes a value, hashed. It can be sorted in the
 * end, so that any rank is found exactly. Durations of one function repeat: the number of different
 * ones grows with about the square root of the calls.
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
	 * value << TALLY_COUNT_BITS | count, or 0 if free. A slot whose count is full is followed
	 * by another one of the value. Once sorted, used slots only.
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

/* Counts a value whose slot is at its first place. Returns false if tally_add() must count it. */
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
 * Counts the value `*times` times and sets that to 0. Returns TALLY_FULL if there are TALLY_MOST
 * slots or the value has more than 40 bits; `*times` are then left. Requires that it is not sorted.
 */
enum tally_status tally_add(struct tally *t, uint64_t value, uint64_t *times);
/* Calls `each` for every slot. Returns false if `each` returned false. */
bool tally_each(const struct tally *t, bool (*each)(void *self, uint64_t value, uint64_t times),
		void *self);
/* Returns the value at `rank` (from 0) in ascending order. Sorts. */
uint64_t tally_at(struct tally *t, uint64_t rank);
void tally_free(struct tally *t);

#endif
