/*
 * Pass 2, or the only one: rows.
 *
 * By time: the rows of a window (model/reorder.h) are made in the order of the file, sorted where
 * they need it, and put with the stragglers between them. As stored: rows as the records come.
 */
#include "base/search.h"
#include "format/fxt/plain.h"

/* Rows being made. */
struct fill {
	struct spur_event *rows;
	uint32_t count;
	bool sorted;
};

struct fxt_window {
	struct spur_event
		own[FXT_WINDOW]; /* of a window that does not go straight into the batch */
	uint64_t order[FXT_WINDOW]; /* of its rows */
	uint64_t spread[FXT_WINDOW]; /* the same, while they are sorted */
	struct fill in;
	uint32_t at; /* rows that have been put */
};

struct fxt_window *fxt_window_new(void)
{
	return mem_alloc(sizeof(struct fxt_window));
}

/*
 * Rows of plain events from x->off on: up to the end of the window, or, as stored, up to `cap`
 * rows; how many records that took. `swap`, `plain` (ticks are ns) and `ordered` are constants
 * where it matters.
 */
ALWAYS_INLINE uint64_t plain_rows(struct fxt *x, struct fill *w, uint32_t cap, bool swap,
				  bool plain, bool ordered)
{
	const uint8_t *const data = x->src->data, *const data_end = data + x->src->size;
	const uint8_t *p = data + x->off;
	const struct plain_tables in = plain_tables(x);
	struct spur_event *const rows = w->rows, *const end = rows + cap, *row = rows + w->count;
	struct reorder order = x->order; /* a copy, so that it need not lie in memory */
	uint64_t late = 0;
	struct plain_event e;

	for (; (ordered ? order.left || row == rows : row < end) &&
	       plain_event(x, in, p, data_end, &e, swap, plain);
	     p += e.bytes) {
		source_ahead(p, 0);
		if (ordered && !reorder_ascends(&order, e.ts)) {
			if (reorder_late_window(&order, e.ts)) {
				late++;
				continue;
			}
			if (row > rows && e.ts <= row[-1].ts)
				w->sorted &= e.ts == row[-1].ts && row[-1].kind != SPUR_SPAN;
		}
		plain_row(row++, &e, (uint64_t)(p - data));
	}
	if (row > rows)
		x->last = row[-1].ts;
	for (struct spur_event *made = rows + w->count; x->gaps && made < row; made++)
		fxt_mark_gap(x, made);
	late += (uint64_t)(row - rows) - w->count;
	x->order = order;
	x->off = (uint64_t)(p - data);
	w->count = (uint32_t)(row - rows);
	return late;
}

static __attribute__((noinline)) uint64_t plain_rows_ns(struct fxt *x, struct fill *w)
{
	return plain_rows(x, w, FXT_WINDOW, false, true, true);
}

static __attribute__((noinline)) uint64_t plain_rows_ticks(struct fxt *x, struct fill *w)
{
	return plain_rows(x, w, FXT_WINDOW, false, false, true);
}

static __attribute__((noinline)) uint64_t plain_rows_swapped(struct fxt *x, struct fill *w)
{
	return plain_rows(x, w, FXT_WINDOW, true, false, true);
}

static __attribute__((noinline)) uint64_t plain_rows_stored(struct fxt *x, struct fill *w,
							    uint32_t cap)
{
	return plain_rows(x, w, cap, x->swap, false, false);
}

/* Puts the row of an event where plain_rows() would. Returns false if it is a straggler. */
static bool inline_row(struct fxt *x, struct fill *w, const struct plain_event *e, bool ordered)
{
	struct spur_event *const row = w->rows + w->count;

	if (ordered && !reorder_ascends(&x->order, e->ts)) {
		if (reorder_late_window(&x->order, e->ts))
			return false;
		if (w->count && e->ts <= row[-1].ts)
			w->sorted &= e->ts == row[-1].ts && row[-1].kind != SPUR_SPAN;
	}
	plain_row(row, e, x->off);
	fxt_mark_gap(x, row);
	x->last = e->ts;
	w->count++;
	return true;
}

/*
 * The same as plain_rows() for events that have their thread or texts inline, and those between
 * them; how many records that took.
 */
static uint64_t inline_rows(struct fxt *x, struct fill *w, uint32_t cap, bool ordered)
{
	const uint8_t *const data = x->src->data, *const data_end = data + x->src->size;
	const struct plain_tables in = plain_tables(x);
	struct plain_event e;
	uint64_t records = 0;

	for (; (ordered ? x->order.left || !w->count : w->count < cap) &&
	       fxt_inline_event(x, in, data + x->off, data_end, &e);
	     records++) {
		source_ahead(data + x->off, 0);
		inline_row(x, w, &e, ordered);
		x->off += e.bytes;
	}
	return records;
}

/*
 * SPEC fxt/order: rows by time; of equal times records in their order, but of spans that begin
 * together the longer one first, and of equal ones the later, since it is written when it ends
 */
static bool comes_before(const struct spur_event *a, const struct spur_event *b)
{
	const uint64_t x = fxt_row_rank(a), y = fxt_row_rank(b);

	if (a->ts != b->ts)
		return a->ts < b->ts;
	return x != y ? x < y : a->off > b->off;
}

/* --- records one by one --- */

/* Appends the rows of the record to the window. Returns false if out of memory. */
static bool record_rows(struct fxt *x, struct fxt_record *r, struct fill *w)
{
	struct spur_event rows[2];
	uint32_t n = 0;
	bool late = false;

	if (!x->ordered)
		x->last = r->ts;
	else if (r->placed || x->order.highest != INT64_MIN)
		late = reorder_late_window(&x->order, r->ts);
	else
		reorder_pass_window(&x->order);
	if (!fxt_rows_of(x, r, rows, &n))
		return false;
	assert(n <= 2 && w->count + n <= FXT_WINDOW);
	for (uint32_t i = 0; !late && i < n; i++) {
		if (w->count && comes_before(&rows[i], &w->rows[w->count - 1]))
			w->sorted = false;
		w->rows[w->count++] = rows[i];
	}
	x->off += r->shape.size;
	return true;
}

enum filled { FILLED_ROWS, FILLED_END, FILLED_FAIL };

/* The next window; what is in it is in the order of the file. */
static enum filled window_fill(struct fxt *x, struct fill *w, uint64_t *records)
{
	struct fxt_frame f;
	struct fxt_record r;

	w->count = 0;
	w->sorted = true;
	do {
		*records += x->swap		       ? plain_rows_swapped(x, w)
			    : x->provider->clock.plain ? plain_rows_ns(x, w)
						       : plain_rows_ticks(x, w);
		*records += inline_rows(x, w, FXT_WINDOW, true);
		if (w->count && !x->order.left)
			break;
		fxt_frame_at(x->src, x->off, x->swap, &x->resync, &f);
		if (f.state == FXT_FRAME_DAMAGE ||
		    (f.state == FXT_FRAME_RECORD && !fxt_record_at(x, &f, &r))) {
			if (!fxt_pass_damage(x, &f))
				return FILLED_FAIL;
		} else if (f.state == FXT_FRAME_RECORD) {
			if (!record_rows(x, &r, w))
				return FILLED_FAIL;
			++*records;
		}
	} while (f.state != FXT_FRAME_END && (x->order.left || !w->count));
	return w->count ? FILLED_ROWS : FILLED_END;
}

/* --- order within a window --- */

enum { INDEX_BITS = 11, BUCKETS = 1024 };
static_assert(1 << INDEX_BITS == FXT_WINDOW, "the index of a row fits below its time");

static uint32_t index_of(uint64_t order)
{
	return order & (FXT_WINDOW - 1);
}

static void sort_slow(struct fxt_window *w, uint32_t from, uint32_t to)
{
	for (uint32_t i = from + 1; i < to; i++) {
		const uint64_t one = w->order[i];
		const struct spur_event *const row = &w->in.rows[index_of(one)];
		uint32_t k;

		bisect(k, from, i, !comes_before(row, &w->in.rows[index_of(w->order[k])]));
		memmove(&w->order[k + 1], &w->order[k], (i - k) * sizeof(one));
		w->order[k] = one;
	}
}

/* Distributes the rows of a large window by their time, so that few steps a row remain. */
static void window_spread(struct fxt_window *w, uint64_t span)
{
	uint16_t places[BUCKETS] = { 0 };
	const uint32_t n = w->in.count;
	uint32_t at = 0;
	int shift = 0;

	while (span >> shift >= BUCKETS)
		shift++;
	for (uint32_t i = 0; i < n; i++)
		places[w->order[i] >> INDEX_BITS >> shift]++;
	for (uint32_t i = 0; i < BUCKETS; i++) {
		const uint16_t count = places[i];

		places[i] = (uint16_t)at;
		at += count;
	}
	assert(at == n);
	for (uint32_t i = 0; i < n; i++)
		w->spread[places[w->order[i] >> INDEX_BITS >> shift]++] = w->order[i];
}

/*
 * Few steps a row: it ended before what it comes before of, and that is not much in a small window.
 */
static void window_sort(struct fxt_window *w)
{
	int64_t least = INT64_MAX, most = INT64_MIN;
	const uint32_t n = w->in.count;
	const uint64_t *keys = w->order;

	for (uint32_t i = 0; i < n; i++) {
		least = w->in.rows[i].ts < least ? w->in.rows[i].ts : least;
		most = w->in.rows[i].ts > most ? w->in.rows[i].ts : most;
		w->order[i] = i;
	}
	if (((uint64_t)most - (uint64_t)least) >> (63 - INDEX_BITS)) {
		sort_slow(w, 0, n);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		w->order[i] |= ((uint64_t)w->in.rows[i].ts - (uint64_t)least) << INDEX_BITS;
	if (n > REORDER_WINDOW_LEAST) {
		window_spread(w, (uint64_t)most - (uint64_t)least);
		keys = w->spread;
	}
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t one = keys[i];
		uint32_t k = i;

		for (; k && one < w->order[k - 1]; k--)
			w->order[k] = w->order[k - 1];
		w->order[k] = one;
	}
	for (uint32_t i = 1, from = 0; i <= n; i++)
		if (i == n || (w->order[i] ^ w->order[i - 1]) >> INDEX_BITS) {
			if (i - from > 1)
				sort_slow(w, from, i);
			from = i;
		}
}

/* Puts rows of the window, and stragglers before them, into the batch while there is room. */
static void window_put(struct fxt *x, struct fxt_window *w, struct batch *b)
{
	for (; w->at < w->in.count; w->at++) {
		const struct spur_event *const row =
			&w->in.rows[w->in.sorted ? w->at : index_of(w->order[w->at])];

		if (b->count == b->cap ||
		    (row->ts >= x->order.due_ts &&
		     !reorder_until(&x->order, row->ts, fxt_row_rank(row), b)))
			return;
		b->rows[b->count++] = *row;
	}
}

/* A window into the batch, or into w->own, to be put. */
static enum filled next_window(struct fxt *x, struct batch *b, uint64_t *records)
{
	struct fxt_window *const w = x->window;
	const bool straight = b->cap - b->count >= 2 * reorder_window(&x->order);
	enum filled filled;

	assert(w->at == w->in.count);
	w->at = 0;
	w->in.rows = straight ? b->rows + b->count : w->own;
	filled = window_fill(x, &w->in, records);
	if (filled != FILLED_ROWS)
		return filled;
	assert(w->in.count && w->in.count <= FXT_WINDOW);
	if (!w->in.sorted)
		window_sort(w);
	if (straight && w->in.sorted && w->in.rows[w->in.count - 1].ts < x->order.due_ts) {
		b->count += w->in.count;
		w->at = w->in.count;
	} else if (straight) {
		memcpy(w->own, w->in.rows, w->in.count * sizeof(*w->own));
		w->in.rows = w->own;
	}
	return FILLED_ROWS;
}

/* SPEC fxt/lanes: complete events that overlap without containing each other go to tracks beside */
static bool put_on_lanes(struct fxt *x, struct batch *b)
{
	struct spur_event *spans[FXT_BATCH + 1];
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->count; i++) {
		spans[n] = &b->rows[i];
		n += b->rows[i].kind == SPUR_SPAN;
	}
	for (uint32_t i = 0; i < n; i++) {
		spans[i]->track =
			lanes_span(x->lanes, spans[i]->track, spans[i]->ts, spans[i]->dur);
		if (spans[i]->track == SPUR_NONE)
			return false;
	}
	return true;
}

static enum spur_status next_by_time(struct fxt *x, struct batch *b)
{
	const uint32_t cap = b->cap;
	enum filled filled = FILLED_ROWS;

	b->cap = cap < FXT_BATCH ? cap : FXT_BATCH;
	while (b->count < b->cap && filled == FILLED_ROWS) {
		window_put(x, x->window, b);
		/* A whole window that would have to be copied is left to the next batch. */
		if (x->window->at < x->window->in.count || b->count >= FXT_BATCH / 2)
			break;
		filled = next_window(x, b, &x->t->read.records);
	}
	if (filled == FILLED_END)
		reorder_until(&x->order, INT64_MAX, UINT64_MAX - 1, b);
	b->cap = cap;
	if (filled == FILLED_FAIL || (x->lanes && !put_on_lanes(x, b)))
		return SPUR_FAIL;
	return b->count ? SPUR_OK : SPUR_END;
}

/* --- as stored --- */

/*
 * The bytes of the record at x->off are not all there yet, or it is none and the next one is to be
 * looked for.
 */
static bool must_wait(const struct fxt *x)
{
	const uint64_t left = x->src->size - x->off;
	uint64_t words;

	if (x->src->eof)
		return false;
	words = left < FXT_WORD ? 0 : fxt_words(load64(x->src->data + x->off, x->swap));
	return !words || words > left / FXT_WORD;
}

static enum filled stored_record(struct fxt *x)
{
	struct fxt_window *const w = x->window;
	struct fxt_frame frame;
	struct fxt_record r;
	bool good;

	fxt_frame_at(x->src, x->off, x->swap, &x->resync, &frame);
	if (frame.state == FXT_FRAME_END)
		return FILLED_END;
	if (frame.state == FXT_FRAME_DAMAGE || !fxt_record_at(x, &frame, &r)) {
		pthread_mutex_lock(&x->lock);
		good = fxt_pass_damage(x, &frame);
		pthread_mutex_unlock(&x->lock);
		return good ? FILLED_ROWS : FILLED_FAIL;
	}
	w->in = (struct fill){ .rows = w->own };
	w->at = 0;
	pthread_mutex_lock(&x->lock);
	good = record_rows(x, &r, &w->in);
	pthread_mutex_unlock(&x->lock);
	x->t->read.records += good;
	return good ? FILLED_ROWS : FILLED_FAIL;
}

static enum spur_status next_stored(struct fxt *x, struct batch *b)
{
	struct fxt_window *const w = x->window;
	enum filled filled = FILLED_ROWS;

	while (b->count < b->cap && filled == FILLED_ROWS) {
		struct fill straight = { .rows = b->rows, .count = b->count };

		if (w->at < w->in.count) {
			b->rows[b->count++] = w->in.rows[w->at++];
			continue;
		}
		x->t->read.records += plain_rows_stored(x, &straight, b->cap);
		x->t->read.records += inline_rows(x, &straight, b->cap, false);
		b->count = straight.count;
		if (b->count == b->cap || (b->count && must_wait(x)))
			break;
		filled = stored_record(x);
	}
	if (filled == FILLED_FAIL)
		return SPUR_FAIL;
	return b->count ? SPUR_OK : SPUR_END;
}

/* The data ends before the file does: it cannot be read or unpacked further. */
static void report_unreadable(struct fxt *x)
{
	const struct spur_error *e = x->src->error;

	if (e->code && !x->unreadable_told)
		diag_add(x->log, DIAG_DAMAGE, "fxt/unreadable", x->file, x->src->size, 0, "%s",
			 e->message);
	x->unreadable_told = true;
}

enum spur_status fxt_next(struct spur_trace *t, struct feed *f, struct batch *b)
{
	struct fxt *x = t->state;
	const uint64_t from = x->off;
	enum spur_status st;

	b->count = 0;
	x->log = &f->diag;
	st = x->ordered ? next_by_time(x, b) : next_stored(x, b);
	source_passed(x->src, from, x->off);
	if (st == SPUR_END)
		report_unreadable(x);
	return st;
}
