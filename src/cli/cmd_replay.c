/* spur replay: shows calls in time order, nested, with durations. */
#include "cli/run.h"
#include "pass/replay.h"

static const struct opt options[] = {
	{ .name = "fields",
	  .letter = 'f',
	  .type = OPT_STRING,
	  OPT_COMMON(render.fields),
	  .arg = "LIST",
	  .help = "Show these columns: time,duration,tid,pid,task,cpu,module,addr; with "
		  "--style=uftrace its own, and +NAME to add one" },
	{ .name = "no-merge",
	  .type = OPT_FLAG,
	  OPT_OWN(struct replay_options, no_merge),
	  .help = "Show begin and end of leaf calls on two lines" },
	{ .name = "no-comment",
	  .type = OPT_FLAG,
	  OPT_OWN(struct replay_options, lines.no_comment),
	  .help = "Hide the names behind closing braces" },
	{ .name = "task-newline",
	  .type = OPT_FLAG,
	  OPT_OWN(struct replay_options, task_newline),
	  .help = "Insert an empty line between threads" },
	{ .name = "libname",
	  .type = OPT_FLAG,
	  OPT_OWN(struct replay_options, lines.libname),
	  .help = "Show the libraries of functions behind their names" },
	{ .name = "srcline",
	  .type = OPT_FLAG,
	  OPT_OWN(struct replay_options, lines.srcline),
	  .help = "Show source files and lines of functions" },
	{ .name = "flat",
	  .type = OPT_FLAG,
	  OPT_OWN(struct replay_options, lines.flat),
	  .help = "With --style=uftrace: show a line for each event, not nested" },
	{ .name = "column-view",
	  .type = OPT_FLAG,
	  OPT_COMMON(uftrace.column_view),
	  .help = "With --style=uftrace: show each thread in its own column" },
	{ .name = "column-offset",
	  .type = OPT_INT,
	  OPT_COMMON(uftrace.column_offset),
	  .arg = "N",
	  .help = "With --style=uftrace: set these columns N apart (default: 8)" },
	{ .name = "event-full",
	  .type = OPT_FLAG,
	  OPT_COMMON(uftrace.event_full),
	  .help = "With --style=uftrace: show events outside of functions too" },
	{ 0 }
};

static int replay_run(const struct spur_cmd *cmd, struct values *v)
{
	const struct replay_options *own = v->own;

	return run_simple(
		cmd, v,
		&(struct run_request){ .pass = "replay",
				       .options = { RUN_OPTIONS(NULL, own),
						    RUN_OPTIONS("uftrace", &v->uftrace) } });
}

const struct spur_cmd spur_cmd_replay = {
	.name = "replay",
	.summary = "Show the calls of all threads in time order, nested, with durations.",
	.usage = "[OPTION...] TRACE...",
	.description =
		"Show calls in time order, indented by depth, with their durations, arguments and "
		"return values, and events between them. A call that contains no other is one "
		"line.",
	.examples =
		"spur replay uftrace.data\tall calls\n"
		"spur replay -F 'parse.*' -D 3 uftrace.data\tthese functions and their calls, "
		"three levels deep\n"
		"spur replay -t 1ms uftrace.data\tonly calls of 1 ms and longer\n",
	.opts = options,
	.own_size = sizeof(struct replay_options),
	.takes = TAKES_TRACE | TAKES_UFTRACE | TAKES_FILTERS | TAKES_TIME | TAKES_LIMIT |
		 TAKES_STYLE | TAKES_FIELDS | TAKES_RAW | TAKES_COLOR,
	.run = replay_run,
};
