/* How the clocks of two traces are related. See join.h. */
#ifndef SPUR_FLOW_JOIN_CLOCK_H
#define SPUR_FLOW_JOIN_CLOCK_H

#include "model/trace.h"

enum join_relation {
	JOIN_UNRELATED,
	JOIN_ONE_CLOCK, /* the same clock: both name it, and their epochs agree */
	JOIN_EPOCHS, /* both know what time of day their zero is */
	JOIN_ASSUMED, /* equal names, rates and kinds of zero; nothing speaks against it */
};

/*
 * Relates the clock of `b` to that of `a`. `shift` gets what is to be added to times of `b`, in ns
 * (0 where times are ticks). Returns JOIN_UNRELATED too if the distance does not fit 64 bits.
 */
enum join_relation join_relate(const struct spur_trace *a, const struct spur_trace *b,
			       int64_t *shift);

#endif
