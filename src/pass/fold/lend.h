/*
 * Readers that sum calls themselves (model/sink.h), for calls.h: what is open moves from the
 * track's stack to a sink before rows are pulled, and back before the next row is counted.
 */
#ifndef SPUR_PASS_FOLD_LEND_H
#define SPUR_PASS_FOLD_LEND_H

#include "model/sink.h"
#include "pass/fold/calls.h"

/*
 * struct pipe_fold.sink of a struct calls. Returns NULL if what is open, or what is wanted, is not
 * for a sink.
 */
struct call_sink *calls_lend(void *worker);
/* Takes the open calls back. Returns false if out of memory. */
bool calls_take_back(struct calls *w);
/*
 * Moves the sums to those of the worker. Requires that the open calls were taken back. Returns
 * false if out of memory.
 */
bool calls_settle(struct calls *w);

#endif
