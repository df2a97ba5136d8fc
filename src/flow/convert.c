/*
 * See convert.h. Text is made per feed in parallel. A piece of rows is one line to the merge: where
 * a piece ends depends on the rows alone, so that the same text comes out whatever the read size
 * and the number of threads.
 */
#include "flow/convert.h"

#include <assert.h>

#include "flow/ends.h"
#include "flow/fit.h"
#include "flow/lines.h"
#include "flow/walk.h"

enum { REST_TEXT = 1 << 20 /* of the ends that the data lacks, at once */ };

struct run {
	struct convert *convert;
	struct write write;
	void *state; /* the writer's */
	uint64_t rows; /* atomic */
};

/* One feed being written. */
struct lane {
	struct run *run;
	const struct spur_writer *writer;
	void *state; /* the writer's */
	uint32_t track; /* the feed's main one, which has .. */
	struct pair_stack stack;
	struct pair rest; /* stacks of other tracks */
	uint32_t at; /* the track whose stack is at hand in `fit`; SPUR_NONE: none */
	struct fit fit;
	struct ends ends;
	int64_t last; /* time of the latest row */
	size_t closed; /* stacks of `rest` that have been emptied since the feed ended */
	bool more; /* spans are open yet */
	struct out held; /* text of a piece that was begun */
	uint32_t piece; /* rows of it */
	int64_t piece_ts; /* of its first row */
};

static struct pair_stack *stack_of(struct lane *l, uint32_t track)
{
	return track == l->track ? &l->stack : pair_stack(&l->rest, track);
}

/*
 * Ends the span of a frame at the time of the row. A frame whose begin is missing was never
 * written.
 */
static inline bool end_out(struct lane *l, const struct spur_event *row, const struct pair_frame *f,
			   bool implied, struct out *o)
{
	const struct write_end end = { .cls = f->cls,
				       .name = (uint32_t)f->user,
				       .off_cpu = f->flags & PAIR_SCHED,
				       .implied = implied };

	if (f->flags & PAIR_MISSING)
		return true;
	assert(!(f->flags & PAIR_SPAN));
	return l->writer->end(l->state, row, &end, o);
}

/* Writes a row as the target carries its kind. */
static inline bool row_out(struct lane *l, const struct spur_event *row, struct out *o)
{
	const enum write_fit fit = l->writer->fits[row->kind];

	if (__builtin_expect(fit != WRITE_WHOLE, 0)) {
		loss_add(&l->run->write.loss,
			 fit == WRITE_DROPPED ? LOSS_KIND_DROPPED : LOSS_KIND_DEGRADED, row->kind);
		if (fit == WRITE_DROPPED)
			return true;
	}
	return l->writer->row(l->state, row, o);
}

/* Takes the stack of the row's track to hand. Returns false if out of memory. */
static __attribute__((noinline)) bool stack_load(struct lane *l, const struct spur_event *row)
{
	struct pair_stack *s = stack_of(l, row->track);

	if (!s)
		return false;
	l->at = row->track;
	l->fit = fit_load(s, row);
	return true;
}

/* Returns the stack at hand, up to date for other code than the quick path, or NULL. */
static inline struct pair_stack *stack_store(struct lane *l)
{
	struct pair_stack *s = l->at == SPUR_NONE ? NULL : stack_of(l, l->at);

	if (s)
		fit_store(s, l->fit.next);
	return s;
}

/* Ends all spans that the row implies ended. Returns false if out of memory. */
static bool due_out(struct lane *l, struct pair_stack *s, const struct spur_event *row,
		    struct out *o)
{
	const struct pair_frame *f;
	struct walk_end end;

	while ((f = walk_due(s, row, &end)))
		if (!end_out(l, row, f, true, o))
			return false;
	return true;
}

/* A row that opens or closes a span, in full. Returns false if out of memory. */
static bool span_step(struct lane *l, struct pair_stack *s, const struct spur_event *row,
		      struct out *o)
{
	struct pair_frame *f;

	if (!due_out(l, s, row, o))
		return false;
	/* The thread ends, and its spans with it. */
	if (row_ends_thread(row))
		return row->kind == SPUR_SWITCH || row_out(l, row, o);
	if (row->kind == SPUR_BEGIN || (row->kind == SPUR_SWITCH && (row->flags & SPUR_F_OUT))) {
		f = pair_push(s, row);
		if (f)
			f->user = row->name;
		return f && row_out(l, row, o);
	}
	f = walk_match(s, row);
	if (f)
		return end_out(l, row, f, false, o);
	if (row->kind == SPUR_SWITCH && l->writer->lone_switches)
		return row_out(l, row, o);
	loss_add(&l->run->write.loss, LOSS_ORPHAN, row->kind);
	return true;
}

/* A row that opens or closes a span. Returns false if out of memory. */
static inline bool span_out(struct lane *l, const struct spur_event *row, struct out *o)
{
	struct fit *v = &l->fit;
	struct pair_stack *s;
	uint64_t bits;

	if (__builtin_expect(row->track != l->at, 0)) {
		stack_store(l);
		if (!stack_load(l, row))
			return false;
	}
	bits = fit_bits(v, row);
	if (bits == v->begin && fit_has_room(v)) {
		fit_push(v, row, row->name);
		return row_out(l, row, o);
	}
	if (fit_is_end(v, bits) && fit_matches(v, row)) {
		fit_pop(v, 0);
		return end_out(l, row, v->next, false, o);
	}
	s = stack_store(l);
	return s && span_step(l, s, row, o) && stack_load(l, row);
}

/* A SPAN is written whole, but END rows must know of it (flow/pair.h). */
static bool span_note(struct lane *l, const struct spur_event *row)
{
	struct pair_stack *s = stack_of(l, row->track);

	if (s)
		pair_span(&s->spans, row);
	return s;
}

static inline bool any_out(struct lane *l, const struct spur_event *row, struct out *o)
{
	if (kind_is_call(row->kind) || row->kind == SPUR_SWITCH || row_ends_thread(row))
		return span_out(l, row, o);
	return (row->kind != SPUR_SPAN || span_note(l, row)) && row_out(l, row, o);
}

/* Ends what is open on a track when the data ends. Returns false if out of memory. */
static bool stack_rest(struct lane *l, struct pair_stack *s, uint32_t track, struct out *o)
{
	const int64_t last = l->run->write.trace->tops_apart ? ends_of(&l->ends, track) : l->last;
	struct spur_event row = { .kind = SPUR_END_SPAN, .track = track };
	const struct pair_frame *f;
	struct walk_end end;

	while (o->len <= REST_TEXT && (f = walk_rest(s, last, &end))) {
		row.ts = end.ts;
		if (!end_out(l, &row, f, true, o))
			return false;
	}
	return true;
}

/*
 * The feed is over. A run that was told to stop knows nothing of ends. Returns false if out of
 * memory.
 */
static bool lane_end(struct lane *l, struct lines *out)
{
	const volatile int *stop = l->run->convert->pipe.stop;
	struct out *o = &out->text;
	bool good = true;

	stack_store(l);
	l->at = SPUR_NONE;
	if (!(stop && *stop)) {
		good = stack_rest(l, &l->stack, l->track, o);
		while (good && o->len <= REST_TEXT && l->closed < l->rest.cap) {
			struct pair_stack *s = pair_at(&l->rest, l->closed);

			good = !s || stack_rest(l, s, (uint32_t)l->closed, o);
			l->closed += !s || !s->n;
		}
		l->more = l->stack.n || l->closed < l->rest.cap;
	}
	return good && (!o->len || lines_mark(out, l->piece ? l->piece_ts : l->last, l->track));
}

/* What is begun when the rows are used up goes on with the next ones. */
static bool lane_rows(void *lane, struct spur_event *rows, size_t n, struct lines *out)
{
	struct lane *l = lane;
	struct out *o = &out->text;
	size_t begun = o->len;

	assert(l->piece < l->writer->piece);
	out_bytes(o, l->held.buf, l->held.len);
	out_clear(&l->held);
	for (size_t i = 0; i < n; i++) {
		if (!l->piece++)
			l->piece_ts = rows[i].ts;
		l->last = rows[i].ts > l->last ? rows[i].ts : l->last;
		if (!any_out(l, &rows[i], o))
			return false;
		if (l->piece < l->writer->piece)
			continue;
		if (!lines_mark(out, l->piece_ts, rows[i].track))
			return false;
		l->piece = 0;
		begun = o->len;
	}
	if (!n)
		return lane_end(l, out);
	__atomic_fetch_add(&l->run->rows, n, __ATOMIC_RELAXED);
	if (o->len > begun)
		out_bytes(&l->held, o->buf + begun, o->len - begun);
	o->len = begun;
	return !l->held.error && ends_rows(&l->ends, rows, n);
}

static bool lane_rest(const void *lane)
{
	return ((const struct lane *)lane)->more;
}

static void lane_close(void *lane)
{
	struct lane *l = lane;

	l->writer->lane_close(l->state);
	pair_stack_free(&l->stack);
	pair_free(&l->rest);
	ends_free(&l->ends);
	out_free(&l->held);
	mem_free(l);
}

static void *lane_open(void *self, const struct feed *f)
{
	struct run *run = self;
	struct lane *l = mem_alloc(sizeof(*l));

	if (!l)
		return NULL;
	l->run = run;
	l->writer = run->write.writer;
	l->track = f ? f->track : SPUR_NONE;
	l->at = SPUR_NONE;
	l->last = INT64_MIN;
	ends_begin(&l->ends, run->write.trace);
	pair_init(&l->rest);
	out_to_memory(&l->held);
	l->state = l->writer->lane(run->state, l->track);
	if (l->state)
		return l;
	out_free(&l->held);
	mem_free(l);
	return NULL;
}

static bool wants_args(const struct write *w, uint32_t cls)
{
	const struct convert *c = w->user;
	struct filter *filter = c->pipe.filter;

	return !c->no_args && !(filter && (filter_marks(filter, cls) & FILTER_MARK_NOARGS));
}

/* Returns SPUR_FAIL if out of memory. May read rows, and find tracks in them. */
static enum spur_status choose_zero(struct write *w, enum convert_zero how)
{
	const int64_t exact = w->writer->exact_ns;
	int64_t start;

	if (how == ZERO_CLOCK || (how == ZERO_EXACT && !exact))
		return SPUR_OK;
	if (trace_start(w->trace, &start) == SPUR_FAIL)
		return SPUR_FAIL;
	if (how == ZERO_START || start > exact || start < -exact)
		w->zero = start;
	return SPUR_OK;
}

/* The core's reasons and the writer's. */
static void reasons_of(const struct spur_writer *writer, struct loss_reason reasons[LOSS_REASONS])
{
	assert(LOSS_OWN + writer->nreasons <= LOSS_REASONS);
	reasons[LOSS_ORPHAN] =
		(struct loss_reason){ LOSS_DROPPED, "an end whose begin is not in the data" };
	reasons[LOSS_KIND_DROPPED] = (struct loss_reason){ LOSS_DROPPED, writer->dropped };
	reasons[LOSS_KIND_DEGRADED] = (struct loss_reason){ LOSS_DEGRADED, writer->degraded };
	for (size_t i = 0; i < writer->nreasons; i++)
		reasons[LOSS_OWN + i] = writer->reasons[i];
}

enum spur_status convert_run(struct convert *c, struct spur_trace *t,
			     const struct spur_writer *writer, struct out *o)
{
	static const struct pipe_lines lines = {
		.open = lane_open, .rows = lane_rows, .rest = lane_rest, .close = lane_close
	};
	struct run run = { .convert = c };
	enum spur_status st;

	reasons_of(writer, c->reasons);
	run.write = (struct write){ .trace = t,
				    .writer = writer,
				    .out = o,
				    .loss = { .reasons = c->reasons,
					      .count = LOSS_OWN + writer->nreasons },
				    .wants_args = wants_args,
				    .user = c };
	run.state = writer->open(&run.write);
	if (!run.state)
		return SPUR_FAIL;
	st = choose_zero(&run.write, c->zero);
	if (st != SPUR_FAIL)
		st = pipe_run_lines(t, &c->pipe, &lines, &run, o);
	if (st != SPUR_FAIL)
		writer->finish(run.state);
	writer->close(run.state);
	c->loss = run.write.loss;
	c->rows = run.rows;
	return st;
}
