/* Compact durations and the rank test. See dist.h. */
#include "pass/diff/dist.h"

#include <assert.h>
#include <math.h>

/* Steps of a spread: counted first, then copied. */
struct copier {
	struct dist *to; /* NULL: count only */
	size_t n;
};

static bool copy_step(void *self, uint64_t value, uint64_t times)
{
	struct copier *c = self;

	if (c->to)
		c->to->steps[c->n] = (struct dist_step){ value, times };
	c->n++;
	return true;
}

struct dist *dist_new(struct arena *a, struct spread *s)
{
	struct copier c = { 0 };
	struct dist *d;

	if (!spread_each(s, copy_step, &c))
		return NULL;
	d = arena_alloc(a, sizeof(*d) + c.n * sizeof(d->steps[0]));
	if (!d)
		return NULL;
	d->count = s->count;
	d->n = c.n;
	d->binned = s->spilled && !s->exact;
	c = (struct copier){ .to = d };
	if (!spread_each(s, copy_step, &c))
		return NULL;
	assert(c.n == d->n);
	return d;
}

/* --- the two samples, merged in ascending order */

struct merger {
	const struct dist *of[2];
	size_t at[2];
	bool binned; /* one of them is: compare both by steps */
};

/* How often the next value is in each sample. */
struct tie {
	uint64_t times[2];
};

static uint64_t merger_value(const struct merger *m, int side)
{
	const uint64_t v = m->of[side]->steps[m->at[side]].value;

	return m->binned && !m->of[side]->binned ? spread_bin(v) : v;
}

static bool merger_has(const struct merger *m, int side)
{
	return m->at[side] < m->of[side]->n;
}

/* Returns false at the end. */
static bool merger_next(struct merger *m, struct tie *t)
{
	const bool a = merger_has(m, 0), b = merger_has(m, 1);
	uint64_t value;

	*t = (struct tie){ 0 };
	if (!a && !b)
		return false;
	value = !b || (a && merger_value(m, 0) <= merger_value(m, 1)) ? merger_value(m, 0)
								      : merger_value(m, 1);
	for (int side = 0; side < 2; side++)
		for (; merger_has(m, side) && merger_value(m, side) == value; m->at[side]++)
			t->times[side] += m->of[side]->steps[m->at[side]].times;
	return true;
}

static struct merger merger_begin(const struct dist *a, const struct dist *b)
{
	return (struct merger){ .of = { a, b }, .binned = a->binned || b->binned };
}

/* --- few durations: all ways to deal them out */

/*
 * Counts, by twice the sum of their ranks, the ways to choose some of the ranks: ways[k][s] with k
 * chosen.
 */
struct ways {
	uint32_t of[DIST_EXACT / 2 + 1][DIST_EXACT * (DIST_EXACT + 1) + 1];
};

static void ways_add(struct ways *w, unsigned choose, uint32_t rank, uint32_t most)
{
	for (unsigned k = choose; k > 0; k--)
		for (uint32_t s = rank; s <= most; s++)
			w->of[k][s] += w->of[k - 1][s - rank];
}

/* Requires at most DIST_EXACT durations. */
static double exact_p(const struct dist *a, const struct dist *b)
{
	const unsigned total = (unsigned)(a->count + b->count);
	const int less = a->count <= b->count ? 0 : 1;
	const unsigned choose = (unsigned)(less ? b : a)->count;
	const uint32_t most = total * (total + 1), middle = choose * (total + 1);
	struct merger m = merger_begin(a, b);
	struct ways w = { .of[0][0] = 1 };
	uint32_t sum = 0, before = 0, far;
	uint64_t all = 0, beyond = 0;
	struct tie t;

	assert(total <= DIST_EXACT && choose <= DIST_EXACT / 2);
	while (merger_next(&m, &t)) {
		const uint32_t tied = (uint32_t)(t.times[0] + t.times[1]);
		const uint32_t rank = 2 * before + tied + 1; /* twice the mean rank */

		sum += rank * (uint32_t)t.times[less];
		for (uint32_t i = 0; i < tied; i++)
			ways_add(&w, choose, rank, most);
		before += tied;
	}
	far = sum > middle ? sum - middle : middle - sum;
	for (uint32_t s = 0; s <= most; s++) {
		const uint32_t distance = s > middle ? s - middle : middle - s;

		all += w.of[choose][s];
		beyond += distance >= far ? w.of[choose][s] : 0;
	}
	return (double)beyond / (double)all;
}

/* --- */

static double normal_p(unsigned __int128 distance, double n, double m, double ties)
{
	const double all = n + m;
	const double variance = n * m / 12 * (all + 1 - ties / (all * (all - 1)));
	double z;

	if (!(variance > 0) || !distance)
		return 1;
	z = ((double)distance / 2 - 0.5) / sqrt(variance);
	return z > 0 ? erfc(z / sqrt(2)) : 1;
}

struct dist_change dist_compare(const struct dist *a, const struct dist *b)
{
	const unsigned __int128 middle = (unsigned __int128)a->count * b->count;
	struct merger m = merger_begin(a, b);
	unsigned __int128 twice = 0, distance; /* pairs of which b's is longer; ties count half */
	struct dist_change c;
	uint64_t below = 0;
	double ties = 0;
	struct tie t;

	assert(a->count && b->count);
	while (merger_next(&m, &t)) {
		const double tied = (double)(t.times[0] + t.times[1]);

		twice +=
			(unsigned __int128)t.times[1] * (2 * (unsigned __int128)below + t.times[0]);
		below += t.times[0];
		ties += tied * tied * tied - tied;
	}
	distance = twice > middle ? twice - middle : middle - twice;
	c.sign = twice > middle ? 1 : twice < middle ? -1 : 0;
	c.p = a->count + b->count <= DIST_EXACT
		      ? exact_p(a, b)
		      : normal_p(distance, (double)a->count, (double)b->count, ties);
	return c;
}
