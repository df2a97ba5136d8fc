/* The aggregated call tree: see tree.h. */
#include "style/uftrace/graph/tree.h"

/* Trees of real programs have some thousands of nodes. */
enum { MAX_NODES = 1 << 21, MAX_FORKS = 1 << 20 };

bool tree_open(struct tree *t, uint32_t name)
{
	*t = (struct tree){ .newest = TREE_NONE };
	if (!mem_grow((void **)&t->nodes, &t->cap, 1, sizeof(*t->nodes), MAX_NODES))
		return false;
	t->n = 1;
	t->nodes[0] = (struct tree_node){
		.parent = TREE_NONE,
		.first = TREE_NONE,
		.last = TREE_NONE,
		.next = TREE_NONE,
		.name = name,
	};
	return true;
}

void tree_close(struct tree *t)
{
	mem_free(t->nodes);
	mem_free(t->forks);
	map64_free(&t->index);
}

/* The newest first. */
static bool add_fork(struct style *s, struct tree *t, uint32_t node, const struct style_task *task)
{
	const char *name =
		trace_string(s->trace, trace_class(s->trace, t->nodes[node].cls)->simple, NULL);

	if (strcmp(name, "fork") != 0 && strcmp(name, "vfork") != 0 && strcmp(name, "daemon") != 0)
		return true;
	if (t->nforks == MAX_FORKS)
		return true;
	if (!mem_grow((void **)&t->forks, &t->forks_cap, t->nforks + 1, sizeof(*t->forks),
		      MAX_FORKS))
		return false;
	t->forks[t->nforks] =
		(struct tree_fork){ .node = node, .next = t->newest, .pid = task->pid };
	t->newest = (uint32_t)t->nforks++;
	return true;
}

/* The next child of `parent`; `node` has what is known of it. */
static bool new_node(struct style *s, struct tree *t, uint32_t parent, const struct style_frame *f,
		     const struct style_task *task, const struct tree_node *node)
{
	uint32_t k = (uint32_t)t->n;
	struct tree_node *up, *n;

	if (!mem_grow((void **)&t->nodes, &t->cap, t->n + 1, sizeof(*t->nodes), MAX_NODES))
		return false;
	up = &t->nodes[parent];
	n = &t->nodes[t->n++];
	*n = *node;
	n->addr = f->addr;
	n->parent = parent;
	n->depth = up->depth + 1;
	n->first = n->last = n->next = TREE_NONE;
	if (up->last == TREE_NONE)
		up->first = k;
	else
		t->nodes[up->last].next = k;
	up->last = k;
	up->edges++;
	return !n->cls || style_special_of(s, n->cls) != SPECIAL_FORK || add_fork(s, t, k, task);
}

int tree_entry(struct style *s, struct tree_place *p, struct style_task *t, uint32_t name,
	       uint32_t cls, uint32_t *ids)
{
	struct style_frame *f = style_frame_get(s, t, t->count - 1);
	struct tree *tree = p->tree;
	struct map64_slot *slot;

	if (p->lost)
		return 0;
	if (p->fresh)
		p->node = p->below = 0;
	p->fresh = false;
	if (p->node == TREE_NONE || !f)
		return 0;
	p->at = tree;
	slot = p->below ? NULL : map64_find(&tree->index, (uint64_t)p->node << 32 | name);
	if (!slot && (p->below || tree->n == MAX_NODES)) {
		tree->cut = true;
		p->below++;
		return 0;
	}
	if (!slot) {
		slot = map64_put(&tree->index, (uint64_t)p->node << 32 | name);
		if (!slot ||
		    !new_node(s, tree, p->node, f, t,
			      &(struct tree_node){ .name = name, .cls = cls, .id = ++*ids }))
			return -1;
		slot->value = tree->n - 1;
	}
	p->node = (uint32_t)slot->value;
	tree->nodes[p->node].calls++;
	return 1;
}

void tree_add_times(struct tree_node *n, const struct style_frame *f)
{
	uint64_t self = f->total > f->child ? f->total - f->child : 0;

	n->time += f->total;
	n->child += f->child;
	if (n->total_min > f->total || !n->total_min)
		n->total_min = f->total;
	if (n->total_max < f->total)
		n->total_max = f->total;
	if (n->self_min > self || !n->self_min)
		n->self_min = self;
	if (n->self_max < self)
		n->self_max = self;
}

/*
 * Removes the call of fork() with this address by the task's parent from the list and returns it,
 * or TREE_NONE.
 */
static uint32_t read_fork(struct tree *t, const struct style_task *task, uint64_t addr)
{
	uint32_t *link = &t->newest;

	for (; *link != TREE_NONE; link = &t->forks[*link].next) {
		const struct tree_fork *f = &t->forks[*link];

		if (t->nodes[f->node].addr == addr && f->pid == task->ppid) {
			*link = f->next;
			return f->node;
		}
	}
	return TREE_NONE;
}

bool tree_exit(struct style *s, struct tree_place *p, struct style_task *t, uint64_t addr)
{
	struct style_frame *f = style_frame_get(s, t, t->count);
	struct tree *at = p->at ? p->at : p->tree;
	uint32_t node = p->node;

	if (node == TREE_NONE || !f)
		return false;
	if (p->lost && f->cls && (trace_class(s->trace, f->cls)->flags & CLASS_KERNEL))
		return false;
	p->lost = false;
	if (p->below) {
		p->below--;
		return false;
	}
	if (at->nodes[node].addr != f->addr) {
		uint32_t fork = read_fork(p->tree, t, addr);

		if (fork != TREE_NONE) {
			node = fork;
			at = p->at = p->tree;
		}
	}
	tree_add_times(&at->nodes[node], f);
	p->node = at->nodes[node].parent;
	return true;
}

uint32_t tree_next(const struct tree *t, uint32_t node)
{
	if (t->nodes[node].first != TREE_NONE)
		return t->nodes[node].first;
	while (node != TREE_NONE && t->nodes[node].next == TREE_NONE)
		node = t->nodes[node].parent;
	return node == TREE_NONE ? TREE_NONE : t->nodes[node].next;
}

void tree_report_cut(const struct tree *t, struct pass_env *env)
{
	if (t->cut && env->notes)
		out_printf(env->notes,
			   "calls on more than %u different paths: the further ones are left out\n",
			   MAX_NODES);
}
