/* Pictures of lanes: what is seen at a zoom, found through the tree of nodes. See store.h. */
#include "store/store.h"

#include "store/parts.h"

/* A tile being drawn. */
struct tile {
	const struct store *store;
	uint32_t lane;
	int64_t t0, t1;
	unsigned down, up; /* x is ns >> down << up; one of them is 0 */
	uint64_t step; /* ns of a pixel */
	bool failed;
	/* What is seen of a pixel so far. */
	int64_t pixel; /* -1: nothing */
	uint64_t best;
	struct store_rect small;
	struct store_rects *rects; /* of a span lane */
	struct store_points *points; /* of a counter */
	enum store_lane_kind kind;
};

void store_rects_free(struct store_rects *r)
{
	mem_free(r->rects);
	*r = (struct store_rects){ 0 };
}

void store_points_free(struct store_points *p)
{
	mem_free(p->points);
	*p = (struct store_points){ 0 };
}

static void rect_add(struct tile *v, struct store_rect r)
{
	struct store_rects *l = v->rects;

	if (__builtin_expect(l->n == l->cap, 0) &&
	    !mem_grow((void **)&l->rects, &l->cap, l->n ? l->n + 1 : STORE_TILE, sizeof(*l->rects),
		      SIZE_MAX / 16)) {
		v->failed = true;
		return;
	}
	l->rects[l->n++] = r;
}

static void small_flush(struct tile *v)
{
	if (v->pixel >= 0)
		rect_add(v, v->small);
	v->pixel = -1;
}

static uint32_t tile_x(const struct tile *v, int64_t t)
{
	if (t <= v->t0)
		return 0;
	if (t >= v->t1)
		return STORE_TILE * STORE_SUB;
	return (uint32_t)(((uint64_t)t - (uint64_t)v->t0) >> v->down << v->up);
}

/* What is below a pixel in size: one rectangle a pixel, with the label of the longest. */
static void small_add(struct tile *v, int64_t start, int64_t end, uint32_t label, uint64_t dur)
{
	const uint32_t x0 = tile_x(v, start), x1 = tile_x(v, end);
	const int64_t pixel = x0 / STORE_SUB;

	if (pixel != v->pixel) {
		small_flush(v);
		v->pixel = pixel;
		v->best = dur;
		v->small = (struct store_rect){ (uint16_t)x0, (uint16_t)x1, label };
		return;
	}
	v->small.x1 = x1 > v->small.x1 ? (uint16_t)x1 : v->small.x1;
	/* An item alone keeps what is known of it. */
	if (dur > v->best)
		v->small.label = label;
	v->small.label |= STORE_RECT_MERGED;
	v->best = dur > v->best ? dur : v->best;
}

static uint32_t item_flags(const struct tile *v, const struct block *b, uint32_t i, int64_t start,
			   int64_t end)
{
	const uint32_t marks = (uint32_t)column_get(&b->cols[STORE_MARKS], i);
	uint32_t flags = (uint32_t)column_get(&b->cols[STORE_LABEL], i) << 8;

	flags |= start < v->t0 ? STORE_RECT_LEFT : 0;
	flags |= end > v->t1 ? STORE_RECT_RIGHT : 0;
	flags |= marks >> MARKS_SHIFT & STORE_OPEN ? STORE_RECT_OPEN : 0;
	flags |= column_get(&b->cols[STORE_NARGS], i) ? STORE_RECT_ARGS : 0;
	if (!(marks >> MARKS_SHIFT & STORE_SPAN))
		flags |= STORE_RECT_EVENT;
	else if ((marks & KIND_MASK) == SPUR_SWITCH && v->kind == STORE_SPANS)
		flags |= STORE_RECT_OFF_CPU;
	return flags;
}

/* Items `i` to before `end` of a block. Returns false if the tile ends before the last. */
static bool tile_items(struct tile *v, const struct store_node *n, const struct block *b,
		       uint32_t i, uint32_t end)
{
	for (; i < end; i++) {
		const int64_t start =
			(int64_t)((uint64_t)n->start + column_get(&b->cols[STORE_START], i));
		const int64_t last = time_after(start, column_get(&b->cols[STORE_DUR], i));
		const uint64_t dur = (uint64_t)last - (uint64_t)start;
		uint32_t label;

		if (start >= v->t1)
			return false;
		if (last < v->t0 || (last == v->t0 && start < v->t0))
			continue;
		label = item_flags(v, b, i, start, last);
		if (dur < v->step) {
			small_add(v, start, last, label, dur);
			continue;
		}
		small_flush(v);
		rect_add(v, (struct store_rect){ (uint16_t)tile_x(v, start),
						 (uint16_t)tile_x(v, last), label });
	}
	return true;
}

static bool tile_block(struct tile *v, const struct store_node *n)
{
	const uint32_t m = ((uint32_t)n->n + STORE_FAN - 1) / STORE_FAN;
	bool items = m < 2;
	struct block b;

	if (!store_block(v->store, n, &b, items ? STORE_NARGS : STORE_N_DUR))
		return true;
	if (items)
		return tile_items(v, n, &b, 0, n->n);
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
		if (j * STORE_FAN + 1u < n->n && (uint64_t)end - (uint64_t)start < v->step &&
		    start >= v->t0) {
			small_add(v, start, end,
				  (uint32_t)column_get(&b.cols[STORE_N_LABEL], j) << 8 |
					  STORE_RECT_MERGED,
				  column_get(&b.cols[STORE_N_DUR], j));
			continue;
		}
		if (!items && !store_block(v->store, n, &b, STORE_NARGS))
			return true;
		items = true;
		if (!tile_items(v, n, &b, j * STORE_FAN, last < n->n ? last : n->n))
			return false;
	}
	return true;
}

/* Nodes `i` to before `end` of a level. Returns false if the tile ends before the last. */
static bool tile_nodes(struct tile *v, unsigned level, uint64_t i, uint64_t end)
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
		if ((level || n->n > 1) && (uint64_t)n->end - (uint64_t)n->start < v->step &&
		    n->start >= v->t0)
			small_add(v, n->start, n->end,
				  n->best << 8 | STORE_RECT_MERGED |
					  (n->best_off_cpu && v->kind == STORE_SPANS
						   ? STORE_RECT_OFF_CPU
						   : 0),
				  n->best_dur);
		else if (!level ? !tile_block(v, n)
				: !tile_nodes(v, level - 1, i * STORE_FAN, (i + 1) * STORE_FAN))
			return false;
	}
	return true;
}

/* Goes over all nodes: of the highest level, then of each what the level above does not cover. */
static void tile_walk(struct tile *v,
		      bool (*walk)(struct tile *v, unsigned level, uint64_t i, uint64_t end))
{
	uint64_t counts[NODE_LEVELS], at = 0;

	/* The highest first: a store that grows then has all nodes below the counted ones. */
	for (unsigned level = NODE_LEVELS; level--;)
		counts[level] = store_nodes(v->store, v->lane, level);
	for (unsigned level = NODE_LEVELS; level--; at *= STORE_FAN) {
		if (at < counts[level] && !walk(v, level, at, counts[level]))
			return;
		at = at < counts[level] ? counts[level] : at;
	}
}

static bool tile_begin(struct tile *v, const struct store *s, uint32_t lane, int64_t t0,
		       unsigned shift)
{
	const uint64_t width = (uint64_t)STORE_TILE
			       << (shift < STORE_SHIFT_MAX ? shift : STORE_SHIFT_MAX);

	if (lane >= store_lane_count(s))
		return false;
	v->store = s;
	v->lane = lane;
	v->kind = store_kind(s, lane);
	shift = shift < STORE_SHIFT_MAX ? shift : STORE_SHIFT_MAX;
	v->down = shift > STORE_SUB_SHIFT ? shift - STORE_SUB_SHIFT : 0;
	v->up = shift < STORE_SUB_SHIFT ? STORE_SUB_SHIFT - shift : 0;
	v->t0 = t0;
	v->t1 = width < (uint64_t)INT64_MAX - (uint64_t)t0 || t0 < 0
			? (int64_t)((uint64_t)t0 + width)
			: INT64_MAX;
	v->step = (uint64_t)1 << shift;
	v->pixel = -1;
	return true;
}

bool store_tile(const struct store *s, uint32_t lane, int64_t t0, unsigned shift,
		struct store_rects *out)
{
	struct tile v = { .rects = out };

	if (!tile_begin(&v, s, lane, t0, shift) || !kind_has_spans(v.kind))
		return true;
	tile_walk(&v, tile_nodes);
	small_flush(&v);
	return !v.failed;
}

/* --- curves --- */

/* Adds samples between two times, of which all but the first and last may be anywhere between. */
static void point_add(struct tile *v, int64_t start, uint32_t count, struct extremes x,
		      uint64_t last)
{
	struct store_points *l = v->points;
	const uint16_t pixel = (uint16_t)(tile_x(v, start) / STORE_SUB);
	struct store_point *p = l->n ? &l->points[l->n - 1] : NULL;

	if (start < v->t0) {
		l->before = true;
		l->value = last;
		return;
	}
	if (!p || p->x != pixel) {
		if (l->n == l->cap && !mem_grow((void **)&l->points, &l->cap, l->n + 1,
						sizeof(*l->points), SIZE_MAX / 64)) {
			v->failed = true;
			return;
		}
		l->points[l->n++] = (struct store_point){
			.x = pixel, .count = count, .least = x.least, .most = x.most, .last = last
		};
		return;
	}
	extremes_add(v->kind, &x, p->least, p->most);
	p->least = x.least;
	p->most = x.most;
	p->last = last;
	p->count = p->count > UINT32_MAX - count ? UINT32_MAX : p->count + count;
}

static bool curve_block(struct tile *v, const struct store_node *n)
{
	struct block b;

	if (!store_block(v->store, n, &b, STORE_VALUE))
		return true;
	for (uint32_t i = 0; i < n->n; i++) {
		const int64_t start =
			(int64_t)((uint64_t)n->start + column_get(&b.cols[STORE_START], i));
		const uint64_t value = column_get(&b.cols[STORE_VALUE], i);

		if (start >= v->t1)
			return false;
		point_add(v, start, 1, (struct extremes){ value, value }, value);
	}
	return true;
}

/* Returns true if all of the node is before the tile, or in one pixel of it. */
static bool curve_is_whole(const struct tile *v, const struct store_node *n)
{
	if (n->end < v->t0)
		return true;
	return n->start >= v->t0 && n->end < v->t1 &&
	       tile_x(v, n->start) / STORE_SUB == tile_x(v, n->end) / STORE_SUB;
}

/* Returns how many items stand below node `i` of a level; UINT32_MAX if more. */
static uint32_t node_items(const struct tile *v, const struct store_node *n, unsigned level,
			   uint64_t i)
{
	const uint64_t next = (i + 1) << (4 * level);
	const struct store_node *last;
	uint64_t items = n->n, run;

	if (level) {
		last = store_run(v->store, v->lane, 0, next - 1, &run);
		items = last->number + last->n - n->number;
	}
	return items < UINT32_MAX ? (uint32_t)items : UINT32_MAX;
}

static bool curve_nodes(struct tile *v, unsigned level, uint64_t i, uint64_t end)
{
	uint64_t run = 0;
	const struct store_node *n = NULL;

	for (; i < end; i++, n++, run--) {
		if (!run)
			n = store_run(v->store, v->lane, level, i, &run);
		if (n->start >= v->t1)
			return false;
		if (curve_is_whole(v, n)) {
			point_add(v, n->start, node_items(v, n, level, i),
				  (struct extremes){ n->least, n->most }, n->last);
		} else if (!level ? !curve_block(v, n)
				  : !curve_nodes(v, level - 1, i * STORE_FAN,
						 (i + 1) * STORE_FAN)) {
			return false;
		}
	}
	return true;
}

bool store_curve(const struct store *s, uint32_t lane, int64_t t0, unsigned shift,
		 struct store_points *out)
{
	struct tile v = { .points = out };

	out->n = 0;
	out->before = false;
	if (!tile_begin(&v, s, lane, t0, shift) || !kind_is_counter(v.kind))
		return true;
	tile_walk(&v, curve_nodes);
	return !v.failed;
}
