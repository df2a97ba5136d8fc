/*
 * Rows as uftrace's analysis commands account them: per task an array of frames that is only ever
 * overwritten, counters that follow the records and not the depths, times that start at a fork or
 * after a loss. Its output shows what is left in frames from before, so all of it is kept just so.
 */
#ifndef SPUR_STYLE_UFTRACE_TEXT_TASK_H
#define SPUR_STYLE_UFTRACE_TEXT_TASK_H

#include "format/uftrace/data.h"
#include "style/uftrace/options.h"

enum { STYLE_LEVELS = 1024 }; /* that are shown at most */

enum style_source { FROM_USER, FROM_KERNEL, FROM_PERF, FROM_EXTERN };
enum style_type { TYPE_ENTRY, TYPE_EXIT, TYPE_LOST, TYPE_EVENT };
enum style_context { CONTEXT_USER, CONTEXT_KERNEL, CONTEXT_NONE };

/* Functions after which the stack is not what it was. */
enum style_special {
	SPECIAL_NONE = 1,
	SPECIAL_EXEC,
	SPECIAL_SETJMP,
	SPECIAL_LONGJMP,
	SPECIAL_FORK
};

struct style_frame {
	uint64_t addr; /* as recorded, or the id of a schedule event */
	uint64_t total; /* when it began; once ended, how long it took */
	uint64_t child; /* time of those directly inside */
	uint32_t cls; /* 0: none */
	bool valid; /* `total` is the begin */
	uint8_t special; /* enum style_special of a frame not yet shown */
	bool hidden; /* neither it nor its end is shown */
	bool deep; /* hidden, as too many are shown around it */
	int32_t used; /* levels shown around it */
};

struct style_task {
	uint32_t track;
	int64_t tid, pid, ppid;
	bool hidden; /* only per-CPU files know it */
	bool silent; /* it has no file of its own */
	struct style_frame *frames;
	size_t cap;
	int32_t count, user_count; /* of open frames */
	int32_t display, user_display; /* depth shown */
	int32_t used; /* levels shown that are open: there is a limit */
	int32_t fork_display; /* of what a child inherits; 0: none */
	bool display_set, fork_handled, started, lost_seen;
	enum style_context context;
	uint32_t comm; /* string id */
	int32_t column; /* of --column-view; -1: none yet */
	uint64_t time, last_time; /* of the last shown record and the one before */
	uint64_t stamp, idle, first, shown_time; /* of reports by task */
	uint32_t func; /* class that was last looked up; 0: none */
	uint32_t cpu; /* index of the perf file of the last SWITCH out */
	bool last_perf; /* its last record is of perf */
};

struct style {
	struct spur_trace *trace;
	const struct uftrace_data *data; /* NULL: rows of another format */
	const struct render_options *opt;
	const struct uftrace_options *own;
	const struct filter_spec *given; /* the filter as given */
	unsigned marks; /* enum row_mark of the current row */
	struct style_task *tasks; /* in the order of the info file; in scratch memory */
	struct arena frames; /* of all tasks, in scratch memory */
	size_t ntasks, tasks_cap;
	struct map64 tids; /* to 1 + track */
	struct map64 files; /* thread ids with a .dat */
	uint32_t *index; /* track to 1 + index of its task */
	size_t index_cap;
	/* enum style_source by stream; those that a recording gets as it grows are of programs */
	uint8_t *sources;
	size_t nsources;
	uint8_t *specials; /* enum style_special by class; 0: not yet known */
	size_t specials_cap;
	uint32_t max_stack;
	int32_t setjmp_display, setjmp_count;
	uint64_t start; /* time of the first record that counts */
	bool started;
	bool from_set; /* what is shown first may be nested: a range with a begin, or --trace=off */
	int64_t zero; /* what a time range counts from */
	bool zero_known;
	bool time_filter; /* -t: uftrace then reads schedule events task by task */
	size_t last; /* index of the task that external data belongs to: the pass sets it */
	struct spur_args args;
	uint64_t perf_time; /* of the last perf record of all */
	bool failed; /* out of memory: later results are incomplete */
	uint32_t name_comm;
};

/* False: no memory. style_close() in any case. */
bool style_open(struct style *s, struct pass_env *env);
void style_close(struct style *s);
struct style_task *style_task_by_tid(struct style *s, int64_t tid);
/* Out of line halves. */
struct style_task *style_task_make(struct style *s, const struct spur_event *row);
struct style_frame *style_frame_make(struct style *s, struct style_task *t, int32_t i);
/*
 * The row will not be shown: the filter says so, or the function lies too deep. Ask before it is
 * consumed.
 */
bool style_is_hidden(struct style *s, struct style_task *t, const struct spur_event *row);
/* Applies the row to its task: times, counters, name. */
void style_consume(struct style *s, struct style_task *t, const struct spur_event *row);
/*
 * What a shown function does to the display depth when it opens and closes; returns the new depth.
 */
int32_t style_show_entry(struct style *s, struct style_task *t, struct style_frame *f);
int32_t style_show_exit(struct style_task *t);
/* A function opens and will be shown at t->display: called before style_show_entry(). */
void style_entry(struct style *s, struct style_task *t, struct style_frame *f,
		 const struct spur_event *row);
enum style_special style_special_of(struct style *s, uint32_t cls);
/* Events, and kernel functions, outside of the user's functions are not shown. */
bool style_is_outside(const struct style *s, const struct style_task *t,
		      const struct spur_event *row);

static inline enum style_source style_source_of(const struct style *s, const struct spur_event *row)
{
	return row->stream < s->nsources ? s->sources[row->stream] : FROM_USER;
}

/*
 * The task of a row. Returns NULL if out of memory. Pointers to earlier ones may become invalid.
 */
static inline struct style_task *style_task_find(struct style *s, const struct spur_event *row)
{
	uint32_t track = row->track;

	if (__builtin_expect(track < s->index_cap && s->index[track] &&
				     style_source_of(s, row) != FROM_EXTERN,
			     1))
		return &s->tasks[s->index[track] - 1];
	return style_task_make(s, row);
}

/* Frame `i` or NULL: none, beyond the recorder's maximum, or out of memory. */
static inline struct style_frame *style_frame_get(struct style *s, struct style_task *t, int32_t i)
{
	if (__builtin_expect(i >= 0 && (size_t)i < t->cap, 1))
		return &t->frames[i];
	return style_frame_make(s, t, i);
}

static inline enum style_type style_type_of(const struct spur_event *row)
{
	switch (row->kind) {
	case SPUR_BEGIN:
		return TYPE_ENTRY;
	case SPUR_END_SPAN:
		return TYPE_EXIT;
	case SPUR_LOST:
		return TYPE_LOST;
	default:
		return TYPE_EVENT;
	}
}

static inline bool style_is_sched(const struct spur_event *row)
{
	return row->kind == SPUR_SWITCH;
}

static inline bool style_id_is_sched(uint64_t id)
{
	return (id >= UFTRACE_EV_SCHED_IN && id <= UFTRACE_EV_SCHED_BOTH) ||
	       id == UFTRACE_EV_SCHED_OUT_PREEMPT || id == UFTRACE_EV_SCHED_BOTH_PREEMPT;
}

/* As recorded: modulo 1024, with the overflow added to the address; 0 for events. */
static inline uint32_t style_depth(const struct spur_event *row)
{
	return row->kind <= SPUR_END_SPAN || row->kind == SPUR_LOST ? row->depth & 1023 : 0;
}

static inline uint64_t style_addr(const struct spur_event *row)
{
	return row->id + (row->flags & SPUR_F_DEPTH ? row->depth >> 10 : 0);
}

#endif
