/*
 * Takes rows through a filter's stages (filter_parts.h). What the rules say of a class comes from a
 * table; each track has its open functions and what follows from them.
 */
#include <assert.h>
#include <string.h>

#include "base/map64.h"
#include "flow/filter_parts.h"

enum scope_flag {
	SCOPE_IN = 1, /* counted in `in` */
	SCOPE_OUT = 2, /* counted in `out` */
	SCOPE_UNSEEN = 4, /* its BEGIN did not pass, so its END does not */
	SCOPE_GAP = 8, /* its BEGIN did not pass, but its END may */
	SCOPE_ORPHAN = 16, /* of no frame: the BEGIN is not in the data */
};

/*
 * What the scope stage keeps of a track. A frame's `user` has its flags (enum scope_flag) and, from
 * bit 32 on, `left` as it was before the frame.
 *
 * INVARIANT: in and out are the numbers of open frames with SCOPE_IN and SCOPE_OUT; left is the
 * number of levels that may still be shown.
 */
struct scope {
	struct pair_stack stack; /* of calls only: no SWITCH and no SPAN is pushed */
	uint32_t in, out;
	int32_t left;
};

/* The scope of the track at hand, with its stack for the quick path. */
struct scope_view {
	struct scope *scope; /* NULL: none is at hand */
	uint32_t track;
	struct fit fit;
};

/* The parts of stages that do not run are NULL. */
struct track_state {
	uint32_t track;
	bool passes; /* by tid, pid, thread name */
	bool preempted; /* preempted: the SWITCH in ends that */
	struct scope *scope;
	struct hold_track *hold;
	struct where_track *where;
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

static void state_free(struct track_state *s)
{
	if (s->scope)
		pair_stack_free(&s->scope->stack);
	if (s->hold)
		hold_track_free(s->hold);
	if (s->where)
		pair_stack_free(&s->where->stack);
	mem_free(s);
}

void filter_run_free(struct filter_run *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->nstates; i++) {
		state_free(r->states[i]);
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

/* A state and the parts of the stages that run, in one block. Returns NULL if out of memory. */
static struct track_state *state_new(const struct filter_run *r, uint32_t track)
{
	const bool where = r->where && r->filter->where->uses_calls;
	struct track_state *s = mem_alloc(sizeof(*s) + (r->scope ? sizeof(*s->scope) : 0) +
					  (r->hold ? sizeof(*s->hold) : 0) +
					  (where ? sizeof(*s->where) : 0));
	char *part;

	if (!s)
		return NULL;
	part = (char *)(s + 1);
	s->track = track;
	s->passes = filter_track_passes(r->filter, track);
	if (r->scope) {
		s->scope = (struct scope *)part;
		s->scope->left = r->filter->depth;
		part += sizeof(*s->scope);
	}
	if (r->hold) {
		s->hold = (struct hold_track *)part;
		part += sizeof(*s->hold);
	}
	if (where)
		s->where = (struct where_track *)part;
	return s;
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
	s = state_new(r, track);
	if (!s)
		return NULL;
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
		if (!s || !hold_row(r->filter, &r->queue, s->hold, &l->rows[i], &r->out))
			return false;
	}
	if (end && !hold_end(&r->queue, &r->out))
		return false;
	l->rows = r->out.rows;
	l->marks = r->out.marks;
	l->count = r->out.count;
	return true;
}

/* Undoes what a function changed when it opened. */
static inline void scope_leave(struct scope *s, uint64_t user)
{
	assert(!(user & SCOPE_IN) || s->in);
	assert(!(user & SCOPE_OUT) || s->out);
	s->in -= (user & SCOPE_IN) != 0;
	s->out -= (user & SCOPE_OUT) != 0;
	s->left = (int32_t)(user >> 32);
}

static inline void scope_pop(struct scope *s)
{
	const struct pair_frame *f = pair_pop(&s->stack);

	assert(!(f->flags & (PAIR_SCHED | PAIR_SPAN)));
	if (__builtin_expect(!(f->flags & PAIR_MISSING), 1))
		scope_leave(s, f->user);
}

/* Pops the functions that the row implies ended. */
static inline void scope_due(struct scope *s, const struct spur_event *row)
{
	while (pair_excess(&s->stack, row))
		scope_pop(s);
}

/*
 * Applies what -F, -N, -L, --lib say of a function that opens, and sets `*own` (enum scope_flag).
 * Returns true if the function is shown so far.
 */
static bool scope_enter(const struct filter *f, struct scope *s, uint32_t *own, uint32_t flags)
{
	if (flags & RULE_OUT) {
		s->out++;
		*own = SCOPE_OUT;
		return false;
	}
	if (flags & RULE_IN) {
		s->in++;
		*own = SCOPE_IN;
		s->left = f->depth;
	} else if (f->mode_in && !s->in) {
		return false;
	}
	if ((flags & RULE_NOT_PLACE) || (f->mode_place && !(flags & RULE_PLACE)))
		return false;
	return !f->mode_library || (flags & RULE_LIBRARY);
}

/*
 * A function opens, with no flags of its own yet. Returns true if it is shown.
 * SPEC uftrace/filter-depth: the limit counts from the function that -F names, and a trigger's
 * depth= from its own.
 * SPEC uftrace/trace-off: what opens while tracing is off may close visibly once it is on again
 */
static bool scope_open(struct filter_run *r, struct scope *s, uint32_t *own,
		       const struct verdict *v, const struct spur_event *row)
{
	uint32_t flags = v->flags;

	if (s->out) {
		*own = SCOPE_UNSEEN;
		return false;
	}
	if (v->cond && !cond_holds(r->filter->trace, &v->cond->cond, row, &r->args))
		flags &= ~(uint32_t)(RULE_IN | RULE_OUT);
	if (!scope_enter(r->filter, s, own, flags)) {
		*own |= SCOPE_UNSEEN;
		return false;
	}
	if (flags & RULE_DEPTH)
		s->left = v->depth;
	if (flags & (RULE_ON | RULE_OFF)) {
		r->enabled = flags & RULE_ON;
		r->filter->ended_off = !r->enabled;
	}
	if (!r->enabled) {
		*own |= SCOPE_GAP;
		return false;
	}
	if (s->left <= 0 || (flags & RULE_HIDE)) {
		*own |= SCOPE_UNSEEN;
		return false;
	}
	s->left--;
	return true;
}

/* Opens the row's function and sets `*user` of its frame. Returns true if it is shown. */
static inline bool scope_judge(struct filter_run *r, struct scope *s, uint64_t *user,
			       const struct verdict *v, const struct spur_event *row)
{
	const uint64_t before = (uint64_t)(uint32_t)s->left << 32;
	uint32_t own = 0;
	const bool shown = scope_open(r, s, &own, v, row);

	*user = before | own;
	return shown;
}

/* Returns true if a row that opens nothing is shown where the track stands now. */
static bool scope_shows(const struct filter_run *r, const struct scope *s)
{
	return r->enabled && !s->out && s->left > 0 && (s->in || !r->filter->mode_in);
}

/* Takes the state of the row's track to hand. Returns false if out of memory. */
static __attribute__((noinline)) bool scope_load(struct filter_run *r, struct scope_view *v,
						 const struct spur_event *row)
{
	struct track_state *state = state_of(r, row->track);

	if (!state)
		return false;
	v->scope = state->scope;
	v->track = row->track;
	v->fit = fit_load(&v->scope->stack, row);
	return true;
}

static inline void scope_store(const struct scope_view *v)
{
	if (v->scope)
		fit_store(&v->scope->stack, v->fit.next);
}

/* A BEGIN that does not fit the stack as it is. Returns false if out of memory. */
static __attribute__((noinline)) bool begin_step(struct filter_run *r, struct scope_view *v,
						 const struct spur_event *row,
						 const struct verdict *verdict, bool *shown)
{
	struct pair_frame *f;

	assert(v->scope && row->kind == SPUR_BEGIN);
	scope_store(v);
	scope_due(v->scope, row);
	f = pair_push(&v->scope->stack, row);
	if (!f)
		return false;
	*shown = scope_judge(r, v->scope, &f->user, verdict, row);
	return scope_load(r, v, row);
}

/* Returns false if out of memory. */
static inline bool scope_begin(struct filter_run *r, struct scope_view *v,
			       const struct spur_event *row, const struct verdict *verdict,
			       bool *shown)
{
	uint64_t user;

	if (__builtin_expect(fit_bits(&v->fit, row) != v->fit.begin || !fit_has_room(&v->fit), 0))
		return begin_step(r, v, row, verdict, shown);
	*shown = scope_judge(r, v->scope, &user, verdict, row);
	fit_push(&v->fit, row, user);
	return true;
}

/*
 * An END of other functions than the topmost one. Returns its function's flags (enum scope_flag),
 * or SCOPE_ORPHAN if the function is not open. Undoes what the function changed.
 */
static __attribute__((noinline)) uint64_t end_step(struct scope_view *v,
						   const struct spur_event *row)
{
	const struct pair_frame *f;
	uint64_t own = SCOPE_ORPHAN;

	scope_store(v);
	scope_due(v->scope, row);
	f = pair_match(&v->scope->stack, row);
	if (f) {
		own = f->user;
		scope_pop(v->scope);
	}
	v->fit = fit_load(&v->scope->stack, row);
	return own;
}

/*
 * Returns true if the END is shown. Marks the row if its BEGIN was not shown.
 * SPEC uftrace/orphan-exit: an EXIT whose ENTRY is not in the data is shown whatever -F says
 */
static inline bool scope_end(struct filter_run *r, struct scope_view *v, struct spur_event *row)
{
	uint64_t own;

	if (__builtin_expect(fit_is_end(&v->fit, fit_bits(&v->fit, row)) &&
				     fit_matches(&v->fit, row),
			     1)) {
		own = v->fit.next[-1].user;
		fit_pop(&v->fit, 0);
		scope_leave(v->scope, own);
	} else {
		own = end_step(v, row);
	}
	if (__builtin_expect(own & (SCOPE_GAP | SCOPE_ORPHAN), 0)) {
		if (own & SCOPE_ORPHAN)
			return r->enabled && !v->scope->out;
		row->flags |= SPUR_F_GAP;
	}
	return r->enabled && !(own & SCOPE_UNSEEN);
}

/* Returns true if the SPAN is shown. It opens nothing, whatever comes inside it. */
static bool scope_span(struct filter_run *r, struct scope *s, const struct spur_event *row,
		       const struct verdict *v)
{
	uint64_t user;
	bool shown;

	pair_span(&s->stack.spans, row);
	shown = scope_judge(r, s, &user, v, row);
	scope_leave(s, user);
	return shown;
}

/* Returns why a BEGIN, which is on top, is unseen (enum row_mark). */
static unsigned mark_begin(const struct filter_run *r, const struct scope_view *v,
			   uint32_t verdict)
{
	const uint64_t own = v->fit.next[-1].user;

	if (v->scope->out > ((own & SCOPE_OUT) ? 1u : 0u))
		return ROW_TRACE_OFF;
	if (r->enabled || (own & SCOPE_UNSEEN))
		return 0;
	return ROW_MUTED | ((verdict & RULE_OFF) ? ROW_TRACE_OFF : 0);
}

/*
 * SPEC uftrace/off-events: while tracing is off, events are out of sight but for sums.
 * SPEC uftrace/quiet-events: an event that other filters hide too does not part a function from
 * its end
 */
static void scope_mark(const struct filter_run *r, const struct scope_view *v,
		       const struct spur_event *row, uint32_t verdict, uint8_t *marks)
{
	const struct scope *s = v->scope;
	bool in_scope = !s->out && s->left > 0 && (s->in || !r->filter->mode_in);

	if (row->kind == SPUR_BEGIN)
		*marks |= (uint8_t)mark_begin(r, v, verdict);
	else if (!in_scope || (r->filter->mode_place && !s->in))
		*marks &= (uint8_t)~ROW_MUTED;
	else if (!r->enabled && !kind_is_call(row->kind) && !(*marks & ROW_UNSEEN))
		*marks |= ROW_TRACE_OFF;
	*marks |= ROW_UNSEEN;
}

/* Any row but a call. Returns true if it is shown. */
static bool scope_other(struct filter_run *r, struct scope_view *v, const struct spur_event *row,
			const struct verdict *verdict, unsigned marks)
{
	bool shown;

	if (row->kind == SPUR_SPAN)
		return scope_span(r, v->scope, row, verdict);
	if (row->kind == SPUR_LOST)
		return true;
	shown = scope_shows(r, v->scope) && !(marks & ROW_MUTED);
	if (row_ends_thread(row)) {
		scope_store(v);
		scope_due(v->scope, row);
		v->fit = fit_load(&v->scope->stack, row);
	}
	return shown;
}

static bool scope_rows(struct filter_run *r, struct row_list *l)
{
	struct scope_view v = { 0 };
	size_t w = 0;

	for (size_t i = 0; i < l->count; i++) {
		struct spur_event *row = &l->rows[i];
		const bool opens = row->kind == SPUR_BEGIN || row->kind == SPUR_SPAN;
		const struct verdict *verdict = NULL;
		bool shown;

		if (__builtin_expect(row->track != v.track || !v.scope, 0)) {
			scope_store(&v);
			if (!scope_load(r, &v, row))
				return false;
		}
		if (opens && !(verdict = filter_verdict(r->filter, row->cls)))
			return false;
		if (row->kind == SPUR_END_SPAN)
			shown = scope_end(r, &v, row);
		else if (row->kind != SPUR_BEGIN)
			shown = scope_other(r, &v, row, verdict, row_marks(l->marks, i));
		else if (!scope_begin(r, &v, row, verdict, &shown))
			return false;
		shown = shown && !(r->filter->no_libcall && row_is_libcall(r->filter, row));
		if (!shown && r->filter->keeps_unseen) {
			scope_mark(r, &v, row, opens ? verdict->flags : 0, &l->marks[i]);
			shown = true;
		}
		if (shown)
			row_list_keep(l, w++, i);
	}
	scope_store(&v);
	l->count = w;
	return true;
}

static struct where_track *where_track_of(void *run, uint32_t track)
{
	struct track_state *s = state_of(run, track);

	return s ? s->where : NULL;
}

static bool run_where(struct filter_run *r, struct row_list *l, bool end)
{
	struct where_run *w = &r->where_run;

	if (!where_rows(r->filter, w, l, where_track_of, r))
		return false;
	if (!end || !r->filter->where->uses_calls)
		return true;
	for (size_t i = 0; i < r->nstates; i++)
		if (!where_track_end(r->filter, w, r->states[i]->where))
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
