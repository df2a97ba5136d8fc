/*
 * The parts that feeds are read in, so that a feed that is much larger than the others keeps more
 * than one thread busy. Most feeds are one part; the parts of a feed follow each other.
 */
#ifndef SPUR_FLOW_PARTS_H
#define SPUR_FLOW_PARTS_H

#include "flow/pipe.h"

struct part {
	struct feed *feed; /* of the trace */
	uint32_t number; /* 0: the feed itself, which ends where part 1 begins */
	bool open; /* `own` has a state */
	/* For callers that join parts, who lock these members: */
	bool read; /* or to be read when it is joined */
	bool joining; /* of part 0: a thread joins others to it */
	union {
		struct feed *own; /* what is read if number > 0; NULL: not opened yet */
		size_t joined; /* of part 0: how many others were joined to it */
	};
	void *state;
};

struct parts {
	struct part *items; /* feed by feed, in the order of their rows */
	size_t n, cap;
};

/* Returns true if feeds may be read in parts at all. */
bool parts_apply(const struct spur_trace *t, const struct pipe_options *opt);
/*
 * Lists the parts of `n` feeds, and divides those that are larger than a thread's share; a part has
 * about `bytes` bytes, or spur_options.read_size if that is set. Returns false if out of memory.
 * Free with parts_free() in any case.
 */
bool parts_make(struct parts *l, struct spur_trace *t, const struct pipe_options *opt,
		struct feed *const *feeds, size_t n, uint64_t bytes);
/* Adds what was found in parts to the diagnostics of their feeds, in order. */
void parts_free(struct parts *l);
/*
 * Opens a part, and returns what to read it by, or NULL if out of memory. `before`: the part before
 * it if that was read to its end, else NULL.
 */
struct feed *part_open(struct spur_trace *t, struct part *p, const struct part *before);
/* Gives back what reading a part needs; its diagnostics stay until parts_free(). */
void part_close(const struct spur_trace *t, struct part *p);
/* Forgets a part that was opened without `before` and does not follow it. */
void part_forget(const struct spur_trace *t, struct part *p);
/* Returns false if the part, opened without `before`, must be opened again with it. */
bool part_follows(const struct spur_trace *t, const struct part *before, const struct part *p);

#endif
