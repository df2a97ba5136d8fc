/* u64 -> u64 open-addressing table. Not thread-safe. Lookup is inline: it is on hot paths. */
#ifndef SPUR_BASE_MAP64_H
#define SPUR_BASE_MAP64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct map64_slot {
	uint64_t key, value;
	bool used;
};

struct map64 {
	struct map64_slot *slots;
	size_t cap; /* power of two, or 0 */
	size_t count;
	uint64_t seed; /* replaced, in a fixed order, if keys collide too much */
	unsigned reseeds;
};

static inline struct map64_slot *map64_find(const struct map64 *m, uint64_t key)
{
	if (!m->cap)
		return NULL;
	for (size_t i = hash64(key ^ m->seed) & (m->cap - 1);; i = (i + 1) & (m->cap - 1)) {
		struct map64_slot *s = &m->slots[i];

		if (!s->used)
			return NULL;
		if (s->key == key)
			return s;
	}
}

/*
 * Returns the slot of `key`, added with value 0 if it is new, or NULL if out of memory or at 2^28
 * entries.
 */
struct map64_slot *map64_put(struct map64 *m, uint64_t key);
void map64_free(struct map64 *m);

#endif
