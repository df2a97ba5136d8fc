/*
 * The filter's own parts. A spec becomes rules (filter_parse.c) and times (filter_time.c); rules
 * and a class become a verdict (filter.c), computed once. Rows pass five stages:
 *
 *	pick	range, track, kind of event: each row by itself			filter_run.c
 *	hold	-t -Z -C: rows wait until their function's fate is known	filter_hold.c
 *	scope	-F -N -D -H -L, trace_on, trace_off: depends on what is open	filter_run.c
 *	where	--where, --name							filter_where.c
 *	last	kinds, CPUs: each row by itself					filter_run.c
 *
 * This is the order in which uftrace applies them: functions that `hold` drops trigger nothing in
 * `scope`.
 */
#ifndef SPUR_FLOW_FILTER_PARTS_H
#define SPUR_FLOW_FILTER_PARTS_H

#include <assert.h>
#include <pthread.h>

#include "flow/filter.h"
#include "flow/fit.h"
#include "flow/where.h"

enum rule_flag {
	RULE_IN = 1, /* -F, filter */
	RULE_OUT = 2, /* -N, notrace */
	RULE_DEPTH = 4,
	RULE_TIME = 8,
	RULE_SIZE = 16,
	RULE_CALLER = 32,
	RULE_HIDE = 64,
	RULE_PLACE = 128, /* -L: here */
	RULE_NOT_PLACE = 256, /* -L !: not here */
	RULE_LIBRARY = 512,
	RULE_ON = 1024,
	RULE_OFF = 2048,
	RULE_TRACE = 4096, /* shown however short */
	RULE_BACKTRACE = 8192,
	RULE_COLOR = 1 << 14,
	/* Of verdicts only. */
	VERDICT_EVENT =
		1
		/* An event that the user placed: shown however short the function around it is */
		<< 15,
	VERDICT_INSIDE = 1 << 16, /* an event that belongs to the function around it */
	VERDICT_READY = 1 << 17,
	/* What a trigger's `clear` takes away. */
	RULE_CLEARED = RULE_IN | RULE_OUT | RULE_DEPTH | RULE_TIME | RULE_SIZE | RULE_CALLER |
		       RULE_HIDE | RULE_ON | RULE_OFF | RULE_TRACE | RULE_BACKTRACE | RULE_COLOR,
};

enum rule_module { MODULE_ANY, MODULE_PLT, MODULE_KERNEL, MODULE_NAMED };
enum cond_op { COND_NONE, COND_EQ, COND_NE, COND_GT, COND_GE, COND_LT, COND_LE };

struct rule_cond {
	enum cond_op op;
	uint32_t arg; /* from 1 */
	int64_t value;
	const char *text; /* of strings and names of enumerators; NULL: `value` counts */
};

struct rule {
	enum filter_what what; /* the option it comes from */
	const char *text, *name; /* as given: all of it, the name before the @ */
	uint32_t flags;
	uint32_t clear; /* flags of earlier rules that it takes away */
	bool matched; /* a function of the trace so far */
	int32_t depth;
	int64_t time;
	int64_t bare_ns; /* of a time without unit; 0: it needs one */
	uint64_t size;
	enum rule_module module;
	const char *module_name;
	struct pattern *pattern;
	struct rule_cond cond; /* of RULE_IN, RULE_OUT */
	uint8_t color;
};

/* What the rules say of one class. */
struct verdict {
	uint32_t flags; /* enum rule_flag; VERDICT_READY is stored last */
	int32_t depth;
	int64_t time;
	uint32_t min_size;
	uint32_t size; /* of the class's code, clamped */
	const struct rule *cond; /* NULL: none */
	uint8_t color;
	struct where_class where; /* if there is an expression */
};

struct number_range {
	int64_t first, last;
	int seen; /* --cpu: an event has one of them; atomic */
};

struct number_list {
	struct number_range *ranges;
	size_t count;
};

struct filter {
	struct spur_trace *trace;
	struct arena arena;
	pthread_mutex_t lock; /* verdicts being made */
	struct verdict *verdicts[TRACE_CLASS_PAGES];

	struct where *where; /* --where, --name; NULL: none */
	bool where_passed; /* an event passed it; atomic */
	uint64_t where_forced; /* calls that were decided before their end; atomic */

	struct rule *rules; /* in the order in which they apply */
	size_t nrules, rules_cap;
	struct pattern **threads;
	const char **thread_names; /* of the patterns, as given */
	size_t nthreads, threads_cap, names_cap;
	struct number_list tids, pids, cpus;
	uint32_t kinds; /* bit per kind that passes */
	uint32_t kinds_seen; /* bit per kind among the rows; atomic */
	int64_t from, to; /* [from, to) passes */
	int64_t min_ns;
	int64_t bare_ns; /* see struct rule */
	uint64_t min_size;
	int32_t depth; /* INT32_MAX: no limit */
	int64_t zero; /* what -r counts from, where zero_known */
	bool zero_known;
	bool ended_off; /* tracing is off after the last row so far; one run alone writes it */
	bool no_sched, no_sched_preempt, no_event, no_args, no_libcall, kernel_only, trace_off;
	bool mode_in, mode_place, mode_library, mode_caller; /* there is a rule of this kind */

	bool keeps_unseen; /* rows out of scope pass, marked */
	bool shared; /* tracks have rows in several feeds */
	bool is_global;
	bool by_track, by_row, holds, scopes, last; /* which stages do anything */
};

/* filter_parse.c */
enum spur_status filter_parse_rules(struct filter *f, const struct filter_spec *spec,
				    struct spur_error *err);
enum spur_status filter_parse_where(struct filter *f, const struct filter_spec *spec,
				    struct spur_error *err);
enum spur_status filter_parse_lists(struct filter *f, const struct filter_spec *spec,
				    struct spur_error *err);
bool number_list_has(const struct number_list *l, int64_t n);
/* filter_cond.c */
/*
 * Reads argN OP VALUE, where VALUE is a number, a quoted string or a word. Returns false if `t` is
 * none.
 */
bool cond_parse(struct arena *a, struct text t, struct rule_cond *out);
/* Returns true if the row has the argument and it compares so; `args` is scratch. */
bool cond_holds(struct spur_trace *t, const struct rule_cond *c, const struct spur_event *row,
		struct spur_args *args);
/* filter_time.c */
enum spur_status filter_parse_times(struct filter *f, const struct filter_spec *spec,
				    struct spur_error *err);

/* filter.c */
/* Returns true if the rule is about the class. */
bool filter_rule_matches(const struct spur_trace *t, const struct rule *r,
			 const struct event_class *c);
bool filter_track_passes(const struct filter *f, uint32_t track);
/* Returns what the rules say of a class, or NULL if out of memory. */
const struct verdict *filter_judge(struct filter *f, uint32_t cls);

static inline const struct verdict *filter_verdict(struct filter *f, uint32_t cls)
{
	const struct verdict *page = __atomic_load_n(
		&f->verdicts[cls / TRACE_CLASS_PAGE % TRACE_CLASS_PAGES], __ATOMIC_ACQUIRE);
	const struct verdict *v = page ? &page[cls % TRACE_CLASS_PAGE] : NULL;

	if (__builtin_expect(v && (__atomic_load_n(&v->flags, __ATOMIC_ACQUIRE) & VERDICT_READY),
			     1))
		return v;
	return filter_judge(f, cls);
}

/* Rows on their way out. */
struct row_list {
	struct spur_event *rows;
	uint8_t *marks; /* by row: enum row_mark; NULL unless the filter keeps unseen rows */
	size_t count, cap, marks_cap;
};

/* Adds a row with its marks. Returns false if out of memory. */
static inline bool row_list_add(struct row_list *l, bool marked, const struct spur_event *row,
				unsigned marks)
{
	if (__builtin_expect(l->count == l->cap, 0) &&
	    !mem_grow((void **)&l->rows, &l->cap, l->count + 1, sizeof(*l->rows),
		      SIZE_MAX / sizeof(*l->rows)))
		return false;
	if (marked && l->count >= l->marks_cap &&
	    !mem_grow((void **)&l->marks, &l->marks_cap, l->cap, 1, SIZE_MAX))
		return false;
	l->rows[l->count] = *row;
	if (marked)
		l->marks[l->count] = (uint8_t)marks;
	l->count++;
	return true;
}

/* Row `from` passes and is moved to place `to`, which is not behind it. */
static inline void row_list_keep(struct row_list *l, size_t to, size_t from)
{
	if (to == from)
		return;
	l->rows[to] = l->rows[from];
	if (l->marks)
		l->marks[to] = l->marks[from];
}

static inline void row_list_mark(struct row_list *l, size_t i, unsigned marks)
{
	assert(l->marks);
	l->marks[i] |= (uint8_t)marks;
}

/* filter_hold.c: look-ahead over the rows of one feed. */
/* What is held of an open call, beside its frame. */
struct held {
	int64_t min_ns, child_ns; /* its own threshold; that of what it calls */
	uint64_t child_size;
	uint32_t flags; /* enum hold_flag */
};

struct hold_track {
	/* user: the number of the frame's row among all that were ever queued */
	struct pair_stack stack;
	struct held *held; /* by frame */
	size_t cap; /* of held */
	size_t first; /* the lowest frame whose fate is open; stack.n: none */
	uint64_t last; /* number + 1 of its newest open row in the queue; 0: none */
};

struct hold_slot;

struct hold {
	struct hold_slot *queue;
	size_t head, tail, cap;
	uint64_t base; /* seq of queue[head] */
	uint8_t marks; /* enum row_mark of the current row */
	bool marked; /* rows have marks */
	struct hold_track *at; /* the track of `fit`; NULL: none */
	struct fit fit; /* the stack itself is always up to date */
};

/*
 * Reads one row of the track, of which h->marks are. What is decided by it goes to `out`. Returns
 * false if out of memory.
 */
bool hold_row(struct filter *f, struct hold *h, struct hold_track *t, const struct spur_event *row,
	      struct row_list *out);
/* The end of the feed: all that waits passes. */
bool hold_end(struct hold *h, struct row_list *out);
void hold_free(struct hold *h);
void hold_track_free(struct hold_track *t);

/* filter_where.c */
struct where_call;

/* The expression's part of a run. Zero-initialise. */
struct where_run {
	/*
	 * Scratch memory; rows from `head` to before `tail` are queued, those before it were handed
	 * out.
	 */
	struct spur_event *rows;
	/*
	 * Of each row: its state, and above STATE_BITS the call of a waiting one or the marks of
	 * one that passes.
	 */
	uint32_t *slots;
	uint8_t *marks; /* enum row_mark of the rows that were handed out last */
	size_t marks_cap;
	bool marked; /* rows have marks */
	size_t head, tail, cap;
	uint64_t base; /* how many rows were queued before the first one that is there */
	struct where_call *calls; /* from 1 on */
	size_t ncalls, calls_cap;
	uint32_t free_call;
	struct spur_args args, end_args;
};

/* And of a track. */
struct where_track {
	struct pair_stack stack; /* user: index of the call */
	int64_t last; /* ts of its last row */
};

/*
 * Replaces the rows by those that pass so far, which live until the next call. `track` finds the
 * state of a track. Returns false if out of memory.
 */
bool where_rows(struct filter *f, struct where_run *r, struct row_list *l,
		struct where_track *(*track)(void *self, uint32_t id), void *self);
/*
 * At the feed's end, behind where_rows(): for each track, then where_end_rows() adds what waited to
 * the rows. Both return false if out of memory.
 */
bool where_track_end(struct filter *f, struct where_run *r, struct where_track *t);
bool where_end_rows(struct where_run *r, struct row_list *l);
void where_run_free(struct where_run *r);

#endif
