/* Durations of a row. See lengths.h. */
#include "pass/fold/lengths.h"

#include "base/mem.h"

/* Moves the first ones to a spread. */
static bool lengths_spread(struct lengths *l)
{
	l->spread = mem_alloc(sizeof(*l->spread));
	if (!l->spread)
		return false;
	l->spread->exact = true;
	for (size_t i = 0; i < LENGTHS_FEW; i++)
		if (!spread_add(l->spread, l->few[i]))
			return false;
	return true;
}

bool lengths_add(struct lengths *l, uint64_t ns)
{
	size_t at = (size_t)l->count;

	l->least = !l->count || ns < l->least ? ns : l->least;
	l->most = ns > l->most ? ns : l->most;
	l->total += ns;
	l->count++;
	if (at >= LENGTHS_FEW)
		return (l->spread || lengths_spread(l)) && spread_add(l->spread, ns);
	for (; at && l->few[at - 1] > ns; at--)
		l->few[at] = l->few[at - 1];
	l->few[at] = ns;
	return true;
}

uint64_t lengths_percentile(const struct lengths *l, unsigned percent)
{
	const uint64_t rank = (l->count * percent + 99) / 100;

	if (l->spread)
		return spread_percentile(l->spread, percent);
	return l->count ? l->few[rank ? rank - 1 : 0] : 0;
}

uint64_t lengths_deviation(const struct lengths *l)
{
	struct spread few = { .count = l->count, .sum = l->total };

	if (l->spread)
		return spread_deviation(l->spread);
	for (size_t i = 0; i < l->count; i++)
		few.squares += (unsigned __int128)l->few[i] * l->few[i];
	return spread_deviation(&few);
}

void lengths_free(struct lengths *l)
{
	if (l->spread)
		spread_free(l->spread);
	mem_free(l->spread);
	*l = (struct lengths){ 0 };
}
