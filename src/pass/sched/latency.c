/* See latency.h. */
#include "pass/sched/latency.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "flow/spread.h"

/* Sizes of `few`: 1, 5, 13, 29, 61, so that a latency of 1 time takes 24 bytes. */
enum { FEW_MOST = 61 };
static_assert(FEW_MOST <= (int)SPREAD_FEW, "a spread is exact for as many");

struct many {
	struct spread spread;
	uint64_t most, p99;
};

struct sched_latency {
	struct many *many; /* all times; NULL: they are in `few` */
	uint32_t count, room; /* of `few` */
	uint64_t few[]; /* ascending once ended */
};

static_assert(sizeof(struct sched_latency) <= 16, "there may be a million threads");

static bool many_add(struct many *m, uint64_t ns)
{
	if (!spread_add(&m->spread, ns))
		return false;
	m->most = ns > m->most ? ns : m->most;
	return true;
}

static void many_free(struct many *m)
{
	if (m)
		spread_free(&m->spread);
	mem_free(m);
}

/* Moves the times to a spread. Returns false if out of memory. */
static bool spread_out(struct sched_latency *l)
{
	struct many *m = mem_alloc(sizeof(*m));

	for (uint32_t i = 0; m && i < l->count; i++)
		if (!many_add(m, l->few[i])) {
			many_free(m);
			return false;
		}
	l->many = m;
	return m;
}

/* Returns a latency that has the times of `l`, and room for more, or NULL if out of memory. */
static struct sched_latency *widen(struct sched_latency *l)
{
	const uint32_t room = l ? 2 * l->room + 3 : 1;
	struct sched_latency *wider = mem_alloc(sizeof(*l) + room * sizeof(*l->few));

	if (!wider)
		return NULL;
	if (l)
		memcpy(wider, l, sizeof(*l) + l->count * sizeof(*l->few));
	wider->room = room;
	mem_free(l);
	return wider;
}

bool sched_latency_add(struct sched_latency **latency, uint64_t ns)
{
	struct sched_latency *l = *latency;

	if (!l || (!l->many && l->count == l->room && l->room < FEW_MOST)) {
		l = widen(l);
		if (!l)
			return false;
		*latency = l;
	}
	if (!l->many && l->count == l->room && !spread_out(l))
		return false;
	if (l->many)
		return many_add(l->many, ns);
	l->few[l->count++] = ns;
	return true;
}

void sched_latency_free(struct sched_latency *l)
{
	if (l)
		many_free(l->many);
	mem_free(l);
}

static int time_order(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

void sched_latency_end(struct sched_latency *l)
{
	if (l && l->many)
		l->many->p99 = spread_percentile(&l->many->spread, 99);
	else if (l)
		qsort(l->few, l->count, sizeof(*l->few), time_order);
}

uint64_t sched_latency_mean(const struct sched_latency *l)
{
	uint64_t sum = 0;

	if (l->many)
		return l->many->spread.sum / l->many->spread.count;
	for (uint32_t i = 0; i < l->count; i++)
		sum += l->few[i];
	return sum / l->count;
}

uint64_t sched_latency_most(const struct sched_latency *l)
{
	return l->many ? l->many->most : l->few[l->count - 1];
}

uint64_t sched_latency_p99(const struct sched_latency *l)
{
	/* Nearest rank. */
	return l->many ? l->many->p99 : l->few[(l->count * 99 + 99) / 100 - 1];
}
