/*
 * How durations are spread: percentiles and standard deviation of one function's calls. Exact for
 * up to SPREAD_FEW calls, and for up to TALLY_MOST different durations below 2^40 where `exact` is
 * set; beyond that a log-linear histogram (64 steps an octave, exact below 128 ns) whose
 * percentiles are off by 1/128 (0.8 %) at most. Sums are integers, so the order of adding and
 * joining changes nothing; nor does it change which of the two it is.
 */
#ifndef SPUR_FLOW_SPREAD_H
#define SPUR_FLOW_SPREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/tally.h"

enum { SPREAD_FEW = 64, SPREAD_OCTAVES = 58 };

struct spread {
	uint64_t count, sum;
	unsigned __int128 squares;
	uint64_t *few; /* the last `pending` values themselves; all of them while not `spilled` */
	uint32_t pending, room; /* room: of `few`, SPREAD_FEW at most */
	bool spilled; /* others are in the tally or the octaves */
	bool exact; /* in the tally. Set before the first is added; false once the tally is full */
	struct tally tally;
	uint64_t **octaves; /* SPREAD_OCTAVES arrays of counts; NULL if empty */
};

/* Makes room in `few`. Returns false if out of memory. */
bool spread_spill(struct spread *s);

/* Returns false if out of memory. */
static inline bool spread_add(struct spread *s, uint64_t value)
{
	if (__builtin_expect(s->pending == s->room, 0) && !spread_spill(s))
		return false;
	s->few[s->pending++] = value;
	s->count++;
	s->sum += value;
	s->squares += (unsigned __int128)value * value;
	return true;
}

/* Adds another's values. Both began with the same `exact`. Returns false if out of memory. */
bool spread_join(struct spread *into, const struct spread *from);
void spread_free(struct spread *s);
/*
 * Returns the value at `rank` (from 0) in ascending order, or 0 if there are fewer values or if out
 * of memory (mem_failures()). Sorts: nothing is added afterwards.
 */
uint64_t spread_at(struct spread *s, uint64_t rank);
/* Returns the value at or below which `percent` of the calls are (nearest rank); 0 of none. */
uint64_t spread_percentile(struct spread *s, unsigned percent);
/*
 * Calls `each` for all values in ascending order, equal ones together. Values of the histogram
 * count as spread_bin() of them. Sorts: nothing is added afterwards. Returns false if out of memory
 * or if `each` returned false.
 */
bool spread_each(struct spread *s, bool (*each)(void *self, uint64_t value, uint64_t times),
		 void *self);
/* Returns the value that stands for `value` in a histogram: the middle of its step. */
uint64_t spread_bin(uint64_t value);
/* Returns the standard deviation of the population, in whole ns. */
uint64_t spread_deviation(const struct spread *s);

#endif
