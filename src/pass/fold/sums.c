/* Sums of calls. See sums.h. */
#include "pass/fold/sums.h"

/* Joins `from` into *into, which is created if it is NULL. Returns false if out of memory. */
static bool spread_take(struct spread **into, const struct spread *from)
{
	if (!*into)
		*into = mem_alloc(sizeof(**into));
	return *into && spread_join(*into, from);
}

static void spread_drop(struct spread *s)
{
	if (s)
		spread_free(s);
	mem_free(s);
}

static bool open_join(struct call_sum *s, const struct calls *w, const struct call_open *from)
{
	struct call_open *to = &s->open;

	to->sum += from->sum;
	to->calls += from->calls;
	to->least = from->least > to->least ? from->least : to->least;
	to->most = from->most > to->most ? from->most : to->most;
	return !from->spread || spread_take(&s->open_spread, &w->spreads[from->spread - 1]);
}

bool call_sum_add(struct call_sum *s, const struct calls *w, uint32_t key)
{
	const struct call_stat *from = &w->stats[key];
	struct call_stat *to = &s->stat;

	to->sum += from->sum;
	to->inner += from->inner;
	to->self += from->self;
	to->calls += from->calls;
	to->least = from->least > to->least ? from->least : to->least;
	to->most = from->most > to->most ? from->most : to->most;
	if (__builtin_add_overflow(to->unfinished, from->unfinished, &to->unfinished))
		to->unfinished = UINT32_MAX;
	if (from->spread && !spread_take(&s->spread, &w->spreads[from->spread - 1]))
		return false;
	return key >= w->nopens || open_join(s, w, &w->opens[key]);
}

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

void call_sum_settle(struct call_sum *s)
{
	if (s->open.calls != s->stat.calls)
		return;
	s->stat.least = s->open.least;
	s->stat.most = s->open.most;
	spread_drop(s->spread);
	s->spread = s->open_spread;
	s->open = (struct call_open){ 0 };
	s->open_spread = NULL;
}

bool call_sum_is_empty(const struct call_sum *s)
{
	return !s->stat.calls && !s->stat.unfinished && !s->stat.sum;
}

void call_sum_free(struct call_sum *s)
{
	spread_drop(s->spread);
	spread_drop(s->open_spread);
	s->spread = s->open_spread = NULL;
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
