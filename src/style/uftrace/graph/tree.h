/*
 * The aggregated call tree as uftrace builds it: children by name in the order of their first
 * call; a task walks it with its own position, which goes astray where records are missing, and a
 * forked child goes on where fork() was called.
 */
#ifndef SPUR_STYLE_UFTRACE_GRAPH_TREE_H
#define SPUR_STYLE_UFTRACE_GRAPH_TREE_H

#include "base/map64.h"
#include "style/uftrace/text/task.h"

#define TREE_NONE UINT32_MAX

struct tree_node {
	uint32_t parent, first, last, next; /* TREE_NONE */
	uint32_t name; /* string id */
	uint32_t cls;
	uint64_t addr;
	uint64_t time, child;
	uint64_t total_min, total_max, self_min, self_max;
	uint32_t calls, edges;
	uint32_t id; /* in the order of making, of all trees */
	uint32_t depth; /* 0: the root */
};

/* A call of fork() that a child may come back from. */
struct tree_fork {
	uint32_t node, next;
	int64_t pid;
};

struct tree {
	struct tree_node *nodes; /* 0: the root */
	size_t n, cap;
	struct tree_fork *forks;
	size_t nforks, forks_cap;
	uint32_t newest; /* of the forks that wait: TREE_NONE */
	struct map64 index; /* parent and name to node */
	bool cut; /* it has all nodes that it may have: calls on further paths are left out */
};

/* Where a task stands. */
struct tree_place {
	struct tree *tree; /* NULL: nowhere yet */
	struct tree *at; /* the one that `node` is of; NULL: `tree` */
	uint32_t node; /* TREE_NONE: above the root */
	uint32_t below; /* open calls below it that are left out */
	bool fresh; /* the next function starts at the root of another tree */
	bool lost; /* kernel functions do not count until the task is back in user space */
};

/* Says on env->notes that calls are left out. */
void tree_report_cut(const struct tree *t, struct pass_env *env);
bool tree_open(struct tree *t, uint32_t name);
void tree_close(struct tree *t);
/*
 * A function, or a schedule event, opens: the task's topmost frame. 1: done; 0: it is not counted;
 * -1: out of memory. `ids` counts nodes of all trees.
 */
int tree_entry(struct style *s, struct tree_place *p, struct style_task *t, uint32_t name,
	       uint32_t cls, uint32_t *ids);
/* It closes; `addr` is that of the record. False: not counted. */
bool tree_exit(struct style *s, struct tree_place *p, struct style_task *t, uint64_t addr);

/* Returns true if the next call or end only moves the place, if it fits the tree as it is. */
static inline bool tree_is_plain(const struct tree_place *p)
{
	return p->at == p->tree && p->node != TREE_NONE && !p->below && !p->fresh && !p->lost;
}

/*
 * tree_entry() for a call on a known path. Returns false, having done nothing, if the path is new.
 * Requires tree_is_plain().
 */
static inline bool tree_enter(struct tree_place *p, uint32_t name)
{
	struct tree *const t = p->tree;
	const struct map64_slot *const slot =
		map64_find(&t->index, (uint64_t)p->node << 32 | name);

	if (!slot)
		return false;
	p->node = (uint32_t)slot->value;
	t->nodes[p->node].calls++;
	return true;
}

/* Adds the times of a call that has ended. */
void tree_add_times(struct tree_node *n, const struct style_frame *f);

/*
 * tree_exit() for a call that the place is at. Returns false, having done nothing, if it is another
 * one. Requires tree_is_plain().
 */
static inline bool tree_leave(struct tree_place *p, const struct style_frame *f)
{
	struct tree_node *const n = &p->tree->nodes[p->node];

	if (n->addr != f->addr)
		return false;
	tree_add_times(n, f);
	p->node = n->parent;
	return true;
}

/*
 * The next node in the order of printing: children before siblings; TREE_NONE: the last was taken.
 */
uint32_t tree_next(const struct tree *t, uint32_t node);

#endif
