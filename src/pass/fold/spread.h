/*
 * How durations are spread: percentiles and standard deviation of one function's calls. Exact for
 * up to SPREAD_FEW calls; beyond that a log-linear histogram (64 steps an octave, exact below 128
 * ns) whose percentiles are off by 1/128 (0.8 %) at most. Sums are integers, so the order of adding
 * and joining changes nothing.
 */
#ifndef SPUR_PASS_FOLD_SPREAD_H
#define SPUR_PASS_FOLD_SPREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SPREAD_FEW = 64, SPREAD_OCTAVES = 58 };

struct spread {
	uint64_t count, sum;
	unsigned __int128 squares;
	uint64_t *few; /* the values themselves while there are few */
	/* Afterwards SPREAD_OCTAVES arrays of counts; NULL where there are none. */
	uint64_t **octaves;
};

/* False: memory is out. */
bool spread_add(struct spread *s, uint64_t value);
bool spread_join(struct spread *into, const struct spread *from);
void spread_free(struct spread *s);
/* The value at or below which `percent` of the calls are (nearest rank); 0 of none. Sorts `few`. */
uint64_t spread_percentile(struct spread *s, unsigned percent);
/* Of the population, in whole ns. */
uint64_t spread_deviation(const struct spread *s);

#endif
