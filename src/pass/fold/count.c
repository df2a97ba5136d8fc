/* See count.h. */
#include "pass/fold/count.h"
#include "flow/args.h"
#include "format/format.h"

enum { CELLS = 1 << 24 };

static void cell_add(struct count_cell *c, uint64_t events, int64_t first, int64_t last)
{
	if (!c->events || first < c->first)
		c->first = first;
	if (!c->events || last > c->last)
		c->last = last;
	c->events += events;
}

/* Returns the cell of an id, of which `known` exist so far, or NULL if out of memory. */
static struct count_cell *cell_at(struct cells *c, uint32_t id, size_t known)
{
	if (id < c->n)
		return &c->items[id];
	/* Room for all at once: growing by doubling would take twice as much. */
	if (!mem_grow((void **)&c->items, &c->cap, id < known ? known : (size_t)id + 1,
		      sizeof(*c->items), CELLS))
		return NULL;
	c->n = (size_t)id + 1;
	return &c->items[id];
}

/* Adds the events of a stream and track. Returns false if out of memory. */
static bool cells_add(struct counts *c, uint32_t stream, uint32_t track, struct count_cell add)
{
	struct count_cell *s = cell_at(&c->streams, stream, trace_stream_count(c->trace));
	struct count_cell *k = cell_at(&c->tracks, track, trace_track_count(c->trace));

	if (!s || !k)
		return false;
	cell_add(s, add.events, add.first, add.last);
	cell_add(k, add.events, add.first, add.last);
	return true;
}

static int64_t row_end(const struct spur_event *row)
{
	int64_t end = row->ts;

	if (row->kind == SPUR_SPAN && row->dur > 0 &&
	    __builtin_add_overflow(row->ts, row->dur, &end))
		end = INT64_MAX;
	return end;
}

static bool count_args(struct counts *c, const struct spur_event *row)
{
	const struct spur_stream *s;
	enum spur_status st;
	uint32_t n;

	if (c->trace->format->args_proven &&
	    c->trace->format->args_proven(c->trace, row, &c->args, &n)) {
		c->nargs += n;
		return true;
	}
	st = args_decode(c->trace, row, &c->args);
	c->nargs += c->args.count;
	if (st != SPUR_WARN || !c->log)
		return st != SPUR_FAIL;
	s = trace_stream(c->trace, row->stream);
	diag_add(c->log, DIAG_DAMAGE, "arguments/damaged", s ? s->path : "", row->off, 0,
		 "arguments: expected %u, found %zu that can be read", row->nargs, c->args.count);
	return true;
}

static void count_log(void *worker, struct diag_log *log)
{
	struct counts *c = worker;

	c->log = log;
}

/* Rows of one stream and track that follow each other are counted at once. */
static bool count_rows(void *worker, struct spur_event *rows, size_t n)
{
	const uint64_t failures = mem_failures();
	struct counts *c = worker;

	for (size_t i = 0; i < n;) {
		const uint32_t stream = rows[i].stream, track = rows[i].track;
		int64_t first = rows[i].ts, last = first;
		const size_t from = i;

		for (; i < n && rows[i].stream == stream && rows[i].track == track; i++) {
			const int64_t end = row_end(&rows[i]);

			c->kinds[rows[i].kind < SPUR_KINDS ? rows[i].kind : SPUR_NATIVE]++;
			first = rows[i].ts < first ? rows[i].ts : first;
			last = end > last ? end : last;
			if ((c->what & COUNT_ARGS) && rows[i].nargs && !count_args(c, &rows[i]))
				return false;
		}
		if ((c->what & COUNT_CELLS) &&
		    !cells_add(c, stream, track, (struct count_cell){ i - from, first, last }))
			return false;
		cell_add(&c->all, i - from, first, last);
	}
	return !(c->what & COUNT_ARGS) || mem_failures() == failures;
}

/* tally.run */
static bool count_run(void *self, const struct tally_run *run)
{
	struct counts *c = self;

	cell_add(&c->all, run->rows, run->first, run->last);
	return !(c->what & COUNT_CELLS) ||
	       cells_add(c, run->stream, run->track,
			 (struct count_cell){ run->rows, run->first, run->last });
}

static struct tally *count_tally(void *worker)
{
	struct counts *c = worker;

	return &c->tally;
}

/* Adds the cells of `from`, or moves them if `into` is empty: a copy would cost as much. */
static bool cells_join(struct cells *into, struct cells *from)
{
	if (!into->items) {
		*into = *from;
		*from = (struct cells){ 0 };
	}
	for (size_t i = 0; i < from->n; i++) {
		struct count_cell *to = cell_at(into, (uint32_t)i, from->n);

		if (!to)
			return false;
		if (from->items[i].events)
			cell_add(to, from->items[i].events, from->items[i].first,
				 from->items[i].last);
	}
	return true;
}

static bool counts_join(struct counts *to, struct counts *from)
{
	if (from->all.events)
		cell_add(&to->all, from->all.events, from->all.first, from->all.last);
	for (size_t k = 0; k < SPUR_KINDS; k++)
		to->kinds[k] += from->kinds[k] + from->tally.kinds[k];
	to->nargs += from->nargs + from->tally.nargs;
	return cells_join(&to->streams, &from->streams) && cells_join(&to->tracks, &from->tracks);
}

void counts_free(struct counts *c)
{
	mem_free(c->streams.items);
	mem_free(c->tracks.items);
	spur_args_free(&c->args);
}

enum spur_status counts_run(struct pass_env *env, unsigned what, struct counts *out)
{
	static const struct pipe_fold fold = { .log = count_log,
					       .rows = count_rows,
					       .tally = count_tally };
	struct pipe_options opt = env->pipe;
	struct counts *workers;
	enum spur_status st;
	void **states;
	unsigned n;

	*out = (struct counts){ 0 };
	opt.any_order = true;
	opt.parts = what & COUNT_CELLS ? PIPE_PARTS_NAMED : PIPE_PARTS;
	n = pipe_workers(env->trace, &opt);
	workers = mem_array(n, sizeof(*workers));
	states = mem_array(n, sizeof(*states));
	st = workers && states ? SPUR_OK : SPUR_FAIL;
	for (unsigned i = 0; i < n && st == SPUR_OK; i++) {
		workers[i].trace = env->trace;
		workers[i].what = what;
		workers[i].tally = (struct tally){ .args = what & COUNT_ARGS,
						   .tracks = what & (COUNT_TRACKS | COUNT_CELLS),
						   .by_track = what & COUNT_CELLS,
						   .run = count_run,
						   .self = &workers[i] };
		states[i] = &workers[i];
	}
	if (st == SPUR_OK)
		st = pipe_run_feeds(env->trace, &opt, &fold, states);
	for (unsigned i = 0; workers && i < n; i++) {
		if (st == SPUR_OK && !counts_join(out, &workers[i]))
			st = SPUR_FAIL;
		counts_free(&workers[i]);
	}
	mem_free(workers);
	mem_free(states);
	return st == SPUR_OK ? SPUR_OK : err_nomem(env->err);
}
