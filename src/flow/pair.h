/*
 * The call-stack machine of all formats: BEGIN and END rows of a track become frames. Frames that
 * the data lacks are implied and marked, never invented silently. All that keeps open calls keeps
 * them in a struct pair_stack: analyses, writers, and the stages of filters.
 *
 * A row that ends its thread (row_ends_thread()) ends all frames of the track and opens none.
 *
 * Which frame an END ends: with SPUR_F_DEPTH the one at its depth; with SPUR_F_ANY the innermost
 * call; else the innermost one of its class. An END whose class is not open belongs to a call that
 * began before the data did (a ring buffer that wrapped, a time range), so every open frame lies
 * inside that call and ends with it. It ends nothing if its BEGIN may have been lost since:
 * SPUR_F_GAP says that rows are missing, and a SPAN that is still going on shows that the call
 * began inside the SPAN.
 *
 * A row of a track is applied in two steps, so that the caller sees every frame that ends:
 *
 *	struct pair_stack *s = pair_stack(p, row->track);	(NULL: out of memory)
 *	while (pair_excess(s, row))
 *		f = pair_pop(s);		... ends at row->ts, implied
 *	if (row->kind == SPUR_BEGIN)
 *		f = pair_push(s, row);		(NULL: out of memory)
 *	else if ((f = pair_match(s, row)))
 *		pair_pop(s);		... ends at row->ts; f stays readable until the next push
 *	else
 *		... END without BEGIN
 *	at the end of the feed, frames left open: while (s->n) pair_pop(s); then pair_clear(p)
 *
 * walk.h is the next step up: SPAN rows as frames, and how long a frame lasted. fit.h is the quick
 * path of inner loops, the only other code that pushes and pops.
 *
 * SWITCH out pushes and SWITCH in pops a frame with PAIR_SCHED, so that time off the CPU is a child
 * of the function that was running.
 *
 * INVARIANT: calls is the number of frames without PAIR_SCHED; only the topmost frame can be a
 * PAIR_SCHED one.
 */
#ifndef SPUR_FLOW_PAIR_H
#define SPUR_FLOW_PAIR_H

#include "base/mem.h"
#include "flow/innermost.h"
#include "model/event.h"

enum pair_flag {
	PAIR_SCHED = 1,
	PAIR_MISSING = 2, /* a call whose BEGIN is not in the data: no name, unknown start */
	PAIR_SPAN = 4, /* of a SPAN row: ends by itself at `end`; counts as a call */
};

struct pair_frame {
	int64_t ts;
	int64_t child; /* for the caller: ns spent in frames directly inside */
	int64_t end; /* of a PAIR_SPAN */
	uint32_t cls;
	uint32_t flags; /* enum pair_flag */
	uint64_t user; /* for the caller; 0 at first */
};

/* The SPAN rows of a track so far. */
struct pair_spans {
	bool any;
	int64_t end; /* ns, when the last of them to end does so */
};

struct pair_stack {
	/*
	 * NULL, or `cap` frames above the ground, frames[-1]. The ground has no flags and a class
	 * that no row has; the quick path (fit.h) adds to its `child`.
	 */
	struct pair_frame *frames;
	uint32_t cap;
	uint32_t n; /* frames */
	uint32_t calls; /* frames without PAIR_SCHED */
	uint32_t track; /* of a stack of struct pair */
	struct pair_spans spans;
	/* NULL while ENDs ask for frames near the top only. Else the quick path is closed. */
	struct innermost *index;
	void *user; /* for the caller, per track */
	struct pair_stack *next; /* in a list of struct pair */
};

/*
 * The stacks of tracks, of which there may be a million. A track has a stack while calls are open;
 * empty ones are taken back from time to time and given to other tracks.
 */
struct pair {
	struct pair_stack **stacks; /* by track; NULL: nothing is open and nothing is noted */
	size_t cap;
	struct pair_stack *used, *spare; /* lists */
	size_t nused, full; /* when there are `full` of them, empty ones are taken back */
};

enum { PAIR_TRACKS = 1 << 24, PAIR_DEPTH = 1 << 24 };

static inline void pair_init(struct pair *p)
{
	*p = (struct pair){ 0 };
}

void pair_free(struct pair *p);
/* Takes the stacks of all tracks back, with what is open on them. */
void pair_clear(struct pair *p);
/* Frees the frames and empties a stack that is not in a struct pair; `user` becomes NULL. */
void pair_stack_free(struct pair_stack *s);
/* Out of line half of pair_stack(). */
struct pair_stack *pair_stack_make(struct pair *p, uint32_t track);
/* Returns false if out of memory. */
bool pair_grow_frames(struct pair_stack *s, size_t need);
/* Returns the number of topmost frames that an END by class ends beside its own. */
size_t pair_search(struct pair_stack *s, const struct spur_event *row);
/* Returns true if a frame of the class is open. */
bool pair_has(struct pair_stack *s, uint32_t cls);
/* Pushes PAIR_MISSING frames that began at `ts` up to the depth. Returns false if out of memory. */
bool pair_fill(struct pair_stack *s, size_t depth, int64_t ts);

/*
 * Returns the track's stack, or NULL if out of memory. It is valid until the next call for a track
 * that has none.
 */
static inline struct pair_stack *pair_stack(struct pair *p, uint32_t track)
{
	if (__builtin_expect(track < p->cap && p->stacks[track], 1))
		return p->stacks[track];
	return pair_stack_make(p, track);
}

/* Returns the track's stack, or NULL if it has none: nothing is open. */
static inline struct pair_stack *pair_at(const struct pair *p, size_t track)
{
	return track < p->cap ? p->stacks[track] : NULL;
}

/* Returns true if the next track without a stack makes the empty ones be taken back. */
static inline bool pair_is_full(const struct pair *p)
{
	return p->nused >= p->full;
}

/* Returns true if an END by class ends all open frames if none is of its class: see above. */
static inline bool pair_is_outer(const struct spur_event *row, const struct pair_spans *spans)
{
	return !(row->flags & SPUR_F_GAP) && !(spans->any && spans->end > row->ts);
}

/* Returns the time at which a SPAN row ends. */
static inline int64_t pair_span_end(const struct spur_event *row)
{
	int64_t end;

	return __builtin_add_overflow(row->ts, row->dur < 0 ? 0 : row->dur, &end) ? INT64_MAX : end;
}

/* Notes a SPAN row. */
static inline void pair_span(struct pair_spans *spans, const struct spur_event *row)
{
	const int64_t end = pair_span_end(row);

	if (!spans->any || end > spans->end)
		spans->end = end;
	spans->any = true;
}

/* Returns true if the row ends the innermost frame of its class, however deep it lies. */
static inline bool pair_is_by_class(const struct spur_event *row)
{
	return row->kind == SPUR_END_SPAN && !(row->flags & (SPUR_F_DEPTH | SPUR_F_ANY));
}

/*
 * Returns the number of topmost frames that the row implies ended: its depth is smaller than
 * theirs, they lie inside the frame that it ends, or that one is PAIR_MISSING. Changes nothing but
 * the index.
 */
static inline size_t pair_excess(struct pair_stack *s, const struct spur_event *row)
{
	if (!s->n)
		return 0;
	if (row_ends_thread(row))
		return s->n;
	if (row->kind == SPUR_SWITCH)
		return row->flags & SPUR_F_OUT ? s->n - s->calls : 0;
	if ((row->flags & SPUR_F_DEPTH) && row->depth != UINT16_MAX) {
		size_t keep = row->depth;

		/* What ends a call whose begin is missing leaves no frame of it. */
		if (row->kind == SPUR_END_SPAN && s->calls > keep)
			keep += !(s->frames[keep].flags & PAIR_MISSING);
		return s->calls > keep ? s->n - keep : s->n - s->calls;
	}
	if (pair_is_by_class(row)) {
		const struct pair_frame *top = &s->frames[s->n - 1];

		return top->cls == row->cls && !top->flags ? 0 : pair_search(s, row);
	}
	return s->n - s->calls;
}

/* Pops the topmost frame, which stays readable until the next push. Requires s->n > 0. */
static inline struct pair_frame *pair_pop(struct pair_stack *s)
{
	struct pair_frame *f = &s->frames[--s->n];

	s->calls -= !(f->flags & PAIR_SCHED);
	if (__builtin_expect(s->index != NULL, 0))
		innermost_pop(&s->index, s->n, f->flags ? 0 : f->cls);
	return f;
}

/*
 * Pushes the row's frame and returns it, or NULL if out of memory. If the row's depth is beyond the
 * stack, PAIR_MISSING frames are pushed first.
 */
static inline struct pair_frame *pair_push(struct pair_stack *s, const struct spur_event *row)
{
	struct pair_frame *f;
	bool sched = row->kind == SPUR_SWITCH;
	uint32_t flags = sched ? PAIR_SCHED : row->kind == SPUR_SPAN ? PAIR_SPAN : 0;

	if (__builtin_expect(!sched && (row->flags & SPUR_F_DEPTH) && row->depth != UINT16_MAX &&
				     row->depth > s->calls,
			     0) &&
	    !pair_fill(s, row->depth, row->ts))
		return NULL;
	if (__builtin_expect(s->n >= s->cap, 0) && !pair_grow_frames(s, s->n + 1))
		return NULL;
	if (__builtin_expect(s->index != NULL, 0) &&
	    !innermost_push(s->index, s->n, flags ? 0 : row->cls))
		return NULL;
	f = &s->frames[s->n++];
	*f = (struct pair_frame){ .ts = row->ts, .cls = row->cls, .flags = flags };
	s->calls += !sched;
	return f;
}

/*
 * Returns the topmost frame if the END or SWITCH-in row ends it, or NULL if the row's BEGIN is not
 * in the data. Requires that the excess was popped before.
 */
static inline struct pair_frame *pair_match(const struct pair_stack *s,
					    const struct spur_event *row)
{
	struct pair_frame *f = s->n ? &s->frames[s->n - 1] : NULL;

	if (!f || (f->flags & PAIR_MISSING) ||
	    !(f->flags & PAIR_SCHED) != (row->kind != SPUR_SWITCH))
		return NULL;
	if (row->kind == SPUR_SWITCH)
		return f;
	if (row->flags & SPUR_F_DEPTH)
		return row->depth == UINT16_MAX || row->depth + 1u == s->calls ? f : NULL;
	if (!(row->flags & SPUR_F_ANY) && (f->cls != row->cls || f->flags))
		return NULL;
	return f;
}

#endif
