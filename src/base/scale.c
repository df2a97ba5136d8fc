/* Exact scaling of ticks. See scale.h. */
#include "base/scale.h"

typedef unsigned __int128 u128;

bool scale_from_hz(struct scale *s, uint64_t hz)
{
	const uint64_t ns = 1000000000u;
	uint64_t a = ns, b = hz;

	if (!hz)
		return false;
	while (b) {
		const uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	*s = (struct scale){ .num = ns / a, .den = hz / a };
	return true;
}

/* Rounds down, or up where `up`. A denominator of 0 counts as 1. */
static u128 scale_product(const struct scale *s, uint64_t ticks, bool up)
{
	const u128 product = (u128)ticks * s->num;
	const uint64_t low = (uint64_t)product, den = s->den ? s->den : 1;

	if (den == 1)
		return product;
	if (low == product)
		return low / den + (up && low % den);
	return product / den + (up && product % den);
}

int64_t scale_ns_u(const struct scale *s, uint64_t ticks)
{
	const u128 ns = scale_product(s, ticks, false);

	return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

int64_t scale_ns(const struct scale *s, int64_t ticks)
{
	u128 ns;

	if (ticks >= 0)
		return scale_ns_u(s, (uint64_t)ticks);
	ns = scale_product(s, 0 - (uint64_t)ticks, true);
	return ns > INT64_MAX ? INT64_MIN : -(int64_t)ns;
}
