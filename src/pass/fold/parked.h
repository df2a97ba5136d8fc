/*
 * Numbers of open calls by track and key, 0 until one is set: in tables for the first tracks and
 * keys, so that changing from one track to another costs little while there are few of them, else
 * by hash.
 *
 * INVARIANT: a number is in a table if its track has one that is long enough, else by hash. A
 * number by hash that is not 0 was refused room in a table, and no table grows after that: so it
 * stays where it is.
 */
#ifndef SPUR_PASS_FOLD_PARKED_H
#define SPUR_PASS_FOLD_PARKED_H

#include "base/map64.h"

enum {
	PARKED_TRACKS = 512,
	PARKED_KEYS = 1024,
	PARKED_NUMBERS = 1 << 16, /* in all tables: 256 KiB */
};

/* Numbers of a track by key. */
struct parked_table {
	uint32_t *n;
	size_t len;
};

struct parked {
	struct parked_table *tables; /* by track */
	size_t ntables;
	size_t numbers; /* in tables */
	bool full; /* a number was refused room: tables grow no more */
	struct map64 others; /* track << 32 | key -> number */
};

/* Returns where the number is, or NULL if it is in no table. Valid until parked_room(). */
static inline uint32_t *parked_at(const struct parked *p, uint32_t track, uint32_t key)
{
	return track < p->ntables && key < p->tables[track].len ? &p->tables[track].n[key] : NULL;
}

/*
 * Puts the number in a table, if there is room: else `full` is true. Returns false if out of
 * memory.
 */
bool parked_room(struct parked *p, uint32_t track, uint32_t key);

/* The slow paths of parked_put() and parked_take(). */
bool parked_put_slow(struct parked *p, uint32_t track, uint32_t key, uint32_t n);
uint32_t parked_take_slow(struct parked *p, uint32_t track, uint32_t key);

/* Returns false if out of memory. */
static inline bool parked_put(struct parked *p, uint32_t track, uint32_t key, uint32_t n)
{
	uint32_t *const at = parked_at(p, track, key);

	if (!at)
		return parked_put_slow(p, track, key, n);
	*at = n;
	return true;
}

/* Returns the number, which becomes 0. */
static inline uint32_t parked_take(struct parked *p, uint32_t track, uint32_t key)
{
	uint32_t *const at = parked_at(p, track, key);
	uint32_t n = 0;

	if (at) {
		n = *at;
		*at = 0;
	} else if (p->others.count) {
		n = parked_take_slow(p, track, key);
	}
	return n;
}

/* Gives back the memory of numbers that are 0 again. Returns false if out of memory. */
bool parked_trim(struct parked *p);
/* All numbers are 0 again. */
void parked_free(struct parked *p);

#endif
