/* u64 -> u64 table with linear probing, at most half full. See map64.h. */
#include "base/map64.h"

#include <assert.h>

#include "base/mem.h"

enum {
	MAP_MIN = 16,
	PROBES_MAX = 256, /* more than chance makes in a table that is half full */
	RESEEDS_MAX = 16,
};

#define MAP_LIMIT ((size_t)1 << 28)

static struct map64_slot *slot_for(struct map64_slot *slots, size_t cap, uint64_t seed,
				   uint64_t key, size_t *probes)
{
	for (size_t i = hash64(key ^ seed) & (cap - 1), n = 0;; i = (i + 1) & (cap - 1), n++) {
		struct map64_slot *s = &slots[i];

		if (!s->key || s->key == key) {
			*probes = n;
			return s;
		}
	}
}

static bool map64_rehash(struct map64 *m, size_t cap, uint64_t seed)
{
	struct map64_slot *slots = mem_table_alloc(cap + 1, sizeof(*slots));
	size_t probes;

	assert((cap & (cap - 1)) == 0 && 2 * (m->count - m->zero) <= cap);
	if (!slots)
		return false;
	for (size_t i = 0; i < m->cap; i++) {
		if (m->slots[i].key)
			*slot_for(slots, cap, seed, m->slots[i].key, &probes) = m->slots[i];
	}
	if (m->zero)
		slots[cap] = m->slots[m->cap];
	mem_table_free(m->slots, m->cap + 1, sizeof(*slots));
	m->slots = slots;
	m->cap = cap;
	m->seed = seed;
	return true;
}

/* The slot of key 0, which no other key takes. */
static struct map64_slot *zero_put(struct map64 *m)
{
	if (!m->zero && m->count >= MAP_LIMIT)
		return NULL;
	m->count += !m->zero;
	m->zero = true;
	return &m->slots[m->cap];
}

struct map64_slot *map64_put(struct map64 *m, uint64_t key)
{
	struct map64_slot *s;
	size_t probes;

	if (!m->cap && !map64_rehash(m, MAP_MIN, 0))
		return NULL;
	if (!key)
		return zero_put(m);
	s = slot_for(m->slots, m->cap, m->seed, key, &probes);
	if (s->key)
		return s;
	if (m->count >= MAP_LIMIT)
		return NULL;
	/* Keys made to collide would turn the table into a list: another seed scatters them. */
	if (probes > PROBES_MAX && m->reseeds < RESEEDS_MAX) {
		if (!map64_rehash(m, m->cap, hash64(m->seed + 0x2545F4914F6CDD1Du)))
			return NULL;
		m->reseeds++;
		s = slot_for(m->slots, m->cap, m->seed, key, &probes);
	}
	if (2 * (m->count - m->zero + 1) > m->cap) {
		if (!map64_rehash(m, 2 * m->cap, m->seed))
			return NULL;
		s = slot_for(m->slots, m->cap, m->seed, key, &probes);
	}
	*s = (struct map64_slot){ .key = key };
	m->count++;
	/* INVARIANT: half of the slots are free, so that every search ends. */
	assert(2 * (m->count - m->zero) <= m->cap);
	return s;
}

struct map64_slot *map64_next(const struct map64 *m, size_t *i)
{
	while (m->cap && *i <= m->cap) {
		struct map64_slot *s = &m->slots[(*i)++];

		if (*i <= m->cap ? s->key != 0 : m->zero)
			return s;
	}
	return NULL;
}

void map64_free(struct map64 *m)
{
	mem_table_free(m->slots, m->cap + 1, sizeof(*m->slots));
	*m = (struct map64){ 0 };
}
