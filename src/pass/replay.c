/*
 * replay: what happened, call by call in time order, nested: how long each took, on which thread,
 * with arguments, return values, events, time off the CPU and losses. A call without anything
 * inside is one line, at the time of its begin.
 *
 * Each feed is a lane: its rows are staged (stacks, depth, durations, which calls are leaves) and
 * rendered at once, on any core; flow/lines.h merges the text. Where a track's next row is not in
 * sight a call may still turn out to be a leaf: rows since the oldest such call wait in the lane's
 * window, WINDOW at most; a call that takes longer is shown open. So what is folded depends on the
 * rows alone.
 */
#include <assert.h>

#include "base/pool.h"
#include "flow/ends.h"
#include "flow/fit.h"
#include "flow/lines.h"
#include "flow/walk.h"
#include "pass/replay.h"
#include "render/calltext.h"

enum {
	WINDOW = 4096, /* rows; a power of two */
	WINDOW_FIRST = 2,
	REST_TEXT = 256 << 10, /* bytes of a block of ENDs that the data lacks, about */
};

/*
 * `marks` of rows in the window, beside enum calltext_mark. `user` of a shown row: of an END the
 * class whose name is shown, that of the call it ends; of a BEGIN with CALLTEXT_HAS_VALUE the
 * distance to the END in the window.
 */
enum window_mark {
	WINDOW_TAKEN = CALLTEXT_OWN, /* shown together with an earlier row */
	WINDOW_PENDING = 2 * CALLTEXT_OWN, /* may become a leaf */
};
static_assert(CALLTEXT_IS_LEAF + CALLTEXT_IS_LEFT + CALLTEXT_IS_CALLER + CALLTEXT_HAS_VALUE +
			      (int)WINDOW_TAKEN + (int)WINDOW_PENDING ==
		      4 * CALLTEXT_OWN - 1,
	      "each mark of a shown row has a bit of its own");

/* Of all lanes. */
struct replay {
	const struct pass_env *env;
	const struct replay_options *own;
	struct calltext text;
	bool any; /* rows came (atomic) */
};

/* One feed. */
struct lane {
	struct replay *r;
	struct lines *out; /* of this call */
	struct calltext_pen pen;
	struct shown_row
		*window; /* row number i is at i % cap. INVARIANT: first <= next <= first + cap */
	size_t cap;
	uint64_t first, next;
	uint64_t rows; /* that came */
	struct ends ends;
	uint32_t track; /* the feed's main one, which has .. */
	struct pair_stack stack;
	struct pair rest; /* stacks of other tracks */
	uint32_t low, high; /* tracks seen; at the end: those with open calls */
	bool more; /* calls are still open at the end */
};

/* Takes what is over off the stacks of other tracks: no line is due for it. */
static __attribute__((noinline)) void spans_over(const struct lane *l, int64_t now)
{
	struct walk_end e;

	for (struct pair_stack *s = l->rest.used; s; s = s->next)
		while (!l->r->env->trace->options.as_stored && walk_over(s, now, &e))
			;
}

/* The row's stack; NULL: out of memory. `user` of it: number + 1 of a pending row. */
static inline struct pair_stack *lane_stack(struct lane *l, const struct spur_event *row)
{
	struct pair_stack *s =
		row->track == l->track ? &l->stack : pair_at(&l->rest, row->track);

	if (__builtin_expect(s != NULL, 1))
		return s;
	if (pair_is_full(&l->rest))
		spans_over(l, row->ts);
	return pair_stack_make(&l->rest, row->track);
}

/* Renders a row that is decided. */
static inline bool lane_show(struct lane *l, const struct shown_row *shown)
{
	const struct spur_event *row = &shown->row;
	const bool has_value = shown->marks & CALLTEXT_HAS_VALUE;
	struct calltext *c = &l->r->text;
	const struct shown_name *n =
		calltext_name(c, row->kind == SPUR_END_SPAN ? shown->user : row->cls);
	struct out *o = &l->out->text;

	if (!n)
		return false;
	if (row->kind == SPUR_BEGIN && !(shown->marks & CALLTEXT_IS_CALLER)) {
		calltext_begin(c, &l->pen, shown, n, o);
		if (has_value)
			return true;
	} else if (row->kind == SPUR_END_SPAN) {
		(has_value ? calltext_return : calltext_end)(c, &l->pen, shown, n, o);
	} else {
		(row->kind == SPUR_SPAN ? calltext_begin : calltext_event)(c, &l->pen, shown, n, o);
	}
	return lines_mark(l->out, row->ts, row->track);
}

/* Shows all that is decided, up to the first row that is not. */
static bool window_flush(struct lane *l)
{
	while (l->first < l->next) {
		const struct shown_row *shown = &l->window[l->first % l->cap];

		assert(l->next - l->first <= l->cap);
		if (shown->marks & WINDOW_PENDING)
			break;
		if (!(shown->marks & WINDOW_TAKEN) && !lane_show(l, shown))
			return false;
		if (shown->row.kind == SPUR_BEGIN && shown->marks & CALLTEXT_HAS_VALUE) {
			struct shown_row end = l->window[(l->first + shown->user) % l->cap];

			assert(end.row.kind == SPUR_END_SPAN && end.marks & WINDOW_TAKEN);
			end.marks = CALLTEXT_HAS_VALUE;
			end.row.ts = shown->row.ts;
			if (!lane_show(l, &end))
				return false;
		}
		l->first++;
	}
	return true;
}

/*
 * The row of the track's last BEGIN or SWITCH out if nothing has come after it, no longer pending;
 * or NULL.
 */
static inline struct shown_row *pending_take(struct lane *l, struct pair_stack *s)
{
	uint64_t number = (uint64_t)(uintptr_t)s->user;
	struct shown_row *row;

	if (__builtin_expect(!number, 1))
		return NULL;
	s->user = NULL;
	row = &l->window[(number - 1) % l->cap];
	row->marks &= ~(uint32_t)WINDOW_PENDING;
	return row;
}

static bool window_grow(struct lane *l)
{
	size_t cap = l->cap ? 2 * l->cap : WINDOW_FIRST;
	struct shown_row *window = pool_alloc(cap * sizeof(*window));

	if (!window)
		return false;
	for (uint64_t i = l->first; i < l->next; i++)
		window[i % cap] = l->window[i % l->cap];
	pool_free(l->window, l->cap * sizeof(*window));
	l->window = window;
	l->cap = cap;
	return true;
}

static bool window_put(struct lane *l, const struct shown_row *shown)
{
	if (l->next - l->first == l->cap && l->cap < WINDOW && !window_grow(l))
		return false;
	if (l->next - l->first == l->cap) {
		pending_take(l, lane_stack(l, &l->window[l->first % l->cap].row));
		if (!window_flush(l))
			return false;
	}
	l->window[l->next++ % l->cap] = *shown;
	return true;
}

/* Shows a row that is decided, or puts it behind those that wait. */
static inline bool lane_add(struct lane *l, const struct shown_row *shown)
{
	return __builtin_expect(l->first == l->next, 1) ? lane_show(l, shown)
							: window_put(l, shown);
}

static uint16_t stack_depth(const struct pair_stack *s)
{
	return s->calls < UINT16_MAX ? (uint16_t)s->calls : UINT16_MAX;
}

static int64_t frame_length(const struct pair_frame *f, int64_t end)
{
	uint64_t length = walk_length(f, end);

	return length > INT64_MAX ? INT64_MAX : (int64_t)length;
}

/* A frame ends that no row ends: a line says so. */
static bool stage_implied(struct lane *l, const struct pair_stack *s, const struct pair_frame *f,
			  struct walk_end e, uint32_t track, unsigned flags)
{
	const struct shown_row row = { .row = { .kind = SPUR_END_SPAN,
						.ts = e.ts,
						.dur = frame_length(f, e.ts),
						.track = track,
						.cls = f->cls,
						.depth = stack_depth(s),
						.cpu = SPUR_NO_CPU,
						.flags = (uint16_t)flags },
				       .user = f->cls };

	return f->flags & (PAIR_MISSING | PAIR_SPAN | PAIR_SCHED) || lane_add(l, &row);
}

static bool stage_due(struct lane *l, struct pair_stack *s, const struct spur_event *row)
{
	const struct pair_frame *f;
	struct walk_end e;

	while ((f = walk_due(s, row, &e)))
		if (!stage_implied(l, s, f, e, row->track, SPUR_F_IMPLIED))
			return false;
	return true;
}

/* The callers of a function that asks for them, innermost first. */
static bool stage_backtrace(struct lane *l, const struct pair_stack *s,
			    const struct spur_event *row)
{
	for (size_t i = s->n - 1; i-- > 0;) {
		struct shown_row line = { .row = *row, .marks = CALLTEXT_IS_CALLER };

		if (s->frames[i].flags & (PAIR_MISSING | PAIR_SCHED))
			continue;
		line.row.cls = s->frames[i].cls;
		line.row.nargs = 0;
		if (!lane_add(l, &line))
			return false;
	}
	return true;
}

static bool stage_open(struct lane *l, struct pair_stack *s, struct shown_row *shown)
{
	struct spur_event *row = &shown->row;
	const struct shown_name *n = calltext_name(&l->r->text, row->cls);
	bool sched = row->kind == SPUR_SWITCH;
	struct pair_frame *f;

	pending_take(l, s);
	if (!n || !stage_due(l, s, row))
		return false;
	/* Outside of calls nothing is known of what waits. */
	if (sched && !s->calls)
		return window_flush(l);
	f = walk_push(s, row);
	if (!f)
		return false;
	f->user = n->plain ? (uintptr_t)n : 0;
	row->depth = (uint16_t)(stack_depth(s) - !sched);
	if (!sched && (n->marks & FILTER_MARK_BACKTRACE) && !stage_backtrace(l, s, row))
		return false;
	if (!window_flush(l))
		return false;
	if (row->kind == SPUR_SPAN || l->r->own->no_merge)
		return lane_add(l, shown);
	shown->marks |= WINDOW_PENDING;
	if (!window_put(l, shown))
		return false;
	s->user = (void *)(uintptr_t)l->next;
	return true;
}

static bool stage_close(struct lane *l, struct pair_stack *s, struct shown_row *shown)
{
	struct spur_event *row = &shown->row;
	bool due = s->n;
	size_t before = s->n;
	const struct pair_frame *f;
	struct shown_row *leaf = pending_take(l, s);

	if (!stage_due(l, s, row))
		return false;
	due = before != s->n;
	f = walk_match(s, row);
	row->depth = stack_depth(s);
	row->dur = f ? frame_length(f, row->ts) : 0;
	shown->user = f && (row->flags & SPUR_F_ANY) ? f->cls : row->cls;
	if (f && leaf && !due && (!row->nargs || l->next - l->first < WINDOW)) {
		leaf->marks |= CALLTEXT_IS_LEAF;
		leaf->marks |= row->flags & SPUR_F_TAIL ? CALLTEXT_IS_LEFT : 0;
		leaf->row.dur = row->dur;
		if (row->nargs && row->kind == SPUR_END_SPAN) {
			uint64_t number =
				l->next - 1 - (l->next - 1 - (uint64_t)(leaf - l->window)) % l->cap;

			leaf->marks |= CALLTEXT_HAS_VALUE;
			leaf->user = (uint32_t)(l->next - number);
			shown->marks |= WINDOW_TAKEN;
			if (!window_put(l, shown))
				return false;
		}
		return window_flush(l);
	}
	if (!f && row->kind == SPUR_SWITCH)
		return window_flush(l);
	row->flags |= f ? 0 : SPUR_F_ORPHAN;
	return window_flush(l) && lane_add(l, shown);
}

/* The thread ends: its calls do too. Behind them no time off the CPU begins. */
static bool stage_exit(struct lane *l, struct pair_stack *s, struct shown_row *shown)
{
	struct spur_event *row = &shown->row;

	pending_take(l, s);
	if (!stage_due(l, s, row) || !window_flush(l))
		return false;
	row->depth = 0;
	return row->kind == SPUR_SWITCH || lane_add(l, shown);
}

static bool stage_row(struct lane *l, const struct spur_event *row)
{
	struct pair_stack *s = lane_stack(l, row);
	struct shown_row shown = { .row = *row };

	if (!s)
		return false;
	if (row_ends_thread(row))
		return stage_exit(l, s, &shown);
	if (row->kind == SPUR_BEGIN || row->kind == SPUR_SPAN ||
	    (row->kind == SPUR_SWITCH && (row->flags & SPUR_F_OUT)))
		return stage_open(l, s, &shown);
	if (row->kind == SPUR_END_SPAN || row->kind == SPUR_SWITCH)
		return stage_close(l, s, &shown);
	pending_take(l, s);
	walk_past(s, row->ts);
	shown.row.depth = stack_depth(s);
	return window_flush(l) && lane_add(l, &shown);
}

/* The track at hand in registers. */
struct view {
	struct pair_stack *stack; /* NULL: out of memory */
	struct fit fit; /* of rows without arguments; nothing fits where the quick path is closed */
	size_t depth;
	uint32_t track;
};

/* What the quick path does not show. */
static uint64_t quick_mask(void)
{
	const struct spur_event row = { .nargs = UINT8_MAX, .flags = SPUR_F_TAIL };
	uint64_t mask;

	memcpy(&mask, (const char *)&row + offsetof(struct spur_event, kind), sizeof(mask));
	return mask;
}

static __attribute__((noinline)) struct view view_make(struct lane *l, const struct spur_event *row)
{
	struct pair_stack *s = lane_stack(l, row);
	struct view v = { .track = row->track };

	if (!s || (!s->cap && !pair_grow_frames(s, 1)))
		return v;
	l->low = row->track < l->low ? row->track : l->low;
	l->high = row->track > l->high ? row->track : l->high;
	if (l->r->text.quick && (l->pen.track != row->track || !l->pen.len))
		calltext_retrack(&l->r->text, &l->pen, row->track);
	v.stack = s;
	v.depth = s->n;
	v.fit = fit_load(s, row);
	v.fit.mask |= quick_mask();
	if (v.fit.limit > s->frames + CALLTEXT_DEPTH)
		v.fit.limit = s->frames + CALLTEXT_DEPTH;
	/* n == calls, nothing waits, default columns */
	if (!l->r->text.quick || !l->pen.len || l->r->own->no_merge ||
	    l->first != l->next || s->user || s->n != s->calls || s->n > CALLTEXT_DEPTH)
		fit_close(&v.fit);
	return v;
}

/* Field by field, so that the compiler keeps the caller's view in registers. */
static inline __attribute__((always_inline)) bool view_load(struct view *v, struct lane *l,
							    const struct spur_event *row)
{
	const struct view new = view_make(l, row);

	v->stack = new.stack;
	v->fit.next = new.fit.next;
	v->fit.limit = new.fit.limit;
	v->fit.begin = new.fit.begin;
	v->fit.mask = new.fit.mask;
	v->fit.level = new.fit.level;
	v->depth = new.depth;
	v->track = new.track;
	return v->stack;
}

static inline __attribute__((always_inline)) void view_store(const struct view *v)
{
	fit_store(v->stack, v->fit.next);
}

/*
 * What most rows are: calls and returns without arguments that fit the stack as it is, of which the
 * next row (there is one) tells whether the call is a leaf. Returns how many rows are done: 0 where
 * stage_row() must do it. `*shown` becomes false if out of memory.
 */
static inline __attribute__((always_inline)) size_t
quick_rows(struct lane *l, struct view *v, const struct spur_event *row, bool *shown)
{
	const uint64_t bits = fit_bits(&v->fit, row), begin = v->fit.begin;
	const struct spur_event *next = row + 1;
	const struct shown_name *n;

	if (bits != begin) {
		const struct pair_frame *f = v->fit.next - 1;

		if (!fit_is_end(&v->fit, bits) || !fit_matches(&v->fit, row) || !f->user)
			return 0;
		fit_pop(&v->fit, 0);
		v->depth--;
		calltext_quick(&l->pen, (const struct shown_name *)(uintptr_t)f->user,
			       CALLTEXT_CLOSE, walk_length(f, row->ts), v->depth, &l->out->text);
		*shown = lines_mark(l->out, row->ts, row->track);
		return 1;
	}
	n = calltext_name(&l->r->text, row->cls);
	if (!n || !n->plain || !fit_has_room(&v->fit) || next->track != row->track)
		return 0;
	if (next->kind == SPUR_END_SPAN) {
		if (!fit_is_leaf(&v->fit, fit_bits(&v->fit, next)) || next->cls != row->cls)
			return 0;
		calltext_quick(&l->pen, n, CALLTEXT_LEAF,
			       next->ts > row->ts ? (uint64_t)next->ts - (uint64_t)row->ts : 0,
			       v->depth, &l->out->text);
		*shown = lines_mark(l->out, row->ts, row->track);
		return 2;
	}
	fit_push(&v->fit, row, (uintptr_t)n);
	calltext_quick(&l->pen, n, CALLTEXT_OPEN, 0, v->depth, &l->out->text);
	v->depth++;
	*shown = lines_mark(l->out, row->ts, row->track);
	return 1;
}

/* What is open when the data ends. A run that was told to stop knows nothing of ends. */
static bool stage_rest(struct lane *l)
{
	const volatile int *stop = l->r->env->pipe.stop;
	bool cut = stop && *stop;
	const struct pair_frame *f;
	struct walk_end e;

	for (uint64_t i = l->first; i < l->next; i++)
		if (l->window[i % l->cap].marks & WINDOW_PENDING)
			pending_take(l, lane_stack(l, &l->window[i % l->cap].row));
	if (!window_flush(l))
		return false;
	l->more = false;
	for (; l->low <= l->high && !cut && !l->more; l->low += !l->more) {
		struct pair_stack *s = l->low == l->track ? &l->stack : pair_at(&l->rest, l->low);

		while (s && !(l->more = l->out->text.len > REST_TEXT) &&
		       (f = walk_rest(s, ends_of(&l->ends, l->low), &e)))
			if (!stage_implied(l, s, f, e, l->low,
					   SPUR_F_IMPLIED | SPUR_F_ORPHAN))
				return false;
	}
	return true;
}

static bool lane_rest(const void *lane)
{
	return ((const struct lane *)lane)->more;
}

static bool lane_rows(void *lane, struct spur_event *rows, size_t n, struct lines *out)
{
	struct lane *l = lane;

	struct spur_event *row = rows, *last;
	bool shown = true;
	struct view v;

	l->out = out;
	if (!n)
		return stage_rest(l);
	last = rows + n - 1;
	if (!view_load(&v, l, row))
		return false;
	while (row <= last) {
		size_t done = 0;

		if (__builtin_expect(row->track != v.track, 0)) {
			view_store(&v);
			if (!view_load(&v, l, row))
				return false;
		}
		if (__builtin_expect(row < last, 1))
			done = quick_rows(l, &v, row, &shown);
		if (__builtin_expect(!done, 0)) {
			view_store(&v);
			shown = stage_row(l, row) && view_load(&v, l, row);
			done = 1;
		}
		if (__builtin_expect(!shown, 0))
			return false;
		row += done;
	}
	view_store(&v);
	l->rows += n;
	if (lines_are_many(l->r->text.env.trace))
		spur_args_free(&l->pen.args);
	return ends_rows(&l->ends, rows, n);
}

static void *lane_open(void *self, const struct feed *f)
{
	struct lane *l = pool_alloc(sizeof(*l));

	if (!l)
		return NULL;
	l->r = self;
	l->track = f ? f->track : SPUR_NONE;
	pair_init(&l->rest);
	l->low = UINT32_MAX;
	ends_begin(&l->ends, l->r->text.env.trace);
	return l;
}

static void lane_close(void *lane)
{
	struct lane *l = lane;

	if (l->rows)
		__atomic_store_n(&l->r->any, true, __ATOMIC_RELAXED);
	pair_stack_free(&l->stack);
	pair_free(&l->rest);
	pool_free(l->window, l->cap * sizeof(*l->window));
	ends_free(&l->ends);
	spur_args_free(&l->pen.args);
	pool_free(l, sizeof(*l));
}

static void replay_free(struct replay *r)
{
	calltext_free(&r->text);
	mem_free(r);
}

static enum spur_status replay_run(struct pass_env *env)
{
	const struct pipe_lines lines = {
		.open = lane_open,
		.rows = lane_rows,
		.rest = lane_rest,
		.close = lane_close,
		.gaps = replay_options(env)->task_newline,
		.limit = env->pipe.limit,
	};
	struct pipe_options pipe = env->pipe;
	struct replay *r;
	enum spur_status st;

	if (env->opt->form != FORM_TEXT)
		return err_set(env->err, SPUR_ERR_USAGE,
			       "replay: expected text; `cat` has the events as --jsonl and --csv");
	r = mem_alloc(sizeof(*r));
	if (!r)
		return err_nomem(env->err);
	r->env = env;
	r->own = replay_options(env);
	st = calltext_init(&r->text, pass_render(env), &r->own->lines);
	if (st == SPUR_OK) {
		calltext_header(&r->text);
		pipe.limit = 0;
		if (pipe_run_lines(env->trace, &pipe, &lines, r, env->out) == SPUR_FAIL)
			st = err_nomem(env->err);
	}
	if (st == SPUR_OK && !r->any)
		st = SPUR_WARN;
	replay_free(r);
	return st;
}

static void replay_prepare(const struct pass_env *env, struct spur_options *open)
{
	open->call_libraries = replay_options(env)->lines.libname;
	open->source_lines |= replay_options(env)->lines.srcline;
}

const struct spur_pass spur_pass_replay = {
	.name = "replay",
	.limits_rows = true,
	.tracks = true,
	.analysis = true,
	.options_size = sizeof(struct replay_options),
	.limits_input = true,
	.prepare = replay_prepare,
	.run = replay_run,
};
