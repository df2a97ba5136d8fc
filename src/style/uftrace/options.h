/* Options that only the layouts of uftrace's commands have. */
#ifndef SPUR_STYLE_UFTRACE_OPTIONS_H
#define SPUR_STYLE_UFTRACE_OPTIONS_H

#include "pass/pass.h"

/* One struct for all of its commands: scripts pass one set of options to each of them. */
struct uftrace_options {
	bool kernel_full, event_full; /* kernel functions, events outside of user functions too */
	bool no_callsite; /* do not show where functions are called from */
	bool srcline; /* report, graph: source files and lines */
	bool task; /* report, graph, info: of tasks */
	bool symbols; /* info: of the recorded program */
	bool avg_total, avg_self; /* report: average, least and most of the total or self time */
	bool column_view; /* replay: each task in its own column */
	int column_offset; /* columns between them; 0: 8 */
	const char *diff_policy; /* diff: words with commas between; NULL: abs,compact,no-percent */
	const char *sort_column; /* diff: "0", "1": sort by the base; NULL, "2": by the change */
};

/* Requires the environment of a pass of this style. */
static inline const struct uftrace_options *uftrace_options(const struct pass_env *env)
{
	return env->style_options;
}

#endif
