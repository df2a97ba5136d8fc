/* See stacks.h. */
#include "export/profile/stacks.h"

#include <stdlib.h>

#include "format/format.h"

enum {
	NODES = 1 << 19, /* of all lanes */
	NODES_LEAST = 4096, /* of a lane */
	LIMIT = 1 << 27,
	/* What a node of a lane stands for: a track above the calls; below, a class, .. */
	EXTRA = 1 << 24, /* .. an entry of stack_lane.extra, or one of the next three */
};
#define OFF_CPU UINT32_MAX
#define OTHER (UINT32_MAX - 1)
#define DEEPER (UINT32_MAX - 2)

/* An open call. */
struct call {
	uint32_t node;
	uint64_t inner; /* ns of the calls in it */
};

/* The open calls of a track. */
struct calls {
	struct call *items;
	size_t n, cap;
	uint32_t root; /* the node of its thread */
};

/* A class with a name that is not the class's own. */
struct extra {
	uint32_t cls, name;
};

struct stack_lane {
	struct stacks *s;
	struct stack_tree tree;
	struct calls *latest;
	uint32_t latest_track;
	struct map64 by_track; /* track to calls */
	struct map64 extras; /* class and name to number in `extra` + 1 */
	struct extra *extra;
	size_t nextra, extra_cap;
	uint32_t *sample; /* classes of one */
	size_t sample_cap;
	int64_t first, last;
};

/* --- trees --- */

static bool tree_init(struct stack_tree *t)
{
	return t->n ||
	       (mem_grow((void **)&t->nodes, &t->cap, 1, sizeof(*t->nodes), LIMIT) && (t->n = 1));
}

static void tree_free(struct stack_tree *t)
{
	mem_free(t->nodes);
	map64_free(&t->children);
}

/* Returns the child, which is added if it is new; 0: out of memory. */
static uint32_t tree_put(struct stack_tree *t, uint32_t parent, uint32_t what)
{
	struct map64_slot *slot = map64_put(&t->children, (uint64_t)parent << 32 | what);

	if (!slot || slot->value)
		return slot ? (uint32_t)slot->value : 0;
	if (!mem_grow((void **)&t->nodes, &t->cap, t->n + 1, sizeof(*t->nodes), LIMIT))
		return 0;
	t->nodes[t->n] = (struct stack_node){ .parent = parent,
					      .what = what,
					      .depth = t->nodes[parent].depth + 1 };
	slot->value = t->n;
	return (uint32_t)t->n++;
}

/* The node of a call, within the lane's budget; 0: out of memory. */
static uint32_t lane_put(struct stack_lane *l, uint32_t parent, uint32_t what, unsigned kind)
{
	struct stack_tree *t = &l->tree;
	const struct stacks *s = l->s;

	if (t->nodes[parent].depth > STACKS_DEPTH) {
		loss_add(&s->write->loss, s->reasons.deep, kind);
		return t->nodes[parent].what == DEEPER ? parent : tree_put(t, parent, DEEPER);
	}
	if (t->n < s->budget || map64_find(&t->children, (uint64_t)parent << 32 | what))
		return tree_put(t, parent, what);
	loss_add(&s->write->loss, s->reasons.paths, kind);
	return t->nodes[parent].what == OTHER ? parent : tree_put(t, parent, OTHER);
}

/* --- rows --- */

/* Returns NULL if out of memory. */
static struct calls *calls_of(struct stack_lane *l, uint32_t track)
{
	struct map64_slot *slot;
	struct calls *c;

	if (l->latest && l->latest_track == track)
		return l->latest;
	slot = map64_put(&l->by_track, track);
	if (!slot || !tree_init(&l->tree))
		return NULL;
	c = (struct calls *)(uintptr_t)slot->value;
	if (!c) {
		c = mem_alloc(sizeof(*c));
		slot->value = (uintptr_t)c;
	}
	if (c && !c->root) {
		uint32_t thread = track;

		while (trace_track(l->s->write->trace, thread)->kind == SPUR_TRACK_LANE)
			thread = trace_track(l->s->write->trace, thread)->parent;
		c->root = tree_put(&l->tree, 0, thread);
	}
	if (!c || !c->root)
		return NULL;
	l->latest = c;
	l->latest_track = track;
	return c;
}

/* What the node of a call stands for; 0: out of memory. */
static uint32_t what_of(struct stack_lane *l, const struct spur_event *row)
{
	struct map64_slot *slot;

	if (row->kind == SPUR_SWITCH)
		return OFF_CPU;
	if (trace_class(l->s->write->trace, row->cls)->name == row->name)
		return row->cls;
	slot = map64_put(&l->extras, (uint64_t)row->cls << 32 | row->name);
	if (!slot || (!slot->value && !mem_grow((void **)&l->extra, &l->extra_cap, l->nextra + 1,
						sizeof(*l->extra), LIMIT)))
		return 0;
	if (!slot->value) {
		l->extra[l->nextra++] = (struct extra){ row->cls, row->name };
		slot->value = l->nextra;
	}
	return EXTRA + (uint32_t)slot->value - 1;
}

static void times_add(struct stack_lane *l, int64_t ts)
{
	l->first = ts < l->first ? ts : l->first;
	l->last = ts > l->last ? ts : l->last;
}

/* A sum of equal stacks: its leaf's time and calls. Returns false if out of memory. */
static bool sample_add(struct stack_lane *l, const struct calls *c, const struct spur_event *row)
{
	const struct write *w = l->s->write;
	const uint64_t time = row->dur > 0 ? (uint64_t)row->dur : 0;
	size_t n = w->stack(w, row, l->sample, l->sample_cap);
	uint32_t node = c->root, what = 0;

	if (n > l->sample_cap) {
		if (!mem_grow((void **)&l->sample, &l->sample_cap, n, sizeof(*l->sample), LIMIT))
			return false;
		n = w->stack(w, row, l->sample, l->sample_cap);
	}
	for (size_t i = 0; node && i < n && i < l->sample_cap; i++)
		node = lane_put(l, node, l->sample[i], row->kind);
	if (!n && (what = what_of(l, row)))
		node = lane_put(l, node, what, row->kind);
	if (!node || (!n && !what))
		return false;
	l->tree.nodes[node].self += time;
	l->tree.nodes[node].calls += row->id && n ? row->id : 1;
	for (; node; node = l->tree.nodes[node].parent)
		l->tree.nodes[node].total += time;
	return true;
}

bool stacks_row(void *lane, const struct spur_event *row, struct out *o)
{
	struct stack_lane *l = lane;
	struct calls *c = calls_of(l, row->track);
	struct call call = { .inner = 0 };
	uint32_t what;

	(void)o;
	times_add(l, row->ts);
	if (!c || row->kind == SPUR_SAMPLE)
		return c && sample_add(l, c, row);
	what = what_of(l, row);
	if (what)
		call.node = lane_put(l, c->n ? c->items[c->n - 1].node : c->root, what, row->kind);
	if (!call.node || !mem_grow((void **)&c->items, &c->cap, c->n + 1, sizeof(call), LIMIT))
		return false;
	c->items[c->n++] = call;
	return true;
}

/*
 * Time off the CPU counts only inside calls, and if its end is in the data, as in the call graph.
 */
bool stacks_end(void *lane, const struct spur_event *row, const struct write_end *end,
		struct out *o)
{
	struct stack_lane *l = lane;
	struct calls *c = calls_of(l, row->track);
	const uint64_t time = row->ts > end->begin ? (uint64_t)row->ts - (uint64_t)end->begin : 0;
	struct stack_node *node;

	(void)o;
	if (!c || !c->n)
		return c;
	times_add(l, row->ts);
	c->n--;
	if (end->off_cpu && (end->unfinished || !c->n))
		return true;
	node = &l->tree.nodes[c->items[c->n].node];
	node->calls++;
	node->total += time;
	node->most = time > node->most ? time : node->most;
	if (time > c->items[c->n].inner)
		node->self += time - c->items[c->n].inner;
	if (c->n)
		c->items[c->n - 1].inner += time;
	return true;
}

void *stacks_lane(void *self, uint32_t track)
{
	struct stack_lane *l = mem_alloc(sizeof(*l));

	(void)track;
	if (!l)
		return NULL;
	l->s = self;
	l->first = INT64_MAX;
	l->last = INT64_MIN;
	return l;
}

/* --- joining --- */

static struct stack_frame frame_of(const struct stack_lane *l, const struct stack_node *n)
{
	const struct stacks *s = l->s;
	struct stack_frame f = { .thread = SPUR_NONE };
	const struct event_class *c;
	uint32_t cls = n->what;

	if (!n->parent)
		f.thread = n->what;
	else if (n->what == OFF_CPU)
		f.name = s->off_cpu;
	else if (n->what == OTHER)
		f.name = s->other;
	else if (n->what == DEEPER)
		f.name = s->deeper;
	if (!n->parent || n->what >= DEEPER)
		return f;
	if (n->what >= EXTRA)
		cls = l->extra[n->what - EXTRA].cls;
	c = trace_class(s->write->trace, cls);
	f.name = n->what >= EXTRA ? l->extra[n->what - EXTRA].name : c->name;
	f.module = c->module;
	f.file = c->file;
	f.line = c->file ? c->line : 0;
	return f;
}

/* Adds a lane's tree to that of all. Returns false if out of memory. */
static bool tree_join(const struct stack_lane *l)
{
	struct stacks *s = l->s;
	uint32_t *place = mem_array(l->tree.n, sizeof(*place));
	bool good = place && tree_init(&s->all);

	for (size_t i = 1; good && i < l->tree.n; i++) {
		const struct stack_node *n = &l->tree.nodes[i];
		const struct stack_frame f = frame_of(l, n);
		const uint32_t frame = intern_put(s->frames, (const char *)&f, sizeof(f));
		struct stack_node *to;

		if (frame != INTERN_NONE)
			place[i] = tree_put(&s->all, place[n->parent], frame);
		good = place[i] != 0;
		if (!good)
			break;
		to = &s->all.nodes[place[i]];
		to->calls += n->calls;
		to->self += n->self;
		to->total += n->total;
		to->most = n->most > to->most ? n->most : to->most;
	}
	mem_free(place);
	return good;
}

void stacks_lane_close(void *lane)
{
	struct stack_lane *l = lane;
	struct stacks *s = l->s;
	struct map64_slot *slot;
	size_t at = 0;

	pthread_mutex_lock(&s->lock);
	s->failed |= l->tree.n && !tree_join(l);
	s->first = l->first < s->first ? l->first : s->first;
	s->last = l->last > s->last ? l->last : s->last;
	pthread_mutex_unlock(&s->lock);
	while ((slot = map64_next(&l->by_track, &at))) {
		struct calls *c = (struct calls *)(uintptr_t)slot->value;

		if (c)
			mem_free(c->items);
		mem_free(c);
	}
	map64_free(&l->by_track);
	map64_free(&l->extras);
	tree_free(&l->tree);
	mem_free(l->extra);
	mem_free(l->sample);
	mem_free(l);
}

/* --- order --- */

struct stack_frame stacks_frame(const struct stacks *s, uint32_t node)
{
	struct stack_frame f;

	memcpy(&f, intern_text(s->frames, s->all.nodes[node].what, NULL), sizeof(f));
	return f;
}

struct ranking {
	const struct stacks *s;
	const uint32_t *tracks; /* track to rank */
};

static int text_order(const struct spur_trace *t, uint32_t a, uint32_t b)
{
	size_t alen, blen;
	const char *x = trace_string(t, a, &alen), *y = trace_string(t, b, &blen);
	const int order = memcmp(x, y, alen < blen ? alen : blen);

	return order ? order : (alen > blen) - (alen < blen);
}

static int frame_order(const void *a, const void *b, void *ranking)
{
	const struct ranking *r = ranking;
	const struct spur_trace *t = r->s->write->trace;
	struct stack_frame x, y;
	int order;

	memcpy(&x, intern_text(r->s->frames, *(const uint32_t *)a, NULL), sizeof(x));
	memcpy(&y, intern_text(r->s->frames, *(const uint32_t *)b, NULL), sizeof(y));
	if (x.thread != SPUR_NONE && y.thread != SPUR_NONE)
		return r->tracks[x.thread] < r->tracks[y.thread] ? -1 : 1;
	if (x.thread != y.thread)
		return x.thread == SPUR_NONE ? 1 : -1;
	order = text_order(t, x.name, y.name);
	order = order ? order : text_order(t, x.module, y.module);
	order = order ? order : text_order(t, x.file, y.file);
	return order ? order : (x.line > y.line) - (x.line < y.line);
}

/* Returns the rank of each frame, or NULL if out of memory. */
static uint32_t *frames_rank(const struct stacks *s)
{
	const uint32_t n = intern_count(s->frames);
	size_t ntracks = 0;
	uint32_t *order = trace_track_order(s->write->trace, &ntracks);
	uint32_t *tracks = mem_array(ntracks, sizeof(*tracks));
	uint32_t *frames = mem_array(n, sizeof(*frames)), *rank = mem_array(n, sizeof(*rank));

	if (order && tracks && frames && rank) {
		struct ranking r = { s, tracks };

		for (size_t i = 0; i < ntracks; i++)
			tracks[order[i]] = (uint32_t)i;
		for (uint32_t i = 1; i < n; i++) /* 0 is the empty string */
			frames[i - 1] = i;
		if (n)
			qsort_r(frames, n - 1, sizeof(*frames), frame_order, &r);
		for (uint32_t i = 0; i + 1 < n; i++)
			rank[frames[i]] = i;
	} else {
		mem_free(rank);
		rank = NULL;
	}
	mem_free(order);
	mem_free(tracks);
	mem_free(frames);
	return rank;
}

struct sorting {
	const struct stack_node *nodes;
	const uint32_t *rank;
};

static int node_order(const void *a, const void *b, void *sorting)
{
	const struct sorting *s = sorting;
	const struct stack_node *x = &s->nodes[*(const uint32_t *)a],
				*y = &s->nodes[*(const uint32_t *)b];

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	return s->rank[x->what] < s->rank[y->what] ? -1 : s->rank[x->what] > s->rank[y->what];
}

bool stacks_order(struct stacks *s)
{
	const size_t n = s->all.n;
	struct sorting sorting = { s->all.nodes, NULL };
	uint32_t *rank;
	size_t at = 0;

	if (s->failed || !tree_init(&s->all))
		return false;
	rank = frames_rank(s);
	s->sorted = mem_array(n, sizeof(*s->sorted));
	s->start = mem_array(n + 2, sizeof(*s->start));
	if (rank && s->sorted && s->start) {
		for (size_t i = 1; i < n; i++)
			s->sorted[i - 1] = (uint32_t)i;
		sorting.rank = rank;
		if (n > 2)
			qsort_r(s->sorted, n - 1, sizeof(*s->sorted), node_order, &sorting);
		for (size_t i = 0; i < n; i++) {
			s->start[i] = (uint32_t)at;
			while (at + 1 < n && s->all.nodes[s->sorted[at]].parent == i)
				at++;
		}
		s->start[n] = (uint32_t)at;
	}
	mem_free(rank);
	return rank && s->sorted && s->start;
}

bool stacks_walk(const struct stacks *s,
		 bool (*each)(void *self, const uint32_t *path, size_t n), void *self)
{
	uint32_t at[STACKS_LEVELS + 1], path[STACKS_LEVELS];
	size_t depth = 0;

	at[0] = s->start[0];
	for (;;) {
		const uint32_t node = depth ? path[depth - 1] : 0;

		if (at[depth] == s->start[node + 1]) {
			if (!depth--)
				return true;
			continue;
		}
		assert(depth < STACKS_LEVELS);
		path[depth] = s->sorted[at[depth]++];
		depth++;
		at[depth] = s->start[path[depth - 1]];
		if (!each(self, path, depth))
			return false;
	}
}

bool stacks_init(struct stacks *s, struct write *w, const struct stack_reasons *reasons)
{
	const size_t feeds = w->trace->nfeeds ? w->trace->nfeeds : 1;

	s->write = w;
	s->reasons = *reasons;
	memcpy(s->fits, w->fits, sizeof(s->fits));
	if (!w->trace->format->stack)
		s->fits[SPUR_SAMPLE] = WRITE_DROPPED;
	w->fits = s->fits;
	s->budget = NODES / feeds < NODES_LEAST ? NODES_LEAST : NODES / feeds;
	s->first = INT64_MAX;
	s->last = INT64_MIN;
	pthread_mutex_init(&s->lock, NULL);
	s->frames = intern_new();
	s->off_cpu = trace_intern(w->trace, "(off CPU)");
	s->other = trace_intern(w->trace, "(other)");
	s->deeper = trace_intern(w->trace, "(deeper)");
	return s->frames && s->off_cpu && s->other && s->deeper;
}

void stacks_free(struct stacks *s)
{
	tree_free(&s->all);
	intern_free(s->frames);
	mem_free(s->sorted);
	mem_free(s->start);
	pthread_mutex_destroy(&s->lock);
}
