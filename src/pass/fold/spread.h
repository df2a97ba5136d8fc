/*
 * How durations are spread: percentiles and standard deviation of one function's calls. Exact for
 * up to SPREAD_FEW calls, and for up to TALLY_MOST different durations below 2^40 where `exact` is
 * set; beyond that a log-linear histogram (64 steps an octave, exact below 128 ns) whose
 * percentiles are off by 1/128 (0.8 %) at most. Sums are integers, so the order of adding and
 * joining changes nothing; nor does it change which of the two it is.
 */
#ifndef SPUR_PASS_FOLD_SPREAD_H
#define SPUR_PASS_FOLD_SPREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pass/fold/tally.h"

enum { SPREAD_FEW = 64, SPREAD_OCTAVES = 58 };

struct spread {
	uint64_t count, sum;
	unsigned __int128 squares;
	uint64_t *few; /* the values themselves while there are few */
	/* Afterwards, while exact: how often each came. Set `exact` before the first is added. */
	struct tally tally;
	bool exact;
	/* Else SPREAD_OCTAVES arrays of counts; NULL where there are none. */
	uint64_t **octaves;
};

/* False: memory is out. */
bool spread_add(struct spread *s, uint64_t value);
/* Both with the same `exact` to begin with. */
bool spread_join(struct spread *into, const struct spread *from);
void spread_free(struct spread *s);
/* The value at `rank` (from 0) in ascending order; 0 beyond. Sorts: nothing is added afterwards. */
uint64_t spread_at(struct spread *s, uint64_t rank);
/* The value at or below which `percent` of the calls are (nearest rank); 0 of none. */
uint64_t spread_percentile(struct spread *s, unsigned percent);
/* Of the population, in whole ns. */
uint64_t spread_deviation(const struct spread *s);

#endif
