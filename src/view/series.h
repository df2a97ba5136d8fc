/* A counter as the viewer shows it: its samples may be numbers of several types. */
#ifndef SPUR_VIEW_SERIES_H
#define SPUR_VIEW_SERIES_H

#include "view/view.h"

enum { SERIES_KINDS = 3 };

/* The lanes of a counter, one for each type of number it has. The first one names it. */
struct series {
	uint32_t lanes[SERIES_KINDS];
	uint32_t n;
};

/*
 * Finds all counters, in the order of their first lanes. The caller frees *out. Returns false if
 * out of memory.
 */
bool series_all(const struct view *v, struct series **out, size_t *n);
/* Finds the counter that a lane names. Returns false if the lane names none. */
bool series_of(const struct view *v, uint32_t lane, struct series *out);

/* The last sample that was found so far. */
struct series_last {
	uint32_t lane; /* SPUR_NONE: none yet */
	uint64_t number;
	struct store_item item;
};
/* Takes a sample of a lane if it comes later than *last. */
void series_later(const struct view *v, uint32_t lane, uint64_t number,
		  const struct store_item *item, struct series_last *last);
/* Takes the last sample of a lane before a time. */
void series_last_before(const struct view *v, uint32_t lane, int64_t t, struct series_last *last);

#endif
