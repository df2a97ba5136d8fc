/*
 * Parallel rendering by feed. Each feed is a lane with two blocks of lines: one that the merge (the caller's thread)
 * takes from, and one that is being filled for it. Workers fill lanes in the order in which their blocks were used up;
 * the merge fills a block itself when nobody has begun it.
 *
 * Invariant, under the lock: a lane's `spare` block and reader belong to whoever set it to BUSY; a lane is in the queue at
 * most once; a lane that is WANTED is in the queue.
 */
#include "flow/lines.h"

#include <pthread.h>

#include "base/source.h"
#include "base/work.h"

enum {
	LINES_THREADS = 64,
	LINES_ROOM = 65536, /* rows of all lanes' readers together, about */
	LINES_ROWS_LEAST = 32,
	LINES_BLOCK = 4, /* batches of rows that make a block of lines */
	LINES_LIMIT = 1 << 28, /* of one block */
};

enum spare_state { SPARE_WANTED, SPARE_BUSY, SPARE_READY };

struct lane {
	struct feed_reader *reader;
	void *state;
	struct lines now, spare;
	size_t pos; /* in `now` */
	size_t from; /* offset of that line's text */
	enum spare_state spare_state;
	bool queued;
	bool ended; /* the spare block is the last one */
	bool last; /* `now` is */
	uint32_t batches; /* a block */
};

struct lanes {
	const struct pipe_options *opt;
	const struct pipe_lines *pass;
	struct lane *lanes;
	uint32_t count;
	uint32_t *tree; /* [0]: the winner; [1 .. count): losers; numbers of lanes */
	uint32_t *queue; /* of lanes that want filling; ring of `count` */
	size_t head, queued;
	bool stopping, failed;
	pthread_mutex_t lock;
	pthread_cond_t work; /* workers: a lane wants filling, or the end */
	pthread_cond_t filled; /* the merge: a block is ready */
	pthread_t threads[LINES_THREADS];
	unsigned nthreads;
	uint32_t track; /* of the line before */
};

bool lines_grow(struct lines *l)
{
	return mem_grow((void **)&l->index, &l->cap, l->n + 1, sizeof(*l->index), LINES_LIMIT);
}

static void lines_free(struct lines *l)
{
	out_free(&l->text);
	mem_free(l->index);
	l->index = NULL;
}

/* Reads and renders a block's worth of rows into the spare block. False: memory is out. */
static bool lane_fill(struct lanes *s, struct lane *l)
{
	struct lines *to = &l->spare;

	out_clear(&to->text);
	to->n = 0;
	for (uint32_t i = 0; i < l->batches || !to->n; i++) {
		struct spur_event *rows = NULL;
		size_t n = 0;
		enum spur_status st = feed_reader_next(l->reader, &rows, &n);

		if (st == SPUR_FAIL || !s->pass->rows(l->state, rows, n, to) || to->text.error)
			return false;
		if (st == SPUR_END) {
			l->ended = true;
			break;
		}
	}
	return to->text.len <= UINT32_MAX;
}

/* Fills the lane, which is BUSY by the caller. The lock is held at both ends. */
static void lane_work(struct lanes *s, struct lane *l)
{
	bool good;

	l->spare_state = SPARE_BUSY;
	pthread_mutex_unlock(&s->lock);
	good = lane_fill(s, l);
	pthread_mutex_lock(&s->lock);
	s->failed |= !good;
	l->spare_state = SPARE_READY;
	pthread_cond_signal(&s->filled);
}

static void lane_want(struct lanes *s, struct lane *l)
{
	l->spare_state = SPARE_WANTED;
	if (l->queued)
		return;
	l->queued = true;
	s->queue[(s->head + s->queued++) % s->count] = (uint32_t)(l - s->lanes);
	pthread_cond_signal(&s->work);
}

static void *lanes_worker(void *arg)
{
	struct lanes *s = arg;

	pthread_mutex_lock(&s->lock);
	while (!s->stopping) {
		struct lane *l;

		if (!s->queued) {
			pthread_cond_wait(&s->work, &s->lock);
			continue;
		}
		l = &s->lanes[s->queue[s->head]];
		s->head = (s->head + 1) % s->count;
		s->queued--;
		l->queued = false;
		if (l->spare_state == SPARE_WANTED)
			lane_work(s, l);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* The lane's lines are used up: takes the next block, if there is one. False: memory is out. */
static bool lane_turn(struct lanes *s, struct lane *l)
{
	struct lines used = l->now;

	if (l->last)
		return true;
	pthread_mutex_lock(&s->lock);
	if (l->spare_state == SPARE_WANTED)
		lane_work(s, l);
	while (l->spare_state == SPARE_BUSY)
		pthread_cond_wait(&s->filled, &s->lock);
	l->now = l->spare;
	l->spare = used;
	l->pos = 0;
	l->from = 0;
	l->last = l->ended;
	if (!l->last)
		lane_want(s, l);
	pthread_mutex_unlock(&s->lock);
	return !s->failed;
}

static bool lane_is_over(const struct lane *l)
{
	return l->pos == l->now.n;
}

/* Which lane's head comes first; those that are over come last. */
static bool lane_less(const struct lanes *s, uint32_t a, uint32_t b)
{
	const struct lane *x = &s->lanes[a], *y = &s->lanes[b];

	if (lane_is_over(x) || lane_is_over(y))
		return lane_is_over(x) == lane_is_over(y) ? a < b : lane_is_over(y);
	if (x->now.index[x->pos].ts != y->now.index[y->pos].ts)
		return x->now.index[x->pos].ts < y->now.index[y->pos].ts;
	return a < b;
}

static uint32_t lanes_build(struct lanes *s, uint32_t node)
{
	uint32_t a, b;

	if (node >= s->count)
		return node - s->count;
	a = lanes_build(s, 2 * node);
	b = lanes_build(s, 2 * node + 1);
	s->tree[node] = lane_less(s, a, b) ? b : a;
	return s->tree[node] == b ? a : b;
}

/* Lane i changed: plays its matches again; the winner is tree[0]. */
static void lanes_replay(struct lanes *s, uint32_t i)
{
	for (uint32_t node = (i + s->count) / 2; node; node /= 2)
		if (lane_less(s, s->tree[node], i)) {
			uint32_t loser = i;

			i = s->tree[node];
			s->tree[node] = loser;
		}
	s->tree[0] = i;
}

/* The best of the losers on the winner's path: the runner-up of all; the winner itself where it is alone. */
static uint32_t lanes_second(const struct lanes *s, uint32_t winner)
{
	uint32_t best = winner;

	for (uint32_t node = (winner + s->count) / 2; node; node /= 2)
		if (best == winner || lane_less(s, s->tree[node], best))
			best = s->tree[node];
	return best;
}

static void lane_write(struct lanes *s, const struct lines *l, size_t from, size_t first, size_t end, struct out *o)
{
	if (!s->pass->gaps) {
		out_bytes(o, l->text.buf + from, l->index[end - 1].end - from);
		return;
	}
	for (size_t i = first; i < end; i++) {
		if (s->track != SPUR_NONE && s->track != l->index[i].track)
			out_char(o, '\n');
		s->track = l->index[i].track;
		out_bytes(o, l->text.buf + from, l->index[i].end - from);
		from = l->index[i].end;
	}
}

/* Writes the winner's lines that come before the runner-up's next. */
static void lanes_step(struct lanes *s, uint32_t winner, struct out *o)
{
	struct lane *l = &s->lanes[winner];
	uint32_t second = lanes_second(s, winner);
	const struct lane *other = &s->lanes[second];
	size_t end = l->now.n;

	if (second != winner && !lane_is_over(other)) {
		int64_t ts = other->now.index[other->pos].ts;

		end = l->pos + 1;
		while (end < l->now.n && (l->now.index[end].ts < ts || (l->now.index[end].ts == ts && winner < second)))
			end++;
	}
	lane_write(s, &l->now, l->from, l->pos, end, o);
	l->from = l->now.index[end - 1].end;
	l->pos = end;
}

static bool lanes_stopped(const struct lanes *s, const struct out *o)
{
	return o->error || (s->opt->stop && *s->opt->stop);
}

/* Text waits for no input. */
static bool lanes_turn(struct lanes *s, const struct spur_trace *t, uint32_t i, struct out *o)
{
	if (t->source && !t->source->mapped && !t->source->eof)
		out_flush(o);
	return lane_turn(s, &s->lanes[i]);
}

/* False: memory is out. */
static bool lanes_merge(struct lanes *s, const struct spur_trace *t, struct out *o)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (lanes_stopped(s, o) || !lanes_turn(s, t, i, o))
			return lanes_stopped(s, o);
	s->tree[0] = lanes_build(s, 1);
	while (!lane_is_over(&s->lanes[s->tree[0]]) && !lanes_stopped(s, o)) {
		uint32_t winner = s->tree[0];

		lanes_step(s, winner, o);
		if (lane_is_over(&s->lanes[winner]) && !lanes_turn(s, t, winner, o))
			return false;
		lanes_replay(s, winner);
	}
	return true;
}

static bool lane_open(struct lanes *s, struct spur_trace *t, struct feed *f, void *self, uint32_t rows)
{
	struct lane *l = &s->lanes[s->count];

	out_to_memory(&l->now.text);
	out_to_memory(&l->spare.text);
	s->count++;
	l->reader = feed_reader_new(t, f, s->opt->filter, rows);
	l->state = s->pass->open(self, f);
	l->batches = rows < BATCH_ROWS ? 1 : LINES_BLOCK;
	return l->reader && l->state;
}

static bool lanes_open(struct lanes *s, struct spur_trace *t, void *self)
{
	size_t rows = t->nfeeds ? LINES_ROOM / t->nfeeds : BATCH_ROWS;

	rows = rows > BATCH_ROWS ? BATCH_ROWS : rows < LINES_ROWS_LEAST ? LINES_ROWS_LEAST : rows;
	s->lanes = mem_array(t->nfeeds, sizeof(*s->lanes));
	s->tree = mem_array(t->nfeeds + 1, sizeof(*s->tree));
	s->queue = mem_array(t->nfeeds, sizeof(*s->queue));
	if (!s->lanes || !s->tree || !s->queue)
		return false;
	for (size_t i = 0; i < t->nfeeds; i++)
		if (!s->opt->filter || !filter_skips_feed(s->opt->filter, t->feeds[i]))
			if (!lane_open(s, t, t->feeds[i], self, (uint32_t)rows))
				return false;
	return true;
}

static void lanes_start(struct lanes *s, unsigned threads)
{
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->work, NULL);
	pthread_cond_init(&s->filled, NULL);
	for (uint32_t i = 0; i < s->count; i++)
		lane_want(s, &s->lanes[i]);
	threads = threads > s->count ? s->count : threads;
	threads = threads > LINES_THREADS ? LINES_THREADS : threads;
	while (s->nthreads + 1 < threads && !pthread_create(&s->threads[s->nthreads], NULL, lanes_worker, s))
		s->nthreads++;
}

static void lanes_finish(struct lanes *s)
{
	pthread_mutex_lock(&s->lock);
	s->stopping = true;
	pthread_cond_broadcast(&s->work);
	pthread_mutex_unlock(&s->lock);
	for (unsigned i = 0; i < s->nthreads; i++)
		pthread_join(s->threads[i], NULL);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->work);
	pthread_cond_destroy(&s->filled);
}

static void lanes_free(struct lanes *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		struct lane *l = &s->lanes[i];

		feed_reader_free(l->reader);
		if (l->state)
			s->pass->close(l->state);
		lines_free(&l->now);
		lines_free(&l->spare);
	}
	mem_free(s->lanes);
	mem_free(s->tree);
	mem_free(s->queue);
}

/* All feeds as one lane, in time order, for what cannot be done feed by feed. */
struct lines_single {
	struct lanes lanes;
	void *state;
	struct lines lines;
	struct out *out;
	bool failed;
};

static bool single_rows(void *self, struct spur_event *rows, size_t n)
{
	struct lines_single *s = self;

	s->failed = !s->lanes.pass->rows(s->state, rows, n, &s->lines) || s->lines.text.error;
	if (!s->failed && s->lines.n)
		lane_write(&s->lanes, &s->lines, 0, 0, s->lines.n, s->out);
	out_clear(&s->lines.text);
	s->lines.n = 0;
	return !s->failed && !s->out->error;
}

static enum spur_status lines_run_single(struct spur_trace *t, const struct pipe_options *opt, const struct pipe_lines *p,
					 void *self, struct out *o)
{
	struct lines_single s = { .lanes = { .opt = opt, .pass = p, .track = SPUR_NONE }, .out = o };
	enum spur_status st;

	out_to_memory(&s.lines.text);
	s.state = p->open(self, NULL);
	st = s.state ? pipe_run_merged(t, opt, single_rows, &s) : SPUR_FAIL;
	if (st == SPUR_OK && !s.failed && !o->error)
		single_rows(&s, NULL, 0);
	if (s.state)
		p->close(s.state);
	lines_free(&s.lines);
	return st == SPUR_FAIL || s.failed ? SPUR_FAIL : SPUR_OK;
}

enum spur_status pipe_run_lines(struct spur_trace *t, const struct pipe_options *opt, const struct pipe_lines *p, void *self,
				struct out *o)
{
	struct lanes s = { .opt = opt, .pass = p, .track = SPUR_NONE };
	bool good;

	if (opt->limit || (opt->filter && filter_is_global(opt->filter)))
		return lines_run_single(t, opt, p, self, o);
	good = lanes_open(&s, t, self);
	if (good && s.count) {
		lanes_start(&s, opt->threads ? opt->threads : work_cpus());
		good = lanes_merge(&s, t, o);
		lanes_finish(&s);
	}
	lanes_free(&s);
	return good ? SPUR_OK : SPUR_FAIL;
}
