/*
 * Rows of many tracks, track by track: for folds whose state is per track and that care for the
 * order within a track only. Where rows of tracks alternate, changing from one to the next costs
 * more than the rows; so they are gathered some thousand at a time and handed on in groups of one
 * track, each in its order. Rows of one track, or some of one and then some of another, are handed
 * on as they are.
 *
 * Rows are copied once, to chunks of their track; a track's chunks are handed on one after another.
 */
#ifndef SPUR_PASS_FOLD_GATHER_H
#define SPUR_PASS_FOLD_GATHER_H

#include "model/event.h"

enum {
	GATHER_ROWS = 8192,
	GATHER_CHUNK = 32, /* rows */
	GATHER_CHUNKS = GATHER_ROWS / GATHER_CHUNK,
	GATHER_SLOTS = 2 * GATHER_CHUNKS,
};

/* A track of the rows gathered: where its next row goes, and its first chunk. */
struct gather_slot {
	uint32_t track, round;
	uint32_t at; /* at the end of a chunk: in another */
	uint32_t first;
};

struct gather {
	struct spur_event *rows; /* in chunks */
	/* By track, else in the next free one. INVARIANT: those of this round have rows. */
	struct gather_slot *slots;
	uint16_t order[GATHER_CHUNKS]; /* slots, by their first row */
	uint16_t next[GATHER_CHUNKS]; /* by chunk: the track's next one */
	uint32_t n, nslots, nchunks, round;
	bool turns; /* tracks were seen to take turns */
	bool cheap; /* set by the fold: to change to another track costs it little */
	/* Takes rows of one track, or of few; false: no memory. */
	bool (*take)(void *self, const struct spur_event *rows, size_t n);
	void *self;
};

void gather_free(struct gather *g);
bool gather_add(struct gather *g, const struct spur_event *rows, size_t n);
/* Hands on what is there still: at the end of a feed. */
bool gather_flush(struct gather *g);

#endif
