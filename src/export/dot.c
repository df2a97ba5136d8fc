/*
 * dot: the call graph in DOT, the language of Graphviz. A vertex is a function, an edge stands for
 * the calls of one function by another; calls that no other call is around have no edge. Labels and
 * colours tell statistics that the user chooses; all of them are attributes of the vertex or edge,
 * which Graphviz passes over.
 */
#include "export/profile/stacks.h"
#include "render/cell.h"
#include "render/dot.h"

enum { LIMIT = 1 << 27, SHADES = 255, CELL_ROOM = 32 };

enum reason { LOST_PATH = LOSS_OWN, LOST_DEEP };
static const struct loss_reason reasons[] = {
	{ LOSS_DEGRADED, "too many different stacks: summed in (other)" },
	{ LOSS_DEGRADED, "the stack is deeper than 4,096 calls: summed in (deeper)" },
};

enum statistic { STAT_CALLS, STAT_TOTAL, STAT_SELF, STAT_AVG, STAT_MAX, STATS };
static const char *const statistics[] = { "calls", "total", "self", "avg", "max", "none", NULL };

/* Of a function, or of its calls by another. */
struct sums {
	uint64_t of[STATS];
	uint64_t sum; /* of the lengths of all calls, those inside others of the same too */
};

struct vertex {
	uint32_t node; /* one that has its frame */
	struct sums sums;
};

struct edge {
	uint32_t from, to; /* vertices */
	struct sums sums;
};

struct dot {
	struct stacks stacks; /* must be the first */
	enum statistic edge_label, vertex_label, color; /* STATS: none */
	struct map64 of_frame; /* frame to vertex + 1 */
	struct vertex *vertices;
	size_t nvertices, vertices_cap;
	struct map64 of_edge; /* vertices to edge + 1 */
	struct edge *edges;
	size_t nedges, edges_cap;
};

/* --- the graph --- */

/* Returns the vertex of a joined node, or SPUR_NONE if out of memory. */
static uint32_t vertex_of(struct dot *d, uint32_t node)
{
	struct map64_slot *slot = map64_put(&d->of_frame, d->stacks.all.nodes[node].what);

	if (!slot)
		return SPUR_NONE;
	if (slot->value)
		return (uint32_t)slot->value - 1;
	if (!mem_grow((void **)&d->vertices, &d->vertices_cap, d->nvertices + 1,
		      sizeof(*d->vertices), LIMIT))
		return SPUR_NONE;
	d->vertices[d->nvertices].node = node;
	slot->value = ++d->nvertices;
	return (uint32_t)slot->value - 1;
}

/* Returns NULL if out of memory. */
static struct edge *edge_of(struct dot *d, uint32_t from, uint32_t to)
{
	struct map64_slot *slot = map64_put(&d->of_edge, (uint64_t)from << 32 | to);

	if (!slot)
		return NULL;
	if (slot->value)
		return &d->edges[slot->value - 1];
	if (!mem_grow((void **)&d->edges, &d->edges_cap, d->nedges + 1, sizeof(*d->edges), LIMIT))
		return NULL;
	d->edges[d->nedges] = (struct edge){ .from = from, .to = to };
	slot->value = ++d->nedges;
	return &d->edges[d->nedges - 1];
}

/* Adds a path's node. `outer`: it does not lie inside another call of the same. */
static void sums_add(struct sums *s, const struct stack_node *n, bool outer)
{
	s->of[STAT_CALLS] += n->calls;
	s->of[STAT_TOTAL] += outer ? n->total : 0;
	s->of[STAT_SELF] += n->self;
	s->sum += n->total;
	s->of[STAT_AVG] = s->of[STAT_CALLS] ? s->sum / s->of[STAT_CALLS] : 0;
	s->of[STAT_MAX] = n->most > s->of[STAT_MAX] ? n->most : s->of[STAT_MAX];
}

static bool node_add(void *self, const uint32_t *path, size_t n)
{
	struct dot *d = self;
	const struct stack_node *nodes = d->stacks.all.nodes, *node = &nodes[path[n - 1]];
	uint32_t from, to;
	bool outer = true, outer_edge = true;
	struct edge *e;

	if (n < 2 || (!node->calls && !node->total))
		return true;
	for (size_t i = 1; i + 1 < n && outer_edge; i++) {
		if (nodes[path[i]].what != node->what)
			continue;
		outer = false;
		outer_edge = nodes[path[i - 1]].what != nodes[path[n - 2]].what;
	}
	to = vertex_of(d, path[n - 1]);
	if (to == SPUR_NONE)
		return false;
	sums_add(&d->vertices[to].sums, node, outer);
	if (n < 3)
		return true;
	from = vertex_of(d, path[n - 2]);
	e = from == SPUR_NONE ? NULL : edge_of(d, from, to);
	if (e)
		sums_add(&e->sums, node, outer_edge);
	return e;
}

/* --- text --- */

static void attributes_out(const struct sums *s, struct out *o)
{
	for (int i = 0; i < STATS; i++) {
		out_str(o, i ? ", " : "");
		out_str(o, statistics[i]);
		out_char(o, '=');
		out_u64(o, s->of[i]);
	}
}

/* A statistic for people: calls as a number, others as times. */
static void label_out(const struct sums *s, enum statistic stat, struct out *o)
{
	char cell[CELL_ROOM], *at = cell, *end;

	if (stat == STAT_CALLS) {
		out_u64(o, s->of[stat]);
		return;
	}
	end = put_time(cell, s->of[stat]);
	while (at < end && *at == ' ')
		at++;
	out_bytes(o, at, (size_t)(end - at));
}

/* Where a value lies between 0 and the largest one. */
static unsigned shade_of(uint64_t value, uint64_t most)
{
	return most ? (unsigned)((unsigned __int128)value * SHADES / most) : 0;
}

static void vertex_out(const struct dot *d, size_t i, uint64_t most)
{
	const struct vertex *v = &d->vertices[i];
	const struct stack_frame f = stacks_frame(&d->stacks, v->node);
	const struct spur_trace *t = d->stacks.write->trace;
	struct out *o = d->stacks.write->out;
	size_t len, module_len;
	const char *name = trace_string(t, f.name, &len),
		   *module = trace_string(t, f.module, &module_len);

	out_printf(o, "F%zu [label=\"", i + 1);
	out_dot(o, name, len, false);
	if (d->vertex_label != STATS) {
		out_str(o, "\\n");
		label_out(&v->sums, d->vertex_label, o);
	}
	out_str(o, "\", tooltip=\"");
	out_dot(o, module_len ? module : name, module_len ? module_len : len, false);
	out_char(o, '"');
	if (d->color != STATS) {
		/* From white to red. */
		const unsigned shade = shade_of(v->sums.of[d->color], most);

		out_printf(o, ", fillcolor=\"#FF%02X%02X\"", SHADES - shade * 3 / 5,
			   SHADES - shade * 4 / 5);
	}
	out_str(o, ", ");
	attributes_out(&v->sums, o);
	out_str(o, "]\n");
}

static void edge_out(const struct dot *d, const struct edge *e, uint64_t most)
{
	struct out *o = d->stacks.write->out;

	out_printf(o, "F%u -> F%u [", e->from + 1, e->to + 1);
	if (d->edge_label != STATS) {
		out_str(o, "label=\"");
		label_out(&e->sums, d->edge_label, o);
		out_str(o, "\", ");
	}
	if (d->color != STATS) {
		/* From grey to red, from one to five points. */
		const unsigned shade = shade_of(e->sums.of[d->color], most);

		const unsigned other = 160 - shade * 128 / SHADES;

		out_printf(o, "color=\"#%02X%02X%02X\", penwidth=%u.%u, ",
			   160 + shade * 48 / SHADES, other, other,
			   1 + shade * 4 / SHADES, shade * 40 / SHADES % 10);
	}
	attributes_out(&e->sums, o);
	out_str(o, "]\n");
}

static bool dot_finish(void *self)
{
	struct dot *d = self;
	struct out *o = d->stacks.write->out;
	uint64_t most = 0, edge_most = 0;

	if (!stacks_order(&d->stacks) || !stacks_walk(&d->stacks, node_add, d))
		return false;
	for (size_t i = 0; d->color != STATS && i < d->nvertices; i++)
		if (d->vertices[i].sums.of[d->color] > most)
			most = d->vertices[i].sums.of[d->color];
	for (size_t i = 0; d->color != STATS && i < d->nedges; i++)
		if (d->edges[i].sums.of[d->color] > edge_most)
			edge_most = d->edges[i].sums.of[d->color];
	out_str(o, "digraph calls {\nnode [shape=box, style=filled, fillcolor=\"#FFFFFF\"]\n");
	for (size_t i = 0; i < d->nvertices && !o->error; i++)
		vertex_out(d, i, most);
	for (size_t i = 0; i < d->nedges && !o->error; i++)
		edge_out(d, &d->edges[i], edge_most);
	out_str(o, "}\n");
	return true;
}

/* --- the writer --- */

static void dot_close(void *self)
{
	struct dot *d = self;

	map64_free(&d->of_frame);
	map64_free(&d->of_edge);
	mem_free(d->vertices);
	mem_free(d->edges);
	stacks_free(&d->stacks);
	mem_free(d);
}

static enum statistic choice(const struct write *w, const char *name, enum statistic otherwise)
{
	for (enum statistic i = 0; i <= STATS; i++)
		if (write_setting_is(w, name, statistics[i]))
			return i;
	return otherwise;
}

static void *dot_open(struct write *w)
{
	static const struct stack_reasons stack_reasons = { LOST_PATH, LOST_DEEP };
	struct dot *d = mem_alloc(sizeof(*d));

	if (!d)
		return NULL;
	d->edge_label = choice(w, "edges", STAT_CALLS);
	d->vertex_label = choice(w, "vertices", STAT_TOTAL);
	d->color = choice(w, "color", STAT_SELF);
	if (stacks_init(&d->stacks, w, &stack_reasons))
		return d;
	dot_close(d);
	return NULL;
}

static const char *const endings[] = { "dot", "gv", NULL };
static const struct write_setting settings[] = {
	{ "edges", statistics, "the statistic in the labels of edges (default: calls)" },
	{ "vertices", statistics, "the statistic in the labels of functions (default: total)" },
	{ "color", statistics, "the statistic that colors tell (default: self)" },
	{ 0 },
};

const struct spur_writer spur_writer_dot = {
	.name = "dot",
	.title = "call graph in DOT, which Graphviz draws",
	.endings = endings,
	.fits = { WRITE_FITS(SPUR_BEGIN, SPUR_SPAN, WRITE_DEGRADED),
		  [SPUR_SWITCH] = WRITE_DEGRADED,
		  [SPUR_SAMPLE] = WRITE_DEGRADED },
	.dropped = "the format has sums of calls only",
	.degraded = "only sums of the calls of one function by another are written",
	.reasons = reasons,
	.nreasons = sizeof(reasons) / sizeof(reasons[0]),
	.spans = WRITE_SPANS_SPLIT,
	.settings = settings,
	.open = dot_open,
	.lane = stacks_lane,
	.row = stacks_row,
	.end = stacks_end,
	.lane_close = stacks_lane_close,
	.finish = dot_finish,
	.close = dot_close,
};
