/*
 * Finds the elements of a list by a 64-bit key that is in the elements, so that the table itself
 * needs only 8 to 16 bytes each. Elements are numbered; `key_of` returns the key of a number that
 * was added. Not thread-safe. Lookup is inline.
 */
#ifndef SPUR_BASE_KEY_INDEX_H
#define SPUR_BASE_KEY_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct key_index {
	uint32_t *slots; /* number + 1, or 0 */
	size_t cap; /* power of two, or 0 */
	size_t count;
	uint64_t seed; /* replaced, in a fixed order, if keys collide too much */
	unsigned reseeds;
};

typedef uint64_t key_index_key(const void *list, uint32_t number);

#define KEY_INDEX_NONE UINT32_MAX

/* Returns the number of the element that has the key, or KEY_INDEX_NONE. */
static inline __attribute__((always_inline)) uint32_t key_index_find(const struct key_index *x,
								     uint64_t key,
								     key_index_key *key_of,
								     const void *list)
{
	if (!x->cap)
		return KEY_INDEX_NONE;
	for (size_t i = hash64(key ^ x->seed) & (x->cap - 1);; i = (i + 1) & (x->cap - 1)) {
		const uint32_t number = x->slots[i];

		if (!number)
			return KEY_INDEX_NONE;
		if (key_of(list, number - 1) == key)
			return number - 1;
	}
}

/*
 * Adds an element whose key no other has. Requires that key_of(list, number) already returns its
 * key. Returns false if out of memory or at 2^28 elements; then nothing was added.
 */
bool key_index_add(struct key_index *x, uint32_t number, key_index_key *key_of, const void *list);
void key_index_free(struct key_index *x);

#endif
