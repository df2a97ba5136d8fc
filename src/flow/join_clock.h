/* How the clocks of two traces are related by what the traces say of them. See join_map.h. */
#ifndef SPUR_FLOW_JOIN_CLOCK_H
#define SPUR_FLOW_JOIN_CLOCK_H

#include "model/trace.h"

/*
 * Returns true if the name is that of a clock of the kernel: all programs of a machine read the
 * same clock, from boot to boot.
 */
bool join_is_kernel_clock(const char *name);
/*
 * Relates the clock of `b` to that of `a`. `shift` gets what is to be added to times of `b`, in ns
 * (0 where times are ticks). Returns false if they are unrelated, or if the distance does not fit
 * 64 bits.
 */
bool join_relate(const struct spur_trace *a, const struct spur_trace *b, struct clock_relation *how,
		 int64_t *shift);

#endif
