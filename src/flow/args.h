/* The arguments of rows: those that the format decodes, or what the plan of their class says. */
#ifndef SPUR_FLOW_ARGS_H
#define SPUR_FLOW_ARGS_H

#include "model/trace.h"

/*
 * Decodes the arguments of a row of this trace, as spur_args() does for programs: SPUR_FAIL if out
 * of memory. Like all internal functions it does not check its arguments, and charges failed
 * allocations to the counter of the thread (mem_charge()).
 */
enum spur_status trace_args(struct spur_trace *t, const struct spur_event *ev,
			    struct spur_args *args);
/*
 * The same without the check for failed allocations: for many events in a row, whose caller
 * compares mem_failures() before and after them.
 */
enum spur_status args_decode(struct spur_trace *t, const struct spur_event *ev,
			     struct spur_args *args);

#endif
