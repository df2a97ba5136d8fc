/*
 * Ticks to ns exactly, at the cost of one multiplication in hot loops: for ticks within `limit` of
 * an origin the result is ns + floor(d * mult * 2^-K), d = ticks - origin, with `mult` and `add`
 * rounded up.
 *
 * Why it is exact. Let n/m be ns per tick, r the remainder of origin * n / m, K = 64 - shift.
 * Wanted: floor of (d n + r) / m. mult = (n 2^K + e) / m and add = (r 2^K + f) / m with 0 <= e, f <
 * m, so that d mult + add is 2^K (d n + r) / m plus (d e + f) / m. The fraction of (d n + r) / m is
 * at most (m - 1) / m: nothing is carried into the integer as long as d e + f < 2^K, which holds
 * for (d + 1) m <= 2^K.
 */
#ifndef SPUR_FORMAT_XRAY_TICKS_H
#define SPUR_FORMAT_XRAY_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/scale.h"

struct ticks {
	struct scale scale;
	uint64_t origin;
	uint64_t limit; /* d must be below it */
	uint64_t mult, add; /* add is shifted already */
	int64_t ns; /* of the origin */
	unsigned shift;
};

static inline void ticks_move(struct ticks *k, uint64_t origin)
{
	const unsigned __int128 one = 1;
	const uint64_t num = k->scale.num, den = k->scale.den;
	const unsigned __int128 product = (unsigned __int128)origin * num, ns = product / den;
	const uint64_t rest = (uint64_t)(product % den);
	const unsigned __int128 exact = (one << (64 - k->shift)) / den;
	unsigned __int128 room;

	k->origin = origin;
	k->ns = scale_ns_u(&k->scale, origin);
	k->add = (uint64_t)((((unsigned __int128)rest << (64 - k->shift)) + den - 1) / den)
		 << k->shift;
	/* The sum must not exceed the largest time, nor the ticks 2^64. */
	room = ns >= INT64_MAX ? 0 : (INT64_MAX - ns) * den / num;
	if (room > exact)
		room = exact;
	if (room > UINT64_MAX - origin)
		room = UINT64_MAX - origin;
	k->limit = room ? (uint64_t)room - 1 : 0;
}

/* With frequency 0 or `raw`, a tick counts as a ns. */
static inline void ticks_init(struct ticks *k, uint64_t hz, bool raw)
{
	*k = (struct ticks){ .scale = { .num = 1, .den = 1 } };
	if (!raw)
		scale_from_hz(&k->scale, hz);
	while (k->scale.num >> k->shift >= k->scale.den)
		k->shift++;
	k->mult = (uint64_t)((((unsigned __int128)k->scale.num << (64 - k->shift)) + k->scale.den -
			      1) /
			     k->scale.den);
	ticks_move(k, 0);
}

/* Of d = ticks - origin, below the limit. */
static inline int64_t ticks_near(const struct ticks *k, uint64_t d)
{
	const unsigned __int128 start = (unsigned __int128)(uint64_t)k->ns << 64 | k->add;

	return (int64_t)(((unsigned __int128)(d << k->shift) * k->mult + start) >> 64);
}

static inline int64_t ticks_ns(struct ticks *k, uint64_t ticks)
{
	if (ticks - k->origin >= k->limit)
		ticks_move(k, ticks);
	return ticks - k->origin < k->limit ? ticks_near(k, ticks - k->origin) : k->ns;
}

#endif
