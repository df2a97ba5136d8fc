/*
 * What counters had in a range: samples, least, greatest, mean and last value, as `spur counters
 * --by track` has them of the range. Integers are exact.
 */
#include <math.h>

#include "view/view.h"

struct series_sum {
	enum store_lane_kind kind;
	uint64_t samples, nan;
	uint64_t least, most, last; /* bits */
	bool any; /* least and most are known */
	__int128 whole; /* sum of the integers */
	long double sum, rest; /* of the floats, and what rounding took from it */
};

/* Returns true if value `a` is below `b`. */
static bool is_below(enum store_lane_kind kind, uint64_t a, uint64_t b)
{
	if (kind == STORE_I64)
		return (int64_t)a < (int64_t)b;
	return kind == STORE_U64 ? a < b : store_number(STORE_F64, a) < store_number(STORE_F64, b);
}

/* Neumaier's sum: what rounding loses of either number is kept. */
static void float_add(struct series_sum *s, double v)
{
	const long double x = v, sum = s->sum + x;

	if (isfinite(sum))
		s->rest += fabsl(s->sum) >= fabsl(x) ? (s->sum - sum) + x : (x - sum) + s->sum;
	s->sum = sum;
}

static void sample_add(struct series_sum *s, uint64_t bits)
{
	s->last = bits;
	s->samples++;
	if (s->kind == STORE_F64 && isnan(store_number(STORE_F64, bits))) {
		s->nan++;
		return;
	}
	if (!s->any || is_below(s->kind, bits, s->least))
		s->least = bits;
	if (!s->any || is_below(s->kind, s->most, bits))
		s->most = bits;
	s->any = true;
	if (s->kind == STORE_F64)
		float_add(s, store_number(STORE_F64, bits));
	else
		s->whole += s->kind == STORE_U64 ? (__int128)bits : (__int128)(int64_t)bits;
}

static void put_value(struct out *o, const char *name, enum store_lane_kind kind, uint64_t bits)
{
	out_printf(o, ",\"%s\":\"", name);
	if (kind == STORE_I64)
		out_i64(o, (int64_t)bits);
	else if (kind == STORE_U64)
		out_u64(o, bits);
	else
		out_double(o, store_number(STORE_F64, bits));
	out_char(o, '"');
}

/* The mean of integers is exact where it is whole, else the nearest double. */
static void put_mean(struct out *o, const struct series_sum *s)
{
	const __int128 n = (__int128)(s->samples - s->nan);
	const long double floats = isfinite(s->sum) ? s->sum + s->rest : s->sum;
	double mean;

	if (!s->any) {
		out_str(o, ",\"mean\":\"\"");
		return;
	}
	if (s->kind != STORE_F64 && s->whole % n == 0) {
		put_value(o, "mean", s->whole < 0 ? STORE_I64 : STORE_U64,
			  (uint64_t)(s->whole / n));
		return;
	}
	mean = (double)((long double)(s->whole / n) + (long double)(s->whole % n) / (long double)n +
			floats / (long double)n);
	out_str(o, ",\"mean\":\"");
	out_double(o, mean);
	out_char(o, '"');
}

/* Writes the sums of a counter's lane, if it has samples in the range. */
static void put_series(const struct view *v, uint32_t lane, const struct view_range *range,
		       bool *first, struct out *o)
{
	struct series_sum s = { 0 };
	struct store_item item;
	struct store_lane info;

	if (!store_lane(v->store, lane, &info) || !kind_is_counter(info.kind))
		return;
	s.kind = info.kind;
	for (uint64_t i = store_seek(v->store, lane, range->from);
	     store_item(v->store, lane, i, &item) && item.start < range->to; i++)
		if (item.start >= range->from)
			sample_add(&s, item.value);
	if (!s.samples)
		return;
	out_printf(o, "%s{\"series\":%u,\"samples\":%llu", *first ? "" : ",", lane,
		   (unsigned long long)s.samples);
	if (s.any) {
		put_value(o, "min", s.kind, s.least);
		put_value(o, "max", s.kind, s.most);
	} else {
		out_str(o, ",\"min\":\"\",\"max\":\"\"");
	}
	put_mean(o, &s);
	put_value(o, "last", s.kind, s.last);
	out_char(o, '}');
	*first = false;
}

bool view_counters(struct view *v, const struct view_request *r, struct view_answer *a)
{
	const uint32_t nlanes = store_facts(v->store).lanes;
	struct view_range range;
	bool first = true;

	if (!view_range(v, r, &range, a))
		return false;
	out_char(&a->out, '[');
	for (uint32_t i = 0; i < nlanes; i++)
		put_series(v, i, &range, &first, &a->out);
	out_char(&a->out, ']');
	view_range_free(&range);
	return !a->out.error;
}
