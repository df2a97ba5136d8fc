/*
 * Merged rows to text on all cores. The caller's thread reads, merges and stages rows into chunks;
 * any thread renders the next chunk; whoever finds the oldest chunk rendered writes it. The caller
 * helps while the ring is full, so that two cores are busy whatever the shares of reading and
 * rendering are. A pass whose text is light is rendered by the caller's thread alone.
 *
 * Invariant of the ring, under the lock: written <= taken <= staged <= written + size. Chunks in
 * [written, taken) are being rendered or done, those in [taken, staged) wait, the others are the
 * stage's. One thread at most writes.
 */
#include <assert.h>
#include <pthread.h>

#include "base/source.h"
#include "base/work.h"
#include "flow/pipe.h"
#include "model/args.h"

enum {
	RENDER_THREADS = 64,
	RENDER_ROOM = 65536, /* rows of all chunks together, about */
	RENDER_CHUNK = 4096, /* rows of a chunk, at most and at least */
	RENDER_CHUNK_LEAST = 512,
	RENDER_ADD = 1 << 24, /* rows that one batch may become */
};

struct render_chunk {
	struct render_rows rows;
	struct out text;
	bool done;
};

struct render_ring {
	const struct pipe_render *pass;
	void *self;
	struct out *out;
	struct render_chunk *chunks;
	size_t chunk_rows;
	uint64_t size, staged, taken, written;
	bool writing, ending;
	bool live; /* more input may come late: text is written at once */
	bool failed; /* the output is closed or memory is exhausted: the rest is not rendered */
	bool no_memory;
	pthread_mutex_t lock;
	pthread_cond_t work; /* workers: a chunk to render or to write, or the end */
	pthread_cond_t room; /* the caller: a chunk was written */
	pthread_t threads[RENDER_THREADS];
	unsigned nthreads;
	uint64_t *charged; /* the caller's counter of failed allocations */
};

struct shown_row *render_add_slow(struct render_rows *out)
{
	if (out->count == out->cap &&
	    !mem_table_grow((void **)&out->rows, &out->cap, out->count + 1, sizeof(*out->rows),
			    RENDER_ADD)) {
		out->failed = true;
		return NULL;
	}
	return &out->rows[out->count++];
}

/* Renders the next waiting chunk; false where none waits. The lock is held at both ends. */
static bool ring_render(struct render_ring *r, struct spur_args *scratch)
{
	struct render_chunk *c;
	bool skip = r->failed;

	if (r->taken == r->staged)
		return false;
	c = &r->chunks[r->taken++ % r->size];
	pthread_mutex_unlock(&r->lock);
	if (!skip)
		r->pass->render(r->self, c->rows.rows, c->rows.count, &c->text, scratch);
	pthread_mutex_lock(&r->lock);
	c->done = true;
	pthread_cond_signal(&r->work);
	return true;
}

/*
 * Writes the oldest chunk if it is rendered and no other thread writes. Returns false otherwise.
 * Called with the lock held, and returns with it held.
 */
static bool ring_write(struct render_ring *r)
{
	struct render_chunk *c = &r->chunks[r->written % r->size];
	bool live = r->live;

	assert(r->written <= r->taken && r->taken <= r->staged &&
	       r->staged <= r->written + r->size);
	if (r->writing || r->written == r->taken || !c->done)
		return false;
	if (!r->failed) {
		r->writing = true;
		pthread_mutex_unlock(&r->lock);
		out_bytes(r->out, c->text.buf, c->text.len);
		if (live)
			out_flush(r->out);
		pthread_mutex_lock(&r->lock);
		r->writing = false;
	}
	r->no_memory |= c->text.error != 0;
	r->failed |= r->no_memory || r->out->error;
	out_clear(&c->text);
	c->rows.count = 0;
	c->done = false;
	r->written++;
	pthread_cond_signal(&r->room);
	return true;
}

static void *ring_worker(void *arg)
{
	struct render_ring *r = arg;
	struct spur_args scratch = { 0 };

	mem_charge(r->charged);
	pthread_mutex_lock(&r->lock);
	for (;;) {
		if (ring_write(r) || ring_render(r, &scratch))
			continue;
		if (r->ending && r->taken == r->staged)
			break;
		pthread_cond_wait(&r->work, &r->lock);
	}
	pthread_mutex_unlock(&r->lock);
	spur_args_free(&scratch);
	return NULL;
}

/*
 * Hands the staged chunk over and waits, helping, until the next one is free. False: the output is
 * gone.
 */
static bool ring_push(struct render_ring *r, bool live, struct spur_args *scratch)
{
	bool good;

	pthread_mutex_lock(&r->lock);
	r->live = live;
	r->staged++;
	pthread_cond_signal(&r->work);
	while (r->staged - r->written == r->size)
		if (!ring_write(r) && !ring_render(r, scratch))
			pthread_cond_wait(&r->room, &r->lock);
	good = !r->failed;
	pthread_mutex_unlock(&r->lock);
	return good;
}

static void ring_finish(struct render_ring *r, struct spur_args *scratch)
{
	pthread_mutex_lock(&r->lock);
	r->ending = true;
	pthread_cond_broadcast(&r->work);
	while (r->written < r->staged)
		if (!ring_write(r) && !ring_render(r, scratch))
			pthread_cond_wait(&r->room, &r->lock);
	pthread_cond_broadcast(&r->work);
	pthread_mutex_unlock(&r->lock);
	for (unsigned i = 0; i < r->nthreads; i++)
		pthread_join(r->threads[i], NULL);
}

/* False: no memory or no threads; then one thread does all. */
static bool ring_start(struct render_ring *r, unsigned threads)
{
	r->size = 2 * (uint64_t)threads + 2;
	r->chunk_rows = RENDER_ROOM / r->size;
	r->chunk_rows = r->chunk_rows > RENDER_CHUNK ? RENDER_CHUNK : r->chunk_rows;
	r->chunk_rows = r->chunk_rows < RENDER_CHUNK_LEAST ? RENDER_CHUNK_LEAST : r->chunk_rows;
	r->chunks = mem_array(r->size, sizeof(*r->chunks));
	if (!r->chunks)
		return false;
	for (uint64_t i = 0; i < r->size; i++)
		out_to_memory(&r->chunks[i].text);
	r->charged = mem_charged;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->work, NULL);
	pthread_cond_init(&r->room, NULL);
	while (r->nthreads + 1 < threads &&
	       !pthread_create(&r->threads[r->nthreads], NULL, ring_worker, r))
		r->nthreads++;
	return r->nthreads > 0;
}

static void ring_free(struct render_ring *r)
{
	if (!r->chunks)
		return;
	for (uint64_t i = 0; i < r->size; i++) {
		out_free(&r->chunks[i].text);
		mem_table_free(r->chunks[i].rows.rows, r->chunks[i].rows.cap,
			       sizeof(struct shown_row));
	}
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->work);
	pthread_cond_destroy(&r->room);
	mem_free(r->chunks);
}

/* Where staged rows go: to the ring, or on one thread straight to text. */
struct render_loop {
	struct spur_trace *trace;
	const struct pipe_render *pass;
	void *self;
	struct out *out;
	struct render_ring *ring; /* NULL: one thread */
	struct render_rows rows; /* of one thread */
	struct spur_args scratch;
	bool no_memory, stopped;
};

/* Stages a batch (none: the end) and passes on what is enough. False: stop. */
static bool loop_batch(struct render_loop *l, struct marked_rows rows)
{
	const size_t n = rows.n;
	struct render_ring *r = l->ring;
	struct render_rows *to = r ? &r->chunks[r->staged % r->size].rows : &l->rows;
	bool go = l->pass->stage(l->self, rows, to);
	bool live = pipe_is_live(l->trace);

	l->no_memory |= to->failed;
	if (!to->count)
		return go && n;
	if (!r) {
		l->pass->render(l->self, to->rows, to->count, l->out, &l->scratch);
		to->count = 0;
		if (live)
			out_flush(l->out);
		go = go && !l->out->error;
	} else if (to->count >= r->chunk_rows || live || !go || !n) {
		go = ring_push(r, live, &l->scratch) && go;
	}
	return go && n;
}

static bool loop_rows(void *self, struct marked_rows rows)
{
	struct render_loop *l = self;

	l->stopped = !loop_batch(l, rows);
	return !l->stopped;
}

enum spur_status pipe_run_render(struct spur_trace *t, const struct pipe_options *opt,
				 const struct pipe_render *pass, void *self, struct out *o)
{
	unsigned threads = opt->threads ? opt->threads : work_cpus();
	struct render_ring ring = { .pass = pass, .self = self, .out = o };
	struct render_loop l = { .trace = t, .pass = pass, .self = self, .out = o };
	enum spur_status st;

	threads = threads > RENDER_THREADS ? RENDER_THREADS : threads;
	if (threads > 1 && !pass->light && ring_start(&ring, threads))
		l.ring = &ring;
	st = pipe_run_marked(t, opt, loop_rows, &l);
	if (st == SPUR_OK && !l.stopped)
		loop_batch(&l, (struct marked_rows){ 0 });
	if (l.ring)
		ring_finish(&ring, &l.scratch);
	l.no_memory |= ring.no_memory;
	ring_free(&ring);
	spur_args_free(&l.scratch);
	mem_table_free(l.rows.rows, l.rows.cap, sizeof(*l.rows.rows));
	return st == SPUR_FAIL || l.no_memory ? SPUR_FAIL : SPUR_OK;
}
