/* spur dump: shows every record as it is stored. */
#include <string.h>

#include "cli/run.h"
#include "pass/convert.h"
#include "pass/dump.h"
#include "pass/flame.h"

static bool set_format(struct values *v, const char *format)
{
	struct dump_options *own = v->own;

	own->format = format;
	return true;
}

/* uftrace has an option for each format. */
static bool format_chrome(struct values *v, const char *text)
{
	(void)text;
	return set_format(v, "chrome");
}

static bool format_flame(struct values *v, const char *text)
{
	(void)text;
	return set_format(v, "flame-graph");
}

static bool format_graphviz(struct values *v, const char *text)
{
	(void)text;
	return set_format(v, "graphviz");
}

static bool format_mermaid(struct values *v, const char *text)
{
	(void)text;
	return set_format(v, "mermaid");
}

static const char *const format_words[] = { "chrome", "flame-graph", "graphviz", "mermaid", NULL };

static const struct opt options[] = {
	{ .name = "verbose",
	  .letter = 'v',
	  .type = OPT_FLAG,
	  OPT_OWN(struct dump_options, verbose),
	  .help = "Show raw bytes too" },
	{ .name = "format",
	  .type = OPT_STRING,
	  OPT_OWN(struct dump_options, format),
	  .arg = "NAME",
	  .choices = format_words,
	  .help = "Write another form: chrome (as convert), flame-graph (as flame "
		  "--format=folded); with --style=uftrace also graphviz and mermaid" },
	{ .name = "chrome",
	  .type = OPT_CALL,
	  .call = format_chrome,
	  .help = "Same as --format=chrome",
	  .hidden = true },
	{ .name = "flame-graph",
	  .type = OPT_CALL,
	  .call = format_flame,
	  .help = "Same as --format=flame-graph",
	  .hidden = true },
	{ .name = "graphviz",
	  .type = OPT_CALL,
	  .call = format_graphviz,
	  .help = "Same as --format=graphviz",
	  .hidden = true },
	{ .name = "mermaid",
	  .type = OPT_CALL,
	  .call = format_mermaid,
	  .help = "Same as --format=mermaid",
	  .hidden = true },
	{ .name = "sample-time",
	  .type = OPT_DURATION,
	  OPT_OWN(struct dump_options, sample_ns),
	  .arg = "TIME",
	  .help = "With --format=flame-graph: show times as samples of TIME each",
	  .hidden = true },
	{ 0 }
};

static int dump_run(const struct spur_cmd *cmd, struct values *v)
{
	const struct dump_options *own = v->own;
	const struct convert_options chrome = { .to = "chrome" };
	const struct flame_options flame = { .format = "folded", .sample_ns = own->sample_ns };

	if (!own->format || v->style)
		return run_simple(cmd, v,
				  &(struct run_request){ .pass = "dump",
							 .options = { RUN_OPTIONS(NULL, own),
								      RUN_OPTIONS("uftrace",
										  &v->uftrace) } });
	if (strcmp(own->format, "chrome") == 0) {
		v->render.time = TIME_RAW;
		return run_simple(
			cmd, v,
			&(struct run_request){ .pass = "convert",
					       .options = { RUN_OPTIONS(NULL, &chrome) } });
	}
	if (strcmp(own->format, "flame-graph") == 0)
		return run_simple(
			cmd, v,
			&(struct run_request){ .pass = "flame",
					       .options = { RUN_OPTIONS(NULL, &flame) } });
	err_set(&v->err, SPUR_ERR_USAGE, "--format: expected chrome or flame-graph, found \"%s\"",
		own->format);
	return run_error(&v->err);
}

const struct spur_cmd spur_cmd_dump = {
	.name = "dump",
	.summary = "Show every record of every stream, with its offset and fields.",
	.usage = "[OPTION...] TRACE...",
	.description =
		"Show the records of each stream (file) in stored order: offset, length, kind, "
		"name, and the fields as stored. Damaged records are left out and reported on "
		"standard error.",
	.examples = "spur dump trace.data\tall records\n"
		    "spur dump -v --tid 1234 trace.data\trecords of one thread with their bytes\n",
	.opts = options,
	.own_size = sizeof(struct dump_options),
	.takes = TAKES_TRACE | TAKES_UFTRACE | TAKES_FILTERS | TAKES_JSONL | TAKES_LIMIT |
		 TAKES_STYLE | TAKES_COLOR | TAKES_FOLLOW,
	.run = dump_run,
};
