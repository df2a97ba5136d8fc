/*
 * Copies of Heph traces (copy.c), and the counters of their streams (copy_gaps.c). SPEC heph/copied
 */
#ifndef SPUR_FORMAT_HEPH_COPY_H
#define SPUR_FORMAT_HEPH_COPY_H

#include "format/copy.h"
#include "format/heph/reader.h"

/* Counters that never came: in front of the event at `off`. */
struct heph_missing {
	uint64_t off;
	uint32_t count;
	int64_t ts; /* of that event, on the trace's clock */
};

/* What a walk over all packets finds, for all copies of the trace. */
struct heph_gaps {
	struct heph_missing *items; /* by offset */
	size_t n, cap;
	uint64_t *stops; /* offsets of metadata and of names of tracks, ascending */
	size_t nstops, stops_cap;
	bool tiled; /* packets follow each other up to the end, and `stops` has all of them */
};

/*
 * Finds the missing counters of all streams, as the reader tells them. They belong to the trace.
 * Returns NULL if out of memory.
 */
const struct heph_gaps *heph_gaps_find(struct heph *h);
/* Returns the first offset from `off` on at which a gap or one of `stops` is, or UINT64_MAX. */
uint64_t heph_gaps_next(const struct heph_gaps *gaps, uint64_t off);
/* Returns the gap in front of the event at `off`, or NULL. */
const struct heph_missing *heph_gap_at(const struct heph_gaps *gaps, uint64_t off);
/* `gaps` may be NULL. */
void heph_gaps_free(struct heph_gaps *gaps);

/* See spur_format.copy. */
enum spur_status heph_copy(struct copy *copy);
/* See spur_format.joins. */
bool heph_joins(const struct copy *copy);

/* A walk over all packets of a complete trace, without messages. */
struct heph_walk heph_walk_again(const struct heph *h);

#endif
