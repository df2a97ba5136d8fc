/*
 * graph: callers and callees, as one tree of all distinct call paths, or the tree below one
 * function with the paths that lead to it. Reads call rows and time off the CPU; no arguments, no
 * other events.
 */
#include <stdlib.h>

#include "pass/fold/tree.h"
#include "pass/graph.h"
#include "render/cell.h"

enum {
	LEVELS = 48, /* of the drawing; deeper nodes stand in brackets behind their depth */
	PATHS = 64, /* callers shown as text, unless --limit says so */
	PATH_FRAMES = 24, /* of one such path, innermost first */
	PATH_FRAMES_DATA = 1024,
};

enum column { COL_TOTAL, COL_SELF, COL_CALLS, COL_AVG, COL_UNFINISHED, COLUMNS };

static const char *const column_names[] = { "total", "self", "calls", "avg", "unfinished", NULL };
static const char *const sort_names[] = { "total", "self", "calls", "name", "first", NULL };

struct graph {
	struct pass_env *env;
	struct groups groups;
	struct tree all, below; /* below: of --root */
	const struct tree *tree; /* the one that is drawn */
	int columns[COLUMNS];
	size_t ncolumns;
	enum tree_sort sort;
	bool reverse;
	struct out scratch;
	uint64_t bars; /* bit k: level k goes on below this line */
	uint64_t lines, left; /* written; to write */
	uint64_t unfinished;
	uint32_t *numbers; /* data forms: of a node in the output's order */
};

static uint64_t node_number(const struct tree_node *n, int column)
{
	switch (column) {
	case COL_TOTAL:
		return n->total;
	case COL_SELF:
		return n->self;
	case COL_CALLS:
		return n->calls;
	case COL_AVG:
		return n->calls ? n->total / n->calls : 0;
	default:
		return n->unfinished;
	}
}

static bool column_is_time(int column)
{
	return column == COL_TOTAL || column == COL_SELF || column == COL_AVG;
}

static void text_numbers(const struct graph *g, const struct tree_node *n, const int *columns,
			 size_t ncolumns)
{
	struct out *o = g->env->out;

	for (size_t c = 0; c < ncolumns; c++) {
		char cell[32], *end;

		if (column_is_time(columns[c]) && !g->env->opt->raw)
			end = put_time(cell, node_number(n, columns[c]));
		else
			end = put_u64_w(cell, node_number(n, columns[c]), CELL_TIME);
		out_bytes(o, cell, (size_t)(end - cell));
		out_str(o, "  ");
	}
}

static void text_header(const struct graph *g, const int *columns, size_t ncolumns,
			const char *last)
{
	struct out *o = g->env->out;

	if (g->env->opt->color)
		out_str(o, "\033[1m");
	for (size_t c = 0; c < ncolumns; c++)
		out_printf(o, "%10s  ", column_names[columns[c]]);
	out_str(o, last);
	out_str(o, g->env->opt->color ? "\033[0m\n" : "\n");
}

/* The rest of a line: the scratch text, cut at the terminal's edge. */
static void text_name(struct graph *g, size_t columns_before)
{
	size_t edge = g->env->opt->width;

	out_cell(g->env->out, g->scratch.buf, g->scratch.len,
		 !edge			      ? 0
		 : edge > columns_before + 20 ? edge - columns_before
					      : 20,
		 0);
	out_char(g->env->out, '\n');
}

static bool text_node(void *self, uint32_t id, size_t depth, bool last)
{
	struct graph *g = self;
	const struct tree_node *n = &g->tree->nodes[id];
	size_t levels = depth > LEVELS ? LEVELS : depth;
	const bool ascii = g->env->opt->ascii;

	if (depth <= LEVELS)
		g->bars = (g->bars & (((uint64_t)1 << depth) - 1)) | (uint64_t)!last << depth;
	if (!g->left)
		return false;
	g->left--;
	g->lines++;
	text_numbers(g, n, g->columns, g->ncolumns);
	for (size_t k = 2; k < levels; k++)
		out_str(g->env->out, !(g->bars >> k & 1) ? "  " : ascii ? "| " : "│ ");
	if (depth > 1)
		out_str(g->env->out, ascii ? (last ? "` " : "+ ") : last ? "└ " : "├ ");
	out_clear(&g->scratch);
	if (depth > LEVELS)
		out_printf(&g->scratch, "[%zu] ", depth);
	out_node(&g->scratch, &g->groups, n);
	text_name(g, g->ncolumns * (CELL_TIME + 2) + 2 * (levels - 1));
	return !g->env->out->error;
}

static void text_notes(const struct graph *g, bool whole)
{
	struct out *o = g->env->out;

	if (!whole && !o->error)
		out_printf(o, "\nMore than %llu lines: the rest is not shown.\n",
			   (unsigned long long)g->lines);
	if (g->tree->cut)
		out_str(o, "\nThere are too many different call paths: the further ones are summed "
			   "under (other).\n");
	for (size_t c = 0; c < g->ncolumns; c++)
		if (g->columns[c] == COL_UNFINISHED)
			return;
	if (g->unfinished)
		out_printf(o,
			   "\nOf %llu calls the trace lacks the end "
			   "(--fields=total,calls,unfinished shows which).\n",
			   (unsigned long long)g->unfinished);
}

/* The calls of --root in the whole tree that are not inside another one, most time first. */
struct callers {
	uint32_t *nodes;
	size_t n;
};

static int caller_order(const void *a, const void *b, void *graph)
{
	const struct graph *g = graph;
	const struct tree_node *all = g->all.nodes, *x = &all[*(const uint32_t *)a],
			       *y = &all[*(const uint32_t *)b];

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	if (x->calls != y->calls)
		return x->calls < y->calls ? 1 : -1;
	for (; x != all && y != all; x = &all[x->parent], y = &all[y->parent]) {
		int c = x == y ? 0
			       : groups_order(&g->groups, x->what, y->what);

		if (c)
			return c;
	}
	return (x != all) - (y != all);
}

static bool callers_find(struct callers *c, struct graph *g)
{
	bool *inside = mem_array(g->all.n, sizeof(*inside));

	c->nodes = mem_array(g->all.n, sizeof(*c->nodes));
	if (!inside || !c->nodes) {
		mem_free(inside);
		return false;
	}
	for (size_t i = 1; i < g->all.n; i++) {
		const struct tree_node *n = &g->all.nodes[i];

		inside[i] = inside[n->parent];
		if (inside[i] || n->what == TREE_OTHER ||
		    !group_is(&g->groups, n->what, graph_options(g->env)->root))
			continue;
		inside[i] = true;
		c->nodes[c->n++] = (uint32_t)i;
	}
	mem_free(inside);
	qsort_r(c->nodes, c->n, sizeof(*c->nodes), caller_order, g);
	return true;
}

static void callers_text(struct graph *g, const struct callers *c)
{
	static const int columns[] = { COL_TOTAL, COL_CALLS };
	size_t limit = g->env->opt->limit ? (size_t)g->env->opt->limit : PATHS;

	text_header(g, columns, 2, "called by (innermost first)");
	for (size_t i = 0; i < c->n && i < limit; i++) {
		const struct tree_node *all = g->all.nodes, *n = &all[c->nodes[i]];
		size_t frames = 0;

		text_numbers(g, n, columns, 2);
		out_clear(&g->scratch);
		for (n = &all[n->parent]; n != all && frames < PATH_FRAMES; n = &all[n->parent]) {
			if (frames++)
				out_str(&g->scratch, " < ");
			out_node(&g->scratch, &g->groups, n);
		}
		out_str(&g->scratch, n != all ? " < ..." : frames ? "" : "(nobody)");
		text_name(g, 2 * (CELL_TIME + 2));
	}
	if (c->n > limit)
		out_printf(g->env->out, "%zu more paths are not shown.\n", c->n - limit);
	out_char(g->env->out, '\n');
}

static void callers_json(struct graph *g, const struct callers *c)
{
	struct out *o = g->env->out;

	out_str(o, "\"callers\":[");
	for (size_t i = 0; i < c->n; i++) {
		const struct tree_node *all = g->all.nodes, *n = &all[c->nodes[i]];
		size_t frames = 0;

		out_printf(o, "%s{\"calls\":%llu,\"total\":%llu,\"path\":[", i ? ",\n" : "\n",
			   (unsigned long long)n->calls, (unsigned long long)n->total);
		for (n = &all[n->parent]; n != all && frames < PATH_FRAMES_DATA;
		     n = &all[n->parent]) {
			const struct group p = group_at(&g->groups, n->what);

			if (frames++)
				out_char(o, ',');
			out_json(o, p.name, p.name_len);
		}
		out_printf(o, "]%s}", n != all ? ",\"cut\":true" : "");
	}
	out_str(o, "\n],\n");
}

/* One node as JSON or CSV. Parents come before their children. */
static bool data_node(void *self, uint32_t id, size_t depth, bool last)
{
	struct graph *g = self;
	const struct tree_node *n = &g->tree->nodes[id];
	struct group p = { .name = "(other)", .name_len = 7, .module = "" };
	bool csv = g->env->opt->form == FORM_CSV, lines = g->env->opt->form == FORM_JSONL;
	struct out *o = g->env->out;

	(void)depth;
	(void)last;
	if (n->what != TREE_OTHER)
		p = group_at(&g->groups, n->what);
	if (!csv && !lines)
		out_str(o, g->lines ? ",\n" : "\n");
	g->numbers[id] = (uint32_t)++g->lines;
	if (csv)
		out_printf(o, "%llu,", (unsigned long long)g->lines);
	else
		out_printf(o, "{\"id\":%llu,\"parent\":", (unsigned long long)g->lines);
	if (n->parent)
		out_u64(o, g->numbers[n->parent]);
	else if (!csv)
		out_str(o, "null");
	out_str(o, csv ? "," : ",\"function\":");
	(csv ? out_csv : out_json)(o, p.name, p.name_len);
	out_str(o, csv ? "," : ",\"module\":");
	(csv ? out_csv : out_json)(o, p.module, p.module_len);
	out_printf(o,
		   csv ? ",%llu,%llu,%llu,%u\n"
		       : ",\"calls\":%llu,\"total\":%llu,\"self\":%llu,\"unfinished\":%u}",
		   (unsigned long long)n->calls, (unsigned long long)n->total,
		   (unsigned long long)n->self, n->unfinished);
	if (lines)
		out_char(o, '\n');
	return !o->error;
}

static bool graph_data(struct graph *g, const struct callers *c)
{
	static const struct tree_visit visit = { data_node, NULL };
	struct out *o = g->env->out;
	const char *root = graph_options(g->env)->root;
	bool json = g->env->opt->form == FORM_JSON, good;

	g->numbers = mem_array(g->tree->n, sizeof(*g->numbers));
	if (!g->numbers)
		return false;
	if (json) {
		out_json_head(o, "graph");
		out_str(o, ",\"root\":");
		if (root)
			out_json(o, root, strlen(root));
		else
			out_str(o, "null");
		out_printf(o, ",\"cut\":%s,\n", g->tree->cut ? "true" : "false");
		if (root)
			callers_json(g, c);
		out_str(o, "\"nodes\":[");
	} else if (g->env->opt->form == FORM_CSV) {
		out_str(o, "id,parent,function,module,calls,total,self,unfinished\n");
	}
	good = tree_walk(g->tree, &visit, g) || o->error;
	if (json)
		out_str(o, "\n]}\n");
	mem_free(g->numbers);
	return good;
}

static bool graph_text(struct graph *g, const struct callers *c)
{
	static const struct tree_visit visit = { text_node, NULL };
	bool whole;

	for (size_t i = 1; i < g->tree->n; i++)
		g->unfinished += g->tree->nodes[i].unfinished;
	g->left = g->env->opt->limit ? g->env->opt->limit : UINT64_MAX;
	if (graph_options(g->env)->root)
		callers_text(g, c);
	text_header(g, g->columns, g->ncolumns, "function");
	whole = tree_walk(g->tree, &visit, g);
	if (!whole && g->left && !g->env->out->error)
		return false;
	text_notes(g, whole);
	return !g->scratch.error;
}

static enum spur_status read_options(struct graph *g)
{
	const struct render_options *opt = g->env->opt;
	int sort[1] = { TREE_BY_TOTAL };
	size_t n;
	enum spur_status st =
		cell_list(opt->fields ? opt->fields : "total,self,calls", column_names, "--fields",
			  g->columns, COLUMNS, &g->ncolumns, g->env->err);

	if (st == SPUR_OK && opt->sort)
		st = cell_list(opt->sort, sort_names, "--sort", sort, 1, &n, g->env->err);
	for (size_t i = 0; i < g->ncolumns; i++)
		g->columns[i] = g->columns[i] < 0 ? ~g->columns[i] : g->columns[i];
	g->reverse = sort[0] < 0;
	g->sort = (enum tree_sort)(sort[0] < 0 ? ~sort[0] : sort[0]);
	return st;
}

/*
 * Data has its frame where nothing is in it, text is left out. Returns SPUR_WARN if there are no
 * calls.
 */
static enum spur_status graph_show(struct graph *g, bool empty)
{
	const bool text = g->env->opt->form == FORM_TEXT;
	struct callers c = { 0 };
	bool good = true;

	g->tree = &g->all;
	if (graph_options(g->env)->root) {
		g->tree = &g->below;
		good = tree_below(&g->below, &g->all, &g->groups, graph_options(g->env)->root) &&
		       callers_find(&c, g);
		empty = !c.n;
	}
	if (good && !(text && empty))
		good = tree_sort(graph_options(g->env)->root ? &g->below : &g->all, &g->groups,
				 g->sort, g->reverse) &&
		       (text ? graph_text : graph_data)(g, &c);
	mem_free(c.nodes);
	if (!good)
		return err_nomem(g->env->err);
	if (empty && graph_options(g->env)->root)
		pass_note_unnamed(g->env, graph_options(g->env)->root, NULL);
	return empty ? SPUR_WARN : SPUR_OK;
}

static enum spur_status graph_run(struct pass_env *env)
{
	struct graph g = { .env = env, .groups = { .trace = env->trace } };
	enum spur_status st = read_options(&g);

	out_to_memory(&g.scratch);
	if (st == SPUR_OK)
		st = tree_collect(env, &g.groups, &g.all);
	if (st != SPUR_FAIL)
		st = graph_show(&g, st == SPUR_WARN);
	if (st == SPUR_OK && env->filter && g.all.n < 2)
		st = SPUR_WARN;
	out_free(&g.scratch);
	tree_free(&g.all);
	tree_free(&g.below);
	groups_free(&g.groups);
	return st;
}

static enum pass_store graph_takes_store(const struct pass_env *env)
{
	(void)env;
	return PASS_STORE;
}

const struct spur_pass spur_pass_graph = {
	.takes_store = graph_takes_store,
	.name = "graph",
	.analysis = true,
	.options_size = sizeof(struct graph_options),
	.run = graph_run,
};
