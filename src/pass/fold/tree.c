/* Collecting, joining and ordering call trees. See tree.h. */
#include "pass/fold/tree.h"

#include <assert.h>
#include <stdlib.h>

#include "flow/ends.h"
#include "flow/fit.h"
#include "flow/sample.h"
#include "flow/walk.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

enum { NODE_LIMIT = 1 << 27, OTHER_NAME = 7 };
#define NO_NODE KEY_INDEX_NONE

/* One worker's. */
struct grower {
	struct spur_trace *trace;
	struct tree tree;
	struct sample sample; /* the one at hand */
	struct pair pair;
	size_t budget, touched; /* nodes of this feed */
	uint32_t feed, feeds;
	uint32_t low, high; /* tracks seen */
	struct ends ends;
	uint64_t rows;
};

static bool tree_init(struct tree *t)
{
	if (!mem_grow((void **)&t->nodes, &t->cap, 1, sizeof(*t->nodes), NODE_LIMIT))
		return false;
	t->n = 1;
	return true;
}

void tree_free(struct tree *t)
{
	mem_free(t->nodes);
	mem_free(t->kids);
	mem_free(t->start);
	key_index_free(&t->children);
	*t = (struct tree){ 0 };
}

static_assert(offsetof(struct tree_node, what) == sizeof(uint32_t),
	      "parent and what of a node are its key, as row_pair() makes it");

static uint64_t node_key(const void *nodes, uint32_t i)
{
	uint64_t key;

	memcpy(&key, (const struct tree_node *)nodes + i, sizeof(key));
	return key;
}

static uint32_t tree_find(const struct tree *t, uint32_t parent, uint32_t what)
{
	uint32_t recent = t->nodes[parent].recent;

	if (recent && t->nodes[recent].what == what)
		return recent;
	return key_index_find(&t->children, row_pair(parent, what), node_key, t->nodes);
}

static uint32_t tree_add(struct tree *t, uint32_t parent, uint32_t what)
{
	if (!mem_grow((void **)&t->nodes, &t->cap, t->n + 1, sizeof(*t->nodes), NODE_LIMIT))
		return NO_NODE;
	t->nodes[t->n] = (struct tree_node){ .parent = parent, .what = what, .first = INT64_MAX };
	if (!key_index_add(&t->children, (uint32_t)t->n, node_key, t->nodes))
		return NO_NODE;
	return (uint32_t)t->n++;
}

static uint32_t tree_put(struct tree *t, uint32_t parent, uint32_t what)
{
	uint32_t id = tree_find(t, parent, what);

	return id == NO_NODE ? tree_add(t, parent, what) : id;
}

/* The node of a call, within the feed's budget; NO_NODE: out of memory. */
static uint32_t grower_node(struct grower *w, uint32_t parent, uint32_t what, int64_t ts)
{
	struct tree *t = &w->tree;
	struct tree_node *node;
	uint32_t id;

	if (t->nodes[parent].what == TREE_OTHER && parent)
		return parent;
	id = tree_find(t, parent, what);
	if (id == NO_NODE || t->nodes[id].feed != w->feed) {
		if (what != TREE_OTHER && w->touched >= w->budget) {
			t->cut = true;
			return grower_node(w, parent, TREE_OTHER, ts);
		}
		if (id == NO_NODE)
			id = tree_add(t, parent, what);
		if (id == NO_NODE)
			return id;
		node = &t->nodes[id];
		node->feed = w->feed;
		node->first = ts < node->first ? ts : node->first;
		w->touched += what != TREE_OTHER;
	}
	t->nodes[parent].recent = id;
	return id;
}

/* A frame was popped. */
static inline void grower_end(struct grower *w, struct pair_stack *s, const struct pair_frame *f,
			      struct walk_end e)
{
	struct tree_node *node = &w->tree.nodes[f->user];
	uint64_t length = walk_length(f, e.ts);

	walk_credit(s, f, e.ts);
	if (f->flags & PAIR_MISSING)
		return;
	node->unfinished += e.unfinished && node->unfinished != UINT32_MAX;
	if (e.uncounted)
		return;
	node->calls++;
	node->self += walk_self(f, length);
	/* Nested calls of an (other) node share it: only the outermost is the node's total. */
	if (node->what != TREE_OTHER || !s->n || s->frames[s->n - 1].user != f->user)
		node->total += length;
}

static inline bool grower_begin(struct grower *w, struct pair_stack *s,
				const struct spur_event *row)
{
	size_t before = s->n;
	uint32_t parent = before ? (uint32_t)s->frames[before - 1].user : 0;
	struct pair_frame *f = walk_push(s, row);
	uint32_t node;

	if (!f)
		return false;
	/* Frames that the data lacks stand for the node below them. */
	for (size_t i = before; i + 1 < s->n; i++)
		s->frames[i].user = parent;
	node = grower_node(w, parent, f->flags & PAIR_SCHED ? GROUP_OFF_CPU : row->cls, row->ts);
	f->user = node;
	return node != NO_NODE;
}

/* A sample's time belongs to each call on its stack, the calls to the last one. */
static bool grower_sample(struct grower *w, const struct spur_event *row)
{
	struct sample *k = &w->sample;
	uint32_t node = 0, parent;

	if (!sample_read(k, w->trace, row))
		return false;
	for (size_t i = 0; i < k->n; i++) {
		parent = node;
		node = grower_node(w, parent, k->cls[i], row->ts);
		if (node == NO_NODE)
			return false;
		w->tree.nodes[node].total += node != parent ? k->self : 0;
	}
	if (k->n) {
		w->tree.nodes[node].self += k->self;
		w->tree.nodes[node].calls += k->calls;
	}
	return true;
}

/* A BEGIN that fits; false: the slow path must. */
static inline __attribute__((always_inline)) bool fast_begin(struct grower *w, struct fit *v,
							     const struct spur_event *row)
{
	const struct tree_node *nodes = w->tree.nodes;
	uint32_t parent, node;

	if (unlikely(!fit_has_room(v)))
		return false;
	parent = (uint32_t)v->next[-1].user; /* of the ground: the root */
	node = nodes[parent].recent;
	if (nodes[node].what != row->cls || unlikely(nodes[node].feed != w->feed || !node)) {
		node = grower_node(w, parent, row->cls, row->ts);
		if (unlikely(node == NO_NODE))
			return false;
	}
	fit_push(v, row, node);
	return true;
}

/* An END that fits, if it is of the topmost frame. */
static inline __attribute__((always_inline)) bool fast_end(struct grower *w, struct fit *v,
							   const struct spur_event *row)
{
	const struct pair_frame *f = v->next - 1;
	struct tree_node *node;
	uint64_t length;

	if (unlikely(!fit_matches(v, row)))
		return false;
	node = &w->tree.nodes[f->user];
	if (unlikely(node->what == TREE_OTHER))
		return false;
	length = walk_length(f, row->ts);
	node->calls++;
	node->total += length;
	node->self += walk_self(f, length);
	fit_pop(v, length);
	return true;
}

/* The slow path: any row, in full. */
static __attribute__((noinline)) bool grower_step(struct grower *w, struct pair_stack *s,
						  const struct spur_event *row)
{
	const struct pair_frame *f;
	struct walk_end e;

	if (row->kind == SPUR_SAMPLE)
		return grower_sample(w, row);
	if (!walk_takes(row))
		return true;
	while ((f = walk_due(s, row, &e)))
		grower_end(w, s, f, e);
	if (walk_opens(s, row))
		return grower_begin(w, s, row);
	f = walk_match(s, row);
	if (f)
		grower_end(w, s, f, (struct walk_end){ .ts = row->ts });
	return true;
}

/* Ends the SPANs that are over on all tracks. */
static __attribute__((noinline)) void spans_over(struct grower *w, int64_t now)
{
	const struct pair_frame *f;
	struct walk_end e;

	for (struct pair_stack *s = w->pair.used; s; s = s->next)
		while (!w->trace->options.as_stored && (f = walk_over(s, now, &e)))
			grower_end(w, s, f, e);
}

/* The row's stack, with memory. Returns NULL if the row has no stack. */
static struct pair_stack *grower_stack(struct grower *w, const struct spur_event *row)
{
	const uint32_t track = row->track;
	struct pair_stack *s = pair_at(&w->pair, track);

	if (unlikely(!s)) {
		if (pair_is_full(&w->pair))
			spans_over(w, row->ts);
		s = pair_stack_make(&w->pair, track);
	}
	w->low = track < w->low ? track : w->low;
	w->high = track > w->high ? track : w->high;
	return s && (s->cap || pair_grow_frames(s, 1)) ? s : NULL;
}

static bool grower_rows(void *worker, struct spur_event *row, size_t n)
{
	struct grower *w = worker;
	const struct spur_event *end = row + n;
	struct pair_stack *s = grower_stack(w, row);
	uint32_t track = row->track;
	uint64_t bits;
	struct fit v;

	w->rows += n;
	if (!s || !ends_rows(&w->ends, row, n))
		return false;
	v = fit_load(s, row);
	for (; row < end; row++) {
		if (unlikely(row->track != track)) {
			fit_store(s, v.next);
			track = row->track;
			s = grower_stack(w, row);
			if (!s)
				return false;
			v = fit_load(s, row);
		}
		bits = fit_bits(&v, row);
		if (bits == v.begin ? likely(fast_begin(w, &v, row))
				    : fit_is_end(&v, bits) && likely(fast_end(w, &v, row)))
			continue;
		fit_store(s, v.next);
		if (!grower_step(w, s, row))
			return false;
		v = fit_load(s, row);
	}
	fit_store(s, v.next);
	return true;
}

static bool grower_feed_begin(void *worker, const struct feed *f)
{
	struct grower *w = worker;

	w->feed++;
	w->touched = 0;
	w->budget = f && TREE_NODES / w->feeds > TREE_LEAST ? TREE_NODES / w->feeds : TREE_LEAST;
	if (!f)
		w->budget = TREE_NODES;
	w->low = UINT32_MAX;
	w->high = 0;
	ends_begin(&w->ends, w->trace);
	return true;
}

static bool grower_feed_end(void *worker, const struct feed *f)
{
	struct grower *w = worker;
	struct walk_end e;

	(void)f;
	for (size_t track = w->low; track <= w->high && track < w->pair.cap; track++) {
		struct pair_stack *s = pair_at(&w->pair, track);
		const struct pair_frame *frame;

		while (s && (frame = walk_rest(s, ends_of(&w->ends, (uint32_t)track), &e)))
			grower_end(w, s, frame, e);
	}
	pair_clear(&w->pair);
	return true;
}

static void node_sum(struct tree_node *to, const struct tree_node *from)
{
	to->calls += from->calls;
	to->total += from->total;
	to->self += from->self;
	to->first = from->first < to->first ? from->first : to->first;
	if (__builtin_add_overflow(to->unfinished, from->unfinished, &to->unfinished))
		to->unfinished = UINT32_MAX;
}

/* Places node `i` of `t`, whose function is `what` in `out`. Returns false if out of memory. */
static bool tree_place(struct tree *out, const struct tree *t, size_t i, uint32_t what,
		       uint32_t *map)
{
	map[i] = tree_put(out, map[t->nodes[i].parent], what);
	if (map[i] == NO_NODE)
		return false;
	node_sum(&out->nodes[map[i]], &t->nodes[i]);
	return true;
}

/*
 * Classes become groups, in place: nodes are moved down over those that became one with an earlier
 * one. Returns false if out of memory.
 */
static bool tree_regroup(struct tree *t, struct groups *g)
{
	uint32_t *map = mem_array(t->n, sizeof(*map));
	const size_t n = t->n;
	bool good = map != NULL;

	key_index_free(&t->children);
	t->nodes[0].recent = 0;
	t->n = 1;
	for (size_t i = 1; good && i < n; i++) {
		struct tree_node node = t->nodes[i];

		node.parent = map[node.parent];
		node.what = node.what == TREE_OTHER ? TREE_OTHER : groups_put(g, node.what);
		node.recent = node.feed = 0;
		map[i] = tree_find(t, node.parent, node.what);
		if (map[i] != NO_NODE) {
			node_sum(&t->nodes[map[i]], &node);
			continue;
		}
		assert(t->n <= i);
		t->nodes[t->n] = node;
		good = node.what != GROUP_NONE &&
		       key_index_add(&t->children, (uint32_t)t->n, node_key, t->nodes);
		map[i] = (uint32_t)t->n++;
	}
	mem_free(map);
	return good;
}

/* Adds a worker's tree to the joined one, classes becoming groups. */
static bool tree_join(struct tree *out, const struct tree *t, struct groups *g)
{
	uint32_t *map = mem_array(t->n, sizeof(*map));
	bool good = map != NULL;

	out->cut |= t->cut;
	for (size_t i = 1; good && i < t->n; i++) {
		uint32_t what = t->nodes[i].what;

		if (what != TREE_OTHER)
			what = groups_put(g, what);
		good = what != GROUP_NONE && tree_place(out, t, i, what, map);
	}
	mem_free(map);
	return good;
}

bool tree_graft(struct tree *into, const struct tree *from, const uint32_t *what, uint32_t *numbers)
{
	bool good = into->n || tree_init(into);

	into->cut |= from->cut;
	for (size_t i = 1; good && i < from->n; i++) {
		const uint32_t own = from->nodes[i].what;

		good = tree_place(into, from, i, own == TREE_OTHER ? own : what[own], numbers);
	}
	return good;
}

static void growers_free(struct grower *w, unsigned n)
{
	for (unsigned i = 0; w && i < n; i++) {
		tree_free(&w[i].tree);
		pair_free(&w[i].pair);
		sample_free(&w[i].sample);
		ends_free(&w[i].ends);
	}
	mem_free(w);
}

enum spur_status tree_collect(struct pass_env *env, struct groups *g, struct tree *out)
{
	static const struct pipe_fold fold = { .feed_begin = grower_feed_begin,
					       .rows = grower_rows,
					       .feed_end = grower_feed_end };
	unsigned n = pipe_workers(env->trace, &env->pipe);
	struct grower *w = mem_array(n, sizeof(*w));
	void **states = mem_array(n, sizeof(*states));
	bool good = w && states;
	uint64_t rows = 0;

	for (unsigned i = 0; good && i < n; i++) {
		states[i] = &w[i];
		w[i].trace = env->trace;
		w[i].feeds = env->trace->nfeeds ? (uint32_t)env->trace->nfeeds : 1;
		good = tree_init(&w[i].tree);
	}
	good = good && pipe_run_feeds(env->trace, &env->pipe, &fold, states) != SPUR_FAIL;
	for (unsigned i = 0; good && i < n; i++) {
		if (i) {
			good = tree_join(out, &w[i].tree, g);
		} else {
			*out = w[i].tree;
			w[i].tree = (struct tree){ 0 };
			good = tree_regroup(out, g);
		}
		tree_free(&w[i].tree);
		rows += w[i].rows;
	}
	growers_free(w, n);
	mem_free(states);
	/* Nothing more is added: what follows goes from node to node. */
	key_index_free(&out->children);
	if (!good)
		return err_nomem(env->err);
	if (rows && out->n <= 1)
		pass_note_no_calls(env, rows);
	return rows ? SPUR_OK : SPUR_WARN;
}

bool tree_below(struct tree *out, const struct tree *all, const struct groups *g, const char *name)
{
	uint32_t *map = mem_array(all->n, sizeof(*map));
	bool good = map && tree_init(out);

	for (size_t i = 1; good && i < all->n; i++) {
		const struct tree_node *node = &all->nodes[i];
		bool inside = node->parent && map[node->parent];

		/* 0: not below the function (no node but the root has this number) */
		if (!inside &&
		    (node->what == TREE_OTHER || !group_is(g, node->what, name)))
			continue;
		map[i] = tree_put(out, inside ? map[node->parent] : 0, node->what);
		good = map[i] != NO_NODE;
		if (good)
			node_sum(&out->nodes[map[i]], node);
	}
	if (good)
		out->cut = all->cut;
	mem_free(map);
	return good;
}

struct sorter {
	const struct tree *tree;
	const struct groups *groups;
	enum tree_sort by;
	bool reverse;
};

static int node_order(const void *a, const void *b, void *arg)
{
	const struct sorter *s = arg;
	const struct tree_node *x = &s->tree->nodes[*(const uint32_t *)a],
			       *y = &s->tree->nodes[*(const uint32_t *)b];
	int c = 0;

	if ((x->what == TREE_OTHER) != (y->what == TREE_OTHER))
		return x->what == TREE_OTHER ? 1 : -1;
	if (s->by == TREE_BY_TOTAL)
		c = (x->total < y->total) - (x->total > y->total);
	else if (s->by == TREE_BY_SELF)
		c = (x->self < y->self) - (x->self > y->self);
	else if (s->by == TREE_BY_CALLS)
		c = (x->calls < y->calls) - (x->calls > y->calls);
	else if (s->by == TREE_BY_FIRST)
		c = (x->first > y->first) - (x->first < y->first);
	if (s->by == TREE_BY_NAME && x->what != TREE_OTHER)
		c = groups_order(s->groups, x->what, y->what);
	c = s->reverse ? -c : c;
	return c || x->what == TREE_OTHER
		       ? c
		       : groups_order(s->groups, x->what, y->what);
}

bool tree_sort(struct tree *t, const struct groups *g, enum tree_sort by, bool reverse)
{
	struct sorter s = { t, g, by, reverse };
	uint32_t *at = mem_array(t->n, sizeof(*at));

	mem_free(t->kids);
	mem_free(t->start);
	t->kids = mem_array(t->n, sizeof(*t->kids));
	t->start = mem_array(t->n + 1, sizeof(*t->start));
	if (!at || !t->kids || !t->start) {
		mem_free(at);
		return false;
	}
	for (size_t i = 1; i < t->n; i++)
		t->start[t->nodes[i].parent + 1]++;
	for (size_t i = 0; i < t->n; i++) {
		t->start[i + 1] += t->start[i];
		at[i] = t->start[i];
	}
	for (size_t i = 1; i < t->n; i++)
		t->kids[at[t->nodes[i].parent]++] = (uint32_t)i;
	for (size_t i = 0; i < t->n; i++)
		if (t->start[i + 1] - t->start[i] > 1)
			qsort_r(&t->kids[t->start[i]], t->start[i + 1] - t->start[i],
				sizeof(*t->kids), node_order, &s);
	mem_free(at);
	return true;
}

void out_node(struct out *o, const struct groups *g, const struct tree_node *node)
{
	if (node->what == TREE_OTHER)
		out_bytes(o, "(other)", OTHER_NAME);
	else
		out_group_at(o, g, node->what);
}

bool tree_walk(const struct tree *t, const struct tree_visit *visit, void *self)
{
	/* One level of the path: which of the node's children comes next. */
	struct level {
		uint32_t node, next;
	} *path = NULL;
	size_t depth = 1, cap = 0;
	bool good = mem_grow((void **)&path, &cap, 1, sizeof(*path), NODE_LIMIT);

	if (good)
		path[0] = (struct level){ 0, 0 };
	while (good && depth) {
		struct level *l = &path[depth - 1];
		const uint32_t *kids;
		size_t n = tree_kids(t, l->node, &kids);

		if (l->next < n) {
			uint32_t kid = kids[l->next++];

			good = visit->enter(self, kid, depth, l->next == n) &&
			       mem_grow((void **)&path, &cap, depth + 1, sizeof(*path), NODE_LIMIT);
			if (good)
				path[depth++] = (struct level){ kid, 0 };
		} else {
			depth--;
			good = !depth || !visit->leave || visit->leave(self, l->node, depth);
		}
	}
	mem_free(path);
	return good;
}
