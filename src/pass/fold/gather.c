/* See gather.h. */
#include "pass/fold/gather.h"

#include <assert.h>

#include "base/mem.h"

/* Of SAMPLES rows, how many are not of the track of the row before: */
enum {
	SAMPLES = 64,
	TURNS = 3, /* where tracks take turns */
	TURNS_CHEAP = 13, /* where to gather pays although changes are cheap */
};

static_assert(GATHER_ROWS % GATHER_CHUNK == 0 && GATHER_SLOTS <= UINT16_MAX, "chunks are whole");

void gather_free(struct gather *g)
{
	mem_free(g->rows);
	mem_free(g->slots);
	g->rows = NULL;
	g->slots = NULL;
	g->n = g->nslots = g->nchunks = 0;
}

static bool gather_room(struct gather *g)
{
	if (g->rows)
		return true;
	g->rows = mem_array(GATHER_ROWS, sizeof(*g->rows));
	g->slots = mem_array(GATHER_SLOTS, sizeof(*g->slots));
	g->round = 1; /* the slots are of none */
	if (g->rows && g->slots)
		return true;
	gather_free(g);
	return false;
}

/* Hands on a track's chunks, all of which are full but the last. */
static bool slot_flush(struct gather *g, const struct gather_slot *slot)
{
	const uint32_t last = (slot->at - 1) / GATHER_CHUNK;
	uint32_t chunk = slot->first;

	for (; chunk != last; chunk = g->next[chunk])
		if (!g->take(g->self, g->rows + (size_t)chunk * GATHER_CHUNK, GATHER_CHUNK))
			return false;
	return g->take(g->self, g->rows + (size_t)chunk * GATHER_CHUNK,
		       slot->at - chunk * GATHER_CHUNK);
}

bool gather_flush(struct gather *g)
{
	bool good = true;

	if (!g->n)
		return true;
	for (uint32_t i = 0; i < g->nslots && good; i++)
		good = slot_flush(g, &g->slots[g->order[i]]);
	g->round++;
	g->n = g->nslots = g->nchunks = 0;
	return good;
}

/* The track's slot, or where a new one goes. Fewer slots than half are in use, so it ends. */
static struct gather_slot *slot_find(struct gather *g, uint32_t track)
{
	uint32_t i = track % GATHER_SLOTS;

	while (g->slots[i].round == g->round && g->slots[i].track != track)
		i = (i + 1) % GATHER_SLOTS;
	return &g->slots[i];
}

/*
 * The slot of a track, with room for a row; if no chunk is left for it, what was gathered is handed
 * on first. Returns NULL if that fails.
 */
static __attribute__((noinline)) struct gather_slot *slot_make(struct gather *g, uint32_t track)
{
	struct gather_slot *slot = slot_find(g, track);

	if (slot->round == g->round && slot->at % GATHER_CHUNK)
		return slot;
	if (g->nchunks == GATHER_CHUNKS) {
		if (!gather_flush(g))
			return NULL;
		slot = slot_find(g, track);
	}
	if (slot->round == g->round) {
		g->next[(slot->at - 1) / GATHER_CHUNK] = (uint16_t)g->nchunks;
	} else {
		*slot = (struct gather_slot){ track, g->round, 0, g->nchunks };
		g->order[g->nslots++] = (uint16_t)(slot - g->slots);
	}
	slot->at = g->nchunks++ * GATHER_CHUNK;
	return slot;
}

/* Whatever is found, the sums are the same. */
static size_t track_changes(const struct spur_event *rows, size_t n)
{
	const size_t step = n / SAMPLES ? n / SAMPLES : 1;
	size_t changes = 0;

	for (size_t i = step; i < n; i += step)
		changes += rows[i].track != rows[i - 1].track;
	return changes;
}

bool gather_add(struct gather *g, const struct spur_event *rows, size_t n)
{
	const size_t changes = track_changes(rows, n);

	g->turns |= changes >= TURNS;
	if (changes < (g->cheap ? TURNS_CHEAP : TURNS))
		return gather_flush(g) && g->take(g->self, rows, n);
	if (!gather_room(g))
		return false;
	for (size_t i = 0; i < n; i++) {
		const uint32_t track = rows[i].track;
		struct gather_slot *slot = &g->slots[track % GATHER_SLOTS];

		if (__builtin_expect(slot->track != track || slot->round != g->round ||
					     !(slot->at % GATHER_CHUNK),
				     0)) {
			slot = slot_make(g, track);
			if (!slot)
				return false;
		}
		g->rows[slot->at++] = rows[i];
		g->n++;
	}
	return true;
}
