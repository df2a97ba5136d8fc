/* spur cat: the events of all streams in time order. */
#include "cli/run.h"

static int cat_run(const struct spur_cmd *cmd, struct values *v)
{
	return run_simple(cmd, v, "cat");
}

const struct spur_cmd spur_cmd_cat = {
	.name = "cat",
	.summary = "The events of all streams in time order, one a line.",
	.usage = "[OPTION...] TRACE...",
	.description = "Shows time, thread, processor where known, kind, and name with arguments "
		       "of each event.\n"
		       "--jsonl writes one JSON object a line, the schema of docs/jsonl.md; it is "
		       "the same for every format.\n"
		       "Events of a pipe are shown as they come, where the format stores them in "
		       "order of time. --follow does so with a file that grows, in the order in "
		       "which events are stored; it ends with Ctrl-C, or when the file is cut or "
		       "replaced. A CTF directory can be followed too: what came together is in "
		       "order of time.\n"
		       "net://HOST[:PORT]/host/NAME/SESSION is a live session of LTTng's relay "
		       "daemon, read until it ends; spur info net://HOST lists the sessions.\n"
		       "--style=babeltrace2 lays CTF out as babeltrace2 does.",
	.examples = "spur cat uftrace.data | less\tread it\n"
		    "spur cat --jsonl uftrace.data | jq 'select(.kind==\"BEGIN\") | .name'\tnames "
		    "of all calls\n"
		    "spur cat --from 1.5s --to 1.6s uftrace.data\ta tenth of a second\n"
		    "spur cat --follow 1234.dat\twhat a running program writes, as it comes\n"
		    "spur cat net://localhost/host/box/s1\tthe same from a relay daemon\n",
	.takes = TAKES_TRACE | TAKES_FILTERS | TAKES_JSONL | TAKES_CSV | TAKES_TIME | TAKES_LIMIT |
		 TAKES_COLOR | TAKES_STYLE | TAKES_FOLLOW,
	.run = cat_run,
};
