/*
 * The one place that owns control: rows are pulled from feeds, filtered, and handed to passes.
 * Three shapes: per feed in parallel (sums), merged by time (anything), merged with rendering on
 * all cores (text).
 */
#ifndef SPUR_FLOW_PIPE_H
#define SPUR_FLOW_PIPE_H

#include "base/out.h"
#include "base/source.h"
#include "flow/filter.h"

/* Whether threads may read parts of one feed at once, where the format can divide it. */
enum pipe_parts {
	PIPE_WHOLE, /* no: rows of a feed depend on those before them */
	PIPE_PARTS, /* yes */
	PIPE_PARTS_NAMED, /* if tracks get the names that they get where a feed is read in order */
	PIPE_PARTS_CALLS, /* yes, with pipe_fold.part_join() */
};

struct pipe_options {
	unsigned threads; /* 0: all processors */
	enum pipe_parts parts; /* set by passes, each for itself */
	struct filter *filter; /* NULL: all rows */
	/* What is merged otherwise: one feed after the other instead, in the trace's order */
	bool in_turn;
	bool any_order; /* feeds apart even where they share tracks (trace.h, tracks_shared) */
	uint64_t limit; /* stop after this many rows (0: none) */
	uint64_t *left; /* set to what is left of `limit` at the end; NULL: not wanted */
	volatile const int *stop; /* set by a signal handler: end early, well-formed (NULL: none) */
};

/*
 * More input may come: rows are passed on as they are, and text is written before more is waited
 * for.
 */
static inline bool pipe_is_live(const struct spur_trace *t)
{
	return t->live || (t->source && !t->source->mapped && !t->source->eof);
}

/*
 * Rows of one feed after the filter. SPUR_OK with n >= 1, SPUR_END, SPUR_FAIL. Rows live until the
 * next call and may be changed.
 */
struct feed_reader;

/*
 * `rows`: how many are read at once; 0: the caller lends memory for them before each
 * feed_reader_next(). Of a filter that is global only the part that needs no other feed is applied.
 */
struct feed_reader *feed_reader_new(struct spur_trace *t, struct feed *f, struct filter *filter,
				    uint32_t rows);
enum spur_status feed_reader_next(struct feed_reader *r, struct spur_event **rows, size_t *n);
/* The same with what the filter marks (filter_keep_unseen()). */
enum spur_status feed_reader_marked(struct feed_reader *r, struct marked_rows *out);
/* Memory for `cap` rows, in which the next ones are read. It must stay until they are used up. */
void feed_reader_lend(struct feed_reader *r, struct spur_event *rows, uint32_t cap);
/*
 * From now on calls may be summed in `sink` (model/sink.h) in place of rows, unless there is a
 * filter; NULL: they may not. Rows come after the calls that were summed by the same
 * feed_reader_next().
 */
void feed_reader_sink(struct feed_reader *r, struct call_sink *sink);
/*
 * From now on rows may be counted in `tally` (model/tally.h) in place of making them, unless there
 * is a filter; NULL: they may not.
 */
void feed_reader_tally(struct feed_reader *r, struct tally *tally);
void feed_reader_free(struct feed_reader *r);
/*
 * Reads the first row, or the next one, of a feed that no reader has begun into f->ahead; a later
 * reader hands them out first. Reads one row and no batch, because the rows of a batch depend on
 * how the bytes arrive, and the ids of classes on which rows were made before those of other feeds.
 * Returns SPUR_END if there are no more.
 */
enum spur_status feed_read_ahead(struct spur_trace *t, struct feed *f);
/* As the format's next(), after the rows that were read ahead. */
enum spur_status feed_next(struct spur_trace *t, struct feed *f, struct batch *b);
/*
 * Makes all feeds return their first row again, and forgets what they reported. `read`: the trace's
 * counts before any feed was read. Requires spur_format.rewind.
 */
void feeds_rewind(struct spur_trace *t, const struct read_counts *read);
/*
 * The ts of the trace's first event, whatever the filter: what shown times and --from count from; 0
 * if the trace is empty. Called first before any feed is read; reads the first rows of all that may
 * have it. Returns SPUR_FAIL if out of memory.
 */
enum spur_status trace_start(struct spur_trace *t, int64_t *first);
/*
 * Whether it is known when the feed, of which no row has been handed out, begins: *ts is the time
 * of its first row, or an earlier one.
 */
bool feed_begins(struct spur_trace *t, const struct feed *f, int64_t *ts);

/*
 * All feeds merged by (ts, feed id), stable within a feed. Batches are cut so that rows live until
 * the next call.
 */
struct merge;
struct merge *merge_new(struct spur_trace *t, struct filter *filter);
enum spur_status merge_next(struct merge *m, struct spur_event **rows, size_t *n);
/* The same with what the filter marks. */
enum spur_status merge_marked(struct merge *m, struct marked_rows *out);
void merge_free(struct merge *m);

/*
 * Per feed in parallel: each worker has its own state, each feed, or part of one
 * (pipe_options.parts), is read by one worker from begin to end. The caller joins the states
 * afterwards: results must not depend on which worker had which feed. Where the filter is global,
 * tracks are shared (trace.h), or there is a limit the feeds are read merged on one worker instead:
 * then rows of several feeds are mixed, feed_begin/feed_end get NULL once.
 */
struct pipe_fold {
	/*
	 * Called before feed_begin() with the log for what is found in the rows, unless those of
	 * several feeds are mixed; or NULL.
	 */
	void (*log)(void *worker, struct diag_log *log);
	bool (*feed_begin)(void *worker, const struct feed *f);
	bool (*rows)(void *worker, struct spur_event *rows, size_t n);
	bool (*marked)(void *worker, struct marked_rows rows); /* instead of `rows`; or NULL */
	bool (*feed_end)(void *worker, const struct feed *f);
	/*
	 * Called before each rows() if the format sums calls: returns where those that come before
	 * the rows may be summed, or NULL. The function itself is NULL if they may not.
	 */
	struct call_sink *(*sink)(void *worker);
	/* Returns where rows of any feed may be counted in place of rows(), or NULL; or NULL. */
	struct tally *(*tally)(void *worker);
	/*
	 * With PIPE_PARTS_CALLS: makes the state of a feed's first part, to which the others are
	 * joined in order while parts behind them are read, or of another part. Returns NULL if out
	 * of memory.
	 */
	void *(*part_new)(const void *worker, const struct feed *f, bool first);
	/*
	 * Joins a part to those before it. Returns false if out of memory. Sets *fits to false,
	 * with nothing changed, if the part must be read again, as what follows `first`.
	 */
	bool (*part_join)(void *first, void *part, bool *fits);
	/* The feed ends: adds all its parts to a worker's state. Returns false if out of memory. */
	bool (*part_end)(void *worker, void *first);
	void (*part_free)(void *part);
};
/*
 * `states`: pipe_workers() states, owned by the caller. Returns SPUR_FAIL if a callback returned
 * false (out of memory).
 */
unsigned pipe_workers(const struct spur_trace *t, const struct pipe_options *opt);
enum spur_status pipe_run_feeds(struct spur_trace *t, const struct pipe_options *opt,
				const struct pipe_fold *fold, void *const *states);

/* Merged by time on the caller's thread. `rows` returns false to stop early. */
enum spur_status pipe_run_merged(struct spur_trace *t, const struct pipe_options *opt,
				 bool (*rows)(void *self, struct spur_event *rows, size_t n),
				 void *self);
/* The same with what the filter marks. */
enum spur_status pipe_run_marked(struct spur_trace *t, const struct pipe_options *opt,
				 bool (*rows)(void *self, struct marked_rows rows), void *self);

/*
 * Merged by time, in two halves: `stage` runs on one thread in time order, keeps state (stacks,
 * last rows), and puts the rows to show into `out` (copies; whatever render() needs must be in
 * struct shown_row). `render` is stateless and runs on any thread; its text goes out in
 * order. Final rows come from stage with rows.n == 0, unless it stopped. SPUR_FAIL: memory. Where
 * writing fails the run ends early with SPUR_OK and out->error set (EPIPE: the reader went away).
 */
struct render_rows {
	struct shown_row *rows; /* room for `cap` */
	size_t count, cap;
	bool failed; /* render_add() found no memory */
};
struct pipe_render {
	/* Grows `out` by render_add(). Returns false to stop, or if out of memory. */
	bool (*stage)(void *self, struct marked_rows rows, struct render_rows *out);
	void (*render)(const void *self, const struct shown_row *rows, size_t n, struct out *o,
		       struct spur_args *scratch);
	/* Text costs less than moving a row to another CPU's cache: one thread does all. */
	bool light;
};
/* Out of line half of render_add(). */
struct shown_row *render_add_slow(struct render_rows *out);
/* Appends a row, not initialised. Returns NULL if out of memory. */
static inline struct shown_row *render_add(struct render_rows *out)
{
	return __builtin_expect(out->count < out->cap, 1) ? &out->rows[out->count++]
							  : render_add_slow(out);
}
enum spur_status pipe_run_render(struct spur_trace *t, const struct pipe_options *opt,
				 const struct pipe_render *r, void *self, struct out *o);

#endif
