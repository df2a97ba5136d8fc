/* See parked.h. */
#include "pass/fold/parked.h"

#include <assert.h>

#include "base/mem.h"

enum { LEAST = 64 /* numbers of a table */ };

bool parked_room(struct parked *p, uint32_t track, uint32_t key)
{
	struct parked_table *k;
	size_t len = LEAST, before;

	if (parked_at(p, track, key) || p->full)
		return true;
	p->full = track >= PARKED_TRACKS || key >= PARKED_KEYS;
	if (p->full)
		return true;
	if (track >= p->ntables && !mem_grow((void **)&p->tables, &p->ntables, (size_t)track + 1,
					     sizeof(*p->tables), PARKED_TRACKS))
		return false;
	k = &p->tables[track];
	before = k->len;
	while (len <= key)
		len *= 2;
	assert(before < len && before <= p->numbers && p->numbers <= PARKED_NUMBERS);
	p->full = p->numbers - before + len > PARKED_NUMBERS;
	if (p->full)
		return true;
	if (!mem_grow((void **)&k->n, &k->len, len, sizeof(*k->n), len))
		return false;
	p->numbers += k->len - before;
	return true;
}

bool parked_put_slow(struct parked *p, uint32_t track, uint32_t key, uint32_t n)
{
	struct map64_slot *slot;
	uint32_t *at;

	if (!parked_room(p, track, key))
		return false;
	at = parked_at(p, track, key);
	if (at) {
		*at = n;
		return true;
	}
	slot = map64_put(&p->others, (uint64_t)track << 32 | key);
	if (slot)
		slot->value = n;
	return slot;
}

uint32_t parked_take_slow(struct parked *p, uint32_t track, uint32_t key)
{
	struct map64_slot *const slot = map64_find(&p->others, (uint64_t)track << 32 | key);
	uint32_t n;

	if (!slot)
		return 0;
	n = (uint32_t)slot->value;
	slot->value = 0;
	return n;
}

bool parked_trim(struct parked *p)
{
	struct map64 kept = { 0 };
	const struct map64_slot *from;
	bool good = true;
	size_t i = 0;

	while (good && (from = map64_next(&p->others, &i))) {
		struct map64_slot *to = from->value ? map64_put(&kept, from->key) : NULL;

		good = to || !from->value;
		if (to)
			to->value = from->value;
	}
	map64_free(good ? &p->others : &kept);
	if (good)
		p->others = kept;
	return good;
}

void parked_free(struct parked *p)
{
	for (size_t i = 0; i < p->ntables; i++)
		mem_free(p->tables[i].n);
	mem_free(p->tables);
	map64_free(&p->others);
	*p = (struct parked){ 0 };
}
