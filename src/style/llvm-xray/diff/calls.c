/* Collecting and joining call graphs. See calls.h. */
#include "style/llvm-xray/diff/calls.h"

#include <stdlib.h>

#include "base/map64.h"
#include "flow/ends.h"
#include "flow/spread.h"
#include "flow/walk.h"
#include "style/llvm-xray/name/name.h"

enum { EDGE_LIMIT = 1 << 27, CLASS_LIMIT = 1 << 28 };

/* Calls of one function by another; class ids while collecting, then vertices. */
struct edge {
	uint32_t from, to;
	struct spread spread;
	uint64_t least, most; /* least: ~, so that zeroed memory means none */
};

struct edges {
	struct edge *items;
	size_t n, cap;
	struct map64 index; /* from << 32 | to -> item + 1 */
};

/* One worker's. */
struct collector {
	struct spur_trace *trace;
	struct edges edges;
	uint64_t *ids; /* by class: ~ the lowest id of its BEGINs and SPANs */
	size_t nids;
	struct pair pair;
	struct ends ends;
	uint32_t low, high; /* tracks seen */
	uint64_t rows;
};

static void edges_free(struct edges *e)
{
	for (size_t i = 0; i < e->n; i++)
		spread_free(&e->items[i].spread);
	mem_free(e->items);
	map64_free(&e->index);
}

/* Returns the edge, which may be new; NULL if out of memory. It lives until the next call. */
static struct edge *edges_put(struct edges *e, uint32_t from, uint32_t to)
{
	struct map64_slot *slot = map64_put(&e->index, (uint64_t)from << 32 | to);
	struct edge *edge;

	if (!slot ||
	    !mem_grow((void **)&e->items, &e->cap, e->n + 1, sizeof(*e->items), EDGE_LIMIT))
		return NULL;
	if (slot->value)
		return &e->items[slot->value - 1];
	edge = &e->items[e->n++];
	edge->from = from;
	edge->to = to;
	edge->spread.exact = true;
	slot->value = e->n;
	return edge;
}

static bool edge_join(struct edge *to, const struct edge *from)
{
	to->least = from->least > to->least ? from->least : to->least;
	to->most = from->most > to->most ? from->most : to->most;
	return spread_join(&to->spread, &from->spread);
}

/* --- rows */

/* A frame was popped: its call ends at `ts`. */
static bool call_end(struct collector *w, const struct pair_stack *s, const struct pair_frame *f,
		     int64_t ts)
{
	const uint64_t length = walk_length(f, ts);
	const struct pair_frame *caller = s->n ? &s->frames[s->n - 1] : NULL;
	struct edge *e;

	if (f->flags & (PAIR_SCHED | PAIR_MISSING))
		return true;
	e = edges_put(&w->edges, caller && !(caller->flags & PAIR_MISSING) ? caller->cls : 0,
		      f->cls);
	if (!e)
		return false;
	e->least = ~length > e->least ? ~length : e->least;
	e->most = length > e->most ? length : e->most;
	return spread_add(&e->spread, length);
}

static bool call_begin(struct collector *w, struct pair_stack *s, const struct spur_event *row)
{
	if (!walk_push(s, row))
		return false;
	if (row->kind == SPUR_SWITCH)
		return true;
	if (row->cls >= w->nids && !mem_grow((void **)&w->ids, &w->nids, (size_t)row->cls + 1,
					     sizeof(*w->ids), CLASS_LIMIT))
		return false;
	if (w->ids[row->cls] < ~row->id)
		w->ids[row->cls] = ~row->id;
	return true;
}

static bool collect_row(struct collector *w, const struct spur_event *row)
{
	struct pair_stack *s = pair_stack(&w->pair, row->track);
	const struct pair_frame *f;
	struct spur_event inner;
	struct walk_end e;

	if (!s)
		return false;
	w->low = row->track < w->low ? row->track : w->low;
	w->high = row->track > w->high ? row->track : w->high;
	/* SPEC xray/account-calls: an exit without entry ends nothing. */
	if (pair_is_by_class(row)) {
		inner = *row;
		inner.flags |= SPUR_F_GAP;
		row = &inner;
	}
	while ((f = walk_due(s, row, &e)))
		if (!call_end(w, s, f, e.ts))
			return false;
	if (walk_opens(s, row))
		return call_begin(w, s, row);
	f = walk_match(s, row);
	return !f || call_end(w, s, f, row->ts);
}

static bool collect_rows(void *worker, struct spur_event *rows, size_t n)
{
	struct collector *w = worker;

	w->rows += n;
	if (!ends_rows(&w->ends, rows, n))
		return false;
	for (size_t i = 0; i < n; i++)
		if (walk_takes(&rows[i]) && !collect_row(w, &rows[i]))
			return false;
	return true;
}

static bool collect_feed_begin(void *worker, const struct feed *f)
{
	struct collector *w = worker;

	(void)f;
	w->low = UINT32_MAX;
	w->high = 0;
	ends_begin(&w->ends, w->trace);
	return true;
}

/* Calls that are open when the data ends do not count. */
static bool collect_feed_end(void *worker, const struct feed *f)
{
	struct collector *w = worker;
	bool good = true;
	struct walk_end e;

	(void)f;
	for (size_t track = w->low; good && track <= w->high && track < w->pair.cap; track++) {
		struct pair_stack *s = pair_at(&w->pair, track);
		const struct pair_frame *frame;

		while (good && s && (frame = walk_rest(s, ends_of(&w->ends, (uint32_t)track), &e)))
			good = e.unfinished || call_end(w, s, frame, e.ts);
	}
	pair_clear(&w->pair);
	return good;
}

/* --- joining */

/* A class with its name, to be sorted. */
struct named {
	const char *name;
	uint32_t cls;
};

/* All workers' classes become vertices by name. */
struct joiner {
	struct call_graph *graph;
	struct arena *names;
	struct pass_env *env;
	struct named *named;
	size_t n;
	uint32_t *vertex; /* class -> vertex */
	struct edges edges; /* of vertices */
	double hz; /* ticks a second; 1: not known */
};

static int named_order(const void *x, const void *y)
{
	const struct named *a = x, *b = y;
	const int c = strcmp(a->name, b->name);

	return c ? c : (a->cls > b->cls) - (a->cls < b->cls);
}

/* Class 0 stands for what calls the outermost functions. */
static bool joiner_name(struct joiner *j, uint32_t cls, uint64_t id)
{
	struct named *named = &j->named[j->n++];
	struct out o;

	out_to_memory(&o);
	if (cls)
		llvm_xray_name(&o, j->env, trace_class(j->env->trace, cls), id);
	named->cls = cls;
	named->name = arena_strdup(j->names, o.buf ? o.buf : "", o.len);
	out_free(&o);
	return named->name && !o.error;
}

static bool joiner_vertices(struct joiner *j, const struct collector *w, unsigned n)
{
	size_t classes = 1;

	for (unsigned i = 0; i < n; i++)
		classes = w[i].nids > classes ? w[i].nids : classes;
	j->named = mem_array(classes, sizeof(*j->named));
	j->vertex = mem_array(classes, sizeof(*j->vertex));
	j->graph->vertices = mem_array(classes, sizeof(*j->graph->vertices));
	if (!j->named || !j->vertex || !j->graph->vertices || !joiner_name(j, 0, 0))
		return false;
	for (uint32_t cls = 1; cls < classes; cls++) {
		uint64_t id = 0;

		for (unsigned i = 0; i < n; i++)
			id = cls < w[i].nids && w[i].ids[cls] > id ? w[i].ids[cls] : id;
		if (id && !joiner_name(j, cls, ~id))
			return false;
	}
	qsort(j->named, j->n, sizeof(*j->named), named_order);
	for (size_t i = 0; i < j->n; i++) {
		struct call_graph *g = j->graph;

		if (!i || strcmp(j->named[i].name, j->named[i - 1].name) != 0)
			g->vertices[g->nvertices++].name = j->named[i].name;
		j->vertex[j->named[i].cls] = (uint32_t)g->nvertices - 1;
	}
	return true;
}

static bool joiner_edges(struct joiner *j, const struct collector *w, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		for (size_t k = 0; k < w[i].edges.n; k++) {
			const struct edge *from = &w[i].edges.items[k];
			struct edge *to =
				edges_put(&j->edges, j->vertex[from->from], j->vertex[from->to]);

			if (!to || !edge_join(to, from))
				return false;
		}
	return true;
}

/* SPEC xray/graph-ranks: number n/2, n * 9/10 and n * 99/100 of n durations, counted from 0 */
static struct call_stats stats_of(struct edge *e, double hz)
{
	const uint64_t n = e->spread.count;
	struct call_stats s = { { 0 } };

	if (!n)
		return s;
	s.of[STAT_COUNT] = (double)n;
	s.of[STAT_MIN] = (double)~e->least / hz;
	s.of[STAT_MED] = (double)spread_at(&e->spread, n / 2) / hz;
	s.of[STAT_P90] = (double)spread_at(&e->spread, n * 9 / 10) / hz;
	s.of[STAT_P99] = (double)spread_at(&e->spread, n * 99 / 100) / hz;
	s.of[STAT_MAX] = (double)e->most / hz;
	s.of[STAT_SUM] = (double)e->spread.sum / hz;
	return s;
}

static int edge_order(const void *x, const void *y)
{
	const struct call_edge *a = x, *b = y;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

/* Statistics of edges, and of vertices from the edges that lead to them. */
static bool joiner_stats(struct joiner *j)
{
	struct call_graph *g = j->graph;
	struct edge *in = mem_array(g->nvertices, sizeof(*in));
	bool good = in != NULL;

	g->edges = mem_array(j->edges.n, sizeof(*g->edges));
	good = good && g->edges;
	for (size_t i = 0; good && i < g->nvertices; i++)
		in[i].spread.exact = true;
	for (size_t i = 0; good && i < j->edges.n; i++) {
		struct edge *e = &j->edges.items[i];

		good = edge_join(&in[e->to], e);
		g->edges[g->nedges++] = (struct call_edge){ e->from, e->to, stats_of(e, j->hz) };
	}
	for (size_t i = 0; in && i < g->nvertices; i++) {
		if (good)
			g->vertices[i].stats = stats_of(&in[i], j->hz);
		spread_free(&in[i].spread);
	}
	mem_free(in);
	if (g->nedges)
		qsort(g->edges, g->nedges, sizeof(*g->edges), edge_order);
	return good;
}

static bool graph_join(struct call_graph *g, struct arena *names, struct pass_env *env,
		       const struct collector *w, unsigned n)
{
	const struct clock_info *clock = &env->trace->clock;
	struct joiner j = { .graph = g, .names = names, .env = env };
	bool good;

	j.hz = !clock->hz ? 1 : clock->ticks ? (double)clock->hz : 1e9;
	good = joiner_vertices(&j, w, n) && joiner_edges(&j, w, n) && joiner_stats(&j);
	edges_free(&j.edges);
	mem_free(j.named);
	mem_free(j.vertex);
	return good;
}

/* --- */

static void collectors_free(struct collector *w, unsigned n)
{
	for (unsigned i = 0; w && i < n; i++) {
		edges_free(&w[i].edges);
		mem_free(w[i].ids);
		pair_free(&w[i].pair);
		ends_free(&w[i].ends);
	}
	mem_free(w);
}

enum spur_status call_graph_read(struct call_graph *g, struct arena *names, struct pass_env *env)
{
	static const struct pipe_fold fold = { .feed_begin = collect_feed_begin,
					       .rows = collect_rows,
					       .feed_end = collect_feed_end };
	unsigned n = pipe_workers(env->trace, &env->pipe);
	struct collector *w = mem_array(n, sizeof(*w));
	void **states = mem_array(n, sizeof(*states));
	bool good = w && states;
	uint64_t rows = 0;

	for (unsigned i = 0; good && i < n; i++) {
		states[i] = &w[i];
		w[i].trace = env->trace;
	}
	good = good && pipe_run_feeds(env->trace, &env->pipe, &fold, states) != SPUR_FAIL;
	for (unsigned i = 0; good && i < n; i++)
		rows += w[i].rows;
	good = good && graph_join(g, names, env, w, n);
	collectors_free(w, n);
	mem_free(states);
	return !good ? err_nomem(env->err) : rows ? SPUR_OK : SPUR_WARN;
}

void call_graph_free(struct call_graph *g)
{
	mem_free(g->vertices);
	mem_free(g->edges);
}
