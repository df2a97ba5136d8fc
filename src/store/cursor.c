/* See cursor.h. */
#include "store/cursor.h"

void cursor_begin(struct cursor *c, const struct store *s, uint32_t lane, int64_t from, int64_t to)
{
	c->store = s;
	c->lane = lane;
	c->nblocks = store_nodes(s, lane, 0);
	c->block = store_block_from(s, lane, from, c->nblocks);
	/* The block before it may have the first items. */
	c->block -= c->block != 0;
	c->at = c->n = 0;
	c->from = from;
	c->to = to;
}

static void block_values(struct cursor *c, const struct block *b, const struct store_node *n)
{
	uint64_t v[STORE_BLOCK];

	column_all(&b->cols[STORE_START], n->n, v);
	for (uint32_t i = 0; i < n->n; i++)
		c->start[i] = (int64_t)((uint64_t)n->start + v[i]);
	column_all(&b->cols[STORE_DUR], n->n, v);
	for (uint32_t i = 0; i < n->n; i++)
		c->end[i] = time_after(c->start[i], v[i]);
	column_all(&b->cols[STORE_LABEL], n->n, c->label);
	column_all(&b->cols[STORE_MARKS], n->n, c->marks);
}

bool cursor_block(struct cursor *c)
{
	struct block b;
	uint64_t run;

	while (c->block < c->nblocks) {
		const struct store_node *n = store_run(c->store, c->lane, 0, c->block, &run);

		if (!store_before(n->start, c->to))
			return false;
		c->block++;
		if (!store_block(c->store, n, &b, STORE_MARKS))
			continue;
		block_values(c, &b, n);
		c->number = n->number;
		c->at = 0;
		c->n = n->n;
		while (c->at < c->n && c->start[c->at] < c->from)
			c->at++;
		while (c->n > c->at && !store_before(c->start[c->n - 1], c->to))
			c->n--;
		if (c->at < c->n)
			return true;
	}
	return false;
}
