/*
 * Parallel rendering by feed. Each feed is a lane with blocks of lines: one that the merge (the
 * caller's thread) takes from, and some that are ready. Workers fill lanes in turn, some way ahead,
 * so that they have work while the merge stays with one lane; the merge fills a block itself where
 * none is ready and nobody is at it. On one thread each block is filled when it is needed, and
 * merged while it is in the cache.
 *
 * Invariant, under the lock: a lane's reader and state belong to whoever set `busy`; a lane is in
 * the queue at most once.
 */
#include "flow/lines.h"

#include <pthread.h>

#include "base/search.h"
#include "base/work.h"
#include "flow/order.h"

enum {
	LINES_THREADS = 64,
	LINES_ROOM = 65536, /* rows of all lanes' readers together, about */
	LINES_ROWS_LEAST = 4, /* of one lane: all have a block at once */
	LINES_BLOCK = 2, /* batches of rows that make a block of lines */
	LINES_LIMIT = 1 << 28, /* of one block */
	LINES_AHEAD = 12 << 20, /* bytes of blocks that are ready, about */
	LINES_READY = 64, /* blocks of one lane */
	LINES_MANY = 1024, /* lanes: blocks of more than these have no spare room */
	LINES_OVER = 1 << 30,
};

struct lane {
	/* NULL both once the lane has ended, whose memory is given back then. */
	struct feed_reader *reader;
	void *state;
	struct lines *now; /* NULL: the lane is over, or has not begun */
	size_t pos; /* in `now` */
	size_t from; /* offset of that line's text */
	struct lines *first, *last; /* list of `nready` blocks */
	uint32_t nready;
	uint32_t batches; /* a block */
	bool busy, queued;
	bool ended; /* no more blocks after those that are ready */
	/* Of windows only: */
	int64_t *keys; /* of the lines of `now`: the latest time up to each */
	size_t keys_cap;
	int64_t latest; /* key of the last line taken */
	size_t safe; /* lines before this one belong to the window */
};

/* Order of a lane: the time of its next line, then its number; lanes that are over are last. */
struct line_key {
	int64_t ts;
	uint32_t place; /* number, with LINES_OVER */
};

struct lanes {
	const struct pipe_options *opt;
	const struct pipe_lines *pass;
	struct lane *lanes;
	uint32_t count;
	uint32_t batch; /* rows that are read at once */
	struct spur_event *buffer; /* for them, of the caller's thread; workers have their own */
	struct line_key *tree; /* [0]: the winner; [1 .. count): losers */
	struct order order; /* of windows */
	uint32_t *queue; /* of lanes that want filling; ring of `count` */
	size_t head, queued;
	struct lines **unused; /* blocks, the last one used last */
	size_t nunused, unused_cap;
	size_t ahead; /* bytes of blocks that are ready */
	size_t idle; /* workers that wait for work */
	bool stopping, failed;
	pthread_mutex_t lock;
	pthread_cond_t work; /* workers: a lane wants filling, or the end */
	pthread_cond_t filled; /* the merge: a block is ready */
	pthread_t threads[LINES_THREADS];
	unsigned nthreads;
	uint32_t track; /* of the line before */
	uint64_t left; /* lines that may still be written */
	uint64_t *charged; /* the caller's counter of failed allocations */
};

bool lines_grow(struct lines *l)
{
	return mem_grow((void **)&l->index, &l->cap, l->n + 1, sizeof(*l->index), LINES_LIMIT);
}

static void lines_free(struct lines *l)
{
	if (!l)
		return;
	out_free(&l->text);
	mem_free(l->index);
	mem_free(l);
}

/* An empty block; NULL: memory is out. Under the lock, as block_drop(). */
static struct lines *block_take(struct lanes *s)
{
	struct lines *l;

	if (s->nunused) {
		l = s->unused[--s->nunused];
		out_clear(&l->text);
		l->n = 0;
		return l;
	}
	l = mem_alloc(sizeof(*l));
	if (l)
		out_to_memory(&l->text);
	return l;
}

static size_t block_size(const struct lines *l)
{
	return l->text.cap + l->cap * sizeof(*l->index);
}

static void block_trim(struct lines *l)
{
	mem_trim((void **)&l->text.buf, &l->text.cap, l->text.len, 1);
	mem_trim((void **)&l->index, &l->cap, l->n, sizeof(*l->index));
}

static void block_drop(struct lanes *s, struct lines *l)
{
	if (l && mem_grow((void **)&s->unused, &s->unused_cap, s->nunused + 1,
			  sizeof(struct lines *), LINES_LIMIT))
		s->unused[s->nunused++] = l;
	else
		lines_free(l);
}

static void lane_close(const struct lanes *s, struct lane *l)
{
	feed_reader_free(l->reader);
	l->reader = NULL;
	if (l->state)
		s->pass->close(l->state);
	l->state = NULL;
}

/* Reads and renders a block's worth of rows, by way of `buffer`. False: out of memory. */
static bool lane_fill(struct lanes *s, struct lane *l, struct spur_event *buffer, struct lines *to,
		      bool *ended)
{
	feed_reader_lend(l->reader, buffer, s->batch);
	for (uint32_t i = 0; i < l->batches || !to->n; i++) {
		struct spur_event *rows = NULL;
		size_t n = 0;
		enum spur_status st = feed_reader_next(l->reader, &rows, &n);

		if (st == SPUR_FAIL || !s->pass->rows(l->state, rows, n, to) || to->text.error)
			return false;
		if (st == SPUR_END && s->pass->rest && s->pass->rest(l->state))
			break;
		if (st == SPUR_END) {
			*ended = true;
			lane_close(s, l);
			break;
		}
	}
	return to->text.len <= UINT32_MAX;
}

/* Asks for more blocks of the lane, if there is somebody to ask and room for them. */
static void lane_want(struct lanes *s, struct lane *l)
{
	if (!s->nthreads || l->queued || l->busy || l->ended || l->nready == LINES_READY ||
	    s->ahead > LINES_AHEAD)
		return;
	l->queued = true;
	s->queue[(s->head + s->queued++) % s->count] = (uint32_t)(l - s->lanes);
	if (s->idle)
		pthread_cond_signal(&s->work);
}

/* Makes the lane's next block. The lock is held at both ends; `buffer` is the calling thread's. */
static void lane_work(struct lanes *s, struct lane *l, struct spur_event *buffer)
{
	struct lines *block = block_take(s);
	bool ended = false, good = block;

	if (good) {
		l->busy = true;
		pthread_mutex_unlock(&s->lock);
		good = lane_fill(s, l, buffer, block, &ended);
		if (s->count > LINES_MANY)
			block_trim(block);
		pthread_mutex_lock(&s->lock);
		l->busy = false;
		l->ended = ended;
		block->next = NULL;
		*(l->first ? &l->last->next : &l->first) = block;
		l->last = block;
		l->nready++;
		s->ahead += block_size(block);
		lane_want(s, l);
	}
	s->failed |= !good;
	pthread_cond_signal(&s->filled);
}

/* Fills the lane that has waited longest; false where none waits. The lock is held at both ends. */
static bool lanes_work(struct lanes *s, struct spur_event *buffer)
{
	while (s->queued) {
		struct lane *l = &s->lanes[s->queue[s->head]];

		s->head = (s->head + 1) % s->count;
		s->queued--;
		l->queued = false;
		if (!l->busy && !l->ended && l->nready < LINES_READY) {
			lane_work(s, l, buffer);
			return true;
		}
	}
	return false;
}

static void *lanes_worker(void *arg)
{
	struct lanes *s = arg;
	struct spur_event *buffer;

	mem_charge(s->charged);
	buffer = mem_array(s->batch, sizeof(*buffer));
	pthread_mutex_lock(&s->lock);
	s->failed |= !buffer;
	while (!s->stopping && !s->failed)
		if (!lanes_work(s, buffer)) {
			s->idle++;
			pthread_cond_wait(&s->work, &s->lock);
			s->idle--;
		}
	pthread_cond_signal(&s->filled);
	pthread_mutex_unlock(&s->lock);
	mem_free(buffer);
	return NULL;
}

/* The lane's lines are used up: takes the next block, if there is one. False: memory is out. */
static bool lane_turn(struct lanes *s, struct lane *l)
{
	bool good;

	pthread_mutex_lock(&s->lock);
	if (l->now)
		block_drop(s, l->now);
	l->now = NULL;
	l->pos = 0;
	l->from = 0;
	while (!l->nready && !l->ended && !s->failed)
		if (!l->busy)
			lane_work(s, l, s->buffer);
		else if (!lanes_work(s, s->buffer))
			pthread_cond_wait(&s->filled, &s->lock);
	if (l->nready) {
		l->now = l->first;
		l->first = l->now->next;
		l->nready--;
		s->ahead -= block_size(l->now);
		lane_want(s, l);
	}
	good = !s->failed;
	pthread_mutex_unlock(&s->lock);
	return good;
}

static struct line_key lane_key(const struct lanes *s, uint32_t i)
{
	const struct lane *l = &s->lanes[i];

	if (!l->now || l->pos == l->now->n)
		return (struct line_key){ .ts = INT64_MAX, .place = i | LINES_OVER };
	return (struct line_key){ .ts = l->now->index[l->pos].ts, .place = i };
}

/* As one wide comparison: branches on the order of interleaved lanes are never predicted. */
static inline bool key_less(struct line_key a, struct line_key b)
{
	return (__int128)((unsigned __int128)a.ts << 32 | a.place) <
	       (__int128)((unsigned __int128)b.ts << 32 | b.place);
}

/* The winner of the node's subtree; sets the losers in it. Depth is log2 of the lanes. */
static struct line_key lanes_build(struct lanes *s, uint32_t node)
{
	struct line_key a, b;

	if (node >= s->count)
		return lane_key(s, node - s->count);
	a = lanes_build(s, 2 * node);
	b = lanes_build(s, 2 * node + 1);
	s->tree[node] = key_less(a, b) ? b : a;
	return key_less(a, b) ? a : b;
}

/* Lane i changed: plays its matches again up to the root. */
static void lanes_replay(struct lanes *s, uint32_t i)
{
	struct line_key key = lane_key(s, i);

	for (uint32_t node = (i + s->count) / 2; node; node /= 2) {
		const struct line_key other = s->tree[node];
		const bool loses = key_less(other, key);

		s->tree[node].ts = loses ? key.ts : other.ts;
		s->tree[node].place = loses ? key.place : other.place;
		key.ts = loses ? other.ts : key.ts;
		key.place = loses ? other.place : key.place;
	}
	s->tree[0] = key;
}

/* The best of the losers on the winner's path: the runner-up of all. */
static struct line_key lanes_second(const struct lanes *s, uint32_t winner)
{
	struct line_key best = { .ts = INT64_MAX, .place = UINT32_MAX };

	for (uint32_t node = (winner + s->count) / 2; node; node /= 2)
		if (key_less(s->tree[node], best))
			best = s->tree[node];
	return best;
}

static void lane_write(struct lanes *s, const struct lines *l, size_t from, size_t first,
		       size_t end, struct out *o)
{
	end = end - first < s->left ? end : first + (size_t)s->left;
	if (first == end)
		return;
	s->left -= end - first;
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

/*
 * Writes the winner's lines that come before the runner-up's next. A lane that has just begun to
 * win gives one line alone: among interleaved lanes that costs less than to find out how many could
 * follow.
 */
static void lanes_step(struct lanes *s, uint32_t winner, bool again, struct out *o)
{
	struct lane *l = &s->lanes[winner];
	const struct line *index = l->now->index;
	size_t end = l->pos + 1;

	if (again) {
		struct line_key limit = lanes_second(s, winner);
		/* The last time that still comes before. */
		int64_t last =
			winner < limit.place || limit.place & LINES_OVER ? limit.ts : limit.ts - 1;

		while (end < l->now->n && index[end].ts <= last)
			end++;
	}
	lane_write(s, l->now, l->from, l->pos, end, o);
	l->from = index[end - 1].end;
	l->pos = end;
}

static bool lanes_stopped(const struct lanes *s, const struct out *o)
{
	return o->error || !s->left || (s->opt->stop && *s->opt->stop);
}

/* Text waits for no input. */
static bool lanes_turn(struct lanes *s, const struct spur_trace *t, uint32_t i, struct out *o)
{
	if (pipe_is_live(t))
		out_flush(o);
	return lane_turn(s, &s->lanes[i]);
}

/* False: memory is out. */
static bool lanes_merge(struct lanes *s, const struct spur_trace *t, struct out *o)
{
	uint32_t before = LINES_OVER;

	for (uint32_t i = 0; i < s->count; i++)
		if (lanes_stopped(s, o) || !lanes_turn(s, t, i, o))
			return lanes_stopped(s, o);
	s->tree[0] = lanes_build(s, 1);
	while (!(s->tree[0].place & LINES_OVER) && !lanes_stopped(s, o)) {
		uint32_t winner = s->tree[0].place;

		lanes_step(s, winner, winner == before, o);
		if (s->lanes[winner].pos == s->lanes[winner].now->n && !lanes_turn(s, t, winner, o))
			return false;
		before = winner;
		lanes_replay(s, winner);
	}
	return true;
}

/* --- windows: up to ORDER_WINDOW lanes are merged as merge.c merges rows --- */

/* Nothing of the lane is being made or waits to be written. */
static bool lane_is_done(struct lanes *s, const struct lane *l)
{
	bool done;

	pthread_mutex_lock(&s->lock);
	done = l->ended && !l->nready;
	pthread_mutex_unlock(&s->lock);
	return done;
}

/* The lane's next block, where it has no line left, and the keys of its lines. */
static bool window_turn(struct lanes *s, const struct spur_trace *t, uint32_t i, struct out *o)
{
	struct lane *l = &s->lanes[i];

	if ((l->now && l->pos < l->now->n) || (!l->now && lane_is_done(s, l)))
		return true;
	do {
		if (!lanes_turn(s, t, i, o))
			return false;
	} while (l->now && !l->now->n);
	if (!l->now)
		return true;
	if (l->now->n > ORDER_MASK ||
	    !mem_grow((void **)&l->keys, &l->keys_cap, l->now->n, sizeof(*l->keys), ORDER_MASK))
		return false;
	for (size_t k = 0; k < l->now->n; k++) {
		l->latest = l->now->index[k].ts > l->latest ? l->now->index[k].ts : l->latest;
		l->keys[k] = l->latest;
	}
	return true;
}

/* The first line at or behind pos that is not before `limit` (with `equal`: is behind it). */
static size_t window_end(const struct lane *l, int64_t limit, bool equal)
{
	size_t lo;

	bisect(lo, l->pos, l->now->n, l->keys[lo] < limit || (equal && l->keys[lo] == limit));
	return lo;
}

/* Bounds the window by the lane whose block ends earliest; the lanes with lines in it. */
static uint32_t window_open(struct lanes *s, uint32_t *active)
{
	uint32_t first = LINES_OVER, n = 0;
	int64_t limit = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		const struct lane *l = &s->lanes[i];

		if (l->now && (first == LINES_OVER || l->keys[l->now->n - 1] < limit)) {
			first = i;
			limit = l->keys[l->now->n - 1];
		}
	}
	for (uint32_t i = 0; i < s->count && first != LINES_OVER; i++) {
		struct lane *l = &s->lanes[i];

		if (!l->now)
			continue;
		l->safe = i == first ? l->now->n : window_end(l, limit, i < first);
		if (l->safe > l->pos)
			active[n++] = i;
	}
	return n;
}

/* Writes the lines first .. end of a lane. */
static void window_write(struct lanes *s, struct lane *l, size_t end, struct out *o)
{
	lane_write(s, l->now, l->from, l->pos, end, o);
	l->from = l->now->index[end - 1].end;
	l->pos = end;
}

static bool window_merge(struct lanes *s, const uint32_t *active, uint32_t n, struct out *o)
{
	struct order_list leaves[ORDER_WINDOW];
	size_t total = 0;

	for (uint32_t k = 0; k < n; k++)
		total += s->lanes[active[k]].safe - s->lanes[active[k]].pos;
	if (!order_begin(&s->order, total))
		return false;
	for (uint32_t k = 0; k < n; k++) {
		const struct lane *l = &s->lanes[active[k]];

		leaves[k] =
			order_add(&s->order, l->keys + l->pos, l->safe - l->pos, active[k], l->pos);
	}
	order_sort(&s->order, leaves, n);
	for (size_t i = 0, run; i < s->order.n; i = run) {
		const uint32_t *m = s->order.members;
		struct lane *l = &s->lanes[m[i] >> ORDER_SHIFT];

		for (run = i + 1; run < s->order.n && m[run] == m[run - 1] + 1; run++)
			;
		window_write(s, l, (m[run - 1] & ORDER_MASK) + 1, o);
	}
	return true;
}

static bool windows_merge(struct lanes *s, const struct spur_trace *t, struct out *o)
{
	uint32_t active[ORDER_WINDOW], n;

	while (!lanes_stopped(s, o)) {
		for (uint32_t i = 0; i < s->count; i++)
			if (!window_turn(s, t, i, o))
				return lanes_stopped(s, o);
		n = window_open(s, active);
		if (!n)
			break;
		if (n == 1)
			window_write(s, &s->lanes[active[0]], s->lanes[active[0]].safe, o);
		else if (!window_merge(s, active, n, o))
			return false;
	}
	return true;
}

static bool lane_open(struct lanes *s, struct spur_trace *t, struct feed *f, void *self)
{
	struct lane *l = &s->lanes[s->count];

	s->count++;
	l->reader = feed_reader_new(t, f, s->opt->filter, 0);
	l->state = s->pass->open(self, f);
	l->batches = s->batch < BATCH_ROWS || pipe_is_live(t) ? 1 : LINES_BLOCK;
	l->latest = INT64_MIN;
	return l->reader && l->state;
}

static bool lanes_open(struct lanes *s, struct spur_trace *t, void *self)
{
	size_t rows = t->nfeeds ? LINES_ROOM / t->nfeeds : BATCH_ROWS;

	rows = rows > BATCH_ROWS ? BATCH_ROWS : rows < LINES_ROWS_LEAST ? LINES_ROWS_LEAST : rows;
	s->batch = (uint32_t)rows;
	s->buffer = mem_array(rows, sizeof(*s->buffer));
	s->lanes = mem_array(t->nfeeds, sizeof(*s->lanes));
	s->tree = mem_array(t->nfeeds + 1, sizeof(*s->tree));
	s->queue = mem_array(t->nfeeds, sizeof(*s->queue));
	if (!s->buffer || !s->lanes || !s->tree || !s->queue)
		return false;
	for (size_t i = 0; i < t->nfeeds; i++)
		if (!s->opt->filter || !filter_skips_feed(s->opt->filter, t->feeds[i]))
			if (!lane_open(s, t, t->feeds[i], self))
				return false;
	return true;
}

static void lanes_start(struct lanes *s, unsigned threads)
{
	s->charged = mem_charged;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->work, NULL);
	pthread_cond_init(&s->filled, NULL);
	threads = threads > s->count ? s->count : threads;
	threads = threads > LINES_THREADS ? LINES_THREADS : threads;
	while (s->nthreads + 1 < threads &&
	       !pthread_create(&s->threads[s->nthreads], NULL, lanes_worker, s))
		s->nthreads++;
	pthread_mutex_lock(&s->lock);
	for (uint32_t i = 0; i < s->count; i++)
		lane_want(s, &s->lanes[i]);
	pthread_mutex_unlock(&s->lock);
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

		lane_close(s, l);
		mem_free(l->keys);
		lines_free(l->now);
		for (struct lines *b = l->first, *next; b; b = next) {
			next = b->next;
			lines_free(b);
		}
	}
	for (size_t i = 0; i < s->nunused; i++)
		lines_free(s->unused[i]);
	order_free(&s->order);
	mem_free(s->unused);
	mem_free(s->buffer);
	mem_free(s->lanes);
	mem_free(s->tree);
	mem_free(s->queue);
}

/* All feeds as one lane, in time order, for what cannot be done feed by feed. */
struct lines_single {
	struct lanes lanes;
	const struct spur_trace *trace;
	void *state;
	struct lines *lines;
	struct out *out;
	bool failed;
};

static bool single_rows(void *self, struct spur_event *rows, size_t n)
{
	struct lines_single *s = self;
	struct lines *l = s->lines;

	s->failed = !s->lanes.pass->rows(s->state, rows, n, l) || l->text.error;
	if (!s->failed && l->n)
		lane_write(&s->lanes, l, 0, 0, l->n, s->out);
	out_clear(&l->text);
	l->n = 0;
	if (pipe_is_live(s->trace))
		out_flush(s->out);
	return !s->failed && !lanes_stopped(&s->lanes, s->out);
}

static enum spur_status lines_run_single(struct spur_trace *t, const struct pipe_options *opt,
					 const struct pipe_lines *p, void *self, struct out *o)
{
	struct lines_single s = { .lanes = { .opt = opt,
					     .pass = p,
					     .track = SPUR_NONE,
					     .left = p->limit ? p->limit : UINT64_MAX },
				  .trace = t,
				  .out = o };
	enum spur_status st = SPUR_FAIL;

	s.lines = block_take(&s.lanes);
	s.state = p->open(self, NULL);
	if (s.lines && s.state)
		st = pipe_run_merged(t, opt, single_rows, &s);
	while (st == SPUR_OK && !s.failed && !o->error && s.lanes.left &&
	       single_rows(&s, NULL, 0) && p->rest && p->rest(s.state))
		;
	if (s.state)
		p->close(s.state);
	lines_free(s.lines);
	return st == SPUR_FAIL || s.failed ? SPUR_FAIL : SPUR_OK;
}

enum spur_status pipe_run_lines(struct spur_trace *t, const struct pipe_options *opt,
				const struct pipe_lines *p, void *self, struct out *o)
{
	struct lanes s = {
		.opt = opt, .pass = p, .track = SPUR_NONE, .left = p->limit ? p->limit : UINT64_MAX
	};
	bool good;

	if (opt->limit || (opt->filter && filter_is_global(opt->filter)) ||
	    (t->tracks_shared && !p->any_order))
		return lines_run_single(t, opt, p, self, o);
	good = lanes_open(&s, t, self);
	if (good && s.count) {
		lanes_start(&s, opt->threads ? opt->threads : work_cpus());
		good = s.count <= ORDER_WINDOW ? windows_merge(&s, t, o) : lanes_merge(&s, t, o);
		lanes_finish(&s);
	}
	lanes_free(&s);
	return good ? SPUR_OK : SPUR_FAIL;
}
