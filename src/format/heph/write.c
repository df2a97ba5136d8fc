/*
 * heph: any trace as a Heph trace. Heph writes a span when it ends, and so does this: rows come by
 * begin, merged from all threads; what has not ended yet waits in a queue. Everything but spans is
 * an event of no length whose first attributes say what it is (marks.h).
 */
#include "format/heph/write.h"
#include "format/format.h"

enum { OPTION_EVENTS = 64 };

/*
 * Orders packets by the time they are written. Of events that end together, the one that begins
 * last is written first; of equal ones, that whose row comes later, as it is the inner one
 * (SPEC heph/equal-spans). Events of a Heph trace that end together stay in its order: there
 * `begin` is what falls as the offset grows.
 */
struct key {
	int64_t end, begin;
	uint64_t number; /* of the row */
	uint64_t slot; /* of the row in `rows` */
};

/* A heap, in scratch memory: as many spans may be open as the trace has. */
struct heph_queue {
	struct key *keys;
	size_t n, cap;
	struct spur_event *rows;
	uint64_t *free; /* slots of `rows` that are free: cap - n */
	uint64_t number;
};

static bool comes_before(const struct key *a, const struct key *b)
{
	if (a->end != b->end)
		return a->end < b->end;
	return a->begin != b->begin ? a->begin > b->begin : a->number > b->number;
}

static void queue_free(struct heph_queue *q)
{
	if (!q)
		return;
	scratch_free(q->keys, q->cap * sizeof(*q->keys));
	scratch_free(q->rows, q->cap * sizeof(*q->rows));
	scratch_free(q->free, q->cap * sizeof(*q->free));
	mem_free(q);
}

/* Doubles the queue, which is full. Returns false if out of memory. */
static bool queue_grow(struct heph_queue *q)
{
	const size_t cap = q->cap ? 2 * q->cap : 64;
	struct heph_queue more = { .keys = scratch_alloc(cap * sizeof(*q->keys)),
				   .rows = scratch_alloc(cap * sizeof(*q->rows)),
				   .free = scratch_alloc(cap * sizeof(*q->free)),
				   .n = q->n,
				   .cap = cap,
				   .number = q->number };
	const struct heph_queue before = *q;

	assert(q->n == q->cap);
	if (more.keys && more.rows && more.free) {
		if (q->n) {
			memcpy(more.keys, q->keys, q->n * sizeof(*q->keys));
			memcpy(more.rows, q->rows, q->n * sizeof(*q->rows));
		}
		for (size_t i = 0; i < cap - q->n; i++)
			more.free[i] = cap - 1 - i;
		*q = more;
		more = before;
		more.cap = before.cap;
	}
	scratch_free(more.keys, more.cap * sizeof(*q->keys));
	scratch_free(more.rows, more.cap * sizeof(*q->rows));
	scratch_free(more.free, more.cap * sizeof(*q->free));
	return q->cap == cap;
}

/* Returns false if out of memory. */
static bool queue_put(struct heph_queue *q, const struct spur_event *row, int64_t begin,
		      int64_t end)
{
	struct key key = { .end = end, .begin = begin, .number = ++q->number };
	size_t i = q->n;

	if (q->n == q->cap && !queue_grow(q))
		return false;
	key.slot = q->free[q->cap - q->n - 1];
	q->rows[key.slot] = *row;
	for (q->n++; i && comes_before(&key, &q->keys[(i - 1) / 2]); i = (i - 1) / 2)
		q->keys[i] = q->keys[(i - 1) / 2];
	q->keys[i] = key;
	return true;
}

/* Removes the first one. */
static struct key queue_take(struct heph_queue *q, struct spur_event *row)
{
	const struct key first = q->keys[0], last = q->keys[--q->n];
	size_t i = 0, k;

	for (; (k = 2 * i + 1) < q->n; i = k) {
		k += k + 1 < q->n && comes_before(&q->keys[k + 1], &q->keys[k]);
		if (!comes_before(&q->keys[k], &last))
			break;
		q->keys[i] = q->keys[k];
	}
	q->keys[i] = last;
	*row = q->rows[first.slot];
	q->free[q->cap - q->n - 1] = first.slot;
	return first;
}

/* --- the writer --- */

static bool begin_out(struct heph_writer *w, struct out *o)
{
	const bool begun = w->begun;

	w->begun = true;
	return begun || heph_put_epoch(w, o);
}

/*
 * SPEC heph/written-gap: missing counters of a Heph trace are missing in the copy too, in front of
 * the same event
 */
static bool gap_out(struct heph_writer *w, const struct spur_event *row)
{
	const struct heph_ids *ids = heph_ids_of(w, row->track);

	if (ids)
		w->targets[ids->target - 1].gap += row->id;
	return ids;
}

static bool row_is_gap(const struct heph_writer *w, const struct spur_event *row)
{
	return w->source && row->kind == SPUR_LOST && !row->len;
}

static bool event_out(struct heph_writer *w, const struct spur_event *row, int64_t end,
		      struct out *o)
{
	const struct heph_out_event e = { .row = row, .end = end };

	if (row_is_gap(w, row))
		return gap_out(w, row);
	return heph_has_packet(w, row) ? heph_put_packet(w, row, o) : heph_put_event(w, &e, o);
}

/* Writes what comes before an event with these times. Returns false if out of memory. */
static bool ended_out(struct heph_writer *w, int64_t begin, int64_t end, struct out *o)
{
	const struct key until = { .end = end, .begin = begin };
	struct spur_event row;

	while (w->queue->n && comes_before(&w->queue->keys[0], &until)) {
		const struct key key = queue_take(w->queue, &row);

		if (!event_out(w, &row, key.end, o))
			return false;
	}
	return true;
}

static int64_t end_of(const struct spur_event *row)
{
	int64_t end;

	if (row->dur <= 0)
		return row->ts;
	return __builtin_add_overflow(row->ts, row->dur, &end) ? INT64_MAX : end;
}

/*
 * The end of the event that an option of a Heph trace follows, and whose time it has. Only some
 * events are looked at, as a trace may have many options.
 */
static int64_t option_end(const struct heph_queue *q, const struct spur_event *option)
{
	int64_t end = option->ts;
	uint64_t nearest = 0;

	for (size_t i = 0; i < q->n && i < OPTION_EVENTS; i++) {
		const uint64_t off = q->rows[q->keys[i].slot].off;

		if (off < option->off && off >= nearest) {
			nearest = off;
			end = q->keys[i].end;
		}
	}
	return end;
}

static bool heph_row(void *lane, const struct spur_event *row, struct out *o)
{
	struct heph_writer *w = lane;
	int64_t begin = row->ts, end = end_of(row);

	if (w->source) {
		/* What ends together stays in the order of the source, a gap before its event. */
		begin = row_is_gap(w, row) - 2 * (int64_t)row->off;
		if (row_is_gap(w, row))
			end = heph_gap_end(w, row);
		else if (row->flags & SPUR_F_RETIMED)
			end = option_end(w->queue, row);
	}
	return begin_out(w, o) && ended_out(w, INT64_MAX, row->ts, o) &&
	       queue_put(w->queue, row, begin, end);
}

static bool heph_span_out(void *lane, const struct spur_event *row, const struct spur_event *last,
			  const struct write_end *end, struct out *o)
{
	struct heph_writer *w = lane;
	const struct heph_out_event e = { .row = row, .last = last, .end = end_of(row) };

	/* A SPAN row comes at its begin, other spans come when they end. */
	if (end->whole)
		return heph_row(lane, row, o);
	/* The core has them thread by thread; finish() writes them by end. */
	if (end->unfinished)
		return queue_put(w->queue, row, row->ts, e.end);
	return begin_out(w, o) && ended_out(w, row->ts, e.end, o) && heph_put_event(w, &e, o);
}

/* A gap at the end of a stream has no event whose counter could show it. */
static void gaps_lost(struct heph_writer *w)
{
	for (size_t i = 0; i < w->ntargets; i++)
		if (w->targets[i].gap)
			loss_add(&w->write->loss, HEPH_LOST_GAP, SPUR_LOST);
}

static bool heph_finish(void *self)
{
	struct heph_writer *w = self;
	struct spur_event row;

	if (!begin_out(w, w->write->out))
		return false;
	while (w->queue->n) {
		const struct key key = queue_take(w->queue, &row);

		if (!event_out(w, &row, key.end, w->write->out))
			return false;
	}
	if (!heph_put_names(w, w->write->out))
		return false;
	gaps_lost(w);
	return true;
}

static void heph_close(void *self)
{
	struct heph_writer *w = self;

	heph_ids_free(w);
	queue_free(w->queue);
	spur_args_free(&w->args);
	spur_args_free(&w->last_args);
	out_free(&w->packet);
	out_free(&w->path);
	mem_free(w);
}

static void *heph_open(struct write *write)
{
	struct heph_writer *w = mem_alloc(sizeof(*w));

	if (!w)
		return NULL;
	w->write = write;
	w->trace = write->trace;
	w->substitute = UINT32_MAX;
	if (write->trace->format == format_find("heph") && !write->masked)
		w->source = write->trace->state;
	/* SPEC heph/old-layout */
	w->old = write_setting_is(write, "layout", "old") ||
		 (!write_setting_is(write, "layout", "new") && w->source &&
		  w->source->walk.head == HEPH_OLD_HEAD);
	out_to_memory(&w->packet);
	out_to_memory(&w->path);
	w->queue = mem_alloc(sizeof(*w->queue));
	if (w->queue)
		return w;
	heph_close(w);
	return NULL;
}

static const char *const endings[] = { "heph", NULL };
static const char *const layouts[] = { "new", "old", NULL };
static const struct write_setting settings[] = {
	{ "layout", layouts,
	  "old: as before March 2021, without substreams (default: as the source if it is a Heph "
	  "trace, else new)" },
	{ 0 },
};

static const char no_kind[] =
	"the format has no such kind: written as a span whose attributes say what it is";
static const struct loss_reason reasons[] = {
	[HEPH_LOST_KIND - LOSS_OWN] = { LOSS_DEGRADED, no_kind },
	[HEPH_LOST_ID - LOSS_OWN] = { LOSS_DEGRADED,
				      "process or thread has no id that fits: another number "
				      "stands for it" },
	[HEPH_LOST_SUBSTREAM - LOSS_OWN] = { LOSS_DEGRADED,
					     "the old layout has no substreams: thread id left "
					     "out" },
	[HEPH_LOST_TIME -
		LOSS_OWN] = { LOSS_DEGRADED, "the time is before the epoch: written as the epoch" },
	[HEPH_LOST_TYPE - LOSS_OWN] = { LOSS_DEGRADED,
					"an argument's type is missing: written as a number, as "
					"text, or as several attributes" },
	[HEPH_LOST_TEXT - LOSS_OWN] = { LOSS_TRUNCATED,
					"a name, text or array has more than 65,535 bytes or "
					"values, or an event more than 16 MiB" },
	[HEPH_LOST_PAYLOAD - LOSS_OWN] = { LOSS_DEGRADED,
					   "arguments are damaged or nested too deeply: written as "
					   "far as they can be" },
	[HEPH_LOST_TWICE - LOSS_OWN] = { LOSS_DEGRADED,
					 "an argument differs between begin and end: both are "
					 "attributes of the span" },
	[HEPH_LOST_GAP - LOSS_OWN] = { LOSS_DROPPED,
				       "no event of the stream follows whose counter would show "
				       "the loss" },
};

static_assert(sizeof(reasons) / sizeof(reasons[0]) == HEPH_LOST_END - LOSS_OWN,
	      "each loss has a reason");

const struct spur_writer spur_writer_heph = {
	.name = "heph",
	.title = "Heph trace",
	.endings = endings,
	.fits = { WRITE_FITS(SPUR_BEGIN, SPUR_SPAN, WRITE_WHOLE),
		  WRITE_FITS(SPUR_INSTANT, SPUR_BLOB, WRITE_DEGRADED),
		  /* Missing counters and unknown options of Heph traces are carried whole. */
		  WRITE_FITS(SPUR_LOST, SPUR_NATIVE, WRITE_WHOLE) },
	.degraded = no_kind,
	.reasons = reasons,
	.nreasons = sizeof(reasons) / sizeof(reasons[0]),
	.spans = WRITE_SPANS_WHOLE,
	.switches = WRITE_SWITCHES_ROWS,
	.merged = true,
	.no_negative = true,
	.settings = settings,
	.piece = 512,
	.open = heph_open,
	.row = heph_row,
	.span = heph_span_out,
	.finish = heph_finish,
	.close = heph_close,
};
