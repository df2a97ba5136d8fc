/* How many rows there are of what, counted per feed in parallel. */
#ifndef SPUR_PASS_FOLD_COUNT_H
#define SPUR_PASS_FOLD_COUNT_H

#include "model/tally.h"
#include "pass/pass.h"

struct count_cell {
	uint64_t events;
	int64_t first, last; /* ts; of a SPAN its end counts too; only where events > 0 */
};

struct cells {
	struct count_cell *items;
	size_t n, cap;
};

enum counts_what {
	COUNT_ARGS = 1, /* decode all arguments; damaged ones become diagnostics of the feed */
	COUNT_CELLS = 2, /* count by stream and track too */
	COUNT_TRACKS = 4, /* the trace gets the tracks of all rows; CELLS do so, too */
};

struct counts {
	struct count_cell all;
	uint64_t kinds[SPUR_KINDS];
	struct cells streams, tracks; /* by id; with COUNT_CELLS */
	/* While a feed is read: */
	struct spur_trace *trace;
	struct diag_log *log; /* NULL: rows of several feeds are mixed */
	unsigned what; /* enum counts_what */
	struct spur_args args;
	struct tally tally; /* rows that the reader has counted; in `kinds` and `nargs` later */
	uint64_t nargs;
};

/* Reads all feeds; `out` gets the sums and is to be freed in any case. */
enum spur_status counts_run(struct pass_env *env, unsigned what, struct counts *out);
void counts_free(struct counts *c);
/* Returns the cell of an id, which may have no events. */
static inline struct count_cell count_of(const struct cells *c, size_t id)
{
	return id < c->n ? c->items[id] : (struct count_cell){ 0 };
}

#endif
