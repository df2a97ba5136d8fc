/* spur check: what is wrong with the trace. */
#include "cli/run.h"

static int check_run(const struct spur_cmd *cmd, struct values *v)
{
	/* Damage is told whatever order the traces' events have. */
	v->open.same_clock = true;
	return run_simple(cmd, v, &(struct run_request){ .pass = "check" });
}

const struct spur_cmd spur_cmd_check = {
	.name = "check",
	.summary = "Validates the trace: what is wrong, where, how bad.",
	.usage = "[OPTION...] TRACE...",
	.description = "Reads all of the trace with all arguments and tells on standard output "
		       "what is damaged, odd or missing, with "
		       "places. Exit code 0 where nothing is damaged, else 3.",
	.examples = "spur check uftrace.data && echo good\tin a script\n"
		    "spur check --json uftrace.data\tfor programs\n",
	.takes = TAKES_TRACE | TAKES_JSON | TAKES_JSONL,
	.run = check_run,
};
