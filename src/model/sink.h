/*
 * Sums of calls that a reader makes straight from its records, in place of rows. A pass that wants
 * only the sums of a feed's calls per class lends the reader a sink with each batch. The reader may
 * sum BEGIN and END rows of the feed's track into it that come before all rows of the batch, as
 * long as these are regular: each BEGIN is one level deeper than the calls that are open, each END
 * ends the innermost of them and is of its class, and times do not go back. What is not regular
 * becomes rows, and the pass takes the open calls back from the sink before it counts them.
 *
 * INVARIANT: depth <= SINK_DEPTH; child[d] is 0 for d > depth; open[h] is the number of open calls
 * whose class has the head h; classes below nclasses have their head in head[].
 */
#ifndef SPUR_MODEL_SINK_H
#define SPUR_MODEL_SINK_H

#include "base/map64.h"
#include "model/trace.h"

enum {
	SINK_DEPTH = 512, /* calls that may be open */
	/* Classes that are summed; others become rows. So a sink has at most 1 MiB. */
	SINK_CLASSES = 1 << 14,
	SINK_BLOCK = 256, /* calls that end before they are summed */
};

static_assert(SINK_CLASSES <= UINT16_MAX && SINK_DEPTH <= UINT16_MAX, "head[] and open[]");

/* The sums of a class; the members are those of struct call_stat (pass/fold/calls.h). */
struct sink_sum {
	uint64_t sum, inner, self, calls;
	uint64_t least, most;
};

/* A call that has ended. */
struct sink_call {
	uint64_t length; /* ns */
	uint32_t cls;
	uint16_t depth; /* calls around it */
	uint16_t nested; /* calls of its head around it */
};

/* What the last call that ended on a level has left there. */
struct sink_left {
	uint64_t length, child; /* ns; child <= length */
	uint32_t cls;
	uint32_t low; /* the lowest level that a call had ended on by then, or `low` below */
};

/*
 * For a pass for which a call is recursion if its address is that of an open call. Calls of a class
 * are summed if all of them have one address, and no calls of another class have it.
 */
struct sink_addrs {
	uint64_t *of; /* by class; 0: its calls are not summed, so far */
	size_t cap;
	struct map64 classes; /* by address */
	bool (*admits)(void *self, uint32_t cls); /* calls of the class may be summed */
	void *self;
	/* Set by the pass when it lends the sink: low to the number of open calls, high to 0. */
	uint32_t low; /* the calls on levels below have not ended */
	uint32_t high; /* calls have ended on levels below only */
	struct sink_left left[SINK_DEPTH]; /* by level, where a call has ended */
};

struct call_sink {
	struct sink_addrs *addrs; /* NULL: calls nest by the heads of their classes */
	uint64_t rows; /* that were summed since the pass has set this to 0 */
	int64_t last; /* time of the last of them */
	/* The open calls. */
	uint32_t depth;
	uint32_t cls[SINK_DEPTH];
	uint64_t ts[SINK_DEPTH];
	uint64_t child[SINK_DEPTH + 1]; /* by depth + 1: ns of the calls directly inside */
	/* By class. */
	struct sink_sum *sums;
	uint16_t *open, *head;
	size_t nclasses, sums_cap, open_cap, head_cap;
	struct sink_call ended[SINK_BLOCK];
};

/*
 * Makes room for the sums of a class. Returns false if that cannot be: there are too many classes,
 * or out of memory.
 */
bool sink_room(struct call_sink *k, const struct spur_trace *t, uint32_t cls);
/*
 * Makes room for the sums of a class, if calls of it at the address are to be summed. Returns false
 * if not.
 */
bool sink_takes(struct call_sink *k, const struct spur_trace *t, uint32_t cls, uint64_t addr);
/* Adds the first `n` calls in ended[], which are in order. */
void sink_settle(struct call_sink *k, size_t n);
/* Opens a call. Requires room for its class and depth. */
void sink_push(struct call_sink *k, uint32_t cls, int64_t ts, int64_t child);
/* Forgets the open calls. */
void sink_clear(struct call_sink *k);
/* `k` may be NULL. Frees k->addrs too. */
void sink_free(struct call_sink *k);

#endif
