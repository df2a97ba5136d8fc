/*
 * The calls of one function, thread or session, joined from the tables of all workers (calls.h):
 * what a report shows a line of, and a comparison compares.
 */
#ifndef SPUR_PASS_FOLD_SUMS_H
#define SPUR_PASS_FOLD_SUMS_H

#include "pass/fold/calls.h"
#include "render/table.h"

/* Zero-initialise. */
struct call_sum {
	struct call_stat stat;
	struct spread *spread; /* owned; NULL: none */
	/* Calls that are open when the data ends; see call_sum_settle(). */
	struct call_open open;
	struct spread *open_spread;
};

/* Returns what `w` has of the key, as call_sum_settle() leaves it; the durations stay those of `w`. */
struct call_sum call_sum_of(const struct calls *w, uint32_t key);
/* Adds a worker's calls of the key. Returns false if out of memory. */
bool call_sum_add(struct call_sum *to, const struct calls *from, uint32_t key);
/* If no call has ended, shows the durations of the open ones so far. */
void call_sum_settle(struct call_sum *s);
/* Returns true if there is neither a call nor a sign of one. */
bool call_sum_is_empty(const struct call_sum *s);
void call_sum_free(struct call_sum *s);

/* The mean of the calls that have ended; unknown if there are samples only. */
struct table_value call_sum_mean(const struct call_sum *s);
/* A value of single calls, which is unknown if there are only samples: these add to sums alone. */
struct table_value call_sum_single(const struct call_sum *s, uint64_t v);
/* Both need the durations (CALLS_SPREAD). */
struct table_value call_sum_percentile(const struct call_sum *s, unsigned percent);
struct table_value call_sum_deviation(const struct call_sum *s);

#endif
