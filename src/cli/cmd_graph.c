/* spur graph: who calls what, summed. */
#include "cli/run.h"

static const struct opt graph_options[] = {
	{ .name = "fields", .letter = 'f', .type = OPT_STRING, .offset = offsetof(struct values, pass.fields), .arg = "LIST",
	  .help = "columns: total,self,addr,..." },
	{ .name = "output-fields", .type = OPT_STRING, .offset = offsetof(struct values, pass.fields), .arg = "LIST",
	  .help = "the same", .hidden = true },
	{ .name = "task", .type = OPT_FLAG, .offset = offsetof(struct values, pass.task), .help = "threads and their parents" },
	{ .name = "srcline", .type = OPT_FLAG, .offset = offsetof(struct values, pass.srcline),
	  .help = "with --style=uftrace: source files and lines" },
	{ 0 }
};

static int graph_run(const struct spur_cmd *cmd, struct values *v)
{
	if (!run_take_trace(cmd, v, 1))
		return run_error(&v->err);
	v->pass.root = v->noperands ? v->operands[0] : NULL;
	return run_pass(v, "graph");
}

const struct spur_cmd spur_cmd_graph = {
	.name = "graph",
	.summary = "The call tree, equal paths summed.",
	.usage = "[OPTION...] TRACE [FUNC]",
	.description = "Shows the tree of calls of all threads, or, with FUNC, how FUNC is reached and what it calls.",
	.examples = "spur graph uftrace.data\tall\n"
		    "spur graph uftrace.data main\tfrom main on\n"
		    "spur graph -t 1ms -D 4 uftrace.data\tfour levels, calls of 1 ms and longer\n",
	.opts = graph_options,
	.takes = TAKES_TRACE | TAKES_FILTERS | TAKES_JSON | TAKES_LIMIT | TAKES_STYLE | TAKES_RAW | TAKES_COLOR,
	.run = graph_run,
};
