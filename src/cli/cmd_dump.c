/* spur dump: every record as it is stored. */
#include <string.h>

#include "cli/run.h"

/* uftrace has an option for each format. */
static bool format_chrome(struct values *v, const char *text)
{
	(void)text;
	v->pass.format = "chrome";
	return true;
}

static bool format_flame(struct values *v, const char *text)
{
	(void)text;
	v->pass.format = "flame-graph";
	return true;
}

static bool format_graphviz(struct values *v, const char *text)
{
	(void)text;
	v->pass.format = "graphviz";
	return true;
}

static bool format_mermaid(struct values *v, const char *text)
{
	(void)text;
	v->pass.format = "mermaid";
	return true;
}

static const struct opt dump_options[] = {
	{ .name = "verbose",
	  .letter = 'v',
	  .type = OPT_FLAG,
	  .offset = offsetof(struct values, pass.verbose),
	  .help = "the raw bytes too" },
	{ .name = "format",
	  .type = OPT_STRING,
	  .offset = offsetof(struct values, pass.format),
	  .arg = "NAME",
	  .help = "another form: chrome (as convert), flame-graph (as flame --format=folded); with "
		  "--style=uftrace "
		  "also graphviz and mermaid" },
	{ .name = "chrome",
	  .type = OPT_CALL,
	  .call = format_chrome,
	  .help = "the same as --format=chrome",
	  .hidden = true },
	{ .name = "flame-graph",
	  .type = OPT_CALL,
	  .call = format_flame,
	  .help = "the same as --format=flame-graph",
	  .hidden = true },
	{ .name = "graphviz",
	  .type = OPT_CALL,
	  .call = format_graphviz,
	  .help = "the same as --format=graphviz",
	  .hidden = true },
	{ .name = "mermaid",
	  .type = OPT_CALL,
	  .call = format_mermaid,
	  .help = "the same as --format=mermaid",
	  .hidden = true },
	{ .name = "sample-time",
	  .type = OPT_DURATION,
	  .offset = offsetof(struct values, pass.sample_ns),
	  .arg = "TIME",
	  .help = "flame-graph: one sample for each TIME",
	  .hidden = true },
	{ 0 }
};

static int dump_run(const struct spur_cmd *cmd, struct values *v)
{
	const char *format = v->pass.format;
	const char *pass = "dump";

	if (format && !v->pass.style && strcmp(format, "chrome") == 0) {
		pass = "convert";
		v->pass.to = "chrome";
		v->pass.time = TIME_RAW;
	} else if (format && !v->pass.style && strcmp(format, "flame-graph") == 0) {
		pass = "flame";
		v->pass.format = "folded";
	} else if (format && !v->pass.style) {
		err_set(&v->err, SPUR_ERR_USAGE,
			"--format: expected chrome or flame-graph, found \"%s\"", format);
		return run_error(&v->err);
	}
	return run_simple(cmd, v, pass);
}

const struct spur_cmd spur_cmd_dump = {
	.name = "dump",
	.summary = "Every record of every stream, with its place and fields.",
	.usage = "[OPTION...] TRACE...",
	.description = "Shows the records of each stream (file) in the order in which they stand "
		       "there: offset, length, kind, name and "
		       "the fields as stored. Damaged records are not among them; they are told on "
		       "standard error.",
	.examples = "spur dump trace.data\tall records\n"
		    "spur dump -v --tid 1234 trace.data\trecords of one thread with their bytes\n",
	.opts = dump_options,
	.takes = TAKES_TRACE | TAKES_UFTRACE | TAKES_FILTERS | TAKES_JSONL | TAKES_LIMIT | TAKES_STYLE |
		 TAKES_COLOR | TAKES_FOLLOW,
	.run = dump_run,
};
