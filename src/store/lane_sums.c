/*
 * Sums by label of the spans of each 256 blocks of a lane, made while the lane grows: a range that
 * has all these blocks is summed up without reading them. See grow.h.
 */
#include <string.h>

#include "store/grow.h"

enum {
	SUMS_PLACES = 2 * STORE_SUMS_MOST,
	SUMS_LANES = 128 /* of a worker that have sums at a time; further lanes have none */
};

struct lane_sums {
	struct lane_sums *next;
	uint32_t n;
	uint16_t places[SUMS_PLACES]; /* by label: number of its sum + 1 */
	struct store_label_sum sums[STORE_SUMS_MOST];
};

static_assert(STORE_SUMS_MOST < UINT16_MAX, "a place has 16 bits");

/* Returns the sums that are being made of a lane; NULL: it has none. */
static struct lane_sums *lane_sums(const struct growing_lane *l)
{
	return l->tree ? l->tree->sums : NULL;
}

/* Gives the lane empty sums if there are any for it. Returns false if out of memory. */
static bool lane_sums_begin(struct store_worker *k, struct growing_lane *l)
{
	struct lane_sums *s = k->idle_sums;

	if (!lane_tree_make(k, l))
		return false;
	if (s) {
		k->idle_sums = s->next;
		s->next = NULL;
		s->n = 0;
		memset(s->places, 0, sizeof(s->places));
	} else if (k->nsums < SUMS_LANES) {
		s = mem_alloc(sizeof(*s));
		if (!s)
			return false;
		k->nsums++;
	}
	l->tree->sums = s;
	return true;
}

void lane_sums_drop(struct store_worker *k, struct growing_lane *l)
{
	struct lane_sums *s = lane_sums(l);

	if (!s)
		return;
	s->next = k->idle_sums;
	k->idle_sums = s;
	l->tree->sums = NULL;
}

void lane_sums_free(struct lane_sums *s)
{
	while (s) {
		struct lane_sums *next = s->next;

		mem_free(s);
		s = next;
	}
}

/* Returns the sum of a label, made if needed; NULL if there are too many. */
static inline struct store_label_sum *sum_at(struct lane_sums *s, uint32_t label)
{
	uint32_t place = label % SUMS_PLACES;

	/* INVARIANT: half of the places are free. */
	for (; s->places[place]; place = (place + 1) % SUMS_PLACES)
		if (s->sums[s->places[place] - 1].label == label)
			return &s->sums[s->places[place] - 1];
	if (s->n == STORE_SUMS_MOST)
		return NULL;
	s->sums[s->n] = (struct store_label_sum){ .label = label, .least = UINT64_MAX };
	s->places[place] = (uint16_t)(s->n + 1);
	return &s->sums[s->n++];
}

/* Adds an item. Returns false if it is none that sums can have: only calls that have ended. */
static inline bool item_add(struct lane_sums *s, const struct slot *item)
{
	const unsigned marks = (unsigned)item->rare.marks >> MARKS_SHIFT,
		       bad = STORE_OPEN | STORE_LAST | STORE_UNCOUNTED;
	struct store_label_sum *sum;

	if ((marks & (STORE_SPAN | bad)) != STORE_SPAN)
		return !(marks & STORE_SPAN) && item->rare.kind != SPUR_END_SPAN;
	sum = sum_at(s, item->rare.kind == SPUR_SWITCH ? 0 : item->label);
	if (!sum)
		return false;
	sum->calls++;
	sum->sum += item->dur;
	sum->child += item->dur - item->self;
	if (item->rare.inner)
		sum->inner += item->dur;
	if (item->dur < sum->least)
		sum->least = item->dur;
	if (item->dur > sum->most)
		sum->most = item->dur;
	return true;
}

bool lane_sums_add(struct store_worker *k, struct growing_lane *l, const struct slot *items,
		   uint32_t n)
{
	struct lane_sums *s;

	if (l->kind != STORE_SPANS)
		return true;
	/* Lanes of fewer items do not take the place of those that may get 256 blocks. */
	if (l->made % STORE_SUMS_BLOCKS == 0 && n == STORE_BLOCK && !lane_sums_begin(k, l))
		return false;
	s = lane_sums(l);
	for (uint32_t i = 0; s && i < n; i++)
		if (!item_add(s, &items[i])) {
			lane_sums_drop(k, l);
			break;
		}
	return true;
}

uint32_t lane_sums_end(struct store_worker *k, struct growing_lane *l, uint8_t *to)
{
	const struct lane_sums *s = lane_sums(l);
	uint32_t size = 0;

	if (s) {
		size = s->n * (uint32_t)sizeof(struct store_label_sum);
		memcpy(to, s->sums, size);
	}
	lane_sums_drop(k, l);
	return size;
}
