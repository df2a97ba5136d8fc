/* spur info: shows what the trace is and what it contains. */
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
	return run_simple(
		cmd, v,
		&(struct run_request){ .pass = "info",
				       .options = { RUN_OPTIONS("uftrace", &v->uftrace) } });
}

const struct spur_cmd spur_cmd_info = {
	.name = "info",
	.summary = "Show what the trace is and what it contains.",
	.usage = "[OPTION...] TRACE...",
	.description =
		"Show the format and its version, the clock, the times of the first and last "
		"event, the numbers of events, threads and processes, the losses that the "
		"recorder reported, the damage, and what else the format records: the program, "
		"its arguments, the machine. The whole trace is read.\n"
		"Of a recording's directory, also show what was recorded and how, when the "
		"recording began and ended, how the program ended, and for each process whether "
		"it ended and how many events it lost.\n"
		"For net://HOST, a relay daemon of LTTng, list its sessions.\n"
		"--json writes the schema of docs/jsonl.md.\n"
		"--style=uftrace shows it in the layout of uftrace.",
	.examples =
		"spur info uftrace.data\tshow all\n"
		"spur info prog.spur\thow the program was recorded, and how it ended\n"
		"spur info --json uftrace.data | jq .damage\tonly the damage\n"
		"spur info net://localhost\tthe live sessions\n",
	.opts = options,
	.takes = TAKES_TRACE | TAKES_STYLE | TAKES_UFTRACE | TAKES_JSON | TAKES_RAW,
	.run = info_run,
};
