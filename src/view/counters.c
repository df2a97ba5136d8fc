/*
 * What counters had in a range: samples, least, greatest, mean and last value, as `spur counters
 * --by track` has them of the range. Integers are exact.
 */
#include <math.h>

#include "base/mem.h"
#include "render/numbers.h"
#include "view/series.h"

static struct table_value value_of(enum store_lane_kind kind, uint64_t bits)
{
	return kind == STORE_I64   ? table_i64((int64_t)bits)
	       : kind == STORE_U64 ? table_u64(bits)
				   : table_f64(store_number(STORE_F64, bits));
}

static void put_value(struct out *o, const char *name, struct table_value v)
{
	out_printf(o, ",\"%s\":\"", name);
	table_value_out(o, v, false);
	out_char(o, '"');
}

/* Adds the samples of a lane in the range. */
static void add_lane(const struct view *v, uint32_t lane, const struct view_range *range,
		     struct numbers *n, struct series_last *last)
{
	const enum store_lane_kind kind = store_kind(v->store, lane);
	struct store_item item;

	for (uint64_t i = store_seek(v->store, lane, range->from);
	     store_item(v->store, lane, i, &item) && store_before(item.start, range->to); i++) {
		if (item.start < range->from)
			continue;
		numbers_add(n, value_of(kind, item.value));
		series_later(v, lane, i, &item, last);
	}
}

/* Writes the sums of a counter, if it has samples in the range. */
static void put_series(const struct view *v, const struct series *s, const struct view_range *range,
		       bool *first, struct out *o)
{
	struct series_last last = { .lane = SPUR_NONE };
	struct numbers n = { 0 };

	for (uint32_t i = 0; i < s->n; i++)
		add_lane(v, s->lanes[i], range, &n, &last);
	if (!n.count)
		return;
	out_printf(o, "%s{\"series\":%u,\"samples\":%llu", *first ? "" : ",", s->lanes[0],
		   (unsigned long long)n.count);
	put_value(o, "min", n.least);
	put_value(o, "max", n.most);
	put_value(o, "mean", numbers_mean(&n));
	put_value(o, "last", value_of(store_kind(v->store, last.lane), last.item.value));
	out_char(o, '}');
	*first = false;
}

bool view_counters(struct view *v, const struct view_request *r, struct view_answer *a)
{
	struct view_range range;
	struct series *series;
	size_t n;
	bool first = true;

	if (!view_range(v, r, &range, a))
		return false;
	if (!series_all(v, &series, &n)) {
		view_range_free(&range);
		return false;
	}
	out_char(&a->out, '[');
	for (size_t i = 0; i < n; i++)
		put_series(v, &series[i], &range, &first, &a->out);
	out_char(&a->out, ']');
	mem_free(series);
	view_range_free(&range);
	return !a->out.error;
}

/* --- as it is drawn --- */

/* What the lanes of a counter have in a tile. */
struct curve {
	const struct view *view;
	const struct series *series;
	int64_t t0;
	unsigned shift;
	double values[STORE_TILE][3]; /* of each pixel: least, greatest, last; NaN: none */
	bool seen[STORE_TILE]; /* the pixel has samples */
	bool before; /* a sample precedes the tile */
};

/* Sets *value to that of the last sample before a time, whichever lane has it. */
static void value_before(const struct curve *c, int64_t t, double *value)
{
	struct series_last last = { .lane = SPUR_NONE };

	for (uint32_t i = 0; i < c->series->n; i++)
		series_last_before(c->view, c->series->lanes[i], t, &last);
	if (last.lane != SPUR_NONE)
		*value = store_number(store_kind(c->view->store, last.lane), last.item.value);
}

/* The first time behind a pixel. */
static int64_t pixel_end(const struct curve *c, size_t x)
{
	int64_t end;

	return __builtin_add_overflow(c->t0, (int64_t)((x + 1) << c->shift), &end) ? INT64_MAX
										   : end;
}

/* Adds the values that a lane has in a pixel. NaN is neither least nor greatest. */
static void add_point(struct curve *c, const struct store_point *p, enum store_lane_kind kind)
{
	const double least = store_number(kind, p->least), most = store_number(kind, p->most);
	double *const to = c->values[p->x];

	if (!(to[0] <= least) && !isnan(least))
		to[0] = least;
	if (!(to[1] >= most) && !isnan(most))
		to[1] = most;
	to[2] = store_number(kind, p->last);
	if (c->seen[p->x])
		value_before(c, pixel_end(c, p->x), &to[2]);
	c->seen[p->x] = true;
}

static bool add_curve(struct curve *c, uint32_t lane)
{
	const enum store_lane_kind kind = store_kind(c->view->store, lane);
	struct store_points points = { 0 };
	const bool good = store_curve(c->view->store, lane, c->t0, c->shift, &points);

	for (size_t i = 0; good && i < points.n; i++)
		add_point(c, &points.points[i], kind);
	c->before |= points.before;
	store_points_free(&points);
	return good;
}

static bool make_curve(struct curve *c)
{
	for (size_t x = 0; x < STORE_TILE; x++)
		c->values[x][0] = c->values[x][1] = c->values[x][2] = NAN;
	for (uint32_t i = 0; i < c->series->n; i++)
		if (!add_curve(c, c->series->lanes[i]))
			return false;
	if (c->before && !c->seen[0]) {
		value_before(c, c->t0, &c->values[0][2]);
		c->values[0][0] = c->values[0][1] = c->values[0][2];
	}
	return true;
}

/* Answers with three doubles a pixel: least, greatest, last; NaN where there is no value. */
bool view_counter(struct view *v, const struct view_request *r, struct view_answer *a)
{
	struct series series;
	struct curve c = { .view = v, .series = &series };
	int64_t z, id;

	if (!view_tile_place(v, r, &c.t0, &z) ||
	    !view_number(r, "series", 0, UINT32_MAX, -1, &id) ||
	    !series_of(v, (uint32_t)id, &series))
		return view_refuse(a, 400, "expected z, i and a series");
	c.shift = (unsigned)z;
	if (!make_curve(&c))
		return false;
	out_bytes(&a->out, c.values, sizeof(c.values));
	a->type = "application/octet-stream";
	return !a->out.error;
}
