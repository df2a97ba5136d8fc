/*
 * Lanes. Spans of one track that overlap without nesting are moved to additional tracks, its lanes
 * ("NAME (2)"), so that spans nest on every track. Requires that spans come in order of their
 * start, of equal starts the longer one first, or in the order of the records (model/reorder.h
 * gives that order).
 */
#ifndef SPUR_MODEL_LANE_H
#define SPUR_MODEL_LANE_H

#include "model/trace.h"

struct lanes;
/* Makes the lanes of one feed. Not thread-safe. Returns NULL if out of memory. */
struct lanes *lanes_new(struct spur_trace *t);
void lanes_free(struct lanes *l); /* NULL is fine */
/*
 * Returns the track for a span [ts, ts + dur) of `track`: `track` itself if no span is open there
 * or the span lies within the innermost open one, else the first of its lanes for which that holds,
 * else a new lane (of kind SPUR_TRACK_LANE, with the pid, tid and cpu of `track`, which is its
 * parent), added under t->lock. Returns SPUR_NONE if out of memory. A track has at most LANES
 * lanes, itself included, and all tracks together LANES_ALL; beyond these limits the last lane
 * takes all further spans. Takes constant time if few lanes are in use; dur < 0 counts as 0.
 */
enum { LANES = 1024, LANES_ALL = 1 << 16 };
uint32_t lanes_span(struct lanes *l, uint32_t track, int64_t ts, int64_t dur);
/*
 * Registers a BEGIN or END row of the track itself. lanes_begin() returns false if out of memory;
 * lanes_end() ignores an END without a BEGIN.
 */
bool lanes_begin(struct lanes *l, uint32_t track);
void lanes_end(struct lanes *l, uint32_t track);
/* Returns the number of spans that did not fit on their own track. */
uint64_t lanes_moved(const struct lanes *l);

#endif
