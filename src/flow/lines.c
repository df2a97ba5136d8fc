/*
 * Parallel rendering by feed. Each feed is a lane with blocks of lines: one that the merge (the
 * caller's thread) takes from, and some that are ready. Workers fill lanes some way ahead, first
 * the one that the merge needs first, so that they have work while the merge stays with one lane;
 * the merge fills a block itself if none is ready and no worker fills it. On one thread each block
 * is filled when it is needed, and merged while it is in the cache.
 *
 * A feed that is read in parts (parts.h) has a lane for each of them: the merge takes from the one
 * of the first part that is left, and the lanes of some parts behind it are filled meanwhile. Where
 * a part turns out not to follow the one before it, its lane is made again.
 *
 * Invariant, under the lock: a lane's reader and state belong to the thread that set `busy`; a
 * lane is in the queue at most once.
 */
#include "flow/lines.h"

#include <assert.h>
#include <pthread.h>

#include "base/pool.h"
#include "base/work.h"
#include "flow/merge_core.h"
#include "flow/parts.h"

enum {
	LINES_THREADS = 64,
	LINES_ROOM = 65536, /* rows of all lanes' readers together, about */
	LINES_ROWS_LEAST = 4, /* of one lane: all have a block at once */
	LINES_BLOCK = 2, /* batches of rows that make a block of lines */
	LINES_LIMIT = 1 << 28, /* of one block */
	/*
	 * Bytes of blocks that are ready, about: what a cache keeps, as the merge reads what other
	 * threads have written. Many lanes need more, as all of them have blocks at once.
	 */
	LINES_AHEAD = 3 << 20,
	LINES_AHEAD_MOST = 12 << 20,
	LINES_LANE_AHEAD = 192 << 10, /* for each lane */
	LINES_PART = 512 << 10, /* bytes of a feed that are a part, at least */
	LINES_PART_AHEAD = 4 << 20, /* bytes of blocks that are ready, for each worker, of parts */
	LINES_READY = 64, /* blocks of one lane */
};

/* What reading a lane needs: it is made when the lane begins, and freed once it has ended. */
struct lane {
	struct feed_reader *reader; /* NULL once the feed has ended */
	void *state;
	struct lines *now; /* NULL: nothing was taken yet */
	size_t from; /* offset of that line's text */
	struct lines *first, *last; /* list of `nready` blocks */
	uint32_t nready;
	uint32_t batches; /* a block */
	int64_t until; /* time of the last line that was made */
	struct lane *next, *before; /* in the queue */
	struct part *part; /* of the feed; NULL: no feed is read in parts */
	struct lane *later; /* of the next part; NULL: none yet */
	bool busy, queued;
	bool ended; /* no more blocks after those that are ready */
};

/* There may be one for each of a million threads. */
struct lane_slot {
	struct feed *feed; /* with which the lane has not begun; else NULL */
	union {
		int64_t begins; /* of a lane that has not begun: its item in the tree */
		struct lane *lane; /* of one that has; NULL: it is over */
	};
};

struct lanes {
	const struct pipe_options *opt;
	const struct pipe_lines *pass;
	void *self; /* the pass's */
	struct spur_trace *trace;
	struct lane_slot *lanes;
	uint32_t count;
	struct parts parts; /* empty: feeds are read as they are */
	uint32_t batch; /* rows that are read at once */
	struct spur_event *buffer; /* for them, of the caller's thread; workers have their own */
	struct merge_core core; /* an input is a lane's `now` */
	struct lane *queue, *queue_last; /* list of lanes that want filling */
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
	if (l->parked) {
		pool_free(l, l->parked);
		return;
	}
	out_free(&l->text);
	mem_free(l->index);
	mem_free(l);
}

/* Returns an empty block, or NULL if out of memory. Called with the lock held, as block_drop(). */
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

/* Returns a copy in one piece of the pool, as there may be very many; NULL if out of memory. */
static struct lines *block_park(const struct lines *l)
{
	const size_t index = l->n * sizeof(*l->index), text = l->text.len;
	const size_t parked = sizeof(*l) + index + text;
	struct lines *copy = pool_alloc(parked);

	if (!copy)
		return NULL;
	out_to_memory(&copy->text);
	copy->index = (struct line *)(copy + 1);
	copy->n = copy->cap = l->n;
	copy->text.buf = (char *)(copy->index + l->n);
	copy->text.len = copy->text.cap = text;
	copy->parked = parked;
	if (index)
		memcpy(copy->index, l->index, index);
	if (text)
		memcpy(copy->text.buf, l->text.buf, text);
	return copy;
}

static void block_drop(struct lanes *s, struct lines *l)
{
	if (l && !l->parked &&
	    mem_grow((void **)&s->unused, &s->unused_cap, s->nunused + 1, sizeof(struct lines *),
		     LINES_LIMIT))
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

static void lane_free(const struct lanes *s, struct lane *l)
{
	lane_close(s, l);
	if (l->part)
		part_close(s->trace, l->part);
	lines_free(l->now);
	for (struct lines *b = l->first, *next; b; b = next) {
		next = b->next;
		lines_free(b);
	}
	pool_free(l, sizeof(*l));
}

/* Both are called with s->lock held. Lanes of parts are in the order of the parts. */
static void queue_add(struct lanes *s, struct lane *l)
{
	struct lane *after = s->queue_last;

	assert(!l->queued);
	while (l->part && after && after->part->number > l->part->number)
		after = after->before;
	l->queued = true;
	l->before = after;
	l->next = after ? after->next : s->queue;
	*(after ? &after->next : &s->queue) = l;
	*(l->next ? &l->next->before : &s->queue_last) = l;
}

static void queue_remove(struct lanes *s, struct lane *l)
{
	assert(l->queued);
	l->queued = false;
	*(l->before ? &l->before->next : &s->queue) = l->next;
	*(l->next ? &l->next->before : &s->queue_last) = l->before;
}

/* Reads and renders the rows of a block, through `buffer`. Returns false if out of memory. */
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

/* Bytes of blocks that may be ready before no more are asked for. */
static size_t lanes_room(const struct lanes *s, const struct lane *l)
{
	const size_t all = s->count * (size_t)LINES_LANE_AHEAD;
	const size_t room = all < LINES_AHEAD	     ? LINES_AHEAD
			    : all < LINES_AHEAD_MOST ? all
						     : LINES_AHEAD_MOST;

	return room + (l->part ? s->nthreads * (size_t)LINES_PART_AHEAD : 0);
}

/*
 * Asks the workers for more blocks of the lane if there is room for them. Where lanes are few, a
 * worker is woken for several blocks: until then the merge, which fills what it needs, can do
 * without.
 */
static void lane_want(struct lanes *s, struct lane *l)
{
	const size_t room = lanes_room(s, l), gap = room == LINES_AHEAD ? LINES_AHEAD / 2 : 0;

	if (!s->nthreads || l->ended)
		return;
	if (!l->queued && !l->busy && l->nready < LINES_READY && s->ahead <= room)
		queue_add(s, l);
	if (s->idle && s->queue && s->ahead + gap <= room)
		pthread_cond_signal(&s->work);
}

/* Makes the lane's next block. `buffer` is the calling thread's. Called with s->lock held. */
static void lane_work(struct lanes *s, struct lane *l, struct spur_event *buffer)
{
	struct lines *block = block_take(s), *parked;
	bool ended = false, good = block;

	assert(!l->busy && !l->ended && l->nready < LINES_READY);
	if (good) {
		l->busy = true;
		pthread_mutex_unlock(&s->lock);
		good = lane_fill(s, l, buffer, block, &ended);
		parked = good && s->count > LINES_MANY ? block_park(block) : NULL;
		good = good && (parked || s->count <= LINES_MANY);
		pthread_mutex_lock(&s->lock);
		if (parked) {
			block_drop(s, block);
			block = parked;
		}
		l->busy = false;
		l->ended = ended;
		l->until = block->n ? block->index[block->n - 1].ts : l->until;
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

/*
 * The lane in the queue whose next block the merge needs first. Where lanes are few it is the one
 * that has come least far in time: blocks of others would fill the room that there is for them, and
 * the merge would have to make this one itself. Many lanes, and parts of lanes, have their turns.
 */
static struct lane *queue_next(const struct lanes *s)
{
	struct lane *next = s->queue;

	for (struct lane *l = next->next; l && s->core.windows && !l->part; l = l->next)
		next = l->until < next->until ? l : next;
	return next;
}

/* Fills the lane that is needed first. Returns false if none waits. Called with s->lock held. */
static bool lanes_work(struct lanes *s, struct spur_event *buffer)
{
	while (s->queue) {
		struct lane *l = queue_next(s);

		queue_remove(s, l);
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

/* Makes what reading the feed needs, or a part of it. Returns NULL if out of memory. */
static struct lane *lane_new(struct lanes *s, struct feed *f, struct part *part,
			     const struct part *before)
{
	struct lane *l = pool_alloc(sizeof(*l));

	if (!l)
		return NULL;
	l->part = part;
	if (part)
		f = part_open(s->trace, part, before);
	if (f) {
		l->reader = feed_reader_new(s->trace, f, s->opt->filter, 0);
		l->state = s->pass->open(s->self, f);
	}
	l->batches = s->batch < BATCH_ROWS || pipe_is_live(s->trace) ? 1 : LINES_BLOCK;
	if (l->reader && l->state)
		return l;
	lane_free(s, l);
	return NULL;
}

/* The part behind the lane's; NULL: the feed ends with it. */
static struct part *lane_next_part(const struct lanes *s, const struct lane *l)
{
	struct part *next = l->part ? l->part + 1 : NULL;

	return next && next < s->parts.items + s->parts.n && next->number ? next : NULL;
}

/*
 * Makes the lanes of the next parts, as many as there are threads, and wants blocks of them. Called
 * with s->lock held.
 */
static void lane_ahead(struct lanes *s, struct lane *l)
{
	struct part *part;

	for (unsigned i = 0; i <= s->nthreads && (part = lane_next_part(s, l)); i++) {
		if (!l->later)
			l->later = lane_new(s, NULL, part, NULL);
		l = l->later;
		if (!l) {
			s->failed = true;
			return;
		}
		lane_want(s, l);
	}
}

/*
 * Drops a lane of a part that does not follow the one before it. Called with s->lock held, which is
 * given up while the lane is busy.
 */
static void lane_drop(struct lanes *s, struct lane *l)
{
	struct part *part = l->part;

	while (l->busy)
		pthread_cond_wait(&s->filled, &s->lock);
	if (l->queued)
		queue_remove(s, l);
	for (struct lines *b = l->first; b; b = b->next)
		s->ahead -= block_size(b);
	lane_free(s, l);
	part_forget(s->trace, part);
}

/*
 * Goes on with the lane of the feed's next part. Returns false if the feed has ended, or if out
 * of memory. Called with s->lock held.
 */
static bool lane_step(struct lanes *s, struct lane_slot *slot)
{
	struct lane *l = slot->lane, *next = l->later;
	struct part *part = lane_next_part(s, l);

	assert(l->ended && !l->busy && !l->nready && !l->now);
	if (!part)
		return false;
	if (!next || !part_follows(s->trace, l->part, part)) {
		struct lane *later = next ? next->later : NULL;

		if (next)
			lane_drop(s, next);
		l->later = NULL;
		next = lane_new(s, NULL, part, l->part);
		s->failed |= !next;
		if (!next)
			return false;
		next->later = later;
	}
	if (l->queued)
		queue_remove(s, l);
	slot->lane = next;
	lane_free(s, l);
	lane_ahead(s, next);
	return !s->failed;
}

/* Takes the lane's next block, if it has one left. Called with s->lock held. */
static void lane_take(struct lanes *s, struct lane *l)
{
	while (!l->nready && !l->ended && !s->failed)
		if (!l->busy)
			lane_work(s, l, s->buffer);
		else if (!lanes_work(s, s->buffer))
			pthread_cond_wait(&s->filled, &s->lock);
	if (l->nready) {
		assert(l->first && s->ahead >= block_size(l->first));
		l->now = l->first;
		l->first = l->now->next;
		l->nready--;
		s->ahead -= block_size(l->now);
		lane_want(s, l);
		for (struct lane *k = l->later; k; k = k->later)
			lane_want(s, k);
	}
	/* The last block of a lane may be empty, and nothing would take it away again. */
	if (l->now && !l->now->n && l->ended && !l->nready) {
		block_drop(s, l->now);
		l->now = NULL;
	}
}

/*
 * Takes the lane's next block; without one the lane is over. Returns false if out of memory.
 */
static bool lane_turn(struct lanes *s, struct lane_slot *slot)
{
	struct lane *l = slot->lane;
	bool good;

	pthread_mutex_lock(&s->lock);
	if (l->now)
		block_drop(s, l->now);
	l->now = NULL;
	l->from = 0;
	do {
		l = slot->lane;
		lane_take(s, l);
	} while (!s->failed && !l->now && lane_step(s, slot));
	good = !s->failed;
	/* INVARIANT: no worker has a lane that has ended, but it may wait in the queue. */
	if (good && !l->now) {
		assert(l->ended && !l->busy && !l->nready);
		if (l->queued)
			queue_remove(s, l);
		slot->lane = NULL;
	}
	pthread_mutex_unlock(&s->lock);
	if (!slot->lane)
		lane_free(s, l);
	return good;
}

static inline void lane_write(struct lanes *s, const struct lines *l, size_t from, size_t first,
			      size_t end, struct out *o)
{
	end = end - first < s->left ? end : first + (size_t)s->left;
	if (first == end)
		return;
	s->left -= end - first;
	if (!s->pass->gaps) {
		out_part(o, &l->text, from, l->index[end - 1].end);
		return;
	}
	for (size_t i = first; i < end; i++) {
		if (s->track != SPUR_NONE && s->track != l->index[i].track)
			out_char(o, '\n');
		s->track = l->index[i].track;
		out_part(o, &l->text, from, l->index[i].end);
		from = l->index[i].end;
	}
}

/* Writes the next lines of a lane, up to before `end`. */
static inline void lane_lines(struct lanes *s, uint32_t i, size_t end, struct out *o)
{
	struct merge_input *in = &s->core.inputs[i];
	struct lane *l = s->lanes[i].lane;

	assert(in->pos < end && end <= in->n && in->n == l->now->n);
	lane_write(s, l->now, l->from, in->pos, end, o);
	l->from = l->now->index[end - 1].end;
	in->pos = (uint32_t)end;
}

static bool lanes_stopped(const struct lanes *s, const struct out *o)
{
	return o->error || !s->left || (s->opt->stop && *s->opt->stop);
}

/* Makes what reading the lane needs. Returns false if out of memory. */
static bool lane_begin(struct lanes *s, struct lane_slot *slot)
{
	struct part *part = s->parts.items;

	while (part && part->feed != slot->feed)
		part++;
	slot->lane = lane_new(s, slot->feed, part, NULL);
	if (slot->lane)
		slot->feed = NULL;
	return slot->lane;
}

/*
 * The lane's next block. Text is written before it is waited for. Returns false if out of memory.
 */
static bool lanes_turn(struct lanes *s, const struct spur_trace *t, uint32_t i, struct out *o)
{
	struct lane_slot *slot = &s->lanes[i];
	const struct lines *now;

	if (pipe_is_live(t))
		out_flush(o);
	if (slot->feed && !lane_begin(s, slot))
		return false;
	if (!lane_turn(s, slot))
		return false;
	now = slot->lane ? slot->lane->now : NULL;
	return merge_core_give(&s->core, i, now ? now->index : NULL, now ? now->n : 0);
}

/*
 * A lane that has just begun to win gives one line alone: among interleaved lanes that costs less
 * than to find out how many could follow. Returns false if out of memory.
 */
static bool lanes_merge(struct lanes *s, const struct spur_trace *t, struct out *o)
{
	struct merge_core *c = &s->core;
	uint32_t before = MERGE_ENDED;

	for (uint32_t i = 0; i < s->count; i++) {
		struct lane_slot *l = &s->lanes[i];

		if (l->feed)
			merge_core_give(c, i, &l->begins, 1);
		else if (lanes_stopped(s, o) || !lanes_turn(s, t, i, o))
			return lanes_stopped(s, o);
	}
	merge_core_build(c);
	while (!(merge_core_first(c) & MERGE_ENDED) && !lanes_stopped(s, o)) {
		const uint32_t first = merge_core_first(c);
		struct merge_input *in = &c->inputs[first];
		const size_t run =
			first == before ? merge_core_run(c, first, sizeof(struct line)) : 1;

		if (__builtin_expect(s->lanes[first].feed != NULL, 0))
			in->pos = in->n;
		else
			lane_lines(s, first, in->pos + run, o);
		if (in->pos == in->n && !lanes_turn(s, t, first, o))
			return false;
		before = first;
		merge_core_replay(c, first, sizeof(struct line));
	}
	return true;
}

/* --- windows: few lanes are merged as merge.c merges rows --- */

/* The lane's next block with lines, if it has none left. Returns false if out of memory. */
static bool window_turn(struct lanes *s, const struct spur_trace *t, uint32_t i, struct out *o)
{
	const struct merge_input *in = &s->core.inputs[i];
	const struct lane_slot *slot = &s->lanes[i];

	while (in->pos == in->n && (slot->feed || slot->lane))
		if (!lanes_turn(s, t, i, o))
			return false;
	return true;
}

/* Writes the lines of the window's lanes in their order. Returns false if out of memory. */
static bool window_write(struct lanes *s, const uint32_t *active, uint32_t n, struct out *o)
{
	const struct order *order = &s->core.order;

	if (n == 1) {
		lane_lines(s, active[0], s->core.windows[active[0]].safe, o);
		return true;
	}
	if (!merge_core_sort(&s->core, active, n))
		return false;
	for (size_t i = 0, run; i < order->n; i = run) {
		const uint32_t number = order_number(order->words[i]);

		for (run = i + 1; run < order->n && order_number(order->words[run]) == number;
		     run++)
			;
		lane_lines(s, number, s->core.inputs[number].pos + (run - i), o);
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
		n = merge_core_window(&s->core, active);
		if (!n)
			break;
		if (!window_write(s, active, n, o))
			return false;
	}
	return true;
}

/*
 * Begins with the lanes, but for those of which the tree knows when they begin. Returns false if
 * out of memory.
 */
static bool lanes_begin(struct lanes *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		struct lane_slot *l = &s->lanes[i];

		if (!s->core.windows && feed_begins(s->trace, l->feed, &l->begins))
			continue;
		if (!lane_begin(s, l))
			return false;
	}
	return true;
}

/* Lists the parts of the feeds if there are fewer than threads. Returns false if out of memory. */
static bool lanes_divide(struct lanes *s)
{
	struct feed *feeds[LINES_THREADS];
	const unsigned threads = s->opt->threads ? s->opt->threads : work_cpus();

	if (s->count >= threads || s->count >= LINES_THREADS || s->pass->gaps ||
	    !parts_apply(s->trace, s->opt))
		return true;
	for (uint32_t i = 0; i < s->count; i++)
		feeds[i] = s->lanes[i].feed;
	return parts_make(&s->parts, s->trace, s->opt, feeds, s->count, LINES_PART);
}

static bool lanes_open(struct lanes *s)
{
	const struct spur_trace *t = s->trace;
	size_t rows = t->nfeeds ? LINES_ROOM / t->nfeeds : BATCH_ROWS;

	rows = rows > BATCH_ROWS ? BATCH_ROWS : rows < LINES_ROWS_LEAST ? LINES_ROWS_LEAST : rows;
	s->batch = (uint32_t)rows;
	s->buffer = mem_array(rows, sizeof(*s->buffer));
	s->lanes = mem_table_alloc(t->nfeeds, sizeof(*s->lanes));
	if (!s->buffer || !s->lanes)
		return false;
	for (size_t i = 0; i < t->nfeeds; i++)
		if (!s->opt->filter || !filter_skips_feed(s->opt->filter, t->feeds[i]))
			s->lanes[s->count++].feed = t->feeds[i];
	return lanes_divide(s) && merge_core_init(&s->core, s->count, sizeof(struct line)) &&
	       lanes_begin(s);
}

static void lanes_start(struct lanes *s, unsigned threads)
{
	const size_t work = s->parts.n ? s->parts.n : s->count;

	s->charged = mem_charged;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->work, NULL);
	pthread_cond_init(&s->filled, NULL);
	threads = threads > work ? (unsigned)work : threads;
	threads = threads > LINES_THREADS ? LINES_THREADS : threads;
	while (s->nthreads + 1 < threads &&
	       !pthread_create(&s->threads[s->nthreads], NULL, lanes_worker, s))
		s->nthreads++;
	pthread_mutex_lock(&s->lock);
	for (uint32_t i = 0; i < s->count; i++)
		if (!s->lanes[i].feed && s->lanes[i].lane) {
			lane_want(s, s->lanes[i].lane);
			lane_ahead(s, s->lanes[i].lane);
		}
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
	for (uint32_t i = 0; i < s->count; i++)
		if (!s->lanes[i].feed)
			for (struct lane *l = s->lanes[i].lane, *later; l; l = later) {
				later = l->later;
				lane_free(s, l);
			}
	parts_free(&s->parts);
	for (size_t i = 0; i < s->nunused; i++)
		lines_free(s->unused[i]);
	merge_core_free(&s->core);
	mem_free(s->unused);
	mem_free(s->buffer);
	mem_table_free(s->lanes, s->trace->nfeeds, sizeof(*s->lanes));
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
	struct lanes s = { .opt = opt,
			   .pass = p,
			   .track = SPUR_NONE,
			   .left = p->limit ? p->limit : UINT64_MAX,
			   .self = self,
			   .trace = t };
	bool good;

	if (opt->limit || p->merged || (opt->filter && filter_is_global(opt->filter)) ||
	    (t->tracks_shared && !p->any_order))
		return lines_run_single(t, opt, p, self, o);
	good = lanes_open(&s);
	if (good && s.count) {
		lanes_start(&s, opt->threads ? opt->threads : work_cpus());
		good = s.core.windows ? windows_merge(&s, t, o) : lanes_merge(&s, t, o);
		lanes_finish(&s);
	}
	lanes_free(&s);
	return good ? SPUR_OK : SPUR_FAIL;
}
