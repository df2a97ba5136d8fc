/* spur flame: flame graphs. */
#include <string.h>

#include "cli/run.h"

static const struct opt flame_options[] = {
	{ .name = "format",
	  .type = OPT_STRING,
	  .offset = offsetof(struct values, pass.format),
	  .arg = "NAME",
	  .help = "svg: a page to look into; folded: lines for other tools (default: by the name "
		  "given to -o, else folded)" },
	{ .name = "sample-time",
	  .type = OPT_DURATION,
	  .offset = offsetof(struct values, pass.sample_ns),
	  .arg = "TIME",
	  .help = "count one sample for each TIME instead of ns" },
	{ 0 }
};

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

static int flame_run(const struct spur_cmd *cmd, struct values *v)
{
	if (!run_take_traces(cmd, v, 1))
		return run_error(&v->err);
	v->pass.root = v->noperands ? v->operands[0] : NULL;
	if (!v->pass.format)
		v->pass.format = v->output && ends_with(v->output, ".svg") ? "svg" : "folded";
	return run_pass(v, "flame");
}

const struct spur_cmd spur_cmd_flame = {
	.name = "flame",
	.summary = "Flame graphs: an interactive SVG, or folded stacks.",
	.usage = "[OPTION...] TRACE... [FUNC]",
	.description = "The SVG needs nothing but a browser: click to zoom, search by pattern. "
		       "Folded stacks are lines "
		       "`a;b;c NUMBER`, where the number is the self time in ns (or samples).",
	.examples = "spur flame -o flame.svg uftrace.data\ta picture\n"
		    "spur flame uftrace.data main\tfolded stacks below main\n",
	.opts = flame_options,
	.takes = TAKES_TRACE | TAKES_FILTERS,
	.run = flame_run,
};
