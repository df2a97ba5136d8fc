/*
 * diff as `llvm-xray graph-diff` writes it: the call graphs of two traces as one graph for
 * Graphviz, with labels and colors that tell how a statistic changed. Functions are paired by name.
 * Unlike llvm-xray it puts vertices and edges in the order of names, and escapes names.
 */
#include <math.h>
#include <stdio.h>

#include "base/text.h"
#include "pass/diff.h"
#include "render/dot.h"
#include "style/llvm-xray/diff/calls.h"
#include "style/llvm-xray/diff/color.h"
#include "style/llvm-xray/options.h"

enum { LABEL_BYTES = 40 };

/* Statistics that are shown. */
struct choice {
	int edge_label, edge_color, vertex_label, vertex_color; /* enum call_stat_word */
	size_t bytes; /* of a name */
};

/* What is kept between the traces. */
struct diff {
	struct arena names;
	struct call_graph graphs[2];
	struct choice choice;
	/* While it is shown: */
	struct out *o;
	uint32_t *numbers[2]; /* vertex of a graph -> number in the joined one */
	size_t n; /* vertices of the joined one */
};

/* --- options */

static bool read_stat(const char *option, const char *word, int *stat, struct spur_error *err)
{
	static const char *const words[STATS] = { "none", "count", "min", "med",
						  "90p",  "99p",   "max", "sum" };

	*stat = STAT_NONE;
	if (!word)
		return true;
	for (int i = 0; i < STATS; i++)
		if (strcmp(word, words[i]) == 0) {
			*stat = i;
			return true;
		}
	err_set(err, SPUR_ERR_USAGE,
		"--%s: expected none, count, min, med, 90p, 99p, max or sum, found \"%s\"", option,
		word);
	return false;
}

static bool read_options(struct diff *d, const struct pass_env *env)
{
	const struct llvm_xray_options *own = llvm_xray_options(env);
	struct choice *c = &d->choice;

	if (env->opt->form != FORM_TEXT || env->opt->fields || env->opt->sort) {
		err_set(env->err, SPUR_ERR_USAGE,
			"--style=llvm-xray: expected no columns and no other form of output");
		return false;
	}
	c->bytes = own->vertex_label_trun > 0 ? (size_t)own->vertex_label_trun : LABEL_BYTES;
	return read_stat("edge-label", own->edge_label, &c->edge_label, env->err) &&
	       read_stat("edge-color", own->edge_color, &c->edge_color, env->err) &&
	       read_stat("vertex-label", own->vertex_label, &c->vertex_label, env->err) &&
	       read_stat("vertex-color", own->vertex_color, &c->vertex_color, env->err);
}

/* --- text */

/* SPEC xray/graph-change: the second value over the first, less 1 */
static double change_of(const struct call_stats *a, const struct call_stats *b, int stat)
{
	return b->of[stat] / a->of[stat] - 1;
}

static void out_fixed(struct out *o, double v, const char *unit)
{
	if (isnan(v))
		out_str(o, "nan");
	else if (isinf(v))
		out_str(o, v < 0 ? "-INF" : "INF");
	else
		out_printf(o, "%.2f%s", v, unit);
}

static void out_percent(struct out *o, double change)
{
	out_fixed(o, change * 100, "%");
}

/* The statistics of what both graphs or one of them has. */
struct change {
	const struct call_stats *a, *b;
};

static void out_color(struct out *o, struct change c, int stat)
{
	double change = !c.a ? 2 : !c.b ? -2 : 0;

	if (c.a && c.b) {
		change = stat == STAT_NONE ? NAN : change_of(c.a, c.b, stat);
		change = change > 1 ? 1 : change;
	}
	if (isnan(change))
		out_str(o, "black");
	else
		out_printf(o, "#%06X", change_color(change));
}

static void out_edge(const struct diff *d, const char *from, const char *to,
		     const uint32_t *numbers, struct change c)
{
	const struct choice *choice = &d->choice;
	const bool both = c.a && c.b;
	struct out *o = d->o;
	double width = both && choice->edge_color ? change_of(c.a, c.b, choice->edge_color) : 1;

	out_printf(o, "F%u -> F%u [tooltip=\"", numbers[0], numbers[1]);
	if (*from)
		out_dot(o, from, strlen(from), false);
	else
		out_str(o, "F0");
	out_str(o, " -> ");
	out_dot(o, to, strlen(to), false);
	out_str(o, "\" label=\"");
	if (both && choice->edge_label)
		out_percent(o, change_of(c.a, c.b, choice->edge_label));
	out_str(o, "\" color=\"");
	out_color(o, c, choice->edge_color);
	out_str(o, "\" labelfontcolor=\"");
	out_color(o, c, choice->edge_color);
	out_str(o, "\" penwidth=");
	out_fixed(o, width > 1 ? width : 1, "");
	out_str(o, "]\n");
}

/* The bytes of the name that are shown: whole characters. */
static size_t label_bytes(const struct choice *c, const char *name)
{
	size_t n = strlen(name);

	if (n <= c->bytes)
		return n;
	for (n = c->bytes; n && !utf8_all_valid(name, n);)
		n--;
	return n;
}

static void out_vertex(const struct diff *d, const char *name, uint32_t number, struct change c)
{
	const struct choice *choice = &d->choice;
	const bool record = choice->vertex_label != STAT_NONE;
	const size_t bytes = label_bytes(choice, name);
	struct out *o = d->o;

	if (!*name) {
		out_printf(o, "F%u [label=\"F0\"]\n", number);
		return;
	}
	out_printf(o, "F%u [label=\"%s", number, record && c.a && c.b ? "{" : "");
	out_dot(o, name, bytes, record);
	out_str(o, name[bytes] ? "..." : "");
	if (record && c.a && c.b) {
		out_char(o, '|');
		out_percent(o, change_of(c.a, c.b, choice->vertex_label));
		out_char(o, '}');
	}
	out_str(o, "\" color=\"");
	out_color(o, c, choice->vertex_color);
	out_str(o, "\"]\n");
}

/* --- both graphs in the order of names */

/* Calls `each` for each vertex; either index is SIZE_MAX where the graph lacks it. */
static void each_vertex(struct diff *d, void (*each)(struct diff *d, size_t a, size_t b))
{
	const struct call_graph *a = &d->graphs[0], *b = &d->graphs[1];
	size_t i = 0, k = 0;

	while (i < a->nvertices || k < b->nvertices) {
		const int c = i == a->nvertices ? 1
			      : k == b->nvertices
				      ? -1
				      : strcmp(a->vertices[i].name, b->vertices[k].name);

		each(d, c <= 0 ? i : SIZE_MAX, c >= 0 ? k : SIZE_MAX);
		i += c <= 0;
		k += c >= 0;
	}
}

static void number_vertex(struct diff *d, size_t a, size_t b)
{
	if (a != SIZE_MAX)
		d->numbers[0][a] = (uint32_t)d->n;
	if (b != SIZE_MAX)
		d->numbers[1][b] = (uint32_t)d->n;
	d->n++;
}

static void show_vertex(struct diff *d, size_t a, size_t b)
{
	const struct call_vertex *x = a != SIZE_MAX ? &d->graphs[0].vertices[a] : NULL;
	const struct call_vertex *y = b != SIZE_MAX ? &d->graphs[1].vertices[b] : NULL;
	const uint32_t number = x ? d->numbers[0][a] : d->numbers[1][b];
	const struct change c = { x ? &x->stats : NULL, y ? &y->stats : NULL };

	out_vertex(d, x ? x->name : y->name, number, c);
}

/* Compares edges by their joined vertices. Either may be NULL: the end. */
static int edges_order(const struct diff *d, const struct call_edge *x, const struct call_edge *y)
{
	const uint32_t *p = d->numbers[0], *q = d->numbers[1];

	if (!x || !y)
		return !x ? 1 : -1;
	if (p[x->from] != q[y->from])
		return p[x->from] < q[y->from] ? -1 : 1;
	return (p[x->to] > q[y->to]) - (p[x->to] < q[y->to]);
}

static void show_edges(struct diff *d)
{
	const struct call_graph *a = &d->graphs[0], *b = &d->graphs[1];
	size_t i = 0, k = 0;

	while (i < a->nedges || k < b->nedges) {
		const struct call_edge *x = i < a->nedges ? &a->edges[i] : NULL;
		const struct call_edge *y = k < b->nedges ? &b->edges[k] : NULL;
		const int c = edges_order(d, x, y), side = c <= 0 ? 0 : 1;
		const struct call_edge *e = side ? y : x;
		const uint32_t numbers[] = { d->numbers[side][e->from], d->numbers[side][e->to] };

		out_edge(d, d->graphs[side].vertices[e->from].name,
			 d->graphs[side].vertices[e->to].name, numbers,
			 (struct change){ c <= 0 ? &x->stats : NULL, c >= 0 ? &y->stats : NULL });
		i += c <= 0;
		k += c >= 0;
	}
}

/* --- */

static enum spur_status diff_run(struct pass_env *env)
{
	struct diff *d = env->kept;

	if (!d) {
		d = env->kept = mem_alloc(sizeof(*d));
		if (!d)
			return err_nomem(env->err);
		arena_init(&d->names);
		if (!read_options(d, env))
			return SPUR_FAIL;
	}
	return call_graph_read(&d->graphs[env->input], &d->names, env);
}

static enum spur_status diff_show(struct pass_env *env)
{
	struct diff *d = env->kept;

	d->o = env->out;
	for (int i = 0; i < 2; i++) {
		d->numbers[i] = mem_array(d->graphs[i].nvertices, sizeof(**d->numbers));
		if (!d->numbers[i])
			return err_nomem(env->err);
	}
	each_vertex(d, number_vertex);
	out_str(d->o, "digraph xrayDiff {\n");
	if (d->choice.vertex_label != STAT_NONE)
		out_str(d->o, "node [shape=record]\n");
	show_edges(d);
	each_vertex(d, show_vertex);
	out_str(d->o, "}\n");
	return SPUR_OK;
}

static void diff_drop(void *kept)
{
	struct diff *d = kept;

	if (!d)
		return;
	for (int i = 0; i < 2; i++) {
		call_graph_free(&d->graphs[i]);
		mem_free(d->numbers[i]);
	}
	arena_free(&d->names);
	mem_free(d);
}

const struct spur_pass spur_pass_llvm_xray_diff = {
	.name = "diff.llvm-xray",
	.analysis = true,
	.unit = UNIT_TICKS,
	.options_size = sizeof(struct diff_options),
	.style_options_size = sizeof(struct llvm_xray_options),
	.run = diff_run,
	.show = diff_show,
	.drop = diff_drop,
};
