/*
 * The call graph of one trace as `llvm-xray graph` makes it: functions by name, calls by caller,
 * with the durations of each edge. Holds copies only.
 */
#ifndef SPUR_STYLE_LLVM_XRAY_DIFF_CALLS_H
#define SPUR_STYLE_LLVM_XRAY_DIFF_CALLS_H

#include "pass/pass.h"

/* Of the durations of an edge or of all edges to a function; seconds, or ticks without a clock. */
enum call_stat_word {
	STAT_NONE,
	STAT_COUNT,
	STAT_MIN,
	STAT_MED,
	STAT_P90,
	STAT_P99,
	STAT_MAX,
	STAT_SUM,
	STATS
};

struct call_stats {
	double of[STATS];
};

struct call_vertex {
	const char *name; /* "": what calls the outermost functions */
	struct call_stats stats;
};

struct call_edge {
	uint32_t from, to; /* vertices */
	struct call_stats stats;
};

/* Zero-initialise. */
struct call_graph {
	struct call_vertex *vertices; /* by name, so "" is the first */
	size_t nvertices;
	struct call_edge *edges; /* by caller's name, then by callee's */
	size_t nedges;
};

/*
 * Reads the trace of `env`; names are copied to the arena. SPUR_WARN: no row passed the filter.
 */
enum spur_status call_graph_read(struct call_graph *g, struct arena *names, struct pass_env *env);
void call_graph_free(struct call_graph *g);

#endif
