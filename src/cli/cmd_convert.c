/* spur convert: the trace in another format. */
#include "cli/run.h"

static const char *const targets[] = { "chrome", NULL };

static const struct opt convert_options[] = {
	{ .name = "to", .type = OPT_CHOICE, .offset = offsetof(struct values, to), .arg = "FORMAT", .choices = targets,
	  .help = "chrome: Chrome's trace JSON, which Perfetto, chrome://tracing and speedscope open" },
	{ .name = "strict", .type = OPT_FLAG, .offset = offsetof(struct values, strict),
	  .help = "write nothing where anything would be lost" },
	{ 0 }
};

static int convert_run(const struct spur_cmd *cmd, struct values *v)
{
	v->pass.time = TIME_RAW;
	return run_simple(cmd, v, targets[v->to]);
}

const struct spur_cmd spur_cmd_convert = {
	.name = "convert",
	.summary = "Writes the trace in another format.",
	.usage = "[OPTION...] --to=FORMAT TRACE",
	.description =
		"What the other format cannot carry is told on standard error: which events, how many, why. --json tells it as "
		"JSON. Times are those of the trace's own clock; --time=rel counts them from the first event.",
	.examples = "spur convert --to=chrome -o trace.json uftrace.data\tfor ui.perfetto.dev\n",
	.opts = convert_options,
	.takes = TAKES_TRACE | TAKES_FILTERS | TAKES_JSON | TAKES_TIME | TAKES_LIMIT,
	.run = convert_run,
};
