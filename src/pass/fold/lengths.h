/*
 * Durations of one row of a table: sums, extremes and percentiles (spread.h). The first LENGTHS_FEW
 * are kept in place, so that a table of many names that each came a few times stays small.
 */
#ifndef SPUR_PASS_FOLD_LENGTHS_H
#define SPUR_PASS_FOLD_LENGTHS_H

#include "flow/spread.h"

enum { LENGTHS_FEW = 4 };

struct lengths {
	uint64_t count, total; /* total: ns */
	uint64_t least, most; /* ns; if count > 0 */
	uint64_t few[LENGTHS_FEW]; /* ascending; all of them while there is no spread */
	struct spread *spread; /* owned */
};

/* Returns false if out of memory. */
bool lengths_add(struct lengths *l, uint64_t ns);
/* The duration at or below which `percent` of all are (nearest rank); 0 of none. */
uint64_t lengths_percentile(const struct lengths *l, unsigned percent);
/* Standard deviation of the population, whole ns. */
uint64_t lengths_deviation(const struct lengths *l);
void lengths_free(struct lengths *l);

#endif
