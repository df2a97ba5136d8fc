/* Sums of numbers of any type: whole numbers are exact, whether signed or unsigned. */
#ifndef SPUR_RENDER_NUMBERS_H
#define SPUR_RENDER_NUMBERS_H

#include "render/table.h"

struct numbers {
	uint64_t count, nan; /* of the numbers; of those that are none */
	struct table_value least, most; /* TABLE_NONE: no number yet */
	__int128 whole; /* sum of the integers */
	long double sum, rest; /* of the floats, and what rounding took from it */
};

void numbers_add(struct numbers *n, struct table_value v);
/* Returns TABLE_NONE without numbers. The mean of integers is one if it is whole. */
struct table_value numbers_mean(const struct numbers *n);

#endif
