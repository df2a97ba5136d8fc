/*
 * When the data ends, for calls that are open then: with the last row of the feed that they are
 * in, which is that of their thread where threads are stored apart. A feed may have recordings that
 * are read as one trace (directories of several CTF traces, joined traces); each then ends for
 * itself: spur_trace.tops_apart says that there may be several, join_recording() which one a track
 * is of. Where threads are stored apart but read as one feed, spur_trace.tracks_apart says so.
 */
#ifndef SPUR_FLOW_ENDS_H
#define SPUR_FLOW_ENDS_H

#include "base/map64.h"
#include "model/trace.h"

/* One worker's, of one feed; zero-initialise with ends_begin(). */
struct ends {
	const struct spur_trace *trace;
	bool by_feed; /* see ends_begin_merged() */
	int64_t last; /* time of the last row of all */
	/*
	 * The track of the latest row, SPUR_NONE before the first one, the place that it ends with,
	 * and the time of the last row there. A place is the main track of a feed + 1, the top
	 * track of a recording + 1, the track itself + 1 (tracks_apart), or 0 for all tracks that
	 * have none of these.
	 */
	uint32_t track, place;
	int64_t at_place;
	/*
	 * The same of what came before, so that a feed of one track needs no table: track to place,
	 * and place to the time of its last row. The times may be old for `place` itself.
	 */
	struct map64 places, times;
	uint64_t *mains; /* a bit for each track that is the main one of a feed */
	size_t nmains; /* words of 64 bits */
};

/* Forgets what was seen before: a feed begins. */
void ends_begin(struct ends *e, const struct spur_trace *t);
/*
 * The same for rows of all feeds in one order, so that calls end when they would if each feed were
 * read alone: those below the main track of one of several feeds of a recording end with that feed.
 * Returns false if out of memory.
 */
bool ends_begin_merged(struct ends *e, const struct spur_trace *t);
void ends_free(struct ends *e);
/* Out of line half of ends_rows(). */
bool ends_apart(struct ends *e, const struct spur_event *rows, size_t n);

/* Returns true if not all tracks end together. */
static inline bool ends_are_apart(const struct ends *e)
{
	return e->trace->tops_apart || trace_tracks_end_apart(e->trace) || e->by_feed;
}

/*
 * Sees rows in the order of the feed; n > 0. The last row counts even if its time goes back
 * (SPUR_F_BACK): a wrong time before it must not decide, nor may how many rows come at once.
 * Returns false if out of memory.
 */
static inline bool ends_rows(struct ends *e, const struct spur_event *rows, size_t n)
{
	e->last = rows[n - 1].ts;
	return __builtin_expect(!ends_are_apart(e), 1) || ends_apart(e, rows, n);
}

/* Returns the time of the last row of the feed or recording that the track is part of. */
int64_t ends_of(const struct ends *e, uint32_t track);

#endif
