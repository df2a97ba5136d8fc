/* spur report: shows where the time went. */
#include <strings.h>

#include "base/text.h"
#include "cli/kept.h"
#include "cli/options_report.h"
#include "cli/run.h"
#include "pass/async.h"
#include "pass/report.h"
#include "style/llvm-xray/options.h"

/* Its own options. */
struct report_own {
	struct report_options report;
	struct llvm_xray_options llvm;
};

static bool set_csv(struct values *v, const char *text)
{
	if (text_is(text_of(text), "csv"))
		v->csv = true;
	else if (!text_is(text_of(text), "normal"))
		return false;
	return true;
}

static const char *const by_words[] = {
	"function", "task", "session", "name", "step", "path", NULL
};

static const struct opt options[] = {
	{ .name = "by",
	  .type = OPT_STRING,
	  OPT_OWN(struct report_own, report.by),
	  .arg = "WHAT",
	  .choices = by_words,
	  .help = "Show a line per function, task or session; with --kind=flow per name, step "
		  "or path" },
	{ .name = "task",
	  .type = OPT_FLAG,
	  OPT_OWN(struct report_own, report.task),
	  .help = "Same as --by=task" },
	REPORT_TABLE_OPTIONS("", REPORT_COLUMN_WORDS
			     "; "
			     "with --kind=async and --kind=flow: count,total,avg,min,max,p50,p90,"
			     "p99,stdev,steps,no_begin,no_end,category,name,step,from_pid,"
			     "from_tid,from,to_pid,to_tid,to"),
	REPORT_AVERAGE_OPTIONS,
	{ .name = "format",
	  .type = OPT_CALL,
	  .call = set_csv,
	  .arg = "NAME",
	  .help = "Write text (normal) or CSV (csv)",
	  .hidden = true },
	REPORT_LLVM_OPTION(struct report_own,
			   "; up to 14 nested template arguments end in \"> >\""),
	KEPT_OPTION,
	{ 0 }
};

/* --kind=async and --kind=flow select a table of their own; other kinds are a filter. */
static const char *report_kind(const struct values *v)
{
	static const char *const kinds[] = { "async", "flow" };

	for (size_t i = 0; v->filter.kinds && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcasecmp(v->filter.kinds, kinds[i]) == 0)
			return kinds[i];
	return NULL;
}

static int report_run(const struct spur_cmd *cmd, struct values *v)
{
	const struct report_own *own = v->own;
	const struct async_options async = { .kind = report_kind(v), .by = own->report.by };

	if (async.kind) {
		v->filter.kinds = NULL;
		return run_simple(
			cmd, v,
			&(struct run_request){ .pass = "async",
					       .options = { RUN_OPTIONS(NULL, &async) } });
	}
	return run_simple(
		cmd, v,
		&(struct run_request){ .pass = "report",
				       .options = { RUN_OPTIONS(NULL, &own->report),
						    RUN_OPTIONS("uftrace", &v->uftrace),
						    RUN_OPTIONS("llvm-xray", &own->llvm) } });
}

const struct spur_cmd spur_cmd_report = {
	.name = "report",
	.summary = "Show where the time went: calls, total and self time per function.",
	.usage = "[OPTION...] TRACE...",
	.description =
		"total is the time from begin to end of a function's calls; of recursive calls "
		"only the outermost counts. self is total without the calls made inside. min, "
		"avg, max, the percentiles (p50, p90, p99) and stdev are of single calls; calls "
		"that are still open when the trace ends are ignored, unless no call of the "
		"function has ended.\n"
		"--kind=async shows asynchronous spans, and --kind=flow flows: the time from "
		"begin to end, and how many lack their begin or end (no_begin, no_end). With "
		"--by=step, a flow counts from each begin or step to the next step or end; "
		"--by=path groups these by the threads that they lead from and to.\n"
		"--style=llvm-xray prints the output of llvm-xray account, as text or with --csv; "
		"--sort then takes one of its columns: funcid, count, min, med, 90p, 99p, max, "
		"sum, func.",
	.examples =
		"spur report uftrace.data\tthe functions with the most total time first\n"
		"spur report -s self -f self,calls,p99,function uftrace.data\tchosen columns, "
		"sorted by self time\n"
		"spur report --by=task --json uftrace.data\tper thread, as JSON\n"
		"spur report --kind=flow --by=path trace.fxt\twhich threads flows connect\n"
		"spur report --style=llvm-xray -s -sum xray-log.prog.x7Ga\tas llvm-xray account\n",
	.opts = options,
	.own_size = sizeof(struct report_own),
	.takes = REPORT_TAKES,
	.run = report_run,
};
