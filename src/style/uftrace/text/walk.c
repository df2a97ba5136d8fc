/* The loop of what is not replay: see walk.h. */
#include "style/uftrace/text/walk.h"

#include <assert.h>

/*
 * What a function's begin and end do to the stack beyond counting, around the record's own
 * treatment.
 */
static bool walk_shown(struct style_walk *w, struct style_task *t, const struct spur_event *row)
{
	struct style_frame *f = NULL;

	if (row->kind == SPUR_BEGIN) {
		f = style_frame_get(w->s, t, t->count - 1);
		if (!f)
			return true;
		style_entry(w->s, t, f, row);
	} else if (row->kind == SPUR_END_SPAN) {
		if (!style_frame_get(w->s, t, t->count))
			return true;
		style_show_exit(t);
	}
	if (!w->record(w->self, t, row))
		return false;
	if (f)
		style_show_entry(w->s, t, f);
	return true;
}

/* SPEC uftrace/off-events: sums count events while tracing is off. */
static bool is_hidden(const struct style_walk *w, struct style_task *t,
		      const struct spur_event *row)
{
	if (style_type_of(row) == TYPE_EVENT && (w->s->marks & ROW_TRACE_OFF))
		return false;
	return w->plain ? w->s->marks & ROW_UNSEEN : style_is_hidden(w->s, t, row);
}

/* Takes any row. Returns false if out of memory. */
static bool style_walk_row(struct style_walk *w, struct style_task *t, const struct spur_event *row)
{
	const bool hidden = style_is_outside(w->s, t, row) || is_hidden(w, t, row);
	style_consume(w->s, t, row);
	w->s->last = (size_t)(t - w->s->tasks);
	t->last_perf = style_source_of(w->s, row) == FROM_PERF;
	if (t->last_perf)
		w->s->perf_time = (uint64_t)row->ts;
	t->last_time = (uint64_t)row->ts;
	if (hidden)
		return true;
	return w->plain ? w->record(w->self, t, row) : walk_shown(w, t, row);
}

static void call_begins(struct style *s, struct style_task *t, const struct spur_event *row)
{
	t->frames[t->count] = (struct style_frame){
		.addr = style_addr(row),
		.total = (uint64_t)row->ts,
		.cls = row->cls,
		.valid = true,
		.used = t->used,
	};
	t->count++;
	t->user_count++;
	t->used++;
	s->last = (size_t)(t - s->tasks);
	t->last_perf = false;
	t->last_time = (uint64_t)row->ts;
}

static void call_ends(struct style *s, struct style_task *t, const struct spur_event *row)
{
	struct style_frame *const f = &t->frames[t->count - 1];

	f->total = f->valid ? (uint64_t)row->ts - f->total : 0;
	f->valid = false;
	f->hidden = false;
	if (f->child > f->total)
		f->child = f->total;
	if (t->count > 1)
		f[-1].child += f->total;
	t->count--;
	t->user_count -= t->user_count > 0;
	t->used = f->used;
	t->display -= t->display > 0;
	t->user_display -= t->user_display > 0;
	s->last = (size_t)(t - s->tasks);
	t->last_perf = false;
	t->last_time = (uint64_t)row->ts;
}

/*
 * A row for which all that may be unusual about a call is as usual: it is of the task's own file
 * and not marked, and the row before was a user's call, too.
 */
static inline bool is_usual(const struct style_walk *w, const struct style_task *t,
			    const struct spur_event *row)
{
	const struct style *s = w->s;

	return row->kind <= SPUR_END_SPAN && !s->marks && !w->plain && t->context == CONTEXT_USER &&
	       style_source_of(s, row) == FROM_USER && t->started && t->display_set &&
	       !t->lost_seen && !t->hidden && s->started && (uint64_t)row->ts >= s->start;
}

/*
 * Takes most calls: those that open or close a frame and do nothing else. Returns false, having
 * done nothing, for other rows; else *good gets what record() returns. INVARIANT: it does what
 * style_walk_row() would do.
 */
static bool style_walk_call(struct style_walk *w, struct style_task *t,
			    const struct spur_event *row, bool *good)
{
	struct style *s = w->s;

	static_assert(SPUR_BEGIN == 0 && SPUR_END_SPAN == 1, "calls are the lowest kinds");
	if (!is_usual(w, t, row))
		return false;
	if (row->kind == SPUR_BEGIN) {
		if (t->count < 0 || (size_t)t->count >= t->cap || t->used >= STYLE_LEVELS ||
		    row->cls >= s->specials_cap || s->specials[row->cls] != SPECIAL_NONE)
			return false;
		call_begins(s, t, row);
		*good = w->ends_only || w->record(w->self, t, row);
		t->display++;
		t->user_display++;
		return true;
	}
	if (t->count <= 0 || (size_t)t->count > t->cap || t->frames[t->count - 1].deep)
		return false;
	call_ends(s, t, row);
	*good = w->record(w->self, t, row);
	return true;
}

static bool walk_row(struct style_walk *w, const struct spur_event *row)
{
	struct style_task *t = style_task_find(w->s, row);
	bool good;

	if (!t)
		return false;
	if (w->before)
		w->before(w->self, t, row);
	return style_walk_call(w, t, row, &good) ? good : style_walk_row(w, t, row);
}

bool style_walk_rows(void *walk, struct marked_rows rows)
{
	struct style_walk *w = walk;

	for (size_t i = 0; i < rows.n; i++) {
		w->s->marks = row_marks(rows.marks, i);
		if (!walk_row(w, &rows.rows[i]) || w->s->failed) {
			w->failed = true;
			return false;
		}
	}
	return true;
}

/*
 * SPEC uftrace/range-end: functions that are open at the end of a time range end with it where
 * that is a time stamp; where it is an elapsed time they do not end
 */
static uint64_t end_time(const struct style_walk *w, const struct style_task *t)
{
	const bool by_own_time = w->by_own_time || w->s->time_filter;
	uint64_t last = t->last_perf && !by_own_time ? w->s->perf_time : t->last_time;
	int64_t from, to = INT64_MAX;

	if (w->filter)
		filter_span(w->filter, &from, &to);
	if (to != INT64_MAX && w->s->given->range && !strchr(w->s->given->range, '.'))
		return 0;
	return to <= 0 || to == INT64_MAX || (w->by_own_time && (uint64_t)to > last)
		       ? last
		       : (uint64_t)to - 1;
}

static bool end_task(struct style_walk *w, struct style_task *t)
{
	uint64_t last = end_time(w, t);

	while (--t->count >= 0) {
		struct style_frame *f = style_frame_get(w->s, t, t->count);

		if (!f || (!f->addr && !f->cls) || f->total > last)
			continue;
		f->total = last - f->total;
		if (f->child > f->total)
			f->total = f->child;
		if (t->count > 0)
			f[-1].child += f->total;
		if (!w->end(w->self, t, f, last))
			return false;
	}
	return true;
}

bool style_walk_end(struct style_walk *w)
{
	for (size_t i = 0; i < w->s->ntasks; i++)
		if (w->s->tasks[i].count > 0 && !w->s->tasks[i].silent &&
		    !end_task(w, &w->s->tasks[i])) {
			w->failed = true;
			return false;
		}
	return true;
}
