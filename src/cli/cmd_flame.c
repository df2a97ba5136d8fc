/* spur flame: writes flame graphs. */
#include <string.h>

#include "cli/kept.h"
#include "cli/run.h"
#include "pass/flame.h"

static const char *const format_words[] = { "svg", "folded", NULL };

static const struct opt options[] = {
	{ .name = "format",
	  .type = OPT_STRING,
	  OPT_OWN(struct flame_options, format),
	  .arg = "NAME",
	  .choices = format_words,
	  .help = "Write a page for browsers (svg) or lines for other tools (folded) (default: "
		  "by the ending of the name given to -o, else folded)" },
	{ .name = "sample-time",
	  .type = OPT_DURATION,
	  OPT_OWN(struct flame_options, sample_ns),
	  .arg = "TIME",
	  .help = "Show times as samples of TIME each instead of ns" },
	KEPT_OPTION,
	{ 0 }
};

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

static int flame_run(const struct spur_cmd *cmd, struct values *v)
{
	struct flame_options *own = v->own;

	if (!run_take_traces(cmd, v, 1))
		return run_error(&v->err);
	own->root = v->noperands ? v->operands[0] : NULL;
	if (!own->format)
		own->format = v->output && ends_with(v->output, ".svg") ? "svg" : "folded";
	return run_pass(v, &(struct run_request){ .pass = "flame",
						  .options = { RUN_OPTIONS(NULL, own) },
						  .selective = own->root != NULL });
}

const struct spur_cmd spur_cmd_flame = {
	.name = "flame",
	.summary = "Write a flame graph: an interactive SVG, or folded stacks.",
	.usage = "[OPTION...] TRACE... [FUNC]",
	.description =
		"Any browser shows the SVG: click to zoom, search by pattern. Folded stacks are "
		"lines `a;b;c NUMBER`, where NUMBER is the self time in ns (or the number of "
		"samples).",
	.examples = "spur flame -o flame.svg uftrace.data\ta picture\n"
		    "spur flame uftrace.data main\tfolded stacks below main\n",
	.opts = options,
	.own_size = sizeof(struct flame_options),
	.takes = TAKES_TRACE | TAKES_FILTERS,
	.run = flame_run,
};
