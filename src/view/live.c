/* See live.h. */
#include "view/live.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/os.h"

enum { FLUSH_MS = 100, TRACKS_MOST = 1 << 28 };

/*
 * The thread that reads waits in the reader while nothing comes, so another one makes the last rows
 * visible: a block of a store is else written when it is full.
 */
struct live {
	struct store_worker *worker;
	pthread_mutex_t lock; /* all below, and the worker */
	bool added; /* rows that are not visible yet */
	bool failed, back, ended;
	int64_t *last; /* by track: time of its last row */
	size_t nlast;
};

/* Returns true if no row is before one of its track that has come. */
static bool live_order(struct live *l, const struct spur_event *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const uint32_t track = rows[i].track;
		const size_t had = l->nlast;

		if (track >= had) {
			if (!mem_grow((void **)&l->last, &l->nlast, (size_t)track + 1,
				      sizeof(*l->last), TRACKS_MOST))
				return false;
			for (size_t k = had; k < l->nlast; k++)
				l->last[k] = INT64_MIN;
		}
		l->back |= rows[i].ts < l->last[track];
		l->last[track] = rows[i].ts;
	}
	return !l->back;
}

static bool live_rows(void *self, struct spur_event *rows, size_t n)
{
	struct live *const l = self;

	pthread_mutex_lock(&l->lock);
	l->failed |= !live_order(l, rows, n) || !store_worker_order(l->worker, rows, n) ||
		     !store_worker_rows(l->worker, rows, n);
	l->added = true;
	pthread_mutex_unlock(&l->lock);
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
		if (l->added && !l->failed && !l->ended)
			l->failed = !store_worker_flush(l->worker);
		l->added = false;
		ended = l->ended;
		pthread_mutex_unlock(&l->lock);
	}
	return NULL;
}

enum spur_status live_build(struct spur_trace *t, const struct pipe_options *pipe,
			    struct store_writer *writer, struct spur_error *err)
{
	struct live l = { .worker = store_writer_worker(writer, 0) };
	pthread_t flusher;
	int error;

	pthread_mutex_init(&l.lock, NULL);
	error = pthread_create(&flusher, NULL, live_flush, &l);
	if (error) {
		pthread_mutex_destroy(&l.lock);
		return err_set(err, SPUR_ERR_IO, "cannot start a thread: %s", strerror(error));
	}
	l.failed = !store_worker_begin(l.worker, NULL);
	if (!l.failed && pipe_run_merged(t, pipe, live_rows, &l) == SPUR_FAIL)
		l.failed = true;
	pthread_mutex_lock(&l.lock);
	if (!l.failed)
		l.failed = !store_worker_end(l.worker);
	l.ended = true;
	pthread_mutex_unlock(&l.lock);
	pthread_join(flusher, NULL);
	pthread_mutex_destroy(&l.lock);
	mem_free(l.last);
	if (l.back)
		return err_set(err, SPUR_ERR_USAGE,
			       "%s: events of a thread come out of order, as where they are "
			       "stored when they end: view it once it is complete",
			       t->path);
	return l.failed ? store_writer_failed(writer, err) : SPUR_OK;
}
