/*
 * Lanes: spans of one track that overlap without containing each other go to tracks beside it
 * ("NAME (2)"), so that on each track spans nest. Spans come in order of their start; of equal
 * starts the longer one first, or the one that was given first (model/reorder.h gives that order).
 */
#ifndef SPUR_MODEL_LANE_H
#define SPUR_MODEL_LANE_H

#include "model/trace.h"

struct lanes;
/* One for each feed; not thread-safe. Returns NULL if out of memory. */
struct lanes *lanes_new(struct spur_trace *t);
void lanes_free(struct lanes *l); /* NULL is fine */
/*
 * The track for a span [ts, ts + dur) of `track`: `track` itself where the span lies within what is
 * open there or nothing is open, else the first of its lanes of which that holds, else a new one
 * (of kind SPUR_TRACK_LANE, with the pid, tid and cpu of `track`, which is its parent), made under
 * t->lock. Returns SPUR_NONE if out of memory. A track has at most LANES, itself included, and all
 * tracks together LANES_ALL; beyond them the last lane takes all further spans. Takes constant time
 * where few lanes are in use; dur < 0 counts as 0.
 */
enum { LANES = 1024, LANES_ALL = 1 << 16 };
uint32_t lanes_span(struct lanes *l, uint32_t track, int64_t ts, int64_t dur);
/*
 * A BEGIN / an END on the track itself: open until its END. Returns false if out of memory. An END
 * without BEGIN changes nothing.
 */
bool lanes_begin(struct lanes *l, uint32_t track);
void lanes_end(struct lanes *l, uint32_t track);
/* Spans that did not fit on their own track. */
uint64_t lanes_moved(const struct lanes *l);

#endif
