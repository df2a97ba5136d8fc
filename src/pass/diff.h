/* Options and columns of the comparison of two traces. */
#ifndef SPUR_PASS_DIFF_H
#define SPUR_PASS_DIFF_H

#include "pass/pass.h"

struct diff_options {
	const char *by; /* "function" or "path"; NULL: function */
	const char *format; /* "table" or "svg"; NULL: table */
	const char *measure; /* a word of DIFF_MEASURES_LIST; NULL: self */
	const char *threshold; /* "5%", "10us" or both with a comma; NULL: none */
	const char *significance; /* the largest p that counts as a change; NULL: 0.01 */
};

/* Requires the environment of a pass that declares them. */
static inline const struct diff_options *diff_options(const struct pass_env *env)
{
	return env->options;
}

/*
 * MEASURE(id, word, kind): what is compared. Each has four columns: its value in both inputs
 * (word_a, word_b), the change (word_change) and the change as a share of the first value
 * (word_percent). `kind` as in render/table.h, without TABLE_.
 */
#define DIFF_MEASURE_LIST(MEASURE)     \
	MEASURE(TOTAL, "total", TIME)  \
	MEASURE(SELF, "self", TIME)    \
	MEASURE(CALLS, "calls", COUNT) \
	MEASURE(AVG, "avg", TIME)      \
	MEASURE(P50, "p50", TIME)      \
	MEASURE(P90, "p90", TIME)      \
	MEASURE(P99, "p99", TIME)

#define DIFF_WORD_MEASURE(id, word, kind) word "_a," word "_b," word "_change," word "_percent,"
/* The words of all columns, separated by commas, as a string literal. */
#define DIFF_COLUMN_WORDS                    \
	DIFF_MEASURE_LIST(DIFF_WORD_MEASURE) \
	"share_a,share_b,share_change,p,verdict,module,category,path,function"

#endif
