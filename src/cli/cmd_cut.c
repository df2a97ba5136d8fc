/* spur cut: writes chosen events as a trace of the same format. */
#include "cli/run.h"
#include "pass/cut.h"

static int cut_run(const struct spur_cmd *cmd, struct values *v)
{
	const struct cut_options cut = { .sorted = false };

	return run_simple(cmd, v,
			  &(struct run_request){ .pass = "cut",
						 .options = { RUN_OPTIONS(NULL, &cut) },
						 .is_copy = true });
}

const struct spur_cmd spur_cmd_cut = {
	.name = "cut",
	.summary = "Write chosen events as a trace of the same format.",
	.usage = "[OPTION...] TRACE -o OUT",
	.description =
		"Copies the records of the events that pass the filters, with the tables that "
		"they need, to a new trace of the same format. Records are copied as they are "
		"stored. Without a filter, the copy of an undamaged trace has the same bytes; of "
		"a damaged one, it has what can be read.",
	.examples = "spur cut --until=1.01s -o part.fxt trace.fxt\tthe first second and 10 ms\n"
		    "spur cut -F main -o part.data uftrace.data\tcalls from main on\n",
	.takes = TAKES_TRACE | TAKES_FILTERS | TAKES_LIMIT,
	.run = cut_run,
};
