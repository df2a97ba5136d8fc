/*
 * How the clocks of several traces are related: the parts of a joined trace (join.h) get a map of
 * their times to those of the first part, what is known of that map, and why it holds.
 *
 * In this order: spur_options.align; spur_options.same_clock; the same clock of one boot, where
 * both say so; the same clock by name, where the epochs agree; epochs; the assumption that clocks
 * of one name and rate are one, which is said in a note. spur_options.offsets is added to each of
 * these, and relates clocks that nothing else does.
 */
#ifndef SPUR_FLOW_JOIN_MAP_H
#define SPUR_FLOW_JOIN_MAP_H

#include "base/out.h"
#include "model/trace.h"

/*
 * Sets the map and the relation of each of the `n` parts in t->parts. Requires that they are open
 * and that no row was read. Reads the first rows of some. SPUR_FAIL: clocks cannot be related.
 */
enum spur_status join_clocks(struct spur_trace *t, size_t n, struct spur_error *err);

/* Writes how a part's clock is related, and how sure that is, as one line without its end. */
void join_clock_text(const struct trace_part *part, struct out *o);
/* The same for all parts, as a JSON array. */
void join_clock_json(const struct spur_trace *t, struct out *o);

#endif
