/*
 * Fits a line between two clocks to events that both have recorded. Knows no traces: it gets times
 * and names, and works in integers, so that the same events give the same line everywhere.
 */
#ifndef SPUR_FLOW_ALIGN_FIT_H
#define SPUR_FLOW_ALIGN_FIT_H

#include "model/relation.h"

/* At most this many events of each trace are looked at. */
enum { ALIGN_EVENTS = 1 << 18 };
/* Fewer pairs of events that were found say nothing about drift. */
enum { ALIGN_DRIFT_PAIRS = 8 };

struct align_event {
	int64_t ts;
	uint32_t name; /* the same number for the same name in both traces, from 0 */
};

/* Two sequences, each in the order of time. */
struct align_input {
	const struct align_event *a, *b;
	size_t na, nb; /* at most ALIGN_EVENTS */
	uint32_t names; /* above all names */
};

struct align_fit {
	struct clock_map map; /* of times of `b` to those of `a` */
	uint64_t events, rejected; /* as in struct clock_relation */
	int64_t residual, error;
	int64_t score; /* evidence in bits: how much better the events agree than random ones */
};

enum align_verdict {
	ALIGN_CERTAIN,
	ALIGN_UNCERTAIN, /* the agreement of the events is not significant */
	ALIGN_AMBIGUOUS, /* at least two different lines fit about equally well */
	ALIGN_NO_MEMORY,
};

/*
 * Finds the line by which events of the two traces agree, though either may lack some, have others
 * of the same names, or have the same times with some noise. Rates may differ by 1 %. Requires
 * times between -2^60 and 2^60.
 */
enum align_verdict align_find(const struct align_input *in, struct align_fit *fit);

/*
 * Fits a line to 1 to ALIGN_EVENTS pairs of times that belong together: with one, its offset; with
 * more, offset and drift by least squares. `a` and `b` are the times on either clock.
 * ALIGN_CERTAIN, or ALIGN_UNCERTAIN if the rates differ by more than 1 %.
 */
enum align_verdict align_pairs(const int64_t *a, const int64_t *b, size_t n, struct align_fit *fit);

#endif
