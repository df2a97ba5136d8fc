/* Histogram of durations. See spread.h. */
#include "flow/spread.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { STEP_BITS = 6, FIRST = 2 << STEP_BITS, STEPS = 1 << STEP_BITS };
enum { SPREAD_LEAST = 4 };
static_assert(SPREAD_FEW == SPREAD_LEAST * 4 * 4, "room grows to it");

static size_t octave_size(unsigned octave)
{
	return octave ? STEPS : FIRST;
}

/* Octave 0 holds 0 .. 127 singly; octave k holds [64 << k, 128 << k) in 64 steps. */
static unsigned octave_of(uint64_t value)
{
	return value < FIRST ? 0 : 63 - (unsigned)__builtin_clzll(value) - STEP_BITS;
}

/* The middle of a step. */
static uint64_t step_value(unsigned octave, uint64_t step)
{
	return octave ? ((STEPS + step) << octave) + ((uint64_t)1 << octave) / 2 : step;
}

uint64_t spread_bin(uint64_t value)
{
	const unsigned octave = octave_of(value);

	return step_value(octave, octave ? (value >> octave) & (STEPS - 1) : value);
}

static bool histogram_add(struct spread *s, uint64_t value, uint64_t times)
{
	const unsigned octave = octave_of(value);
	size_t step = octave ? (value >> octave) & (STEPS - 1) : value;

	if (!s->octaves && !(s->octaves = mem_array(SPREAD_OCTAVES, sizeof(uint64_t *))))
		return false;
	if (!s->octaves[octave]) {
		s->octaves[octave] = mem_array(octave_size(octave), sizeof(uint64_t));
		if (!s->octaves[octave])
			return false;
	}
	s->octaves[octave][step] += times;
	return true;
}

static bool histogram_put(void *spread, uint64_t value, uint64_t times)
{
	return histogram_add(spread, value, times);
}

/* To the tally; where that is full, all to the histogram. */
static bool value_put(void *spread, uint64_t value, uint64_t times)
{
	struct spread *s = spread;
	enum tally_status st;

	if (!s->exact)
		return histogram_add(s, value, times);
	st = tally_add(&s->tally, value, &times);
	if (st != TALLY_FULL)
		return st == TALLY_OK;
	if (!tally_each(&s->tally, histogram_put, s))
		return false;
	tally_free(&s->tally);
	s->exact = false;
	return histogram_add(s, value, times);
}

/* The pending values are some of many. */
static bool spread_settle(struct spread *s)
{
	assert(s->pending <= SPREAD_FEW && s->pending <= s->count && (s->few || !s->pending));
	for (size_t i = 0; i < s->pending; i++)
		if (!(s->exact && tally_hit(&s->tally, s->few[i])) && !value_put(s, s->few[i], 1))
			return false;
	s->pending = 0;
	s->spilled = true;
	return true;
}

/* Most functions of a large program are called a few times. */
static bool spread_widen(struct spread *s)
{
	const uint32_t room = s->room ? 4 * s->room : SPREAD_LEAST;
	uint64_t *few = mem_array(room, sizeof(*few));

	if (!few)
		return false;
	if (s->pending)
		memcpy(few, s->few, s->pending * sizeof(*few));
	mem_free(s->few);
	s->few = few;
	s->room = room;
	return true;
}

bool spread_spill(struct spread *s)
{
	assert(s->pending == s->room && s->room <= SPREAD_FEW);
	return s->room < SPREAD_FEW ? spread_widen(s) : spread_settle(s);
}

/* Of what has no tally any more the counts go to a histogram: so does what they are added to. */
static bool join_octaves(struct spread *into, const struct spread *from)
{
	if (into->exact && !tally_each(&into->tally, histogram_put, into))
		return false;
	tally_free(&into->tally);
	into->exact = false;
	for (unsigned k = 0; k < SPREAD_OCTAVES; k++)
		for (size_t i = 0; from->octaves[k] && i < octave_size(k); i++)
			if (from->octaves[k][i] &&
			    !histogram_add(into, k ? (STEPS + i) << k : i, from->octaves[k][i]))
				return false;
	return true;
}

bool spread_join(struct spread *into, const struct spread *from)
{
	if (into->count + from->count <= SPREAD_FEW) {
		for (size_t i = 0; i < from->count; i++)
			if (!spread_add(into, from->few[i]))
				return false;
		return true;
	}
	if (!spread_settle(into) || (from->octaves && !join_octaves(into, from)) ||
	    !tally_each(&from->tally, value_put, into))
		return false;
	for (size_t i = 0; i < from->pending; i++)
		if (!value_put(into, from->few[i], 1))
			return false;
	into->count += from->count;
	into->sum += from->sum;
	into->squares += from->squares;
	return true;
}

void spread_free(struct spread *s)
{
	mem_free(s->few);
	tally_free(&s->tally);
	for (unsigned k = 0; s->octaves && k < SPREAD_OCTAVES; k++)
		mem_free(s->octaves[k]);
	mem_free(s->octaves);
	*s = (struct spread){ 0 };
}

static int value_order(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

uint64_t spread_at(struct spread *s, uint64_t rank)
{
	uint64_t seen = 0;

	if (rank >= s->count)
		return 0;
	if (s->spilled && !spread_settle(s))
		return 0;
	if (!s->spilled) {
		qsort(s->few, s->count, sizeof(uint64_t), value_order);
		return s->few[rank];
	}
	if (s->exact)
		return tally_at(&s->tally, rank);
	for (unsigned k = 0; k < SPREAD_OCTAVES; k++)
		for (size_t i = 0; s->octaves[k] && i < octave_size(k); i++) {
			seen += s->octaves[k][i];
			if (seen > rank)
				return step_value(k, i);
		}
	return 0;
}

static bool each_few(struct spread *s, bool (*each)(void *self, uint64_t value, uint64_t times),
		     void *self)
{
	size_t i = 0, next;

	if (s->count)
		qsort(s->few, s->count, sizeof(uint64_t), value_order);
	for (; i < s->count; i = next) {
		for (next = i + 1; next < s->count && s->few[next] == s->few[i];)
			next++;
		if (!each(self, s->few[i], next - i))
			return false;
	}
	return true;
}

bool spread_each(struct spread *s, bool (*each)(void *self, uint64_t value, uint64_t times),
		 void *self)
{
	if (!s->spilled)
		return each_few(s, each, self);
	if (!spread_settle(s))
		return false;
	if (s->exact) {
		tally_at(&s->tally, 0);
		return tally_each(&s->tally, each, self);
	}
	for (unsigned k = 0; k < SPREAD_OCTAVES; k++)
		for (size_t i = 0; s->octaves[k] && i < octave_size(k); i++)
			if (s->octaves[k][i] && !each(self, step_value(k, i), s->octaves[k][i]))
				return false;
	return true;
}

uint64_t spread_percentile(struct spread *s, unsigned percent)
{
	const uint64_t rank = (uint64_t)(((unsigned __int128)s->count * percent + 99) / 100);

	return spread_at(s, rank ? rank - 1 : 0);
}

/*
 * Sum of (x - m)^2 for the whole part m of the mean, exact modulo 2^128, less what the fraction of
 * the mean adds: no cancellation however large the values are.
 */
uint64_t spread_deviation(const struct spread *s)
{
	uint64_t mean, rest;
	unsigned __int128 around;
	double variance, fraction;

	if (!s->count)
		return 0;
	mean = s->sum / s->count;
	rest = s->sum % s->count;
	around = s->squares - 2 * (unsigned __int128)mean * s->sum +
		 (unsigned __int128)mean * mean * s->count;
	fraction = (double)rest / (double)s->count;
	variance = (double)around / (double)s->count - fraction * fraction;
	return variance > 0 ? (uint64_t)(sqrt(variance) + 0.5) : 0;
}
