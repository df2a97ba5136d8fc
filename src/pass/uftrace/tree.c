/* The aggregated call tree: see tree.h. */
#include "pass/uftrace/tree.h"

enum { MAX_NODES = 1 << 27, MAX_FORKS = 1 << 24 };

bool tree_open(struct tree *t, uint32_t name)
{
	*t = (struct tree){ .newest = TREE_NONE };
	if (!mem_grow((void **)&t->nodes, &t->cap, 1, sizeof(*t->nodes), MAX_NODES))
		return false;
	t->n = 1;
	t->nodes[0] = (struct tree_node){
		.parent = TREE_NONE, .first = TREE_NONE, .last = TREE_NONE, .next = TREE_NONE, .name = name,
	};
	return true;
}

void tree_close(struct tree *t)
{
	mem_free(t->nodes);
	mem_free(t->forks);
	map64_free(&t->index);
}

static uint32_t add_node(struct tree *t, uint32_t parent, uint32_t name, uint32_t *ids)
{
	struct tree_node *up;
	uint32_t k = (uint32_t)t->n;

	if (!mem_grow((void **)&t->nodes, &t->cap, t->n + 1, sizeof(*t->nodes), MAX_NODES))
		return TREE_NONE;
	t->nodes[t->n++] = (struct tree_node){
		.parent = parent, .first = TREE_NONE, .last = TREE_NONE, .next = TREE_NONE, .name = name, .id = ++*ids,
	};
	up = &t->nodes[parent];
	if (up->last == TREE_NONE)
		up->first = k;
	else
		t->nodes[up->last].next = k;
	up->last = k;
	up->edges++;
	return k;
}

/* The newest first. */
static bool add_fork(struct style *s, struct tree *t, uint32_t node, const struct style_task *task)
{
	const char *name = spur_string(s->trace, trace_class(s->trace, t->nodes[node].cls)->simple, NULL);

	if (strcmp(name, "fork") != 0 && strcmp(name, "vfork") != 0 && strcmp(name, "daemon") != 0)
		return true;
	if (!mem_grow((void **)&t->forks, &t->forks_cap, t->nforks + 1, sizeof(*t->forks), MAX_FORKS))
		return false;
	t->forks[t->nforks] = (struct tree_fork){ .node = node, .next = t->newest, .pid = task->pid };
	t->newest = (uint32_t)t->nforks++;
	return true;
}

int tree_entry(struct style *s, struct tree_place *p, struct style_task *t, uint32_t name, uint32_t cls, uint32_t *ids)
{
	struct style_frame *f = style_frame_get(s, t, t->count - 1);
	struct tree *tree = p->tree;
	struct map64_slot *slot;

	if (p->lost)
		return 0;
	if (p->fresh)
		p->node = 0;
	p->fresh = false;
	if (p->node == TREE_NONE || !f)
		return 0;
	slot = map64_put(&tree->index, (uint64_t)p->node << 32 | name);
	if (!slot)
		return -1;
	if (!slot->value) {
		uint32_t k = add_node(tree, p->node, name, ids);

		if (k == TREE_NONE)
			return -1;
		slot->value = k;
		tree->nodes[k].addr = f->addr;
		tree->nodes[k].cls = cls;
		if (cls && style_special_of(s, cls) == SPECIAL_FORK && !add_fork(s, tree, k, t))
			return -1;
	}
	p->node = (uint32_t)slot->value;
	tree->nodes[p->node].calls++;
	return 1;
}

static void add_times(struct tree_node *n, const struct style_frame *f)
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

/* The call of fork() by the task's parent that has this address: taken from the list. TREE_NONE: there is none. */
static uint32_t take_fork(struct tree *t, const struct style_task *task, uint64_t addr)
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
	uint32_t node = p->node;

	if (node == TREE_NONE || !f)
		return false;
	if (p->lost && f->cls && (trace_class(s->trace, f->cls)->flags & CLASS_KERNEL))
		return false;
	p->lost = false;
	if (p->tree->nodes[node].addr != f->addr) {
		uint32_t at = take_fork(p->tree, t, addr);

		if (at != TREE_NONE)
			node = at;
	}
	add_times(&p->tree->nodes[node], f);
	p->node = p->tree->nodes[node].parent;
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
