/* Exact scaling of ticks to nanoseconds in 128-bit arithmetic. */
#ifndef SPUR_BASE_SCALE_H
#define SPUR_BASE_SCALE_H

#include <stdbool.h>
#include <stdint.h>

struct scale {
	uint64_t num, den; /* ns = ticks * num / den, rounded down; reduced to lowest terms */
};

/* From ticks per second; a frequency of 0 is rejected (false). */
bool scale_from_hz(struct scale *s, uint64_t hz);
/* ticks * num / den in 128 bits, rounded toward minus infinity, clamped to int64. */
int64_t scale_ns(const struct scale *s, int64_t ticks);
/* For unsigned 64-bit tick counts past 2^63 too. */
int64_t scale_ns_u(const struct scale *s, uint64_t ticks);

#endif
