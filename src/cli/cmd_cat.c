/* spur cat: shows the events of all streams in time order. */
#include <string.h>

#include "base/text.h"
#include "cli/run.h"
#include "style/babeltrace2/options.h"

/* Returns false if `text` is no whole number of `unit` ns that 64 bits hold. */
static bool add_offset(struct values *v, const char *text, int64_t unit)
{
	const bool negative = text[0] == '-';
	struct text t = text_of(text + (negative || text[0] == '+'));
	uint64_t n;
	int64_t ns;

	if (!text_u64(&t, 10, &n) || t.len || n > INT64_MAX ||
	    __builtin_mul_overflow(negative ? -(int64_t)n : (int64_t)n, unit, &ns))
		return false;
	return !__builtin_add_overflow(v->open.clock_offset_ns, ns, &v->open.clock_offset_ns);
}

static bool add_seconds(struct values *v, const char *text)
{
	return add_offset(v, text, 1000000000);
}

static bool add_ns(struct values *v, const char *text)
{
	return add_offset(v, text, 1);
}

static const char *const names_words[] = { "payload", "context", "header", "scope",
					   "all",     "none",	 NULL };

static const char *const fields_words[] = {
	"trace", "trace:hostname", "trace:domain", "trace:procname",
	"trace:vpid", "loglevel", "emf", "all", NULL
};

static const struct opt options[] = {
	{ .name = "clock-offset",
	  .type = OPT_CALL,
	  .call = add_seconds,
	  .arg = "SEC",
	  .help = "Add SEC seconds to the origin of the trace's clocks (CTF)" },
	{ .name = "clock-offset-ns",
	  .type = OPT_CALL,
	  .call = add_ns,
	  .arg = "NS",
	  .help = "Add NS nanoseconds to the origin of the trace's clocks (CTF)" },
	{ .name = "names",
	  .type = OPT_LIST,
	  OPT_OWN(struct babeltrace2_options, names),
	  .arg = "LIST",
	  .choices = names_words,
	  .help = "With --style=babeltrace2: show only these names: payload, context, header, "
		  "scope, all, none" },
	{ .name = "fields",
	  .type = OPT_LIST,
	  OPT_OWN(struct babeltrace2_options, fields),
	  .arg = "LIST",
	  .choices = fields_words,
	  .help = "With --style=babeltrace2: show only these fields of the header: trace, "
		  "trace:hostname, trace:domain, trace:procname, trace:vpid, loglevel, emf, all" },
	{ .name = "no-delta",
	  .type = OPT_FLAG,
	  OPT_OWN(struct babeltrace2_options, no_delta),
	  .help = "With --style=babeltrace2: hide the time since the previous event" },
	{ .name = "clock-cycles",
	  .type = OPT_FLAG,
	  OPT_OWN(struct babeltrace2_options, cycles),
	  .help = "With --style=babeltrace2: show times in cycles of the clock" },
	{ .name = "clock-date",
	  .type = OPT_FLAG,
	  OPT_OWN(struct babeltrace2_options, date),
	  .help = "With --style=babeltrace2: show dates too" },
	{ .name = "clock-seconds",
	  .type = OPT_FLAG,
	  OPT_OWN(struct babeltrace2_options, seconds),
	  .help = "With --style=babeltrace2: show times in seconds" },
	{ .name = "clock-gmt",
	  .type = OPT_FLAG,
	  OPT_OWN(struct babeltrace2_options, gmt),
	  .help = "With --style=babeltrace2: show times in UTC instead of the local time zone" },
	{ .name = "stream-intersection",
	  .type = OPT_FLAG,
	  OPT_OWN(struct babeltrace2_options, intersection),
	  .help = "With --style=babeltrace2: show only the time in which all streams of the "
		  "trace are active" },
	{ 0 }
};

static bool has_style_options(const struct babeltrace2_options *o)
{
	return o->names || o->fields || o->no_delta || o->cycles || o->date || o->seconds ||
	       o->gmt || o->intersection;
}

static int cat_run(const struct spur_cmd *cmd, struct values *v)
{
	const struct babeltrace2_options *own = v->own;
	const char *style = v->style;

	if (has_style_options(own) &&
	    !(style && strcmp(style, "babeltrace2") == 0)) {
		err_set(&v->err, SPUR_ERR_USAGE,
			"expected --style=babeltrace2 with --names, --fields, --no-delta, "
			"--clock-cycles, --clock-date, --clock-seconds, --clock-gmt and "
			"--stream-intersection");
		return run_error(&v->err);
	}
	return run_simple(cmd, v,
			  &(struct run_request){ .pass = "cat",
						 .options = { RUN_OPTIONS("babeltrace2", own) } });
}

const struct spur_cmd spur_cmd_cat = {
	.name = "cat",
	.summary = "Show the events of all streams, one per line, in time order.",
	.usage = "[OPTION...] TRACE...",
	.description =
		"Show the time, thread, CPU (if known), kind, name and arguments of each event.\n"
		"--jsonl writes one JSON object per line, by the schema in docs/jsonl.md, which "
		"is the same for all formats.\n"
		"Events from a pipe are shown as they arrive if the format stores them in time "
		"order. --follow does the same for a file that grows, in the order in which "
		"events are stored; it ends with Ctrl-C, or a second after the file was removed. "
		"If the file is truncated, or replaced as log rotation does, following continues "
		"with the new file of that name, and a message on standard error says so. A CTF "
		"directory can be followed too: events that arrive together are sorted by time.\n"
		"net://HOST[:PORT]/host/NAME/SESSION is a live session of LTTng's relay daemon, "
		"read until it ends; spur info net://HOST lists the sessions.\n"
		"--style=babeltrace2 shows CTF in the layout of babeltrace2.",
	.examples =
		"spur cat uftrace.data | less\tread it\n"
		"spur cat --jsonl uftrace.data | jq 'select(.kind==\"BEGIN\") | .name'\tnames of "
		"the functions called\n"
		"spur cat --from 1.5s --until 1.6s uftrace.data\ta tenth of a second\n"
		"spur cat --follow 1234.dat\tevents of a running program as they are written\n"
		"spur cat net://localhost/host/box/s1\tevents of a live session\n",
	.opts = options,
	.own_size = sizeof(struct babeltrace2_options),
	.takes = TAKES_TRACE | TAKES_FILTERS | TAKES_JSONL | TAKES_CSV | TAKES_TIME | TAKES_LIMIT |
		 TAKES_COLOR | TAKES_STYLE | TAKES_FOLLOW,
	.run = cat_run,
};
