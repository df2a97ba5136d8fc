/* The flame graph of a range: calls by the path that led to them. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "view/flame.h"

enum { NODES_MOST = 1 << 19 };

/* A lane while a track is walked: the next item, and the node of the call that is open. */
struct level {
	uint32_t lane;
	uint64_t next;
	uint32_t node;
	bool open; /* a call of the range is open */
	bool is_span; /* it ends by itself */
	int64_t start, end; /* of the open call */
	int64_t child; /* ns of the calls right inside it */
	int64_t until; /* what begins before that is inside the open call */
	int64_t limit; /* no call in it is open longer: that of the innermost one that is no SPAN */
	int64_t around; /* the same of calls that began before the range */
	size_t up; /* number of the level of the call around it, + 1; 0: none */
	bool cut; /* it goes on when the range or the data ends */
	struct store_item item;
	bool has; /* `item` is that of `next` */
};

/* Returns true if sums need no node below this one for calls of a label: both are recursive. */
static bool is_in_itself(const struct view_flame *f, uint32_t parent, uint32_t label)
{
	return f->sums && f->nodes[parent].label == label &&
	       f->nodes[f->nodes[parent].parent].label == label;
}

/* Returns the node of a label below another one, 0 if out of memory or there are too many. */
static uint32_t child_of(struct view_flame *f, uint32_t parent, uint32_t label)
{
	struct map64_slot *slot;
	uint32_t id;

	if (is_in_itself(f, parent, label))
		return parent;
	slot = map64_put(&f->children, (uint64_t)parent << 32 | label);
	if (!slot || slot->value)
		return slot ? (uint32_t)slot->value : 0;
	f->full = f->n == NODES_MOST;
	if (f->full)
		return 0;
	if (!mem_grow((void **)&f->nodes, &f->cap, f->n + 1, sizeof(*f->nodes), NODES_MOST))
		return 0;
	id = (uint32_t)f->n++;
	f->nodes[id] = (struct view_node){ .label = label, .parent = parent };
	if (f->nodes[parent].last)
		f->nodes[f->nodes[parent].last].next = id;
	else
		f->nodes[parent].first = id;
	f->nodes[parent].last = id;
	slot->value = id;
	return id;
}

/* Returns what stands for a label as that of a node. Time off the CPU is no call. */
static uint32_t head_of(const struct view_flame *f, uint32_t label)
{
	if (f->key && label)
		return f->key;
	return label < f->nheads ? f->heads[label] : label;
}

/* Counts an END of a call that does not begin in the range. */
static void add_end(const struct view_flame *f, uint32_t label)
{
	const uint32_t head = head_of(f, label);

	if (f->sums && label < f->nheads && head < f->sums->nends)
		f->sums->ends[head]++;
}

/* Moves to the next span of the level that begins before `until`. Returns false at the end. */
static bool level_next(struct view_flame *f, struct level *l, int64_t until)
{
	for (;;) {
		if (!l->has)
			l->has = store_item(f->view->store, l->lane, l->next, &l->item);
		if (l->has && view_is_off_cpu(&l->item))
			l->item.label = 0;
		if (!l->has || !store_before(l->item.start, until))
			return false;
		if (l->item.marks & STORE_SPAN && l->item.start >= f->range->from)
			return true;
		if (l->item.kind == SPUR_END && l->item.start >= f->range->from)
			add_end(f, l->item.label);
		l->next++;
		l->has = false;
	}
}

/* Adds a call to its node; the time in itself is added when it is left. */
static void add_call(struct view_flame *f, uint32_t id, uint32_t parent, const struct level *l)
{
	const int64_t dur = l->end - l->start;
	struct view_node *const n = &f->nodes[id];

	n->total += (uint64_t)dur;
	n->calls++;
	n->unfinished += l->cut || l->item.marks & STORE_OPEN;
	n->open_sum += l->cut ? (uint64_t)dur : 0;
	if (!l->cut && !n->ended++)
		n->least = n->most = dur;
	if (!l->cut || !n->ended) {
		n->least = n->calls == 1 || dur < n->least ? dur : n->least;
		n->most = dur > n->most ? dur : n->most;
	}
	if (!parent)
		f->nodes[0].total += (uint64_t)dur;
}

/* Adds a call to the time inside the one around it; of what outlasts a SPAN, the part inside. */
static void add_child(struct level *up, const struct level *l)
{
	const int64_t end = up->is_span && l->end > up->end ? up->end : l->end;

	up->child += end > l->start ? end - l->start : 0;
}

/* Leaves the open call of a level: calls right inside it may have gone on longer than it. */
static void level_leave(struct view_flame *f, struct level *l)
{
	const int64_t dur = l->end - l->start;

	if (l->open && l->child < dur)
		f->nodes[l->node].self += (uint64_t)(dur - l->child);
	l->open = false;
}

/*
 * SPEC store/ties: returns true if the next item of a level is in the call that is open one level
 * up. Where the next call begins when that one ends, items of that time may be in either.
 */
static bool in_parent(const struct view_flame *f, const struct level *l, const struct level *up)
{
	struct store_item i;

	if (l->item.start != up->until)
		return l->item.start < up->until;
	for (uint64_t n = up->next;
	     store_item(f->view->store, up->lane, n, &i) && i.start <= up->until; n++)
		if (i.marks & STORE_SPAN)
			return i.start == up->until && l->item.ties < i.ties;
	return true;
}

/* Which calls of a track are walked over. */
struct part {
	size_t base; /* outermost level */
	int64_t end; /* they begin before it */
	int64_t last; /* end of the last row in the range that it was read with, and of its SPANs */
};

/*
 * A call that goes on when the range ends is taken, as `spur report` takes it, to end with the last
 * row in the range.
 */
static int64_t call_end(const struct store_item *i, int64_t to, int64_t last)
{
	const int64_t end = i->start + i->dur;

	if (i->kind == SPUR_SPAN || store_before(end, to))
		return end;
	return last > i->start ? last : i->start;
}

/* Enters the call at a level, which has no node yet. */
static void level_enter(const struct view_flame *f, struct level *l, int64_t limit, int64_t last)
{
	const int64_t to = f->range->to, end = l->item.start + l->item.dur;

	l->is_span = l->item.kind == SPUR_SPAN;
	l->start = l->item.start;
	l->end = call_end(&l->item, to, last);
	l->child = 0;
	l->until = end < limit ? end : limit;
	/* A SPAN does not end what is in it. */
	l->limit = l->is_span ? limit : l->until;
	l->cut = l->item.marks & STORE_LAST || (!l->is_span && !store_before(end, to));
}

/* Finds when the rows of the range tell of calls around those that begin in it. */
static int64_t find_told(const struct view_flame *f, const struct level *levels, size_t depth)
{
	int64_t told = INT64_MAX;

	for (size_t d = 0; d < depth; d++)
		told = store_depth_told(f->view->store, levels[d].lane, f->range->from, told);
	return told;
}

/*
 * Time off the CPU counts if a row in the range ends it; returns false else, when it is open only
 * for the call around it. If all calls around it began before the range, rows must tell of them.
 */
static bool off_cpu_counts(struct view_flame *f, const struct level *levels, size_t depth,
			   const struct level *l, const struct level *up)
{
	if (!up && f->told == INT64_MIN)
		f->told = find_told(f, levels, depth);
	if (!up && l->start < f->told)
		return false;
	if (!l->cut && !(l->item.marks & STORE_UNCOUNTED))
		return true;
	add_end(f, 0);
	return false;
}

/* Enters the next call of level `d`, inside `up` if that is any. Returns false if out of memory. */
static bool enter_next(struct view_flame *f, struct level *levels, size_t depth, size_t d,
		       struct level *up, int64_t last)
{
	struct level *const l = &levels[d];
	uint32_t id = 0;

	level_enter(f, l, up ? up->limit : d ? levels[d - 1].around : INT64_MAX, last);
	l->open = !view_is_off_cpu(&l->item) || off_cpu_counts(f, levels, depth, l, up);
	if (l->open) {
		id = child_of(f, up ? up->node : 0, head_of(f, l->item.label));
		if (!id)
			return false;
		l->node = id;
		add_call(f, id, up ? up->node : 0, l);
	}
	if (up)
		add_child(up, l);
	l->next++;
	l->has = false;
	return true;
}

/*
 * Adds the calls of the levels from `base` on that begin before `end`, depth first: a level is left
 * when it has no more calls within the one above.
 */
static bool walk(struct view_flame *f, struct level *levels, size_t depth, struct part part)
{
	size_t d = part.base;

	assert(part.base < depth);
	for (;;) {
		struct level *const up = d > part.base ? &levels[d - 1] : NULL;
		struct level *const l = &levels[d];

		level_leave(f, l);
		if (!level_next(f, l, part.end) || (d && !in_parent(f, l, &levels[d - 1]))) {
			if (!up)
				return true;
			d--;
			continue;
		}
		if (!enter_next(f, levels, depth, d, up, part.last))
			return false;
		if (l->open && d + 1 < depth)
			d++;
	}
}

/* SPEC store/ties: returns true if an item begins before another one. */
static bool is_earlier(const struct store_item *a, const struct store_item *b)
{
	return a->start < b->start || (a->start == b->start && a->ties < b->ties);
}

/*
 * Returns the level from `up` on, the number of levels that are open, that has the next call in the
 * innermost one of them; `depth` if none has.
 */
static size_t next_level(struct view_flame *f, struct level *levels, size_t depth, size_t up)
{
	size_t found = depth;

	for (size_t d = up; d < depth; d++) {
		if (level_next(f, &levels[d], f->range->to) &&
		    (!up || in_parent(f, &levels[d], &levels[up - 1])) &&
		    (found == depth || is_earlier(&levels[d].item, &levels[found].item)))
			found = d;
	}
	return found;
}

/*
 * Adds the calls of levels of which some lack calls around those of deeper ones: a call is in the
 * innermost one that is open.
 */
static bool walk_gaps(struct view_flame *f, struct level *levels, size_t depth, int64_t last)
{
	for (size_t up = 0;;) {
		const size_t d = next_level(f, levels, depth, up);

		if (d < depth) {
			if (!enter_next(f, levels, depth, d, up ? &levels[up - 1] : NULL, last))
				return false;
			levels[d].up = up;
			up = levels[d].open ? d + 1 : up;
		} else if (up) {
			level_leave(f, &levels[up - 1]);
			up = levels[up - 1].up;
		} else {
			return true;
		}
	}
}

/* Opens the lanes of a track. Returns false if out of memory. */
static bool open_levels(const struct view_flame *f, uint32_t track, struct level **out,
			size_t *depth)
{
	size_t cap = 0;

	for (*depth = 0;; (*depth)++) {
		const uint32_t lane = store_lane_at(f->view->store, track, (uint32_t)*depth);
		struct level *l;

		if (lane == SPUR_NONE)
			return true;
		if (!mem_grow((void **)out, &cap, *depth + 1, sizeof(**out), SIZE_MAX))
			return false;
		l = &(*out)[*depth];
		*l = (struct level){ .lane = lane };
	}
}

/* Finds the last item of a level that begins before the range. */
static bool level_before(const struct view_flame *f, struct level *l, struct store_item *before)
{
	const struct store *const s = f->view->store;
	bool found = false;

	l->next = store_seek(s, l->lane, f->range->from);
	while ((l->has = store_item(s, l->lane, l->next, &l->item)) &&
	       l->item.start < f->range->from) {
		*before = l->item;
		found = true;
		l->next++;
	}
	return found || (l->next && store_item(s, l->lane, l->next - 1, before));
}

/* Counts the END of a call that began before the range, if that is in the range. */
static void count_end(struct view_flame *f, const struct level *l, const struct store_item *i)
{
	const struct view_range *const r = f->range;
	struct spur_event row;

	if (f->sums && i->kind != SPUR_SPAN && i->kind != SPUR_SWITCH && l->until >= r->from &&
	    store_before(l->until, r->to) &&
	    store_row(f->view->store, l->lane, l->next - 1, true, &row))
		add_end(f, row.cls);
}

/*
 * Finds the calls that go on when the range begins, from the outermost one in: those of the range
 * that are in them are outermost ones. A SPAN that is over stays open while a call in it goes on.
 */
static void open_around(struct view_flame *f, struct level *levels, size_t depth)
{
	const bool gaps = store_facts(f->view->store).facts & STORE_GAPS;
	const int64_t from = f->range->from;
	int64_t limit = INT64_MAX, around = INT64_MIN;
	bool inside = true;

	for (size_t d = 0; d < depth; d++) {
		struct level *const l = &levels[d];
		struct store_item i;
		bool open = level_before(f, l, &i) && inside && i.marks & STORE_SPAN &&
			    i.start >= around;

		l->until = open && i.start + i.dur < limit ? i.start + i.dur : limit;
		open = open && (l->until >= from || (i.kind == SPUR_SPAN && !gaps));
		if (open) {
			around = i.start;
			limit = i.kind == SPUR_SPAN ? limit : l->until;
			count_end(f, l, &i);
		} else {
			l->until = from;
			inside = gaps;
		}
		l->limit = l->around = limit;
	}
}

/*
 * Returns when the last SPAN of the levels ends: calls that are open when the data ends last as
 * long. Of SPANs that overlap, that need not be the last one.
 */
static int64_t spans_end(const struct view_flame *f, const struct level *levels, size_t depth)
{
	const bool all = store_facts(f->view->store).facts & (STORE_LAPS | STORE_BACK);
	int64_t last = INT64_MIN;
	struct store_item i;

	for (size_t d = 0; d < depth; d++) {
		uint64_t n = levels[d].next;

		if (!all) {
			n = store_seek(f->view->store, levels[d].lane, f->range->to);
			n -= n != 0;
		}
		for (; store_item(f->view->store, levels[d].lane, n, &i) &&
		       store_before(i.start, f->range->to);
		     n++)
			if (i.start >= f->range->from && i.kind == SPUR_SPAN &&
			    i.start + i.dur > last)
				last = i.start + i.dur;
	}
	return last;
}

/* Adds all calls of the range, from the deepest level up, so that each level's come in order. */
static bool walk_levels(struct view_flame *f, struct level *levels, size_t depth, struct part part)
{
	bool good = true;

	for (size_t d = depth; good && d-- > 0;) {
		part.base = d;
		part.end = f->range->to;
		if (d && levels[d - 1].until < part.end)
			part.end = levels[d - 1].until + 1;
		good = walk(f, levels, depth, part);
	}
	return good;
}

static bool walk_track(struct view_flame *f, uint32_t track, const struct store_lasts *lasts)
{
	struct level *levels = NULL;
	struct part part = { 0 };
	size_t depth = 0;
	bool good = open_levels(f, track, &levels, &depth);

	f->told = INT64_MIN;
	if (good && depth) {
		int64_t spans;

		open_around(f, levels, depth);
		spans = spans_end(f, levels, depth);
		part.last = store_lasts_of(lasts, levels[0].lane);
		part.last = spans > part.last ? spans : part.last;
	}
	if (store_facts(f->view->store).facts & STORE_GAPS)
		good = good && walk_gaps(f, levels, depth, part.last);
	else
		good = good && walk_levels(f, levels, depth, part);
	mem_free(levels);
	return good;
}

/* --- stacks of samples --- */

/*
 * Adds a stack: its time belongs to each call on it, its calls are those of the leaf. Where a
 * thread or process has the calls, those around the leaf are no calls of its own.
 */
static bool add_stack(struct view_flame *f, const struct store_stack *k)
{
	uint32_t node = 0;

	for (uint32_t i = f->key ? k->n - 1 : 0; i < k->n; i++) {
		node = child_of(f, node, head_of(f, k->labels[i]));
		if (!node)
			return false;
		f->nodes[node].total += k->self;
	}
	f->nodes[0].total += k->self;
	f->nodes[node].self += k->self;
	f->nodes[node].calls += k->calls;
	f->nodes[node].sampled += k->calls;
	return true;
}

static bool add_stacks(struct view_flame *f, uint32_t track)
{
	const struct store *const s = f->view->store;
	struct store_stack k;

	for (uint64_t i = store_stack_from(s, track, f->range->from);
	     store_stack(s, i, &k) && k.track == track && store_before(k.ts, f->range->to); i++)
		if (!add_stack(f, &k))
			return false;
	return true;
}

/* --- the range --- */

/* Returns the number of the process that a track is of, or its own. */
static uint32_t process_of(const struct view *v, uint32_t track)
{
	struct store_track t;

	for (uint32_t up = track; store_track(v->store, up, &t); up = t.parent)
		if (t.kind == SPUR_TRACK_PROCESS)
			return up;
	return track;
}

/* Passes the tree of a track on, and empties it. */
static void take_track(struct view_flame *f)
{
	f->sums->take(f->sums->self, f);
	map64_free(&f->children);
	f->n = 1;
	f->nodes[0] = (struct view_node){ .label = UINT32_MAX };
}

/* The tracks of the range, each once. */
static bool walk_range(struct view_flame *f, enum view_flame_by by)
{
	const uint32_t ntracks = store_facts(f->view->store).tracks;
	bool *const wanted = mem_array(ntracks ? ntracks : 1, sizeof(*wanted));
	struct store_lane lane;
	struct store_lasts *const lasts = store_lasts_new(
		f->view->store,
		&(struct store_range){ .lanes = { f->range->lanes, f->range->nlanes },
				       .from = f->range->from,
				       .to = f->range->to });
	bool good = wanted && lasts;

	for (size_t i = 0; good && i < f->range->nlanes; i++)
		if (store_lane(f->view->store, f->range->lanes[i], &lane) && lane.track < ntracks)
			wanted[lane.track] = true;
	for (uint32_t i = 0; good && i < ntracks; i++) {
		if (f->range->lanes && !wanted[i])
			continue;
		if (by == VIEW_BY_THREAD)
			f->key = i + 1;
		else if (by == VIEW_BY_PROCESS)
			f->key = process_of(f->view, i) + 1;
		good = add_stacks(f, i) && walk_track(f, i, lasts);
		if (good && f->sums)
			take_track(f);
	}
	store_lasts_free(lasts);
	mem_free(wanted);
	return good;
}

/* --- answer --- */

static int larger_first(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y) - (x > y);
}

/* The total that a node must reach, so that about VIEW_FLAME_MOST of them are shown. */
static uint64_t threshold(const struct view_flame *f)
{
	uint64_t *totals, least;

	if (f->n <= VIEW_FLAME_MOST)
		return 0;
	totals = mem_array(f->n, sizeof(*totals));
	if (!totals)
		return UINT64_MAX;
	for (size_t i = 0; i < f->n; i++)
		totals[i] = f->nodes[i].total;
	qsort(totals, f->n, sizeof(*totals), larger_first);
	least = totals[VIEW_FLAME_MOST] + 1;
	mem_free(totals);
	return least;
}

static void put_node(const struct view_flame *f, uint32_t id, struct out *o)
{
	const struct view_node *const n = &f->nodes[id];

	out_printf(o, "{\"label\":%lld,\"calls\":%llu,\"total\":%llu,\"self\":%llu,\"children\":[",
		   n->label == UINT32_MAX ? -1 : (long long)n->label, (unsigned long long)n->calls,
		   (unsigned long long)n->total, (unsigned long long)n->self);
}

/* What the small children of a node are together. */
static void put_rest(const struct view_flame *f, uint32_t parent, uint64_t least, bool first,
		     struct out *o)
{
	uint64_t calls = 0;
	uint64_t total = 0;

	for (uint32_t c = f->nodes[parent].first; c; c = f->nodes[c].next)
		if (f->nodes[c].total < least) {
			calls += f->nodes[c].calls;
			total += f->nodes[c].total;
		}
	if (calls || total)
		out_printf(
			o,
			"%s{\"label\":-2,\"calls\":%llu,\"total\":%llu,\"self\":0,\"children\":[]}",
			first ? "" : ",", (unsigned long long)calls, (unsigned long long)total);
}

/* Writes the tree without recursion: a path of nodes is open. */
static bool put_tree(const struct view_flame *f, struct out *o)
{
	const uint64_t least = threshold(f);
	uint32_t *path = NULL;
	size_t depth = 0, cap = 0;
	bool first = true;

	put_node(f, 0, o);
	for (uint32_t next = f->nodes[0].first;;) {
		while (next && f->nodes[next].total < least)
			next = f->nodes[next].next;
		if (!next) {
			put_rest(f, depth ? path[depth - 1] : 0, least, first, o);
			out_str(o, "]}");
			if (!depth)
				break;
			next = f->nodes[path[--depth]].next;
			first = false;
			continue;
		}
		if (!mem_grow((void **)&path, &cap, depth + 1, sizeof(*path), NODES_MOST))
			break;
		if (!first)
			out_char(o, ',');
		put_node(f, next, o);
		path[depth++] = next;
		next = f->nodes[next].first;
		first = true;
	}
	mem_free(path);
	return !depth && !o->error;
}

/*
 * Returns the first label with the module of label `i`, which is added to the modules if it is the
 * first one. A store has each text once. Time off the CPU, label 0, is of no module.
 */
static uint32_t module_head(struct map64 *modules, uint32_t i, const struct store_label *l)
{
	struct map64_slot *const slot =
		i ? map64_put(modules, l->module.len ? (uintptr_t)l->module.p : 0) : NULL;

	if (slot && !slot->value)
		slot->value = i;
	return slot ? (uint32_t)slot->value : i;
}

/* Finds whose calls those of each label are. Returns false if out of memory. */
static bool read_heads(struct view_flame *f, enum view_flame_by by)
{
	struct map64 modules = { 0 };
	struct store_label l;

	f->nheads = store_facts(f->view->store).labels;
	f->heads = mem_array(f->nheads ? f->nheads : 1, sizeof(*f->heads));
	for (uint32_t i = 0; f->heads && i < f->nheads; i++)
		if (!store_label(f->view->store, i, &l))
			f->heads[i] = i;
		else if (by == VIEW_BY_MODULE)
			f->heads[i] = module_head(&modules, i, &l);
		else
			f->heads[i] = l.head < f->nheads ? l.head : i;
	map64_free(&modules);
	return f->heads != NULL;
}

bool view_flame_make(struct view_flame *f, const struct view *v, const struct view_range *range,
		     enum view_flame_by by, const struct view_flame_sums *sums)
{
	bool good;

	*f = (struct view_flame){ .view = v, .range = range, .sums = sums };
	good = read_heads(f, by) &&
	       mem_grow((void **)&f->nodes, &f->cap, 1, sizeof(*f->nodes), NODES_MOST);
	if (!good)
		return false;
	f->n = 1;
	f->nodes[0].label = UINT32_MAX;
	return walk_range(f, by);
}

void view_flame_free(struct view_flame *f)
{
	map64_free(&f->children);
	mem_free(f->heads);
	mem_free(f->nodes);
}

bool view_flame_refuse(struct view_answer *a)
{
	return view_refuse(a, 400,
			   "calls of the range have more than %d paths: choose a smaller range, "
			   "or fewer tracks",
			   NODES_MOST);
}

bool view_flame(struct view *v, const struct view_request *r, struct view_answer *a)
{
	struct view_range range;
	struct view_flame f;
	bool good;

	if (!view_range(v, r, &range, a))
		return false;
	good = view_flame_make(&f, v, &range, VIEW_BY_FUNCTION, NULL) && put_tree(&f, &a->out);
	if (f.full)
		view_flame_refuse(a);
	view_flame_free(&f);
	view_range_free(&range);
	return good;
}
