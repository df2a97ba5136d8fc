/* spur check: reports what is damaged in a trace. */
#include "cli/run.h"

static int check_run(const struct spur_cmd *cmd, struct values *v)
{
	/* Damage is reported even if the clocks of several traces are not related. */
	v->open.same_clock = true;
	return run_simple(cmd, v, &(struct run_request){ .pass = "check" });
}

const struct spur_cmd spur_cmd_check = {
	.name = "check",
	.summary = "Validate the trace: report what is damaged, where, and how badly.",
	.usage = "[OPTION...] TRACE...",
	.description =
		"Read the whole trace with all arguments, and list on standard output what is "
		"damaged, odd or missing, with offsets. The exit code is 0 if nothing is damaged, "
		"else 3.",
	.examples = "spur check uftrace.data && echo good\tin a script\n"
		    "spur check --json uftrace.data\tas JSON\n",
	.takes = TAKES_TRACE | TAKES_JSON | TAKES_JSONL,
	.run = check_run,
};
