/* How many rows there are of what, counted per feed in parallel. */
#ifndef SPUR_PASS_FOLD_COUNT_H
#define SPUR_PASS_FOLD_COUNT_H

#include "pass/pass.h"

struct count_cell {
	uint64_t events;
	int64_t first, last; /* ts; of a SPAN its end counts too; only where events > 0 */
};

struct counts {
	struct count_cell all;
	uint64_t kinds[SPUR_KINDS];
	struct count_cell *streams, *tracks; /* by id */
	size_t nstreams, streams_cap, ntracks, tracks_cap;
	/* While a feed is read: */
	struct spur_trace *trace;
	struct feed *feed;
	bool want_args; /* decodes all arguments; damaged ones become diagnostics of the feed */
	struct spur_args args;
	uint64_t nargs;
};

/* Reads all feeds; `out` gets the sums and is to be freed in any case. */
enum spur_status counts_run(struct pass_env *env, bool want_args, struct counts *out);
void counts_free(struct counts *c);

#endif
