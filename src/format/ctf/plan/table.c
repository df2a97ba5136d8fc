/*
 * Tables from selector values to options: sorted, none over another, so that one is found by
 * halving. SPEC ctf/option-overlap: where ranges of the metadata lie over each other (of one
 * option, of an optional, of CTF 1's enumerations), the first one holds.
 */
#include <stdlib.h>

#include "format/ctf/plan/parts.h"

/* A range being sorted: bounds that compare as unsigned numbers, and its place in the metadata. */
struct range_of {
	uint64_t low, high;
	uint32_t order, to;
};

/* Ranges that hold the current value; the first in the metadata on top. */
struct heap {
	const struct range_of **items;
	size_t count;
};

static int by_low(const void *a, const void *b)
{
	const struct range_of *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void heap_swap(struct heap *h, size_t a, size_t b)
{
	const struct range_of *x = h->items[a];

	h->items[a] = h->items[b];
	h->items[b] = x;
}

static void heap_push(struct heap *h, const struct range_of *r)
{
	size_t at = h->count++;

	for (h->items[at] = r; at && h->items[at]->order < h->items[(at - 1) / 2]->order;
	     at = (at - 1) / 2)
		heap_swap(h, at, (at - 1) / 2);
}

static void heap_pop(struct heap *h)
{
	size_t at = 0, next;

	h->items[0] = h->items[--h->count];
	for (;; at = next) {
		next = 2 * at + 1;
		if (next + 1 < h->count && h->items[next + 1]->order < h->items[next]->order)
			next++;
		if (next >= h->count || h->items[at]->order < h->items[next]->order)
			return;
		heap_swap(h, at, next);
	}
}

/* One more range of the table, joined with the one before where they touch. */
static void option_add(struct option *options, uint32_t *n, struct option o, uint64_t flip)
{
	struct option *last = *n ? &options[*n - 1] : NULL;

	if (last && last->to == o.to && (last->high ^ flip) + 1 == (o.low ^ flip)) {
		last->high = o.high;
		return;
	}
	options[(*n)++] = o;
}

/*
 * From each bound to the next the first range that holds all of it. `bounds`: where ranges begin,
 * and after their ends. Invariant: what is on the heap began at or before the bound.
 */
static uint32_t ranges_part(const struct range_of *ranges, size_t n, const uint64_t *bounds,
			    size_t nbounds, struct heap *h, uint64_t flip, struct option *out)
{
	uint32_t count = 0;
	size_t next = 0;

	for (size_t i = 0; i < nbounds; i++) {
		const uint64_t low = bounds[i];
		const uint64_t high = i + 1 < nbounds ? bounds[i + 1] - 1 : UINT64_MAX;

		while (next < n && ranges[next].low == low)
			heap_push(h, &ranges[next++]);
		while (h->count && h->items[0]->high < low)
			heap_pop(h);
		if (h->count)
			option_add(out, &count,
				   (struct option){ low ^ flip, high ^ flip, h->items[0]->to },
				   flip);
	}
	return count;
}

static size_t bounds_of(const struct range_of *ranges, size_t n, uint64_t *bounds)
{
	size_t count = 0, kept = 0;

	for (size_t i = 0; i < n; i++) {
		bounds[count++] = ranges[i].low;
		if (ranges[i].high != UINT64_MAX)
			bounds[count++] = ranges[i].high + 1;
	}
	if (count)
		qsort(bounds, count, sizeof(*bounds), by_value);
	for (size_t i = 0; i < count; i++)
		if (!kept || bounds[kept - 1] != bounds[i])
			bounds[kept++] = bounds[i];
	return kept;
}

bool table_make(struct table *t, struct arena *arena, const struct option *options, size_t n)
{
	const uint64_t flip = t->is_signed ? (uint64_t)1 << 63 : 0;
	struct range_of *ranges = mem_array(n + 1, sizeof(*ranges));
	uint64_t *bounds = mem_array(2 * n + 1, sizeof(*bounds));
	struct heap h = { .items = mem_array(n + 1, sizeof(struct range_of *)) };
	struct option *out = arena_alloc(arena, (2 * n + 1) * sizeof(*out));
	const bool good = ranges && bounds && h.items && out;

	for (size_t i = 0; good && i < n; i++)
		ranges[i] = (struct range_of){ options[i].low ^ flip, options[i].high ^ flip,
					       (uint32_t)i, options[i].to };
	if (good) {
		qsort(ranges, n, sizeof(*ranges), by_low);
		t->options = out;
		t->count =
			ranges_part(ranges, n, bounds, bounds_of(ranges, n, bounds), &h, flip, out);
	}
	mem_free(ranges);
	mem_free(bounds);
	mem_free(h.items);
	return good;
}
