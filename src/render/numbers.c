#include "render/numbers.h"

#include <math.h>

/* Neumaier's sum: what rounding loses of either number is kept. */
static void float_add(struct numbers *n, double v)
{
	const long double x = v, sum = n->sum + x;

	if (isfinite(sum))
		n->rest += fabsl(n->sum) >= fabsl(x) ? (n->sum - sum) + x : (x - sum) + n->sum;
	n->sum = sum;
}

void numbers_add(struct numbers *n, struct table_value v)
{
	n->count++;
	if (v.type == TABLE_F64 && isnan(v.f)) {
		n->nan++;
		return;
	}
	if (n->least.type == TABLE_NONE || table_value_order(v, n->least) < 0)
		n->least = v;
	if (n->most.type == TABLE_NONE || table_value_order(v, n->most) > 0)
		n->most = v;
	if (v.type == TABLE_F64)
		float_add(n, v.f);
	else
		n->whole += v.type == TABLE_U64 ? (__int128)v.u : (__int128)v.i;
}

struct table_value numbers_mean(const struct numbers *n)
{
	const __int128 count = (__int128)(n->count - n->nan);
	const long double floats = isfinite(n->sum) ? n->sum + n->rest : n->sum;
	__int128 quotient;

	if (!count)
		return (struct table_value){ 0 };
	/* No more than 2^64 numbers: the sum fits, and the mean lies among them. */
	quotient = n->whole / count;
	if (floats == 0 && n->whole % count == 0)
		return quotient < 0 ? table_i64((int64_t)quotient) : table_u64((uint64_t)quotient);
	return table_f64((double)((long double)quotient +
				  (long double)(n->whole % count) / (long double)count +
				  floats / (long double)count));
}
