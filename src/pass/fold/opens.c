/* Index of open asynchronous operations. See opens.h. */
#include "pass/fold/opens.h"

#include "base/map64.h"
#include "base/mem.h"

enum {
	SLOTS_MIN = 16,
	PROBES_MAX = 256, /* more than chance makes in a table that is half full */
	RESEEDS_MAX = 16,
};

static uint64_t key_hash(const struct open_level *l, const struct open_key *k)
{
	uint64_t h = hash64(k->id ^ l->seed);

	for (unsigned p = 0; p < OPEN_PARTS; p++)
		if (l->mask >> p & 1)
			h = hash64((h ^ l->seed) + ((uint64_t)k->parts[p] << 2 | p) + 1);
	return h;
}

static bool key_equal(const struct open_level *l, const struct open_key *a,
		      const struct open_key *b)
{
	bool equal = a->id == b->id;

	for (unsigned p = 0; p < OPEN_PARTS; p++)
		equal &= !(l->mask >> p & 1) || a->parts[p] == b->parts[p];
	return equal;
}

/* The slot that has the key, or the free one where it belongs. Requires l->cap > 0. */
static size_t slot_of(const struct opens *o, const struct open_level *l, const struct open_key *key,
		      size_t *probes)
{
	size_t i = key_hash(l, key) & (l->cap - 1);

	for (*probes = 0; l->slots[i]; (*probes)++, i = (i + 1) & (l->cap - 1))
		if (key_equal(l, &o->items[l->slots[i] - 1].key, key))
			break;
	return i;
}

static bool level_rehash(const struct opens *o, struct open_level *l, size_t cap, uint64_t seed)
{
	struct open_level next = *l;
	size_t probes;

	next.slots = mem_array(cap, sizeof(*next.slots));
	if (!next.slots)
		return false;
	next.cap = cap;
	next.seed = seed;
	for (size_t i = 0; i < l->cap; i++)
		if (l->slots[i])
			next.slots[slot_of(o, &next, &o->items[l->slots[i] - 1].key, &probes)] =
				l->slots[i];
	mem_free(l->slots);
	*l = next;
	return true;
}

/* Makes room for one more key. */
static bool level_reserve(const struct opens *o, struct open_level *l, const struct open_key *key)
{
	size_t probes;

	if (2 * (l->count + 1) > l->cap &&
	    !level_rehash(o, l, l->cap ? 2 * l->cap : SLOTS_MIN, l->seed))
		return false;
	slot_of(o, l, key, &probes);
	/* Ids made to collide would turn the table into a list: another seed scatters them. */
	if (probes > PROBES_MAX && l->reseeds < RESEEDS_MAX) {
		l->reseeds++;
		return level_rehash(o, l, l->cap, hash64(l->seed + 0x2545F4914F6CDD1Du));
	}
	return true;
}

/* Frees a slot and moves those behind it that would not be found any more. */
static void level_clear(const struct opens *o, struct open_level *l, size_t slot)
{
	const size_t mask = l->cap - 1;
	size_t hole = slot;

	for (size_t i = (hole + 1) & mask; l->slots[i]; i = (i + 1) & mask) {
		const size_t home = key_hash(l, &o->items[l->slots[i] - 1].key) & mask;

		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		l->slots[hole] = l->slots[i];
		hole = i;
	}
	l->slots[hole] = 0;
	l->count--;
}

void opens_init(struct opens *o, const uint8_t *masks, size_t n)
{
	*o = (struct opens){ .nlevels = n };
	for (size_t i = 0; i < n; i++)
		o->levels[i].mask = masks[i];
}

/* A place for an operation, + 1; 0: out of memory. */
static uint32_t place_take(struct opens *o)
{
	const uint32_t place = o->free;

	if (place) {
		o->free = o->items[place - 1].older[0];
		return place;
	}
	if (!mem_grow((void **)&o->items, &o->cap, o->n + 1, sizeof(*o->items), UINT32_MAX / 2))
		return 0;
	return (uint32_t)++o->n;
}

struct open *opens_add(struct opens *o, const struct open_key *key)
{
	uint32_t place;
	struct open *item;

	for (size_t k = 0; k < o->nlevels; k++)
		if (!level_reserve(o, &o->levels[k], key))
			return NULL;
	place = place_take(o);
	if (!place)
		return NULL;
	item = &o->items[place - 1];
	*item = (struct open){ .key = *key, .used = true };
	for (size_t k = 0; k < o->nlevels; k++) {
		struct open_level *l = &o->levels[k];
		size_t probes;
		const size_t slot = slot_of(o, l, key, &probes);

		item->older[k] = l->slots[slot];
		if (l->slots[slot])
			o->items[l->slots[slot] - 1].newer[k] = place;
		else
			l->count++;
		l->slots[slot] = place;
	}
	return item;
}

struct open *opens_find(const struct opens *o, const struct open_key *key)
{
	for (size_t k = 0; k < o->nlevels; k++) {
		const struct open_level *l = &o->levels[k];
		size_t probes;
		uint32_t place;

		if (!l->count)
			return NULL;
		place = l->slots[slot_of(o, l, key, &probes)];
		if (place)
			return &o->items[place - 1];
	}
	return NULL;
}

void opens_remove(struct opens *o, struct open *item)
{
	for (size_t k = 0; k < o->nlevels; k++) {
		struct open_level *l = &o->levels[k];
		const uint32_t older = item->older[k], newer = item->newer[k];
		size_t probes;

		if (older)
			o->items[older - 1].newer[k] = newer;
		if (newer) {
			o->items[newer - 1].older[k] = older;
		} else {
			const size_t slot = slot_of(o, l, &item->key, &probes);

			if (older)
				l->slots[slot] = older;
			else
				level_clear(o, l, slot);
		}
	}
	item->used = false;
	item->older[0] = o->free;
	o->free = (uint32_t)(item - o->items) + 1;
}

void opens_free(struct opens *o)
{
	for (size_t k = 0; k < o->nlevels; k++)
		mem_free(o->levels[k].slots);
	mem_free(o->items);
	*o = (struct opens){ 0 };
}
