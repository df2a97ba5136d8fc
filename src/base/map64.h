/* u64 -> u64 open-addressing table. Not thread-safe. Lookup is inline: it is on hot paths. */
#ifndef SPUR_BASE_MAP64_H
#define SPUR_BASE_MAP64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct map64_slot {
	uint64_t key, value;
};

struct map64 {
	/*
	 * cap + 1: one whose key is 0 is free, so key 0 itself has the last one, in use if `zero`
	 * is set.
	 */
	struct map64_slot *slots;
	size_t cap; /* power of two, or 0 */
	bool zero;
	size_t count;
	uint64_t seed; /* replaced, in a fixed order, if keys collide too much */
	unsigned reseeds;
};

static inline struct map64_slot *map64_find(const struct map64 *m, uint64_t key)
{
	if (!m->cap)
		return NULL;
	if (__builtin_expect(!key, 0))
		return m->zero ? &m->slots[m->cap] : NULL;
	for (size_t i = hash64(key ^ m->seed) & (m->cap - 1);; i = (i + 1) & (m->cap - 1)) {
		struct map64_slot *s = &m->slots[i];

		if (s->key == key)
			return s;
		if (!s->key)
			return NULL;
	}
}

/*
 * Returns the first entry at or after slot *i and moves *i past it, or NULL if no more follow.
 * Start with *i == 0. The order depends on the keys and on how they were added.
 */
struct map64_slot *map64_next(const struct map64 *m, size_t *i);

/*
 * Returns the slot of `key`, added with value 0 if it is new, or NULL if out of memory or at 2^28
 * entries.
 */
struct map64_slot *map64_put(struct map64 *m, uint64_t key);
void map64_free(struct map64 *m);

#endif
