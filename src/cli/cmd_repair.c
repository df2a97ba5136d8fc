/* spur repair: writes what can be read of a damaged trace as a clean trace. */
#include "cli/run.h"
#include "pass/cut.h"

static int repair_run(const struct spur_cmd *cmd, struct values *v)
{
	const struct cut_options cut = { .repair = true };

	return run_simple(cmd, v,
			  &(struct run_request){ .pass = "cut",
						 .options = { RUN_OPTIONS(NULL, &cut) },
						 .is_copy = true });
}

const struct spur_cmd spur_cmd_repair = {
	.name = "repair",
	.summary = "Write what can be read of a damaged trace as a clean one.",
	.usage = "[OPTION...] TRACE -o OUT",
	.description =
		"Copies all records that can be read to a new trace of the same format, which is "
		"clean: it reads without damage, also in the format's own tools. What is left "
		"out, rebuilt or corrected is reported on standard error.",
	.examples = "spur repair -o clean.fxt trace.fxt\twhat can be read of it\n",
	.takes = TAKES_TRACE,
	.run = repair_run,
};
