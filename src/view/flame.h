/* Calls of a range by the path that led to them: what flame graphs and sums are made of. */
#ifndef SPUR_VIEW_FLAME_H
#define SPUR_VIEW_FLAME_H

#include "base/map64.h"
#include "view/view.h"

/* Node 0 is the root. A node's parent has a lower number. Times are ns. */
struct view_node {
	uint32_t label; /* UINT32_MAX: the root */
	uint32_t parent;
	uint32_t first, next; /* child, brother; 0: none */
	uint32_t last; /* child */
	uint64_t calls;
	uint64_t sampled; /* of them, known from stacks of samples alone */
	uint64_t ended; /* of the others, in the range */
	uint64_t unfinished; /* of them: the data or the range lacks the end */
	uint64_t total, self;
	int64_t least, most; /* of those that ended; if none did, of the others */
	uint64_t open_sum; /* of those that did not end */
};

struct view_flame {
	const struct view *view;
	const struct view_range *range;
	struct view_node *nodes;
	size_t n, cap;
	bool full; /* the calls have too many paths */
	struct map64 children; /* parent << 32 | label -> node */
	uint32_t *heads; /* of labels: the one whose calls theirs are */
	uint32_t nheads;
	/* When rows tell of calls around those of the track at hand; INT64_MIN: not found yet. */
	int64_t told;
	uint32_t key; /* whose calls all those of the track at hand are; 0: it depends on labels */
	const struct view_flame_sums *sums; /* NULL: the tree is kept */
};

/* Whose calls a node has: what its label is. */
enum view_flame_by {
	VIEW_BY_FUNCTION,
	VIEW_BY_MODULE, /* all functions of a module are one; its label is the first of them */
	VIEW_BY_THREAD, /* the track's number + 1 */
	VIEW_BY_PROCESS, /* that of the process that the track is of, or of the track itself */
};

/* Who gets the calls of each track; the tree is empty after that. */
struct view_flame_sums {
	uint64_t *ends; /* by what nodes have as labels: ENDs of calls not begun in the range */
	uint32_t nends;
	void (*take)(void *self, const struct view_flame *f);
	void *self;
};

/*
 * Makes the tree of the calls that begin in the range; with `sums` (else NULL) one for each track.
 * Returns false if out of memory, or, with f->full set, if the calls have more than 2^19 paths.
 * Requires view_flame_free() in any case.
 */
bool view_flame_make(struct view_flame *f, const struct view *v, const struct view_range *range,
		     enum view_flame_by by, const struct view_flame_sums *sums);
void view_flame_free(struct view_flame *f);
/* Says that calls have too many paths. Returns false. */
bool view_flame_refuse(struct view_answer *a);

#endif
