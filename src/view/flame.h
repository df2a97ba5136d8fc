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
	uint64_t ended; /* of them, in the range */
	uint64_t unfinished; /* of them: the data or the range lacks the end */
	int64_t total, self;
	int64_t least, most; /* of those that ended; if none did, of the others */
	int64_t open_sum; /* of those that did not end */
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
	uint64_t *ends; /* NULL, or by label: ENDs of calls that do not begin in the range */
};

/* Whose calls a node has. */
enum view_flame_by {
	VIEW_BY_FUNCTION,
	VIEW_BY_MODULE, /* all functions of a module are one; its label is the first of them */
};

/*
 * Makes the tree of the calls that begin in the range. Returns false if out of memory, or if the
 * calls have more than 2^19 paths. Requires view_flame_free() in any case. `ends`: NULL, or by
 * label: the ENDs in the range of calls that do not begin in it are added.
 */
bool view_flame_make(struct view_flame *f, const struct view *v, const struct view_range *range,
		     enum view_flame_by by, uint64_t *ends);
void view_flame_free(struct view_flame *f);

#endif
