/* Coarse pictures of lanes, of cells of any width: what each cell shows. See store.h. */
#include "store/store.h"

#include "store/parts.h"

/* A picture being drawn. */
struct canvas {
	const struct store *store;
	uint32_t lane;
	int64_t t0, t1;
	uint64_t step; /* ns of a cell */
	bool states; /* a lane of states, in which SWITCH does not mean time off the CPU */
	struct store_cell *cells;
	size_t n;
};

/* Returns the cell of a time from t0 to before t1. */
static size_t cell_of(const struct canvas *v, int64_t t)
{
	return (size_t)(((uint64_t)t - (uint64_t)v->t0) / v->step);
}

/* Shows an item in a cell if it takes more of it than what the cell shows so far. */
static void cell_add(struct store_cell *c, struct store_cell with)
{
	if (!(c->flags & STORE_CELL_SHOWN)) {
		*c = with;
		return;
	}
	with.flags |= STORE_CELL_SEVERAL;
	c->flags |= STORE_CELL_SEVERAL;
	if (with.covered > c->covered)
		*c = with;
}

/* Shows an item in all cells that it touches. Requires start < t1 and end >= t0. */
static void item_add(struct canvas *v, int64_t start, int64_t end, struct store_cell with)
{
	const int64_t last = end > start ? end - 1 : end;
	const size_t first = start > v->t0 ? cell_of(v, start) : 0;
	const size_t until = last < v->t1 ? cell_of(v, last) : v->n - 1;

	for (size_t i = first; i <= until && i < v->n; i++) {
		const uint64_t from = i * v->step, to = from + v->step;
		const uint64_t a = start > v->t0 ? (uint64_t)start - (uint64_t)v->t0 : 0;
		const uint64_t b = (uint64_t)end - (uint64_t)v->t0;
		struct store_cell c = with;

		c.covered = (b < to ? b : to) - (a > from ? a : from);
		c.flags |= start < v->t0 || a < from ? STORE_CELL_LEFT : 0;
		c.flags |= b > to ? STORE_CELL_RIGHT : 0;
		cell_add(&v->cells[i], c);
	}
}

/*
 * Shows the longest of several items that lie in one cell. Returns false, with nothing done, if
 * they lie in several.
 */
static bool node_add(struct canvas *v, int64_t start, int64_t end, struct store_cell with)
{
	if (start < v->t0 || end >= v->t1 || cell_of(v, start) != cell_of(v, end))
		return false;
	with.number = UINT64_MAX;
	with.flags |= STORE_CELL_SHOWN;
	cell_add(&v->cells[cell_of(v, start)], with);
	return true;
}

static uint32_t item_flags(const struct canvas *v, const struct block *b, uint32_t i)
{
	const uint32_t marks = (uint32_t)column_get(&b->cols[STORE_MARKS], i);
	uint32_t flags = STORE_CELL_SHOWN;

	flags |= marks >> MARKS_SHIFT & STORE_OPEN ? STORE_CELL_OPEN : 0;
	if (!(marks >> MARKS_SHIFT & STORE_SPAN))
		flags |= STORE_CELL_EVENT;
	else if ((marks & KIND_MASK) == SPUR_SWITCH && !v->states)
		flags |= STORE_CELL_OFF_CPU;
	return flags;
}

/* Items `i` to before `end` of a block. Returns false if the picture ends before the last. */
static bool cells_items(struct canvas *v, const struct store_node *n, const struct block *b,
			uint32_t i, uint32_t end)
{
	for (; i < end; i++) {
		const int64_t start =
			(int64_t)((uint64_t)n->start + column_get(&b->cols[STORE_START], i));
		const int64_t last = time_after(start, column_get(&b->cols[STORE_DUR], i));

		if (start >= v->t1)
			return false;
		if (last < v->t0 || (last == v->t0 && start < v->t0))
			continue;
		item_add(v, start, last,
			 (struct store_cell){
				 .number = n->number + i,
				 .label = (uint32_t)column_get(&b->cols[STORE_LABEL], i),
				 .flags = item_flags(v, b, i) });
	}
	return true;
}

static bool cells_block(struct canvas *v, const struct store_node *n)
{
	const uint32_t m = ((uint32_t)n->n + STORE_FAN - 1) / STORE_FAN;
	bool items = m < 2;
	struct block b;

	if (!store_block(v->store, n, &b, items ? STORE_MARKS : STORE_N_DUR))
		return true;
	if (items)
		return cells_items(v, n, &b, 0, n->n);
	for (uint32_t j = 0; j < m; j++) {
		const int64_t start =
			(int64_t)((uint64_t)n->start + column_get(&b.cols[STORE_N_START], j));
		const int64_t end =
			(int64_t)((uint64_t)n->start + column_get(&b.cols[STORE_N_END], j));
		const uint32_t last = (j + 1) * STORE_FAN;

		if (start >= v->t1)
			return false;
		if (end < v->t0)
			continue;
		/* The last node may have one item, of which more is known. */
		if (j * STORE_FAN + 1u < n->n &&
		    node_add(v, start, end,
			     (struct store_cell){
				     .label = (uint32_t)column_get(&b.cols[STORE_N_LABEL], j),
				     .covered = column_get(&b.cols[STORE_N_DUR], j),
				     .flags = STORE_CELL_SEVERAL }))
			continue;
		if (!items && !store_block(v->store, n, &b, STORE_MARKS))
			return true;
		items = true;
		if (!cells_items(v, n, &b, j * STORE_FAN, last < n->n ? last : n->n))
			return false;
	}
	return true;
}

/* Nodes `i` to before `end` of a level. Returns false if the picture ends before the last. */
static bool cells_nodes(struct canvas *v, unsigned level, uint64_t i, uint64_t end)
{
	uint64_t run = 0;
	const struct store_node *n = NULL;

	for (; i < end; i++, n++, run--) {
		if (!run)
			n = store_run(v->store, v->lane, level, i, &run);
		if (n->start >= v->t1)
			return false;
		if (n->end < v->t0)
			continue;
		if ((level || n->n > 1) &&
		    node_add(v, n->start, n->end,
			     (struct store_cell){ .label = n->best,
						  .covered = n->best_dur,
						  .flags = STORE_CELL_SEVERAL |
							   (n->best_off_cpu && !v->states
								    ? STORE_CELL_OFF_CPU
								    : 0) }))
			continue;
		if (!level ? !cells_block(v, n)
			   : !cells_nodes(v, level - 1, i * STORE_FAN, (i + 1) * STORE_FAN))
			return false;
	}
	return true;
}

void store_cells(const struct store *s, uint32_t lane, int64_t t0, uint64_t step,
		 struct store_cell *cells, size_t n)
{
	struct canvas v = { .store = s, .lane = lane, .t0 = t0, .step = step, .cells = cells };
	uint64_t counts[NODE_LEVELS], at = 0, width;

	memset(cells, 0, n * sizeof(*cells));
	if (lane >= store_lane_count(s) || !kind_has_spans(store_kind(s, lane)) || !step)
		return;
	v.n = n;
	v.states = store_kind(s, lane) == STORE_STATES;
	if (__builtin_mul_overflow((uint64_t)n, step, &width) ||
	    width > (uint64_t)INT64_MAX - (uint64_t)t0)
		v.t1 = INT64_MAX;
	else
		v.t1 = (int64_t)((uint64_t)t0 + width);
	/* The highest level first: a store that grows then has all nodes below the counted ones. */
	for (unsigned level = NODE_LEVELS; level--;)
		counts[level] = store_nodes(s, lane, level);
	for (unsigned level = NODE_LEVELS; level--; at *= STORE_FAN) {
		if (at < counts[level] && !cells_nodes(&v, level, at, counts[level]))
			return;
		at = at < counts[level] ? counts[level] : at;
	}
}
