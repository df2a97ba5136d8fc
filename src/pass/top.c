/*
 * top: the calls and spans that lasted longest. Only complete ones: those whose begin and end are
 * both in the data. How many were not is said below the table.
 *
 * Each worker keeps the longest of its feeds in a heap, whose root is the first to be replaced.
 * Calls of one duration are ordered by what does not depend on how feeds were read.
 */
#include "pass/top.h"

#include <stdlib.h>
#include <string.h>

#include "flow/ends.h"
#include "flow/walk.h"
#include "pass/fold/gather.h"
#include "pass/fold/group.h"
#include "render/table.h"

struct top_call {
	uint64_t dur, self; /* ns */
	int64_t ts;
	uint64_t depth; /* calls around it */
	uint32_t track, cls;
};

/* What one thread found. */
struct top_worker {
	struct spur_trace *trace;
	struct pair pair;
	struct gather gather;
	struct top_call *heap; /* `n` of `cap` at most; the root is the last in the order */
	size_t n, cap, room;
	uint64_t rows, calls, incomplete;
	uint32_t low, high; /* tracks of the feed */
};

/* --- the longest --- */

static int track_order(const struct spur_trace *t, uint32_t a, uint32_t b)
{
	const struct spur_track *x = trace_track(t, a), *y = trace_track(t, b);

	if (a == b || !x || !y)
		return 0;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return strcmp(trace_string(t, x->name, NULL), trace_string(t, y->name, NULL));
}

/* Returns a negative number if `a` is shown before `b`. */
static int call_order(const struct spur_trace *t, const struct top_call *a,
		      const struct top_call *b)
{
	int order;

	if (a->dur != b->dur)
		return a->dur > b->dur ? -1 : 1;
	if (a->ts != b->ts)
		return a->ts < b->ts ? -1 : 1;
	if (a->depth != b->depth)
		return a->depth < b->depth ? -1 : 1;
	order = track_order(t, a->track, b->track);
	if (order || a->cls == b->cls)
		return order;
	return strcmp(trace_string(t, trace_class(t, a->cls)->name, NULL),
		      trace_string(t, trace_class(t, b->cls)->name, NULL));
}

static void heap_swap(struct top_worker *w, size_t i, size_t j)
{
	const struct top_call c = w->heap[i];

	w->heap[i] = w->heap[j];
	w->heap[j] = c;
}

static void heap_down(struct top_worker *w, size_t i)
{
	for (;;) {
		size_t last = i;

		for (size_t j = 2 * i + 1; j <= 2 * i + 2 && j < w->n; j++)
			if (call_order(w->trace, &w->heap[j], &w->heap[last]) > 0)
				last = j;
		if (last == i)
			return;
		heap_swap(w, i, last);
		i = last;
	}
}

/* Returns false if out of memory. */
static bool heap_add(struct top_worker *w, const struct top_call *c)
{
	if (w->n == w->cap) {
		if (call_order(w->trace, c, &w->heap[0]) < 0) {
			w->heap[0] = *c;
			heap_down(w, 0);
		}
		return true;
	}
	if (!mem_grow((void **)&w->heap, &w->room, w->n + 1, sizeof(*w->heap), TOP_MAX))
		return false;
	w->heap[w->n++] = *c;
	for (size_t i = w->n - 1; i && call_order(w->trace, &w->heap[i], &w->heap[(i - 1) / 2]) > 0;
	     i = (i - 1) / 2)
		heap_swap(w, i, (i - 1) / 2);
	return true;
}

/* --- reading --- */

/* A frame was popped. `complete`: the data has its end. Returns false if out of memory. */
static bool call_end(struct top_worker *w, struct pair_stack *s, uint32_t track,
		     const struct pair_frame *f, struct walk_end end)
{
	const uint64_t dur = walk_length(f, end.ts);
	bool good = true;

	if (!(f->flags & (PAIR_SCHED | PAIR_MISSING))) {
		w->incomplete += end.unfinished;
		w->calls++;
		if (!end.unfinished && !(w->n == w->cap && dur < w->heap[0].dur))
			good = heap_add(w, &(struct top_call){ .dur = dur,
							       .self = walk_self(f, dur),
							       .ts = f->ts,
							       .depth = s->n,
							       .track = track,
							       .cls = f->cls });
	}
	if (!end.uncounted)
		walk_credit(s, f, end.ts);
	return good;
}

static bool row_add(struct top_worker *w, const struct spur_event *row)
{
	struct pair_stack *s = pair_stack(&w->pair, row->track);
	const struct pair_frame *f;
	struct walk_end end;

	if (!s)
		return false;
	w->low = row->track < w->low ? row->track : w->low;
	w->high = row->track > w->high ? row->track : w->high;
	while ((f = walk_due(s, row, &end)))
		if (!call_end(w, s, row->track, f, end))
			return false;
	if (walk_opens(s, row))
		return walk_push(s, row);
	f = walk_match(s, row);
	if (f)
		return call_end(w, s, row->track, f, (struct walk_end){ .ts = row->ts });
	w->incomplete += row->kind == SPUR_END_SPAN;
	return true;
}

static bool top_take(void *self, const struct spur_event *rows, size_t n)
{
	struct top_worker *w = self;

	for (size_t i = 0; i < n; i++)
		if (walk_takes(&rows[i]) && !row_add(w, &rows[i]))
			return false;
	return true;
}

static bool top_feed_begin(void *self, const struct feed *f)
{
	struct top_worker *w = self;

	(void)f;
	w->gather.take = top_take;
	w->gather.self = w;
	w->low = UINT32_MAX;
	w->high = 0;
	return true;
}

static bool top_rows(void *self, struct spur_event *rows, size_t n)
{
	struct top_worker *w = self;

	w->rows += n;
	return gather_add(&w->gather, rows, n);
}

static bool top_feed_end(void *self, const struct feed *f)
{
	struct top_worker *w = self;
	struct walk_end end;

	(void)f;
	if (!gather_flush(&w->gather))
		return false;
	for (size_t track = w->low; track <= w->high && track < w->pair.cap; track++) {
		struct pair_stack *s = pair_at(&w->pair, track);
		const struct pair_frame *frame;

		/* A SPAN has its end; how long the others last is not asked. */
		while (s && (frame = walk_rest(s, INT64_MAX, &end)))
			if (!call_end(w, s, (uint32_t)track, frame, end))
				return false;
	}
	pair_clear(&w->pair);
	return true;
}

/* --- showing --- */

enum column {
	COL_DURATION,
	COL_SELF,
	COL_START,
	COL_PID,
	COL_TID,
	COL_DEPTH,
	COL_FUNCTION,
	COL_MODULE,
	COL_CATEGORY
};

static const struct table_column columns[] = {
	[COL_DURATION] = { "duration", TABLE_TIME },
	[COL_SELF] = { "self", TABLE_TIME },
	[COL_START] = { "start", TABLE_WHEN },
	[COL_PID] = { "pid", TABLE_ID },
	[COL_TID] = { "tid", TABLE_ID },
	[COL_DEPTH] = { "depth", TABLE_ID },
	[COL_FUNCTION] = { "function", TABLE_TEXT },
	[COL_MODULE] = { "module", TABLE_TEXT },
	[COL_CATEGORY] = { "category", TABLE_TEXT },
	{ 0 },
};

static const int ties[] = {
	COL_DURATION, COL_START, COL_DEPTH, COL_PID, COL_TID, COL_FUNCTION, -1
};

static struct table_value cell_value(const void *self, const void *row, int column)
{
	const struct spur_trace *t = self;
	const struct top_call *c = row;
	const struct spur_track *thread;

	switch (column) {
	case COL_DURATION:
		return table_u64(c->dur);
	case COL_SELF:
		return table_u64(c->self);
	case COL_START:
		return table_i64(c->ts);
	case COL_DEPTH:
		return table_u64(c->depth);
	case COL_PID:
		return table_id(trace_pid_of(t, c->track));
	case COL_TID:
		thread = trace_track(t, trace_thread_of(t, c->track));
		return table_id(thread ? thread->tid : -1);
	default:
		return (struct table_value){ 0 };
	}
}

static void cell_text(const void *self, const void *row, int column, struct out *o)
{
	const struct spur_trace *t = self;
	const struct event_class *c = trace_class(t, ((const struct top_call *)row)->cls);
	const struct group g = group_make(t, c);
	const char *text = g.name;
	size_t len = g.name_len;

	if (column == COL_MODULE) {
		text = g.module;
		len = g.module_len;
	} else if (column == COL_CATEGORY) {
		text = trace_string(t, c->cat, &len);
	}
	out_bytes(o, text, len);
}

/* Moves what other workers found to the first one. Returns false if out of memory. */
static bool top_join(struct top_worker *workers, unsigned n)
{
	for (unsigned i = 1; i < n; i++) {
		workers->rows += workers[i].rows;
		workers->calls += workers[i].calls;
		workers->incomplete += workers[i].incomplete;
		for (size_t k = 0; k < workers[i].n; k++)
			if (!heap_add(workers, &workers[i].heap[k]))
				return false;
	}
	return true;
}

static enum spur_status top_show(struct pass_env *env, const struct top_worker *w)
{
	struct table table = { .env = pass_render(env),
			       .name = "top",
			       .columns = columns,
			       .value = cell_value,
			       .text = cell_text,
			       .ties = ties,
			       .self = env->trace };
	const bool text = env->opt->form == FORM_TEXT;
	enum spur_status st;

	st = table_options(&table,
			   text ? "duration,self,start,tid,function"
				: "duration,self,start,pid,tid,depth,function,module,category",
			   "duration");
	if (st != SPUR_FAIL)
		st = when_init(&table.when, env->trace, env->opt->time, env->err);
	if (st != SPUR_FAIL)
		st = table_write(&table, w->heap, w->n, sizeof(*w->heap));
	if (st != SPUR_FAIL && text && w->incomplete)
		out_printf(env->out,
			   "\nThe trace lacks the begin or the end of %llu more calls, which are "
			   "ignored.\n",
			   (unsigned long long)w->incomplete);
	return st;
}

static enum spur_status top_read(struct pass_env *env, struct top_worker *workers, unsigned n)
{
	static const struct pipe_fold fold = { .feed_begin = top_feed_begin,
					       .rows = top_rows,
					       .feed_end = top_feed_end };
	const int wanted = top_options(env)->longest;
	void **states = mem_array(n, sizeof(*states));
	enum spur_status st = SPUR_FAIL;
	int64_t start;

	/* Once the rows are read, the first one is no longer known, which times are relative to. */
	if (trace_start(env->trace, &start) == SPUR_FAIL) {
		mem_free(states);
		return err_nomem(env->err);
	}
	for (unsigned i = 0; i < n && states; i++) {
		workers[i].trace = env->trace;
		workers[i].cap = wanted ? (size_t)wanted : TOP_DEFAULT;
		states[i] = &workers[i];
	}
	if (states)
		st = pipe_run_feeds(env->trace, &env->pipe, &fold, states);
	mem_free(states);
	return st == SPUR_FAIL || !top_join(workers, n) ? err_nomem(env->err) : SPUR_OK;
}

static enum spur_status top_run(struct pass_env *env)
{
	const unsigned n = pipe_workers(env->trace, &env->pipe);
	struct top_worker *workers;
	enum spur_status st;

	if (top_options(env)->longest > TOP_MAX)
		return err_set(env->err, SPUR_ERR_USAGE, "--longest: expected at most %d, found %d",
			       TOP_MAX, top_options(env)->longest);
	workers = mem_array(n, sizeof(*workers));
	if (!workers)
		return err_nomem(env->err);
	st = top_read(env, workers, n);
	if (st != SPUR_FAIL && workers->rows && !workers->calls)
		pass_note_no_calls(env, workers->rows);
	if (st != SPUR_FAIL)
		st = top_show(env, workers);
	if (st != SPUR_FAIL && (!workers->rows || (env->filter && !workers->calls)))
		st = SPUR_WARN;
	for (unsigned i = 0; i < n; i++) {
		pair_free(&workers[i].pair);
		gather_free(&workers[i].gather);
		mem_free(workers[i].heap);
	}
	mem_free(workers);
	return st;
}

static enum pass_store top_takes_store(const struct pass_env *env)
{
	(void)env;
	return PASS_STORE;
}

const struct spur_pass spur_pass_top = {
	.name = "top",
	.options_size = sizeof(struct top_options),
	.analysis = true,
	.takes_store = top_takes_store,
	.run = top_run,
};
