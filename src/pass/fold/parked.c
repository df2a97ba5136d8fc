/* See parked.h. */
#include "pass/fold/parked.h"

#include "base/mem.h"

bool parked_put_slow(struct parked *p, uint32_t track, uint32_t key, uint32_t n)
{
	struct map64_slot *slot;

	if (track < PARKED_TRACKS && key < PARKED_KEYS) {
		p->tables[track] = mem_array(PARKED_KEYS, sizeof(*p->tables[track]));
		if (p->tables[track])
			p->tables[track][key] = n;
		return p->tables[track];
	}
	slot = map64_put(&p->others, (uint64_t)track << 32 | key);
	if (slot)
		slot->value = n;
	return slot;
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
	for (size_t i = 0; i < PARKED_TRACKS; i++)
		mem_free(p->tables[i]);
	map64_free(&p->others);
	*p = (struct parked){ 0 };
}
