/*
 * Timelines: what a writer keeps of each track, in records of one size in the order of time, until
 * all of it can be written track by track. A lane of the writer (format/writer.h) has the timelines
 * of the tracks whose rows it gets.
 */
#ifndef SPUR_EXPORT_PROFILE_TIMELINE_H
#define SPUR_EXPORT_PROFILE_TIMELINE_H

#include "base/map64.h"
#include "base/mem.h"
#include "base/out.h"
#include "base/spool.h"
#include "format/writer.h"

struct timeline {
	uint32_t track;
	struct spool_seq seq;
	int64_t first, last; /* times of its first and its latest record, ns on the trace's clock */
	uint64_t user; /* the writer's own */
};

/* All timelines of an output. */
struct timelines {
	struct spool spool;
	pthread_mutex_t lock; /* of all that follows, which is in scratch memory */
	struct arena arena; /* of the timelines */
	struct timeline **items;
	size_t n, cap;
};

/* Those of a lane. Zero-initialize but for `all`. */
struct timeline_lane {
	struct timelines *all;
	struct timeline *latest;
	struct map64 by_track; /* track to pointer */
};

void timelines_init(struct timelines *all);
void timelines_free(struct timelines *all);
/*
 * Orders them as trace_track_order() does. Returns false if out of memory. Not while lanes are
 * open.
 */
bool timelines_sort(struct timelines *all, const struct spur_trace *t);

/* Slow path of timeline_get(). */
struct timeline *timeline_find(struct timeline_lane *l, uint32_t track);
void timeline_lane_free(struct timeline_lane *l);

/* Returns the timeline of a track, or NULL if out of memory. */
static inline struct timeline *timeline_get(struct timeline_lane *l, uint32_t track)
{
	return l->latest && l->latest->track == track ? l->latest : timeline_find(l, track);
}

/* Appends a record. Returns false if out of memory. */
static inline bool timeline_add(struct timeline_lane *l, struct timeline *t, int64_t ts,
				const void *record, size_t size)
{
	char *p = spool_room(&l->all->spool, &t->seq, size);

	if (!p)
		return false;
	memcpy(p, record, size);
	spool_add(&t->seq, size);
	if (t->last < ts)
		t->last = ts;
	return true;
}

/*
 * Calls `each` for all records of a timeline, in their order, until it returns false. Returns false
 * then.
 */
bool timeline_walk(const struct timeline *t, size_t size,
		   bool (*each)(void *self, const void *record), void *self);

/*
 * Appends the name of a track for people: that of the thread, with its id in brackets, or the ids
 * alone. Raw bytes.
 */
void timeline_name(const struct write *w, uint32_t track, struct out *o);

#endif
