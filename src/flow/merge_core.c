/* Windows, and the first tree, of the merge core. See merge_core.h. */
#include "flow/merge_core.h"

#include "base/mem.h"
#include "base/search.h"

bool merge_core_init(struct merge_core *c, uint32_t count, size_t stride)
{
	*c = (struct merge_core){ .count = count, .stride = stride };
	if (count >= MERGE_ENDED)
		return false;
	c->inputs = mem_table_alloc(count, sizeof(*c->inputs));
	if (count <= ORDER_WINDOW)
		c->windows = mem_array(count, sizeof(*c->windows));
	else
		c->tree = mem_table_alloc(count, sizeof(*c->tree));
	if (!c->inputs || (!c->windows && !c->tree))
		return false;
	for (uint32_t i = 0; c->windows && i < count; i++)
		c->windows[i].latest = INT64_MIN;
	return true;
}

void merge_core_free(struct merge_core *c)
{
	for (uint32_t i = 0; c->windows && i < c->count; i++)
		mem_free(c->windows[i].keys);
	order_free(&c->order);
	mem_free(c->windows);
	mem_table_free(c->inputs, c->count, sizeof(*c->inputs));
	mem_table_free(c->tree, c->count, sizeof(*c->tree));
	*c = (struct merge_core){ 0 };
}

bool merge_core_give(struct merge_core *c, uint32_t i, const void *items, size_t n)
{
	struct merge_input *in = &c->inputs[i];
	struct merge_window *w = c->windows ? &c->windows[i] : NULL;

	assert(i < c->count && in->pos == in->n);
	*in = (struct merge_input){ .items = items, .n = (uint32_t)n };
	if (n > UINT32_MAX) {
		in->n = 0;
		return false;
	}
	if (!w || !n)
		return true;
	if (!mem_grow((void **)&w->keys, &w->cap, n, sizeof(*w->keys), UINT32_MAX)) {
		in->n = 0;
		return false;
	}
	for (size_t k = 0; k < n; k++) {
		const int64_t ts = merge_core_time(in, k, c->stride);

		w->latest = ts > w->latest ? ts : w->latest;
		w->keys[k] = w->latest;
	}
	return true;
}

/* The first item at or behind pos whose key is not before `limit` (with `equal`: is behind it). */
static size_t window_end(const struct merge_input *in, const struct merge_window *w, int64_t limit,
			 bool equal)
{
	size_t lo;

	bisect(lo, in->pos, in->n, w->keys[lo] < limit || (equal && w->keys[lo] == limit));
	return lo;
}

uint32_t merge_core_window(struct merge_core *c, uint32_t active[ORDER_WINDOW])
{
	uint32_t first = MERGE_ENDED, /* the input that ends earliest; of equal ones the first */
		n = 0, filled = 0;
	int64_t limit = INT64_MAX;

	assert(c->windows);
	c->base = INT64_MAX;
	for (uint32_t i = 0; i < c->count; i++) {
		const struct merge_input *in = &c->inputs[i];
		const int64_t *keys = c->windows[i].keys;

		if (in->pos == in->n)
			continue;
		filled++;
		c->base = keys[in->pos] < c->base ? keys[in->pos] : c->base;
		if (first == MERGE_ENDED || keys[in->n - 1] < limit) {
			first = i;
			limit = keys[in->n - 1];
		}
	}
	if (first == MERGE_ENDED)
		return 0;
	/* One input alone needs no order. */
	if (filled > 1 && (uint64_t)limit - (uint64_t)c->base >= order_span) {
		limit = c->base + (int64_t)(order_span - 1);
		first = MERGE_ENDED; /* no input ends in the window */
	}
	for (uint32_t i = 0; i < c->count; i++) {
		const struct merge_input *in = &c->inputs[i];
		struct merge_window *w = &c->windows[i];

		w->safe = in->pos == in->n ? in->pos
			  : i == first	   ? in->n
					   : window_end(in, w, limit, i < first);
		assert(in->pos <= w->safe && w->safe <= in->n);
		if (w->safe > in->pos)
			active[n++] = i;
	}
	return n;
}

bool merge_core_sort(struct merge_core *c, const uint32_t *active, uint32_t n)
{
	struct order_list leaves[ORDER_WINDOW];
	size_t total = 0;

	for (uint32_t k = 0; k < n; k++)
		total += c->windows[active[k]].safe - c->inputs[active[k]].pos;
	if (!order_begin(&c->order, total))
		return false;
	for (uint32_t k = 0; k < n; k++) {
		const struct merge_window *w = &c->windows[active[k]];
		const size_t pos = c->inputs[active[k]].pos;

		leaves[k] = order_add(&c->order, w->keys + pos, w->safe - pos, c->base, active[k]);
	}
	order_sort(&c->order, leaves, n);
	assert(c->order.n == total);
	return true;
}

/* The winner of the node's subtree; sets the losers in it. Depth is log2 of the inputs. */
static struct merge_key build(struct merge_core *c, uint32_t node)
{
	struct merge_key a, b;
	bool first;

	if (node >= c->count)
		return merge_core_key(c, node - c->count, c->stride);
	a = build(c, 2 * node);
	b = build(c, 2 * node + 1);
	first = merge_key_less(a, b);
	c->tree[node] = first ? b : a;
	return first ? a : b;
}

void merge_core_build(struct merge_core *c)
{
	assert(c->tree);
	c->tree[0] = build(c, 1);
}
