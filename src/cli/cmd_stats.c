/* spur stats: how much of what is in the trace. */
#include "cli/run.h"

static int stats_run(const struct spur_cmd *cmd, struct values *v)
{
	return run_simple(cmd, v, &(struct run_request){ .pass = "stats" });
}

const struct spur_cmd spur_cmd_stats = {
	.name = "stats",
	.summary = "Counts: events per kind, stream and track, and damage.",
	.usage = "[OPTION...] TRACE...",
	.description = "Counts the events that pass the filter, and tells what is damaged, "
		       "whatever the filter.",
	.examples = "spur stats uftrace.data\tall counts\n"
		    "spur stats --csv uftrace.data\tas a table for other programs\n",
	.takes = TAKES_TRACE | TAKES_FOLLOW | TAKES_FILTERS | TAKES_JSON | TAKES_CSV,
	.run = stats_run,
};
