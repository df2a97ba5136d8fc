/* spur hist: shows how long the calls of a function took. */
#include "cli/run.h"
#include "pass/hist.h"

static int hist_run(const struct spur_cmd *cmd, struct values *v)
{
	struct hist_options own;

	if (!v->noperands ||
	    (v->noperands == 1 && !v->data && run_is_trace(v, v->operands[0]))) {
		err_set(&v->err, SPUR_ERR_USAGE, "expected a function: spur hist %s", cmd->usage);
		return run_error(&v->err);
	}
	own = (struct hist_options){ .root = v->operands[--v->noperands] };
	if (!run_take_traces(cmd, v, 0))
		return run_error(&v->err);
	return run_pass(v, &(struct run_request){ .pass = "hist",
						  .options = { RUN_OPTIONS(NULL, &own) },
						  .selective = true });
}

const struct spur_cmd spur_cmd_hist = {
	.name = "hist",
	.summary = "Show how long the calls of a function took: histogram, percentiles.",
	.usage = "[OPTION...] TRACE FUNC",
	.description =
		"Show the distribution of the durations of a function's calls, or of spans of "
		"that name, on a logarithmic scale. FUNC is a name or, with special characters, a "
		"pattern (--match); calls of all functions that match are counted together, "
		"nested ones included. Only complete calls count; the first line says how many "
		"lack their begin or end.",
	.examples = "spur hist uftrace.data main\tone function\n"
		    "spur hist --tid=12 trace 'sys_.*'\tsystem calls of a thread\n"
		    "spur hist --json trace read\tas JSON\n",
	.takes = TAKES_TRACE | TAKES_FILTERS | TAKES_JSON | TAKES_CSV | TAKES_RAW | TAKES_COLOR,
	.run = hist_run,
};
