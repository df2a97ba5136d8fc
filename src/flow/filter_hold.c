/*
 * Look-ahead: -t, -Z, -C and the triggers time=, size=, caller, trace. A function's rows wait in
 * the feed's queue until its fate is known: it passes once it, or a function that it called, ended
 * late enough (and is one that -C names); it falls when it ends without. What belongs to a function
 * that falls (counters, watch points) falls with it; other rows only wait, so that what comes out
 * is in the order in which it came in. A function that is open for as long as its threshold passes
 * at once: so at most the open functions wait, and the rows among them.
 *
 * Invariants: a track's frames below `first` have passed and those from it on are open, except
 * hidden ones (too small for -Z), which have no row; slots of open frames are SLOT_OPEN and linked
 * from the track's `last`, newest first; the queue's first slot is SLOT_OPEN, its last one is not
 * SLOT_DROP.
 */
#include <assert.h>
#include <string.h>

#include "flow/filter_parts.h"

enum {
	/*
	 * A queue that is longer lets its oldest function pass, whatever its fate would have been.
	 */
	HOLD_ROWS = 1 << 18,
	HOLD_DEPTH = 1 << 24,
};

enum hold_flag {
	HOLD_HIDDEN = 1, /* too small: no row */
	HOLD_CALLER = 2,
	HOLD_TRACE = 4,
	HOLD_SCHED = 8, /* off the CPU */
};

enum slot_state { SLOT_OPEN, SLOT_PASS, SLOT_DROP };

struct hold_slot {
	struct spur_event row;
	struct hold_track *owner;
	uint64_t prev; /* seq + 1 of the owner's open row before; 0: none */
	uint8_t state; /* enum slot_state */
	uint8_t marks; /* enum row_mark */
};

static const uint32_t sched_depth = UINT32_MAX;

static struct hold_slot *slot_at(const struct hold *h, uint64_t seq)
{
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
		t->last = h->base + (h->tail - h->head) + 1;
	h->tail++;
	return true;
}

/* What is decided leaves the queue at both ends. */
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

/* Marks the track's open rows from the newest back to `seq`. */
static inline void track_mark(struct hold *h, struct hold_track *t, uint64_t seq,
			      enum slot_state state)
{
	while (t->last && t->last - 1 >= seq) {
		struct hold_slot *s = slot_at(h, t->last - 1);

		assert(t->last - 1 >= h->base && s->owner == t);
		s->state = (uint8_t)state;
		t->last = s->prev;
	}
}

/* All open functions of the track have passed. */
static void track_pass(struct hold *h, struct hold_track *t)
{
	track_mark(h, t, 0, SLOT_PASS);
	t->first = t->n;
}

static void skip_hidden(struct hold_track *t)
{
	while (t->first < t->n && (t->frames[t->first].flags & HOLD_HIDDEN))
		t->first++;
}

/* The lowest open function of the track has passed, the ones inside it are still open. */
static void track_pass_first(struct hold *h, struct hold_track *t)
{
	uint64_t seq = t->frames[t->first].seq, end;

	t->first++;
	skip_hidden(t);
	if (t->first == t->n) {
		track_pass(h, t);
		return;
	}
	end = t->frames[t->first].seq;
	slot_at(h, end)->prev = 0;
	for (; seq < end; seq++)
		if (slot_at(h, seq)->owner == t && slot_at(h, seq)->state == SLOT_OPEN)
			slot_at(h, seq)->state = SLOT_PASS;
}

static inline void track_pop(struct hold_track *t)
{
	t->n--;
	if (__builtin_expect(t->index != NULL, 0))
		innermost_pop(&t->index, t->n, t->frames[t->n].cls);
	if (t->first > t->n)
		t->first = t->n;
}

static uint32_t frame_class(const void *frames, size_t i)
{
	return ((const struct hold_frame *)frames)[i].cls;
}

static inline bool frame_is_sure(const struct filter *f, const struct hold_frame *fr,
				 int64_t open_ns)
{
	if (f->mode_caller && !(fr->flags & (HOLD_CALLER | HOLD_SCHED)))
		return false;
	return open_ns >= fr->min_ns;
}

/* Damaged times may be anything. */
static int64_t time_between(int64_t from, int64_t to)
{
	return (int64_t)((uint64_t)to - (uint64_t)from);
}

/* The topmost frame has ended; true where it has passed. */
static bool frame_close(const struct filter *f, struct hold *h, struct hold_track *t, int64_t now)
{
	const struct hold_frame *fr = &t->frames[t->n - 1];
	bool passed = t->n - 1 < t->first;

	if (fr->flags & HOLD_HIDDEN) {
		passed = false;
	} else if (!passed) {
		passed =
			frame_is_sure(f, fr, time_between(fr->ts, now)) || (fr->flags & HOLD_TRACE);
		if (passed && !(fr->flags & HOLD_SCHED))
			track_pass(h, t);
		else
			track_mark(h, t, fr->seq, passed ? SLOT_PASS : SLOT_DROP);
	}
	track_pop(t);
	return passed;
}

/* A time off the CPU whose end is missing passes. */
static inline void sched_close(struct hold *h, struct hold_track *t)
{
	while (t->n && (t->frames[t->n - 1].flags & HOLD_SCHED)) {
		track_mark(h, t, t->frames[t->n - 1].seq, SLOT_PASS);
		track_pop(t);
	}
}

/* A row that stands for itself: passes, after what waits. */
static bool hold_keep(struct hold *h, struct hold_track *t, const struct spur_event *row,
		      struct row_list *out)
{
	if (!queue_flush(h, out))
		return false;
	return h->head == h->tail ? row_list_add(out, h->marked, row, h->marks)
				  : queue_add(h, t, row, SLOT_PASS);
}

/* A row that shares the fate of the function around it. */
static bool hold_inside(struct hold *h, struct hold_track *t, const struct spur_event *row,
			struct row_list *out)
{
	return t->first < t->n ? queue_add(h, t, row, SLOT_OPEN) : hold_keep(h, t, row, out);
}

/*
 * The triggers of a function that opens; without any, its thresholds are those of the function
 * around it.
 */
static bool frame_judge(struct filter *f, const struct spur_event *row, struct hold_frame *fr)
{
	const struct verdict *v = filter_verdict(f, row->cls);
	uint64_t min_size = fr->child_size;

	if (!v)
		return false;
	if (v->flags & RULE_TIME)
		fr->min_ns = fr->child_ns = trace_from_ns(f->trace, v->time);
	if (v->flags & RULE_SIZE)
		min_size = fr->child_size = v->min_size;
	fr->flags = (v->flags & RULE_CALLER ? HOLD_CALLER : 0) |
		    (v->flags & RULE_TRACE ? HOLD_TRACE : 0) |
		    (v->size < min_size ? HOLD_HIDDEN : 0);
	return true;
}

/*
 * A new topmost frame for a BEGIN or SPAN row, whose row would be queued next. Returns NULL if out
 * of memory.
 */
static inline struct hold_frame *frame_open(struct filter *f, struct hold *h, struct hold_track *t,
					    const struct spur_event *row)
{
	const struct hold_frame *top;
	struct hold_frame *fr;

	if (__builtin_expect(t->n >= t->cap, 0) &&
	    !mem_grow((void **)&t->frames, &t->cap, t->n + 1, sizeof(*t->frames), HOLD_DEPTH))
		return NULL;
	fr = &t->frames[t->n];
	top = t->n ? fr - 1 : NULL;
	fr->ts = row->ts;
	fr->min_ns = fr->child_ns = top ? top->child_ns : f->min_ns;
	fr->child_size = top ? top->child_size : f->min_size;
	fr->seq = h->base + (h->tail - h->head);
	fr->depth = filter_depth(row, top != NULL, top ? top->depth : 0);
	fr->flags = 0;
	fr->cls = row->kind == SPUR_SWITCH ? 0 : row->cls;
	if ((f->nrules || fr->child_size) && !frame_judge(f, row, fr))
		return NULL;
	filter_index(&t->index, t->n, fr->cls);
	t->n++;
	return fr;
}

static bool hold_begin(struct filter *f, struct hold *h, struct hold_track *t,
		       const struct spur_event *row, struct row_list *out)
{
	const struct hold_frame *fr;

	sched_close(h, t);
	while (t->n &&
	       t->frames[t->n - 1].depth >= filter_depth(row, true, t->frames[t->n - 1].depth))
		frame_close(f, h, t, row->ts);
	if (!queue_flush(h, out) || !(fr = frame_open(f, h, t, row)))
		return false;
	if (fr->flags & HOLD_HIDDEN) {
		skip_hidden(t);
		return true;
	}
	if (!frame_is_sure(f, fr, 0))
		return queue_add(h, t, row, SLOT_OPEN);
	track_pass(h, t);
	return hold_keep(h, t, row, out);
}

/*
 * An END of the innermost function of its class: closes those inside it. Returns false if none is
 * open; then all functions may lie inside it (see flow/pair.h).
 */
static __attribute__((noinline)) bool hold_match_class(struct filter *f, struct hold *h,
						       struct hold_track *t,
						       const struct spur_event *row)
{
	const struct frame_list list = { t->frames, t->n, frame_class };
	size_t found;

	if (t->n && t->frames[t->n - 1].cls == row->cls)
		return true;
	found = innermost_find(&t->index, &list, row->cls);
	while ((found || pair_is_outer(row, &t->spans)) && t->n > found)
		frame_close(f, h, t, row->ts);
	return found;
}

/* Closes what the END implies ended; true: the topmost frame is what it ends. */
static inline bool hold_match(struct filter *f, struct hold *h, struct hold_track *t,
			      const struct spur_event *row)
{
	uint32_t depth;

	if (__builtin_expect(pair_is_by_class(row), 0))
		return hold_match_class(f, h, t, row);
	depth = filter_depth(row, t->n > 0, t->n ? t->frames[t->n - 1].depth : 0);
	while (t->n && t->frames[t->n - 1].depth > depth)
		frame_close(f, h, t, row->ts);
	return t->n && t->frames[t->n - 1].depth == depth;
}

/* An END whose BEGIN is not in the data: -Z leaves it out by its own function. */
static bool row_is_small(struct filter *f, const struct spur_event *row)
{
	const struct verdict *v = f->min_size && row->cls ? filter_verdict(f, row->cls) : NULL;

	return v && v->size && v->size < f->min_size;
}

static bool hold_end_row(struct filter *f, struct hold *h, struct hold_track *t,
			 const struct spur_event *row, struct row_list *out)
{
	sched_close(h, t);
	if (!hold_match(f, h, t, row))
		return row_is_small(f, row) || hold_inside(h, t, row, out);
	return frame_close(f, h, t, row->ts) ? hold_keep(h, t, row, out) : true;
}

/*
 * SPEC uftrace/time-filter: a time off the CPU is compared with -t by itself, whatever is around it
 */
static bool hold_switch(struct filter *f, struct hold *h, struct hold_track *t,
			const struct spur_event *row, struct row_list *out)
{
	bool open = t->n && (t->frames[t->n - 1].flags & HOLD_SCHED);
	struct hold_frame *fr;

	if (!f->min_ns)
		return hold_keep(h, t, row, out);
	if (!(row->flags & SPUR_F_OUT))
		return open && !frame_close(f, h, t, row->ts) ? true : hold_keep(h, t, row, out);
	sched_close(h, t);
	if (!queue_flush(h, out) || !(fr = frame_open(f, h, t, row)))
		return false;
	fr->min_ns = f->min_ns;
	fr->depth = sched_depth;
	fr->flags = HOLD_SCHED;
	return queue_add(h, t, row, SLOT_OPEN);
}

static bool hold_span(struct filter *f, struct hold *h, struct hold_track *t,
		      const struct spur_event *row, struct row_list *out)
{
	const struct hold_frame *fr = frame_open(f, h, t, row);
	bool passes;

	if (!fr)
		return false;
	pair_span(&t->spans, row);
	passes = !(fr->flags & HOLD_HIDDEN) &&
		 (frame_is_sure(f, fr, row->dur) || (fr->flags & HOLD_TRACE));
	track_pop(t);
	if (!passes)
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

/* The function at the queue's head passes as soon as it is open for long enough. */
static bool hold_release(struct filter *f, struct hold *h, int64_t now, struct row_list *out)
{
	while (h->head < h->tail) {
		struct hold_slot *s = &h->queue[h->head];
		struct hold_track *t = s->owner;

		if (s->state == SLOT_OPEN) {
			assert(t->first < t->n && t->frames[t->first].seq == h->base);
			if (!frame_is_sure(f, &t->frames[t->first],
					   time_between(t->frames[t->first].ts, now)) &&
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
	sched_close(h, t);
	while (t->n)
		frame_close(f, h, t, row->ts);
	return hold_keep(h, t, row, out);
}

bool hold_row(struct filter *f, struct hold *h, struct hold_track *t, const struct spur_event *row,
	      struct row_list *out)
{
	if (!hold_release(f, h, row->ts, out))
		return false;
	if (row_ends_thread(row))
		return hold_exit(f, h, t, row, out) && queue_flush(h, out);
	switch (row->kind) {
	case SPUR_BEGIN:
		return hold_begin(f, h, t, row, out);
	case SPUR_END_SPAN:
		return hold_end_row(f, h, t, row, out) && queue_flush(h, out);
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
	mem_free(t->frames);
	innermost_free(&t->index);
}
