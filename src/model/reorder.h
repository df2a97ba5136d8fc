/*
 * Rows in order of time out of records that stand in nearly that order (or in the order in which spans ended).
 *
 * The reader goes over its records twice. The first time it tells the time of each; what comes too late, before the
 * highest time so far, is a straggler: its row is made at once and handed over. The second time it makes rows of all
 * others, in place, and has the stragglers put between them. So rows that are in order are never stored, and
 * stragglers lie in scratch memory that can be paged out. Equal times keep the order of the records.
 *
 *	first:	if (reorder_late(r, ts)) { make the row; reorder_add(r, &row); }
 *		reorder_sort(r)
 *	second:	while there is a record: if (reorder_late(r, ts)) skip it; else { reorder_until(r, ts, batch); put the row }
 *		at the end: reorder_until(r, INT64_MAX, batch) until it adds none
 */
#ifndef SPUR_MODEL_REORDER_H
#define SPUR_MODEL_REORDER_H

#include "model/event.h"

struct reorder {
	int64_t high; /* the highest time so far in this pass */
	struct spur_event *rows; /* stragglers; scratch memory */
	size_t count, cap;
	size_t next; /* of the sorted rows, the next to come out */
};

void reorder_init(struct reorder *r);
void reorder_free(struct reorder *r);

/* Tells the time of the next record, in both passes; true: it is a straggler. */
static inline bool reorder_late(struct reorder *r, int64_t ts)
{
	if (ts < r->high)
		return true;
	r->high = ts;
	return false;
}

/* A straggler's row. False: no memory. */
bool reorder_add(struct reorder *r, const struct spur_event *row);
/* After the first pass: sorts, and begins the second. False: no memory. */
bool reorder_sort(struct reorder *r);
/*
 * Appends stragglers with a time below `ts` to the batch while there is room; false: there are more of them, and no
 * room. (INT64_MAX: all.)
 */
bool reorder_until(struct reorder *r, int64_t ts, struct batch *b);

#endif
