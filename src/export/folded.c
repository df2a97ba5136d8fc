/*
 * folded: call stacks as lines "thread;main;work;leaf 1234", the input of flame graph tools
 * (flamegraph.pl, inferno, speedscope): nanoseconds of self time, or calls, summed for each path of
 * functions below each thread.
 *
 * A lane has a tree of its own, with a node for each path, up to its share of NODES; further paths
 * are summed in "(other)". The trees are joined at the end and written in the order of names, so
 * that the output does not depend on threads.
 */
#include <stdlib.h>

#include "export/profile/timeline.h"
#include "format/format.h"
#include "format/writer.h"

enum {
	NODES = 1 << 19, /* of all lanes */
	NODES_LEAST = 4096, /* of a lane */
	DEPTH = 1024, /* of a path below its thread; what is deeper is summed */
	LIMIT = 1 << 27,
};

enum reason { LOST_ARGS = LOSS_OWN, LOST_PATH, LOST_DEEP };
static const struct loss_reason reasons[] = {
	{ LOSS_DEGRADED, "the format has no arguments: left out" },
	{ LOSS_DEGRADED, "too many different stacks: summed in (other)" },
	{ LOSS_DEGRADED, "the stack is deeper than 1,024 calls: summed in (deeper)" },
};

/* A path. Node 0 is above all threads. */
struct node {
	uint32_t parent, name; /* name: string id */
	uint32_t depth;
	uint64_t self, calls;
};

struct tree {
	struct node *nodes;
	size_t n, cap;
	struct map64 children; /* parent and name to node */
};

struct folded {
	struct write *write;
	struct spur_trace *trace;
	bool calls; /* value=calls */
	uint32_t off_cpu, other, deeper; /* string ids */
	size_t budget; /* nodes of a lane */
	pthread_mutex_t lock; /* of `all` */
	struct tree all;
	bool failed; /* out of memory in a lane that was closed */
};

/* An open call. */
struct call {
	uint32_t node;
	uint64_t inner; /* ns of the calls in it */
};

/* The open calls of a track. */
struct stack {
	struct call *calls;
	size_t n, cap;
	uint32_t root; /* the node of its thread */
};

struct folded_lane {
	struct folded *f;
	struct tree tree;
	struct stack *latest;
	uint32_t latest_track;
	struct map64 by_track; /* track to stack */
	uint32_t *frames; /* of a sample */
	size_t frames_cap;
};

/* --- trees --- */

static bool tree_init(struct tree *t)
{
	return t->n ||
	       (mem_grow((void **)&t->nodes, &t->cap, 1, sizeof(*t->nodes), LIMIT) && (t->n = 1));
}

static void tree_free(struct tree *t)
{
	mem_free(t->nodes);
	map64_free(&t->children);
}

/* Returns the child of that name, which is added if it is new; 0: out of memory. */
static uint32_t tree_put(struct tree *t, uint32_t parent, uint32_t name)
{
	struct map64_slot *slot = map64_put(&t->children, (uint64_t)parent << 32 | name);

	if (!slot || slot->value)
		return slot ? (uint32_t)slot->value : 0;
	if (!mem_grow((void **)&t->nodes, &t->cap, t->n + 1, sizeof(*t->nodes), LIMIT))
		return 0;
	t->nodes[t->n] = (struct node){ .parent = parent,
					.name = name,
					.depth = t->nodes[parent].depth + 1 };
	slot->value = t->n;
	return (uint32_t)t->n++;
}

/* The node of a call, within the lane's budget; 0: out of memory. */
static uint32_t lane_put(struct folded_lane *l, uint32_t parent, uint32_t name, unsigned kind)
{
	struct tree *t = &l->tree;
	const struct folded *f = l->f;

	if (t->nodes[parent].depth > DEPTH) {
		loss_add(&f->write->loss, LOST_DEEP, kind);
		return t->nodes[parent].depth > DEPTH + 1 ? parent : tree_put(t, parent, f->deeper);
	}
	if (t->n < f->budget || map64_find(&t->children, (uint64_t)parent << 32 | name))
		return tree_put(t, parent, name);
	loss_add(&f->write->loss, LOST_PATH, kind);
	return t->nodes[parent].name == f->other ? parent : tree_put(t, parent, f->other);
}

/* --- rows --- */

/* Returns the node of a track's thread, or 0 if out of memory. */
static uint32_t root_of(struct folded_lane *l, uint32_t track)
{
	const struct spur_track *k = trace_track(l->f->trace, track);
	uint32_t id = 0;
	struct out name;

	for (; k->kind == SPUR_TRACK_LANE; k = trace_track(l->f->trace, track))
		track = k->parent;
	out_to_memory(&name);
	timeline_name(l->f->write, track, &name);
	if (!name.error)
		id = trace_intern_n(l->f->trace, name.buf, name.len);
	out_free(&name);
	return id ? tree_put(&l->tree, 0, id) : 0;
}

/* Returns NULL if out of memory. */
static struct stack *stack_of(struct folded_lane *l, uint32_t track)
{
	struct map64_slot *slot;
	struct stack *s;

	if (l->latest && l->latest_track == track)
		return l->latest;
	slot = map64_put(&l->by_track, track);
	if (!slot || !tree_init(&l->tree))
		return NULL;
	s = (struct stack *)(uintptr_t)slot->value;
	if (!s) {
		s = mem_alloc(sizeof(*s));
		slot->value = (uintptr_t)s;
	}
	if (!s || (!s->root && !(s->root = root_of(l, track))))
		return NULL;
	l->latest = s;
	l->latest_track = track;
	return s;
}

/* A sum of equal stacks: its leaf's time and calls. */
static bool sample_row(struct folded_lane *l, const struct stack *s, const struct spur_event *row)
{
	struct spur_trace *t = l->f->trace;
	const struct write *w = l->f->write;
	size_t n = w->stack(w, row, l->frames, l->frames_cap);
	uint32_t node = s->root;

	if (n > l->frames_cap) {
		if (!mem_grow((void **)&l->frames, &l->frames_cap, n, sizeof(*l->frames), LIMIT))
			return false;
		n = w->stack(w, row, l->frames, l->frames_cap);
	}
	for (size_t i = 0; node && i < n && i < l->frames_cap; i++)
		node = lane_put(l, node, trace_class(t, l->frames[i])->name, row->kind);
	if (!n)
		node = lane_put(l, node, row->name, row->kind);
	if (!node)
		return false;
	l->tree.nodes[node].self += row->dur > 0 ? (uint64_t)row->dur : 0;
	l->tree.nodes[node].calls += row->id ? row->id : 1;
	return true;
}

static bool folded_row(void *lane, const struct spur_event *row, struct out *o)
{
	struct folded_lane *l = lane;
	const bool off_cpu = row->kind == SPUR_SWITCH;
	struct stack *s = stack_of(l, row->track);
	struct call call = { .inner = 0 };

	(void)o;
	if (!s || row->kind == SPUR_SAMPLE)
		return s && sample_row(l, s, row);
	if (row->nargs && l->f->write->wants_args(l->f->write, row->cls))
		loss_add(&l->f->write->loss, LOST_ARGS, row->kind);
	call.node = lane_put(l, s->n ? s->calls[s->n - 1].node : s->root,
			     off_cpu ? l->f->off_cpu : row->name, row->kind);
	if (!call.node || !mem_grow((void **)&s->calls, &s->cap, s->n + 1, sizeof(call), LIMIT))
		return false;
	l->tree.nodes[call.node].calls++;
	s->calls[s->n++] = call;
	return true;
}

static bool folded_end(void *lane, const struct spur_event *row, const struct write_end *end,
		       struct out *o)
{
	struct folded_lane *l = lane;
	struct stack *s = stack_of(l, row->track);
	const uint64_t time = row->ts > end->begin ? (uint64_t)row->ts - (uint64_t)end->begin : 0;

	(void)o;
	if (!s || !s->n)
		return s;
	s->n--;
	if (time > s->calls[s->n].inner)
		l->tree.nodes[s->calls[s->n].node].self += time - s->calls[s->n].inner;
	if (s->n)
		s->calls[s->n - 1].inner += time;
	return true;
}

static void *folded_lane(void *self, uint32_t track)
{
	struct folded_lane *l = mem_alloc(sizeof(*l));

	(void)track;
	if (l)
		l->f = self;
	return l;
}

/* --- joining and writing --- */

/* Adds a lane's tree to that of all. Parents have lower numbers. Returns false if out of memory. */
static bool tree_join(struct tree *to, const struct tree *from)
{
	uint32_t *place = mem_array(from->n, sizeof(*place));
	bool good = place && tree_init(to);

	for (size_t i = 1; good && i < from->n; i++) {
		const struct node *n = &from->nodes[i];

		place[i] = tree_put(to, place[n->parent], n->name);
		good = place[i] != 0;
		if (good) {
			to->nodes[place[i]].self += n->self;
			to->nodes[place[i]].calls += n->calls;
		}
	}
	mem_free(place);
	return good;
}

static void folded_lane_close(void *lane)
{
	struct folded_lane *l = lane;
	struct folded *f = l->f;
	struct map64_slot *slot;
	size_t at = 0;

	pthread_mutex_lock(&f->lock);
	f->failed |= l->tree.n && !tree_join(&f->all, &l->tree);
	pthread_mutex_unlock(&f->lock);
	while ((slot = map64_next(&l->by_track, &at))) {
		struct stack *s = (struct stack *)(uintptr_t)slot->value;

		if (s)
			mem_free(s->calls);
		mem_free(s);
	}
	map64_free(&l->by_track);
	tree_free(&l->tree);
	mem_free(l->frames);
	mem_free(l);
}

/* A node in the order in which nodes are written. */
struct place {
	uint32_t parent, node;
	const char *text;
	size_t len;
};

static int by_parent_and_name(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	const size_t len = x->len < y->len ? x->len : y->len;
	int order;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	order = memcmp(x->text, y->text, len);
	return order ? order : (x->len > y->len) - (x->len < y->len);
}

/* A name, where semicolons and line ends have a meaning. */
static void name_out(const struct folded *f, uint32_t name, struct out *o)
{
	const size_t start = o->len;
	size_t len;
	const char *text = trace_string(f->trace, name, &len);

	out_safe(o, text, len);
	for (size_t i = start; i < o->len; i++)
		if (o->buf[i] == ';')
			o->buf[i] = ',';
}

struct walk {
	const struct folded *f;
	const struct place *places;
	uint32_t *first; /* by node: its first child in `places` */
	struct out path;
};

/* The line of a node, whose names are in the path. */
static void line_out(struct walk *w, uint32_t node)
{
	const struct node *n = &w->f->all.nodes[node];
	const uint64_t value = w->f->calls ? n->calls : n->self;
	struct out *o = w->f->write->out;

	if (!value)
		return;
	out_bytes(o, w->path.buf, w->path.len);
	out_char(o, ' ');
	out_u64(o, value);
	out_char(o, '\n');
}

/* Writes all nodes below the root. A path has at most DEPTH + 2 nodes. */
static void nodes_out(struct walk *w)
{
	size_t at[DEPTH + 4], lengths[DEPTH + 4], depth = 0;
	const size_t n = w->f->all.n - 1;

	at[0] = w->first[0];
	lengths[0] = 0;
	for (;;) {
		const size_t i = at[depth];
		const uint32_t parent = depth ? w->places[at[depth - 1] - 1].node : 0;

		w->path.len = lengths[depth];
		if (i >= n || w->places[i].parent != parent) {
			if (!depth--)
				return;
			continue;
		}
		at[depth]++;
		if (depth)
			out_char(&w->path, ';');
		name_out(w->f, w->f->all.nodes[w->places[i].node].name, &w->path);
		line_out(w, w->places[i].node);
		assert(depth < DEPTH + 3);
		depth++;
		at[depth] = w->first[w->places[i].node];
		lengths[depth] = w->path.len;
	}
}

static bool folded_finish(void *self)
{
	struct folded *f = self;
	const size_t n = f->all.n ? f->all.n - 1 : 0;
	struct walk w = { .f = f };
	struct place *places = mem_array(n, sizeof(*places));
	bool good;

	w.first = mem_array(n + 1, sizeof(*w.first));
	good = places && w.first && !f->failed;
	for (size_t i = 0; good && i < n; i++) {
		places[i] = (struct place){ .parent = f->all.nodes[i + 1].parent,
					    .node = (uint32_t)i + 1 };
		places[i].text = trace_string(f->trace, f->all.nodes[i + 1].name, &places[i].len);
	}
	if (good && n) {
		qsort(places, n, sizeof(*places), by_parent_and_name);
		for (size_t i = 0; i <= n; i++)
			w.first[i] = (uint32_t)n;
		for (size_t i = n; i-- > 0;)
			w.first[places[i].parent] = (uint32_t)i;
		w.places = places;
		out_to_memory(&w.path);
		nodes_out(&w);
		good = !w.path.error;
		out_free(&w.path);
	}
	mem_free(places);
	mem_free(w.first);
	return good;
}

static void folded_close(void *self)
{
	struct folded *f = self;

	tree_free(&f->all);
	pthread_mutex_destroy(&f->lock);
	mem_free(f);
}

static void *folded_open(struct write *w)
{
	struct folded *f = mem_alloc(sizeof(*f));

	if (!f)
		return NULL;
	f->write = w;
	f->trace = w->trace;
	f->calls = write_setting_is(w, "value", "calls");
	pthread_mutex_init(&f->lock, NULL);
	f->off_cpu = trace_intern(f->trace, "(off CPU)");
	f->other = trace_intern(f->trace, "(other)");
	f->deeper = trace_intern(f->trace, "(deeper)");
	f->budget = NODES / (w->trace->nfeeds ? w->trace->nfeeds : 1);
	f->budget = f->budget < NODES_LEAST ? NODES_LEAST : f->budget;
	if (f->off_cpu && f->other && f->deeper)
		return f;
	folded_close(f);
	return NULL;
}

static const char *const endings[] = { "folded", NULL };
static const char *const values[] = { "time", "calls", NULL };
static const struct write_setting settings[] = {
	{ "value", values, "time: nanoseconds of self time (default); calls: number of calls" },
	{ 0 },
};

const struct spur_writer spur_writer_folded = {
	.name = "folded",
	.title = "folded stacks, which flamegraph.pl, inferno and speedscope open",
	.endings = endings,
	.fits = { WRITE_FITS(SPUR_BEGIN, SPUR_SPAN, WRITE_DEGRADED), [SPUR_SWITCH] = WRITE_DEGRADED,
		  [SPUR_SAMPLE] = WRITE_DEGRADED },
	.dropped = "the format has sums of calls only",
	.degraded = "only the sum of all calls with the same stack is written",
	.reasons = reasons,
	.nreasons = sizeof(reasons) / sizeof(reasons[0]),
	.spans = WRITE_SPANS_SPLIT,
	.settings = settings,
	.open = folded_open,
	.lane = folded_lane,
	.row = folded_row,
	.end = folded_end,
	.lane_close = folded_lane_close,
	.finish = folded_finish,
	.close = folded_close,
};
