/* Finding items. See store.h. */
#include "store/cursor.h"
#include "store/store.h"

static bool is_wanted(const struct store_query *q, const struct cursor *c, uint32_t i)
{
	const uint64_t label = c->label[i];

	if (q->which && (q->which == STORE_ONLY_OFF_CPU) != cursor_is_off_cpu(c, i))
		return false;
	if (q->labels && (label >= q->nlabels || !(q->labels[label / 64] >> label % 64 & 1)))
		return false;
	if (q->ended && !cursor_has_ended(c, i, q->to))
		return false;
	return q->least <= 0 || (cursor_is_span(c, i) &&
				 (uint64_t)c->end[i] - (uint64_t)c->start[i] >= (uint64_t)q->least);
}

/* Returns true if an item of the block has one of the labels: only their column is read. */
static bool has_label(const struct store *s, const struct store_query *q,
		      const struct store_node *node)
{
	struct block b;

	if (!store_block(s, node, &b, STORE_LABEL))
		return false;
	for (uint32_t i = 0; i < node->n; i++) {
		const uint64_t label = column_get(&b.cols[STORE_LABEL], i);

		if (label < q->nlabels && q->labels[label / 64] >> label % 64 & 1)
			return true;
	}
	return false;
}

/* Returns true if the block may have items that are wanted: by its node, and its labels. */
static bool may_have(const struct store *s, const struct store_query *q, uint32_t lane,
		     uint64_t block)
{
	uint64_t run;
	const struct store_node *const node = store_run(s, lane, 0, block, &run);

	if (q->least > 0 && node->best_dur < (uint64_t)q->least)
		return false;
	return !q->labels || has_label(s, q, node);
}

/* Reads the next block with items that may be wanted. */
static bool query_block(struct cursor *c, const struct store_query *q)
{
	uint64_t run;

	while (c->block < c->nblocks &&
	       store_before(store_run(c->store, c->lane, 0, c->block, &run)->start, c->to) &&
	       !may_have(c->store, q, c->lane, c->block))
		c->block++;
	return cursor_block(c);
}

static uint32_t query_lanes(const struct store *s, const struct store_query *q)
{
	return q->lanes.lanes ? (uint32_t)q->lanes.n : store_lane_count(s);
}

/* Begins with lane `i` of the query. Returns false if it is no span lane. */
static bool query_lane(struct cursor *c, const struct store *s, const struct store_query *q,
		       uint32_t i)
{
	const uint32_t lane = q->lanes.lanes ? q->lanes.lanes[i] : i;

	if (lane >= store_lane_count(s) || store_kind(s, lane) != STORE_SPANS)
		return false;
	cursor_begin(c, s, lane, q->from, q->to);
	return true;
}

/* The part that a time is in, and in *end the time at which the next one begins. */
static size_t part_of(int64_t t, int64_t base, int64_t step, size_t n, int64_t *end)
{
	const uint64_t i = t > base ? ((uint64_t)t - (uint64_t)base) / (uint64_t)step : 0;
	int64_t width;

	if (i >= n - 1) {
		*end = INT64_MAX;
		return n - 1;
	}
	if (__builtin_mul_overflow((int64_t)i + 1, step, &width) ||
	    __builtin_add_overflow(base, width, end))
		*end = INT64_MAX;
	return (size_t)i;
}

bool store_survey(const struct store *s, const struct store_query *q, int64_t base, int64_t step,
		  int64_t *firsts, size_t n, uint64_t *count)
{
	struct cursor *c = mem_alloc(sizeof(*c));
	const uint32_t lanes = query_lanes(s, q);

	*count = 0;
	for (size_t i = 0; i < n; i++)
		firsts[i] = INT64_MAX;
	for (uint32_t l = 0; c && l < lanes; l++) {
		int64_t end = INT64_MIN; /* of the part that the last item was in */

		if (!query_lane(c, s, q, l))
			continue;
		while (query_block(c, q))
			for (uint32_t i = c->at; i < c->n; i++) {
				const bool wanted = is_wanted(q, c, i);

				*count += wanted;
				if (wanted && c->start[i] >= end) {
					int64_t *const f =
						&firsts[part_of(c->start[i], base, step, n, &end)];

					*f = c->start[i] < *f ? c->start[i] : *f;
				}
			}
	}
	mem_free(c);
	return c != NULL;
}

static bool place_precedes(const struct store_place *a, const struct store_place *b)
{
	if (a->start != b->start)
		return a->start < b->start;
	return a->lane != b->lane ? a->lane < b->lane : a->number < b->number;
}

/* A search for the item next to a place, in either direction. */
struct search {
	const struct store_query *query;
	const struct store_place *after;
	bool back, found;
	struct store_place best;
};

/* Looks at the items of the block at hand. Returns true if one of them is the lane's. */
static bool search_block(struct search *k, const struct cursor *c)
{
	for (uint32_t j = c->at; j < c->n; j++) {
		const uint32_t i = k->back ? c->n - 1 - (j - c->at) : j;
		const struct store_place p = { c->lane, c->number + i, c->start[i] };

		if (!is_wanted(k->query, c, i) ||
		    (k->after &&
		     !(k->back ? place_precedes(&p, k->after) : place_precedes(k->after, &p))))
			continue;
		if (!k->found ||
		    (k->back ? place_precedes(&k->best, &p) : place_precedes(&p, &k->best)))
			k->best = p;
		k->found = true;
		return true;
	}
	return false;
}

static void search_lane(struct search *k, struct cursor *c)
{
	const struct store_query *q = k->query;

	if (!k->back) {
		while (query_block(c, q) && !search_block(k, c))
			c->at = c->n;
		return;
	}
	for (uint64_t first = c->block, b = c->nblocks; b-- > first;) {
		if (!may_have(c->store, q, c->lane, b))
			continue;
		c->block = b;
		c->at = c->n = 0;
		c->nblocks = b + 1;
		if (cursor_block(c) && search_block(k, c))
			return;
	}
}

enum spur_status store_next(const struct store *s, const struct store_query *q,
			    const struct store_place *after, bool back, struct store_place *out)
{
	/* `out` may be where `after` stands. */
	const struct store_place from = after ? *after : (struct store_place){ 0 };
	struct search k = { .query = q, .after = after ? &from : NULL, .back = back };
	struct store_query near = *q;
	struct cursor *c = mem_alloc(sizeof(*c));
	const uint32_t n = query_lanes(s, q);

	*out = (struct store_place){ 0 };
	if (!c)
		return SPUR_FAIL;
	if (after && !back && from.start > near.from)
		near.from = from.start;
	if (after && back && from.start < near.to && from.start < INT64_MAX)
		near.to = from.start + 1;
	k.query = &near;
	for (uint32_t i = 0; i < n; i++) {
		/* Nothing beyond what was found is nearer. */
		if (k.found && !back && k.best.start < INT64_MAX)
			near.to = k.best.start + 1;
		if (k.found && back)
			near.from = k.best.start;
		if (query_lane(c, s, &near, i))
			search_lane(&k, c);
	}
	mem_free(c);
	*out = k.best;
	return k.found ? SPUR_OK : SPUR_END;
}

/* --- the longest --- */

static bool call_precedes(const struct store_call *a, const struct store_call *b)
{
	return a->dur != b->dur ? a->dur > b->dur : place_precedes(&a->place, &b->place);
}

/* Puts a call where it belongs among the `*n` longest so far, of at most `cap`. */
static void longest_add(struct store_call *calls, size_t *n, size_t cap, struct store_call c)
{
	size_t i = *n;

	if (i == cap && !call_precedes(&c, &calls[i - 1]))
		return;
	*n += i < cap;
	for (i = *n - 1; i && call_precedes(&c, &calls[i - 1]); i--)
		calls[i] = calls[i - 1];
	calls[i] = c;
}

bool store_longest(const struct store *s, const struct store_query *q, struct store_call *out,
		   size_t cap, size_t *n)
{
	struct cursor *c = mem_alloc(sizeof(*c));
	const uint32_t lanes = query_lanes(s, q);
	struct store_query least = *q;

	*n = 0;
	if (!c)
		return false;
	for (uint32_t l = 0; l < lanes && cap; l++) {
		if (!query_lane(c, s, q, l))
			continue;
		least.least =
			*n == cap && out[cap - 1].dur > q->least ? out[cap - 1].dur : q->least;
		while (query_block(c, &least)) {
			for (uint32_t i = c->at; i < c->n; i++) {
				const struct store_place p = { c->lane, c->number + i,
							       c->start[i] };

				if (cursor_is_span(c, i) && is_wanted(q, c, i))
					longest_add(
						out, n, cap,
						(struct store_call){
							p, time_between(c->start[i], c->end[i]) });
			}
			if (*n == cap && out[cap - 1].dur > least.least)
				least.least = out[cap - 1].dur;
		}
	}
	mem_free(c);
	return true;
}
