/* spur cat: the events of all streams in time order. */
#include "cli/run.h"

static int cat_run(const struct spur_cmd *cmd, struct values *v)
{
	return run_simple(cmd, v, "cat");
}

const struct spur_cmd spur_cmd_cat = {
	.name = "cat",
	.summary = "The events of all streams in time order, one a line.",
	.usage = "[OPTION...] TRACE",
	.description = "Shows time, thread, processor where known, kind, and name with arguments "
		       "of each event.\n"
		       "--jsonl writes one JSON object a line, the schema of docs/jsonl.md; it is "
		       "the same for every format.",
	.examples = "spur cat uftrace.data | less\tread it\n"
		    "spur cat --jsonl uftrace.data | jq 'select(.kind==\"BEGIN\") | .name'\tnames "
		    "of all calls\n"
		    "spur cat --from 1.5s --to 1.6s uftrace.data\ta tenth of a second\n",
	.takes = TAKES_TRACE | TAKES_FILTERS | TAKES_JSONL | TAKES_CSV | TAKES_TIME | TAKES_LIMIT |
		 TAKES_COLOR | TAKES_STYLE,
	.run = cat_run,
};
