/* Sums of calls. See sums.h. */
#include "pass/fold/sums.h"

struct call_sum call_sum_of(const struct calls *w, uint32_t key)
{
	struct call_sum s = { .stat = w->stats[key] };

	if (key < w->nopens)
		s.open = w->opens[key];
	if (s.open.calls == s.stat.calls) {
		s.stat.least = s.open.least;
		s.stat.most = s.open.most;
		s.stat.spread = s.open.spread;
		s.open = (struct call_open){ 0 };
	}
	s.spread = s.stat.spread ? &w->spreads[s.stat.spread - 1] : NULL;
	return s;
}

struct table_value call_sum_single(const struct call_sum *s, uint64_t v)
{
	const struct call_stat *st = &s->stat;

	return st->least || !(st->calls || st->sum) ? table_u64(v) : (struct table_value){ 0 };
}

struct table_value call_sum_percentile(const struct call_sum *s, unsigned percent)
{
	return call_sum_single(s, s->spread ? spread_percentile(s->spread, percent) : 0);
}

struct table_value call_sum_deviation(const struct call_sum *s)
{
	return call_sum_single(s, s->spread ? spread_deviation(s->spread) : 0);
}

struct table_value call_sum_mean(const struct call_sum *s)
{
	const struct call_stat *st = &s->stat;

	if (!st->calls && st->sum)
		return (struct table_value){ 0 };
	return table_u64(st->calls > s->open.calls
				 ? (st->sum - s->open.sum) / (st->calls - s->open.calls)
				 : 0);
}
