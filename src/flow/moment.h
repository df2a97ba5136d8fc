/*
 * Points in time as people type them, for --from, --until, -r and `ts` in --where. The result is a
 * row's ts: ns on the trace's clock, or ticks where the trace was opened with raw times.
 *
 *	1.5s, +1ms         after the trace's first event (of --until: `+` counts from --from)
 *	-1s                before its last event
 *	50%                of the time between both
 *	0.000001234        nine decimals: a time as text output shows it, by --time
 *	832479151932       a whole number: a `ts` of JSON; see moment_parse()
 *	@828.215538, @5ms  on the trace's own clock
 *	10:21[:03.5][Z|+01:00]   a time of day, in the local zone where it names none
 *	2026-11-22[T10:21[:03.5]][Z|+01:00]   a date, in the local zone where it names none
 */
#ifndef SPUR_FLOW_MOMENT_H
#define SPUR_FLOW_MOMENT_H

#include "base/text.h"
#include "model/trace.h"

/* What the numbers that output shows mean. */
enum moment_numbers {
	MOMENT_REL, /* decimals: seconds since the first event; whole numbers: see moment_parse() */
	MOMENT_CLOCK, /* as MOMENT_REL; decimals are seconds of the clock where no epoch is known */
	MOMENT_TS, /* as MOMENT_REL, and any whole number that is no less than the first ts */
};

/*
 * The zeros that times count from; found when first asked for. Zero-initialise, then set `trace`.
 */
struct moment_base {
	struct spur_trace *trace;
	enum moment_numbers numbers;
	bool have_start, have_own, have_last;
	int64_t start; /* ts of the first event: see trace_start() */
	int64_t own; /* ts of the first event that is the program's own */
	int64_t last; /* ts of the last event */
};

/* How one option takes its time. */
struct moment_option {
	const char *name; /* of the option, for messages */
	bool uftrace; /* -r: times with a unit count from `own`, numbers are seconds of the clock */
	bool has_from; /* `+` counts from `from` */
	int64_t from;
};

/*
 * Parses all of `t`. A whole number without a unit is taken where it can only be the `ts` of an
 * event: with MOMENT_TS, or where the trace's clock started at least a second before the first
 * event; and it must not lie before that event. Otherwise it lacks a unit, which is an error.
 */
enum spur_status moment_parse(struct moment_base *b, const struct moment_option *o, struct text t,
			      int64_t *out, struct spur_error *err);
/*
 * A duration: ns us ms s m h, nsec usec msec sec min. Returns false if `t` is none. Without a unit:
 * `bare_ns` each, or, if that is 0, only the number 0.
 */
bool moment_duration(struct text t, int64_t bare_ns, int64_t *ns);
/* a + b, clamped to the range of int64. */
int64_t moment_add(int64_t a, int64_t b);

#endif
