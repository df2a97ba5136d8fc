/* Modules: what was loaded where, and when. */
#include "format/spur/reader.h"

#include <stdio.h>
#include <stdlib.h>

void spb_modules_free(struct spb_modules *ms)
{
	struct spb_image *next;

	for (struct spb_image *i = ms->images; i; i = next) {
		next = i->next;
		symtab_free(&i->syms);
		dwarf_close(i->lines);
		mem_free(i);
	}
	mem_free(ms->items);
	mem_free(ms->bounds);
	mem_free(ms->starts);
	mem_free(ms->ranked);
	mem_free(ms->order);
	map64_free(&ms->by_number);
	map64_free(&ms->by_file);
}

/* --- descriptors --- */

/* What the map by number has of one. */
enum { LIVE_BITS = 32 };

static uint32_t number_live(const struct map64_slot *slot)
{
	return (uint32_t)slot->value;
}

static void number_set_live(struct map64_slot *slot, uint32_t live)
{
	slot->value = slot->value >> LIVE_BITS << LIVE_BITS | live;
}

static bool module_add(struct spb_modules *ms, const struct spb_module *m)
{
	struct map64_slot *const slot = map64_put(&ms->by_number, m->number);
	struct spb_module *made;

	if (!slot || !mem_grow((void **)&ms->items, &ms->cap, ms->count + 1, sizeof(*ms->items),
			       SPB_MODULES))
		return false;
	made = &ms->items[ms->count++];
	*made = *m;
	made->before = number_live(slot);
	if (!slot->value)
		slot->value = (uint64_t)ms->count << LIVE_BITS;
	number_set_live(slot, (uint32_t)ms->count);
	ms->changed = true;
	return true;
}

bool spb_describe_module(struct spb *s, struct cursor *b)
{
	struct spb_module m = { .unloaded = UINT64_MAX };
	struct text id;

	m.number = cursor_u32(b);
	cursor_u32(b);
	m.begin = cursor_u64(b);
	m.end = cursor_u64(b);
	m.shift = cursor_u64(b);
	m.loaded = cursor_u64(b);
	id = spb_take_text(b);
	m.path = spb_take_string(s, b);
	b->bad |= m.end < m.begin;
	for (size_t i = 0; i < id.len && i < (sizeof(m.build_id) - 1) / 2; i++)
		snprintf(m.build_id + 2 * i, 3, "%02x", (uint8_t)id.p[i]);
	if (b->bad || s->modules.count == SPB_MODULES)
		return true;
	return module_add(&s->modules, &m);
}

void spb_describe_unload(struct spb *s, struct cursor *b)
{
	const uint32_t number = cursor_u32(b);
	struct map64_slot *slot;
	struct spb_module *m;
	uint64_t ticks;

	cursor_u32(b);
	ticks = cursor_u64(b);
	slot = b->bad ? NULL : map64_find(&s->modules.by_number, number);
	if (!slot || !number_live(slot))
		return;
	m = &s->modules.items[number_live(slot) - 1];
	m->unloaded = ticks;
	number_set_live(slot, m->before);
	s->modules.move = true;
}

/* --- by address and time --- */

/*
 * A segment tree: its leaves are the ranges between neighbouring bounds of modules, and a module
 * is at the few nodes that together have its range. The modules of a node are in the order in
 * which they were loaded, as ranks in `order`. So an address is searched in the nodes above one
 * leaf, however many modules cover it.
 */

struct ranked {
	uint64_t loaded;
	uint32_t number, index;
};

static int ranked_order(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->loaded != y->loaded)
		return x->loaded > y->loaded ? 1 : -1;
	if (x->number != y->number)
		return x->number > y->number ? 1 : -1;
	return (x->index > y->index) - (x->index < y->index);
}

static int bound_order(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Sets `order`. Returns false if out of memory. */
static bool modules_rank(struct spb_modules *ms)
{
	struct ranked *const all = mem_array(ms->count, sizeof(*all));
	uint32_t *const order = mem_array(ms->count, sizeof(*order));

	mem_free(ms->order);
	ms->order = order;
	if (all && order) {
		for (uint32_t i = 0; i < ms->count; i++)
			all[i] = (struct ranked){ ms->items[i].loaded, ms->items[i].number, i };
		qsort(all, ms->count, sizeof(*all), ranked_order);
		for (size_t i = 0; i < ms->count; i++)
			order[i] = all[i].index;
	}
	mem_free(all);
	return all && order;
}

/* Sets `bounds`. Returns false if out of memory. */
static bool modules_bound(struct spb_modules *ms)
{
	uint64_t *const bounds = mem_array(2 * ms->count, sizeof(*bounds));
	size_t n = 0;

	mem_free(ms->bounds);
	ms->bounds = bounds;
	if (!bounds)
		return false;
	for (size_t i = 0; i < ms->count; i++) {
		bounds[2 * i] = ms->items[i].begin;
		bounds[2 * i + 1] = ms->items[i].end;
	}
	qsort(bounds, 2 * ms->count, sizeof(*bounds), bound_order);
	for (size_t i = 0; i < 2 * ms->count; i++)
		if (!n || bounds[i] != bounds[n - 1])
			bounds[n++] = bounds[i];
	ms->nbounds = n;
	return true;
}

/* The last bound that is not above the address; SIZE_MAX if it is below all of them. */
static size_t bound_of(const struct spb_modules *ms, uint64_t addr)
{
	size_t low = 0, high = ms->nbounds;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (ms->bounds[mid] <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low - 1;
}

static void node_put(struct spb_modules *ms, size_t node, uint32_t rank, bool count)
{
	if (count)
		ms->starts[node + 1]++;
	else
		ms->ranked[ms->starts[node]++] = rank;
}

/* Counts the modules of each node, or puts their ranks there. */
static void nodes_fill(struct spb_modules *ms, bool count)
{
	for (uint32_t rank = 0; rank < ms->count; rank++) {
		const struct spb_module *const m = &ms->items[ms->order[rank]];
		size_t l = bound_of(ms, m->begin) + ms->nbounds;
		size_t r = bound_of(ms, m->end) + ms->nbounds;

		for (; l < r; l /= 2, r /= 2) {
			if (l & 1)
				node_put(ms, l++, rank, count);
			if (r & 1)
				node_put(ms, --r, rank, count);
		}
	}
}

/* Makes the tree. Returns false if out of memory. */
static bool modules_index(struct spb_modules *ms)
{
	size_t nodes;

	if (!modules_rank(ms) || !modules_bound(ms))
		return false;
	nodes = 2 * ms->nbounds;
	mem_free(ms->starts);
	mem_free(ms->ranked);
	ms->ranked = NULL;
	ms->starts = mem_array(nodes + 1, sizeof(*ms->starts));
	if (!ms->starts)
		return false;
	nodes_fill(ms, true);
	for (size_t i = 0; i < nodes; i++)
		ms->starts[i + 1] += ms->starts[i];
	ms->ranked = mem_array(ms->starts[nodes] + (size_t)1, sizeof(*ms->ranked));
	if (!ms->ranked)
		return false;
	nodes_fill(ms, false);
	/* Each start has become the end of its node, which is the start of the next one. */
	memmove(ms->starts + 1, ms->starts, nodes * sizeof(*ms->starts));
	ms->starts[0] = 0;
	ms->changed = false;
	return true;
}

/* How many modules were loaded at the time or before. */
static uint32_t ranks_until(const struct spb_modules *ms, uint64_t ticks)
{
	uint32_t low = 0, high = (uint32_t)ms->count;

	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;

		if (ms->items[ms->order[mid]].loaded <= ticks)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The highest rank of a node below `until`, else its lowest one; UINT32_MAX if it has none. */
static uint32_t node_find(const struct spb_modules *ms, size_t node, uint32_t until)
{
	const uint32_t first = ms->starts[node], end = ms->starts[node + 1];
	uint32_t low = first, high = end;

	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;

		if (ms->ranked[mid] < until)
			low = mid + 1;
		else
			high = mid;
	}
	if (first == end)
		return UINT32_MAX;
	return ms->ranked[low > first ? low - 1 : first];
}

struct spb_module *spb_module_at(struct spb_modules *ms, uint64_t addr, uint64_t ticks)
{
	uint32_t best = UINT32_MAX, until;
	size_t leaf;

	if (!ms->count || (ms->changed && !modules_index(ms)))
		return NULL;
	leaf = bound_of(ms, addr);
	if (leaf == SIZE_MAX)
		return NULL;
	until = ranks_until(ms, ticks);
	for (size_t node = leaf + ms->nbounds; node; node /= 2) {
		const uint32_t rank = node_find(ms, node, until);

		if (rank == UINT32_MAX)
			continue;
		/* Of those below `until` the highest one is wanted, of others the lowest one. */
		if (best == UINT32_MAX || (best < until && rank < until) == (rank > best))
			best = rank;
	}
	return best == UINT32_MAX ? NULL : &ms->items[ms->order[best]];
}

struct spb_module *spb_module_get(struct spb_modules *ms, uint32_t number)
{
	const struct map64_slot *const slot = map64_find(&ms->by_number, number);

	return slot ? &ms->items[(slot->value >> LIVE_BITS) - 1] : NULL;
}
