/* Elements by key with linear probing, at most half full. See key_index.h. */
#include "base/key_index.h"

#include <assert.h>

#include "base/mem.h"

enum {
	INDEX_MIN = 32,
	PROBES_MAX = 256, /* more than chance makes in a table that is half full */
	RESEEDS_MAX = 16,
};

#define INDEX_LIMIT ((size_t)1 << 28)

static uint32_t *free_slot(uint32_t *slots, size_t cap, uint64_t hash, size_t *probes)
{
	size_t i = hash & (cap - 1);

	for (*probes = 0; slots[i]; i = (i + 1) & (cap - 1))
		++*probes;
	return &slots[i];
}

static bool index_rehash(struct key_index *x, size_t cap, uint64_t seed, key_index_key *key_of,
			 const void *list)
{
	uint32_t *slots = mem_table_alloc(cap, sizeof(*slots));
	size_t probes;

	assert((cap & (cap - 1)) == 0 && 2 * x->count <= cap);
	if (!slots)
		return false;
	for (size_t i = 0; i < x->cap; i++)
		if (x->slots[i])
			*free_slot(slots, cap, hash64(key_of(list, x->slots[i] - 1) ^ seed),
				   &probes) = x->slots[i];
	mem_table_free(x->slots, x->cap, sizeof(*slots));
	x->slots = slots;
	x->cap = cap;
	x->seed = seed;
	return true;
}

bool key_index_add(struct key_index *x, uint32_t number, key_index_key *key_of, const void *list)
{
	const uint64_t key = key_of(list, number);
	uint32_t *slot;
	size_t probes;

	assert(number != KEY_INDEX_NONE);
	if (x->count >= INDEX_LIMIT)
		return false;
	if (2 * (x->count + 1) > x->cap &&
	    !index_rehash(x, x->cap ? 2 * x->cap : INDEX_MIN, x->seed, key_of, list))
		return false;
	slot = free_slot(x->slots, x->cap, hash64(key ^ x->seed), &probes);
	/* Keys made to collide would turn the table into a list: another seed scatters them. */
	if (probes > PROBES_MAX && x->reseeds < RESEEDS_MAX) {
		if (!index_rehash(x, x->cap, hash64(x->seed + 0x2545F4914F6CDD1Du), key_of, list))
			return false;
		x->reseeds++;
		slot = free_slot(x->slots, x->cap, hash64(key ^ x->seed), &probes);
	}
	*slot = number + 1;
	x->count++;
	/* INVARIANT: half of the slots are free, so that every search ends. */
	assert(2 * x->count <= x->cap);
	return true;
}

void key_index_free(struct key_index *x)
{
	mem_table_free(x->slots, x->cap, sizeof(*x->slots));
	*x = (struct key_index){ 0 };
}
