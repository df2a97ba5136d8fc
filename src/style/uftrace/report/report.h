/* The two reports of the uftrace style, and what they share. */
#ifndef SPUR_STYLE_UFTRACE_REPORT_REPORT_H
#define SPUR_STYLE_UFTRACE_REPORT_REPORT_H

#include "pass/report.h"
#include "style/uftrace/text/args.h"
#include "style/uftrace/text/walk.h"

enum report_column {
	REPORT_TOTAL,
	REPORT_TOTAL_AVG,
	REPORT_TOTAL_MIN,
	REPORT_TOTAL_MAX,
	REPORT_SELF,
	REPORT_SELF_AVG,
	REPORT_SELF_MIN,
	REPORT_SELF_MAX,
	REPORT_CALL,
	REPORT_SIZE,
	REPORT_TOTAL_STDV,
	REPORT_SELF_STDV,
	REPORT_TOTAL_MIN_TS,
	REPORT_TOTAL_MAX_TS,
	REPORT_SELF_MIN_TS,
	REPORT_SELF_MAX_TS,
	REPORT_CPU_COUNT,
	REPORT_CPU_MASK,
	REPORT_CPU_LIST,
	REPORT_COLUMNS
};

/* Sums wrap, as uftrace's do. */
struct report_times {
	uint64_t sum, squares;
	uint64_t nested, nested_squares; /* of calls inside of a call of the same function */
	uint64_t min, max, avg;
	uint64_t min_ts, max_ts; /* begins of those calls */
	double stdv;
};

struct report_node {
	uint32_t name; /* string id */
	uint32_t cls; /* for the source line; 0: none */
	struct report_times total, self;
	uint64_t calls, size;
	uint64_t cpus; /* bits */
	int64_t tid; /* of reports by task */
	uint64_t idle;
	uint32_t comm;
};

struct report {
	struct style *s;
	struct report_node *nodes;
	size_t n, cap;
	struct map64 index; /* name or tid to 1 + node */
	struct style_fields fields;
	const uint8_t *keys; /* enum report_column, to sort by */
	size_t nkeys;
	unsigned mode;
	/* Nothing is wanted of nodes but total.sum, self.sum and calls */
	bool sums_only;
	struct out *o;
};

/* What adds calls to nodes by name, for one thread. */
struct report_collector {
	struct report *r;
	struct style_walk walk; /* `self` is the collector */
	uint32_t *nodes; /* by class: 1 + the node of its name; 0: not known */
	size_t nodes_cap;
	uint32_t schedule, preempted; /* string ids */
};

/* Sort keys beside columns. */
enum { KEY_NAME = REPORT_COLUMNS, KEY_TID, KEY_COMM, REPORT_KEYS = 16 };

/* The node of a key, made where it is new. Returns NULL if out of memory. */
struct report_node *report_node(struct report *r, uint64_t key);
/* Adds the frame that ends: t->count by now. `time` is its end. */
void report_add(struct report *r, struct report_node *n, struct style_task *t, uint64_t time);
/* Returns the class's node: all classes of a name share one. Returns NULL if out of memory. */
struct report_node *report_named(struct report *r, uint32_t name, uint32_t cls);
/*
 * Adds the sums of all calls task by task, on all threads; the collector takes what is no ordinary
 * call. Sets *done to false, with c->r, its style and the trace as they were before, if a task's
 * calls depend on other tasks. Returns false if out of memory.
 */
bool report_by_task(struct report_collector *c, struct pass_env *env, bool *done);
/*
 * Reads the trace of r->s into nodes by name, with their averages. Returns false if out of memory.
 */
bool report_collect(struct report *r, struct pass_env *env);
/* Nodes by the keys, the largest first; equal ones by name. Returns NULL if out of memory. */
const struct report_node **report_sort(const struct report *r);
/* "a,b" to keys. False with `err` set. */
bool report_keys(uint8_t *keys, size_t *n, const char *text, const char *average, bool tasks,
		 struct spur_error *err);
void report_close(struct report *r);
/* Header and line of equal signs. */
void report_head(const struct report *r, const struct style_field *table, const char *last,
		 const char *behind);

enum spur_status report_functions(struct pass_env *env, struct style *s);
enum spur_status report_tasks(struct pass_env *env, struct style *s);

#endif
