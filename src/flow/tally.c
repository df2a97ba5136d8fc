/* See tally.h. */
#include "flow/tally.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { CAP_FIRST = 128 };

/*
 * Returns the value's slot that has room for more, or the free one where it belongs.
 * INVARIANT: at least one slot is free.
 */
static uint64_t *slot_find(const struct tally *t, uint64_t value)
{
	size_t i = tally_place(t, value);

	assert(t->used < t->cap && !t->sorted);
	while (t->slots[i] && (t->slots[i] >> TALLY_COUNT_BITS != value ||
			       (t->slots[i] & tally_count_max) == tally_count_max))
		i = (i + 1) & (t->cap - 1);
	return &t->slots[i];
}

static bool tally_grow(struct tally *t)
{
	struct tally new = { .cap = t->cap ? 2 * t->cap : CAP_FIRST, .used = t->used };

	new.slots = mem_array(new.cap, sizeof(*new.slots));
	if (!new.slots)
		return false;
	for (size_t i = 0; i < t->cap; i++) {
		size_t k = tally_place(&new, t->slots[i] >> TALLY_COUNT_BITS);

		while (new.slots[k] && t->slots[i])
			k = (k + 1) & (new.cap - 1);
		if (t->slots[i])
			new.slots[k] = t->slots[i];
	}
	mem_free(t->slots);
	*t = new;
	return true;
}

enum tally_status tally_add(struct tally *t, uint64_t value, uint64_t *times)
{
	if (value >> (64 - TALLY_COUNT_BITS))
		return TALLY_FULL;
	while (*times) {
		uint64_t *slot, room;

		if (4 * (t->used + 1) > 3 * t->cap && !tally_grow(t))
			return TALLY_NO_MEMORY;
		slot = slot_find(t, value);
		if (!*slot) {
			if (t->used == TALLY_MOST)
				return TALLY_FULL;
			t->used++;
			*slot = value << TALLY_COUNT_BITS;
		}
		room = tally_count_max - (*slot & tally_count_max);
		room = *times < room ? *times : room;
		*slot += room;
		*times -= room;
	}
	return TALLY_OK;
}

bool tally_each(const struct tally *t, bool (*each)(void *self, uint64_t value, uint64_t times),
		void *self)
{
	for (size_t i = 0; i < (t->sorted ? t->used : t->cap); i++)
		if (t->slots[i] &&
		    !each(self, t->slots[i] >> TALLY_COUNT_BITS, t->slots[i] & tally_count_max))
			return false;
	return true;
}

static int slot_order(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

static void tally_sort(struct tally *t)
{
	size_t n = 0;

	if (t->sorted)
		return;
	for (size_t i = 0; i < t->cap; i++)
		if (t->slots[i])
			t->slots[n++] = t->slots[i];
	assert(n == t->used);
	if (n)
		qsort(t->slots, n, sizeof(*t->slots), slot_order);
	t->sorted = true;
}

uint64_t tally_at(struct tally *t, uint64_t rank)
{
	tally_sort(t);
	for (size_t i = 0; i < t->used; i++) {
		const uint64_t times = t->slots[i] & tally_count_max;

		if (rank < times)
			return t->slots[i] >> TALLY_COUNT_BITS;
		rank -= times;
	}
	return 0;
}

void tally_free(struct tally *t)
{
	mem_free(t->slots);
	*t = (struct tally){ 0 };
}
