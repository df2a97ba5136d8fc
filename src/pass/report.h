/* Options and columns of the report of functions, tasks and sessions. */
#ifndef SPUR_PASS_REPORT_H
#define SPUR_PASS_REPORT_H

#include "pass/pass.h"

struct report_options {
	const char *by; /* "function", "task" or "session"; NULL: function */
	bool task; /* the same as by "task" */
};

/* Requires the environment of a pass that declares them. */
static inline const struct report_options *report_options(const struct pass_env *env)
{
	return env->options;
}

/*
 * The columns, in the order in which help lists them. A new one is a line here, which gives it to
 * every form of output, to --fields, --sort, help and completion.
 *
 * NUMBER(id, word, kind, spreads, value): `kind` as in render/table.h, without TABLE_; `spreads` is
 * true if the value needs the distribution of single calls; `value` is a struct table_value of the
 * report `r` and its entry `e`, with the sums `s`.
 * TEXT(id, word, write, order): `write` appends the text of `e` to `o`; `order` compares the groups
 * `a` and `b`. END is the TEXT that the list ends in.
 */
#define REPORT_COLUMNS(NUMBER, TEXT, END)                                                    \
	NUMBER(TOTAL, "total", TIME, false, table_u64(s->sum - s->inner))                    \
	NUMBER(SELF, "self", TIME, false, table_u64(s->self))                                \
	NUMBER(CALLS, "calls", COUNT, false, table_u64(s->calls))                            \
	NUMBER(AVG, "avg", TIME, false, call_sum_mean(entry_sum(e)))                              \
	NUMBER(MIN, "min", TIME, false, entry_least(e))  \
	NUMBER(MAX, "max", TIME, false, entry_most(e))                   \
	NUMBER(P50, "p50", TIME, true, call_sum_percentile(entry_sum(e), 50))                     \
	NUMBER(P90, "p90", TIME, true, call_sum_percentile(entry_sum(e), 90))                     \
	NUMBER(P99, "p99", TIME, true, call_sum_percentile(entry_sum(e), 99))                     \
	NUMBER(STDEV, "stdev", TIME, true, call_sum_deviation(entry_sum(e)))                      \
	NUMBER(SHARE, "share", SHARE, false, entry_share(r, s))                              \
	NUMBER(UNFINISHED, "unfinished", COUNT, false, table_u64(s->unfinished))             \
	TEXT(MODULE, "module", out_bytes(o, e->group.module, e->group.module_len),           \
	     strcmp(a->module, b->module))                                                   \
	TEXT(CATEGORY, "category", out_bytes(o, e->group.cat, e->group.cat_len),             \
	     strcmp(a->cat, b->cat))                                                         \
	NUMBER(SIZE, "size", COUNT, false, table_u64(e->group.cls ? e->group.cls->size : 0)) \
	TEXT(LOCATION, "location", out_location(r, e, o), location_order(r, a->cls, b->cls)) \
	NUMBER(TID, "tid", ID, false, table_id(e->tid))                                      \
	NUMBER(PID, "pid", ID, false, table_id(e->pid))                                      \
	TEXT(FUNCTION, "function", out_name(r, e, o), group_order(a, b))                     \
	TEXT(TASK, "task", out_name(r, e, o), group_order(a, b))                             \
	END(SESSION, "session", out_name(r, e, o), group_order(a, b))

#define REPORT_WORD_NUMBER(id, word, kind, spreads, value) word ","
#define REPORT_WORD_TEXT(id, word, write, order) word ","
#define REPORT_WORD_END(id, word, write, order) word
/* The words of all columns, separated by commas, as a string literal. */
#define REPORT_COLUMN_WORDS REPORT_COLUMNS(REPORT_WORD_NUMBER, REPORT_WORD_TEXT, REPORT_WORD_END)

#endif
