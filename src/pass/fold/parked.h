/*
 * Numbers of open calls by track and key, 0 until one is set: in tables for the first tracks and
 * keys, so that changing from one track to another costs little while there are few of them, else
 * by hash.
 */
#ifndef SPUR_PASS_FOLD_PARKED_H
#define SPUR_PASS_FOLD_PARKED_H

#include "base/map64.h"

enum { PARKED_TRACKS = 64, PARKED_KEYS = 1024 };

struct parked {
	uint32_t *tables[PARKED_TRACKS]; /* of PARKED_KEYS numbers; NULL: all are 0 */
	struct map64 others; /* track << 32 | key -> number */
};

/* The slow path of parked_put(). */
bool parked_put_slow(struct parked *p, uint32_t track, uint32_t key, uint32_t n);

/* Returns false if out of memory. */
static inline bool parked_put(struct parked *p, uint32_t track, uint32_t key, uint32_t n)
{
	if (track >= PARKED_TRACKS || key >= PARKED_KEYS || !p->tables[track])
		return parked_put_slow(p, track, key, n);
	p->tables[track][key] = n;
	return true;
}

/* Returns the number, which becomes 0. */
static inline uint32_t parked_take(struct parked *p, uint32_t track, uint32_t key)
{
	struct map64_slot *slot;
	uint32_t n = 0;

	if (track < PARKED_TRACKS && key < PARKED_KEYS) {
		if (p->tables[track]) {
			n = p->tables[track][key];
			p->tables[track][key] = 0;
		}
		return n;
	}
	slot = map64_find(&p->others, (uint64_t)track << 32 | key);
	if (slot) {
		n = (uint32_t)slot->value;
		slot->value = 0;
	}
	return n;
}

/* Gives back the memory of numbers that are 0 again. Returns false if out of memory. */
bool parked_trim(struct parked *p);
/* All numbers are 0 again. */
void parked_free(struct parked *p);

#endif
