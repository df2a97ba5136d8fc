/*
 * SPEC store/states: what threads do, as items of a lane of their own. The rules are those of `spur
 * sched`: a thread runs from a SWITCH in to the next SWITCH out, then it is runnable (preempted) or
 * blocked, until a WAKEUP makes it runnable or it runs again. What cannot be so is not guessed.
 */
#include "store/grow.h"

/* The state ends with a row of this time. */
static void state_leave(struct growing_track *t, int64_t ts, unsigned marks)
{
	struct growing_lane *l = t->states;
	struct slot *s;

	if (!t->in_state)
		return;
	s = lane_open(l);
	slot_plain_end(s, ts > s->start ? (uint64_t)ts - (uint64_t)s->start : 0, 0, 0);
	s->rare.marks |= (uint16_t)(marks << MARKS_SHIFT);
	lane_close(l);
	t->in_state = false;
}

/* What the thread did since its last SWITCH or WAKEUP is not known after all. */
static void state_drop(struct growing_track *t)
{
	t->in_state = false;
}

static struct slot *state_enter(struct store_worker *k, struct growing_track *t,
				const struct spur_event *row, enum store_thread_state state)
{
	struct growing_lane *l = lane_of_states(k, row->track);
	struct slot *s;

	if (!l || !lane_room(k, l))
		return NULL;
	s = lane_open(l);
	slot_begin(s, row, 0, STORE_SPAN | STORE_NO_END, 0);
	s->label = state;
	s->rare.id = 0;
	s->rare.nargs = 0;
	t->in_state = true;
	return s;
}

static enum store_thread_state state_of(const struct growing_track *t)
{
	return (enum store_thread_state)lane_open(t->states)->label;
}

/*
 * SPEC store/waker: who woke the thread is told by an argument `waker`, its id; where there is an
 * argument `target_cpu`, the row's CPU is that of the waker.
 */
static bool waker_find(struct store_worker *k, const struct spur_event *row, struct slot *s)
{
	const struct spur_args *args;

	s->rare.cpu = SPUR_NO_CPU;
	if (!row->nargs)
		return true;
	args = worker_args(k, row);
	for (size_t i = 0; args && i < args->count; i++) {
		const struct spur_value *v = &args->items[i];

		if (v->name == k->name_waker &&
		    (v->type == SPUR_KOID || v->type == SPUR_U64 || v->type == SPUR_I64))
			s->rare.id = v->u + 1;
		else if (v->name == k->name_target)
			s->rare.cpu = row->cpu;
	}
	return args;
}

static bool state_woken(struct store_worker *k, struct growing_track *t,
			const struct spur_event *row)
{
	struct slot *s;

	/* Who runs, or may run already, is not changed by being woken. */
	if (t->in_state && state_of(t) != STORE_BLOCKED)
		return true;
	state_leave(t, row->ts, 0);
	s = state_enter(k, t, row, STORE_RUNNABLE);
	return s && waker_find(k, row, s);
}

static bool state_out(struct store_worker *k, struct growing_track *t, const struct spur_event *row)
{
	const bool preempted = row->flags & SPUR_F_PREEMPTED;

	if (t->in_state && state_of(t) == STORE_RUNNING)
		state_leave(t, row->ts, 0);
	state_drop(t);
	return row_ends_thread(row) ||
	       state_enter(k, t, row, preempted ? STORE_RUNNABLE : STORE_BLOCKED);
}

/* The idle threads of all CPUs have the id 0, and one track: it does several things at once. */
static bool is_idle(const struct store_worker *k, uint32_t track)
{
	const struct spur_track *t = trace_track(writer_trace(k->writer), track);

	return t && t->kind == SPUR_TRACK_THREAD && t->tid == 0;
}

bool states_row(struct store_worker *k, struct growing_track *t, const struct spur_event *row)
{
	if (is_idle(k, row->track))
		return true;
	if (row->kind == SPUR_WAKEUP)
		return state_woken(k, t, row);
	if (row->kind != SPUR_SWITCH) {
		/* A thread that does not run has ended: when, since it ran last, is not known. */
		if (t->in_state && state_of(t) != STORE_RUNNING)
			state_drop(t);
		return true;
	}
	if (row->flags & SPUR_F_OUT)
		return state_out(k, t, row);
	if (!(row->flags & SPUR_F_IN))
		return true;
	/* It runs already: a SWITCH out is missing. */
	if (t->in_state && state_of(t) == STORE_RUNNING)
		state_drop(t);
	state_leave(t, row->ts, 0);
	return state_enter(k, t, row, STORE_RUNNING);
}

bool states_end(struct store_worker *k, struct growing_track *t, int64_t last)
{
	if (!t->states)
		return true;
	state_leave(t, last, STORE_OPEN | STORE_LAST);
	if (!lane_flush(k, t->states))
		return false;
	lane_drop_buffer(k, t->states);
	return true;
}
