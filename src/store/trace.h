/*
 * A store as a trace, so that analyses of calls read it as they read any trace: its feeds have the
 * rows of the trace that the store was made of, in the order of each track. Of a range of time
 * (trace_want()) only the items in it are read.
 */
#ifndef SPUR_STORE_TRACE_H
#define SPUR_STORE_TRACE_H

#include "store/store.h"

/*
 * Returns true if analyses of calls get from the store what they get from the trace: what has no
 * item in a store (enum store_fact) is not needed.
 */
bool store_has_calls(const struct store *s);
/*
 * Opens the store, a file, as a trace that is called `path`. The store belongs to the trace from
 * now on, also if this fails. Rows lack arguments. Requires store_has_calls().
 */
enum spur_status store_trace_open(struct spur_trace **out, struct store *s, const char *path,
				  const struct spur_options *opt, struct spur_error *err);
/*
 * Returns true if a block of a trace that was opened in this way turned out to be damaged while it
 * was read: the rows were not complete. Other traces: false.
 */
bool store_trace_is_damaged(const struct spur_trace *t);

#endif
