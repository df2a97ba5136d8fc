/*
 * Rows of many tracks, track by track: for folds whose state is per track and that care for the
 * order within a track only. Where rows of tracks alternate, changing from one to the next costs
 * more than the rows; so they are gathered some thousand at a time and handed on in groups of one
 * track, each in its order. Rows of one track, or of few in turn, are handed on as they are.
 */
#ifndef SPUR_PASS_FOLD_GATHER_H
#define SPUR_PASS_FOLD_GATHER_H

#include "model/event.h"

enum { GATHER_ROWS = 8192, GATHER_SLOTS = 2 * GATHER_ROWS };

/* A track of the rows gathered: where its group begins, then where its next row goes. */
struct gather_slot {
	uint32_t track, round;
	uint32_t count, at;
};

struct gather {
	struct spur_event *rows; /* in the order in which they came */
	struct spur_event *grouped;
	uint32_t *slot_of; /* by row */
	uint32_t *order; /* slots, by their first row */
	struct gather_slot *slots;
	uint32_t n, nslots, round;
	/* Takes rows of one track, or of few; false: no memory. */
	bool (*take)(void *self, const struct spur_event *rows, size_t n);
	void *self;
};

void gather_free(struct gather *g);
bool gather_add(struct gather *g, const struct spur_event *rows, size_t n);
/* Hands on what is there still: at the end of a feed. */
bool gather_flush(struct gather *g);

#endif
