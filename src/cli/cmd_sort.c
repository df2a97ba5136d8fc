/* spur sort: writes the trace with its records in the order of time. */
#include "cli/run.h"
#include "pass/cut.h"

static int sort_run(const struct spur_cmd *cmd, struct values *v)
{
	const struct cut_options cut = { .sorted = true };

	return run_simple(cmd, v,
			  &(struct run_request){ .pass = "cut",
						 .options = { RUN_OPTIONS(NULL, &cut) },
						 .is_copy = true });
}

const struct spur_cmd spur_cmd_sort = {
	.name = "sort",
	.summary = "Write the trace with its records in the order of time.",
	.usage = "[OPTION...] TRACE -o OUT",
	.description =
		"Copies the trace to a new one of the same format whose records stand in the order "
		"of their times, as far as the format leaves that order open. Filters choose "
		"events as in spur cut.",
	.examples = "spur sort -o sorted.fxt trace.fxt\trecords by time\n",
	.takes = TAKES_TRACE | TAKES_FILTERS | TAKES_LIMIT,
	.run = sort_run,
};
