/*
 * Reads one feed through the filter: the smallest piece that the merge and the parallel runs are
 * made of.
 */
#include <assert.h>
#include <string.h>

#include "base/pool.h"
#include "flow/pipe.h"
#include "format/format.h"

struct feed_reader {
	struct spur_trace *trace;
	struct feed *feed;
	struct filter_run *run; /* NULL: no filter */
	struct spur_event *rows;
	struct spur_event *owned; /* `nowned` of them; NULL: `rows` are lent */
	uint32_t cap, nowned;
	bool ended;
	int64_t short_ns; /* of batches */
	struct call_sink *sink; /* of batches */
	struct tally *tally; /* of batches */
};

struct feed_reader *feed_reader_new(struct spur_trace *t, struct feed *f, struct filter *filter,
				    uint32_t rows)
{
	struct feed_reader *r = pool_alloc(sizeof(*r));

	if (!r)
		return NULL;
	r->trace = t;
	r->feed = f;
	r->cap = rows;
	r->rows = r->owned = rows ? pool_alloc(rows * sizeof(*r->rows)) : NULL;
	r->nowned = r->owned ? rows : 0;
	r->run = filter ? filter_run_new(filter,
					 filter_is_global(filter) ? FILTER_LOCAL : FILTER_ALL)
			: NULL;
	r->short_ns = filter ? filter_short_ns(filter) : 0;
	if ((rows && !r->rows) || (filter && !r->run)) {
		feed_reader_free(r);
		return NULL;
	}
	return r;
}

/* Makes room for another row of those read ahead. Returns false if out of memory. */
static bool feed_ahead_room(struct spur_trace *t, struct feed *f)
{
	struct spur_event *rows;

	/* The room is a power of two: it is full when the number of rows is one. */
	if (f->nahead & (f->nahead - 1))
		return true;
	pthread_mutex_lock(&t->lock);
	rows = arena_alloc(&t->arena, (f->nahead ? 2 * (size_t)f->nahead : 1) * sizeof(*rows));
	pthread_mutex_unlock(&t->lock);
	if (!rows)
		return false;
	if (f->nahead)
		memcpy(rows, f->ahead, f->nahead * sizeof(*rows));
	f->ahead = rows;
	return true;
}

enum spur_status feed_read_ahead(struct spur_trace *t, struct feed *f)
{
	struct batch b = { .cap = 1 };
	enum spur_status st = SPUR_OK;

	if (!feed_ahead_room(t, f))
		return SPUR_FAIL;
	b.rows = f->ahead + f->nahead;
	f->pulled = true;
	while (!b.count && st != SPUR_FAIL && st != SPUR_END) {
		if (t->options.stop && *t->options.stop)
			return SPUR_END;
		st = t->format->next(t, f, &b);
		if (trace_short_of_memory(t))
			return SPUR_FAIL;
	}
	if (st == SPUR_FAIL || st == SPUR_END)
		return st;
	f->nahead = (f->nahead + b.count) & INT32_MAX;
	return SPUR_OK;
}

bool feed_begins(struct spur_trace *t, const struct feed *f, int64_t *ts)
{
	if (f->nahead) {
		*ts = f->ahead[0].ts;
		return true;
	}
	return !f->pulled && t->format->begins && t->format->begins(t, f, ts);
}

enum spur_status trace_start(struct spur_trace *t, int64_t *first)
{
	bool any = false;

	for (size_t i = 0; i < t->nfeeds && !t->start_known; i++) {
		struct feed *f = t->feeds[i];
		int64_t begins;

		if (any && feed_begins(t, f, &begins) && begins >= t->start)
			continue;
		if (!f->nahead && feed_read_ahead(t, f) == SPUR_FAIL)
			return SPUR_FAIL;
		if (f->nahead && (!any || f->ahead[0].ts < t->start)) {
			t->start = f->ahead[0].ts;
			any = true;
		}
	}
	t->start_known = true;
	*first = t->start;
	return SPUR_OK;
}

/* Rows read ahead, as many as fit. */
static void feed_take_ahead(struct feed *f, struct batch *b)
{
	b->count = f->nahead < b->cap ? f->nahead : b->cap;
	memcpy(b->rows, f->ahead, b->count * sizeof(*b->rows));
	f->ahead += b->count;
	f->nahead = (f->nahead - b->count) & INT32_MAX;
}

enum spur_status feed_next(struct spur_trace *t, struct feed *f, struct batch *b)
{
	f->pulled = true;
	if (!f->nahead)
		return t->format->next(t, f, b);
	feed_take_ahead(f, b);
	return SPUR_OK;
}

void feeds_rewind(struct spur_trace *t, const struct read_counts *read)
{
	for (size_t i = 0; i < t->nfeeds; i++) {
		struct feed *f = t->feeds[i];

		f->nahead = 0;
		diag_free(&f->diag);
		diag_init(&f->diag);
		diag_suppress(&f->diag, t->options.stop);
		t->format->rewind(t, f);
	}
	t->read = *read;
}

/* Counts a batch's bytes by those of a few rows: exact sums would cost hot loops too much. */
static inline void feed_count(struct spur_trace *t, const struct batch *b)
{
	enum { SAMPLES = 4 };
	const uint32_t step = b->count / SAMPLES + 1;
	uint64_t bytes = 0, n = 0;

	for (uint32_t i = 0; i < b->count; i += step, n++)
		bytes += b->rows[i].len;
	if (n)
		read_count(&t->read.passed, bytes * b->count / n);
	if (b->counted)
		read_count(&t->read.passed, b->counted);
}

static enum spur_status feed_pull(struct feed_reader *r, struct batch *b)
{
	const bool ahead = r->feed->nahead;
	enum spur_status st;

	*b = (struct batch){ .rows = r->rows,
			     .cap = r->cap,
			     .short_ns = r->short_ns,
			     .sink = r->sink,
			     .tally = r->tally };
	st = feed_next(r->trace, r->feed, b);
	feed_count(r->trace, b);
	if (ahead)
		return SPUR_OK;
	if (st == SPUR_FAIL)
		return SPUR_FAIL;
	/* What a stop cut off is no end: rows that were made of it are not shown. */
	if (r->trace->options.stop && *r->trace->options.stop)
		return SPUR_END;
	return st == SPUR_END ? SPUR_END : SPUR_OK;
}

enum spur_status feed_reader_marked(struct feed_reader *r, struct marked_rows *out)
{
	struct batch b;

	*out = (struct marked_rows){ 0 };
	while (!out->n) {
		enum spur_status st;

		if (r->run && filter_rest(r->run, out))
			return SPUR_OK;
		if (r->ended)
			return SPUR_END;
		st = feed_pull(r, &b);
		if (st == SPUR_FAIL || trace_short_of_memory(r->trace))
			return SPUR_FAIL;
		if (st == SPUR_END) {
			r->ended = true;
			b.count = 0;
		} else if (!b.count) {
			continue;
		}
		assert(b.count <= r->cap);
		*out = (struct marked_rows){ .rows = b.rows, .n = b.count };
		if (r->run && filter_rows(r->run, *out, out) == SPUR_FAIL)
			return SPUR_FAIL;
	}
	return SPUR_OK;
}

enum spur_status feed_reader_next(struct feed_reader *r, struct spur_event **rows, size_t *n)
{
	struct marked_rows m;
	const enum spur_status st = feed_reader_marked(r, &m);

	*rows = m.rows;
	*n = m.n;
	return st;
}

void feed_reader_lend(struct feed_reader *r, struct spur_event *rows, uint32_t cap)
{
	r->rows = rows;
	r->cap = cap;
}

void feed_reader_sink(struct feed_reader *r, struct call_sink *sink)
{
	r->sink = r->run ? NULL : sink;
	assert(!sink || r->trace->format->sums_calls);
}

void feed_reader_tally(struct feed_reader *r, struct tally *tally)
{
	r->tally = r->run ? NULL : tally;
	assert(!tally || r->trace->format->counts_rows);
}

void feed_reader_free(struct feed_reader *r)
{
	if (!r)
		return;
	filter_run_free(r->run);
	pool_free(r->owned, r->nowned * sizeof(*r->owned));
	pool_free(r, sizeof(*r));
}
