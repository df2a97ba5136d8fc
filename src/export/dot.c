/*
 * dot: the call graph in DOT, the language of Graphviz. A vertex is a function, an edge stands for
 * the calls of one function by another; calls that no other call is around have no edge. Labels and
 * colours tell statistics that the user chooses; all of them are attributes of the vertex or edge,
 * which Graphviz passes over.
 */
#include "render/dot.h"
#include "export/profile/stacks.h"
#include "render/cell.h"

enum {
	LIMIT = 1 << 27,
	PATHS = STACKS_NODES / 2,
	SHADES = 255,
	CELL_ROOM = 32,
	NAME_SHOWN = 4000 /* bytes */
};

enum reason { LOST_PATH = LOSS_OWN, LOST_DEEP };
static const struct loss_reason reasons[] = {
	{ LOSS_DEGRADED, "too many different stacks: summed in (other)" },
	{ LOSS_DEGRADED, "the stack is deeper than 4,096 calls: summed in (deeper)" },
};

enum statistic { STAT_CALLS, STAT_TOTAL, STAT_SELF, STAT_AVG, STAT_MAX, STATS };
static const char *const statistics[] = { "calls", "total", "self", "avg", "max", "none", NULL };

/* Of a function, or of its calls by another. */
struct sums {
	uint64_t calls, total, self, most;
	uint64_t sum; /* of the lengths of all calls, those inside others of the same too */
};

struct vertex {
	uint32_t frame;
	struct sums sums;
};

struct edge {
	uint32_t from, to; /* vertices */
	struct sums sums;
};

struct dot {
	struct stacks stacks; /* must be the first */
	enum statistic edge_label, vertex_label, color; /* STATS: none */
	size_t frames;
	uint32_t *of_frame; /* by frame: its vertex + 1, or 0 */
	struct vertex *vertices;
	size_t nvertices, vertices_cap;
	struct key_index of_edge; /* edges by vertices */
	struct edge *edges;
	size_t nedges, edges_cap;
};

/* --- the graph --- */

/* Returns the vertex of a frame, or SPUR_NONE if out of memory. */
static uint32_t vertex_of(struct dot *d, uint32_t frame)
{
	if (d->of_frame[frame])
		return d->of_frame[frame] - 1;
	if (!mem_table_grow((void **)&d->vertices, &d->vertices_cap, d->nvertices + 1,
			    sizeof(*d->vertices), LIMIT))
		return SPUR_NONE;
	d->vertices[d->nvertices].frame = frame;
	d->of_frame[frame] = (uint32_t)++d->nvertices;
	return d->of_frame[frame] - 1;
}

static uint64_t edge_key(const void *dot, uint32_t number)
{
	const struct edge *e = &((const struct dot *)dot)->edges[number];

	return (uint64_t)e->from << 32 | e->to;
}

/* Returns NULL if out of memory. */
static struct edge *edge_of(struct dot *d, uint32_t from, uint32_t to)
{
	uint32_t number = key_index_find(&d->of_edge, (uint64_t)from << 32 | to, edge_key, d);

	if (number != KEY_INDEX_NONE)
		return &d->edges[number];
	number = (uint32_t)d->nedges;
	if (!mem_table_grow((void **)&d->edges, &d->edges_cap, d->nedges + 1, sizeof(*d->edges),
			    LIMIT))
		return NULL;
	d->edges[number] = (struct edge){ .from = from, .to = to };
	if (!key_index_add(&d->of_edge, number, edge_key, d))
		return NULL;
	return &d->edges[d->nedges++];
}

/* Adds a path's node. `outer`: it does not lie inside another call of the same. */
static void sums_add(struct sums *s, const struct stack_node *n, const struct stack_times *t,
		     bool outer)
{
	s->calls += n->calls;
	s->total += outer ? t->total : 0;
	s->self += n->self;
	s->sum += t->total;
	s->most = t->most > s->most ? t->most : s->most;
}

static uint64_t sums_get(const struct sums *s, enum statistic stat)
{
	switch (stat) {
	case STAT_CALLS:
		return s->calls;
	case STAT_TOTAL:
		return s->total;
	case STAT_SELF:
		return s->self;
	case STAT_AVG:
		return s->calls ? s->sum / s->calls : 0;
	case STAT_MAX:
		return s->most;
	case STATS:
		break;
	}
	return 0;
}

static bool node_add(void *self, const uint32_t *path, size_t n)
{
	struct dot *d = self;
	const struct stack_node *nodes = d->stacks.all.nodes, *node = &nodes[path[n - 1]];
	const struct stack_times *times = &d->stacks.all.times[path[n - 1]];
	uint32_t from, to;
	bool outer = true, outer_edge = true;
	struct edge *e;

	if (n < 2 || (!node->calls && !times->total))
		return true;
	for (size_t i = 1; i + 1 < n && outer_edge; i++) {
		if (nodes[path[i]].what != node->what)
			continue;
		outer = false;
		outer_edge = nodes[path[i - 1]].what != nodes[path[n - 2]].what;
	}
	to = vertex_of(d, node->what);
	if (to == SPUR_NONE)
		return false;
	sums_add(&d->vertices[to].sums, node, times, outer);
	if (n < 3)
		return true;
	from = vertex_of(d, nodes[path[n - 2]].what);
	e = from == SPUR_NONE ? NULL : edge_of(d, from, to);
	if (e)
		sums_add(&e->sums, node, times, outer_edge);
	return e;
}

/* --- text --- */

static void attributes_out(const struct sums *s, struct out *o)
{
	for (int i = 0; i < STATS; i++) {
		out_str(o, i ? ", " : "");
		out_str(o, statistics[i]);
		out_char(o, '=');
		out_u64(o, sums_get(s, (enum statistic)i));
	}
}

/* A statistic for people: calls as a number, others as times. */
static void label_out(const struct sums *s, enum statistic stat, struct out *o)
{
	char cell[CELL_ROOM], *at = cell, *end;

	if (stat == STAT_CALLS) {
		out_u64(o, s->calls);
		return;
	}
	end = put_time(cell, sums_get(s, stat));
	while (at < end && *at == ' ')
		at++;
	out_bytes(o, at, (size_t)(end - at));
}

/* Where a value lies between 0 and the largest one. */
static unsigned shade_of(uint64_t value, uint64_t most)
{
	return most ? (unsigned)((unsigned __int128)value * SHADES / most) : 0;
}

/* Graphviz reads strings of up to 16 KiB, and a byte may be written as four. */
static void name_out(struct out *o, const char *name, size_t len)
{
	size_t shown = len < NAME_SHOWN ? len : NAME_SHOWN;

	while (shown < len && shown && ((unsigned char)name[shown] & 0xC0) == 0x80)
		shown--;
	out_dot(o, name, shown, false);
	if (shown < len)
		out_str(o, "...");
}

static void vertex_out(const struct dot *d, size_t i, uint64_t most)
{
	const struct vertex *v = &d->vertices[i];
	const struct stack_frame f = stacks_frame(&d->stacks, v->frame);
	const struct spur_trace *t = d->stacks.write->trace;
	struct out *o = d->stacks.write->out;
	size_t len, module_len;
	const char *name = trace_string(t, f.name, &len),
		   *module = trace_string(t, f.module, &module_len);

	out_printf(o, "F%zu [label=\"", i + 1);
	name_out(o, name, len);
	if (d->vertex_label != STATS) {
		out_str(o, "\\n");
		label_out(&v->sums, d->vertex_label, o);
	}
	out_str(o, "\", tooltip=\"");
	name_out(o, module_len ? module : name, module_len ? module_len : len);
	out_char(o, '"');
	if (d->color != STATS) {
		/* From white to red. */
		const unsigned shade = shade_of(sums_get(&v->sums, d->color), most);

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
		const unsigned shade = shade_of(sums_get(&e->sums, d->color), most);

		const unsigned other = 160 - shade * 128 / SHADES;

		out_printf(o, "color=\"#%02X%02X%02X\", penwidth=%u.%u, ",
			   160 + shade * 48 / SHADES, other, other, 1 + shade * 4 / SHADES,
			   shade * 40 / SHADES % 10);
	}
	attributes_out(&e->sums, o);
	out_str(o, "]\n");
}

static bool dot_finish(void *self)
{
	struct dot *d = self;
	struct out *o = d->stacks.write->out;
	uint64_t most = 0, edge_most = 0;

	d->frames = stacks_frame_count(&d->stacks);
	d->of_frame = mem_table_alloc(d->frames, sizeof(*d->of_frame));
	if (!d->of_frame || !stacks_order(&d->stacks) || !stacks_walk(&d->stacks, node_add, d))
		return false;
	for (size_t i = 0; i < d->nvertices; i++)
		if (sums_get(&d->vertices[i].sums, d->color) > most)
			most = sums_get(&d->vertices[i].sums, d->color);
	for (size_t i = 0; i < d->nedges; i++)
		if (sums_get(&d->edges[i].sums, d->color) > edge_most)
			edge_most = sums_get(&d->edges[i].sums, d->color);
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

	mem_table_free(d->of_frame, d->frames, sizeof(*d->of_frame));
	key_index_free(&d->of_edge);
	mem_table_free(d->vertices, d->vertices_cap, sizeof(*d->vertices));
	mem_table_free(d->edges, d->edges_cap, sizeof(*d->edges));
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
	static const struct stack_options options = { .nodes = PATHS,
						      .paths = LOST_PATH,
						      .deep = LOST_DEEP,
						      .depth = STACKS_DEPTH,
						      .times = true };
	struct dot *d = mem_alloc(sizeof(*d));

	if (!d)
		return NULL;
	d->edge_label = choice(w, "edges", STAT_CALLS);
	d->vertex_label = choice(w, "vertices", STAT_TOTAL);
	d->color = choice(w, "color", STAT_SELF);
	if (stacks_init(&d->stacks, w, &options))
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
	.fits = { WRITE_FITS(SPUR_BEGIN, SPUR_SPAN, WRITE_DEGRADED), [SPUR_SWITCH] = WRITE_DEGRADED,
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
