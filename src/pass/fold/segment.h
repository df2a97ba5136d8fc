/*
 * Sums of the calls of one thread's part (flow/parts.h), which begins while calls are open that the
 * part does not know. It is folded from an empty stack; ENDs that find the stack empty are noted,
 * with what is needed to apply them once the part before is known. So joining is exact: of what
 * calls sum up only `inner` depends on which calls were open before the part, and that is known of
 * whole parts, or up to an END that was noted.
 *
 * Where rows have a depth, the first one tells how many calls are open before the part. Frames of
 * unknown calls stand for these, so that depths are right; an END that finds one on top is noted.
 * These frames are the ones that the data is missing (PAIR_MISSING), as far as the part knows.
 *
 * A part in which anything else depends on the calls before it is odd, and is folded again in
 * order: an END that finds calls open, but not its own; a depth that is not the next one; SPANs; a
 * thread's exit; without depths, time off the CPU.
 */
#ifndef SPUR_PASS_FOLD_SEGMENT_H
#define SPUR_PASS_FOLD_SEGMENT_H

#include "pass/fold/calls.h"

enum {
	SEGMENT_ENDS = 256, /* noted; a part with more is odd */
	SEGMENT_KEYS = 1 << 16, /* classes so far when one is noted; more are odd */
};

/* An END of a call that began before the part. */
struct segment_end {
	int64_t ts;
	int64_t child; /* time of calls inside the ended one, since the noted END before */
	uint32_t cls;
	uint16_t flags;
};

/* The time of a class's outermost calls before a noted END of the same head. */
struct segment_outer {
	size_t end; /* number of the END */
	uint32_t key;
	uint64_t ns;
};

struct segment {
	struct segment_end *ends;
	size_t nends, ends_cap;
	struct segment_outer *outers; /* in the order of the ENDs */
	size_t nouters, outers_cap;
	uint32_t base; /* frames of calls before the part that are still open */
	bool begun; /* rows came */
	bool by_depth; /* they have depths */
	bool odd;
};

/* As struct pipe_fold says, of struct calls. */
void *segment_new(const void *worker, const struct feed *f, bool first);
bool segment_join(void *first, void *part, bool *fits);
bool segment_end_feed(void *worker, void *first);
void segment_free(void *part);

enum segment_row {
	SEGMENT_OWN, /* the row depends on nothing before the part */
	SEGMENT_TAKEN, /* it was noted, or the part is odd */
	SEGMENT_FAIL, /* out of memory */
};
/* The part's first row comes. Returns false if out of memory. */
bool segment_begin(struct calls *w, const struct spur_event *row);
/* Adds the time of a call that ended on an empty stack to the call that it may lie in. */
static inline void segment_credit(struct pair_stack *s, uint64_t length)
{
	s->frames[-1].child = (int64_t)((uint64_t)s->frames[-1].child + length);
}
/* What becomes of a row that the quick path leaves. `s` is the stack of its track. */
enum segment_row segment_take(struct calls *w, struct pair_stack *s, const struct spur_event *row);

/* --- calls.c, for segment.c --- */

bool calls_step(struct calls *w, const struct spur_event *row);
/* Begins with a feed or a part of one. */
bool calls_begin(struct calls *w, const struct feed *f);
bool calls_end(struct calls *w);
/* Counts an open call of the key on a track. Returns false if out of memory. */
bool calls_open(struct calls *w, uint32_t key, uint32_t track);
/* What nested calls of the key are recursion of. */
uint32_t calls_head(const struct calls *w, uint32_t key);
/* Adds all sums of `from`, which become empty, to those of `w`. Returns false if out of memory. */
bool calls_move(struct calls *w, struct calls *from);

#endif
