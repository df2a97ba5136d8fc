/* spur diff: shows what changed from one trace to another. */
#include <string.h>

#include "cli/options_report.h"
#include "cli/run.h"
#include "pass/diff.h"
#include "style/llvm-xray/options.h"

/* Its own options. */
struct diff_own {
	struct diff_options diff;
	struct llvm_xray_options llvm;
};

static const char *const by_words[] = { "function", "path", NULL };
static const char *const format_words[] = { "table", "svg", NULL };
static const char *const measure_words[] = { "total", "self", "calls", "avg",
					     "p50",   "p90",  "p99",   NULL };

static const char *const stat_words[] = { "none", "count", "min", "med", "90p",
					  "99p",  "max",   "sum", NULL };

#define STAT_OPTION(NAME, FIELD, HELP)                                                            \
	{                                                                                         \
		.name = NAME, .type = OPT_STRING, OPT_OWN(struct diff_own, FIELD), .arg = "STAT", \
		.choices = stat_words, .help = HELP                                               \
	}

static const struct opt options[] = {
	{ .name = "by",
	  .type = OPT_STRING,
	  OPT_OWN(struct diff_own, diff.by),
	  .arg = "WHAT",
	  .choices = by_words,
	  .help = "Show a line per function or per call path" },
	{ .name = "measure",
	  .type = OPT_STRING,
	  OPT_OWN(struct diff_own, diff.measure),
	  .arg = "WHAT",
	  .choices = measure_words,
	  .help = "Compare total, self, calls, avg, p50, p90 or p99 (default: self): what is "
		  "shown and sorted by, and what --threshold limits" },
	{ .name = "threshold",
	  .type = OPT_STRING,
	  OPT_OWN(struct diff_own, diff.threshold),
	  .arg = "LIMIT",
	  .help = "Exit with 1 if anything changed by more than LIMIT: 5%, 10us, or 5%,10us "
		  "for more than both" },
	{ .name = "significance",
	  .type = OPT_STRING,
	  OPT_OWN(struct diff_own, diff.significance),
	  .arg = "P",
	  .help = "Call durations changed significantly if their p-value is below P "
		  "(default: 0.01)" },
	{ .name = "format",
	  .type = OPT_STRING,
	  OPT_OWN(struct diff_own, diff.format),
	  .arg = "NAME",
	  .choices = format_words,
	  .help = "Write a table, or a flame graph for browsers (svg) (default: by the ending "
		  "of the name given to -o, else table)" },
	REPORT_TABLE_OPTIONS(" (default: the change)", DIFF_COLUMN_WORDS),
	{ .name = "diff-policy",
	  .type = OPT_STRING,
	  OPT_COMMON(uftrace.diff_policy),
	  .arg = "LIST",
	  .help = "With --style=uftrace: abs or no-abs, percent or no-percent, full or compact "
		  "(default: abs,no-percent,compact)" },
	{ .name = "sort-column",
	  .type = OPT_STRING,
	  OPT_COMMON(uftrace.sort_column),
	  .arg = "N",
	  .help = "With --style=uftrace: sort by the base (0, 1) or by the change (2, default)" },
	REPORT_AVERAGE_OPTIONS,
	STAT_OPTION("edge-label", llvm.edge_label,
		    "With --style=llvm-xray: label calls with the change of count, min, med, 90p, "
		    "99p, max or sum (default: none)"),
	STAT_OPTION("edge-color", llvm.edge_color,
		    "With --style=llvm-xray: color calls by the change of STAT"),
	STAT_OPTION("vertex-label", llvm.vertex_label,
		    "With --style=llvm-xray: label functions with the change of STAT"),
	STAT_OPTION("vertex-color", llvm.vertex_color,
		    "With --style=llvm-xray: color functions by the change of STAT"),
	{ .name = "vertex-label-trun",
	  .type = OPT_INT,
	  OPT_OWN(struct diff_own, llvm.vertex_label_trun),
	  .arg = "N",
	  .help = "With --style=llvm-xray: cut names to N bytes (default: 40)" },
	REPORT_LLVM_OPTION(struct diff_own, ""),
	{ 0 }
};

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

static int diff_run(const struct spur_cmd *cmd, struct values *v)
{
	struct diff_own *own = v->own;

	if (!run_take_traces(cmd, v, 0))
		return run_error(&v->err);
	if (v->ntraces != 2) {
		err_set(&v->err, SPUR_ERR_USAGE, "expected two traces, found %zu: spur %s %s",
			v->ntraces, cmd->name, cmd->usage);
		return run_error(&v->err);
	}
	if (!own->diff.format && v->output && ends_with(v->output, ".svg"))
		own->diff.format = "svg";
	return run_compare(
		v, &(struct run_request){ .pass = "diff",
					  .options = { RUN_OPTIONS(NULL, &own->diff),
						       RUN_OPTIONS("uftrace", &v->uftrace),
						       RUN_OPTIONS("llvm-xray", &own->llvm) } });
}

const struct spur_cmd spur_cmd_diff = {
	.name = "diff",
	.summary = "Compare two traces: what became slower, faster, new or gone.",
	.usage = "[OPTION...] A B",
	.description =
		"A and B are traces of any format, or reports that were saved with spur report "
		"--json. Functions and spans are paired by name. Columns of A end in _a, those "
		"of B in _b; _change is B less A, _percent that in per cent of A. Filters apply "
		"to both traces.\n"
		"verdict tells whether single calls last longer: slower or faster if p, the "
		"p-value of the rank test of Mann and Whitney on their durations, is below "
		"--significance; same if not; unknown for saved reports, call "
		"paths and samples; added and gone if only one trace has the function. A few "
		"calls on either side cannot be significant.\n"
		"Without --threshold the exit code is 0 whatever changed. With it, it is 1 if the "
		"measure of any line changed by more than that, and its durations significantly "
		"or in an unknown way; a function that was added exceeds any percentage.\n"
		"The flame graph has the widths of B; frames are red if their self time grew, and "
		"blue if it shrank.\n"
		"--style=uftrace prints the output of uftrace report --diff, --style=llvm-xray "
		"that of "
		"llvm-xray graph-diff: a graph in DOT.",
	.examples =
		"spur diff before after\tthe largest changes of self time first\n"
		"spur diff --threshold=5%,1ms before.json after\texit with 1 if anything "
		"changed by more than 5 % and 1 ms\n"
		"spur diff --by=path --measure=total before after\tby call path\n"
		"spur diff -o diff.svg before after\ta red and blue flame graph\n"
		"spur diff --style=llvm-xray --vertex-label=med before after\ta graph for dot\n",
	.opts = options,
	.own_size = sizeof(struct diff_own),
	.takes = REPORT_TAKES,
	.run = diff_run,
};
