/* See live.h. */
#include "view/live.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/os.h"
#include "flow/args.h"
#include "flow/pair.h"
#include "view/window.h"

enum { FLUSH_MS = 100, TRACKS_MOST = 1 << 28 };

/* What is kept of a track. */
struct live_track {
	int64_t last; /* time of its last row in the store: no later one may be before it */
	int64_t end; /* the latest end of its complete spans there */
	bool waits; /* it is in `waiting` */
};

/*
 * The thread that reads waits in the reader while nothing comes, so another one makes the last rows
 * visible: a block of a store is else written when it is full. It also ends the wait of rows that
 * are held back.
 */
struct live {
	struct spur_trace *trace;
	struct spur_args args; /* of the current row */
	struct view *view;
	uint64_t told; /* entries of diagnostics that the view was told of */
	struct store_worker *worker;
	pthread_mutex_t lock; /* all below, and the worker */
	bool added; /* rows that are not visible yet */
	bool failed, ended;
	bool log_failed; /* why it failed, the log tells */
	/* Rows may come out of order, so they are held back: set by the first sign of it. */
	bool holds;
	struct window window;
	struct live_track *tracks; /* by id */
	size_t ntracks;
	uint32_t *waiting; /* tracks with complete spans that no later row may have ended yet */
	size_t nwaiting, waiting_cap;
};

static int64_t now_ms(void)
{
	struct timespec now;

	os_clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Returns what is kept of a track; NULL if out of memory. */
static struct live_track *track_of(struct live *l, uint32_t track)
{
	const size_t had = l->ntracks;

	if (track >= had) {
		if (!mem_grow((void **)&l->tracks, &l->ntracks, (size_t)track + 1,
			      sizeof(*l->tracks), TRACKS_MOST))
			return NULL;
		for (size_t k = had; k < l->ntracks; k++)
			l->tracks[k] = (struct live_track){ .last = INT64_MIN, .end = INT64_MIN };
	}
	return &l->tracks[track];
}

/* The store gets a row, which is earlier than the page's zero if it is the earliest so far. */
static void zero_lower(struct view *v, int64_t ts)
{
	if (ts < v->zero)
		__atomic_store_n(&v->zero, ts, __ATOMIC_RELAXED);
}

/* The track gets a complete span. Returns false if out of memory. */
static bool track_wait(struct live *l, struct live_track *t, const struct spur_event *row)
{
	const int64_t end = pair_span_end(row);

	t->end = end > t->end ? end : t->end;
	if (t->waits)
		return true;
	if (!mem_grow((void **)&l->waiting, &l->waiting_cap, l->nwaiting + 1, sizeof(*l->waiting),
		      TRACKS_MOST))
		return false;
	l->waiting[l->nwaiting++] = row->track;
	t->waits = true;
	return true;
}

/*
 * Ends the complete spans that are over: rows within them would have come before them, and none is
 * held back any more. Returns false if out of memory or disk.
 */
static bool spans_end(struct live *l)
{
	const int64_t now = window_first(&l->window);
	size_t kept = 0;

	for (size_t i = 0; i < l->nwaiting; i++) {
		const uint32_t id = l->waiting[i];
		struct live_track *const t = &l->tracks[id];

		if (t->end > now) {
			l->waiting[kept++] = id;
			continue;
		}
		if (!store_worker_pass(l->worker, id, t->end))
			return false;
		t->last = t->end;
		t->waits = false;
		l->added = true;
	}
	l->nwaiting = kept;
	return true;
}

/* Adds a row that was held back, unless later ones of its track are in the store. */
static bool row_release(struct live *l, const struct window_row *r)
{
	const struct spur_args args = { .items = r->values, .count = r->nvalues };
	struct live_track *const t = track_of(l, r->row.track);

	if (!t)
		return false;
	if (r->row.ts < t->last) {
		__atomic_add_fetch(&l->view->late, 1, __ATOMIC_RELAXED);
		return true;
	}
	t->last = r->row.ts;
	l->added = true;
	zero_lower(l->view, r->row.ts);
	return (r->row.kind != SPUR_SPAN || track_wait(l, t, &r->row)) &&
	       store_worker_row(l->worker, &r->row, &args);
}

/* Adds the rows that were held back long enough. Returns false if out of memory or disk. */
static bool window_release(struct live *l, int64_t now)
{
	struct window_row r;
	bool good = true;

	while (good && window_take(&l->window, now, &r)) {
		good = row_release(l, &r);
		mem_free(r.values);
	}
	return good;
}

/* Keeps the arguments of a row for those who ask later; l->args has them afterwards. */
static bool row_args(struct live *l, const struct spur_event *row)
{
	if (args_decode(l->trace, row, &l->args) == SPUR_FAIL)
		return false;
	l->log_failed = !args_log_add(l->view->args, row, &l->args);
	return !l->log_failed;
}

/*
 * Returns how many rows are in order, and have no span that may come after those within it. Keeps
 * the arguments of these rows.
 */
static size_t rows_in_order(struct live *l, const struct spur_event *rows, size_t n)
{
	size_t i;

	for (i = 0; i < n && !l->holds && !l->failed; i++) {
		struct live_track *const t = track_of(l, rows[i].track);

		if (!t) {
			l->failed = true;
		} else if (rows[i].kind == SPUR_SPAN || rows[i].ts < t->last) {
			l->holds = true;
			break;
		} else {
			t->last = rows[i].ts;
			zero_lower(l->view, rows[i].ts);
			l->failed = rows[i].nargs && !row_args(l, &rows[i]);
		}
	}
	return i;
}

static bool rows_hold(struct live *l, const struct spur_event *rows, size_t n, int64_t now)
{
	bool good = true;

	for (size_t i = 0; i < n && good; i++)
		good = (!rows[i].nargs || row_args(l, &rows[i])) &&
		       window_add(&l->window, &rows[i], rows[i].nargs ? &l->args : NULL, now) &&
		       (l->window.n <= WINDOW_ROWS || window_release(l, now));
	return good;
}

/* Says what was read of damage since the last time; only this thread may ask for it. */
static void live_tell(struct live *l)
{
	uint64_t told = 0;

	for (int level = 0; level < DIAG_LEVELS; level++) {
		told += diag_count(&l->trace->diag, (enum diag_level)level);
		for (size_t i = 0; i < l->trace->nfeeds; i++)
			told += diag_count(&l->trace->feeds[i]->diag, (enum diag_level)level);
	}
	if (told != l->told)
		l->failed |= !view_tell(l->view);
	l->told = told;
}

static bool live_rows(void *self, struct spur_event *rows, size_t n)
{
	struct live *const l = self;
	size_t plain = 0;

	pthread_mutex_lock(&l->lock);
	if (!l->holds && !l->failed)
		plain = rows_in_order(l, rows, n);
	if (plain && !l->failed) {
		l->failed = !store_worker_order(l->worker, rows, plain) ||
			    !store_worker_rows(l->worker, rows, plain);
		l->added = true;
	}
	if (l->holds && !l->failed)
		l->failed = !rows_hold(l, rows + plain, n - plain, now_ms());
	pthread_mutex_unlock(&l->lock);
	live_tell(l);
	return !l->failed;
}

static void *live_flush(void *self)
{
	const struct timespec wait = { .tv_nsec = FLUSH_MS * 1000000L };
	struct live *const l = self;
	bool ended = false;

	while (!ended) {
		os_nanosleep(&wait, NULL);
		pthread_mutex_lock(&l->lock);
		ended = l->ended;
		if (!ended && !l->failed)
			l->failed = !window_release(l, now_ms()) || !spans_end(l);
		if (l->added && !ended && !l->failed)
			l->failed = !store_worker_flush(l->worker);
		l->added = false;
		pthread_mutex_unlock(&l->lock);
	}
	return NULL;
}

/* Ends the store, and says how many rows it lacks. */
static void live_end(struct live *l)
{
	uint64_t late;

	pthread_mutex_lock(&l->lock);
	if (!l->failed)
		l->failed = !window_release(l, INT64_MAX) || !store_worker_end(l->worker);
	l->ended = true;
	late = __atomic_load_n(&l->view->late, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&l->lock);
	if (late)
		diag_add(&l->trace->diag, DIAG_WARN, "view/late", l->trace->path, DIAG_NO_OFF, 0,
			 VIEW_LATE_TEXT, (unsigned long long)late);
}

enum spur_status live_build(struct spur_trace *t, const struct pipe_options *pipe,
			    struct store_writer *writer, struct view *view, struct spur_error *err)
{
	struct live l = { .trace = t, .view = view, .worker = store_writer_worker(writer, 0) };
	pthread_t flusher;
	int error;

	pthread_mutex_init(&l.lock, NULL);
	error = pthread_create(&flusher, NULL, live_flush, &l);
	if (error) {
		pthread_mutex_destroy(&l.lock);
		return err_set(err, SPUR_ERR_IO, "cannot start a thread: %s", strerror(error));
	}
	l.failed = !store_worker_begin(l.worker, NULL);
	store_worker_late(l.worker);
	if (!l.failed && pipe_run_merged(t, pipe, live_rows, &l) == SPUR_FAIL)
		l.failed = true;
	live_end(&l);
	pthread_join(flusher, NULL);
	pthread_mutex_destroy(&l.lock);
	window_free(&l.window);
	spur_args_free(&l.args);
	mem_free(l.tracks);
	mem_free(l.waiting);
	if (l.log_failed)
		return args_log_failed(view->args, err);
	return l.failed ? store_writer_failed(writer, err) : SPUR_OK;
}
