/* spur top: the calls that lasted longest. */
#include "cli/kept.h"
#include "cli/run.h"
#include "pass/top.h"

static const struct opt options[] = {
	{ .name = "longest",
	  .type = OPT_INT,
	  OPT_OWN(struct top_options, longest),
	  .arg = "N",
	  .least = 1,
	  .help = "Show the N longest calls (default: 20)" },
	{ .name = "fields",
	  .letter = 'f',
	  .type = OPT_STRING,
	  OPT_COMMON(render.fields),
	  .arg = "LIST",
	  .help = "Show these columns: duration,self,start,pid,tid,depth,function,module,"
		  "category" },
	{ .name = "sort",
	  .letter = 's',
	  .type = OPT_STRING,
	  OPT_COMMON(render.sort),
	  .arg = "LIST",
	  .help = "Sort the calls that are shown by these columns; -NAME sorts in reverse" },
	KEPT_OPTION,
	{ 0 }
};

static int top_run(const struct spur_cmd *cmd, struct values *v)
{
	const struct top_options *own = v->own;

	return run_simple(
		cmd, v,
		&(struct run_request){ .pass = "top", .options = { RUN_OPTIONS(NULL, own) } });
}

const struct spur_cmd spur_cmd_top = {
	.name = "top",
	.summary = "Show the calls and spans that lasted longest.",
	.usage = "[OPTION...] TRACE...",
	.description =
		"Each line is one call: how long it lasted, how much of that was its own time, "
		"when it began and in which thread. Calls whose begin or end the trace lacks are "
		"counted, but not shown.",
	.examples = "spur top uftrace.data\tthe 20 longest calls\n"
		    "spur top --longest 5 -F main uftrace.data\tof main and what it calls\n"
		    "spur top --json --from 50% uftrace.data\tin the second half, as JSON\n",
	.opts = options,
	.own_size = sizeof(struct top_options),
	.takes = TAKES_TRACE | TAKES_FILTERS | TAKES_JSON | TAKES_JSONL | TAKES_CSV | TAKES_TIME |
		 TAKES_RAW | TAKES_COLOR,
	.run = top_run,
};
