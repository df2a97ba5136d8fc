/* spur info: what the trace is and what is in it. */
#include "cli/run.h"

static const struct opt options[] = {
	{ .name = "task",
	  .type = OPT_FLAG,
	  OPT_COMMON(uftrace.task),
	  .help = "Show the tasks of uftrace data, as uftrace does" },
	{ .name = "symbols",
	  .type = OPT_FLAG,
	  OPT_COMMON(uftrace.symbols),
	  .help = "Show the symbols of the program that uftrace recorded, as uftrace does" },
	{ 0 }
};

static int info_run(const struct spur_cmd *cmd, struct values *v)
{
	if (!v->style && (v->uftrace.task || v->uftrace.symbols))
		v->style = "uftrace";
	return run_simple(cmd, v,
			  &(struct run_request){ .pass = "info",
						 .options = { RUN_OPTIONS("uftrace", &v->uftrace) } });
}

const struct spur_cmd spur_cmd_info = {
	.name = "info",
	.summary = "What the trace is and what is in it.",
	.usage = "[OPTION...] TRACE...",
	.description = "Shows the format and its version, the clock, when the trace begins and "
		       "ends, how many events, threads and "
		       "processes it has, what the recorder says it lost, what is damaged, and "
		       "what else the format tells: the "
		       "program, its arguments, the machine. The whole trace is read for this.\n"
		       "Of net://HOST, a relay daemon of LTTng, it shows the sessions.\n"
		       "--json writes the schema of docs/jsonl.md.\n"
		       "--style=uftrace lays it out as uftrace does.",
	.examples = "spur info uftrace.data\tshow all\n"
		    "spur info --json uftrace.data | jq .damage\tonly what is damaged\n"
		    "spur info net://localhost\tthe live sessions that are there\n",
	.opts = options,
	.takes = TAKES_TRACE | TAKES_STYLE | TAKES_UFTRACE | TAKES_JSON | TAKES_RAW,
	.run = info_run,
};
