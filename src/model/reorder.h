/*
 * Makes rows in order of time from records that are stored nearly in that order, or in the order in
 * which spans ended.
 *
 * The reader goes over its records twice and passes the key of each: its time, and a rank that
 * orders equal times (lower first; spans use REORDER_SPAN(dur), so that the longer one, which is
 * the outer one, comes first). A record whose key is below the highest key so far is a straggler:
 * the first pass stores it, the second merges it between the records that are in order, which are
 * never stored. A stored straggler is an item of fixed size: a row, or only the record's offset.
 * Items lie in scratch memory that can be paged out.
 *
 *	first:	each record:	if (reorder_late(r, ts, rank)) reorder_add(r, ts, rank, &item)
 *		at the end:	reorder_sort(r)
 *	second:	each record:	if (reorder_late(r, ts, rank)) skip it
 *			else { while ((item = reorder_next(r, ts, rank))) put item; put the record }
 *		at the end:	while ((item = reorder_rest(r))) put item
 *
 * reorder_late() is called once for each record in each pass. If items are rows, reorder_until()
 * does the inner loop; it stops when the batch is full, and is then called again with the same
 * record before the reader goes on. The reader may also add items that stand for no record (their
 * keys need not be late); they are merged too.
 *
 * Equal keys come in the order of the records, or in the reverse order (`later_first`: records are
 * written when their span ends, so of equal spans the later one is the outer one).
 *
 * Stragglers form sorted runs: each is appended to the first run whose last key is not above its
 * own. The number of runs is the depth of nesting, not the length of the trace. Stragglers that fit
 * none of REORDER_RUNS runs are collected and sorted, in n log n.
 */
#ifndef SPUR_MODEL_REORDER_H
#define SPUR_MODEL_REORDER_H

#include "model/event.h"

/* Time in the high half, rank in the low one. */
typedef __int128 reorder_key;

enum { REORDER_RUNS = 64, REORDER_WINDOW = 1024, REORDER_WINDOW_LEAST = 256 };

struct reorder_run;
struct reorder_extent;

struct reorder {
	reorder_key bar; /* records with a lower key are late, in this pass */
	reorder_key due; /* second pass: key of the next straggler, .. */
	int64_t due_ts; /* .. and its time; INT64_MAX: no straggler left */
	/* windows: latest time of all records so far, and of those before the window */
	int64_t highest, floor;
	uint32_t left; /* windows: records still to come in this window */
	bool late; /* windows: one of this window's records was a straggler */
	bool later_first;
	uint32_t item_size, stride; /* bytes of an item; with its key, and padding */
	uint32_t nruns; /* the last may be the unsorted run, number REORDER_RUNS */
	uint32_t nheap; /* runs that have items left */
	struct reorder_run *runs;
	size_t runs_cap;
	struct reorder_extent *extents; /* scratch memory; items never move */
	size_t nextents, extents_cap;
	const void **sorted; /* items of the unsorted run; scratch memory */
	uint64_t count; /* items stored */
};

/*
 * The rank of a span that lasts `dur` >= 0. Other records may have any rank below UINT64_MAX; rank
 * 0 precedes all spans of equal time.
 */
#define REORDER_SPAN(dur) (((uint64_t)1 << 63) - 1 - (uint64_t)(dur))

/* Allocates nothing. `item_size` is the size of an item in bytes. */
void reorder_init(struct reorder *r, size_t item_size, bool later_first);
void reorder_free(struct reorder *r);

static inline reorder_key reorder_make_key(int64_t ts, uint64_t rank)
{
	return (reorder_key)((unsigned __int128)(uint64_t)ts << 64 | rank);
}

/*
 * Registers the key of the next record, in both passes alike. Returns true if the record is a
 * straggler.
 */
static inline bool reorder_late(struct reorder *r, int64_t ts, uint64_t rank)
{
	const reorder_key key = reorder_make_key(ts, rank);

	if (key < r->bar)
		return true;
	r->bar = key + r->later_first;
	return false;
}

/*
 * Returns how many records the next window has: REORDER_WINDOW after one with stragglers, else
 * REORDER_WINDOW_LEAST, since small windows stay in the fastest cache.
 */
static inline uint32_t reorder_window(const struct reorder *r)
{
	return r->late ? REORDER_WINDOW : REORDER_WINDOW_LEAST;
}

/*
 * The same for readers that sort windows of at most REORDER_WINDOW records themselves, counted from
 * the first record: only records that are not later than all records before their window are
 * stragglers. These are few if spans are written as they end.
 */
static inline bool reorder_late_window(struct reorder *r, int64_t ts)
{
	bool late;

	if (!r->left) {
		r->left = reorder_window(r);
		r->late = false;
		r->floor = r->highest;
	}
	late = ts <= r->floor;
	r->left--;
	r->late |= late;
	r->highest = ts > r->highest ? ts : r->highest;
	return late;
}

/*
 * A fast path of reorder_late_window() for a record inside a window that is later than all before
 * it. Returns false, with nothing registered, if reorder_late_window() must be called.
 */
static inline bool reorder_ascends(struct reorder *r, int64_t ts)
{
	if (!r->left || ts <= r->highest)
		return false;
	r->left--;
	r->highest = ts;
	return true;
}

/* Registers a record without a time, whose row takes a place in the window too. */
static inline void reorder_pass_window(struct reorder *r)
{
	r->left -= r->left > 0;
}

/* Stores a copy of the item. Returns false if out of memory. */
bool reorder_add(struct reorder *r, int64_t ts, uint64_t rank, const void *item);
/*
 * Called after the first pass: sorts the unsorted run and begins the second pass. Returns false if
 * out of memory.
 */
bool reorder_sort(struct reorder *r);

/* The slow path of the two functions below. */
const void *reorder_take(struct reorder *r);

/*
 * Returns the next item that precedes the record, or NULL. The item is valid until reorder_free().
 */
static inline const void *reorder_next(struct reorder *r, int64_t ts, uint64_t rank)
{
	if (__builtin_expect(ts < r->due_ts, 1) || !r->nheap ||
	    r->due >= reorder_make_key(ts, rank) + r->later_first)
		return NULL;
	return reorder_take(r);
}

/* Called after the last record: returns the next item, or NULL if none is left. */
static inline const void *reorder_rest(struct reorder *r)
{
	return r->nheap ? reorder_take(r) : NULL;
}

/*
 * If items are rows: appends those that precede the record to the batch. Returns false if the batch
 * has no room for all of them and the record. After the last record it is called with INT64_MAX and
 * UINT64_MAX - 1 until it returns true.
 */
bool reorder_until(struct reorder *r, int64_t ts, uint64_t rank, struct batch *b);

#endif
