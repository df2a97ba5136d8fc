/* spur plaything: counts events. */
#include "cli/run.h"

static int plaything_run(const struct spur_cmd *cmd, struct values *v)
{
	return run_simple(cmd, v, &(struct run_request){ .pass = "plaything" });
}

const struct spur_cmd spur_cmd_plaything = {
	.name = "plaything",
	.summary = "Counts toys.",
	.usage = "[OPTION...] TRACE...",
	.description = "Counts the events that pass the filter.",
	.examples = "spur plaything trace.toy\thow many\n",
	.takes = TAKES_TRACE | TAKES_FILTERS | TAKES_STYLE,
	.run = plaything_run,
};
