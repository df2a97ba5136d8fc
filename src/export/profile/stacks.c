/* See stacks.h. */
#include "export/profile/stacks.h"

#include <stdlib.h>

#include "base/map64.h"
#include "export/profile/timeline.h"
#include "format/format.h"

enum {
	NODES_LEAST = 4096, /* of a lane */
	CALLS_LEAST = 4, /* that a track has room for */
	SPARE = 8, /* a lane has nodes / SPARE more nodes for "(other)" and "(deeper)" */
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
	struct arena arena; /* of struct calls, in scratch memory */
	struct mem_spare spare; /* arrays `items` of tracks without open calls */
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

static uint64_t node_key(const void *tree, uint32_t number)
{
	const struct stack_node *n = &((const struct stack_tree *)tree)->nodes[number];

	return (uint64_t)n->parent << 32 | n->what;
}

/* Makes room for one more node. Returns false if out of memory. */
static bool tree_grow(struct stack_tree *t, bool times)
{
	const size_t limit = t->n < t->most ? t->most : LIMIT;

	return mem_table_grow((void **)&t->nodes, &t->cap, t->n + 1, sizeof(*t->nodes), limit) &&
	       (!times || mem_table_grow((void **)&t->times, &t->times_cap, t->n + 1,
					 sizeof(*t->times), limit));
}

static bool tree_init(struct stack_tree *t, size_t most, bool times)
{
	t->most = most;
	return t->n || (tree_grow(t, times) && (t->n = 1));
}

static void tree_free(struct stack_tree *t)
{
	mem_table_free(t->nodes, t->cap, sizeof(*t->nodes));
	mem_table_free(t->times, t->times_cap, sizeof(*t->times));
	key_index_free(&t->children);
}

/* Returns the child, or 0 if the node has no such child. */
static uint32_t tree_find(struct stack_tree *t, uint32_t parent, uint32_t what)
{
	struct stack_node *n = &t->nodes[parent];
	uint32_t child;

	if (n->latest && t->nodes[n->latest].what == what)
		return n->latest;
	child = key_index_find(&t->children, (uint64_t)parent << 32 | what, node_key, t);
	if (child == KEY_INDEX_NONE)
		return 0;
	return n->latest = child;
}

/* Returns the child, which is added if it is new; 0: out of memory. */
static uint32_t tree_put(struct stack_tree *t, uint32_t parent, uint32_t what)
{
	const uint32_t found = tree_find(t, parent, what), child = (uint32_t)t->n;

	if (found)
		return found;
	if (!tree_grow(t, t->times))
		return 0;
	t->nodes[child] = (struct stack_node){ .parent = parent,
					       .what = what,
					       .depth = t->nodes[parent].depth + 1 };
	if (t->times)
		t->times[child] = (struct stack_times){ .total = 0 };
	if (!key_index_add(&t->children, child, node_key, t))
		return 0;
	t->n++;
	return t->nodes[parent].latest = child;
}

/*
 * The node, OTHER or DEEPER, of calls that have no path of their own. If there are too many of
 * those too, it is that of a function further out. Returns 0 if out of memory.
 */
static uint32_t spare_put(struct stack_tree *t, uint32_t parent, uint32_t what)
{
	while (t->nodes[parent].what != what && t->n >= t->most && t->nodes[parent].parent &&
	       !tree_find(t, parent, what))
		parent = t->nodes[parent].parent;
	return t->nodes[parent].what == what ? parent : tree_put(t, parent, what);
}

/* The node of a call, within the lane's budget; 0: out of memory. */
static uint32_t lane_put(struct stack_lane *l, uint32_t parent, uint32_t what, unsigned kind)
{
	struct stack_tree *t = &l->tree;
	const struct stacks *s = l->s;

	/* The lane's budget is used up, so an OTHER never has children. */
	if (t->nodes[parent].what == OTHER) {
		loss_add(&s->write->loss, s->options.paths, kind);
		return parent;
	}
	if (t->nodes[parent].depth > s->options.depth) {
		loss_add(&s->write->loss, s->options.deep, kind);
		return spare_put(t, parent, DEEPER);
	}
	if (t->n < s->budget || tree_find(t, parent, what))
		return tree_put(t, parent, what);
	loss_add(&s->write->loss, s->options.paths, kind);
	return spare_put(t, parent, OTHER);
}

/* --- rows --- */

/* Returns NULL if out of memory. */
static struct calls *calls_of(struct stack_lane *l, uint32_t track)
{
	const struct stacks *s = l->s;
	struct map64_slot *slot;
	struct calls *c;

	if (l->latest && l->latest_track == track)
		return l->latest;
	slot = map64_put(&l->by_track, track);
	if (!slot || !tree_init(&l->tree, s->budget + s->budget / SPARE, s->options.times))
		return NULL;
	c = (struct calls *)(uintptr_t)slot->value;
	if (!c && (c = arena_alloc(&l->arena, sizeof(*c))))
		slot->value = (uintptr_t)c;
	if (c && !c->root) {
		uint32_t thread = track;

		while (trace_track(s->write->trace, thread)->kind == SPUR_TRACK_LANE)
			thread = trace_track(s->write->trace, thread)->parent;
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
	for (; l->tree.times && node; node = l->tree.nodes[node].parent)
		l->tree.times[node].total += time;
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
	if (!c->items)
		mem_spare_take(&l->spare, (void **)&c->items, &c->cap);
	/* There may be many threads with few open calls each. */
	if (!call.node || !mem_grow((void **)&c->items, &c->cap, c->n + 1, sizeof(call),
				    c->cap ? LIMIT : CALLS_LEAST))
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
	struct stack_times *times;
	struct call call;

	(void)o;
	if (!c || !c->n)
		return c;
	times_add(l, row->ts);
	call = c->items[--c->n];
	if (!c->n)
		mem_spare_put(&l->spare, (void **)&c->items, &c->cap);
	if (end->off_cpu && (end->unfinished || !c->n)) {
		/* It is not the time of the call around it either. */
		if (c->n)
			c->items[c->n - 1].inner += time;
		return true;
	}
	node = &l->tree.nodes[call.node];
	node->calls++;
	if (l->tree.times) {
		times = &l->tree.times[call.node];
		times->total += time;
		times->most = time > times->most ? time : times->most;
	}
	if (time > call.inner)
		node->self += time - call.inner;
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
	arena_init_scratch(&l->arena);
	l->first = INT64_MAX;
	l->last = INT64_MIN;
	return l;
}

struct stacks *stacks_of_lane(const void *lane)
{
	return ((const struct stack_lane *)lane)->s;
}

/* --- joining --- */

/* The name that a thread is shown by, as a string id; 0: out of memory. */
static uint32_t thread_name(const struct stacks *s, uint32_t track)
{
	struct out name;
	uint32_t id = 0;

	out_to_memory(&name);
	timeline_name(s->write, track, &name);
	if (!name.error)
		id = trace_intern_n(s->write->trace, name.buf, name.len);
	out_free(&name);
	return id;
}

/* Returns the number of a frame, or 0 if out of memory. */
static uint32_t frame_put(struct stacks *s, struct stack_frame f)
{
	uint32_t number;

	if (s->options.by_name)
		f.module = f.file = f.line = 0;
	number = intern_put(s->frames, (const char *)&f, sizeof(f));
	return number == INTERN_NONE ? 0 : number;
}

static uint32_t class_frame(struct stacks *s, uint32_t cls, uint32_t name)
{
	const struct event_class *c = trace_class(s->write->trace, cls);

	return frame_put(s, (struct stack_frame){ .name = name,
						  .module = c->module,
						  .file = c->file,
						  .line = c->file ? c->line : 0,
						  .thread = SPUR_NONE });
}

/* The number of the frame of a lane's node; 0: out of memory. */
static uint32_t frame_of(const struct stack_lane *l, const struct stack_node *n)
{
	struct stacks *s = l->s;
	struct stack_frame f = { .thread = SPUR_NONE };

	if (!n->parent && s->options.by_name && !(f.name = thread_name(s, n->what)))
		return 0;
	if (!n->parent && !s->options.by_name)
		f.thread = n->what;
	else if (n->parent && n->what >= DEEPER)
		f.name = n->what == OFF_CPU ? s->off_cpu : n->what == OTHER ? s->other : s->deeper;
	if (!n->parent || n->what >= DEEPER)
		return frame_put(s, f);
	if (n->what >= EXTRA)
		return class_frame(s, l->extra[n->what - EXTRA].cls,
				   l->extra[n->what - EXTRA].name);
	if (!mem_table_grow((void **)&s->of_class, &s->classes, (size_t)n->what + 1,
			    sizeof(*s->of_class), LIMIT))
		return 0;
	if (!s->of_class[n->what])
		s->of_class[n->what] =
			class_frame(s, n->what, trace_class(s->write->trace, n->what)->name);
	return s->of_class[n->what];
}

/*
 * Adds a lane's tree to that of all. The first one becomes that of all: as nodes that get the same
 * frame become one, each moves to a lower number, or stays. Returns false if out of memory.
 */
static bool tree_join(struct stack_lane *l)
{
	struct stacks *s = l->s;
	struct stack_tree *to = &s->all;
	const struct stack_tree from = l->tree;
	uint32_t *place = mem_table_alloc(from.n, sizeof(*place));
	bool good = place;

	if (good && !to->n) {
		key_index_free(&l->tree.children);
		*to = l->tree;
		to->n = 1;
		to->nodes[0].latest = 0;
		l->tree = (struct stack_tree){ .n = 0 };
	}
	for (size_t i = 1; good && i < from.n; i++) {
		const struct stack_node n = from.nodes[i];
		const struct stack_times times =
			from.times ? from.times[i] : (struct stack_times){ .total = 0 };
		const uint32_t frame = frame_of(l, &n);

		assert(n.parent < i && to->n <= to->cap);
		place[i] = frame ? tree_put(to, place[n.parent], frame) : 0;
		good = place[i] != 0;
		if (!good)
			break;
		to->nodes[place[i]].calls += n.calls;
		to->nodes[place[i]].self += n.self;
		if (!to->times)
			continue;
		to->times[place[i]].total += times.total;
		if (to->times[place[i]].most < times.most)
			to->times[place[i]].most = times.most;
	}
	mem_table_free(place, from.n, sizeof(*place));
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
	}
	arena_free(&l->arena);
	mem_spare_free(&l->spare);
	map64_free(&l->by_track);
	map64_free(&l->extras);
	tree_free(&l->tree);
	mem_free(l->extra);
	mem_free(l->sample);
	mem_free(l);
}

/* --- order --- */

struct stack_frame stacks_frame(const struct stacks *s, uint32_t frame)
{
	struct stack_frame f;

	memcpy(&f, intern_text(s->frames, frame, NULL), sizeof(f));
	return f;
}

struct ranking {
	const struct stacks *s;
	const uint32_t *tracks; /* track to rank */
};

uint32_t stacks_frame_count(const struct stacks *s)
{
	return intern_count(s->frames);
}

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
	const struct stack_frame x = stacks_frame(r->s, *(const uint32_t *)a),
				 y = stacks_frame(r->s, *(const uint32_t *)b);
	int order;

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
	uint32_t *tracks = mem_table_alloc(ntracks, sizeof(*tracks));
	uint32_t *frames = mem_table_alloc(n, sizeof(*frames));
	uint32_t *rank = mem_table_alloc(n, sizeof(*rank));

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
		mem_table_free(rank, n, sizeof(*rank));
		rank = NULL;
	}
	mem_free(order);
	mem_table_free(tracks, ntracks, sizeof(*tracks));
	mem_table_free(frames, n, sizeof(*frames));
	return rank;
}

/*
 * Counts how many nodes have each key, and returns in `end` where those of a key would end if nodes
 * were sorted by it. `end` has `n` elements.
 */
static void keys_count(const struct stacks *s, const uint32_t *rank, uint32_t *end, size_t n)
{
	uint32_t sum = 0;

	memset(end, 0, n * sizeof(*end));
	for (size_t i = 1; i < s->all.n; i++)
		end[rank ? rank[s->all.nodes[i].what] : s->all.nodes[i].parent]++;
	for (size_t i = 0; i < n; i++)
		end[i] = sum += end[i];
}

/* Sorts the nodes by rank, then, with that order kept, by parent: two sorts by counting. */
static void nodes_sort(struct stacks *s, const uint32_t *rank, uint32_t *by_rank, size_t frames)
{
	const size_t n = s->all.n;

	keys_count(s, rank, s->start, frames);
	for (size_t i = n; i-- > 1;)
		by_rank[--s->start[rank[s->all.nodes[i].what]]] = (uint32_t)i;
	keys_count(s, NULL, s->start, n + 1);
	for (size_t i = n - 1; i-- > 0;)
		s->sorted[--s->start[s->all.nodes[by_rank[i]].parent]] = by_rank[i];
	assert(!s->start[0] && s->start[n] == n - 1);
}

bool stacks_order(struct stacks *s)
{
	const size_t frames = intern_count(s->frames);
	uint32_t *rank, *by_rank;
	bool good;

	if (s->failed || !tree_init(&s->all, s->options.nodes, s->options.times))
		return false;
	key_index_free(&s->all.children);
	rank = frames_rank(s);
	by_rank = mem_table_alloc(s->all.n, sizeof(*by_rank));
	s->nsorted = s->all.n;
	s->nstart = (s->all.n > frames ? s->all.n : frames) + 2;
	s->sorted = mem_table_alloc(s->nsorted, sizeof(*s->sorted));
	s->start = mem_table_alloc(s->nstart, sizeof(*s->start));
	good = rank && by_rank && s->sorted && s->start;
	if (good)
		nodes_sort(s, rank, by_rank, frames);
	mem_table_free(rank, frames, sizeof(*rank));
	mem_table_free(by_rank, s->all.n, sizeof(*by_rank));
	return good;
}

bool stacks_walk(const struct stacks *s, bool (*each)(void *self, const uint32_t *path, size_t n),
		 void *self)
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

bool stacks_init(struct stacks *s, struct write *w, const struct stack_options *options)
{
	const size_t feeds = w->trace->nfeeds ? w->trace->nfeeds : 1;

	s->write = w;
	s->options = *options;
	memcpy(s->fits, w->fits, sizeof(s->fits));
	if (!w->trace->format->stack)
		s->fits[SPUR_SAMPLE] = WRITE_DROPPED;
	w->fits = s->fits;
	s->budget = options->nodes / feeds < NODES_LEAST ? NODES_LEAST : options->nodes / feeds;
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
	mem_table_free(s->of_class, s->classes, sizeof(*s->of_class));
	mem_table_free(s->sorted, s->nsorted, sizeof(*s->sorted));
	mem_table_free(s->start, s->nstart, sizeof(*s->start));
	pthread_mutex_destroy(&s->lock);
}
