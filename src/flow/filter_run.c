/*
 * Rows through a filter's stages (filter_parts.h). What is said of a class comes from a table; per
 * track there are the open functions and what follows from them.
 */
#include <assert.h>
#include <string.h>

#include "base/map64.h"
#include "flow/filter_parts.h"

enum { SCOPE_DEPTH = 1 << 24 };

enum scope_flag {
	SCOPE_IN = 1, /* counted in `in` */
	SCOPE_OUT = 2, /* counted in `out` */
	SCOPE_UNSEEN = 4, /* its BEGIN did not pass, so its END does not */
	SCOPE_GAP = 8, /* its BEGIN did not pass, but its END may */
};

struct scope_frame {
	uint32_t depth;
	int32_t left; /* of the scope, as it was before */
	uint32_t flags;
	uint32_t cls;
};

/*
 * Invariant: in and out are the numbers of open frames with SCOPE_IN and SCOPE_OUT; `left` is how
 * many levels more may be shown.
 */
struct scope {
	struct scope_frame *frames;
	size_t n, cap;
	uint32_t in, out;
	int32_t left;
	struct pair_spans spans;
	struct innermost *index;
};

struct track_state {
	uint32_t track;
	bool passes; /* by tid, pid, thread name */
	bool preempted; /* off the CPU against its will: the SWITCH in belongs to that */
	struct scope scope;
	struct hold_track hold;
	struct where_track where;
};

struct filter_run {
	struct filter *filter;
	bool pick, hold, scope, where, last; /* the stages to run */
	bool enabled; /* trace_on, trace_off */
	struct map64 index; /* track to its state */
	struct track_state *current;
	struct track_state **states;
	size_t nstates, states_cap;
	struct hold queue;
	struct row_list out; /* of the hold stage */
	struct where_run where_run;
	struct marked_rows rest; /* rows that passed and are still to be handed out */
	uint8_t *marks; /* of the rows that came without */
	size_t marks_cap;
	struct spur_args args;
};

struct filter_run *filter_run_new(struct filter *f, enum filter_part part)
{
	struct filter_run *r = mem_alloc(sizeof(*r));

	if (!r)
		return NULL;
	r->filter = f;
	r->enabled = !f->trace_off;
	r->queue.marked = r->where_run.marked = f->keeps_unseen;
	r->pick = part != FILTER_MERGED && f->by_row;
	r->hold = part != (f->shared ? FILTER_LOCAL : FILTER_MERGED) && f->holds;
	r->scope = part != FILTER_LOCAL && f->scopes;
	r->where = part != FILTER_LOCAL && f->where;
	r->last = part != FILTER_LOCAL && f->last;
	return r;
}

void filter_run_free(struct filter_run *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->nstates; i++) {
		mem_free(r->states[i]->scope.frames);
		innermost_free(&r->states[i]->scope.index);
		hold_track_free(&r->states[i]->hold);
		pair_stack_free(&r->states[i]->where.stack);
		mem_free(r->states[i]);
	}
	mem_free(r->states);
	map64_free(&r->index);
	hold_free(&r->queue);
	where_run_free(&r->where_run);
	mem_free(r->out.rows);
	mem_free(r->out.marks);
	mem_free(r->marks);
	spur_args_free(&r->args);
	mem_free(r);
}

static struct track_state *state_find(struct filter_run *r, uint32_t track)
{
	struct map64_slot *slot = map64_put(&r->index, track);
	struct track_state *s;

	if (!slot)
		return NULL;
	if (slot->value) {
		r->current = r->states[slot->value - 1];
		return r->current;
	}
	if (!mem_grow((void **)&r->states, &r->states_cap, r->nstates + 1,
		      sizeof(struct track_state *), UINT32_MAX))
		return NULL;
	s = mem_alloc(sizeof(*s));
	if (!s)
		return NULL;
	s->track = track;
	s->passes = filter_track_passes(r->filter, track);
	s->scope.left = r->filter->depth;
	r->states[r->nstates++] = s;
	slot->value = r->nstates;
	r->current = s;
	return s;
}

static inline struct track_state *state_of(struct filter_run *r, uint32_t track)
{
	if (__builtin_expect(r->current && r->current->track == track, 1))
		return r->current;
	return state_find(r, track);
}

static bool is_event(unsigned kind)
{
	static const uint32_t kinds = 1u << SPUR_INSTANT | 1u << SPUR_COUNTER | 1u << SPUR_LOG |
				      1u << SPUR_SWITCH | 1u << SPUR_WAKEUP | 1u << SPUR_SAMPLE |
				      1u << SPUR_OBJECT;

	return kinds >> kind & 1;
}

/* SPEC uftrace/no-sched-preempt: the SWITCH in after an involuntary SWITCH out goes with it */
static bool switch_is_preempted(struct track_state *s, const struct spur_event *row)
{
	bool before = s->preempted;

	if (row->flags & SPUR_F_OUT)
		s->preempted = row->flags & SPUR_F_PREEMPTED;
	else
		s->preempted = false;
	return row->flags & SPUR_F_OUT ? s->preempted : before;
}

static bool row_is_libcall(const struct filter *f, const struct spur_event *row)
{
	return (kind_is_call(row->kind) || row->kind == SPUR_SPAN) && row->cls &&
	       (trace_class(f->trace, row->cls)->flags & CLASS_LIBRARY);
}

static bool row_is_kernel(const struct filter *f, const struct spur_event *row)
{
	return row->kind == SPUR_LOST ||
	       (row->cls && (trace_class(f->trace, row->cls)->flags & CLASS_KERNEL));
}

static bool pick_rows(struct filter_run *r, struct row_list *l)
{
	const struct filter *f = r->filter;
	/* An open end lets the latest time of all pass too. */
	const int64_t last = f->to - (f->to != INT64_MAX && f->to != INT64_MIN);
	size_t w = 0;

	for (size_t i = 0; i < l->count; i++) {
		const struct spur_event *row = &l->rows[i];

		if ((row->ts < f->from) | (row->ts > last))
			continue;
		if ((f->no_event && is_event(row->kind)) ||
		    (f->no_sched && row->kind == SPUR_SWITCH)) {
			if (!f->keeps_unseen)
				continue;
			row_list_mark(l, i, ROW_UNSEEN | ROW_MUTED);
		}
		if (f->kernel_only && !row_is_kernel(f, row)) {
			if (!f->keeps_unseen)
				continue;
			row_list_mark(l, i, ROW_UNSEEN);
		}
		if (f->by_track) {
			struct track_state *s = state_of(r, row->track);

			if (!s)
				return false;
			if (!s->passes)
				continue;
			if (f->no_sched_preempt && row->kind == SPUR_SWITCH &&
			    switch_is_preempted(s, row)) {
				if (!f->keeps_unseen)
					continue;
				row_list_mark(l, i, ROW_UNSEEN | ROW_MUTED);
			}
		}
		row_list_keep(l, w++, i);
	}
	l->count = w;
	return true;
}

static bool hold_rows(struct filter_run *r, struct row_list *l, bool end)
{
	r->out.count = 0;
	for (size_t i = 0; i < l->count; i++) {
		struct track_state *s = state_of(r, l->rows[i].track);

		r->queue.marks = (uint8_t)row_marks(l->marks, i);
		if (!s || !hold_row(r->filter, &r->queue, &s->hold, &l->rows[i], &r->out))
			return false;
	}
	if (end && !hold_end(&r->queue, &r->out))
		return false;
	l->rows = r->out.rows;
	l->marks = r->out.marks;
	l->count = r->out.count;
	return true;
}

static __attribute__((noinline)) void scope_unindex(struct scope *s)
{
	innermost_pop(&s->index, s->n, s->frames[s->n].cls);
}

static inline void scope_pop(struct scope *s)
{
	const struct scope_frame *fr = &s->frames[--s->n];

	s->in -= (fr->flags & SCOPE_IN) != 0;
	s->out -= (fr->flags & SCOPE_OUT) != 0;
	s->left = fr->left;
	if (__builtin_expect(s->index != NULL, 0))
		scope_unindex(s);
}

static uint32_t frame_class(const void *frames, size_t i)
{
	return ((const struct scope_frame *)frames)[i].cls;
}

/*
 * An END of the innermost function of its class: closes those inside it. Returns false if none is open; then all
 * functions may lie inside it (see flow/pair.h).
 */
static __attribute__((noinline)) bool scope_match_class(struct scope *s,
							const struct spur_event *row)
{
	const struct frame_list list = { s->frames, s->n, frame_class };
	size_t found;

	if (s->n && s->frames[s->n - 1].cls == row->cls)
		return true;
	found = innermost_find(&s->index, &list, row->cls);
	while ((found || pair_is_outer(row, &s->spans)) && s->n > found)
		scope_pop(s);
	return found;
}

/* Closes what the END implies ended; true: the topmost frame is what it ends. */
static inline bool scope_match(struct scope *s, const struct spur_event *row)
{
	uint32_t top = s->n ? s->frames[s->n - 1].depth : 0, depth;

	if (__builtin_expect(pair_is_by_class(row), 0))
		return scope_match_class(s, row);
	depth = filter_depth(row, s->n > 0, top);
	if (__builtin_expect(s->n && top == depth, 1))
		return true;
	while (s->n && s->frames[s->n - 1].depth > depth)
		scope_pop(s);
	return s->n && s->frames[s->n - 1].depth == depth;
}

/*
 * What -F, -N, -L, --lib say of a function that opens now; sets the frame's counters. True: shown
 * so far.
 */
static bool scope_enter(const struct filter *f, struct scope *s, struct scope_frame *fr,
			uint32_t flags)
{
	if (flags & RULE_OUT) {
		s->out++;
		fr->flags = SCOPE_OUT;
		return false;
	}
	if (flags & RULE_IN) {
		s->in++;
		fr->flags = SCOPE_IN;
		s->left = f->depth;
	} else if (f->mode_in && !s->in) {
		return false;
	}
	if ((flags & RULE_NOT_PLACE) || (f->mode_place && !(flags & RULE_PLACE)))
		return false;
	return !f->mode_library || (flags & RULE_LIBRARY);
}

/*
 * A function opens: true where it is shown. SPEC uftrace/filter-depth: the limit counts from the
 * function that -F names, and a trigger's depth= from its own SPEC uftrace/trace-off: what opens
 * while tracing is off may close visibly once it is on again
 */
static bool scope_open(struct filter_run *r, struct scope *s, struct scope_frame *fr,
		       const struct verdict *v, const struct spur_event *row)
{
	uint32_t flags = v->flags;

	if (s->out) {
		fr->flags = SCOPE_UNSEEN;
		return false;
	}
	if (v->cond && !cond_holds(r->filter->trace, &v->cond->cond, row, &r->args))
		flags &= ~(uint32_t)(RULE_IN | RULE_OUT);
	if (!scope_enter(r->filter, s, fr, flags)) {
		fr->flags |= SCOPE_UNSEEN;
		return false;
	}
	if (flags & RULE_DEPTH)
		s->left = v->depth;
	if (flags & (RULE_ON | RULE_OFF)) {
		r->enabled = flags & RULE_ON;
		r->filter->ended_off = !r->enabled;
	}
	if (!r->enabled) {
		fr->flags |= SCOPE_GAP;
		return false;
	}
	if (s->left <= 0 || (flags & RULE_HIDE)) {
		fr->flags |= SCOPE_UNSEEN;
		return false;
	}
	s->left--;
	return true;
}

static bool scope_begin(struct filter_run *r, struct scope *s, const struct spur_event *row,
			const struct verdict *v)
{
	struct scope_frame *fr;
	uint32_t top = s->n ? s->frames[s->n - 1].depth : 0,
		 depth = filter_depth(row, s->n > 0, top);

	while (s->n && s->frames[s->n - 1].depth >= depth)
		scope_pop(s);
	filter_index(&s->index, s->n, row->cls);
	fr = &s->frames[s->n++];
	*fr = (struct scope_frame){ .depth = depth, .left = s->left, .cls = row->cls };
	return scope_open(r, s, fr, v, row);
}

/* Whether a row that opens nothing is shown where the track stands now. */
static bool scope_shows(const struct filter_run *r, const struct scope *s)
{
	return r->enabled && !s->out && s->left > 0 && (s->in || !r->filter->mode_in);
}

/* Marks the row if its BEGIN was not shown. */
static bool scope_end(const struct filter_run *r, struct scope *s, struct spur_event *row)
{
	uint32_t flags;
	bool shown;

	/*
	 * SPEC uftrace/orphan-exit: an EXIT whose ENTRY is not in the data is shown whatever -F
	 * says
	 */
	if (!scope_match(s, row))
		return r->enabled && !s->out;
	flags = s->frames[s->n - 1].flags;
	if (__builtin_expect(flags & SCOPE_GAP, 0))
		row->flags |= SPUR_F_GAP;
	shown = r->enabled && !(flags & SCOPE_UNSEEN);
	scope_pop(s);
	return shown;
}

static bool scope_span(struct filter_run *r, struct scope *s, const struct spur_event *row,
		       const struct verdict *v)
{
	struct scope_frame *fr = &s->frames[s->n++];
	bool shown;

	pair_span(&s->spans, row);
	*fr = (struct scope_frame){ .left = s->left };
	shown = scope_open(r, s, fr, v, row);
	scope_pop(s);
	return shown;
}

/* Says of a BEGIN why it is unseen; see enum row_mark. */
static unsigned mark_begin(const struct filter_run *r, const struct scope *s, uint32_t verdict)
{
	const struct scope_frame *fr = &s->frames[s->n - 1];

	if (s->out > ((fr->flags & SCOPE_OUT) ? 1u : 0u))
		return ROW_TRACE_OFF;
	if (r->enabled || (fr->flags & SCOPE_UNSEEN))
		return 0;
	return ROW_MUTED | ((verdict & RULE_OFF) ? ROW_TRACE_OFF : 0);
}

/*
 * SPEC uftrace/off-events: while tracing is off, events are out of sight but for sums.
 * SPEC uftrace/quiet-events: an event that other filters hide too does not part a function from its end
 */
static void scope_mark(const struct filter_run *r, const struct scope *s,
		       const struct spur_event *row, uint32_t verdict, uint8_t *marks)
{
	bool in_scope = !s->out && s->left > 0 && (s->in || !r->filter->mode_in);

	if (row->kind == SPUR_BEGIN)
		*marks |= (uint8_t)mark_begin(r, s, verdict);
	else if (!in_scope || (r->filter->mode_place && !s->in))
		*marks &= (uint8_t)~ROW_MUTED;
	else if (!r->enabled && !kind_is_call(row->kind) && !(*marks & ROW_UNSEEN))
		*marks |= ROW_TRACE_OFF;
	*marks |= ROW_UNSEEN;
}

static bool scope_rows(struct filter_run *r, struct row_list *l)
{
	size_t w = 0;

	for (size_t i = 0; i < l->count; i++) {
		struct spur_event *row = &l->rows[i];
		struct track_state *state = state_of(r, row->track);
		struct scope *s = state ? &state->scope : NULL;
		bool opens = row->kind == SPUR_BEGIN || row->kind == SPUR_SPAN, shown;
		const struct verdict *v = opens && s ? filter_verdict(r->filter, row->cls) : NULL;

		if (!s || (opens && !v))
			return false;
		if (opens && s->n >= s->cap &&
		    !mem_grow((void **)&s->frames, &s->cap, s->n + 1, sizeof(*s->frames),
			      SCOPE_DEPTH))
			return false;
		switch (row->kind) {
		case SPUR_BEGIN:
			shown = scope_begin(r, s, row, v);
			break;
		case SPUR_END_SPAN:
			shown = scope_end(r, s, row);
			break;
		case SPUR_SPAN:
			shown = scope_span(r, s, row, v);
			break;
		case SPUR_LOST:
			shown = true;
			break;
		default:
			shown = scope_shows(r, s) && !(row_marks(l->marks, i) & ROW_MUTED);
			while (row_ends_thread(row) && s->n)
				scope_pop(s);
		}
		shown = shown && !(r->filter->no_libcall && row_is_libcall(r->filter, row));
		if (!shown && r->filter->keeps_unseen) {
			scope_mark(r, s, row, opens ? v->flags : 0, &l->marks[i]);
			shown = true;
		}
		if (shown)
			row_list_keep(l, w++, i);
	}
	l->count = w;
	return true;
}

static struct where_track *where_track_of(void *run, uint32_t track)
{
	struct track_state *s = state_of(run, track);

	return s ? &s->where : NULL;
}

static bool run_where(struct filter_run *r, struct row_list *l, bool end)
{
	struct where_run *w = &r->where_run;

	if (!where_rows(r->filter, w, l, where_track_of, r))
		return false;
	if (!end || !r->filter->where->uses_calls)
		return true;
	for (size_t i = 0; i < r->nstates; i++)
		if (!where_track_end(r->filter, w, &r->states[i]->where))
			return false;
	return where_end_rows(w, l);
}

static bool cpu_passes(const struct filter *f, uint32_t cpu)
{
	bool passes = false;

	for (size_t i = 0; i < f->cpus.count; i++) {
		struct number_range *r = &f->cpus.ranges[i];

		if (cpu < r->first || cpu > r->last)
			continue;
		passes = true;
		if (!__atomic_load_n(&r->seen, __ATOMIC_RELAXED))
			__atomic_store_n(&r->seen, 1, __ATOMIC_RELAXED);
	}
	return passes;
}

static void last_rows(struct filter *f, struct row_list *l)
{
	uint32_t seen = 0;
	size_t w = 0;

	for (size_t i = 0; i < l->count; i++) {
		const struct spur_event *row = &l->rows[i];
		const bool passes = (f->kinds >> row->kind & 1) &&
				    (!f->cpus.count || (row->cpu != SPUR_NO_CPU &&
							cpu_passes(f, row->cpu)));

		seen |= 1u << row->kind;

		/* BEGINs on other CPUs are not shown. */
		if (f->cpus.count && row->kind == SPUR_END_SPAN)
			l->rows[i].flags |= SPUR_F_GAP;
		/* Where a thread is follows from those that are not shown too. */
		if (!passes && f->keeps_unseen &&
		    (row->kind == SPUR_SWITCH || row->kind == SPUR_WAKEUP))
			row_list_mark(l, i, ROW_UNSEEN);
		else if (!passes)
			continue;
		row_list_keep(l, w++, i);
	}
	l->count = w;
	if (seen & ~__atomic_load_n(&f->kinds_seen, __ATOMIC_RELAXED))
		__atomic_fetch_or(&f->kinds_seen, seen, __ATOMIC_RELAXED);
}

/* Rows that come for the first time have no marks yet. Returns false if out of memory. */
static bool marks_begin(struct filter_run *r, struct row_list *l)
{
	if (l->marks || !l->count || !r->filter->keeps_unseen)
		return true;
	if (!mem_grow((void **)&r->marks, &r->marks_cap, l->count, 1, SIZE_MAX))
		return false;
	memset(r->marks, 0, l->count);
	l->marks = r->marks;
	return true;
}

enum spur_status filter_rows(struct filter_run *r, struct marked_rows in, struct marked_rows *out)
{
	struct row_list l = { .rows = in.rows, .marks = in.marks, .count = in.n };
	const size_t n = in.n;

	assert(!r->rest.n && (!in.marks || r->filter->keeps_unseen));
	out->n = 0;
	if (!marks_begin(r, &l))
		return SPUR_FAIL;
	if (r->pick && !pick_rows(r, &l))
		return SPUR_FAIL;
	if (r->hold && !hold_rows(r, &l, n == 0))
		return SPUR_FAIL;
	if (r->scope && !scope_rows(r, &l))
		return SPUR_FAIL;
	if (r->where && !run_where(r, &l, n == 0))
		return SPUR_FAIL;
	if (r->last)
		last_rows(r->filter, &l);
	r->rest = (struct marked_rows){ l.rows, l.marks, l.count };
	filter_rest(r, out);
	return SPUR_OK;
}

bool filter_rest(struct filter_run *r, struct marked_rows *out)
{
	enum { SLICE = 4096 };

	*out = r->rest;
	out->n = r->rest.n < SLICE ? r->rest.n : SLICE;
	r->rest = marked_from(r->rest, out->n);
	return out->n;
}
