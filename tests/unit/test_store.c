/*
 * Stores: all that the rows of a trace say is in its store, with the same arguments, for every
 * golden of every format; pictures and searches against slow ones over all items; damage.
 */
#include "unit/subject.h"

#include <pthread.h>

#include "flow/args.h"
#include "store/trace.h"

/* --- rows --- */

/* What the store does not keep of a row is made the same in both lists. */
static void row_reduce(struct spur_event *row)
{
	const bool end = row->kind == SPUR_END_SPAN ||
			 (row->kind == SPUR_SWITCH && (row->flags & SPUR_F_IN));

	row->name = row->cat = 0;
	if (row->kind != SPUR_SPAN)
		row->dur = 0;
	else if (row->dur < 0)
		row->dur = 0;
	if (!(row->flags & SPUR_F_DEPTH))
		row->depth = 0;
	if (!end)
		return;
	row->cpu = 0;
	if (!row->nargs)
		row->off = row->id = row->len = row->stream = 0;
}

static int row_order(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct spur_event));
}

static size_t store_rows_of(const struct store *s, struct spur_event **out)
{
	const uint32_t lanes = store_facts(s).lanes;
	size_t n = 0, cap = 0;

	*out = NULL;
	for (uint32_t l = 0; l < lanes; l++) {
		struct store_lane lane;
		struct store_item item;

		assert_true(store_lane(s, l, &lane));
		if (lane.kind == STORE_STATES)
			continue;
		for (uint64_t i = 0; i < lane.items; i++) {
			assert_true(
				mem_grow((void **)out, &cap, n + 2, sizeof(**out), SIZE_MAX / 64));
			assert_true(store_item(s, l, i, &item));
			assert_true(store_row(s, l, i, false, &(*out)[n]));
			n += !(item.marks & STORE_AGAIN);
			n += store_row(s, l, i, true, &(*out)[n]);
		}
		assert_false(store_item(s, l, lane.items, &item));
	}
	return n;
}

static bool values_equal(const struct spur_value *a, const struct spur_value *b)
{
	if (a->type != b->type || a->name != b->name || a->count != b->count ||
	    a->unreliable != b->unreliable || !a->label != !b->label ||
	    (a->label && strcmp(a->label, b->label) != 0))
		return false;
	switch (a->type) {
	case SPUR_STRING:
	case SPUR_BYTES:
		return !a->count || memcmp(a->text, b->text, a->count) == 0;
	case SPUR_STRUCT:
	case SPUR_ARRAY:
		for (uint32_t i = 0; i < a->count; i++)
			if (!values_equal(&a->items[i], &b->items[i]))
				return false;
		return true;
	case SPUR_NULL:
		return true;
	default:
		return a->u == b->u;
	}
}

static void args_compare(struct spur_trace *t, const struct spur_event *a,
			 const struct spur_event *b, struct spur_args args[2])
{
	if (!a->nargs)
		return;
	assert_int_equal(trace_args(t, a, &args[0]), trace_args(t, b, &args[1]));
	assert_int_equal(args[0].count, args[1].count);
	for (size_t i = 0; i < args[0].count; i++)
		assert_true(values_equal(&args[0].items[i], &args[1].items[i]));
}

static void show_row(const char *what, const struct spur_event *r)
{
	print_error("%s ts %lld dur %lld id %llx off %llu len %u track %u stream %u cls %u kind %s "
		    "nargs %u flags %x cpu %u depth %u\n",
		    what, (long long)r->ts, (long long)r->dur, (unsigned long long)r->id,
		    (unsigned long long)r->off, r->len, r->track, r->stream, r->cls,
		    spur_kind_name(r->kind), r->nargs, r->flags, r->cpu, r->depth);
}

/* The rows of the store are those of the trace. */
static void rows_compare(struct subject *s, const char *path)
{
	struct spur_args args[2] = { { 0 } };
	struct spur_event *rows, *full;
	const size_t n = store_rows_of(s->store, &rows);

	assert_int_equal(store_facts(s->store).rows, s->n);
	full = malloc((s->n + 1) * sizeof(*full));
	for (size_t i = 0; i < s->n; i++) {
		full[i] = s->rows[i];
		row_reduce(&s->rows[i]);
	}
	for (size_t i = 0; i < n; i++)
		row_reduce(&rows[i]);
	if (s->n)
		qsort(s->rows, s->n, sizeof(*rows), row_order);
	if (n)
		qsort(rows, n, sizeof(*rows), row_order);
	for (size_t i = 0; i < n && i < s->n; i++)
		if (memcmp(&rows[i], &s->rows[i], sizeof(rows[i])) != 0) {
			show_row("store", &rows[i]);
			show_row("trace", &s->rows[i]);
			fail_msg("%s: row %zu of %zu", path, i, n);
		}
	assert_int_equal(n, s->n);
	/* With members that row_reduce() clears. */
	for (size_t i = 0; i < s->n; i++) {
		struct spur_event want = full[i], *found;

		if (!want.nargs)
			continue;
		row_reduce(&want);
		found = bsearch(&want, rows, n, sizeof(*rows), row_order);
		assert_non_null(found);
		args_compare(s->trace, &full[i], found, args);
	}
	spur_args_free(&args[0]);
	spur_args_free(&args[1]);
	free(full);
	mem_free(rows);
}

/* --- items --- */

static bool items_equal(const struct store_item *a, const struct store_item *b)
{
	return a->start == b->start && a->dur == b->dur && a->id == b->id && a->value == b->value &&
	       a->label == b->label && a->flags == b->flags && a->cpu == b->cpu &&
	       a->kind == b->kind && a->marks == b->marks && a->nargs == b->nargs &&
	       a->end_nargs == b->end_nargs;
}

/* The store that was written and the one that was opened have the same items. */
static void views_compare(struct subject *s, const char *path)
{
	const struct store *view = store_writer_view(s->writer);
	const struct store_facts f = store_facts(view), g = store_facts(s->store);

	(void)path;
	assert_true(f.done && g.done);
	assert_true(f.spans == g.spans && f.events == g.events && f.rows == g.rows &&
		    f.start == g.start && f.end == g.end && f.facts == g.facts);
	for (uint32_t l = 0; l < f.lanes; l++) {
		struct store_lane a, b;
		struct store_item x, y;
		uint32_t other;

		assert_true(store_lane(view, l, &a));
		if (a.kind != STORE_SPANS || !a.items)
			continue;
		other = store_lane_at(s->store, a.track, a.depth);
		assert_true(store_lane(s->store, other, &b));
		assert_true(a.items == b.items && a.start == b.start && a.end == b.end);
		for (uint64_t i = 0; i < a.items; i++) {
			assert_true(store_item(view, l, i, &x));
			assert_true(store_item(s->store, other, i, &y));
			assert_true(items_equal(&x, &y));
		}
	}
}

/* Returns true if numbers of the type are in lanes of the kind. */
static bool is_of_kind(unsigned type, enum store_lane_kind kind)
{
	return kind == STORE_I64   ? type == SPUR_I64
	       : kind == STORE_U64 ? type == SPUR_U64 || type == SPUR_BOOL
				   : type == SPUR_F64;
}

/* SPEC store/counters: the values of a lane are those of the rows' argument, in their order. */
static void counters_compare(struct subject *s, const char *path)
{
	struct spur_args args = { 0 };

	(void)path;
	for (uint32_t l = 0; l < store_facts(s->store).lanes; l++) {
		struct store_text name;
		struct store_lane lane;
		uint64_t at = 0;

		assert_true(store_lane(s->store, l, &lane));
		if (!kind_is_counter(lane.kind))
			continue;
		name = store_string(s->store, lane.arg);
		for (size_t i = 0; i < s->n; i++) {
			const struct spur_event *row = &s->rows[i];

			if (row->kind != SPUR_COUNTER || row->track != lane.track ||
			    row->cls != lane.label || row->id != lane.id)
				continue;
			assert_int_not_equal(trace_args(s->trace, row, &args), SPUR_FAIL);
			for (size_t j = 0; j < args.count; j++) {
				const struct spur_value *v = &args.items[j];
				struct store_item item;

				if (strcmp(trace_string(s->trace, v->name, NULL), name.p) != 0 ||
				    !is_of_kind(v->type, lane.kind))
					continue;
				assert_true(store_item(s->store, l, at++, &item));
				assert_true(item.start == row->ts && item.value == v->u);
			}
		}
		assert_int_equal(at, lane.items);
	}
	spur_args_free(&args);
}

/* --- pictures --- */

/* SPEC store/nodes: each item is drawn, large ones by themselves, and nothing else is. */
static void tile_compare(const struct store *s, uint32_t lane, int64_t t0, unsigned shift)
{
	const int64_t t1 = t0 + ((int64_t)STORE_TILE << shift), step = (int64_t)1 << shift;
	struct store_rects r = { 0 };
	struct store_item i;
	size_t large = 0, expected = 0;

	assert_true(store_tile(s, lane, t0, shift, &r));
	for (size_t k = 0; k < r.n; k++) {
		assert_true(r.rects[k].x0 <= r.rects[k].x1 &&
			    r.rects[k].x1 <= STORE_TILE * STORE_SUB);
		assert_true(!k || r.rects[k].x0 >= r.rects[k - 1].x0);
	}
	for (uint64_t n = 0; store_item(s, lane, n, &i); n++) {
		const int64_t a = i.start < t0 ? t0 : i.start;
		const int64_t end = i.start + i.dur, b = end > t1 ? t1 : end;
		int64_t x0, x1;
		bool found = false;

		if (i.start >= t1 || end < t0 || (end == t0 && i.start < t0))
			continue;
		x0 = (a - t0) * STORE_SUB >> shift;
		x1 = (b - t0) * STORE_SUB >> shift;
		expected += i.dur >= step;
		for (size_t k = 0; k < r.n && !found; k++)
			found = i.dur >= step ? r.rects[k].x0 == x0 && r.rects[k].x1 == x1 &&
							r.rects[k].label >> 8 == i.label &&
							!(r.rects[k].label & STORE_RECT_MERGED)
					      : r.rects[k].x0 <= x0 && r.rects[k].x1 >= x1;
		assert_true(found);
	}
	for (size_t k = 0; k < r.n; k++) {
		const struct store_rect *q = &r.rects[k];
		const size_t least = q->label & STORE_RECT_MERGED ? 2 : 1;
		bool found = false;
		size_t there = 0;

		for (uint64_t n = 0; (!found || there < least) && store_item(s, lane, n, &i); n++) {
			if (i.start + i.dur < t0 + ((int64_t)q->x0 << shift) / STORE_SUB ||
			    i.start > t0 + ((int64_t)(q->x1 + 1) << shift) / STORE_SUB)
				continue;
			there++;
			found |= i.label == q->label >> 8;
		}
		assert_true(found && there >= least);
		large += q->x1 - q->x0 > STORE_SUB && !(q->label & STORE_RECT_MERGED);
	}
	assert_true(large <= expected);
	store_rects_free(&r);
}

static void tiles_compare(struct subject *s, const char *path)
{
	const struct store_facts f = store_facts(s->store);
	unsigned top = 0;

	(void)path;
	while (top < STORE_SHIFT_MAX && ((int64_t)STORE_TILE << top) < f.end - f.start)
		top++;
	for (uint32_t l = 0; l < f.lanes && l < 12; l++) {
		struct store_lane lane;

		assert_true(store_lane(s->store, l, &lane));
		if (lane.kind != STORE_SPANS || lane.items > 3000)
			continue;
		for (unsigned shift = top; shift + 12 > top && shift <= top; shift -= 3)
			tile_compare(s->store, l, f.start + ((f.end - f.start) / 5) * (shift % 5),
				     shift);
	}
}

/* --- coarse pictures --- */

enum { CELLS = 40 };

/* Returns the ns that an item takes of a cell, -1 if it does not touch it. */
static int64_t overlap(const struct store_item *i, int64_t from, int64_t to)
{
	const int64_t a = i->start > from ? i->start : from;
	const int64_t end = i->start + i->dur, b = end < to ? end : to;

	if (!i->dur)
		return i->start >= from && i->start < to ? 0 : -1;
	return b > a ? b - a : -1;
}

/* Each cell shows an item that takes the most of it, and says whether others are there. */
static void cell_compare(const struct store *s, uint32_t lane, const struct store_cell *c,
			 int64_t from, int64_t to)
{
	const struct store_cell nothing = { 0 };
	struct store_item i, shown;
	int64_t most = -1;
	bool same = false;
	size_t n = 0;

	for (uint64_t k = 0; store_item(s, lane, k, &i); k++) {
		const int64_t takes = overlap(&i, from, to);

		n += takes >= 0;
		most = takes > most ? takes : most;
	}
	if (!n) {
		assert_memory_equal(c, &nothing, sizeof(*c));
		return;
	}
	assert_true(c->flags & STORE_CELL_SHOWN);
	assert_int_equal(!!(c->flags & STORE_CELL_SEVERAL), n > 1);
	assert_int_equal(c->covered, most);
	for (uint64_t k = 0; !same && store_item(s, lane, k, &i); k++)
		same = overlap(&i, from, to) == most && i.label == c->label;
	assert_true(same);
	if (c->number == UINT64_MAX)
		return;
	assert_true(store_item(s, lane, c->number, &shown));
	assert_int_equal(overlap(&shown, from, to), most);
	assert_int_equal(!!(c->flags & STORE_CELL_LEFT), shown.start < from);
	assert_int_equal(!!(c->flags & STORE_CELL_RIGHT), shown.start + shown.dur > to);
	assert_int_equal(!!(c->flags & STORE_CELL_EVENT), !(shown.marks & STORE_SPAN));
	assert_int_equal(!!(c->flags & STORE_CELL_OPEN), !!(shown.marks & STORE_OPEN));
}

static void cells_compare(struct subject *s, const char *path)
{
	const struct store_facts f = store_facts(s->store);
	const int64_t length = f.end - f.start;

	(void)path;
	for (uint32_t l = 0; l < f.lanes && l < 12; l++) {
		struct store_cell cells[CELLS];
		struct store_lane lane;

		assert_true(store_lane(s->store, l, &lane));
		if (!kind_has_spans(lane.kind) || lane.items > 1500)
			continue;
		for (int64_t part = 1; part < 200; part *= 7) {
			const int64_t step = length / CELLS / part + 1;
			const int64_t t0 = f.start + length / 3 * (part % 3);

			if (step > (INT64_MAX - (t0 > 0 ? t0 : 0)) / CELLS)
				continue;
			store_cells(s->store, l, t0, (uint64_t)step, cells, CELLS);
			for (int64_t c = 0; c < CELLS; c++)
				cell_compare(s->store, l, &cells[c], t0 + c * step,
					     t0 + (c + 1) * step);
		}
	}
}

/* --- finding --- */

static int call_order(const void *a, const void *b)
{
	const struct store_call *x = a, *y = b;

	if (x->dur != y->dur)
		return x->dur > y->dur ? -1 : 1;
	if (x->place.start != y->place.start)
		return x->place.start < y->place.start ? -1 : 1;
	if (x->place.lane != y->place.lane)
		return x->place.lane < y->place.lane ? -1 : 1;
	return x->place.number < y->place.number ? -1 : x->place.number > y->place.number;
}

/* All spans that last 10 ns or longer: counted, one after the other, the longest. */
static void searches_compare(struct subject *s, const char *path)
{
	struct store_query q = { .least = 10, .from = INT64_MIN, .to = INT64_MAX };
	const struct store_facts f = store_facts(s->store);
	struct store_call *calls = calloc(f.spans + 1, sizeof(*calls)), best[7];
	struct store_place at, back;
	uint64_t count, n = 0;
	int64_t first = INT64_MAX, least = INT64_MAX;
	size_t found;

	(void)path;
	for (uint32_t l = 0; l < f.lanes; l++) {
		struct store_lane lane;
		struct store_item i;

		store_lane(s->store, l, &lane);
		for (uint64_t k = 0; store_item(s->store, l, k, &i); k++)
			if (lane.kind == STORE_SPANS && (i.marks & STORE_SPAN) && i.dur >= 10)
				calls[n++] = (struct store_call){ { l, k, i.start }, i.dur };
	}
	qsort(calls, n, sizeof(*calls), call_order);
	assert_true(store_survey(s->store, &q, 0, 1, &first, 1, &count));
	assert_int_equal(count, n);
	for (uint64_t k = 0; k < n; k++)
		least = calls[k].place.start < least ? calls[k].place.start : least;
	assert_int_equal(first, least);
	assert_true(store_longest(s->store, &q, best, 7, &found));
	assert_int_equal(found, n < 7 ? n : 7);
	for (size_t i = 0; i < found; i++)
		assert_int_equal(call_order(&best[i], &calls[i]), 0);
	if (n && n < 500) {
		assert_int_equal(store_next(s->store, &q, NULL, false, &at), SPUR_OK);
		for (count = 1; store_next(s->store, &q, &at, false, &back) == SPUR_OK; count++) {
			struct store_place again;

			assert_int_equal(store_next(s->store, &q, &back, true, &again), SPUR_OK);
			assert_memory_equal(&again.start, &at.start, sizeof(at.start));
			assert_true(again.lane == at.lane && again.number == at.number);
			at = back;
		}
		assert_int_equal(count, n);
	}
	free(calls);
}

/* --- a store as a trace --- */

/* Rows of one track stay in their order; tracks are put one after the other. */
static int track_order(const void *a, const void *b)
{
	const struct spur_event *const *x = a, *const *y = b;

	if ((*x)->track != (*y)->track)
		return (*x)->track < (*y)->track ? -1 : 1;
	return *x < *y ? -1 : *x > *y;
}

/* Reads the rows of a trace but counters, which are ordered in each feed. Returns their number. */
static size_t trace_rows(struct spur_trace *t, struct spur_event **rows)
{
	struct spur_event *batch;
	size_t n = 0, cap = 0, more;

	*rows = NULL;
	for (size_t i = 0; i < t->nfeeds; i++) {
		struct feed_reader *r = feed_reader_new(t, t->feeds[i], NULL, 32);
		int64_t last = INT64_MIN;

		while (feed_reader_next(r, &batch, &more) == SPUR_OK)
			for (size_t k = 0; k < more; k++) {
				assert_true(batch[k].ts >= last);
				last = batch[k].ts;
				if (batch[k].kind == SPUR_COUNTER)
					continue;
				assert_true(mem_grow((void **)rows, &cap, n + 1, sizeof(**rows),
						     SIZE_MAX / 64));
				(*rows)[n++] = batch[k];
			}
		feed_reader_free(r);
	}
	return n;
}

/*
 * SPEC store/ties: the rows from `from` to before `to` that the store's trace gives are those of
 * the trace, in the order of each track.
 */
static void replay_compare(const struct subject *s, const char *path, int64_t from, int64_t to)
{
	const struct spur_event **want = calloc(s->n + 1, sizeof(*want)), **got;
	struct spur_event *rows;
	struct spur_trace *t;
	struct store *store;
	struct spur_error err;
	size_t nwant = 0, n, count;
	uint32_t *places;

	for (size_t i = 0; i < s->n; i++)
		if (s->rows[i].ts >= from && s->rows[i].ts < to && s->rows[i].kind != SPUR_COUNTER)
			want[nwant++] = &s->rows[i];
	assert_int_equal(store_open(&store, s->path, &err), SPUR_OK);
	assert_int_equal(store_trace_open(&t, store, path, NULL, &err), SPUR_OK);
	trace_want(t, from, to);
	n = trace_rows(t, &rows);
	assert_false(store_trace_is_damaged(t));
	assert_int_equal(n, nwant);
	got = calloc(n + 1, sizeof(*got));
	places = store_track_places(store, &count);
	assert_non_null(places);
	for (size_t i = 0; i < n; i++) {
		/* Tracks have other ids: those of their order. */
		for (uint32_t k = 0; k < count; k++)
			if (places[k] == rows[i].track) {
				rows[i].track = k;
				break;
			}
		got[i] = &rows[i];
	}
	qsort(want, n, sizeof(*want), track_order);
	qsort(got, n, sizeof(*got), track_order);
	for (size_t i = 0; i < n; i++) {
		struct spur_event a = *got[i], b = *want[i];

		row_reduce(&a);
		row_reduce(&b);
		if (memcmp(&a, &b, sizeof(a)) != 0) {
			show_row("store", got[i]);
			show_row("trace", want[i]);
			fail_msg("%s: row %zu of %zu of all tracks", path, i, n);
		}
	}
	spur_close(t);
	mem_free(rows);
	free(want);
	free(got);
	mem_free(places);
}

static size_t replayed;

static void replays_compare(struct subject *s, const char *path)
{
	const struct store_facts f = store_facts(s->store);
	const int64_t part = (f.end - f.start) / 7;

	if (!store_has_calls(s->store))
		return;
	replayed++;
	replay_compare(s, path, INT64_MIN, INT64_MAX);
	for (int64_t i = 0; i < 7; i += 2)
		replay_compare(s, path, f.start + i * part, f.start + (i + 2) * part);
	/* At the times of rows, where begins and ends lie on the edge. */
	for (size_t i = 0; i + 1 < s->n; i += s->n / 9 + 1)
		replay_compare(s, path, s->rows[i].ts, s->rows[s->n - 1 - i / 2].ts + 1);
}

/* Returns true if an item ends after a time, or begins then or later. */
static bool is_from(const struct store_item *i, int64_t t)
{
	return i->start >= t || i->start + i->dur > t;
}

static void seek_compare(const struct store *s, const struct store_lane *l, uint32_t lane,
			 int64_t t)
{
	const uint64_t n = store_seek(s, lane, t);
	struct store_item i;

	assert_true(n <= l->items);
	assert_true(n == l->items || (store_item(s, lane, n, &i) && is_from(&i, t)));
	assert_true(!n || (store_item(s, lane, n - 1, &i) && !is_from(&i, t)));
}

static void seeks_near(const struct store *s, const struct store_lane *l, uint32_t lane, int64_t at)
{
	int64_t t;

	for (int by = -1; by <= 1; by++)
		if (!__builtin_add_overflow(at, by, &t))
			seek_compare(s, l, lane, t);
}

/* At the begins and ends of a few items of each lane, the last one among them. */
static void seeks_compare(struct subject *s)
{
	const struct store_facts f = store_facts(s->store);

	for (uint32_t l = 0; l < f.lanes && !(f.facts & (STORE_LAPS | STORE_BACK)); l++) {
		struct store_lane lane;
		struct store_item i;

		assert_true(store_lane(s->store, l, &lane));
		for (uint64_t k = 0; k < 9 && k < lane.items; k++) {
			assert_true(
				store_item(s->store, l, lane.items - 1 - lane.items * k / 9, &i));
			seeks_near(s->store, &lane, l, i.start);
			seeks_near(s->store, &lane, l, i.start + i.dur);
		}
	}
}

/* The arguments of a few items, found again in the trace. */
static void args_again(struct subject *s, const char *path)
{
	const struct store_facts f = store_facts(s->store);
	struct spur_args args[2] = { { 0 } };
	size_t tried = 0;

	for (uint32_t l = 0; l < f.lanes; l++) {
		struct store_item item;

		for (uint64_t i = l; store_item(s->store, l, i, &item) && tried < 6; i += 37) {
			struct spur_event own, again;
			struct spur_error err;
			struct spur_trace *t;

			if (!item.nargs)
				continue;
			tried++;
			assert_true(store_row(s->store, l, i, false, &own));
			assert_int_not_equal(spur_open(&t, path, NULL, &err), SPUR_FAIL);
			if (store_find_row(s->store, l, i, false, t, &again) != SPUR_OK) {
				show_row("want", &own);
				fail_msg("%s", path);
			}
			trace_args(s->trace, &own, &args[0]);
			trace_args(t, &again, &args[1]);
			assert_int_equal(args[0].count, args[1].count);
			for (size_t k = 0; k < args[0].count; k++) {
				const struct spur_value *a = &args[0].items[k];
				const struct spur_value *b = &args[1].items[k];

				assert_string_equal(trace_string(s->trace, a->name, NULL),
						    trace_string(t, b->name, NULL));
				assert_true(a->type == b->type && a->count == b->count);
				if (a->type == SPUR_STRING)
					assert_memory_equal(a->text, b->text, a->count);
				else if (a->type < SPUR_STRING)
					assert_true(a->u == b->u);
			}
			spur_close(t);
		}
	}
	spur_args_free(&args[0]);
	spur_args_free(&args[1]);
}

/* --- growing --- */

enum { GROW_CALLS = 300000, GROW_DEPTH = 4, GROW_TRACKS = 3 };

/* What a thread sees of a store that grows. */
struct watcher {
	const struct store *store;
	int done; /* atomic: nothing is added any more */
	uint64_t looks, wrong, seen;
};

/*
 * Call number i of a track begins at 10 * i + depth and has the id i: so each item says by itself
 * whether it is right.
 */
static void *watch(void *self)
{
	struct watcher *w = self;
	struct store_rects rects = { 0 };
	bool last;

	do {
		const uint32_t lanes = store_facts(w->store).lanes;

		last = __atomic_load_n(&w->done, __ATOMIC_ACQUIRE);
		w->seen = 0;
		w->looks++;
		for (uint32_t l = 0; l < lanes; l++) {
			struct store_lane lane;
			struct store_item i;

			w->wrong += !store_lane(w->store, l, &lane);
			w->seen += lane.items;
			for (uint64_t n = lane.items; n && n + 40 > lane.items; n--) {
				w->wrong += !store_item(w->store, l, n - 1, &i);
				w->wrong += i.start != (int64_t)(10 * i.id + lane.depth) ||
					    i.id != n - 1 || i.dur != 9 - 2 * (int64_t)lane.depth;
			}
			/* lane.end may already be that of a later item. */
			if (lane.items && store_item(w->store, l, lane.items - 1, &i))
				w->wrong += store_seek(w->store, l, i.start + i.dur - 1) !=
					    lane.items - 1;
			rects.n = 0;
			w->wrong += !store_tile(w->store, l, lane.start, 12, &rects) ||
				    (lane.items && !rects.n);
		}
	} while (!last);
	store_rects_free(&rects);
	return NULL;
}

static struct spur_event grow_row(uint64_t call, unsigned track, unsigned depth, bool end)
{
	return (struct spur_event){ .ts = (int64_t)(10 * call + (end ? 9 - depth : depth)),
				    .id = call,
				    .off = 32 * call,
				    .len = 16,
				    .track = track,
				    .cls = depth + 1,
				    .kind = end ? SPUR_END_SPAN : SPUR_BEGIN };
}

/* A thread reads a store while another writes it. */
static void test_growing(void **state)
{
	struct spur_trace *t = trace_new("grow", NULL);
	struct watcher w = { 0 };
	struct store_writer *writer;
	struct store_worker *k;
	struct spur_error err;
	pthread_t thread;
	char path[64];

	(void)state;
	assert_non_null(t);
	for (unsigned i = 0; i < GROW_TRACKS; i++)
		trace_add_track(t, (struct spur_track){ .parent = SPUR_NONE, .tid = i, .cpu = -1 });
	for (unsigned i = 0; i < GROW_DEPTH; i++)
		trace_add_class(t, &(struct event_class){ .name = trace_intern(t, "f") });
	file_name(path, sizeof(path));
	assert_int_equal(store_writer_new(&writer, t, path, 1, &err), SPUR_OK);
	w.store = store_writer_view(writer);
	k = store_writer_worker(writer, 0);
	assert_int_equal(pthread_create(&thread, NULL, watch, &w), 0);
	assert_true(store_worker_begin(k, NULL));
	for (uint64_t i = 0; i < GROW_CALLS / GROW_TRACKS; i++)
		for (unsigned track = 0; track < GROW_TRACKS; track++) {
			struct spur_event rows[2 * GROW_DEPTH];

			for (unsigned d = 0; d < GROW_DEPTH; d++) {
				rows[d] = grow_row(i, track, d, false);
				rows[2 * GROW_DEPTH - 1 - d] = grow_row(i, track, d, true);
			}
			assert_true(store_worker_order(k, rows, 2 * GROW_DEPTH));
			assert_true(store_worker_rows(k, rows, 2 * GROW_DEPTH));
		}
	assert_true(store_worker_end(k));
	assert_int_equal(store_writer_finish(writer, "", &err), SPUR_OK);
	__atomic_store_n(&w.done, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	assert_int_equal(w.wrong, 0);
	assert_int_equal(w.seen, GROW_CALLS * GROW_DEPTH);
	assert_true(store_facts(w.store).done && !store_is_damaged(w.store));
	store_writer_free(writer);
	trace_close(t);
	unlink(path);
}

/* The last row of all is a late one of another thread: calls that are open end behind it. */
static void test_late(void **state)
{
	const struct spur_event rows[] = { grow_row(1, 0, 0, false), grow_row(5, 0, 1, false),
					   grow_row(4, 1, 0, false) };
	struct spur_trace *t = trace_new("late", NULL);
	struct store_writer *writer;
	struct store_worker *k;
	struct store_item item;
	struct spur_error err;

	(void)state;
	assert_non_null(t);
	for (unsigned i = 0; i < 2; i++) {
		trace_add_track(t, (struct spur_track){ .parent = SPUR_NONE, .tid = i, .cpu = -1 });
		trace_add_class(t, &(struct event_class){ .name = trace_intern(t, "f") });
	}
	assert_int_equal(store_writer_new(&writer, t, NULL, 1, &err), SPUR_OK);
	k = store_writer_worker(writer, 0);
	assert_true(store_worker_begin(k, NULL));
	store_worker_late(k);
	assert_true(store_worker_order(k, rows, 3) && store_worker_rows(k, rows, 3));
	assert_true(store_worker_end(k));
	assert_int_equal(store_writer_finish(writer, "", &err), SPUR_OK);
	assert_true(store_item(store_writer_view(writer), 0, 0, &item));
	assert_int_equal(item.start, 10);
	assert_int_equal(item.dur, 41);
	store_writer_free(writer);
	trace_close(t);
}

/* --- damage --- */

/* Reads the lists of a store, and steps from each event that may be one of a flow. */
static uint64_t lists_walk(const struct store *s)
{
	struct store_place at;
	struct store_lost lost;
	struct store_note note;
	struct store_stack stack;
	struct store_item item;
	uint64_t h = 0;

	for (uint64_t i = 0; store_lost(s, i, &lost); i++)
		h = h * 31 + (uint64_t)lost.ts + (uint64_t)lost.dur * 3 + lost.count + lost.track;
	for (uint64_t i = 0; store_note(s, i, &note); i++)
		h = h * 31 + note.text.len + note.file.len + note.code.len + note.off + note.count +
		    (note.timed ? (uint64_t)note.ts : 0) + note.is_damage;
	for (uint64_t i = 0; store_stack(s, i, &stack); i++)
		h = h * 31 + (uint64_t)stack.ts + stack.self + stack.calls + stack.track +
		    stack.labels[0] + stack.labels[stack.n - 1];
	for (uint32_t l = 0; l < store_facts(s).lanes; l++)
		for (uint64_t n = 0; store_item(s, l, n, &item); n++)
			for (int back = 0; back < 2; back++)
				if (store_flow_step(s, l, n, back, &at))
					h = h * 31 + at.number + at.lane + (uint64_t)at.start;
	return h;
}

/* A hash of the sums of all and of a part. */
static uint64_t sums_walk(const struct store *s)
{
	const struct store_facts f = store_facts(s);
	struct store_sum *sums = calloc((size_t)f.labels + 1, sizeof(*sums));
	const int64_t third = (f.end - f.start) / 3;
	uint64_t h = 0;

	for (int64_t part = 0; part < 2; part++) {
		const struct store_range r = { .from = part ? f.start + third : INT64_MIN,
					       .to = part ? f.end - third : INT64_MAX };

		assert_true(store_sums(s, &r, sums, f.labels ? f.labels : 1));
		for (uint32_t i = 0; i < f.labels; i++)
			h = h * 31 + sums[i].calls + sums[i].total + sums[i].self + sums[i].most;
	}
	free(sums);
	return h;
}

/* Reads all of a store. Returns a hash of it. */
static uint64_t store_walk(const struct store *s)
{
	const struct store_facts f = store_facts(s);
	struct store_rects rects = { 0 };
	uint64_t h = f.spans;

	for (uint32_t l = 0; l < f.lanes; l++) {
		struct store_item i;

		for (uint64_t n = 0; store_item(s, l, n, &i); n++)
			h = h * 31 + (uint64_t)i.start + (uint64_t)i.dur * 7 + i.label + i.id +
			    i.value + i.flags + i.marks;
		assert_true(store_tile(s, l, f.start, 10, &rects));
	}
	for (uint32_t i = 0; i < f.labels; i++) {
		struct store_label label;

		if (store_label(s, i, &label))
			h = h * 31 + label.name.len + label.head;
	}
	for (uint32_t i = 0; i < f.tracks; i++) {
		const uint32_t lane = store_states(s, i);
		struct store_doing d;

		for (uint64_t n = 0; lane != SPUR_NONE && store_doing(s, lane, n, &d); n++)
			h = h * 31 + (uint64_t)d.start + d.waker + d.state;
	}
	h = h * 31 + lists_walk(s) + sums_walk(s);
	store_rects_free(&rects);
	return h;
}

static void file_write(const char *path, const void *bytes, size_t size)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	close(fd);
}

static void file_patch(const char *path, size_t at, int byte)
{
	const uint8_t b = (uint8_t)byte;
	const int fd = open(path, O_WRONLY);

	assert_true(fd >= 0 && pwrite(fd, &b, 1, (off_t)at) == 1);
	close(fd);
}

/*
 * SPEC store/head, SPEC store/sections, SPEC store/lanes, SPEC store/strings, SPEC store/block,
 * SPEC store/block-sum: a
 * store with a flipped bit or that is cut is refused, or tells that it is damaged when it is read,
 * unless the bit is in a gap between sections.
 */
static void damage_compare(const char *trace)
{
	static uint8_t bytes[1 << 20];
	struct spur_error err;
	struct store *store;
	struct subject s;
	uint64_t whole;
	size_t size, harmless = 0;
	char path[64];
	FILE *f;

	assert_true(subject_open(&s, trace));
	whole = store_walk(s.store);
	f = fopen(s.path, "rb");
	size = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	assert_true(size > 4096 && size < sizeof(bytes));
	file_name(path, sizeof(path));
	file_write(path, bytes, size);
	for (size_t i = 0; i < size; i++) {
		/* The rest of the first page is zeros that nothing reads. */
		if (i == 512)
			i = 4096;
		file_patch(path, i, bytes[i] ^ (uint8_t)(1u << i % 8));
		if (store_open(&store, path, &err) == SPUR_FAIL) {
			assert_int_equal(err.code, SPUR_ERR_FORMAT);
			file_patch(path, i, bytes[i]);
			continue;
		}
		if (store_walk(store) == whole && !store_is_damaged(store))
			harmless++;
		else
			assert_true(store_is_damaged(store));
		store_close(store);
		file_patch(path, i, bytes[i]);
	}
	/* Gaps: up to 63 bytes before each section, the identity, the end of the head. */
	assert_true(harmless < 8 * 64 + strlen("identity") + 512);
	for (size_t cut = 0; cut < size; cut += 13) {
		file_write(path, bytes, cut);
		assert_int_equal(store_open(&store, path, &err), SPUR_FAIL);
		assert_null(store);
	}
	unlink(path);
	subject_close(&s);
}

/* One with calls, one with flows, one with states. */
static void test_damage(void **state)
{
	(void)state;
	damage_compare("tests/golden/uftrace/abc/in");
	damage_compare("tests/golden/fxt/async-flows/in");
	damage_compare("tests/golden/ctf/kernel-threads/in");
}

static void golden_compare(struct subject *s, const char *path)
{
	views_compare(s, path);
	counters_compare(s, path);
	tiles_compare(s, path);
	cells_compare(s, path);
	searches_compare(s, path);
	replays_compare(s, path);
	seeks_compare(s);
	args_again(s, path);
	/* Changes the rows that were kept. */
	rows_compare(s, path);
}

/*
 * SPEC store/spans, SPEC store/events, SPEC store/arguments, SPEC store/column,
 * SPEC store/label-ids, SPEC store/sparse: see the functions above.
 */
static void test_goldens(void **state)
{
	(void)state;
	assert_true(each_golden(golden_compare) >= 150);
	assert_true(replayed >= 90);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_goldens),
		cmocka_unit_test(test_growing),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
