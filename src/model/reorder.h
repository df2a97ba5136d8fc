/*
 * Rows in order of time out of records that stand in nearly that order, or in the order in which
 * spans ended.
 *
 * The reader goes over its records twice and tells the key of each: its time, and a rank that
 * settles equal times (lower first; of a span REORDER_SPAN(dur): the longer one, which is the outer
 * one, comes first). What comes too late, below the highest key so far, is a straggler: in the
 * first pass it is put by, in the second it comes out in its place between the records that are in
 * order. So records that are in order are never stored. What is put by is an item of a fixed size:
 * a row, or only where the record stands. Items lie in scratch memory that can be paged out.
 *
 *	first:	each record:	if (reorder_late(r, ts, rank)) reorder_add(r, ts, rank, &item)
 *		at the end:	reorder_sort(r)
 *	second:	each record:	if (reorder_late(r, ts, rank)) skip it
 *				else { while ((item = reorder_next(r, ts, rank))) put item; put the record }
 *		at the end:	while ((item = reorder_rest(r))) put item
 *
 * reorder_late() is told each record once in each pass. Where items are rows, reorder_until() does
 * the inner loop; it stops where the batch is full, and is asked again with the same record before
 * the reader goes on. Items may be added that stand for no record (their keys need not be late);
 * they come out in their place too.
 *
 * Equal keys come in the order of the records, or in the reverse order (`later_first`: records are
 * written when their span ends, so of equal spans the later one is the outer one).
 *
 * Stragglers form runs: each goes to the first run that it does not come too late for. Their number
 * is the depth of nesting, not the length of the trace; what fits none of REORDER_RUNS is sorted
 * apart, in n log n.
 */
#ifndef SPUR_MODEL_REORDER_H
#define SPUR_MODEL_REORDER_H

#include "model/event.h"

/* Time in the high half, rank in the low one. */
typedef __int128 reorder_key;

enum { REORDER_RUNS = 64, REORDER_WINDOW = 256 };

struct reorder_run;
struct reorder_extent;

struct reorder {
	reorder_key bar; /* what is below it is late, in this pass */
	reorder_key due; /* second pass: of the next straggler, .. */
	int64_t due_ts; /* .. and its time; INT64_MAX where there is none */
	int64_t highest, floor; /* windows: of all records so far; before the window */
	uint32_t left; /* windows: records still to come in this one */
	bool later_first;
	uint32_t item_size, stride; /* bytes of an item; with its key, and padding */
	uint32_t nruns; /* the last may be the unsorted one, number REORDER_RUNS */
	uint32_t nheap; /* runs that have items left */
	struct reorder_run *runs;
	struct reorder_extent *extents; /* scratch memory; items never move */
	size_t nextents, extents_cap;
	const void **sorted; /* items of the unsorted run; scratch memory */
	uint64_t count; /* items put by */
};

/*
 * Of a span that lasts `dur` >= 0. Other records: any rank below UINT64_MAX; 0 is before all spans
 * of its time.
 */
#define REORDER_SPAN(dur) (((uint64_t)1 << 63) - 1 - (uint64_t)(dur))

/* Nothing is allocated. `item_size`: bytes of an item. */
void reorder_init(struct reorder *r, size_t item_size, bool later_first);
void reorder_free(struct reorder *r);

static inline reorder_key reorder_make_key(int64_t ts, uint64_t rank)
{
	return (reorder_key)((unsigned __int128)(uint64_t)ts << 64 | rank);
}

/* Tells the key of the next record, in both passes alike; true: it is a straggler. */
static inline bool reorder_late(struct reorder *r, int64_t ts, uint64_t rank)
{
	const reorder_key key = reorder_make_key(ts, rank);

	if (key < r->bar)
		return true;
	r->bar = key + r->later_first;
	return false;
}

/*
 * The same for readers that sort by themselves what lies within windows of REORDER_WINDOW records,
 * counted from the first: stragglers are only those that are not later than all before their
 * window. Where spans are written as they end, these are few.
 */
static inline bool reorder_late_window(struct reorder *r, int64_t ts)
{
	if (!r->left) {
		r->left = REORDER_WINDOW;
		r->floor = r->highest;
	}
	r->left--;
	r->highest = ts > r->highest ? ts : r->highest;
	return ts <= r->floor;
}

/*
 * The same, at once, of a record inside a window that is later than all before it; false: ask the
 * other.
 */
static inline bool reorder_ascends(struct reorder *r, int64_t ts)
{
	if (!r->left || ts <= r->highest)
		return false;
	r->left--;
	r->highest = ts;
	return true;
}

/* A record without a time takes room in a window too, where the reader keeps its row there. */
static inline void reorder_pass_window(struct reorder *r)
{
	r->left -= r->left > 0;
}

/* Puts a copy of the item by. Returns false if out of memory. */
bool reorder_add(struct reorder *r, int64_t ts, uint64_t rank, const void *item);
/*
 * After the first pass: sorts what needs it, and begins the second. Returns false if out of
 * memory.
 */
bool reorder_sort(struct reorder *r);

/* Out of line half of the two below. */
const void *reorder_take(struct reorder *r);

/* The next item that comes before a record in order, or NULL. It stays until reorder_free(). */
static inline const void *reorder_next(struct reorder *r, int64_t ts, uint64_t rank)
{
	if (__builtin_expect(ts < r->due_ts, 1) || !r->nheap ||
	    r->due >= reorder_make_key(ts, rank) + r->later_first)
		return NULL;
	return reorder_take(r);
}

/* The next item, after the last record; NULL: that was all. */
static inline const void *reorder_rest(struct reorder *r)
{
	return r->nheap ? reorder_take(r) : NULL;
}

/*
 * Where items are rows: appends those that come before the record to the batch. False: there is no
 * room for all that do, or none for the record. After the last record: INT64_MAX, UINT64_MAX - 1,
 * until false is not said any more.
 */
bool reorder_until(struct reorder *r, int64_t ts, uint64_t rank, struct batch *b);

#endif
