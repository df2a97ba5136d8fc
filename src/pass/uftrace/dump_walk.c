/* The loop that the formats of dump other than the raw one share. */
#include "pass/uftrace/dump.h"

/* What a function's begin and end do to the stack beyond counting, around the record's own treatment. */
static bool walk_shown(struct dump_walk *w, struct style_task *t, const struct spur_event *row)
{
	struct style_frame *f = NULL;
	uint64_t addr = style_addr(row);

	if (row->kind == SPUR_BEGIN) {
		f = style_frame_get(w->s, t, t->count - 1);
		if (!f)
			return true;
		style_entry(w->s, t, f, row);
	} else if (row->kind == SPUR_END_SPAN) {
		if (!style_frame_get(w->s, t, t->count))
			return true;
		style_show_exit(t);
	} else if (style_is_sched(row)) {
		addr = row->id;
	}
	if (!w->record(w->self, t, row, addr))
		return false;
	if (f)
		style_show_entry(w->s, t, f);
	return true;
}

bool dump_walk_rows(struct dump_walk *w, const struct spur_event *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct spur_event *row = &rows[i];
		struct style_task *t = style_task_find(w->s, row);
		bool hidden;

		if (!t) {
			w->failed = true;
			return false;
		}
		hidden = style_is_outside(w->s, t, row) || style_is_hidden(w->s, t, row);
		style_consume(w->s, t, row);
		w->s->last = (size_t)(t - w->s->tasks);
		t->last_time = (uint64_t)row->ts;
		if (!hidden && !walk_shown(w, t, row)) {
			w->failed = true;
			return false;
		}
	}
	return true;
}

static bool end_task(struct dump_walk *w, struct style_task *t)
{
	while (--t->count >= 0) {
		struct style_frame *f = style_frame_get(w->s, t, t->count);
		const struct event_class *c = f && f->cls ? trace_class(w->s->trace, f->cls) : NULL;
		struct spur_event row = {
			.kind = SPUR_END_SPAN, .track = t->track, .ts = (int64_t)t->last_time, .id = f ? f->addr : 0,
			.cls = f ? f->cls : 0, .name = c ? c->name : 0,
		};

		if (!f || !f->addr || f->total > t->last_time)
			continue;
		f->total = t->last_time - f->total;
		if (f->child > f->total)
			f->total = f->child;
		if (t->count > 0)
			f[-1].child += f->total;
		if (f->hidden)
			continue;
		style_show_exit(t);
		if (!w->record(w->self, t, &row, f->addr))
			return false;
	}
	return true;
}

bool dump_walk_end(struct dump_walk *w)
{
	for (size_t i = 0; i < w->s->ntasks; i++)
		if (w->s->tasks[i].count > 0 && !w->s->tasks[i].hidden && !end_task(w, &w->s->tasks[i])) {
			w->failed = true;
			return false;
		}
	return true;
}
