/* spur view: shows a trace in a browser. */
#include "cli/run.h"
#include "cli/view_path.h"
#include "view/serve.h"

static const struct opt options[] = {
	{ .name = "port",
	  .type = OPT_U64,
	  OPT_OWN(struct view_options, port),
	  .arg = "N",
	  .help = "Listen on this port of the loopback interface (default: any that is free)" },
	{ .name = "no-open",
	  .type = OPT_FLAG,
	  OPT_OWN(struct view_options, no_open),
	  .help = "Print the address only; do not open a browser" },
	{ .name = "no-cache",
	  .type = OPT_FLAG,
	  OPT_OWN(struct view_options, no_cache),
	  .help = "Read the trace even if a store of it is kept, and keep none" },
	{ .name = "idle",
	  .type = OPT_DURATION,
	  OPT_OWN(struct view_options, idle),
	  .arg = "TIME",
	  .help = "End after this time without a request" },
	{ .name = "state",
	  .type = OPT_STRING,
	  OPT_OWN(struct view_options, state),
	  .arg = "FILE",
	  .help = "Show what a file of the page has, which its button \"Save\" wrote" },
	VIEW_NO_OUTPUT,
	{ 0 }
};

static int view_cmd_run(const struct spur_cmd *cmd, struct values *v)
{
	struct view_options *const o = v->own;
	struct out paths;
	int code;

	if (o->port > UINT16_MAX) {
		err_set(&v->err, SPUR_ERR_USAGE, "--port: expected 0 to 65535, found %llu",
			(unsigned long long)o->port);
		return run_error(&v->err);
	}
	if (!run_take_traces(cmd, v, 0))
		return run_error(&v->err);
	o->serve = view_serve;
	view_paths(v, o, &paths);
	code = run_pass(v, &(struct run_request){ .pass = "view",
						  .options = { RUN_OPTIONS(NULL, o) },
						  .writes_files = true,
						  .until_stopped = true });
	out_free(&paths);
	return code;
}

const struct spur_cmd spur_cmd_view = {
	.name = "view",
	.summary = "Show a trace in a browser.",
	.usage = "[OPTION...] TRACE...",
	.description =
		"Prints an address of this machine and opens it in a browser. The page shows the "
		"tracks of the trace with their spans, counters and events at any zoom, finds and "
		"sums up; press ? for its keys. Nothing leaves the machine: the server listens on "
		"the loopback interface only and answers who knows the address. It ends with "
		"Ctrl-C. The first spans are shown while the trace is still being read; with "
		"--follow, those of a trace that is being written as they come.",
	.examples = "spur view trace.fxt\topens the browser\n"
		    "spur view --no-open --port 8080 trace.fxt\tfor a tunnel: ssh -L "
		    "8080:localhost:8080\n"
		    "spur view --follow prog.spur\twhile spur record writes it\n",
	.opts = options,
	.own_size = sizeof(struct view_options),
	.takes = TAKES_TRACE | TAKES_FOLLOW,
	.run = view_cmd_run,
};
