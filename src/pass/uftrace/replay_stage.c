/*
 * Rows to lines, in time order: which functions are leaves, which events belong together, at what depth each stands.
 *
 * Invariant: a held row has been consumed; rows that come while one is held are consumed only where they show nothing.
 */
#include "pass/uftrace/replay.h"

#include "flow/filter.h"

enum { MODULE_WIDTH = 16 };

/* --- cells beside duration and tid --- */

static bool module_in_maps(const struct uftrace_session *s, uint64_t time, uint64_t addr, struct text *path)
{
	size_t lo = 0, hi = s->nmaps;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->maps[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo && addr < s->maps[lo - 1].end) {
		*path = s->maps[lo - 1].path;
		return true;
	}
	for (size_t i = s->ndlopens; i-- > 0;)
		if (s->dlopens[i].time <= time && addr >= s->dlopens[i].base && addr < s->dlopens[i].end) {
			*path = s->dlopens[i].path;
			return true;
		}
	return false;
}

static struct text base_name(struct text path)
{
	ptrdiff_t slash = text_rfind(path, '/');

	return text_make(path.p + slash + 1, path.len - (size_t)(slash + 1));
}

static struct text module_of(const struct replay *r, const struct style_task *t, const struct style_frame *f)
{
	const struct event_class *c = f->cls ? trace_class(r->s.trace, f->cls) : NULL;
	const struct uftrace_session *s;
	struct text path = text_make("", 0);

	if (style_id_is_sched(f->addr))
		return text_of("[event]");
	if (c && (c->flags & CLASS_KERNEL))
		return text_of("[kernel]");
	s = r->s.data ? uftrace_session_at(r->s.data, t->tid, t->time) : NULL;
	if (s && module_in_maps(s, t->time, f->addr, &path))
		return base_name(path);
	if (c && c->module && !(c->flags & CLASS_UNKNOWN)) {
		path.p = spur_string(r->s.trace, c->module, &path.len);
		return base_name(path);
	}
	return text_of("[unknown]");
}

static bool add_cells(struct replay *r, const struct style_task *t, const struct style_frame *f, struct render_rows *out)
{
	struct spur_event *e = render_add(out);
	struct text module = text_make("", 0);

	if (!e)
		return false;
	if (f && r->fields.has[COLUMN_MODULE])
		module = module_of(r, t, f);
	*e = (struct spur_event){
		.cat = LINE_CELLS, .kind = SPUR_NATIVE, .ts = (int64_t)t->time, .id = f ? f->addr : 0, .len = f != NULL,
		.off = t->last_time ? t->time - t->last_time : 0, .dur = (int64_t)(t->time - r->s.start), .name = t->comm,
		.cls = trace_intern_n(r->s.trace, module.p, module.len < MODULE_WIDTH ? module.len : MODULE_WIDTH),
	};
	return true;
}

/* --- lines --- */

/* A line; NULL: no memory. */
static struct spur_event *add_line(struct replay *r, const struct style_task *t, const struct style_frame *f,
				   const struct spur_event *row, enum replay_line line, int32_t depth, struct render_rows *out)
{
	struct spur_event *e;

	if (r->cells && !add_cells(r, t, f, out))
		return NULL;
	e = render_add(out);
	if (!e)
		return NULL;
	*e = *row;
	e->cat = line;
	e->track = t->track;
	e->dur = 0;
	e->depth = (uint16_t)(depth < UINT16_MAX ? depth : UINT16_MAX);
	return e;
}

static bool add_newline(struct replay *r, const struct style_task *t, struct render_rows *out)
{
	bool other = r->prev_tid >= 0 && r->prev_tid != t->tid;
	struct spur_event *e;

	r->prev_tid = t->tid;
	if (!other)
		return true;
	e = render_add(out);
	if (e)
		*e = (struct spur_event){ .cat = LINE_NEWLINE, .kind = SPUR_NATIVE, .track = t->track };
	return e != NULL;
}

static bool start_line(struct replay *r, const struct style_task *t, struct render_rows *out)
{
	return !r->s.opt->task_newline || add_newline(r, t, out);
}

static int32_t column_depth(struct replay *r, struct style_task *t)
{
	int32_t offset = r->s.opt->column_offset > 0 ? r->s.opt->column_offset : 8;

	if (!r->s.opt->column_view)
		return 0;
	if (t->column < 0)
		t->column = r->columns++;
	return t->column < INT16_MAX && offset < INT16_MAX ? t->column * offset : INT16_MAX;
}

static bool add_backtrace(struct replay *r, struct style_task *t, struct render_rows *out)
{
	for (int32_t i = 0; i < t->count - 1; i++) {
		struct style_frame *f = style_frame_get(&r->s, t, i);
		struct spur_event *e;

		if (!f)
			continue;
		e = add_line(r, t, f, &(struct spur_event){ .kind = SPUR_NATIVE, .cls = f->cls }, LINE_BACKTRACE, i, out);
		if (!e)
			return false;
		e->name = f->cls ? trace_class(r->s.trace, f->cls)->name : 0;
		e->id = f->addr;
	}
	return true;
}

/* --- functions --- */

static bool hold_row(struct replay *r, const struct style_task *t, const struct spur_event *row)
{
	r->held = *row;
	r->held_task = (size_t)(t - r->s.tasks);
	r->holding = true;
	return true;
}

static bool show_open(struct replay *r, struct style_task *t, const struct spur_event *row, struct render_rows *out)
{
	struct style_frame *f = style_frame_get(&r->s, t, t->count - 1);

	if (!f)
		return true;
	if (!add_line(r, t, f, row, LINE_OPEN, t->display + column_depth(r, t), out))
		return false;
	style_show_entry(&r->s, t, f);
	return true;
}

static bool take_entry(struct replay *r, struct style_task *t, const struct spur_event *row, struct render_rows *out)
{
	struct style_frame *f = style_frame_get(&r->s, t, t->count - 1);

	if (!f)
		return true;
	style_entry(&r->s, t, f, row);
	if (!start_line(r, t, out))
		return false;
	if (r->filter && (filter_marks(r->filter, row->cls) & FILTER_MARK_BACKTRACE) && !add_backtrace(r, t, out))
		return false;
	if (r->s.opt->no_merge || f->special)
		return show_open(r, t, row, out);
	return hold_row(r, t, row);
}

static bool take_exit(struct replay *r, struct style_task *t, const struct spur_event *row, struct render_rows *out)
{
	struct style_frame *f = style_frame_get(&r->s, t, t->count);
	struct spur_event *e;
	int32_t depth;

	if (!f)
		return true;
	depth = style_show_exit(t) + column_depth(r, t);
	if (!start_line(r, t, out))
		return false;
	e = add_line(r, t, f, row, LINE_CLOSE, depth, out);
	if (e)
		e->dur = (int64_t)f->total;
	f->special = 0;
	return e != NULL;
}

/* --- events --- */

static bool show_event(struct replay *r, struct style_task *t, const struct spur_event *row, bool back, struct render_rows *out)
{
	bool external = row->kind == SPUR_LOG && row->id == UFTRACE_EV_EXTERN;
	int32_t depth = external ? 0 : t->display + column_depth(r, t);
	struct style_frame *f = style_frame_get(&r->s, t, t->count);
	struct spur_event *e;

	if (!f)
		return true;
	back = back && f->total;
	e = add_line(r, t, back ? f : NULL, row, LINE_EVENT, depth, out);
	if (e && back)
		e->dur = (int64_t)f->total;
	return e != NULL;
}

static bool take_event(struct replay *r, struct style_task *t, const struct spur_event *row, struct render_rows *out)
{
	bool sched = style_is_sched(row);

	if (!start_line(r, t, out))
		return false;
	if (sched && (row->flags & SPUR_F_OUT) && !r->s.opt->no_merge)
		return hold_row(r, t, row);
	return show_event(r, t, row, sched && (row->flags & SPUR_F_IN), out);
}

static bool take_lost(struct replay *r, struct style_task *t, const struct spur_event *row, struct render_rows *out)
{
	if (r->s.data && !t->user_count)
		return true;
	return start_line(r, t, out) && add_line(r, t, NULL, row, LINE_LOST, t->display + 1, out);
}

/* --- the held row --- */

static bool show_held(struct replay *r, struct render_rows *out)
{
	struct style_task *t = &r->s.tasks[r->held_task];

	r->holding = false;
	if (r->held.kind == SPUR_BEGIN)
		return show_open(r, t, &r->held, out);
	return show_event(r, t, &r->held, false, out);
}

static bool show_leaf(struct replay *r, struct style_task *t, const struct spur_event *row, struct render_rows *out)
{
	int32_t depth = t->display + column_depth(r, t);
	struct style_frame *f = style_frame_get(&r->s, t, t->count - 1);
	struct spur_event *e;

	r->holding = false;
	style_consume(&r->s, t, row);
	e = f ? add_line(r, t, f, &r->held, LINE_LEAF, depth, out) : NULL;
	if (!e)
		return !f;
	e->dur = (int64_t)f->total;
	f->special = 0;
	if (!row->nargs)
		return true;
	e = render_add(out);
	if (!e)
		return false;
	*e = *row;
	e->cat = LINE_VALUE;
	return true;
}

static bool show_schedule(struct replay *r, struct style_task *t, const struct spur_event *row, struct render_rows *out)
{
	struct spur_event both = r->held;

	r->holding = false;
	style_consume(&r->s, t, row);
	both.id = both.flags & SPUR_F_PREEMPTED ? UFTRACE_EV_SCHED_BOTH_PREEMPT : UFTRACE_EV_SCHED_BOTH;
	return show_event(r, t, &both, true, out);
}

/* The row ends the held one: END of the function just begun, SWITCH in after SWITCH out. */
static bool ends_held(const struct replay *r, const struct style_task *t, const struct spur_event *row)
{
	if ((size_t)(t - r->s.tasks) != r->held_task)
		return false;
	if (r->held.kind != SPUR_BEGIN)
		return style_is_sched(row) && (row->flags & SPUR_F_IN);
	if (row->kind != SPUR_END_SPAN)
		return false;
	if (!r->s.data && !(row->flags & SPUR_F_DEPTH))
		return true;
	return style_depth(row) == style_depth(&r->held);
}

/* --- rows --- */

static bool warn_back(struct replay *r, const struct style_task *t, const struct spur_event *row, struct render_rows *out)
{
	bool back = r->prev > (uint64_t)row->ts;
	struct spur_event *e;

	r->prev = (uint64_t)row->ts;
	if (!back)
		return true;
	e = render_add(out);
	if (e)
		*e = (struct spur_event){ .cat = LINE_BACK, .kind = SPUR_NATIVE, .track = t->track,
					  .depth = (uint16_t)(t->display + 1) };
	return e != NULL;
}

/* A row that the filter hides: it counts, and does not part a function from its end but where tracing goes off. */
static bool take_unseen(struct replay *r, struct style_task *t, const struct spur_event *row, struct render_rows *out)
{
	style_consume(&r->s, t, row);
	if (!(row->flags & ROW_TRACE_OFF))
		return true;
	t->display_set = false;
	return !r->holding || show_held(r, out);
}

static bool take_row(struct replay *r, struct style_task *t, const struct spur_event *row, struct render_rows *out)
{
	style_consume(&r->s, t, row);
	if (row->kind != SPUR_LOST && !warn_back(r, t, row, out))
		return false;
	if (row->kind == SPUR_LOST)
		return take_lost(r, t, row, out);
	t->last_time = t->time;
	t->time = (uint64_t)row->ts;
	if (row->kind == SPUR_BEGIN)
		return take_entry(r, t, row, out);
	if (row->kind == SPUR_END_SPAN)
		return take_exit(r, t, row, out);
	return take_event(r, t, row, out);
}

/* Even if it is not shown, a row at or above the held one's level means that the end did not follow at once. */
static bool parts_held(const struct replay *r, const struct style_task *t, const struct spur_event *row)
{
	return r->holding && (size_t)(t - r->s.tasks) == r->held_task && row->stream == r->held.stream && r->s.data &&
	       style_depth(&r->held) >= style_depth(row);
}

static bool stage_row(struct replay *r, const struct spur_event *row, struct render_rows *out)
{
	struct style_task *t = style_task_find(&r->s, row);

	if (!t)
		return false;
	if (r->holding && (row->flags & ROW_MUTED) && !show_held(r, out))
		return false;
	if (!r->holding)
		r->s.last = (size_t)(t - r->s.tasks);
	if (style_is_outside(&r->s, t, row)) {
		style_consume(&r->s, t, row);
		return true;
	}
	if (style_is_hidden(&r->s, t, row) && !parts_held(r, t, row))
		return take_unseen(r, t, row, out);
	if (r->holding && style_is_hidden(&r->s, t, row))
		return show_held(r, out) && take_unseen(r, t, row, out);
	if (r->holding) {
		if (ends_held(r, t, row))
			return r->held.kind == SPUR_BEGIN ? show_leaf(r, t, row, out) : show_schedule(r, t, row, out);
		if (!show_held(r, out))
			return false;
		r->s.last = (size_t)(t - r->s.tasks);
	}
	return take_row(r, t, row, out);
}

bool replay_stage(void *self, struct spur_event *rows, size_t n, struct render_rows *out)
{
	struct replay *r = self;

	for (size_t i = 0; i < n; i++)
		if (!stage_row(r, &rows[i], out)) {
			r->failed = true;
			return false;
		}
	if (!n && r->holding)
		r->failed = !show_held(r, out);
	return !r->failed;
}

bool replay_flat_stage(void *self, struct spur_event *rows, size_t n, struct render_rows *out)
{
	struct replay *r = self;

	for (size_t i = 0; i < n; i++) {
		const struct spur_event *row = &rows[i];
		struct style_task *t = style_task_find(&r->s, row);
		bool outside = t && style_is_outside(&r->s, t, row);
		struct style_frame *f;
		struct spur_event *e;

		r->failed = r->failed || !t;
		if (!t)
			return false;
		style_consume(&r->s, t, row);
		r->s.last = (size_t)(t - r->s.tasks);
		f = style_frame_get(&r->s, t, (int32_t)(row->kind == SPUR_BEGIN || row->kind == SPUR_END_SPAN ?
								style_depth(row) : 0));
		if (outside || !f)
			continue;
		e = render_add(out);
		if (!e)
			return false;
		*e = *row;
		e->dur = (int64_t)f->total;
		e->track = t->track;
		e->cat = (uint32_t)r->count++;
	}
	return true;
}
