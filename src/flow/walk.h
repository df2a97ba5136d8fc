/*
 * One step above pair.h: rows of any format are applied to a track's stack. BEGIN and END may have
 * a recorded depth, SPAN rows are frames that end by themselves (nested by containment), SWITCH is
 * time off the CPU inside the function that was running.
 *
 *	while ((f = walk_due(s, row, &end)))
 *		... ends at end.ts
 *	if (walk_opens(s, row))
 *		f = walk_push(s, row);			(NULL: out of memory)
 *	else if ((f = walk_match(s, row)))
 *		... popped; ends at row->ts
 *	at the end of the feed: while ((f = walk_rest(s, last_ts, &end)))
 *
 * A popped frame stays readable until the next push; whoever takes it calls walk_credit() once,
 * before the next step.
 */
#ifndef SPUR_FLOW_WALK_H
#define SPUR_FLOW_WALK_H

#include "flow/pair.h"

struct walk_end {
	int64_t ts;
	bool unfinished; /* the data lacks the end: ts is the next row that implies it */
	bool uncounted; /* time off the CPU; the data does not tell when the thread ran again */
};

/* Returns true if the row may change the stack in another way than walk_past() does. */
static inline bool walk_takes(const struct spur_event *row)
{
	return row->kind <= SPUR_SPAN || row->kind == SPUR_SWITCH || row_ends_thread(row);
}

/*
 * Returns true if the row pushes a frame. Time off the CPU counts inside calls only: outside of
 * calls the data does not tell what waits.
 */
static inline bool walk_opens(const struct pair_stack *s, const struct spur_event *row)
{
	return row->kind == SPUR_BEGIN || row->kind == SPUR_SPAN ||
	       (row->kind == SPUR_SWITCH && (row->flags & SPUR_F_OUT) && s->calls &&
		!row_ends_thread(row));
}

/* Pops and returns the topmost frame if it is over when the row comes; else returns NULL. */
static inline struct pair_frame *walk_due(struct pair_stack *s, const struct spur_event *row,
					  struct walk_end *end)
{
	const struct pair_frame *top = s->n ? &s->frames[s->n - 1] : NULL;

	/* An END without BEGIN does not end a SPAN that goes on. */
	if (top && (top->flags & PAIR_SPAN) &&
	    (top->end <= row->ts || row_ends_thread(row) ||
	     (row->kind == SPUR_END_SPAN && (!pair_is_by_class(row) || pair_excess(s, row))))) {
		*end = (struct walk_end){ .ts = top->end };
		/* All SPANs are over, so that an empty stack can be taken back. */
		if (s->spans.end <= row->ts)
			s->spans.any = false;
		return pair_pop(s);
	}
	/* The calls end with their thread; how long it was off the CPU before is unknown. */
	if (row_ends_thread(row)) {
		if (!top)
			return NULL;
		*end = (struct walk_end){ row->ts, top->flags & PAIR_SCHED,
					  top->flags & PAIR_SCHED };
		return pair_pop(s);
	}
	if (!pair_excess(s, row))
		return NULL;
	*end = (struct walk_end){ row->ts, true,
				  (top->flags & PAIR_SCHED) && row->kind == SPUR_SWITCH };
	return pair_pop(s);
}

/*
 * Pops and returns the topmost frame if it is a SPAN that is over at `now`, and no later row of the
 * track comes before that; else returns NULL. For all used stacks before one is made while
 * pair_is_full(): then those on which nothing goes on are empty, and can be taken back. Requires
 * that rows of all tracks come in the order of time.
 */
static inline struct pair_frame *walk_over(struct pair_stack *s, int64_t now, struct walk_end *end)
{
	const struct pair_frame *top = s->n ? &s->frames[s->n - 1] : NULL;

	if (!top && s->spans.end <= now)
		s->spans.any = false;
	if (!top || !(top->flags & PAIR_SPAN) || top->end > now)
		return NULL;
	*end = (struct walk_end){ .ts = top->end };
	return pair_pop(s);
}

/* Pops the SPANs that are over by `ts`, for rows of which walk_takes() is false. */
static inline void walk_past(struct pair_stack *s, int64_t ts)
{
	while (s->n && (s->frames[s->n - 1].flags & PAIR_SPAN) && s->frames[s->n - 1].end <= ts)
		pair_pop(s);
}

/* Pushes the row's frame and returns it, or NULL if out of memory. Requires walk_opens(). */
static inline struct pair_frame *walk_push(struct pair_stack *s, const struct spur_event *row)
{
	struct pair_frame *f = pair_push(s, row);

	if (f && row->kind == SPUR_SPAN) {
		f->end = pair_span_end(row);
		pair_span(&s->spans, row);
	}
	return f;
}

/* Pops the frame that the END or SWITCH-in row ends; NULL: its BEGIN is not in the data. */
static inline struct pair_frame *walk_match(struct pair_stack *s, const struct spur_event *row)
{
	return pair_match(s, row) ? pair_pop(s) : NULL;
}

/*
 * Pops the topmost frame that is open when the data ends, at `last`; NULL: none is left. SPAN rows
 * inside a frame may go on longer, and the frame then lasts as long as they do.
 */
static inline struct pair_frame *walk_rest(struct pair_stack *s, int64_t last,
					   struct walk_end *end)
{
	const struct pair_frame *top = s->n ? &s->frames[s->n - 1] : NULL;

	if (!top)
		return NULL;
	if (s->spans.any && s->spans.end > last)
		last = s->spans.end;
	*end = (struct walk_end){ last, true, top->flags & PAIR_SCHED };
	if (top->flags & PAIR_SPAN)
		*end = (struct walk_end){ .ts = top->end };
	return pair_pop(s);
}

/* Returns how many ns a popped frame lasted; 0 if time ran backwards. */
static inline uint64_t walk_length(const struct pair_frame *f, int64_t end)
{
	return end > f->ts ? (uint64_t)end - (uint64_t)f->ts : 0;
}

/* Returns the part of the length that was not spent in frames inside. */
static inline uint64_t walk_self(const struct pair_frame *f, uint64_t length)
{
	uint64_t child = (uint64_t)f->child;

	return child < length ? length - child : 0;
}

/*
 * Adds a popped frame's time to its parent's child time. A PAIR_MISSING frame counts as what is
 * known inside it, a SPAN that outlasts the SPAN around it as the part inside.
 */
static inline void walk_credit(struct pair_stack *s, const struct pair_frame *f, int64_t end)
{
	struct pair_frame *parent;
	uint64_t spent;

	if (!s->n)
		return;
	parent = &s->frames[s->n - 1];
	if ((parent->flags & PAIR_SPAN) && end > parent->end)
		end = parent->end;
	spent = f->flags & PAIR_MISSING ? (uint64_t)f->child : walk_length(f, end);
	parent->child = (int64_t)((uint64_t)parent->child + spent);
}

#endif
