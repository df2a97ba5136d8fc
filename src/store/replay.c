/*
 * SPEC store/ties: rows of a track from its lanes. The next row is the end of the innermost open
 * span, or the begin of the next item one lane below it, whichever is earlier. If both have the
 * same time, the item knows how many ends come first.
 */
#include "store/replay.h"

/* Returns the block of a place in a lane, read; NULL if the lane has no further item. */
static const struct block *place_block(struct replay *r, uint32_t lane, struct replay_place *p,
				       const struct store_node **node)
{
	uint64_t run;

	while (p->block < store_nodes(r->store, lane, 0)) {
		const struct store_node *n = store_run(r->store, lane, 0, p->block, &run);
		const size_t slot = lane % REPLAY_BLOCKS;

		*node = n;
		if (p->i < n->n && r->blocks->slots[slot].node == n)
			return &r->blocks->slots[slot].block;
		if (p->i < n->n &&
		    store_block(r->store, n, &r->blocks->slots[slot].block, STORE_VALUE)) {
			r->blocks->slots[slot].node = n;
			return &r->blocks->slots[slot].block;
		}
		/* A damaged block is told by store_is_damaged(). */
		if (p->i < n->n)
			r->blocks->slots[slot].node = NULL;
		p->block++;
		p->i = 0;
	}
	return NULL;
}

static int64_t block_start(const struct block *b, const struct store_node *n, uint32_t i)
{
	return (int64_t)((uint64_t)n->start + column_get(&b->cols[STORE_START], i));
}

static int64_t block_end(const struct block *b, const struct store_node *n, uint32_t i)
{
	return time_after(block_start(b, n, i), column_get(&b->cols[STORE_DUR], i));
}

/* Sets the place to the first item of the lane that begins at `from` or later. */
static void place_find(struct replay *r, uint32_t lane, struct replay_place *p)
{
	const uint64_t blocks = store_nodes(r->store, lane, 0);
	const struct store_node *n;
	const struct block *b;

	*p = (struct replay_place){ .ready = true };
	p->block = store_block_from(r->store, lane, r->from, blocks);
	p->block -= p->block != 0;
	while ((b = place_block(r, lane, p, &n)) && block_start(b, n, p->i) < r->from)
		p->i++;
}

/* Returns the place of the next item at a depth; NULL if the track has no such lane. */
static struct replay_place *place_at(struct replay *r, size_t depth)
{
	if (depth >= r->nlanes)
		return NULL;
	if (depth >= r->nplaces && !mem_grow((void **)&r->places, &r->nplaces, depth + 1,
					     sizeof(*r->places), SIZE_MAX / 64)) {
		r->failed = true;
		return NULL;
	}
	if (!r->places[depth].ready)
		place_find(r, r->first + (uint32_t)depth, &r->places[depth]);
	return &r->places[depth];
}

/* Sets what a block does not have. A class or kind that cannot be is damage. */
static void row_complete(const struct replay *r, struct spur_event *row)
{
	if (!row->cls || row->cls >= r->store->nlabels || row->kind >= SPUR_KINDS) {
		store_set_damaged(r->store);
		row->cls = 0;
		row->kind = SPUR_NATIVE;
	}
	row->track = r->track;
	row->name = r->names[row->cls];
	row->cat = r->cats[row->cls];
}

/* Opens the span of item `i`. Returns false if out of memory. */
static bool span_open(struct replay *r, const struct block *b, const struct store_node *n,
		      uint32_t i)
{
	const uint32_t marks = (uint32_t)column_get(&b->cols[STORE_MARKS], i);
	struct replay_open *o;

	if (r->depth == r->cap &&
	    !mem_grow((void **)&r->open, &r->cap, r->depth + 1, sizeof(*r->open), SIZE_MAX / 256)) {
		r->failed = true;
		return false;
	}
	o = &r->open[r->depth];
	o->limit = r->depth ? o[-1].limit : INT64_MAX;
	o->end = block_end(b, n, i);
	o->end = o->end < o->limit ? o->end : o->limit;
	/* A SPAN does not end what is in it. */
	if ((marks & KIND_MASK) != SPUR_SPAN)
		o->limit = o->end;
	o->has_row = !(marks >> MARKS_SHIFT & STORE_NO_END);
	if (o->has_row) {
		block_end_row(r->store, b, n, i, &o->row);
		o->row.depth = r->depth < UINT16_MAX ? (uint16_t)r->depth : UINT16_MAX;
		row_complete(r, &o->row);
	}
	r->depth++;
	return true;
}

/*
 * Sets `p` to the last item at the depth that begins before `from`. Returns its block; NULL if
 * all items begin later.
 */
static const struct block *item_before(struct replay *r, size_t depth, struct replay_place *p,
				       const struct store_node **n)
{
	const struct replay_place *next = place_at(r, depth);
	const uint32_t lane = r->first + (uint32_t)depth;
	const struct block *b;
	uint64_t run;

	if (!next || (!next->i && !next->block))
		return NULL;
	*p = *next;
	if (!p->i) {
		p->block--;
		p->i = store_run(r->store, lane, 0, p->block, &run)->n;
	}
	p->i--;
	b = place_block(r, lane, p, n);
	return b && block_start(b, *n, p->i) < r->from ? b : NULL;
}

/*
 * Opens what began before `from` and goes on then. A SPAN that is over is among it if something
 * inside it goes on.
 */
static void replay_begin(struct replay *r)
{
	int64_t around = INT64_MIN; /* when the span around began */
	size_t depth = 0; /* spans up to the innermost that goes on */
	struct replay_place p;
	const struct store_node *n;
	const struct block *b;

	r->begun = true;
	r->tie = INT64_MIN;
	while (r->from != INT64_MIN && (b = item_before(r, r->depth, &p, &n)) &&
	       block_start(b, n, p.i) >= around &&
	       column_get(&b->cols[STORE_MARKS], p.i) >> MARKS_SHIFT & STORE_SPAN) {
		around = block_start(b, n, p.i);
		if (!span_open(r, b, n, p.i))
			return;
		if (r->open[r->depth - 1].end >= r->from)
			depth = r->depth;
		else if (r->open[r->depth - 1].limit < r->from)
			break;
	}
	r->depth = depth;
}

/* Ends the innermost span. Returns true if that is a row of the range. */
static bool replay_pop(struct replay *r)
{
	const struct replay_open *o = &r->open[--r->depth];

	r->ties = r->tie == o->end ? r->ties + 1 : 1;
	r->tie = o->end;
	if (!o->has_row || o->row.ts < r->from || !store_before(o->row.ts, r->to))
		return false;
	r->row = o->row;
	return true;
}

/* Begins an item. */
static bool replay_push(struct replay *r, const struct block *b, const struct store_node *n,
			struct replay_place *p)
{
	const uint32_t i = p->i++;
	const uint32_t marks = (uint32_t)column_get(&b->cols[STORE_MARKS], i);
	const bool span = marks >> MARKS_SHIFT & STORE_SPAN;

	block_row(r->store, b, n, i, &r->row);
	if (span || !(r->row.flags & SPUR_F_DEPTH))
		r->row.depth = r->depth < UINT16_MAX ? (uint16_t)r->depth : UINT16_MAX;
	row_complete(r, &r->row);
	/* A value of another argument of the same row. */
	if (marks >> MARKS_SHIFT & STORE_AGAIN)
		return false;
	return !span || span_open(r, b, n, i);
}

bool replay_next(struct replay *r)
{
	if (!r->begun)
		replay_begin(r);
	while (!r->failed) {
		struct replay_place *p = place_at(r, r->depth);
		const struct replay_open *top = r->depth ? &r->open[r->depth - 1] : NULL;
		const struct store_node *n = NULL;
		const struct block *b =
			p ? place_block(r, r->first + (uint32_t)r->depth, p, &n) : NULL;
		const int64_t start = b ? block_start(b, n, p->i) : INT64_MAX;
		bool pop = top != NULL;

		if (b && store_before(start, r->to) && top && start <= top->end)
			pop = start == top->end && column_get(&b->cols[STORE_TIES], p->i) >
							   (r->tie == start ? r->ties : 0);
		if (!(pop ? store_before(top->end, r->to) : b && store_before(start, r->to)))
			break;
		if (pop ? replay_pop(r) : replay_push(r, b, n, p)) {
			r->has = true;
			return true;
		}
	}
	r->has = false;
	return false;
}

void replay_free(struct replay *r)
{
	mem_free(r->places);
	mem_free(r->open);
}
