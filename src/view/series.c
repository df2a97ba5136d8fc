#include "view/series.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* What names a counter, and a lane of it. */
struct key {
	uint32_t track, label, arg, lane;
	uint64_t id;
};

static bool key_of(const struct view *v, uint32_t lane, struct key *out)
{
	struct store_lane l;

	if (!kind_is_counter(store_kind(v->store, lane)) || !store_lane(v->store, lane, &l))
		return false;
	*out = (struct key){ .track = l.track, .label = l.label, .arg = l.arg, .id = l.id,
			     .lane = lane };
	return true;
}

static int same_order(const struct key *a, const struct key *b)
{
	if (a->track != b->track)
		return a->track < b->track ? -1 : 1;
	if (a->label != b->label)
		return a->label < b->label ? -1 : 1;
	if (a->arg != b->arg)
		return a->arg < b->arg ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

static int key_order(const void *a, const void *b)
{
	const struct key *const x = a, *const y = b;
	const int order = same_order(x, y);

	return order ? order : (x->lane > y->lane) - (x->lane < y->lane);
}

static int series_order(const void *a, const void *b)
{
	const struct series *const x = a, *const y = b;

	return (x->lanes[0] > y->lanes[0]) - (x->lanes[0] < y->lanes[0]);
}

static void series_add(struct series *s, uint32_t lane)
{
	if (s->n < SERIES_KINDS)
		s->lanes[s->n++] = lane;
}

bool series_all(const struct view *v, struct series **out, size_t *n)
{
	const uint32_t nlanes = store_facts(v->store).lanes;
	struct key *keys = NULL, key;
	size_t count = 0, cap = 0;

	*out = NULL;
	*n = 0;
	for (uint32_t i = 0; i < nlanes; i++) {
		if (!key_of(v, i, &key))
			continue;
		if (!mem_grow((void **)&keys, &cap, count + 1, sizeof(*keys), SIZE_MAX)) {
			mem_free(keys);
			return false;
		}
		keys[count++] = key;
	}
	if (!count)
		return true;
	*out = mem_alloc(count * sizeof(**out));
	if (*out) {
		qsort(keys, count, sizeof(*keys), key_order);
		for (size_t i = 0; i < count; i++) {
			*n += !i || same_order(&keys[i - 1], &keys[i]) != 0;
			series_add(&(*out)[*n - 1], keys[i].lane);
		}
		qsort(*out, *n, sizeof(**out), series_order);
	}
	mem_free(keys);
	return *out;
}

bool series_of(const struct view *v, uint32_t lane, struct series *out)
{
	const uint32_t nlanes = store_facts(v->store).lanes;
	struct key wanted, key;

	*out = (struct series){ 0 };
	if (lane >= nlanes || !key_of(v, lane, &wanted))
		return false;
	for (uint32_t i = 0; i < nlanes; i++)
		if (key_of(v, i, &key) && !same_order(&key, &wanted))
			series_add(out, i);
	return out->n && out->lanes[0] == lane;
}

/* Returns true if a sample comes later than another one of the same time in another lane. */
static bool row_is_later(const struct view *v, uint32_t lane, uint64_t number,
			 const struct series_last *than)
{
	struct spur_event a, b;

	return !store_row(v->store, lane, number, false, &a) ||
	       !store_row(v->store, than->lane, than->number, false, &b) || a.stream != b.stream ||
	       a.off > b.off;
}

void series_later(const struct view *v, uint32_t lane, uint64_t number,
		  const struct store_item *item, struct series_last *last)
{
	if (last->lane != SPUR_NONE && last->lane != lane &&
	    (item->start < last->item.start || (item->start == last->item.start &&
						!row_is_later(v, lane, number, last))))
		return;
	last->lane = lane;
	last->number = number;
	last->item = *item;
}

void series_last_before(const struct view *v, uint32_t lane, int64_t t, struct series_last *last)
{
	const uint64_t number = store_seek(v->store, lane, t);
	struct store_item item;

	if (number && store_item(v->store, lane, number - 1, &item))
		series_later(v, lane, number - 1, &item, last);
}
