/*
 * --where and --name. Each event is judged by itself; BEGIN and END of a call share its name,
 * duration, depth and arguments (those of both), so that they are selected together unless the
 * expression asks for what differs between them (ts, cpu, kind). A call that is not selected is
 * hidden, and what it calls is judged for itself.
 *
 * What a BEGIN's fate depends on may come later: then it waits in a queue, and behind it all that
 * came after, so that rows keep their order. A BEGIN is decided at its END; or as soon as it is
 * open for longer than any duration in the expression; or at the end of the data, where a call that
 * is still open lasts to its track's last event. A queue of WAITING_ROWS decides its oldest call as
 * if that never ended, and counts that (filter_where_notes()).
 */
#include <assert.h>
#include <string.h>

#include "flow/args.h"
#include "flow/filter_parts.h"
#include "flow/pipe.h"
#include "flow/walk.h"

enum { WAITING_ROWS = 1 << 24, WAITING_FIRST = 1024, CALLS_MAX = 1 << 28 };

/* Of a row in the queue. */
enum slot_state {
	SLOT_WAITS,
	SLOT_STUCK, /* waits for its END, however long that takes */
	SLOT_PASS,
	SLOT_DROP,
};
enum { STATE_BITS = 2, STATE_MASK = (1 << STATE_BITS) - 1 };

/* An open call. */
struct where_call {
	struct spur_event begin;
	uint64_t seq; /* of its slot among all that were ever queued, if `waits` */
	uint32_t depth;
	uint32_t next; /* free ones: the next, or 0 */
	bool waits;
};

static void where_queue_free(struct where_run *r);

/* --- the queue --- */

static enum slot_state state_at(const struct where_run *r, size_t i)
{
	return (enum slot_state)(r->slots[i] & STATE_MASK);
}

/* Room for twice as many rows; scratch memory may be paged out to a file. */
static bool queue_grow(struct where_run *r)
{
	const size_t cap = r->cap ? 2 * r->cap : WAITING_FIRST;
	struct spur_event *rows = scratch_alloc(cap * sizeof(*rows));
	uint32_t *slots = rows ? scratch_alloc(cap * sizeof(*slots)) : NULL;

	if (!slots) {
		scratch_free(rows, cap * sizeof(*rows));
		return false;
	}
	if (r->tail) {
		memcpy(rows, r->rows, r->tail * sizeof(*rows));
		memcpy(slots, r->slots, r->tail * sizeof(*slots));
	}
	where_queue_free(r);
	r->rows = rows;
	r->slots = slots;
	r->cap = cap;
	return true;
}

static bool queue_add(struct where_run *r, const struct spur_event *row, uint32_t slot)
{
	if (r->tail == r->cap && !queue_grow(r))
		return false;
	r->rows[r->tail] = *row;
	r->slots[r->tail++] = slot;
	return true;
}

/* Rows that were handed out leave; what waits may move to the front. */
static void queue_trim(struct where_run *r)
{
	const size_t n = r->tail - r->head;

	assert(r->head <= r->tail && r->tail <= r->cap);
	if (n && r->head < r->cap / 2)
		return;
	if (n) {
		memmove(r->rows, r->rows + r->head, n * sizeof(*r->rows));
		memmove(r->slots, r->slots + r->head, n * sizeof(*r->slots));
	}
	r->base += r->head;
	r->head = 0;
	r->tail = n;
}

/* Decided rows at the queue's head are ready. */
static void queue_flush(struct where_run *r)
{
	while (r->head < r->tail && state_at(r, r->head) >= SLOT_PASS)
		r->head++;
}

/* The ready rows from `from` on that pass. Returns false if out of memory. */
static bool queue_take(struct where_run *r, size_t from, struct row_list *l)
{
	size_t w = from;

	assert(from <= r->head && r->head <= r->tail && r->tail <= r->cap);
	if (r->marked && !mem_grow((void **)&r->marks, &r->marks_cap, r->head - from, 1, SIZE_MAX))
		return false;
	for (size_t i = from; i < r->head; i++)
		if (state_at(r, i) == SLOT_PASS) {
			if (r->marked)
				r->marks[w - from] = (uint8_t)(r->slots[i] >> STATE_BITS);
			if (w != i)
				r->rows[w] = r->rows[i];
			w++;
		}
	l->rows = r->rows ? r->rows + from : NULL;
	l->marks = r->marked ? r->marks : NULL;
	l->count = w - from;
	return true;
}

/* The slot of a decided row. One that passes want to see although it is not shown is marked. */
static uint32_t decided(struct filter *f, bool passes)
{
	if (passes && !__atomic_load_n(&f->where_passed, __ATOMIC_RELAXED))
		__atomic_store_n(&f->where_passed, true, __ATOMIC_RELAXED);
	if (passes)
		return SLOT_PASS;
	return f->keeps_unseen ? (uint32_t)ROW_UNSEEN << STATE_BITS | SLOT_PASS : SLOT_DROP;
}

static bool emit(struct filter *f, struct where_run *r, const struct spur_event *row, bool passes)
{
	const uint32_t slot = decided(f, passes);

	return slot == SLOT_DROP || queue_add(r, row, slot);
}

/* --- judging --- */

static enum where_truth judge(struct filter *f, struct where_event *e)
{
	const bool same = e->name == e->class->name && e->cat == e->class->cat;

	return same && e->class->all != WHERE_OPEN ? e->class->all : where_holds(f->where, e);
}

static bool decode(struct filter *f, const struct spur_event *row, struct spur_args *args)
{
	args->count = 0;
	return !row->nargs || args_decode(f->trace, row, args) != SPUR_FAIL;
}

/* An event without a call: its own duration, where it has one. False: out of memory. */
static bool judge_alone(struct filter *f, struct where_run *r, const struct spur_event *row,
			uint32_t depth, bool *passes)
{
	const struct verdict *v = filter_verdict(f, row->cls);
	const bool has_dur = row->kind == SPUR_SPAN ||
			     ((row->kind == SPUR_SAMPLE || row->kind == SPUR_LOST) && row->dur);
	struct where_event e = { .row = row,
				 .name = row->name,
				 .cat = row->cat,
				 .depth = depth,
				 .has_dur = has_dur ? WHERE_DUR_KNOWN : WHERE_NO_DUR,
				 .dur = row->dur,
				 .args_open = row->nargs && f->where->uses_args };
	enum where_truth t;

	if (!v)
		return false;
	e.class = &v->where;
	e.cls = trace_class(f->trace, row->cls);
	t = judge(f, &e);
	if (t == WHERE_OPEN) {
		if (!decode(f, row, &r->args))
			return false;
		e.args = &r->args;
		e.args_open = false;
		t = judge(f, &e);
	}
	*passes = t == WHERE_TRUE;
	return true;
}

/* What is known of a call so far. */
struct call_state {
	const struct where_call *call;
	const struct spur_event *end; /* NULL: none */
	int64_t dur;
	bool at_least; /* it is still open */
	bool end_open; /* its END may come */
};

/* One of the call's two rows. False: out of memory. */
static bool judge_call(struct filter *f, struct where_run *r, const struct call_state *c,
		       const struct spur_event *row, enum where_truth *out)
{
	static const struct spur_args none;
	const struct spur_event *begin = &c->call->begin;
	const struct verdict *v = filter_verdict(f, begin->cls);
	struct where_event e = { .row = row,
				 .name = begin->name,
				 .cat = begin->cat,
				 .depth = c->call->depth,
				 .has_dur = c->at_least ? WHERE_DUR_AT_LEAST : WHERE_DUR_KNOWN,
				 .dur = c->dur,
				 .end_open = c->end_open,
				 .args_open = f->where->uses_args };

	if (!v)
		return false;
	e.class = &v->where;
	e.cls = trace_class(f->trace, begin->cls);
	*out = judge(f, &e);
	if (*out != WHERE_OPEN || !e.args_open)
		return true;
	if (!decode(f, begin, &r->args) || (c->end && !decode(f, c->end, &r->end_args)))
		return false;
	e.args = &r->args;
	e.end_args = c->end ? &r->end_args : row->kind == SPUR_END_SPAN ? &none : NULL;
	e.args_open = false;
	*out = judge(f, &e);
	return true;
}

/* Decides the BEGIN that waits at `i`, if that is possible by now. False: out of memory. */
static bool slot_decide(struct filter *f, struct where_run *r, size_t i,
			const struct call_state *c)
{
	enum where_truth t;

	if (!judge_call(f, r, c, &r->rows[i], &t))
		return false;
	assert(state_at(r, i) <= SLOT_STUCK);
	if (t == WHERE_OPEN)
		r->slots[i] = (r->slots[i] & ~(uint32_t)STATE_MASK) | SLOT_STUCK;
	else
		r->slots[i] = decided(f, t == WHERE_TRUE);
	return true;
}

/* Damaged times may be anything. */
static int64_t time_between(int64_t from, int64_t to)
{
	return (int64_t)((uint64_t)to - (uint64_t)from);
}

/* A call that ended, at its END or where the data implies it. False: out of memory. */
static bool call_close(struct filter *f, struct where_run *r, uint32_t id, int64_t now,
		       const struct spur_event *end)
{
	struct where_call *call = &r->calls[id];
	const struct call_state c = { call, end, time_between(call->begin.ts, now), false, false };
	enum where_truth t = WHERE_FALSE;
	bool good = true;

	assert(id && id <= r->ncalls);
	if (call->waits && call->seq >= r->base + r->head &&
	    state_at(r, (size_t)(call->seq - r->base)) <= SLOT_STUCK)
		good = slot_decide(f, r, (size_t)(call->seq - r->base), &c);
	if (good && end)
		good = judge_call(f, r, &c, end, &t) && emit(f, r, end, t == WHERE_TRUE);
	call->next = r->free_call;
	r->free_call = id;
	return good;
}

/* A new call, or 0: out of memory. */
static uint32_t call_new(struct where_run *r, const struct spur_event *row, uint32_t depth)
{
	uint32_t id = r->free_call;

	if (id) {
		r->free_call = r->calls[id].next;
	} else {
		if (!mem_grow((void **)&r->calls, &r->calls_cap, r->ncalls + 2, sizeof(*r->calls),
			      CALLS_MAX))
			return 0;
		id = (uint32_t)++r->ncalls;
	}
	r->calls[id] = (struct where_call){ .begin = *row, .depth = depth };
	return id;
}

/* --- rows --- */

/* A frame was popped; `end` ended it, or NULL. Returns false if out of memory. */
static bool frame_end(struct filter *f, struct where_run *r, const struct pair_frame *fr,
		      int64_t now, const struct spur_event *end)
{
	return !fr->user || call_close(f, r, (uint32_t)fr->user, now, end);
}

/* Ends what is over when the row comes: spans, and calls that the row implies ended. */
static bool frames_due(struct filter *f, struct where_run *r, struct pair_stack *s,
		       const struct spur_event *row)
{
	const struct pair_frame *fr;
	struct walk_end end;

	if (!walk_takes(row))
		walk_past(s, row->ts);
	else
		while ((fr = walk_due(s, row, &end)))
			if (!frame_end(f, r, fr, end.ts, NULL))
				return false;
	return true;
}

static bool where_begin(struct filter *f, struct where_run *r, struct pair_stack *s,
			const struct spur_event *row)
{
	struct call_state c = { .at_least = true, .end_open = true };
	struct pair_frame *fr;
	enum where_truth t;
	uint32_t id;

	fr = pair_push(s, row);
	id = fr ? call_new(r, row, (uint32_t)s->calls - 1) : 0;
	if (!id)
		return false;
	fr->user = id;
	c.call = &r->calls[id];
	if (!judge_call(f, r, &c, row, &t))
		return false;
	if (t != WHERE_OPEN)
		return emit(f, r, row, t == WHERE_TRUE);
	r->calls[id].waits = true;
	r->calls[id].seq = r->base + r->tail;
	return queue_add(r, row, id << STATE_BITS | SLOT_WAITS);
}

static bool where_end(struct filter *f, struct where_run *r, struct pair_stack *s,
		      const struct spur_event *row)
{
	const struct pair_frame *fr = walk_match(s, row);
	bool passes = false;

	if (fr && fr->user)
		return frame_end(f, r, fr, row->ts, row);
	return judge_alone(f, r, row, (uint32_t)s->calls, &passes) && emit(f, r, row, passes);
}

static bool where_other(struct filter *f, struct where_run *r, struct pair_stack *s,
			const struct spur_event *row)
{
	bool passes;

	if (!judge_alone(f, r, row, (uint32_t)s->calls, &passes) || !emit(f, r, row, passes))
		return false;
	return row->kind != SPUR_SPAN || walk_push(s, row);
}

/* BEGINs at the queue's head are decided once they are open for long enough. */
static bool where_release(struct filter *f, struct where_run *r, int64_t now)
{
	for (queue_flush(r); r->head < r->tail; queue_flush(r)) {
		const size_t i = r->head;
		struct call_state c = { .at_least = true, .end_open = true };

		c.dur = time_between(r->rows[i].ts, now);
		if (r->tail - i >= WAITING_ROWS) {
			__atomic_fetch_add(&f->where_forced, 1, __ATOMIC_RELAXED);
			c.at_least = c.end_open = false;
		} else if (state_at(r, i) == SLOT_STUCK || c.dur <= f->where->longest) {
			return true;
		}
		c.call = &r->calls[r->slots[i] >> STATE_BITS];
		if (!slot_decide(f, r, i, &c))
			return false;
		if (state_at(r, i) == SLOT_STUCK)
			return true;
	}
	return true;
}

static bool where_row(struct filter *f, struct where_run *r, struct where_track *t,
		      const struct spur_event *row)
{
	if (!where_release(f, r, row->ts))
		return false;
	t->last = row->ts;
	if (!frames_due(f, r, &t->stack, row))
		return false;
	switch (row->kind) {
	case SPUR_BEGIN:
		return where_begin(f, r, &t->stack, row);
	case SPUR_END_SPAN:
		return where_end(f, r, &t->stack, row);
	default:
		return where_other(f, r, &t->stack, row);
	}
}

/* Rows of which each decides alone. */
static bool where_alone(struct filter *f, struct where_run *r, struct row_list *l)
{
	size_t w = 0;

	for (size_t i = 0; i < l->count; i++) {
		uint32_t slot = SLOT_PASS;
		bool passes;

		if (!(row_marks(l->marks, i) & ROW_UNSEEN)) {
			if (!judge_alone(f, r, &l->rows[i], 0, &passes))
				return false;
			slot = decided(f, passes);
		}
		if (slot == SLOT_DROP)
			continue;
		if (slot >> STATE_BITS)
			row_list_mark(l, i, slot >> STATE_BITS);
		row_list_keep(l, w++, i);
	}
	l->count = w;
	return true;
}

bool where_rows(struct filter *f, struct where_run *r, struct row_list *l,
		struct where_track *(*track)(void *self, uint32_t id), void *self)
{
	size_t from;

	if (!f->where->uses_calls)
		return where_alone(f, r, l);
	queue_trim(r);
	from = r->head;
	for (size_t i = 0; i < l->count; i++) {
		const unsigned marks = row_marks(l->marks, i);
		struct where_track *t = track(self, l->rows[i].track);

		if (!t ||
		    !(marks & ROW_UNSEEN
			      ? queue_add(r, &l->rows[i], marks << STATE_BITS | SLOT_PASS)
			      : where_row(f, r, t, &l->rows[i])))
			return false;
	}
	queue_flush(r);
	return queue_take(r, from, l);
}

bool where_track_end(struct filter *f, struct where_run *r, struct where_track *t)
{
	while (t->stack.n)
		if (!frame_end(f, r, pair_pop(&t->stack), t->last, NULL))
			return false;
	return true;
}

bool where_end_rows(struct where_run *r, struct row_list *l)
{
	const size_t from = r->head;

	queue_flush(r);
	return queue_take(r, from, l);
}

static void where_queue_free(struct where_run *r)
{
	scratch_free(r->rows, r->cap * sizeof(*r->rows));
	scratch_free(r->slots, r->cap * sizeof(*r->slots));
}

void where_run_free(struct where_run *r)
{
	where_queue_free(r);
	mem_free(r->marks);
	mem_free(r->calls);
	spur_args_free(&r->args);
	spur_args_free(&r->end_args);
}
