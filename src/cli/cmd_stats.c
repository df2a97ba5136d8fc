/* spur stats: counts events per kind, stream and track, and shows damage. */
#include "cli/run.h"

static int stats_run(const struct spur_cmd *cmd, struct values *v)
{
	return run_simple(cmd, v, &(struct run_request){ .pass = "stats" });
}

const struct spur_cmd spur_cmd_stats = {
	.name = "stats",
	.summary = "Count events per kind, stream and track, and show damage.",
	.usage = "[OPTION...] TRACE...",
	.description =
		"Count the events that pass the filter, and list all damage, whatever the filter.",
	.examples = "spur stats uftrace.data\tall counts\n"
		    "spur stats --csv uftrace.data\tas a table for other programs\n",
	.takes = TAKES_TRACE | TAKES_FOLLOW | TAKES_FILTERS | TAKES_JSON | TAKES_CSV,
	.run = stats_run,
};
