/*
 * Rows that a reader counts itself, in place of making them. A pass that wants nothing but how many
 * rows there are lends the reader a tally with each batch. The reader may count rows into it that
 * come before rows of the batch, between them, or after them; all others are in the batch.
 */
#ifndef SPUR_MODEL_TALLY_H
#define SPUR_MODEL_TALLY_H

#include <spur.h>

/* Rows of one stream that follow each other. */
struct tally_run {
	uint64_t rows; /* at least 1 */
	int64_t first, last; /* the least and the largest of their times */
	uint32_t stream;
	uint32_t track; /* of all of them if tally.by_track; else any */
};

struct tally {
	/* Set by the pass. */
	bool args; /* count arguments, and only rows whose arguments are proven to be good */
	bool tracks; /* make the tracks of the rows, as reading them does */
	bool by_track; /* all rows of a run have the same track; requires `tracks` */
	/* Gets each run. Returns false if out of memory. */
	bool (*run)(void *self, const struct tally_run *run);
	void *self;
	/* Sums of what the reader has counted. */
	uint64_t kinds[SPUR_KINDS];
	uint64_t nargs;
};

#endif
