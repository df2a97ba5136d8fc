/* The rows of a track, made of its lanes again. */
#ifndef SPUR_STORE_REPLAY_H
#define SPUR_STORE_REPLAY_H

#include "store/parts.h"

enum { REPLAY_BLOCKS = 256 };

/* Blocks at hand, by lane: shared by all tracks of a feed. */
struct replay_blocks {
	struct {
		const struct store_node *node; /* NULL: free */
		struct block block;
	} slots[REPLAY_BLOCKS];
};

/* The next item of a lane. */
struct replay_place {
	uint64_t block;
	uint32_t i;
	bool ready; /* false: not looked for yet */
};

/* A span that is open. */
struct replay_open {
	int64_t end; /* when it is over: its own end, or an earlier one of a call around it */
	int64_t limit; /* no span in it is open longer: the end of the innermost call */
	bool has_row; /* an END row ends it */
	struct spur_event row; /* that END */
};

struct replay {
	const struct store *store;
	struct replay_blocks *blocks;
	uint32_t first, nlanes; /* the track's lanes, by depth */
	uint32_t track; /* of the rows */
	const uint32_t *names, *cats; /* string ids of rows, by label */
	int64_t from, to; /* rows of this time */
	struct replay_place *places; /* by depth, of `nplaces` */
	size_t nplaces;
	struct replay_open *open; /* `depth` of them */
	size_t depth, cap;
	int64_t tie; /* the last end, and how many items ended then */
	uint32_t ties;
	bool begun, failed; /* failed: out of memory */
	struct spur_event row; /* the next one, if `has` */
	bool has;
};

/* Makes the next row. Returns false if there are no more, or if out of memory (`failed`). */
bool replay_next(struct replay *r);
void replay_free(struct replay *r);

#endif
