/* See count.h. */
#include "pass/fold/count.h"
#include "flow/args.h"

enum { CELLS = 1 << 24 };

static void cell_add(struct count_cell *c, uint64_t events, int64_t first, int64_t last)
{
	if (!c->events || first < c->first)
		c->first = first;
	if (!c->events || last > c->last)
		c->last = last;
	c->events += events;
}

static struct count_cell *cell_at(struct count_cell **cells, size_t *n, size_t *cap, uint32_t id)
{
	if (id < *n)
		return &(*cells)[id];
	if (!mem_grow((void **)cells, cap, (size_t)id + 1, sizeof(**cells), CELLS))
		return NULL;
	*n = (size_t)id + 1;
	return &(*cells)[id];
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
	const enum spur_status st = args_decode(c->trace, row, &c->args);

	c->nargs += c->args.count;
	if (st != SPUR_WARN || !c->feed)
		return st != SPUR_FAIL;
	s = trace_stream(c->trace, row->stream);
	diag_add(&c->feed->diag, DIAG_DAMAGE, "arguments/damaged", s ? s->path : "", row->off, 0,
		 "arguments: expected %u, found %zu that can be read", row->nargs, c->args.count);
	return true;
}

static bool count_feed(void *worker, const struct feed *f)
{
	struct counts *c = worker;

	c->feed = f ? c->trace->feeds[f->id] : NULL;
	return true;
}

/* Rows of one stream and track that follow each other are counted at once. */
static bool count_rows(void *worker, struct spur_event *rows, size_t n)
{
	const uint64_t failures = mem_failures();
	struct counts *c = worker;

	for (size_t i = 0; i < n;) {
		const uint32_t stream = rows[i].stream, track = rows[i].track;
		struct count_cell *s = cell_at(&c->streams, &c->nstreams, &c->streams_cap, stream);
		struct count_cell *k = cell_at(&c->tracks, &c->ntracks, &c->tracks_cap, track);
		int64_t first = rows[i].ts, last = first;
		const size_t from = i;

		if (!s || !k)
			return false;
		for (; i < n && rows[i].stream == stream && rows[i].track == track; i++) {
			const int64_t end = row_end(&rows[i]);

			c->kinds[rows[i].kind < SPUR_KINDS ? rows[i].kind : SPUR_NATIVE]++;
			first = rows[i].ts < first ? rows[i].ts : first;
			last = end > last ? end : last;
			if (c->want_args && rows[i].nargs && !count_args(c, &rows[i]))
				return false;
		}
		cell_add(s, i - from, first, last);
		cell_add(k, i - from, first, last);
		cell_add(&c->all, i - from, first, last);
	}
	return !c->want_args || mem_failures() == failures;
}

/* Exchanges the tables of cells: one that is moved costs no second one. */
static void cells_swap(struct counts *a, struct counts *b)
{
	const struct counts was = *a;

	a->streams = b->streams;
	a->nstreams = b->nstreams;
	a->streams_cap = b->streams_cap;
	a->tracks = b->tracks;
	a->ntracks = b->ntracks;
	a->tracks_cap = b->tracks_cap;
	b->streams = was.streams;
	b->nstreams = was.nstreams;
	b->streams_cap = was.streams_cap;
	b->tracks = was.tracks;
	b->ntracks = was.ntracks;
	b->tracks_cap = was.tracks_cap;
}

static bool cells_join(struct count_cell **into, size_t *n, size_t *cap,
		       const struct count_cell *from, size_t nfrom)
{
	for (size_t i = 0; i < nfrom; i++) {
		struct count_cell *to = cell_at(into, n, cap, (uint32_t)i);

		if (!to)
			return false;
		if (from[i].events)
			cell_add(to, from[i].events, from[i].first, from[i].last);
	}
	return true;
}

static bool counts_join(struct counts *to, struct counts *from)
{
	if (!to->streams && !to->tracks)
		cells_swap(to, from);
	if (from->all.events)
		cell_add(&to->all, from->all.events, from->all.first, from->all.last);
	for (size_t k = 0; k < SPUR_KINDS; k++)
		to->kinds[k] += from->kinds[k];
	to->nargs += from->nargs;
	return cells_join(&to->streams, &to->nstreams, &to->streams_cap, from->streams,
			  from->nstreams) &&
	       cells_join(&to->tracks, &to->ntracks, &to->tracks_cap, from->tracks, from->ntracks);
}

void counts_free(struct counts *c)
{
	mem_free(c->streams);
	mem_free(c->tracks);
	spur_args_free(&c->args);
}

enum spur_status counts_run(struct pass_env *env, bool want_args, struct counts *out)
{
	static const struct pipe_fold fold = { .feed_begin = count_feed, .rows = count_rows };
	struct pipe_options opt = env->pipe;
	const unsigned n = pipe_workers(env->trace, &env->pipe);
	struct counts *workers = mem_array(n, sizeof(*workers));
	void **states = mem_array(n, sizeof(*states));
	enum spur_status st = workers && states ? SPUR_OK : SPUR_FAIL;

	*out = (struct counts){ 0 };
	opt.any_order = true;
	for (unsigned i = 0; i < n && st == SPUR_OK; i++) {
		workers[i].trace = env->trace;
		workers[i].want_args = want_args;
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
