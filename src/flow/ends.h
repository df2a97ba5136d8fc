/*
 * When the data ends, for calls that are open then. Recordings that are read as one trace
 * (directories of several CTF traces, joined traces) end each for itself: spur_trace.tops_apart
 * says that there may be several, join_recording() which one a track is of.
 */
#ifndef SPUR_FLOW_ENDS_H
#define SPUR_FLOW_ENDS_H

#include "model/trace.h"

/* One worker's, of one feed; zero-initialise with ends_begin(). */
struct ends {
	const struct spur_trace *trace;
	int64_t last; /* time of the last row of all */
	/* By top track: time of the recording's last row, INT64_MIN if none was seen. */
	int64_t *of_top;
	size_t ntops;
	/* By track: the top track of its recording + 1; 0: not looked up yet. */
	uint32_t *tops;
	size_t ntracks;
};

/* Forgets what was seen before: a feed begins. The memory is kept. */
void ends_begin(struct ends *e, const struct spur_trace *t);
void ends_free(struct ends *e);
/* Out of line half of ends_rows(). */
bool ends_apart(struct ends *e, const struct spur_event *rows, size_t n);

/*
 * Sees rows in the order of the feed; n > 0. The last row counts even if its time goes back
 * (SPUR_F_BACK): a wrong time before it must not decide, nor may how many rows come at once.
 * Returns false if out of memory.
 */
static inline bool ends_rows(struct ends *e, const struct spur_event *rows, size_t n)
{
	e->last = rows[n - 1].ts;
	return __builtin_expect(!e->trace->tops_apart, 1) || ends_apart(e, rows, n);
}

/* Returns the time of the last row of the recording that the track is part of. */
int64_t ends_of(const struct ends *e, uint32_t track);

#endif
