/*
 * SAMPLE rows that carry a stack: the time spent in its leaf, and how many calls that was. They
 * take no part in the stack of BEGIN and END rows around them.
 */
#ifndef SPUR_FLOW_SAMPLE_H
#define SPUR_FLOW_SAMPLE_H

#include "format/format.h"

enum { SAMPLE_DEPTH = 1 << 16 }; /* what is further in counts as the last function's own */

/* A reader's own; zero-initialise. */
struct sample {
	uint32_t *cls; /* root first */
	size_t n; /* 0: the row has no stack */
	size_t cap;
	uint64_t calls, self; /* of the leaf */
};

/* Returns false if out of memory. */
bool sample_read(struct sample *s, struct spur_trace *t, const struct spur_event *row);
void sample_free(struct sample *s);

#endif
