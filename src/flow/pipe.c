/* The loops that drive passes: per feed in parallel, and merged. */
#include "flow/pipe.h"

#include <pthread.h>

#include "base/work.h"
#include "flow/parts.h"
#include "format/format.h"

enum {
	FOLD_PART = 8 << 20, /* bytes */
	MISFITS = 4, /* parts that may not fit, and how many that fit make up for another one */
};

static bool pipe_stopped(const struct pipe_options *opt)
{
	return opt->stop && *opt->stop;
}

/* The feeds must be read as one: their rows depend on each other, or a limit counts them all. */
static bool pipe_is_one(const struct pipe_options *opt)
{
	return opt->limit || (opt->filter && filter_is_global(opt->filter));
}

unsigned pipe_workers(const struct spur_trace *t, const struct pipe_options *opt)
{
	unsigned threads = opt->threads ? opt->threads : work_cpus();

	if (pipe_is_one(opt) || !t->nfeeds)
		return 1;
	if (parts_apply(t, opt))
		return threads;
	return t->nfeeds < threads ? (unsigned)t->nfeeds : threads;
}

/* One parallel run. */
struct pipe_run {
	struct spur_trace *trace;
	const struct pipe_options *opt;
	const struct pipe_fold *fold;
	void *const *states;
	struct parts parts;
	pthread_mutex_t lock; /* of what parts say of their joining */
	size_t njoined, nagain; /* parts that were joined, and that were read in order; atomic */
	int failed; /* atomic */
};

static bool fold_rows(const struct pipe_fold *fold, void *state, struct marked_rows rows)
{
	return fold->marked ? fold->marked(state, rows) : fold->rows(state, rows.rows, rows.n);
}

static bool pipe_feed_rows(struct pipe_run *run, struct feed_reader *r, void *state)
{
	enum spur_status st;
	struct marked_rows rows;

	if (run->fold->tally && run->trace->format->counts_rows)
		feed_reader_tally(r, run->fold->tally(state));
	while (!pipe_stopped(run->opt) && !__atomic_load_n(&run->failed, __ATOMIC_RELAXED)) {
		if (run->fold->sink && run->trace->format->sums_calls)
			feed_reader_sink(r, run->fold->sink(state));
		st = feed_reader_marked(r, &rows);
		if (st != SPUR_OK)
			return st == SPUR_END;
		if (!fold_rows(run->fold, state, rows))
			return false;
	}
	return true;
}

static bool pipe_feed(struct pipe_run *run, struct feed *f, struct feed_reader *r, void *state)
{
	const struct pipe_fold *fold = run->fold;

	if (fold->log)
		fold->log(state, &f->diag);
	if (fold->feed_begin && !fold->feed_begin(state, f))
		return false;
	if (!pipe_feed_rows(run, r, state))
		return false;
	return !fold->feed_end || fold->feed_end(state, f);
}

/* Returns the part that follows, or NULL if the feed has no other. */
static struct part *part_next(const struct pipe_run *run, struct part *part)
{
	return part + 1 < run->parts.items + run->parts.n && part[1].number ? part + 1 : NULL;
}

/* Opens a part and passes its rows on. Returns false if out of memory. */
static bool pipe_part(struct pipe_run *run, struct part *part, const struct part *before,
		      void *state, bool whole)
{
	struct feed *f = part_open(run->trace, part, before);
	struct feed_reader *r =
		f ? feed_reader_new(run->trace, f, run->opt->filter, BATCH_ROWS) : NULL;
	const bool good =
		r && (whole ? pipe_feed(run, f, r, state) : pipe_feed_rows(run, r, state));

	feed_reader_free(r);
	return good;
}

/* Returns true while parts are worth reading before it is known whether they can be joined. */
static bool pipe_reads_ahead(struct pipe_run *run)
{
	const size_t joined = __atomic_load_n(&run->njoined, __ATOMIC_RELAXED);

	return __atomic_load_n(&run->nagain, __ATOMIC_RELAXED) <= MISFITS + joined / MISFITS;
}

/* Joins a part to the feed's first one, or reads it in order. Returns false if out of memory. */
static bool pipe_join_part(struct pipe_run *run, struct part *first, struct part *part)
{
	bool fits = part->state && part_follows(run->trace, part - 1, part);

	if (fits && !run->fold->part_join(first->state, part->state, &fits))
		return false;
	if (part->state)
		run->fold->part_free(part->state);
	part->state = NULL;
	__atomic_add_fetch(fits ? &run->njoined : &run->nagain, 1, __ATOMIC_RELAXED);
	if (fits)
		return true;
	if (part->open)
		part_forget(run->trace, part);
	return pipe_part(run, part, part - 1, first->state, false);
}

/*
 * A part was read: joins all parts of its feed that can be joined now, in order, unless another
 * thread is doing so, which then goes on with this one. Returns false if out of memory.
 */
static bool pipe_join(struct pipe_run *run, struct part *part, void *worker)
{
	struct part *first = part - part->number, *next;
	bool good = true;

	pthread_mutex_lock(&run->lock);
	part->read = true;
	while (!first->joining && first->read && good) {
		next = part_next(run, first + first->joined);
		if (next && !next->read)
			break;
		first->joining = true;
		pthread_mutex_unlock(&run->lock);
		good = next ? pipe_join_part(run, first, next)
			    : run->fold->part_end(worker, first->state);
		pthread_mutex_lock(&run->lock);
		first->joined++;
		/* After the last part, or a failure, nothing is left to be joined. */
		first->joining = !next || !good;
	}
	pthread_mutex_unlock(&run->lock);
	return good;
}

/* Reads one of several parts that are joined. Returns false if out of memory. */
static bool pipe_read_joined(struct pipe_run *run, struct part *part, void *worker)
{
	if (part->number && !pipe_reads_ahead(run))
		return pipe_join(run, part, worker);
	part->state = run->fold->part_new(worker, part->feed, !part->number);
	return part->state && pipe_part(run, part, NULL, part->state, false) &&
	       pipe_join(run, part, worker);
}

static void pipe_job(void *arg, size_t job, unsigned worker)
{
	struct pipe_run *run = arg;
	struct part *part = &run->parts.items[job];
	void *state = run->states[worker];
	bool good;

	if (pipe_stopped(run->opt) || __atomic_load_n(&run->failed, __ATOMIC_RELAXED))
		return;
	if (run->fold->part_join && (part->number || part_next(run, part))) {
		good = pipe_read_joined(run, part, state);
	} else {
		good = pipe_part(run, part, NULL, state, true);
		part_close(run->trace, part);
	}
	if (!good)
		__atomic_store_n(&run->failed, 1, __ATOMIC_RELAXED);
}

/* Frees what reading parts needed, also where a run has stopped. */
static void pipe_close(struct pipe_run *run)
{
	for (size_t i = 0; i < run->parts.n; i++) {
		if (run->parts.items[i].state)
			run->fold->part_free(run->parts.items[i].state);
		part_close(run->trace, &run->parts.items[i]);
	}
	parts_free(&run->parts);
}

/* All feeds as one, on the caller's thread. */
struct pipe_single {
	const struct pipe_fold *fold;
	void *state;
	bool failed;
};

static bool pipe_single_rows(void *self, struct marked_rows rows)
{
	struct pipe_single *s = self;

	s->failed = !fold_rows(s->fold, s->state, rows);
	return !s->failed;
}

static enum spur_status pipe_run_single(struct spur_trace *t, const struct pipe_options *opt,
					const struct pipe_fold *fold, void *state)
{
	struct pipe_single s = { .fold = fold, .state = state };

	if (fold->feed_begin && !fold->feed_begin(state, NULL))
		return SPUR_FAIL;
	if (pipe_run_marked(t, opt, pipe_single_rows, &s) == SPUR_FAIL || s.failed)
		return SPUR_FAIL;
	return fold->feed_end && !fold->feed_end(state, NULL) ? SPUR_FAIL : SPUR_OK;
}

/*
 * Puts the largest first, so that no worker ends long after the others. Stable: equal sizes stay in
 * feed order. One worker reads in feed order: sizes are not known before a file that arrives in
 * pieces has been read, and the ids of classes must be those of the same file when it is mapped.
 */
static void pipe_sort_feeds(struct feed **feeds, size_t n)
{
	for (size_t gap = n / 2; gap; gap /= 2)
		for (size_t i = gap; i < n; i++) {
			struct feed *f = feeds[i];
			size_t j = i;

			for (; j >= gap && feeds[j - gap]->size < f->size; j -= gap)
				feeds[j] = feeds[j - gap];
			feeds[j] = f;
		}
}

enum spur_status pipe_run_feeds(struct spur_trace *t, const struct pipe_options *opt,
				const struct pipe_fold *fold, void *const *states)
{
	struct pipe_run run = { .trace = t,
				.opt = opt,
				.fold = fold,
				.states = states,
				.lock = PTHREAD_MUTEX_INITIALIZER };
	const unsigned workers = pipe_workers(t, opt);
	struct feed **feeds;
	size_t n = 0;

	if (pipe_is_one(opt) || (t->tracks_shared && !opt->any_order))
		return pipe_run_single(t, opt, fold, states[0]);
	feeds = mem_array(t->nfeeds, sizeof(struct feed *));
	if (!feeds)
		return SPUR_FAIL;
	for (size_t i = 0; i < t->nfeeds; i++)
		if (!opt->filter || !filter_skips_feed(opt->filter, t->feeds[i]))
			feeds[n++] = t->feeds[i];
	if (workers > 1)
		pipe_sort_feeds(feeds, n);
	if (parts_make(&run.parts, t, opt, feeds, n, FOLD_PART))
		work_run(workers, run.parts.n, pipe_job, &run);
	else
		run.failed = 1;
	pipe_close(&run);
	mem_free(feeds);
	return run.failed ? SPUR_FAIL : SPUR_OK;
}

/* Where a run's rows go. */
struct pipe_sink {
	bool (*rows)(void *self, struct marked_rows rows);
	void *self;
	uint64_t left; /* rows that may still come */
};

/* At most `left` of the rows go on. Returns false to stop. */
static bool sink_rows(struct pipe_sink *s, struct marked_rows m)
{
	m.n = m.n < s->left ? m.n : (size_t)s->left;
	s->left -= m.n;
	return !m.n || s->rows(s->self, m);
}

/* One feed of a run in turn; `run` is what a global filter does to the whole. False: stop. */
static bool pipe_turn(const struct pipe_options *opt, struct feed_reader *r, struct filter_run *run,
		      struct pipe_sink *sink, enum spur_status *st)
{
	while (sink->left && !pipe_stopped(opt)) {
		struct marked_rows m;

		if (!run || !filter_rest(run, &m)) {
			*st = feed_reader_marked(r, &m);
			if (*st == SPUR_OK && run)
				*st = filter_rows(run, m, &m);
		}
		if (*st != SPUR_OK)
			return *st == SPUR_END;
		if (!sink_rows(sink, m))
			return false;
	}
	return false;
}

/* What a global filter held back until the last feed ended. */
static enum spur_status pipe_turn_rest(struct filter_run *run, struct pipe_sink *sink)
{
	struct marked_rows m;

	if (filter_rows(run, (struct marked_rows){ 0 }, &m) == SPUR_FAIL)
		return SPUR_FAIL;
	while (sink_rows(sink, m) && sink->left && filter_rest(run, &m))
		;
	return SPUR_OK;
}

static enum spur_status pipe_run_in_turn(struct spur_trace *t, const struct pipe_options *opt,
					 struct pipe_sink *sink)
{
	bool global = opt->filter && filter_is_global(opt->filter), go = true;
	struct filter_run *run = global ? filter_run_new(opt->filter, FILTER_MERGED) : NULL;
	enum spur_status st = global && !run ? SPUR_FAIL : SPUR_OK;

	for (size_t i = 0; i < t->nfeeds && go && st != SPUR_FAIL; i++) {
		struct feed_reader *r;

		if (opt->filter && filter_skips_feed(opt->filter, t->feeds[i]))
			continue;
		r = feed_reader_new(t, t->feeds[i], opt->filter, BATCH_ROWS);
		if (r)
			go = pipe_turn(opt, r, run, sink, &st);
		else
			st = SPUR_FAIL;
		feed_reader_free(r);
	}
	if (run && go && st != SPUR_FAIL)
		st = pipe_turn_rest(run, sink);
	filter_run_free(run);
	return st == SPUR_FAIL ? SPUR_FAIL : SPUR_OK;
}

static enum spur_status pipe_run_by_time(struct spur_trace *t, const struct pipe_options *opt,
					 struct pipe_sink *sink)
{
	struct merge *m = merge_new(t, opt->filter);
	enum spur_status st = m ? SPUR_OK : SPUR_FAIL;

	while (st == SPUR_OK && sink->left && !pipe_stopped(opt)) {
		struct marked_rows rows;

		st = merge_marked(m, &rows);
		if (st != SPUR_OK || !sink_rows(sink, rows))
			break;
	}
	if (opt->left)
		*opt->left = sink->left;
	merge_free(m);
	return st == SPUR_FAIL ? SPUR_FAIL : SPUR_OK;
}

enum spur_status pipe_run_marked(struct spur_trace *t, const struct pipe_options *opt,
				 bool (*rows)(void *self, struct marked_rows rows), void *self)
{
	struct pipe_sink sink = { rows, self, opt->limit ? opt->limit : UINT64_MAX };

	return opt->in_turn ? pipe_run_in_turn(t, opt, &sink) : pipe_run_by_time(t, opt, &sink);
}

/* A callback that wants no marks. */
struct pipe_plain {
	bool (*rows)(void *self, struct spur_event *rows, size_t n);
	void *self;
};

static bool plain_rows(void *self, struct marked_rows m)
{
	const struct pipe_plain *p = self;

	return p->rows(p->self, m.rows, m.n);
}

enum spur_status pipe_run_merged(struct spur_trace *t, const struct pipe_options *opt,
				 bool (*rows)(void *self, struct spur_event *rows, size_t n),
				 void *self)
{
	struct pipe_plain plain = { rows, self };

	return pipe_run_marked(t, opt, plain_rows, &plain);
}
