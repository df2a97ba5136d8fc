/*
 * The two passes. Plain events (everything by index, nothing odd) go through loops of their own; all else goes through
 * rows.c, record by record.
 */
#include "base/text.h"
#include "format/fxt/reader.h"

/* Bytes of an argument whose name is by index; 0: look closer. */
static const uint8_t arg_bytes[16] = {
	[FXT_ARG_NULL] = 8, [FXT_ARG_I32] = 8,	 [FXT_ARG_U32] = 8,
	[FXT_ARG_I64] = 16, [FXT_ARG_U64] = 16,	 [FXT_ARG_F64] = 16,
	[FXT_ARG_BOOL] = 8, [FXT_ARG_KOID] = 16, [FXT_ARG_POINTER] = 16,
};

/*
 * What the type of an event means for its row. Masks have all bits or none: which type comes next cannot be predicted,
 * so nothing that depends on it is a branch.
 */
struct event_shape {
	uint64_t tail; /* mask: a word stands behind the arguments */
	uint64_t id; /* mask: it is an id */
	uint64_t span; /* mask: it is the end of a span */
	uint8_t kind;
	bool known, other; /* other: no duration */
};

#define ALL UINT64_MAX
#define EVENT(row_kind)                                        \
	{                                                      \
		.known = true, .kind = row_kind, .other = true \
	}
/* SPEC fxt/event-id: as it is */
#define EVENT_WITH_ID(row_kind)                                                        \
	{                                                                              \
		.known = true, .kind = row_kind, .other = true, .tail = ALL, .id = ALL \
	}

static const struct event_shape event_shapes[16] = {
	[FXT_INSTANT] = EVENT(SPUR_INSTANT),
	[FXT_COUNTER] = EVENT_WITH_ID(SPUR_COUNTER),
	[FXT_BEGIN] = { .known = true, .kind = SPUR_BEGIN },
	[FXT_END] = { .known = true, .kind = SPUR_END_SPAN },
	[FXT_COMPLETE] = { .known = true, .kind = SPUR_SPAN, .tail = ALL, .span = ALL },
	[FXT_ASYNC_BEGIN] = EVENT_WITH_ID(SPUR_ASYNC_BEGIN),
	[FXT_ASYNC_INSTANT] = EVENT_WITH_ID(SPUR_ASYNC_INSTANT),
	[FXT_ASYNC_END] = EVENT_WITH_ID(SPUR_ASYNC_END),
	[FXT_FLOW_BEGIN] = EVENT_WITH_ID(SPUR_FLOW_BEGIN),
	[FXT_FLOW_STEP] = EVENT_WITH_ID(SPUR_FLOW_STEP),
	[FXT_FLOW_END] = EVENT_WITH_ID(SPUR_FLOW_END),
};

/* --- keys of time --- */

/*
 * How long a complete event lasts. SPEC fxt/order: rows by time; of equal times records in their order, but of spans
 * that begin together the longer one first, and of equal ones the later, since it is written when it ends
 */
static int64_t span_length(const struct fxt_clock *c, uint64_t ticks, int64_t ts, uint64_t end)
{
	bool clamped;
	int64_t ns, dur;

	if (end < ticks)
		return 0;
	if (!fxt_clock_fast(c, end, &ns))
		ns = fxt_clock_ns(c, end, &clamped);
	return __builtin_sub_overflow(ns, ts, &dur) ? INT64_MAX : dur;
}

static uint64_t record_rank(const struct fxt_record *r)
{
	const struct fxt_shape *s = &r->shape;

	if (s->type != FXT_EVENT || s->sub != FXT_COMPLETE || s->tail_lost || s->lacks)
		return r->off;
	return REORDER_SPAN(span_length(&r->provider->clock, s->ticks, r->ts, s->value));
}

/* --- records one by one --- */

static void record_at(struct fxt *x, const struct fxt_frame *f, struct fxt_record *r)
{
	fxt_shape_of(&r->shape, x->src->data + x->off, f->size, x->swap);
	r->off = x->off;
	r->provider = x->provider;
	r->clamped = false;
	r->ts = r->shape.timed ? fxt_clock_ns(&r->provider->clock, r->shape.ticks, &r->clamped)
			       : x->last;
}

/* SPEC fxt/damage: what is no record is passed over and counted */
static void pass_damage(struct fxt *x, const struct fxt_frame *f)
{
	const bool torn = f->to_end && f->lost < FXT_WORD;
	const char *what = f->size ? "a size that fits" : torn ? "a header" : "a size";

	if (f->to_end)
		diag_add(x->log, DIAG_DAMAGE, f->code, x->file, x->off, f->lost,
			 "record: expected %s, found the end of the data: %llu bytes lost", what,
			 (unsigned long long)f->lost);
	else
		diag_add(x->log, DIAG_DAMAGE, f->code, x->file, x->off, f->lost,
			 "record: expected %s, found %llu words: %llu bytes lost, up to where "
			 "records "
			 "begin again",
			 what, (unsigned long long)(f->size / FXT_WORD),
			 (unsigned long long)f->lost);
	x->off += f->lost;
	x->lost_until = x->off;
}

/* --- plain events --- */

/* An argument with something inline, or by a value by index: nothing odd about it. */
static bool arg_is_plain(const struct fxt *x, const uint8_t *p, uint64_t size)
{
	const struct fxt_string *const strings = x->provider->strings;
	struct cursor c = cursor_make(p, size, x->swap);
	struct fxt_arg a;

	fxt_arg_next(&c, &a);
	if (a.state != FXT_ARG_GOOD || a.padding || a.type >= FXT_ARG_TYPES)
		return false;
	if (a.name.text ? !utf8_all_valid(a.name.text, a.name.len) : !strings[a.name.ref].now)
		return false;
	return a.text.text ? utf8_all_valid(a.text.text, a.text.len) : strings[a.text.ref].now != 0;
}

/* The end of the arguments of an event; NULL: there is something to be said about them. */
static inline __attribute__((always_inline)) const uint8_t *
plain_args(const struct fxt *x, const struct fxt_string *strings, const uint8_t *q,
	   const uint8_t *end, uint64_t n, bool swap)
{
	for (; n; n--) {
		uint64_t h, size, need;

		if (end - q < FXT_WORD)
			return NULL;
		h = load64(q, swap);
		size = fxt_bytes(h);
		need = arg_bytes[h & 15];
		if (size > (uint64_t)(end - q) || size < need)
			return NULL;
		if (!need || (h & (unsigned)FXT_INLINE << 16)) {
			if (!arg_is_plain(x, q, size))
				return NULL;
		} else if (!strings[fxt_bits(h, 16, 30)].now) {
			return NULL;
		}
		q += size;
	}
	return q;
}

/*
 * Makes the name know its class. False: something is odd about it or the category, or it is the empty name, which has
 * rules of its own.
 */
static bool know_class(struct fxt *x, struct fxt_string *name, uint32_t cat, bool other)
{
	uint32_t cls;

	if (!cat || name->now < 2)
		return false;
	if (name->cat != cat)
		name->name_cls[0] = name->name_cls[1] = 0;
	cls = fxt_class_of(x, cat - 1, name->now - 1, other);
	if (!cls)
		return false;
	name->cat = cat;
	name->stream_cat = row_pair(x->stream, cat - 1);
	name->name_cls[other] = row_pair(name->now - 1, cls);
	return true;
}

/* SPEC fxt/inline-strings: top bits of the references to category and name */
#define INLINE_STRINGS (UINT64_C(1) << 47 | UINT64_C(1) << 63)

/* Rows of the batch from `from` on that need a lane. */
static void note_spans(struct fxt *x, const struct batch *b, uint32_t from)
{
	for (uint32_t i = from; i < b->count; i++) {
		x->span_rows[x->nspans] = &b->rows[i];
		x->nspans += b->rows[i].kind == SPUR_SPAN;
	}
}

/* Stragglers that come before a record; false: the batch is full. */
static bool put_stragglers(struct fxt *x, int64_t ts, uint64_t rank, struct batch *b)
{
	const uint32_t from = b->count;
	const bool room = reorder_until(&x->order, ts, rank, b);

	note_spans(x, b, from);
	return room;
}

static uint64_t row_rank(const struct spur_event *row)
{
	return row->kind == SPUR_SPAN ? REORDER_SPAN(row->dur) : row->off;
}

/* What plain_rows() put off: where its rows end, and the key of the last one. */
static void plain_end(struct fxt *x, struct batch *b, const struct spur_event *from,
		      const struct spur_event *end)
{
	b->count = (uint32_t)(end - b->rows);
	if (end == from)
		return;
	x->last = end[-1].ts;
	if (x->ordered && !x->first)
		reorder_late(&x->order, x->last, row_rank(&end[-1]));
}

static int64_t next_straggler(const struct fxt *x)
{
	return x->order.nheap ? (int64_t)(x->order.due >> 64) : INT64_MAX;
}

/* A plain event, taken apart. */
struct plain_event {
	uint64_t h, bytes, tail;
	int64_t ts, dur;
	const struct event_shape *shape;
	struct fxt_string *name;
	uint32_t cat, track; /* 1 + string id, 1 + track */
};

/* Where the references of plain events are looked up. */
struct plain_tables {
	struct fxt_string *strings;
	const struct fxt_slot *threads;
	const struct fxt_clock *clock;
};

/*
 * The event at `p`; false where there is none, or anything is odd about it. What its type decides is computed for all
 * types. INVARIANT: p <= data_end, and a record is looked at only where all of it is there.
 */
static inline __attribute__((always_inline)) bool
plain_event(const struct fxt *x, struct plain_tables in, const uint8_t *p, const uint8_t *data_end,
	    struct plain_event *e, bool swap, bool plain)
{
	uint64_t ticks, stop;
	const uint8_t *q;

	if (data_end - p < 2 * FXT_WORD)
		return false;
	e->h = load64(p, swap);
	e->bytes = fxt_bytes(e->h);
	e->shape = &event_shapes[fxt_bits(e->h, 16, 19)];
	e->track = in.threads[fxt_bits(e->h, 24, 31)].now;
	e->name = &in.strings[fxt_bits(e->h, 48, 62)];
	e->cat = in.strings[fxt_bits(e->h, 32, 46)].now;
	ticks = load64(p + FXT_WORD, swap);
	e->ts = (int64_t)ticks;
	if ((e->h & (15 | INLINE_STRINGS)) != FXT_EVENT || !e->shape->known || !e->track ||
	    e->bytes - 2 * FXT_WORD > (uint64_t)(data_end - p) - 2 * FXT_WORD)
		return false;
	q = plain_args(x, in.strings, p + 2 * FXT_WORD, p + e->bytes, fxt_bits(e->h, 20, 23), swap);
	if (!q || p + e->bytes - q < (ptrdiff_t)(e->shape->tail & FXT_WORD) ||
	    (plain ? e->ts < 0 : !fxt_clock_fast(in.clock, ticks, &e->ts)))
		return false;
	/* Without a tail any word of the record will do. */
	e->tail = load64(p + ((uint64_t)(q - p) & e->shape->tail), swap);
	stop = (e->tail & e->shape->span) | (ticks & ~e->shape->span);
	e->dur = (int64_t)stop;
	if (stop < ticks || (plain ? e->dur < 0 : !fxt_clock_fast(in.clock, stop, &e->dur)))
		return false;
	e->dur -= e->ts;
	return true;
}

enum place { PLACE_HERE, PLACE_LATE, PLACE_AGAIN, PLACE_STOP };

/*
 * Where an event goes that is not later than the row before it, or than the next straggler. The rows from `from` to
 * `end` are done; unless it is HERE or LATE, plain_end() has been told so. AGAIN: stragglers that come before it have
 * been put; STOP: the batch is full, or a closer look is needed.
 */
static enum place plain_place(struct fxt *x, struct batch *b, const struct plain_event *e, uint64_t off,
			      const struct spur_event *from, const struct spur_event *end)
{
	const bool odd = !e->cat || !e->name->now;
	const int64_t before = end > from ? end[-1].ts : (int64_t)(x->order.bar >> 64);
	const uint64_t rank = e->shape->span ? REORDER_SPAN(e->dur) : off;

	/* Of equal times the ranks decide. */
	if (!odd && (e->ts < before || (e->ts == before && end > from && rank <= row_rank(&end[-1]))))
		return PLACE_LATE;
	if (!odd && (e->ts > before || end > from) && e->ts < next_straggler(x))
		return PLACE_HERE;
	plain_end(x, b, from, end);
	if (odd || e->ts == before || !put_stragglers(x, e->ts, rank, b))
		return PLACE_STOP;
	/* What is left may be of the same time, but behind it in rank. */
	return e->ts < next_straggler(x) ? PLACE_AGAIN : PLACE_STOP;
}

/*
 * Rows of plain events from x->off on, as many as fit; how many records that took. Where the place or the kind of an
 * event is odd, nothing has been done for it. `swap`, `plain` (ticks are ns) and `ordered` are constants where it matters.
 */
static inline __attribute__((always_inline)) uint64_t plain_rows(struct fxt *x, struct batch *b, bool swap,
								 bool plain, bool ordered)
{
	const uint8_t *const data = x->src->data, *const data_end = data + x->src->size;
	const uint8_t *p = data + x->off;
	const struct plain_tables in = { x->provider->strings, x->provider->threads,
					 &x->provider->clock };
	struct spur_event *from = b->rows + b->count, *row = from;
	struct spur_event *const rows_end = b->rows + b->cap;
	/* In stored order nothing is late. */
	int64_t due = ordered ? next_straggler(x) : INT64_MAX;
	int64_t last = ordered ? (int64_t)(x->order.bar >> 64) : INT64_MIN;
	uint64_t records = 0;
	struct plain_event e;

	for (; row < rows_end && plain_event(x, in, p, data_end, &e, swap, plain); p += e.bytes, records++) {
		if (ordered && (e.ts <= last || e.ts >= due)) {
			/* A copy, so that `e` need not lie in memory. */
			const struct plain_event odd = e;
			const enum place place =
				plain_place(x, b, &odd, (uint64_t)(p - data), from, row);

			if (place == PLACE_LATE)
				continue;
			if (place != PLACE_HERE) {
				row = from = b->rows + b->count;
				due = next_straggler(x);
			}
			if (place == PLACE_STOP || row == rows_end)
				break;
		}
		if ((e.name->cat != e.cat || !e.name->name_cls[e.shape->other]) &&
		    !know_class(x, e.name, e.cat, e.shape->other))
			break;
		row_store(row, (uint64_t)e.ts, e.tail & e.shape->id, (uint64_t)(p - data),
			  (struct row_words){ .len_track = row_pair((uint32_t)e.bytes, e.track - 1),
					      .stream_cat = e.name->stream_cat,
					      .name_cls = e.name->name_cls[e.shape->other],
					      .rest = row_rest(e.shape->kind, 0, SPUR_NO_CPU, 0) });
		row->dur = e.dur;
		row->nargs = (uint8_t)fxt_bits(e.h, 20, 23);
		x->span_rows[x->nspans] = row;
		x->nspans += (uint32_t)e.shape->span & 1;
		last = ordered ? e.ts : last;
		row++;
	}
	plain_end(x, b, from, row);
	x->off = (uint64_t)(p - data);
	return records;
}

static __attribute__((noinline)) uint64_t plain_rows_ns(struct fxt *x, struct batch *b)
{
	return plain_rows(x, b, false, true, true);
}

static __attribute__((noinline)) uint64_t plain_rows_ticks(struct fxt *x, struct batch *b)
{
	return plain_rows(x, b, false, false, true);
}

static __attribute__((noinline)) uint64_t plain_rows_any(struct fxt *x, struct batch *b,
							 bool ordered)
{
	return plain_rows(x, b, x->swap, false, ordered);
}

/* --- pass 1 --- */

/* What scan_events() put off: the key of the record at `off`, the last one in order. */
static void set_bar(struct fxt *x, uint64_t off, uint64_t bytes)
{
	struct fxt_record r = { .off = off, .provider = x->provider };

	fxt_shape_of(&r.shape, x->src->data + off, bytes, x->swap);
	r.ts = fxt_clock_ns(&r.provider->clock, r.shape.ticks, &r.clamped);
	reorder_late(&x->order, r.ts, record_rank(&r));
	x->last = r.ts;
}

/* A plain event that comes too late is put by. False: it is not plain, or no memory (then *good is). */
static bool put_by(struct fxt *x, uint64_t off, bool *good)
{
	const int64_t last = x->last;
	struct spur_event row;
	struct batch b = { .rows = &row, .cap = 1 };
	uint64_t made;

	x->off = off;
	x->nspans = 0;
	made = plain_rows_any(x, &b, false);
	x->last = last;
	*good = !made || reorder_add(&x->order, row.ts, row_rank(&row), &row);
	return made && *good;
}

/*
 * Plain events, from x->off on: all that is asked of those in order is their time. Ranks matter only where times are
 * equal: they are left to set_bar() and scan_record(). False: no memory.
 * INVARIANT: p <= data_end, and a record is looked at only where all of it is there.
 */
static inline __attribute__((always_inline)) bool scan_events(struct fxt *x, bool swap, bool plain)
{
	const uint8_t *const data = x->src->data, *const data_end = data + x->src->size;
	const uint8_t *p = data + x->off, *before = p;
	const struct fxt_clock clock = x->provider->clock;
	const struct fxt_slot *const threads = x->provider->threads;
	int64_t last = x->last;
	uint64_t length = 0; /* of the last one in order, at `before` */
	bool ranked = x->ranked, spans = false, good = true;

	while (data_end - p >= 2 * FXT_WORD) {
		const uint64_t h = load64(p, swap), bytes = fxt_bytes(h),
			       ticks = load64(p + FXT_WORD, swap);
		const uint64_t event = fxt_bits(h, 16, 19);
		int64_t ts = (int64_t)ticks;

		if (fxt_type(h) != FXT_EVENT || event >= FXT_EVENT_TYPES ||
		    !threads[fxt_bits(h, 24, 31)].now ||
		    bytes - 2 * FXT_WORD > (uint64_t)(data_end - p) - 2 * FXT_WORD ||
		    (!plain && !fxt_clock_fast(&clock, ticks, &ts)))
			break;
		if (ts < last) {
			spans |= event == FXT_COMPLETE;
			if (!put_by(x, (uint64_t)(p - data), &good))
				break;
			p += bytes;
			continue;
		}
		if (ts == last && (ranked || event == FXT_COMPLETE))
			break;
		ranked = event == FXT_COMPLETE;
		spans |= ranked;
		last = ts;
		before = p;
		length = bytes;
		p += bytes;
	}
	x->spans |= spans;
	x->ranked = ranked;
	if (length)
		set_bar(x, (uint64_t)(before - data), length);
	x->off = (uint64_t)(p - data);
	return good;
}

/* Any record; its rows are wanted only where it comes too late. */
static bool scan_record(struct fxt *x, const struct fxt_frame *f)
{
	struct spur_event rows[2];
	struct fxt_record r;
	uint64_t rank = 0;
	uint32_t n = 0;
	bool late = false;

	record_at(x, f, &r);
	if (r.shape.timed) {
		rank = record_rank(&r);
		late = reorder_late(&x->order, r.ts, rank);
		x->last = late ? x->last : r.ts;
		x->ranked = late ? x->ranked : rank != r.off;
		x->start = x->started ? x->start : r.ts;
		x->started = true;
	}
	if (r.shape.type == FXT_EVENT && !r.shape.lacks && r.shape.sub == FXT_COMPLETE)
		x->spans = true;
	if (r.shape.type == FXT_EVENT && !late)
		return r.shape.lacks || fxt_record_track(x, &r, &r.shape.threads[0]) != SPUR_NONE;
	if (!fxt_rows_of(x, &r, rows, &n))
		return false;
	for (uint32_t i = 0; late && i < n; i++)
		if (!reorder_add(&x->order, r.ts, rank + i, &rows[i]))
			return false;
	return true;
}

bool fxt_scan(struct fxt *x)
{
	struct fxt_frame f;

	x->first = true;
	x->log = &x->mute;
	do {
		if (x->started && !(x->swap		       ? scan_events(x, true, false)
				    : x->provider->clock.plain ? scan_events(x, false, true)
							       : scan_events(x, false, false)))
			return false;
		fxt_frame_at(x->src, x->off, x->swap, &x->resync, &f);
		if (f.state == FXT_FRAME_DAMAGE) {
			pass_damage(x, &f);
		} else if (f.state == FXT_FRAME_RECORD) {
			if (!scan_record(x, &f))
				return false;
			x->off += f.size;
		}
	} while (f.state != FXT_FRAME_END);
	return true;
}

bool fxt_scan_end(struct fxt *x)
{
	x->first = false;
	x->last = x->start;
	return fxt_state_rewind(x) && reorder_sort(&x->order);
}

/* --- pass 2, or the only one --- */

/* Rows of one record that is not too late: into the batch; what does not fit is held. */
static void put_rows(struct fxt *x, struct batch *b, const struct spur_event *rows, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (b->count < b->cap) {
			b->rows[b->count++] = rows[i];
			note_spans(x, b, b->count - 1);
		} else
			x->held[x->nheld++] = rows[i];
	}
}

enum made { MADE_ALL, MADE_FULL, MADE_FAIL };

static enum made rows_of_record(struct fxt *x, const struct fxt_frame *f, struct batch *b)
{
	struct spur_event rows[2];
	struct fxt_record r;
	uint64_t rank = 0;
	uint32_t n = 0;
	bool late = false;

	record_at(x, f, &r);
	if (x->ordered) {
		if (r.shape.timed) {
			rank = record_rank(&r);
			late = !x->told && reorder_late(&x->order, r.ts, rank);
			x->told = !late;
		}
		if (!late && !put_stragglers(x, r.ts, rank, b))
			return MADE_FULL;
		x->told = false;
	}
	if (!fxt_rows_of(x, &r, rows, &n))
		return MADE_FAIL;
	if (r.shape.timed && !late)
		x->last = r.ts;
	put_rows(x, b, rows, late ? 0 : n);
	return MADE_ALL;
}

/* SPEC fxt/lanes: complete events that overlap without containing each other go to tracks beside */
static bool put_on_lanes(struct fxt *x)
{
	for (uint32_t i = 0; i < x->nspans; i++) {
		struct spur_event *row = x->span_rows[i];

		row->track = lanes_span(x->lanes, row->track, row->ts, row->dur);
		if (row->track == SPUR_NONE)
			return false;
	}
	return true;
}

/* The bytes of the record at x->off are not all there yet. */
static bool must_wait(const struct fxt *x)
{
	const uint64_t left = x->src->size - x->off;

	if (x->src->eof)
		return false;
	return left < FXT_WORD ||
	       fxt_words(load64(x->src->data + x->off, x->swap)) > left / FXT_WORD;
}

/* One record that is not plain, or damage, or the end (*st is SPUR_END). False: the batch is full. */
static bool next_record(struct fxt *x, struct batch *b, uint64_t *records, enum spur_status *st)
{
	struct fxt_frame f;
	enum made made;

	fxt_frame_at(x->src, x->off, x->swap, &x->resync, &f);
	if (f.state == FXT_FRAME_END) {
		if (x->ordered && !put_stragglers(x, INT64_MAX, UINT64_MAX - 1, b))
			return false;
		*st = SPUR_END;
		return false;
	}
	if (f.state == FXT_FRAME_DAMAGE) {
		pass_damage(x, &f);
		return true;
	}
	if (!x->ordered)
		pthread_mutex_lock(&x->lock);
	made = rows_of_record(x, &f, b);
	if (!x->ordered)
		pthread_mutex_unlock(&x->lock);
	if (made == MADE_ALL) {
		x->off += f.size;
		++*records;
	} else if (made == MADE_FAIL) {
		*st = SPUR_FAIL;
	}
	return made == MADE_ALL;
}

enum spur_status fxt_next(struct spur_trace *t, struct feed *f, struct batch *b)
{
	struct fxt *x = t->state;
	const uint32_t cap = b->cap;
	enum spur_status st = SPUR_OK;
	bool more = true;

	b->count = x->nspans = 0;
	b->cap = cap < BATCH_ROWS ? cap : BATCH_ROWS;
	x->log = &f->diag;
	for (uint32_t i = 0; i < x->nheld && b->count < b->cap; i++)
		b->rows[b->count++] = x->held[i];
	x->nheld -= b->count;
	if (x->nheld)
		x->held[0] = x->held[1];
	while (more && b->count < b->cap) {
		if (!x->told)
			f->records += x->swap || !x->ordered	 ? plain_rows_any(x, b, x->ordered)
				      : x->provider->clock.plain ? plain_rows_ns(x, b)
								 : plain_rows_ticks(x, b);
		if (b->count == b->cap || (b->count && must_wait(x)))
			break;
		more = next_record(x, b, &f->records, &st);
	}
	b->cap = cap;
	if (st == SPUR_FAIL || (x->lanes && !put_on_lanes(x)))
		return SPUR_FAIL;
	return b->count ? SPUR_OK : SPUR_END;
}
