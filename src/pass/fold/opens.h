/*
 * Asynchronous operations that have begun and not ended yet, found by their ids. An END need not
 * agree with its BEGIN in everything: an index has up to OPENS_LEVELS levels, each of which
 * compares the id and some of the parts, and an operation is looked for level by level, the newest
 * first. An open operation costs less than 256 bytes; adding, finding and removing one take
 * constant time.
 */
#ifndef SPUR_PASS_FOLD_OPENS_H
#define SPUR_PASS_FOLD_OPENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum open_part { OPEN_PROCESS, OPEN_CAT, OPEN_NAME, OPEN_PARTS };
enum { OPENS_LEVELS = 3 };

struct open_key {
	uint64_t id;
	uint32_t parts[OPEN_PARTS]; /* by enum open_part: a track, string ids */
};

struct open {
	struct open_key key;
	uint32_t row; /* the caller's */
	int64_t begin, last; /* ts: of the BEGIN, of the latest event */
	uint32_t thread; /* track of the latest event */
	uint32_t steps; /* events between BEGIN and END; sticks at UINT32_MAX */
	/*
	 * The next ones with the same key on each level, by place + 1; 0: none. `used`: not on the
	 * free list.
	 */
	uint32_t older[OPENS_LEVELS], newer[OPENS_LEVELS];
	bool used;
};

/*
 * A hash table of the newest operation of each key: place + 1, 0 where free; linear probing, at
 * most half full.
 */
struct open_level {
	uint8_t mask; /* 1 << enum open_part: the parts that count */
	uint32_t *slots;
	size_t cap, count; /* cap: a power of two, or 0 */
	uint64_t seed; /* drawn anew, in a fixed order, if keys collide too much */
	unsigned reseeds;
};

struct opens {
	struct open *items; /* n of them; those with `used` are open */
	size_t n, cap;
	uint32_t free; /* the first of the free list, linked by older[0]; 0: none */
	struct open_level levels[OPENS_LEVELS];
	size_t nlevels;
};

/* `masks`: of `n` levels (1 to OPENS_LEVELS), the strictest first. */
void opens_init(struct opens *o, const uint8_t *masks, size_t n);
/*
 * Adds an operation with this key; the caller sets what is behind it. Returns NULL if out of
 * memory.
 */
struct open *opens_add(struct opens *o, const struct open_key *key);
/*
 * Returns the newest operation on the first level that has one for the key, or NULL. It stays where
 * it is until the next opens_add().
 */
struct open *opens_find(const struct opens *o, const struct open_key *key);
void opens_remove(struct opens *o, struct open *item);
void opens_free(struct opens *o);

#endif
