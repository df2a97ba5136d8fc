/* spur graph: shows the call tree, with equal paths summed. */
#include "cli/kept.h"
#include "cli/run.h"
#include "pass/graph.h"

static const struct opt options[] = {
	{ .name = "fields",
	  .letter = 'f',
	  .type = OPT_STRING,
	  OPT_COMMON(render.fields),
	  .arg = "LIST",
	  .help = "Show these columns: total,self,calls,avg,unfinished; with --style=uftrace "
		  "its own" },
	{ .name = "sort",
	  .letter = 's',
	  .type = OPT_STRING,
	  OPT_COMMON(render.sort),
	  .arg = "LIST",
	  .help = "Sort the calls of each function by these columns: total,self,calls,name,"
		  "first; -NAME sorts in reverse" },
	{ .name = "task",
	  .type = OPT_FLAG,
	  OPT_COMMON(uftrace.task),
	  .help = "With --style=uftrace: show threads and their parents" },
	{ .name = "srcline",
	  .type = OPT_FLAG,
	  OPT_COMMON(uftrace.srcline),
	  .help = "With --style=uftrace: show source files and lines" },
	KEPT_OPTION,
	{ 0 }
};

/* With a style, -D counts levels from the function, as the other tool does. */
static bool limit_below(struct values *v, const char *root)
{
	char *text = arena_printf(&v->arena, "%s@depth=%d", root, v->filter.depth);

	if (!text || !mem_grow((void **)&v->items, &v->items_cap, v->nitems + 1, sizeof(*v->items),
			       SIZE_MAX / sizeof(*v->items))) {
		err_nomem(&v->err);
		return false;
	}
	v->items[v->nitems++] = (struct filter_item){ .what = FILTER_TRIGGER, .text = text };
	return true;
}

static int graph_run(const struct spur_cmd *cmd, struct values *v)
{
	struct graph_options own;

	if (!run_take_traces(cmd, v, 1))
		return run_error(&v->err);
	own = (struct graph_options){ .root = v->noperands ? v->operands[0] : NULL };
	if (own.root && v->style && v->filter.depth && !limit_below(v, own.root))
		return run_error(&v->err);
	return run_pass(v,
			&(struct run_request){ .pass = "graph",
					       .options = { RUN_OPTIONS(NULL, &own),
							    RUN_OPTIONS("uftrace", &v->uftrace) },
					       .selective = own.root != NULL });
}

const struct spur_cmd spur_cmd_graph = {
	.name = "graph",
	.summary = "Show the call tree, with equal paths summed.",
	.usage = "[OPTION...] TRACE... [FUNC]",
	.description =
		"Show the tree of calls of all threads, or, with FUNC, the paths that lead to "
		"FUNC and the calls that it makes.",
	.examples =
		"spur graph uftrace.data\tthe whole tree\n"
		"spur graph uftrace.data main\tpaths to main, and its calls\n"
		"spur graph -t 1ms -D 4 uftrace.data\tfour levels, calls of 1 ms and longer\n",
	.opts = options,
	.takes = TAKES_TRACE | TAKES_UFTRACE | TAKES_FILTERS | TAKES_JSON | TAKES_JSONL |
		 TAKES_CSV | TAKES_LIMIT | TAKES_STYLE | TAKES_FIELDS | TAKES_RAW | TAKES_COLOR,
	.run = graph_run,
};
