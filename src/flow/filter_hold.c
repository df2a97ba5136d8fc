/*
 * Look-ahead: -t, -Z, -C and the triggers time=, size=, caller, trace. A function's rows wait in
 * the feed's queue until the function passes or is dropped. It passes once it, or a function that
 * it called, has lasted as long as its threshold (and is one that -C names); it is dropped if it
 * ends before. Rows that belong to a function (counters, watch points) share its fate; other rows
 * only wait, so that rows leave in the order in which they came. A function passes as soon as it is
 * open for as long as its threshold, so only short open functions and the rows among them wait.
 *
 * INVARIANT: a track's frames below `first` have passed; from it on they are open, except hidden
 * ones (too small for -Z, or of a call whose BEGIN is not in the data), which have no row. Slots of
 * open frames are SLOT_OPEN and linked from the track's `last`, newest first. The queue's first
 * slot is SLOT_OPEN, its last one is not SLOT_DROP.
 */
#include <assert.h>
#include <string.h>

#include "flow/filter_parts.h"

enum {
	/* A longer queue lets its oldest function pass, however short that turns out to be. */
	HOLD_ROWS = 1 << 18,
};

enum hold_flag {
	HOLD_HIDDEN = 1, /* too small, or a PAIR_MISSING frame: no row */
	HOLD_CALLER = 2,
	HOLD_TRACE = 4,
	HOLD_SCHED = 8, /* a PAIR_SCHED frame: off the CPU */
};

enum slot_state { SLOT_OPEN, SLOT_PASS, SLOT_DROP };

struct hold_slot {
	struct spur_event row;
	struct hold_track *owner;
	uint64_t prev; /* number + 1 of the owner's open row before; 0: none */
	uint8_t state; /* enum slot_state */
	uint8_t marks; /* enum row_mark */
};

/* How many slots were queued so far: the number of the next one. */
static inline uint64_t queue_next(const struct hold *h)
{
	return h->base + (h->tail - h->head);
}

static struct hold_slot *slot_at(const struct hold *h, uint64_t seq)
{
	assert(seq >= h->base && seq - h->base < h->tail - h->head);
	return &h->queue[h->head + (seq - h->base)];
}

static inline bool queue_add(struct hold *h, struct hold_track *t, const struct spur_event *row,
			     enum slot_state state)
{
	struct hold_slot *s;

	if (h->tail == h->cap && h->head >= h->cap / 2 && h->head) {
		memmove(h->queue, h->queue + h->head, (h->tail - h->head) * sizeof(*h->queue));
		h->tail -= h->head;
		h->head = 0;
	}
	if (h->tail == h->cap &&
	    !mem_grow((void **)&h->queue, &h->cap, h->tail + 1, sizeof(*h->queue), 4 * HOLD_ROWS))
		return false;
	s = &h->queue[h->tail];
	s->row = *row;
	s->owner = t;
	s->state = (uint8_t)state;
	s->marks = h->marks;
	s->prev = t->last;
	if (state == SLOT_OPEN)
		t->last = queue_next(h) + 1;
	h->tail++;
	return true;
}

/* Removes decided rows from both ends of the queue. Returns false if out of memory. */
static inline bool queue_flush(struct hold *h, struct row_list *out)
{
	while (h->tail > h->head && h->queue[h->tail - 1].state == SLOT_DROP)
		h->tail--;
	while (h->head < h->tail && h->queue[h->head].state != SLOT_OPEN) {
		const struct hold_slot *s = &h->queue[h->head];

		if (s->state == SLOT_PASS && !row_list_add(out, h->marked, &s->row, s->marks))
			return false;
		h->head++;
		h->base++;
	}
	if (h->head == h->tail)
		h->head = h->tail = 0;
	return true;
}

/* Decides the track's open rows from the newest back to number `seq`. */
static inline void track_mark(struct hold *h, struct hold_track *t, uint64_t seq,
			      enum slot_state state)
{
	while (t->last && t->last - 1 >= seq) {
		struct hold_slot *s = slot_at(h, t->last - 1);

		assert(s->owner == t && s->state == SLOT_OPEN);
		s->state = (uint8_t)state;
		t->last = s->prev;
	}
}

/* Lets all open functions of the track pass. */
static void track_pass(struct hold *h, struct hold_track *t)
{
	track_mark(h, t, 0, SLOT_PASS);
	t->first = t->stack.n;
}

static void skip_hidden(struct hold_track *t)
{
	assert(t->first <= t->stack.n && t->stack.n <= t->cap);
	while (t->first < t->stack.n && (t->held[t->first].flags & HOLD_HIDDEN))
		t->first++;
}

/* Lets the lowest open function of the track pass; those inside it stay open. */
static void track_pass_first(struct hold *h, struct hold_track *t)
{
	uint64_t seq = t->stack.frames[t->first].user, end;

	assert(t->first < t->stack.n && seq == h->base);
	t->first++;
	skip_hidden(t);
	if (t->first == t->stack.n) {
		track_pass(h, t);
		return;
	}
	end = t->stack.frames[t->first].user;
	slot_at(h, end)->prev = 0;
	for (; seq < end; seq++)
		if (slot_at(h, seq)->owner == t && slot_at(h, seq)->state == SLOT_OPEN)
			slot_at(h, seq)->state = SLOT_PASS;
}

static inline void track_pop(struct hold_track *t)
{
	pair_pop(&t->stack);
	if (t->first > t->stack.n)
		t->first = t->stack.n;
}

/* Returns true if a function that is open for so long passes. */
static inline bool held_is_sure(const struct filter *f, const struct held *k, int64_t open_ns)
{
	if (f->mode_caller && !(k->flags & (HOLD_CALLER | HOLD_SCHED)))
		return false;
	return open_ns >= k->min_ns;
}

/* Returns the difference, without overflow: times of damaged data may have any value. */
static int64_t time_between(int64_t from, int64_t to)
{
	return (int64_t)((uint64_t)to - (uint64_t)from);
}

/* Ends the topmost frame. Returns true if it has passed. */
static bool frame_close(const struct filter *f, struct hold *h, struct hold_track *t, int64_t now)
{
	const size_t top = t->stack.n - 1;
	const struct pair_frame *fr = &t->stack.frames[top];
	const struct held *k = &t->held[top];
	bool passed = top < t->first;

	assert(t->stack.n && t->stack.n <= t->cap);
	if (k->flags & HOLD_HIDDEN) {
		passed = false;
	} else if (!passed) {
		passed = held_is_sure(f, k, time_between(fr->ts, now)) || (k->flags & HOLD_TRACE);
		if (passed && !(k->flags & HOLD_SCHED))
			track_pass(h, t);
		else
			track_mark(h, t, fr->user, passed ? SLOT_PASS : SLOT_DROP);
	}
	track_pop(t);
	return passed;
}

/* Ends what the row implies ended. A time off the CPU passes if its end is missing. */
static inline void hold_due(const struct filter *f, struct hold *h, struct hold_track *t,
			    const struct spur_event *row)
{
	while (pair_excess(&t->stack, row)) {
		const size_t top = t->stack.n - 1;

		if (t->held[top].flags & HOLD_SCHED) {
			track_mark(h, t, t->stack.frames[top].user, SLOT_PASS);
			track_pop(t);
		} else {
			frame_close(f, h, t, row->ts);
		}
	}
}

/* Lets a row pass, after the rows that wait. Returns false if out of memory. */
static bool hold_keep(struct hold *h, struct hold_track *t, const struct spur_event *row,
		      struct row_list *out)
{
	if (!queue_flush(h, out))
		return false;
	return h->head == h->tail ? row_list_add(out, h->marked, row, h->marks)
				  : queue_add(h, t, row, SLOT_PASS);
}

/* Lets a row share the fate of the function around it. Returns false if out of memory. */
static bool hold_inside(struct hold *h, struct hold_track *t, const struct spur_event *row,
			struct row_list *out)
{
	return t->first < t->stack.n ? queue_add(h, t, row, SLOT_OPEN) : hold_keep(h, t, row, out);
}

/* Applies the triggers of a function that opens. Returns false if out of memory. */
static bool held_judge(struct filter *f, const struct spur_event *row, struct held *k)
{
	const struct verdict *v = filter_verdict(f, row->cls);
	uint64_t min_size = k->child_size;

	if (!v)
		return false;
	if (v->flags & RULE_TIME)
		k->min_ns = k->child_ns = trace_from_ns(f->trace, v->time);
	if (v->flags & RULE_SIZE)
		min_size = k->child_size = v->min_size;
	k->flags = (v->flags & RULE_CALLER ? HOLD_CALLER : 0) |
		   (v->flags & RULE_TRACE ? HOLD_TRACE : 0) |
		   (v->size < min_size ? HOLD_HIDDEN : 0);
	return true;
}

/*
 * Sets what is held of a function that opens inside frame `above` - 1. Without triggers its
 * thresholds are those of that frame. Returns false if out of memory.
 */
static inline bool held_open(struct filter *f, const struct hold_track *t, size_t above,
			     const struct spur_event *row, struct held *k)
{
	const struct held *outer = above ? &t->held[above - 1] : NULL;

	k->min_ns = k->child_ns = outer ? outer->child_ns : f->min_ns;
	k->child_size = outer ? outer->child_size : f->min_size;
	k->flags = 0;
	return !(f->nrules || k->child_size) || held_judge(f, row, k);
}

/*
 * Calls whose BEGIN is not in the data hand on the thresholds of what they lie in. Returns false if
 * out of memory.
 */
static bool held_missing(const struct filter *f, struct hold_track *t, size_t from)
{
	const struct held outermost = { .child_ns = f->min_ns, .child_size = f->min_size };

	if (!mem_grow((void **)&t->held, &t->cap, t->stack.n, sizeof(*t->held), PAIR_DEPTH))
		return false;
	for (size_t i = from; i + 1 < t->stack.n; i++) {
		t->held[i] = i ? t->held[i - 1] : outermost;
		t->held[i].flags = HOLD_HIDDEN;
	}
	/* What a frame that has gone left there says nothing about the one that opens now. */
	t->held[t->stack.n - 1].flags = 0;
	skip_hidden(t);
	return true;
}

/* Returns what is held of the frame that is new on top, or NULL if out of memory. */
static inline struct held *frame_open(struct filter *f, struct hold_track *t,
				      const struct spur_event *row)
{
	const size_t n = t->stack.n;

	if (__builtin_expect(n > t->cap, 0) &&
	    !mem_grow((void **)&t->held, &t->cap, n, sizeof(*t->held), PAIR_DEPTH))
		return NULL;
	return held_open(f, t, n - 1, row, &t->held[n - 1]) ? &t->held[n - 1] : NULL;
}

/*
 * Ends what the row implies ended and pushes its frame. Its row would be queued next. Returns what
 * is held of the frame, or NULL if out of memory.
 */
static __attribute__((noinline)) struct held *frame_step(struct filter *f, struct hold *h,
							 struct hold_track *t,
							 const struct spur_event *row,
							 struct row_list *out)
{
	struct pair_frame *fr;
	size_t before;

	h->at = NULL;
	hold_due(f, h, t, row);
	before = t->stack.n;
	if (!queue_flush(h, out) || !(fr = pair_push(&t->stack, row)))
		return NULL;
	fr->user = queue_next(h);
	if (t->stack.n - before > 1 && !held_missing(f, t, before))
		return NULL;
	return frame_open(f, t, row);
}

/* Returns true if the row is a BEGIN that fits the track's stack as it is, or an END of its top. */
static inline bool hold_fits(struct hold *h, struct hold_track *t, const struct spur_event *row)
{
	const struct fit *v = &h->fit;
	uint64_t bits;

	if (__builtin_expect(h->at != t, 0)) {
		h->fit = fit_load(&t->stack, row);
		h->at = t;
	}
	bits = fit_bits(v, row);
	return bits == v->begin ? fit_has_room(v) : fit_is_end(v, bits) && fit_matches(v, row);
}

static bool hold_begin(struct filter *f, struct hold *h, struct hold_track *t,
		       const struct spur_event *row, struct row_list *out)
{
	const struct held *k;

	if (__builtin_expect(hold_fits(h, t, row), 1)) {
		fit_push(&h->fit, row, queue_next(h));
		t->stack.calls = ++t->stack.n;
		k = frame_open(f, t, row);
	} else {
		k = frame_step(f, h, t, row, out);
	}
	if (!k)
		return false;
	if (k->flags & HOLD_HIDDEN) {
		skip_hidden(t);
		return true;
	}
	if (!held_is_sure(f, k, 0))
		return queue_add(h, t, row, SLOT_OPEN);
	track_pass(h, t);
	return hold_keep(h, t, row, out);
}

/* Returns true if -Z drops an END whose BEGIN is not in the data. */
static bool row_is_small(struct filter *f, const struct spur_event *row)
{
	const struct verdict *v = f->min_size && row->cls ? filter_verdict(f, row->cls) : NULL;

	return v && v->size && v->size < f->min_size;
}

static bool hold_end_row(struct filter *f, struct hold *h, struct hold_track *t,
			 const struct spur_event *row, struct row_list *out)
{
	if (__builtin_expect(hold_fits(h, t, row), 1)) {
		fit_pop(&h->fit, 0);
	} else {
		h->at = NULL;
		hold_due(f, h, t, row);
		if (!pair_match(&t->stack, row))
			return (row_is_small(f, row) || hold_inside(h, t, row, out)) &&
			       queue_flush(h, out);
	}
	return frame_close(f, h, t, row->ts) ? hold_keep(h, t, row, out) : queue_flush(h, out);
}

/*
 * SPEC uftrace/time-filter: a time off the CPU is compared with -t by itself, whatever is around it
 */
static bool hold_switch(struct filter *f, struct hold *h, struct hold_track *t,
			const struct spur_event *row, struct row_list *out)
{
	struct held *k;

	if (!f->min_ns)
		return hold_keep(h, t, row, out);
	h->at = NULL;
	if (!(row->flags & SPUR_F_OUT))
		return pair_match(&t->stack, row) && !frame_close(f, h, t, row->ts)
			       ? true
			       : hold_keep(h, t, row, out);
	k = frame_step(f, h, t, row, out);
	if (!k)
		return false;
	k->min_ns = f->min_ns;
	k->flags = HOLD_SCHED;
	return queue_add(h, t, row, SLOT_OPEN);
}

static bool hold_span(struct filter *f, struct hold *h, struct hold_track *t,
		      const struct spur_event *row, struct row_list *out)
{
	struct held k;

	if (!held_open(f, t, t->stack.n, row, &k))
		return false;
	pair_span(&t->stack.spans, row);
	if ((k.flags & HOLD_HIDDEN) ||
	    !(held_is_sure(f, &k, row->dur) || (k.flags & HOLD_TRACE)))
		return true;
	track_pass(h, t);
	return hold_keep(h, t, row, out);
}

static bool hold_other(struct filter *f, struct hold *h, struct hold_track *t,
		       const struct spur_event *row, struct row_list *out)
{
	const struct verdict *v;

	if (row->kind == SPUR_LOST)
		track_pass(h, t);
	if (row->kind != SPUR_INSTANT && row->kind != SPUR_COUNTER)
		return hold_keep(h, t, row, out);
	v = filter_verdict(f, row->cls);
	if (!v)
		return false;
	if (v->flags & VERDICT_INSIDE)
		return hold_inside(h, t, row, out);
	if (v->flags & VERDICT_EVENT)
		track_pass(h, t);
	return hold_keep(h, t, row, out);
}

/* Returns true if no decided row is left at an end of the queue where it could leave. */
static inline bool queue_is_settled(const struct hold *h)
{
	return h->head == h->tail || (h->queue[h->head].state == SLOT_OPEN &&
				      h->queue[h->tail - 1].state != SLOT_DROP);
}

/* Lets functions at the queue's head pass that are open for long enough. */
static bool hold_release(struct filter *f, struct hold *h, int64_t now, struct row_list *out)
{
	while (h->head < h->tail) {
		struct hold_slot *s = &h->queue[h->head];
		struct hold_track *t = s->owner;

		if (s->state == SLOT_OPEN) {
			const struct pair_frame *fr = &t->stack.frames[t->first];

			assert(t->first < t->stack.n && fr->user == h->base);
			if (!held_is_sure(f, &t->held[t->first], time_between(fr->ts, now)) &&
			    h->tail - h->head < HOLD_ROWS)
				return true;
			track_pass_first(h, t);
		}
		if (!queue_flush(h, out))
			return false;
	}
	return true;
}

/* The thread ends, and its functions with it. */
static bool hold_exit(struct filter *f, struct hold *h, struct hold_track *t,
		      const struct spur_event *row, struct row_list *out)
{
	h->at = NULL;
	hold_due(f, h, t, row);
	return hold_keep(h, t, row, out);
}

bool hold_row(struct filter *f, struct hold *h, struct hold_track *t, const struct spur_event *row,
	      struct row_list *out)
{
	if (!hold_release(f, h, row->ts, out))
		return false;
	assert(queue_is_settled(h));
	if (row_ends_thread(row))
		return hold_exit(f, h, t, row, out) && queue_flush(h, out);
	switch (row->kind) {
	case SPUR_BEGIN:
		return hold_begin(f, h, t, row, out);
	case SPUR_END_SPAN:
		return hold_end_row(f, h, t, row, out);
	case SPUR_SWITCH:
		return hold_switch(f, h, t, row, out) && queue_flush(h, out);
	case SPUR_SPAN:
		return hold_span(f, h, t, row, out);
	default:
		return hold_other(f, h, t, row, out);
	}
}

bool hold_end(struct hold *h, struct row_list *out)
{
	for (size_t i = h->head; i < h->tail; i++)
		if (h->queue[i].state == SLOT_OPEN)
			h->queue[i].state = SLOT_PASS;
	return queue_flush(h, out);
}

void hold_free(struct hold *h)
{
	mem_free(h->queue);
}

void hold_track_free(struct hold_track *t)
{
	pair_stack_free(&t->stack);
	mem_free(t->held);
}
