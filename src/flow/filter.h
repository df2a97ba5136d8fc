/*
 * The one filter of all commands. A spec (from the command line) is compiled to a filter, which
 * threads share and which is read-only but for the verdicts per class that it caches; a run filters
 * the rows of one feed, in time order, and keeps the stack state that depth, call-tree and duration
 * filters need.
 *
 * The meaning of each option is uftrace's (-F -N -D -C -H -L -Z -t -r -T --tid): what its replay
 * would show is what passes. Rows that pass keep their bytes; depth is left as recorded.
 */
#ifndef SPUR_FLOW_FILTER_H
#define SPUR_FLOW_FILTER_H

#include <assert.h>

#include "base/out.h"
#include "base/text.h"
#include "flow/moment.h"
#include "model/trace.h"

/* One -F/-N/-C/-H/-L/-T/--lib option, in the order given. */
enum filter_what {
	FILTER_FUNC, /* -F: the function and what it calls */
	FILTER_NOTRACE, /* -N: without the function and what it calls */
	FILTER_CALLER, /* -C: calls that lead to the function */
	FILTER_HIDE, /* -H: without the function itself; what it calls stays */
	/* -L: functions whose source file matches; !FILE or FILE@hide: not these */
	FILTER_LOCATION,
	FILTER_LIBRARY, /* --lib: functions of modules whose path or base name matches */
	/*
	 * -T FUNC@ACTION[,ACTION]: depth=N time=T size=N trace trace_on trace_off filter notrace
	 * caller hide backtrace color=C if:argN>V
	 */
	FILTER_TRIGGER,
	FILTER_NAME, /* --name: events of this name, whatever kind they are */
	FILTER_CAT, /* --cat: events of these categories, comma between */
	FILTER_WHERE, /* --where: an expression, see flow/where.h */
};

struct filter_item {
	enum filter_what what;
	const char *text; /* as given */
};

struct filter_spec {
	const struct filter_item *items;
	size_t nitems;
	/* How names match; a name without special characters is exact in any case. */
	enum pattern_kind match;
	int depth; /* -D; 0: no limit */
	int64_t min_ns; /* -t; 0: none */
	uint64_t min_size; /* -Z; bytes of code; 0: none */
	const char *range; /* -r: FROM~TO as uftrace takes it; NULL: none */
	const char *from, *to; /* --from, --until: see flow/moment.h; NULL: none */
	const int64_t *span; /* from and before which rows pass, in the unit of rows; NULL: all */
	enum moment_numbers numbers; /* how numbers in `from` and `to` are read */
	int64_t bare_ns; /* of times in -T and -F without unit; 0: they need one */
	const char *tids, *pids, *cpus; /* comma lists with ranges a-b; NULL: all */
	const char *threads; /* thread names: patterns, comma between */
	const char *kinds; /* comma list of kind names, lower or upper case; NULL: all */
	bool no_sched, no_sched_preempt, no_event, no_args;
	bool no_libcall; /* without calls by PLT slots */
	bool kernel_only; /* without rows of user space, but losses */
	bool trace_off; /* nothing passes before a trigger's trace_on */
};

struct filter;
struct filter_run;

/*
 * NULL in *out where the spec lets all pass (callers then skip filtering). The spec's strings must
 * outlive the filter.
 */
enum spur_status filter_new(struct filter **out, struct spur_trace *t,
			    const struct filter_spec *spec, struct spur_error *err);
void filter_free(struct filter *f);

/* Marks of rows that filter_keep_unseen() lets through. */
enum row_mark {
	/* Not to be shown: either of those below, or out of scope (-F -N -D -H -L, trace_off). */
	ROW_UNSEEN = 1,
	/*
	 * An event of no interest (no_event, no_sched); a BEGIN that is unseen as tracing is off.
	 */
	ROW_MUTED = 2,
	/*
	 * With ROW_MUTED: this BEGIN turned tracing off. A BEGIN without it: inside a function that
	 * -N names. An event: unseen as tracing is off, and for no other reason.
	 */
	ROW_TRACE_OFF = 4,
};
static_assert(ROW_UNSEEN + ROW_MUTED + ROW_TRACE_OFF == 7, "each mark has a bit of its own");

/* Rows, and what a filter marks of each. */
struct marked_rows {
	struct spur_event *rows;
	uint8_t *marks; /* by row: enum row_mark; NULL: no row has one */
	size_t n;
};

static inline unsigned row_marks(const uint8_t *marks, size_t i)
{
	return marks ? marks[i] : 0;
}

/* The same from the row `from` on. */
static inline struct marked_rows marked_from(struct marked_rows m, size_t from)
{
	assert(from <= m.n);
	/* Moving on a NULL pointer, which an empty list may have, is undefined. */
	if (from)
		m.rows += from;
	if (from && m.marks)
		m.marks += from;
	m.n -= from;
	return m;
}

/*
 * For passes that account what they do not show: from now on rows that are out of scope pass,
 * marked. What time range, tracks, -t, -Z, -C leave out stays out. Call before rows are read.
 */
void filter_keep_unseen(struct filter *f);
bool filter_keeps_unseen(const struct filter *f);
/* From now on -t, -Z, -C leave nothing out: for dumps of records as they are. */
void filter_keep_short(struct filter *f);
/* From now on -t leaves nothing out, for what applies it to sums; returns its time. */
int64_t filter_keep_brief(struct filter *f);

/*
 * Returns the time below which calls are dropped, in the trace's unit, if the filter's run on a
 * feed does nothing but that; else 0.
 */
int64_t filter_short_ns(const struct filter *f);

/* The time of -t, in the trace's unit; 0: none. */
int64_t filter_min_ns(const struct filter *f);
/* Returns true if tracing was off (--trace=off, trace_off) when the last row was filtered. */
bool filter_ended_off(const struct filter *f);

/*
 * True where rows of one feed depend on those of others (trace_on/trace_off): only the merged order
 * can be filtered.
 */
bool filter_is_global(const struct filter *f);
/* The feed can hold no row that passes (tid, pid, cpu): it need not be read. */
bool filter_skips_feed(const struct filter *f, const struct feed *feed);
/* The trace's time span that can pass, for seeking: [*from, *to), INT64_MIN/MAX where open. */
void filter_span(const struct filter *f, int64_t *from, int64_t *to);

/* The time that elapsed times of -r count from. Returns false if none was given. */
bool filter_zero(const struct filter *f, int64_t *zero);

enum filter_part {
	FILTER_ALL,
	/* Of a global filter: what needs no other feed; run per feed, before the merge */
	FILTER_LOCAL,
	FILTER_MERGED, /* the rest, after the merge */
};
struct filter_run *filter_run_new(struct filter *f, enum filter_part part);
void filter_run_free(struct filter_run *r);
/*
 * Filters rows. What passes is in *out (in place, or in the run's own memory) until the next call;
 * it may be nothing, and may include rows held back earlier. in.rows and in.marks may be changed.
 * With in.n == 0: the feed ended; what is held back comes out. out->marks is NULL unless
 * filter_keep_unseen() was called. Returns SPUR_FAIL if out of memory.
 */
enum spur_status filter_rows(struct filter_run *r, struct marked_rows in, struct marked_rows *out);
/*
 * The next rows of those that the last filter_rows() let pass: of many it hands out only the first
 * ones, which live on. Returns false if there are no more; before that filter_rows() is not called.
 */
bool filter_rest(struct filter_run *r, struct marked_rows *out);
/*
 * Appends a note, a line, to `notes` for each option whose name, number or kind is in nothing that
 * was read. Requires that reading has ended; classes and tracks may be added until then.
 */
void filter_note_unmatched(const struct filter *f, struct out *notes);

/*
 * What triggers say of a row that passed, for commands that show it: backtrace, colour, hidden
 * arguments.
 */
enum filter_mark {
	FILTER_MARK_BACKTRACE = 1,
	FILTER_MARK_NOARGS = 2,
	FILTER_MARK_COLOR = 8, /* shift: an enum filter_color stands there, or 0 */
};
enum filter_color {
	FILTER_RED = 1,
	FILTER_GREEN,
	FILTER_BLUE,
	FILTER_YELLOW,
	FILTER_MAGENTA,
	FILTER_CYAN,
	FILTER_BOLD,
	FILTER_GRAY,
};
unsigned filter_marks(struct filter *f, uint32_t cls);
/*
 * The pattern that an option's function name stands for: exact if it has no special characters; a
 * mangled name matches what is demangled. NULL with `err` set, whose message begins with `option`;
 * free with pattern_free().
 */
struct pattern *filter_name_pattern(struct text name, enum pattern_kind kind, const char *option,
				    struct spur_error *err);
/*
 * After a run: a line for each --name and comparison of --where that was true for no event, where
 * no event passed them; and one if calls had to be decided before their end. With "spur: note: " in
 * front.
 */
void filter_where_notes(const struct filter *f, struct out *o);

#endif
