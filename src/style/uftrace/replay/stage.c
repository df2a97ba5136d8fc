/*
 * Rows to lines, in time order: which functions are leaves, which events belong together, at what
 * depth each stands.
 *
 * A row whose end may follow at once is held. Of a function, the line is already there, the last of
 * all, and becomes that of a leaf if the end comes; where a batch ends with one, its line is taken
 * back until the next.
 * Invariant: a held row has been consumed; rows that come while one is held are consumed only where
 * they show nothing.
 */
#include "style/uftrace/replay/replay.h"

enum { MODULE_WIDTH = 16 };

/* --- cells beside duration and tid --- */

static struct text module_of(const struct replay *r, const struct style_task *t,
			     const struct style_frame *f)
{
	const struct event_class *c = f->cls ? trace_class(r->s.trace, f->cls) : NULL;
	const struct uftrace_session *s;
	const struct uftrace_map *map;
	struct text path = text_make("", 0);

	if (style_id_is_sched(f->addr))
		return text_of("[event]");
	if (c && (c->flags & CLASS_KERNEL))
		return text_of("[kernel]");
	s = r->s.data ? uftrace_session_at(r->s.data, t->tid, t->time) : NULL;
	map = s ? uftrace_map_at(s, f->addr) : NULL;
	if (map)
		return style_base_name(map->path);
	if (c && c->module && !(c->flags & CLASS_UNKNOWN)) {
		path.p = trace_string(r->s.trace, c->module, &path.len);
		return style_base_name(path);
	}
	return text_of("[unknown]");
}

static bool add_cells(struct replay *r, const struct style_task *t, const struct style_frame *f,
		      struct render_rows *out)
{
	struct shown_row *e = render_add(out);
	struct text module = text_make("", 0);

	if (!e)
		return false;
	if (f && r->fields.has[COLUMN_MODULE])
		module = module_of(r, t, f);
	e->marks = LINE_CELLS;
	e->row = (struct spur_event){
		.kind = SPUR_NATIVE,
		.ts = (int64_t)t->time,
		.id = f ? f->addr : 0,
		.len = f != NULL,
		.off = t->last_time ? t->time - t->last_time : 0,
		.dur = (int64_t)(t->time - (r->s.zero_known ? (uint64_t)r->s.zero : r->s.start)),
		.name = t->comm,
		.cls = trace_intern_n(r->s.trace, module.p,
				      module.len < MODULE_WIDTH ? module.len : MODULE_WIDTH),
	};
	return e->row.cls || !module.len;
}

/* --- lines --- */

/*
 * The texts of a function are made before its first line is rendered. Returns false if out of
 * memory.
 */
static inline bool name_ready(struct replay *r, const struct spur_event *row)
{
	const struct replay_name *n = replay_name(r, row->cls);

	return __builtin_expect(n && n->text, 1) || replay_make_name(r, row);
}

static inline void fill_line(struct shown_row *e, const struct spur_event *row, uint32_t line,
			     uint32_t track, uint64_t dur, int32_t depth)
{
	e->row = *row;
	e->marks = line;
	e->row.track = track;
	e->row.dur = (int64_t)dur;
	e->row.depth = (uint16_t)(depth < UINT16_MAX ? depth : UINT16_MAX);
}

/* A line. Returns NULL if out of memory. */
static struct shown_row *add_line(struct replay *r, const struct style_task *t,
				  const struct style_frame *f, const struct spur_event *row,
				  enum replay_line line, int32_t depth, struct render_rows *out)
{
	struct shown_row *e;

	if (row->kind <= SPUR_END_SPAN && !name_ready(r, row))
		return NULL;
	if (r->cells && !add_cells(r, t, f, out))
		return NULL;
	e = render_add(out);
	if (e)
		fill_line(e, row, line, t->track, 0, depth);
	return e;
}

static bool add_newline(struct replay *r, const struct style_task *t, struct render_rows *out)
{
	bool other = r->prev_tid >= 0 && r->prev_tid != t->tid;
	struct shown_row *e;

	r->prev_tid = t->tid;
	if (!other)
		return true;
	e = render_add(out);
	if (e)
		*e = (struct shown_row){ .row = { .kind = SPUR_NATIVE, .track = t->track },
					 .marks = LINE_NEWLINE };
	return e != NULL;
}

static inline bool start_line(struct replay *r, const struct style_task *t, struct render_rows *out)
{
	return !r->own->task_newline || add_newline(r, t, out);
}

static int32_t column_depth(struct replay *r, struct style_task *t)
{
	int32_t offset = r->s.own->column_offset > 0 ? r->s.own->column_offset : 8;

	if (!r->s.own->column_view)
		return 0;
	if (t->column < 0)
		t->column = r->columns++;
	return t->column < INT16_MAX && offset < INT16_MAX ? t->column * offset : INT16_MAX;
}

static bool add_backtrace(struct replay *r, struct style_task *t, struct render_rows *out)
{
	for (int32_t i = 0; i < t->count - 1; i++) {
		struct style_frame *f = style_frame_get(&r->s, t, i);
		struct shown_row *e;

		if (!f)
			continue;
		e = add_line(r, t, f, &(struct spur_event){ .kind = SPUR_NATIVE, .cls = f->cls },
			     LINE_BACKTRACE, i, out);
		if (!e)
			return false;
		e->row.name = f->cls ? trace_class(r->s.trace, f->cls)->name : 0;
		e->row.id = f->addr;
	}
	return true;
}

/* --- functions --- */

static void hold_row(struct replay *r, const struct style_task *t, const struct spur_event *row)
{
	r->held = (struct replay_held){
		.task = (size_t)(t - r->s.tasks),
		.stream = row->stream,
		.depth = style_depth(row),
		.kind = row->kind == SPUR_BEGIN ? HELD_FUNCTION : HELD_SWITCH,
	};
}

static bool read_entry(struct replay *r, struct style_task *t, const struct spur_event *row,
		       struct render_rows *out)
{
	struct style_frame *f = style_frame_get(&r->s, t, t->count - 1);

	if (!f)
		return true;
	style_entry(&r->s, t, f, row);
	if (!start_line(r, t, out))
		return false;
	if (r->filter && (filter_marks(r->filter, row->cls) & FILTER_MARK_BACKTRACE) &&
	    !add_backtrace(r, t, out))
		return false;
	if (!add_line(r, t, f, row, LINE_OPEN, t->display + column_depth(r, t), out))
		return false;
	if (r->own->no_merge || f->special)
		style_show_entry(&r->s, t, f);
	else
		hold_row(r, t, row);
	return true;
}

static bool read_exit(struct replay *r, struct style_task *t, const struct spur_event *row,
		      struct render_rows *out)
{
	struct style_frame *f = style_frame_get(&r->s, t, t->count);
	struct shown_row *e;
	int32_t depth;

	if (!f)
		return true;
	depth = style_show_exit(t) + column_depth(r, t);
	if (!start_line(r, t, out))
		return false;
	e = add_line(r, t, f, row, LINE_CLOSE, depth, out);
	if (e)
		e->row.dur = (int64_t)f->total;
	f->special = 0;
	return e != NULL;
}

/* --- events --- */

static bool show_event(struct replay *r, struct style_task *t, const struct spur_event *row,
		       bool back, struct render_rows *out)
{
	bool external = row->kind == SPUR_LOG && row->id == UFTRACE_EV_EXTERN;
	int32_t depth = external ? 0 : t->display + column_depth(r, t);
	struct style_frame *f = style_frame_get(&r->s, t, t->count);
	struct shown_row *e;

	if (!f)
		return true;
	back = back && f->total;
	e = add_line(r, t, back ? f : NULL, row, LINE_EVENT, depth, out);
	if (e && back)
		e->row.dur = (int64_t)f->total;
	return e != NULL;
}

static bool read_event(struct replay *r, struct style_task *t, const struct spur_event *row,
		       struct render_rows *out)
{
	bool sched = style_is_sched(row);

	if (!start_line(r, t, out))
		return false;
	if (sched && (row->flags & SPUR_F_OUT) && !r->own->no_merge) {
		hold_row(r, t, row);
		r->held_switch = *row;
		return true;
	}
	return show_event(r, t, row, sched && (row->flags & SPUR_F_IN), out);
}

static bool read_lost(struct replay *r, struct style_task *t, const struct spur_event *row,
		      struct render_rows *out)
{
	if (r->s.data && !t->user_count)
		return true;
	return start_line(r, t, out) && add_line(r, t, NULL, row, LINE_LOST, t->display + 1, out);
}

/* --- the held row --- */

/* It stays alone. */
static bool settle_held(struct replay *r, struct render_rows *out)
{
	struct style_task *t = &r->s.tasks[r->held.task];
	enum replay_held_kind kind = r->held.kind;
	struct style_frame *f;

	r->held.kind = HELD_NONE;
	if (kind == HELD_SWITCH)
		return show_event(r, t, &r->held_switch, false, out);
	f = style_frame_get(&r->s, t, t->count - 1);
	if (f)
		style_show_entry(&r->s, t, f);
	return true;
}

/* The line of the held function becomes a leaf's. */
static bool close_leaf(struct replay *r, struct style_task *t, const struct spur_event *row,
		       struct render_rows *out)
{
	struct shown_row *line = &out->rows[out->count - 1], *value;
	struct style_frame *f = style_frame_get(&r->s, t, t->count - 1);

	r->held.kind = HELD_NONE;
	style_consume(&r->s, t, row);
	line->marks = LINE_LEAF;
	line->row.dur = f ? (int64_t)f->total : 0;
	if (f)
		f->special = 0;
	if (!row->nargs)
		return true;
	value = render_add(out);
	if (!value)
		return false;
	value->row = *row;
	value->marks = LINE_VALUE;
	return true;
}

static bool show_schedule(struct replay *r, struct style_task *t, const struct spur_event *row,
			  struct render_rows *out)
{
	struct spur_event both = r->held_switch;

	r->held.kind = HELD_NONE;
	style_consume(&r->s, t, row);
	both.id = both.flags & SPUR_F_PREEMPTED ? UFTRACE_EV_SCHED_BOTH_PREEMPT
						: UFTRACE_EV_SCHED_BOTH;
	return show_event(r, t, &both, true, out);
}

/* The row ends the held one: END of the function just begun, SWITCH in after SWITCH out. */
static bool ends_held(const struct replay *r, const struct style_task *t,
		      const struct spur_event *row)
{
	if ((size_t)(t - r->s.tasks) != r->held.task)
		return false;
	if (r->held.kind == HELD_SWITCH)
		return style_is_sched(row) && (row->flags & SPUR_F_IN);
	if (row->kind != SPUR_END_SPAN)
		return false;
	if (!r->s.data && !(row->flags & SPUR_F_DEPTH))
		return true;
	return style_depth(row) == r->held.depth;
}

/*
 * Even if it is not shown, a row at or above the held one's level means that the end did not follow
 * at once.
 */
static bool parts_held(const struct replay *r, const struct style_task *t,
		       const struct spur_event *row)
{
	return (size_t)(t - r->s.tasks) == r->held.task && row->stream == r->held.stream &&
	       r->s.data && r->held.depth >= style_depth(row);
}

/* --- rows --- */

static bool warn_back(struct replay *r, const struct style_task *t, const struct spur_event *row,
		      struct render_rows *out)
{
	bool back = r->prev > (uint64_t)row->ts;
	struct shown_row *e;

	r->prev = (uint64_t)row->ts;
	if (!back)
		return true;
	e = render_add(out);
	if (e)
		*e = (struct shown_row){ .row = { .kind = SPUR_NATIVE,
						  .track = t->track,
						  .depth = (uint16_t)(t->display + 1) },
					 .marks = LINE_BACK };
	return e != NULL;
}

/*
 * A row that the filter hides: it counts, and does not part a function from its end but where
 * tracing goes off.
 */
static bool read_unseen(struct replay *r, struct style_task *t, const struct spur_event *row,
			struct render_rows *out)
{
	style_consume(&r->s, t, row);
	if (row->kind != SPUR_BEGIN ||
	    (r->s.marks & (ROW_TRACE_OFF | ROW_MUTED)) != (ROW_TRACE_OFF | ROW_MUTED))
		return true;
	t->display_set = false;
	return !r->held.kind || settle_held(r, out);
}

static bool read_row(struct replay *r, struct style_task *t, const struct spur_event *row,
		     struct render_rows *out)
{
	r->s.last = (size_t)(t - r->s.tasks);
	style_consume(&r->s, t, row);
	if (row->kind != SPUR_LOST && !warn_back(r, t, row, out))
		return false;
	if (row->kind == SPUR_LOST)
		return read_lost(r, t, row, out);
	t->last_time = t->time;
	t->time = (uint64_t)row->ts;
	if (row->kind == SPUR_BEGIN)
		return read_entry(r, t, row, out);
	if (row->kind == SPUR_END_SPAN)
		return read_exit(r, t, row, out);
	return read_event(r, t, row, out);
}

/* Any row. */
static bool stage_row(struct replay *r, const struct spur_event *row, struct render_rows *out)
{
	struct style_task *t = style_task_find(&r->s, row);
	bool hidden;

	if (!t)
		return false;
	if (!r->held.kind)
		r->s.last = (size_t)(t - r->s.tasks);
	if (style_is_outside(&r->s, t, row)) {
		style_consume(&r->s, t, row);
		return true;
	}
	if (r->held.kind && row->kind != SPUR_BEGIN && (r->s.marks & ROW_MUTED) &&
	    !settle_held(r, out))
		return false;
	hidden = style_is_hidden(&r->s, t, row);
	if (r->held.kind && hidden && parts_held(r, t, row) && !settle_held(r, out))
		return false;
	if (hidden)
		return read_unseen(r, t, row, out);
	if (r->held.kind && ends_held(r, t, row))
		return r->held.kind == HELD_FUNCTION ? close_leaf(r, t, row, out)
						     : show_schedule(r, t, row, out);
	if (r->held.kind && !settle_held(r, out))
		return false;
	return read_row(r, t, row, out);
}

/* --- the usual --- */

/*
 * What is usual: a user function of a task in order, in the default columns, without filter. Then
 * accounting comes down to a few stores. The children's time is not kept: replay shows none of it.
 */
static inline bool is_usual(const struct replay *r, const struct style_task *t,
			    const struct spur_event *row)
{
	return row->kind <= SPUR_END_SPAN && t->started && !t->lost_seen &&
	       t->context == CONTEXT_USER && t->display_set && (uint64_t)row->ts >= r->prev &&
	       !t->hidden && style_source_of(&r->s, row) == FROM_USER;
}

/* False: it is not usual after all; nothing has changed. */
static inline bool quick_entry(struct replay *r, struct style_task *t, const struct spur_event *row,
			       struct render_rows *out)
{
	const struct replay_name *n = replay_name(r, row->cls);
	struct style_frame *f;

	if ((size_t)t->count >= t->cap || t->used >= STYLE_LEVELS || out->count == out->cap || !n ||
	    !n->text || n->special || r->held.kind == HELD_SWITCH)
		return false;
	if (r->held.kind == HELD_FUNCTION)
		settle_held(r, out);
	f = &t->frames[t->count++];
	*f = (struct style_frame){
		.addr = style_addr(row),
		.total = (uint64_t)row->ts,
		.cls = row->cls,
		.valid = true,
		.used = t->used++,
	};
	t->user_count++;
	t->last_time = t->time;
	t->time = r->prev = (uint64_t)row->ts;
	r->s.last = (size_t)(t - r->s.tasks);
	fill_line(&out->rows[out->count++], row, LINE_OPEN, t->track, 0, t->display);
	r->held = (struct replay_held){ r->s.last, row->stream, style_depth(row), HELD_FUNCTION };
	return true;
}

static inline bool quick_exit(struct replay *r, struct style_task *t, const struct spur_event *row,
			      struct render_rows *out)
{
	bool held = r->held.kind != HELD_NONE, leaf;
	struct style_frame *f;

	if (t->count <= 0 || (size_t)t->count > t->cap)
		return false;
	f = &t->frames[t->count - 1];
	if (f->hidden || row->nargs || out->count == out->cap || r->held.kind == HELD_SWITCH ||
	    !f->valid || t->user_count <= 0 || f->special || row->cls != f->cls)
		return false;
	leaf = held && (size_t)(t - r->s.tasks) == r->held.task &&
	       style_depth(row) == r->held.depth;
	if (held && !leaf)
		settle_held(r, out);
	f->total = (uint64_t)row->ts - f->total;
	f->valid = false;
	t->used = f->used;
	t->count--;
	t->user_count--;
	if (leaf) {
		r->held.kind = HELD_NONE;
		out->rows[out->count - 1].marks = LINE_LEAF;
		out->rows[out->count - 1].row.dur = (int64_t)f->total;
		return true;
	}
	t->last_time = t->time;
	t->time = r->prev = (uint64_t)row->ts;
	r->s.last = (size_t)(t - r->s.tasks);
	t->display -= t->display > 0;
	t->user_display -= t->user_display > 0;
	fill_line(&out->rows[out->count++], row, LINE_CLOSE, t->track, f->total, t->display);
	return true;
}

static inline bool quick_row(struct replay *r, const struct spur_event *row,
			     struct render_rows *out)
{
	struct style_task *t;

	if (!r->quick || row->track >= r->s.index_cap || !r->s.index[row->track])
		return false;
	t = &r->s.tasks[r->s.index[row->track] - 1];
	if (!is_usual(r, t, row))
		return false;
	return row->kind == SPUR_BEGIN ? quick_entry(r, t, row, out) : quick_exit(r, t, row, out);
}

/* The line of a function that is held goes to the next batch. */
static void keep_held(struct replay *r, struct render_rows *out)
{
	size_t n = 1 + r->cells;

	if (r->held.kind != HELD_FUNCTION)
		return;
	out->count -= n;
	memcpy(r->kept, &out->rows[out->count], n * sizeof(r->kept[0]));
}

static bool put_held(struct replay *r, struct render_rows *out)
{
	for (size_t i = 0; r->held.kind == HELD_FUNCTION && i < 1u + r->cells; i++) {
		struct shown_row *e = render_add(out);

		if (!e)
			return false;
		*e = r->kept[i];
	}
	return true;
}

bool replay_stage(void *self, struct marked_rows in, struct render_rows *out)
{
	const struct spur_event *rows = in.rows;
	const size_t n = in.n;
	struct replay *r = self;
	bool good = put_held(r, out);

	for (size_t i = 0; good && i < n; i++) {
		if (quick_row(r, &rows[i], out))
			continue;
		r->s.marks = row_marks(in.marks, i);
		good = stage_row(r, &rows[i], out) && !r->s.failed;
	}
	if (good && !n && r->held.kind)
		good = settle_held(r, out);
	r->shown |= out->count > 0;
	if (good)
		keep_held(r, out);
	r->failed = !good;
	return good;
}

/* --- --flat --- */

/* SPEC uftrace/flat: -F, -N, -D and triggers hide nothing in the flat layout; other options do. */
static bool flat_hides(const struct replay *r, const struct spur_event *row)
{
	const struct filter_spec *given = r->s.given;

	return (given->no_event && style_type_of(row) == TYPE_EVENT) ||
	       (given->no_sched && style_is_sched(row)) ||
	       (row->kind != SPUR_BEGIN && (r->s.marks & ROW_MUTED));
}

bool replay_flat_stage(void *self, struct marked_rows in, struct render_rows *out)
{
	struct replay *r = self;

	for (size_t i = 0; i < in.n; i++) {
		const struct spur_event *row = &in.rows[i];
		struct style_task *t = style_task_find(&r->s, row);
		bool outside = t && style_is_outside(&r->s, t, row);
		struct style_frame *f;
		struct shown_row *e = NULL;

		r->s.marks = row_marks(in.marks, i);
		if (t) {
			style_consume(&r->s, t, row);
			r->s.last = (size_t)(t - r->s.tasks);
			f = style_frame_get(&r->s, t, (int32_t)style_depth(row));
			if (outside || !f || flat_hides(r, row))
				continue;
			e = render_add(out);
		}
		r->shown = true;
		r->failed = !e || r->s.failed;
		if (r->failed)
			return false;
		fill_line(e, row, (uint32_t)r->count++, t->track, f->total, (int32_t)row->depth);
	}
	return true;
}
