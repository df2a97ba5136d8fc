/* See gather.h. */
#include "pass/fold/gather.h"

#include "base/map64.h"
#include "base/mem.h"

enum { SAMPLES = 64 };

void gather_free(struct gather *g)
{
	mem_free(g->rows);
	mem_free(g->grouped);
	mem_free(g->slot_of);
	mem_free(g->order);
	mem_free(g->slots);
	g->rows = g->grouped = NULL;
	g->slot_of = g->order = NULL;
	g->slots = NULL;
	g->n = 0;
}

static bool gather_room(struct gather *g)
{
	if (g->rows)
		return true;
	g->rows = mem_array(GATHER_ROWS, sizeof(*g->rows));
	g->grouped = mem_array(GATHER_ROWS, sizeof(*g->grouped));
	g->slot_of = mem_array(GATHER_ROWS, sizeof(*g->slot_of));
	g->order = mem_array(GATHER_ROWS, sizeof(*g->order));
	g->slots = mem_array(GATHER_SLOTS, sizeof(*g->slots));
	if (g->rows && g->grouped && g->slot_of && g->order && g->slots)
		return true;
	gather_free(g);
	return false;
}

/* Invariant: at most GATHER_ROWS of the slots are of this round, so the search ends. */
static uint32_t slot_find(struct gather *g, uint32_t track)
{
	uint32_t i = (uint32_t)hash64(track) & (GATHER_SLOTS - 1);

	while (g->slots[i].round == g->round && g->slots[i].track != track)
		i = (i + 1) & (GATHER_SLOTS - 1);
	if (g->slots[i].round != g->round) {
		g->slots[i] = (struct gather_slot){ .track = track, .round = g->round };
		g->order[g->nslots++] = i;
	}
	return i;
}

static void gather_group(struct gather *g)
{
	uint32_t at = 0, slot = 0;

	g->round++;
	g->nslots = 0;
	for (uint32_t i = 0; i < g->n; i++) {
		if (!i || g->rows[i].track != g->rows[i - 1].track)
			slot = slot_find(g, g->rows[i].track);
		g->slots[slot].count++;
		g->slot_of[i] = slot;
	}
	for (uint32_t i = 0; i < g->nslots; i++) {
		g->slots[g->order[i]].at = at;
		at += g->slots[g->order[i]].count;
	}
	for (uint32_t i = 0; i < g->n; i++)
		g->grouped[g->slots[g->slot_of[i]].at++] = g->rows[i];
}

bool gather_flush(struct gather *g)
{
	bool good;

	if (!g->n)
		return true;
	gather_group(g);
	good = g->take(g->self, g->grouped, g->n);
	g->n = 0;
	return good;
}

/* By a few of them: whatever is found, the sums are the same. */
static bool is_mixed(const struct spur_event *rows, size_t n)
{
	const size_t step = n / SAMPLES ? n / SAMPLES : 1;
	size_t changes = 0;

	for (size_t i = step; i < n; i += step)
		changes += rows[i].track != rows[i - 1].track;
	return changes > 2;
}

bool gather_add(struct gather *g, const struct spur_event *rows, size_t n)
{
	if (!is_mixed(rows, n) || n > GATHER_ROWS)
		return gather_flush(g) && g->take(g->self, rows, n);
	if (!gather_room(g) || (g->n + n > GATHER_ROWS && !gather_flush(g)))
		return false;
	memcpy(g->rows + g->n, rows, n * sizeof(*rows));
	g->n += (uint32_t)n;
	return true;
}
