/*
 * The calls of one function, thread or session, from the table of all workers (calls_join()): what
 * a report shows a line of, and a comparison compares.
 */
#ifndef SPUR_PASS_FOLD_SUMS_H
#define SPUR_PASS_FOLD_SUMS_H

#include "pass/fold/calls.h"
#include "render/table.h"

struct call_sum {
	struct call_stat stat;
	struct spread *spread; /* of the table; NULL: none */
	struct call_open open; /* calls that are open when the data ends */
};

/*
 * Returns what `w` has of the key. If no call has ended, the durations are those of the open ones
 * so far.
 */
struct call_sum call_sum_of(const struct calls *w, uint32_t key);

/* The mean of the calls that have ended; unknown if there are samples only. */
struct table_value call_sum_mean(const struct call_sum *s);
/* A value of single calls, which is unknown if there are only samples: these add to sums alone. */
struct table_value call_sum_single(const struct call_sum *s, uint64_t v);
/* Both need the durations (CALLS_SPREAD). */
struct table_value call_sum_percentile(const struct call_sum *s, unsigned percent);
struct table_value call_sum_deviation(const struct call_sum *s);

#endif
