/*
 * The tracks of the picture: which are shown, in which order, and how many rows each takes: one for
 * each depth of its spans, for what the thread does, and for each of its counters; at least one.
 */
#ifndef SPUR_TUI_TRACKS_H
#define SPUR_TUI_TRACKS_H

#include "base/out.h"
#include "store/store.h"

enum { TRACKS_FILTER_MOST = 128 };

struct lane_list {
	uint32_t *lanes; /* SPUR_NONE: a depth without a lane (yet) */
	size_t n, cap;
};

/* What is known of a track, and what the user wants of it. */
struct track {
	struct lane_list spans, series; /* by depth; states and counters */
	uint32_t parent; /* SPUR_NONE: none */
	uint32_t first, next; /* child, brother; SPUR_NONE: none */
	bool folded, hidden, busy, fits; /* busy: something is on it or on a track below it */
	unsigned pin; /* place among the pinned ones, from 1 on; 0: not pinned */
};

/* A track that is shown. */
struct track_row {
	uint32_t track, level;
	uint64_t y; /* first row of the picture, counted from the top of all */
	uint64_t height; /* rows */
	bool group; /* tracks are below it */
};

struct tracks {
	struct track *tracks;
	size_t n, cap;
	uint64_t *order; /* all tracks by their place: place << 32 | track */
	size_t order_cap;
	uint32_t lanes; /* those that were looked at */
	uint32_t first; /* top-level track */
	struct track_row *rows;
	size_t nrows, rows_cap;
	uint64_t height; /* of all rows */
	unsigned pins;
	char filter[TRACKS_FILTER_MOST]; /* part of a name, a pid or a tid; "": all */
};

/* Zero-initialise. Frees what is in it. */
void tracks_free(struct tracks *t);
/*
 * Takes in what the store has by now; `anew`: what the user wants has changed. Returns false if out
 * of memory.
 */
bool tracks_update(struct tracks *t, const struct store *s, bool anew);
/* Returns the index of the row that is at `y`; nrows if `y` is below all. */
size_t tracks_at(const struct tracks *t, uint64_t y);
/* Returns the index of the row of a track, SIZE_MAX if it is not shown. */
size_t tracks_row_of(const struct tracks *t, uint32_t track);
/* Shows a track whatever is folded or hidden. Call tracks_update() behind it. */
void tracks_reveal(struct tracks *t, uint32_t track);
/* Pins a track to the top, or frees it. Call tracks_update() behind it. */
void tracks_pin(struct tracks *t, uint32_t track);
/*
 * Returns the lane that a line of a row shows: of spans, states or a counter. SPUR_NONE: nothing.
 */
uint32_t tracks_lane(const struct tracks *t, const struct track_row *row, uint64_t line);
/*
 * Appends the name of a track, with its number. Of several traces that of its trace comes first,
 * unless it stands `below` a track that tells it.
 */
void tracks_name(const struct store *s, uint32_t track, bool below, struct out *o);

#endif
