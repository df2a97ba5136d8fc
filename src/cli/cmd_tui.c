/* spur tui: shows a trace on a terminal. */
#include "cli/run.h"
#include "cli/view_path.h"
#include "tui/tui.h"

static const struct opt options[] = {
	{ .name = "no-cache",
	  .type = OPT_FLAG,
	  OPT_OWN(struct view_options, no_cache),
	  .help = "Read the trace even if a store of it is kept, and keep none" },
	VIEW_NO_OUTPUT,
	{ 0 }
};

static int tui_run(const struct spur_cmd *cmd, struct values *v)
{
	struct view_options *const o = v->own;
	struct out paths;
	int code;

	if (!run_take_traces(cmd, v, 0))
		return run_error(&v->err);
	o->serve = tui_show;
	view_paths(v, o, &paths);
	code = run_pass(v, &(struct run_request){ .pass = "view",
						  .options = { RUN_OPTIONS(NULL, o) },
						  .writes_files = true,
						  .until_stopped = true,
						  .draws = true });
	out_free(&paths);
	return code;
}

const struct spur_cmd spur_cmd_tui = {
	.name = "tui",
	.summary = "Show a trace on a terminal.",
	.usage = "[OPTION...] TRACE...",
	.description =
		"Draws the tracks of the trace with their spans at any zoom, finds spans, sums up "
		"functions, lists the longest calls; press ? for its keys, q to quit. It needs a "
		"terminal and libncursesw, and shows what `spur view` shows where there is no "
		"browser. The first spans are shown while the trace is still being read; what was "
		"read is kept, so that it opens at once the next time.",
	.examples = "spur tui trace.fxt\tshows it\n"
		    "ssh -t machine spur tui uftrace.data\tshows a trace of another machine\n",
	.opts = options,
	.own_size = sizeof(struct view_options),
	.takes = TAKES_TRACE | TAKES_COLOR,
	.run = tui_run,
};
