/* spur convert: writes the trace in another format. */
#include <string.h>

#include "cli/report_diag.h"
#include "cli/run.h"
#include "cli/target.h"
#include "pass/convert.h"

/* Its own options. */
struct convert_own {
	struct convert_options convert;
	bool strict;
	bool to_is_time; /* the filter's end was given as --to */
};

/*
 * Also accepts a time, the end of the filter, for which --to is the older name; no name of a format
 * begins like a time.
 */
static bool take_to(struct values *v, const char *text)
{
	struct convert_own *own = v->own;

	if (target_take(v, text))
		return true;
	if (!strchr("0123456789+-@", text[0]) || !text[0])
		return false;
	v->filter.to = text;
	own->to_is_time = true;
	return true;
}

/* --like=WHAT is --set like=WHAT. */
static bool take_like(struct values *v, const char *text)
{
	struct convert_own *own = v->own;
	const char *before = own->convert.settings;

	own->convert.settings = arena_printf(&v->arena, "%s%slike=%s", before ? before : "",
					     before ? "," : "", text);
	if (!own->convert.settings)
		err_nomem(&v->err);
	return own->convert.settings;
}

static const struct opt options[] = {
	{ .name = "to",
	  .type = OPT_CALL,
	  .call = take_to,
	  .arg = "FORMAT",
	  .choice = target_word,
	  .help = "Write this format (default: by the ending of -o FILE; without one chrome, "
		  "Chrome's "
		  "trace JSON, which Perfetto, chrome://tracing and speedscope open)" },
	TARGET_SET(struct convert_own),
	{ .name = "like",
	  .type = OPT_CALL,
	  .call = take_like,
	  .arg = "TRACER",
	  .help = "The same as --set like=TRACER: CTF with the directories and environment of "
		  "lttng" },
	{ .name = "strict",
	  .type = OPT_FLAG,
	  OPT_OWN(struct convert_own, strict),
	  .help = "Write nothing if anything would be lost" },
	{ 0 }
};

/* Sets the error for an output whose ending no target has. */
static int unknown_ending(struct values *v, const char *ending)
{
	struct out list;

	out_to_memory(&list);
	for (size_t i = 0; spur_writers[i]; i++)
		for (const char *const *e = spur_writers[i]->endings; *e; e++)
			out_printf(&list, "%s%s", list.len ? ", " : "", *e);
	err_set(&v->err, SPUR_ERR_USAGE,
		"%s: expected --to FORMAT, or an ending that a format has (%.*s), found \"%s\"",
		v->output, (int)list.len, list.buf ? list.buf : "", ending);
	out_free(&list);
	return run_error(&v->err);
}

/* The ending of a file's name without its point, or NULL. */
static const char *ending_of(const char *path)
{
	const char *const slash = strrchr(path, '/'), *const base = slash ? slash + 1 : path;
	const char *const point = strrchr(base, '.');

	return point && point != base && point[1] ? point + 1 : NULL;
}

static int convert_run(const struct spur_cmd *cmd, struct values *v)
{
	struct convert_own *own = v->own;
	const struct spur_writer *writer;
	const char *ending;

	if (own->to_is_time && !v->quiet)
		say("note: --to TIME is --until TIME; --to names the format");
	v->render.time = TIME_EXACT;
	if (!own->convert.to) {
		writer = v->output ? writer_of_path(v->output) : NULL;
		ending = v->output && !writer ? ending_of(v->output) : NULL;
		if (ending)
			return unknown_ending(v, ending);
		own->convert.to = writer ? writer->name : "chrome";
	}
	writer = writer_find(own->convert.to);
	if (writer_check(writer, own->convert.settings, &v->err) == SPUR_FAIL)
		return run_error(&v->err);
	return run_simple(cmd, v,
			  &(struct run_request){ .pass = "convert",
						 .options = { RUN_OPTIONS(NULL, &own->convert) },
						 .strict = own->strict,
						 .side = writer_side(writer, own->convert.settings),
						 .is_dir = writer_to_dir(writer, v->output) });
}

const struct spur_cmd spur_cmd_convert = {
	.name = "convert",
	.summary = "Write the trace in another format.",
	.usage = "[OPTION...] TRACE...",
	.description =
		"What the other format cannot carry is reported on standard error: which events, "
		"how many, and why; --json reports it as JSON. Times are those of the trace's own "
		"clock. If viewers would round them (dates since 1970), they count from the first "
		"event, whose time is start_ns in the output; --time=rel and --time=raw choose "
		"one or the other.",
	.examples = "spur convert -o trace.json uftrace.data\tChrome JSON, for speedscope\n"
		    "spur convert -o trace.pftrace uftrace.data\tfor ui.perfetto.dev\n",
	.opts = options,
	.own_size = sizeof(struct convert_own),
	.takes = TAKES_TRACE | TAKES_FILTERS | TAKES_JSON | TAKES_TIME | TAKES_LIMIT,
	.run = convert_run,
};
