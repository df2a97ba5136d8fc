/*
 * See convert.h. Text is made per feed in parallel. A piece of rows is one line to the merge: where
 * a piece ends depends on the rows alone, so that the same text comes out whatever the read size
 * and the number of threads.
 */
#include "flow/convert.h"

#include <assert.h>
#include <errno.h>

#include "base/err.h"
#include "base/pool.h"
#include "flow/args.h"
#include "flow/ends.h"
#include "flow/fit.h"
#include "flow/lines.h"
#include "flow/walk.h"
#include "format/format.h"

enum { REST_TEXT = 1 << 20 /* of the ends that the data lacks, at once */ };

struct run {
	struct convert *convert;
	struct write write;
	void *state; /* the writer's */
	uint64_t rows; /* atomic */
};

/* The rows that began the frames of a stack, in step with it. */
struct begins {
	struct spur_event *rows;
	size_t cap;
};

/* How a span ends. */
enum end_how {
	END_OWN, /* by a row of its own */
	END_IMPLIED, /* by a row that implies it */
	END_OPEN, /* by the end of the data */
	END_WHOLE, /* by itself: it was a SPAN row */
};

/* One feed being written. */
struct lane {
	struct run *run;
	const struct spur_writer *writer;
	const uint8_t *fits; /* see struct write */
	void *state; /* the writer's */
	uint32_t track; /* the feed's main one, which has .. */
	struct pair_stack stack;
	struct pair rest; /* stacks of other tracks */
	uint32_t at; /* the track whose stack is at hand in `fit`; SPUR_NONE: none */
	struct fit fit;
	struct begins kept; /* WRITE_SPANS_WHOLE: of the feed's main track */
	struct begins *kept_of; /* .. and of other tracks, by track */
	size_t kept_cap;
	struct mem_spare kept_spare; /* rows of stacks that are empty */
	struct ends ends;
	int64_t last; /* time of the latest row */
	size_t closed; /* stacks of `rest` that have been emptied since the feed ended */
	bool more; /* spans are open yet */
	bool alone; /* all feeds are in this lane, so that its text need not be in pieces */
	bool slow; /* WRITE_SPANS_WHOLE: what begins a span is kept, out of the quick path */
	struct out held; /* text of a piece that was begun */
	uint32_t piece; /* rows of it */
	int64_t piece_ts; /* of its first row */
};

static struct pair_stack *stack_of(struct lane *l, uint32_t track)
{
	return track == l->track ? &l->stack : pair_stack(&l->rest, track);
}

static struct begins *begins_of(struct lane *l, uint32_t track)
{
	if (track == l->track)
		return &l->kept;
	return mem_table_grow((void **)&l->kept_of, &l->kept_cap, (size_t)track + 1,
			      sizeof(*l->kept_of), PAIR_TRACKS)
		       ? &l->kept_of[track]
		       : NULL;
}

/* Keeps the row that began the topmost frame. Returns false if out of memory. */
static bool begin_keep(struct lane *l, const struct pair_stack *s, const struct spur_event *row)
{
	struct begins *b = begins_of(l, row->track);

	assert(s->n);
	if (b && !b->cap)
		mem_spare_take(&l->kept_spare, (void **)&b->rows, &b->cap);
	/* Of very many tracks most have few open spans. */
	if (!b || !mem_grow((void **)&b->rows, &b->cap, s->n, sizeof(*b->rows),
			    b->cap < MEM_FEW ? s->n : PAIR_DEPTH))
		return false;
	b->rows[s->n - 1] = *row;
	return true;
}

/* Counts the kind if the target does not carry it whole. Returns false if it is dropped. */
static bool kind_is_carried(struct lane *l, unsigned kind)
{
	const enum write_fit fit = l->fits[kind];

	if (fit != WRITE_WHOLE)
		loss_add(&l->run->write.loss,
			 fit == WRITE_DROPPED ? LOSS_KIND_DROPPED : LOSS_KIND_DEGRADED, kind);
	return fit != WRITE_DROPPED;
}

/* Hands a whole span to the writer. Returns false if out of memory. */
static bool span_give(struct lane *l, const struct spur_event *row, const struct spur_event *last,
		      const struct write_end *end, struct out *o)
{
	return !kind_is_carried(l, row->kind) || l->writer->span(l->state, row, last, end, o);
}

/* Writes a span as a whole; the frame has been popped from the stack. */
static bool span_whole(struct lane *l, const struct spur_event *last, size_t at,
		       const struct write_end *end, struct out *o)
{
	struct begins *b = begins_of(l, last->track);
	struct spur_event row;

	if (!b || at >= b->cap)
		return false;
	row = b->rows[at];
	if (!at)
		mem_spare_put(&l->kept_spare, (void **)&b->rows, &b->cap);
	row.dur = last->ts > row.ts ? (int64_t)((uint64_t)last->ts - (uint64_t)row.ts) : 0;
	return span_give(l, &row, end->implied || end->whole ? NULL : last, end, o);
}

/*
 * Ends the span of a frame, which was popped from the stack `s`, at the time of the row. A frame
 * whose begin is missing was never written.
 */
static inline bool end_out(struct lane *l, const struct pair_stack *s, const struct spur_event *row,
			   const struct pair_frame *f, enum end_how how, struct out *o)
{
	const struct write_end end = { .cls = f->cls,
				       .name = (uint32_t)f->user,
				       .off_cpu = f->flags & PAIR_SCHED,
				       .implied = how == END_IMPLIED || how == END_OPEN,
				       .unfinished = how == END_OPEN,
				       .whole = how == END_WHOLE,
				       .begin = f->ts };

	if (f->flags & PAIR_MISSING)
		return true;
	assert((f->flags & PAIR_SPAN) == 0 || how == END_WHOLE);
	if (__builtin_expect(l->writer->spans == WRITE_SPANS_WHOLE, 0))
		return span_whole(l, row, s->n, &end, o);
	return l->writer->end(l->state, row, &end, o);
}

/* Writes a row as the target carries its kind. */
static inline bool row_out(struct lane *l, const struct spur_event *row, struct out *o)
{
	if (__builtin_expect(l->fits[row->kind] != WRITE_WHOLE, 0) &&
	    !kind_is_carried(l, row->kind))
		return true;
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

/*
 * Ends the span of a SPAN row, at its own end, or at `limit` if the span around it ends before.
 * Returns false if out of memory.
 */
static bool whole_out(struct lane *l, const struct pair_stack *s, const struct pair_frame *f,
		      const struct spur_event *by, struct out *o)
{
	struct spur_event row = { .kind = SPUR_END_SPAN,
				  .track = by->track,
				  .cls = f->cls,
				  .name = (uint32_t)f->user,
				  .stream = by->stream,
				  .cpu = by->cpu,
				  .ts = f->end };

	if (f->end > by->ts) {
		loss_add(&l->run->write.loss, LOSS_OVERLAP, SPUR_SPAN);
		row.ts = by->ts > f->ts ? by->ts : f->ts;
	}
	return end_out(l, s, &row, f, END_WHOLE, o);
}

/* Ends all spans that the row implies ended. Returns false if out of memory. */
static bool due_out(struct lane *l, struct pair_stack *s, const struct spur_event *row,
		    struct out *o)
{
	const struct pair_frame *f;
	struct walk_end end;

	while ((f = walk_due(s, row, &end)))
		if (!(f->flags & PAIR_SPAN ? whole_out(l, s, f, row, o)
					   : end_out(l, s, row, f, END_IMPLIED, o)))
			return false;
	return true;
}

/* Pushes the frame of a row that opens a span. Returns false if out of memory. */
static bool span_open(struct lane *l, struct pair_stack *s, const struct spur_event *row,
		      struct out *o)
{
	struct pair_frame *f = walk_push(s, row);
	struct spur_event begin;

	if (!f)
		return false;
	f->user = row->name;
	if (l->writer->spans == WRITE_SPANS_WHOLE)
		return begin_keep(l, s, row);
	if (row->kind != SPUR_SPAN)
		return row_out(l, row, o);
	begin = *row;
	begin.kind = SPUR_BEGIN;
	begin.dur = 0;
	return row_out(l, &begin, o);
}

/* Returns true if the row opens a span for this writer. */
static bool row_opens(const struct lane *l, const struct spur_event *row)
{
	return row->kind == SPUR_BEGIN ||
	       (row->kind == SPUR_SPAN && l->writer->spans == WRITE_SPANS_SPLIT) ||
	       (row->kind == SPUR_SWITCH && (row->flags & SPUR_F_OUT) &&
		l->writer->switches != WRITE_SWITCHES_ROWS);
}

/* An end that ends nothing. */
static bool orphan_out(struct lane *l, const struct spur_event *row, struct out *o)
{
	if (row->kind == SPUR_SWITCH ? l->writer->switches != WRITE_SWITCHES_PAIRED
				     : l->writer->takes_orphans)
		return row_out(l, row, o);
	loss_add(&l->run->write.loss, LOSS_ORPHAN, row->kind);
	return true;
}

/* A row that opens or closes a span, in full. Returns false if out of memory. */
static bool span_step(struct lane *l, struct pair_stack *s, const struct spur_event *row,
		      struct out *o)
{
	const bool as_row =
		row->kind == SPUR_INSTANT ||
		(row->kind == SPUR_SWITCH && l->writer->switches == WRITE_SWITCHES_ROWS);
	struct pair_frame *f;

	if (as_row && !row_ends_thread(row))
		return row_out(l, row, o);
	if (!due_out(l, s, row, o))
		return false;
	/* The thread ends, and its spans with it. */
	if (row_ends_thread(row))
		return !as_row || row_out(l, row, o);
	if (row_opens(l, row))
		return span_open(l, s, row, o);
	f = walk_match(s, row);
	if (f)
		return end_out(l, s, row, f, END_OWN, o);
	return orphan_out(l, row, o);
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
	if (bits == v->begin && fit_has_room(v) && !l->slow) {
		fit_push(v, row, row->name);
		return row_out(l, row, o);
	}
	if (fit_is_end(v, bits) && fit_matches(v, row) && !l->slow) {
		fit_pop(v, 0);
		return end_out(l, NULL, row, v->next, END_OWN, o);
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

/* Ends the spans of SPAN rows that are over when a row of another kind comes. */
static bool past_out(struct lane *l, const struct spur_event *row, struct out *o)
{
	struct pair_stack *s = stack_of(l, row->track);
	const struct pair_frame *top;

	if (!s)
		return false;
	if (row->track == l->at)
		stack_store(l);
	while (s->n && (top = &s->frames[s->n - 1])->flags & PAIR_SPAN && top->end <= row->ts)
		if (!whole_out(l, s, pair_pop(s), row, o))
			return false;
	return row->track != l->at || stack_load(l, row);
}

/* A SPAN row for a writer of whole spans. */
static bool span_alone(struct lane *l, const struct spur_event *row, struct out *o)
{
	const struct write_end end = {
		.cls = row->cls, .name = row->name, .whole = true, .begin = row->ts
	};

	return span_give(l, row, NULL, &end, o);
}

static inline bool any_out(struct lane *l, const struct spur_event *row, struct out *o)
{
	if (kind_is_call(row->kind) || row->kind == SPUR_SWITCH || row_ends_thread(row))
		return span_out(l, row, o);
	if (l->writer->spans == WRITE_SPANS_SPLIT)
		return row->kind == SPUR_SPAN ? span_out(l, row, o)
					      : past_out(l, row, o) && row_out(l, row, o);
	if (row->kind != SPUR_SPAN)
		return row_out(l, row, o);
	return span_note(l, row) && (l->slow ? span_alone(l, row, o) : row_out(l, row, o));
}

/* Ends a span that is open when the data ends. Returns false if out of memory. */
static bool open_out(struct lane *l, const struct pair_stack *s, const struct spur_event *row,
		     const struct pair_frame *f, struct out *o)
{
	if (l->writer->spans != WRITE_SPANS_STORED && !(f->flags & (PAIR_MISSING | PAIR_SCHED)))
		loss_add(&l->run->write.loss, LOSS_OPEN, SPUR_BEGIN);
	return end_out(l, s, row, f, END_OPEN, o);
}

/* Ends what is open on a track when the data ends. Returns false if out of memory. */
static bool stack_rest(struct lane *l, struct pair_stack *s, uint32_t track, struct out *o)
{
	const int64_t last = ends_are_apart(&l->ends) ? ends_of(&l->ends, track) : l->last;
	struct spur_event row = { .kind = SPUR_END_SPAN, .track = track, .cpu = SPUR_NO_CPU };
	const struct pair_frame *f;
	struct walk_end end;
	bool good = true;

	while (good && o->len <= REST_TEXT && (f = walk_rest(s, last, &end))) {
		row.ts = end.ts;
		if (f->flags & PAIR_SPAN)
			good = whole_out(l, s, f, &row, o);
		else if (!l->writer->takes_open)
			good = open_out(l, s, &row, f, o);
	}
	return good;
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

/* Appends a piece that was begun by earlier rows. Returns false if out of memory. */
static bool held_out(struct lane *l, struct out *o)
{
	out_part(o, &l->held, 0, l->held.len);
	out_clear(&l->held);
	return !l->held.error;
}

/*
 * What is begun when the rows are used up goes on with the next ones. It stays in `held` until they
 * are enough to end it, as there may be few rows at a time.
 */
static bool lane_rows(void *lane, struct spur_event *rows, size_t n, struct lines *out)
{
	struct lane *l = lane;
	struct out *const text = &out->text, *o = text;
	size_t begun = text->len;
	const uint32_t piece = l->writer->piece && !l->alone ? l->writer->piece : UINT32_MAX;

	assert(l->piece < piece);
	if (l->held.len && n && n < piece - l->piece)
		o = &l->held;
	else if (!held_out(l, text))
		return false;
	if (l->run->convert->mask && !mask_rows(l->run->convert->mask, rows, n))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!l->piece++)
			l->piece_ts = rows[i].ts;
		l->last = rows[i].ts > l->last ? rows[i].ts : l->last;
		if (!any_out(l, &rows[i], o))
			return false;
		if (l->piece < piece)
			continue;
		assert(o == text);
		if (!lines_mark(out, l->piece_ts, rows[i].track))
			return false;
		l->piece = 0;
		begun = o->len;
	}
	if (!n)
		return lane_end(l, out);
	__atomic_fetch_add(&l->run->rows, n, __ATOMIC_RELAXED);
	if (l->alone) {
		l->piece = 0;
		return (text->len == begun || lines_mark(out, l->piece_ts, rows[n - 1].track)) &&
		       ends_rows(&l->ends, rows, n);
	}
	out_part(&l->held, text, begun, text->len);
	out_cut(text, begun);
	return !l->held.error && ends_rows(&l->ends, rows, n);
}

static bool lane_rest(const void *lane)
{
	return ((const struct lane *)lane)->more;
}

static void lane_close(void *lane)
{
	struct lane *l = lane;

	if (l->writer->lane_close)
		l->writer->lane_close(l->state);
	for (size_t i = 0; i < l->kept_cap; i++)
		mem_free(l->kept_of[i].rows);
	mem_table_free(l->kept_of, l->kept_cap, sizeof(*l->kept_of));
	mem_spare_free(&l->kept_spare);
	mem_free(l->kept.rows);
	pair_stack_free(&l->stack);
	pair_free(&l->rest);
	ends_free(&l->ends);
	out_free(&l->held);
	pool_free(l, sizeof(*l));
}

static void *lane_open(void *self, const struct feed *f)
{
	struct run *run = self;
	struct lane *l = pool_alloc(sizeof(*l));

	if (!l)
		return NULL;
	l->run = run;
	l->writer = run->write.writer;
	l->fits = run->write.fits;
	l->track = f ? f->track : SPUR_NONE;
	l->at = SPUR_NONE;
	l->last = INT64_MIN;
	l->alone = !f;
	l->slow = l->writer->spans == WRITE_SPANS_WHOLE;
	pair_init(&l->rest);
	out_to_memory(&l->held);
	if (f)
		ends_begin(&l->ends, run->write.trace);
	else if (!ends_begin_merged(&l->ends, run->write.trace))
		goto fail;
	l->state = l->writer->lane ? l->writer->lane(run->state, l->track) : run->state;
	if (l->state)
		return l;
fail:
	ends_free(&l->ends);
	out_free(&l->held);
	pool_free(l, sizeof(*l));
	return NULL;
}

static bool wants_args(const struct write *w, uint32_t cls)
{
	const struct convert *c = w->user;
	struct filter *filter = c->pipe.filter;

	if (c->mask)
		cls = mask_original(c->mask, cls);
	return !c->no_args && !(filter && (filter_marks(filter, cls) & FILTER_MARK_NOARGS));
}

static enum spur_status get_args(const struct write *w, const struct spur_event *row,
				 struct spur_args *args)
{
	const struct convert *c = w->user;

	if (row->nargs && wants_args(w, row->cls))
		return c->mask ? mask_args(c->mask, row, args) : trace_args(w->trace, row, args);
	args_reset(args);
	return SPUR_OK;
}

static size_t get_stack(const struct write *w, const struct spur_event *row, uint32_t *cls,
			size_t cap)
{
	const struct convert *c = w->user;

	if (!w->trace->format->stack)
		return 0;
	return c->mask ? mask_stack(c->mask, row, cls, cap)
		       : w->trace->format->stack(w->trace, row, cls, cap);
}

static const struct spur_track *get_track(const struct write *w, uint32_t id)
{
	const struct convert *c = w->user;

	return mask_track(c->mask, id);
}

/* Returns SPUR_FAIL if out of memory. May read rows, and find tracks in them. */
static enum spur_status choose_zero(struct write *w, enum convert_zero how)
{
	const int64_t exact = w->writer->exact_ns ? w->writer->exact_ns : INT64_MAX;
	int64_t start;

	if (how == ZERO_CLOCK ||
	    (how == ZERO_EXACT && exact == INT64_MAX && !w->writer->no_negative))
		return SPUR_OK;
	if (trace_start(w->trace, &start) == SPUR_FAIL)
		return SPUR_FAIL;
	if (how == ZERO_START || start > exact || start < -exact ||
	    (start < 0 && w->writer->no_negative))
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
	reasons[LOSS_OPEN] =
		(struct loss_reason){ LOSS_DEGRADED,
				      "a span is open when the data ends: ended there" };
	reasons[LOSS_OVERLAP] =
		(struct loss_reason){ LOSS_DEGRADED,
				      "a span outlasts the one around it: ended with that one" };
	for (size_t i = 0; i < writer->nreasons; i++)
		reasons[LOSS_OWN + i] = writer->reasons[i];
}

/* Runs the writer over the rows of the trace. Returns SPUR_FAIL if it fails. */
static enum spur_status run_rows(struct convert *c, struct run *run, struct out *o)
{
	static const struct pipe_lines lines = {
		.open = lane_open, .rows = lane_rows, .rest = lane_rest, .close = lane_close
	};
	struct pipe_lines p = lines;
	enum spur_status st = choose_zero(&run->write, c->zero);

	p.merged = run->write.writer->merged;
	if (st != SPUR_FAIL && run->write.writer->read)
		return run->write.writer->read(run->state, &c->pipe, &run->rows) ? st : SPUR_FAIL;
	if (st != SPUR_FAIL)
		st = pipe_run_lines(run->write.trace, &c->pipe, &p, run, o);
	if (st != SPUR_FAIL && !run->write.writer->finish(run->state))
		st = SPUR_FAIL;
	return st;
}

enum spur_status convert_run(struct convert *c, struct spur_trace *t,
			     const struct spur_writer *writer, struct out *o)
{
	struct run run = { .convert = c };
	enum spur_status st;

	assert(c->dir ? writer->is_dir : !writer->is_dir || writer->file_ending);
	reasons_of(writer, c->reasons);
	run.write = (struct write){ .trace = t,
				    .writer = writer,
				    .fits = writer->fits,
				    .out = o,
				    .dir = c->dir,
				    .masked = c->mask,
				    .track = c->mask ? get_track : NULL,
				    .side = c->side,
				    .settings = c->settings,
				    .loss = { .reasons = c->reasons,
					      .count = LOSS_OWN + writer->nreasons },
				    .wants_args = wants_args,
				    .args = get_args,
				    .stack = get_stack,
				    .user = c };
	run.state = writer->open(&run.write);
	st = run.state ? run_rows(c, &run, o) : SPUR_FAIL;
	if (run.state)
		writer->close(run.state);
	c->loss = run.write.loss;
	c->rows = run.rows;
	/* An error of the output is reported when that is closed. */
	if (st == SPUR_FAIL && run.write.error.code)
		c->error = run.write.error;
	else if (st == SPUR_FAIL && o && o->error && o->error != ENOMEM)
		st = SPUR_OK;
	else if (st == SPUR_FAIL)
		err_nomem(&c->error);
	return st;
}
