/*
 * The call tree: one node for each distinct path of functions, collected per feed in parallel and
 * joined by name.
 *
 * Memory is bounded: a feed may touch TREE_NODES / feeds nodes (at least TREE_LEAST). Calls on
 * further paths are summed in one "(other)" node below the last function that has its node; `cut`
 * says so. What a feed gives never depends on others.
 *
 * INVARIANT: a node's parent has a lower number; node 0 is the root and stands for no function.
 */
#ifndef SPUR_PASS_FOLD_TREE_H
#define SPUR_PASS_FOLD_TREE_H

#include "pass/fold/group.h"
#include "pass/pass.h"

enum { TREE_NODES = 1 << 20, TREE_LEAST = 4096 };
#define TREE_OTHER (UINT32_MAX - 1) /* instead of a function */

struct tree_node {
	uint32_t parent;
	uint32_t what; /* class id while collecting, group once joined, or TREE_OTHER */
	uint32_t feed; /* the last feed that touched it, counted from 1 */
	uint32_t recent; /* its child that was used last */
	uint64_t calls, total, self;
	int64_t first; /* ts of the first call */
	uint32_t unfinished;
};

struct tree {
	struct tree_node *nodes;
	size_t n, cap;
	struct key_index children; /* nodes by parent and what; empty once collected */
	bool cut;
	/* After tree_sort(): the children of node i are kids[start[i] .. start[i + 1]). */
	uint32_t *kids, *start;
};

enum tree_sort { TREE_BY_TOTAL, TREE_BY_SELF, TREE_BY_CALLS, TREE_BY_NAME, TREE_BY_FIRST };

/*
 * Reads all feeds into one joined tree. SPUR_WARN: no row passed the filter. Free the tree in any
 * case.
 */
enum spur_status tree_collect(struct pass_env *env, struct groups *g, struct tree *out);
/*
 * Adds the nodes of `from` to `into`, which is empty (zeroed) or was made so: the function with the
 * number i becomes what[i]. numbers[k] gets the place of node k. Returns false if out of memory.
 */
bool tree_graft(struct tree *into, const struct tree *from, const uint32_t *what,
		uint32_t *numbers);
/* The tree below all outermost calls of the named function. Returns false if out of memory. */
bool tree_below(struct tree *out, const struct tree *all, const struct groups *g, const char *name);
/* Orders the children, or the other way round; ties by name. Returns false if out of memory. */
bool tree_sort(struct tree *t, const struct groups *g, enum tree_sort by, bool reverse);
void tree_free(struct tree *t);

static inline size_t tree_kids(const struct tree *t, size_t node, const uint32_t **kids)
{
	*kids = &t->kids[t->start[node]];
	return t->start[node + 1] - t->start[node];
}

/* The node's function as shown; brackets where the name alone is not enough. Raw bytes. */
void out_node(struct out *o, const struct groups *g, const struct tree_node *node);

/*
 * Depth first, in the order of tree_sort(). `leave` may be NULL. Callbacks get the node, its depth
 * (1 for children of the root) and whether it is its parent's last child; false stops.
 */
struct tree_visit {
	bool (*enter)(void *self, uint32_t node, size_t depth, bool last);
	bool (*leave)(void *self, uint32_t node, size_t depth);
};
/* Returns false if out of memory or if a callback returned false. */
bool tree_walk(const struct tree *t, const struct tree_visit *visit, void *self);

#endif
