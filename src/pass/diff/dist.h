/*
 * The durations of one function's calls, compact and ascending, and whether those of two functions
 * differ. Exact for up to SPREAD_FEW calls, else in the steps of the histogram (spread.h).
 */
#ifndef SPUR_PASS_DIFF_DIST_H
#define SPUR_PASS_DIFF_DIST_H

#include "base/mem.h"
#include "flow/spread.h"

/* Up to this many durations in both together, the probability is exact. */
enum { DIST_EXACT = 20 };

struct dist_step {
	uint64_t value, times; /* ns; times > 0 */
};

struct dist {
	uint64_t count; /* of durations */
	size_t n; /* steps */
	bool binned; /* values are those of spread_bin() */
	struct dist_step steps[];
};

/*
 * Returns a copy of the durations in the arena, NULL if out of memory. Nothing is added to `s`
 * afterwards.
 */
struct dist *dist_new(struct arena *a, struct spread *s);

struct dist_change {
	/* The probability of such a difference, or a larger one, if nothing had changed. */
	double p;
	int sign; /* 1: the durations of b tend to be longer; -1: shorter; 0: neither */
};

/*
 * Compares two samples by the two-sided rank test of Mann and Whitney, also called Wilcoxon's rank
 * sum test. Equal values share their mean rank. Up to DIST_EXACT durations p is the share of all
 * ways to deal them out that are at least as far from the mean; beyond, the normal approximation
 * with the corrections for ties and continuity. Requires that both have durations.
 */
struct dist_change dist_compare(const struct dist *a, const struct dist *b);

#endif
