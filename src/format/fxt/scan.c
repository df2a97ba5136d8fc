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

static inline uint32_t string_now(struct fxt_slot *const *strings, uint64_t index)
{
	return strings[index / FXT_PAGE][index % FXT_PAGE].now;
}

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
	const char *what = f->size ? "a size that fits" : f->head ? "a size" : "a header";

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

/* --- pass 1 --- */

/* The end of an event's arguments; NULL: not a plain one. */
static inline const uint8_t *skip_args(const uint8_t *q, const uint8_t *end, uint64_t n, bool swap)
{
	for (; n; n--) {
		uint64_t size;

		if (end - q < FXT_WORD)
			return NULL;
		size = fxt_bits(load64(q, swap), 4, 15) * FXT_WORD;
		if (!size || size > (uint64_t)(end - q))
			return NULL;
		q += size;
	}
	return q;
}

/* Rank of a complete event with all strings by index, whose time is `ts`; false: not a plain one. */
static inline bool plain_rank(const struct fxt_clock *c, const uint8_t *p, uint64_t size,
			      uint64_t h, int64_t ts, bool swap, uint64_t *rank)
{
	const uint8_t *const end = p + size;
	const uint8_t *q;

	if (h & (UINT64_C(1) << 47 | UINT64_C(1) << 63))
		return false;
	q = skip_args(p + 2 * FXT_WORD, end, fxt_bits(h, 20, 23), swap);
	if (!q || end - q < FXT_WORD)
		return false;
	*rank = REORDER_SPAN(span_length(c, load64(p + FXT_WORD, swap), ts, load64(q, swap)));
	return true;
}

/*
 * Plain events in order, from x->off on: all that is asked of them is their time.
 * INVARIANT: off <= size, and a record is looked at only where all of it is there.
 */
static inline __attribute__((always_inline)) void scan_events(struct fxt *x, bool swap)
{
	const uint8_t *const data = x->src->data;
	const uint64_t size = x->src->size;
	const struct fxt_clock clock = x->provider->clock;
	const struct fxt_slot *const threads = x->provider->threads;
	uint64_t off = x->off;

	while (size - off >= 2 * FXT_WORD) {
		const uint8_t *const p = data + off;
		const uint64_t h = load64(p, swap), bytes = fxt_bits(h, 4, 15) * FXT_WORD;
		const unsigned event = (unsigned)fxt_bits(h, 16, 19);
		uint64_t rank = off;
		int64_t ts;

		if (fxt_type(h) != FXT_EVENT || bytes < 2 * FXT_WORD || bytes > size - off ||
		    event >= FXT_EVENT_TYPES || !threads[fxt_bits(h, 24, 31)].now ||
		    !fxt_clock_fast(&clock, load64(p + FXT_WORD, swap), &ts))
			break;
		if (event == FXT_COMPLETE) {
			if (!plain_rank(&clock, p, bytes, h, ts, swap, &rank))
				break;
			x->spans = true;
		}
		if (reorder_make_key(ts, rank) < x->order.bar)
			break;
		reorder_late(&x->order, ts, rank);
		x->last = ts;
		off += bytes;
	}
	x->off = off;
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
		if (x->started && x->swap)
			scan_events(x, true);
		else if (x->started)
			scan_events(x, false);
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
	fxt_state_rewind(x);
	x->last = x->start;
	return reorder_sort(&x->order);
}

/* --- rows --- */

/* An argument with something inline, or by a value by index: nothing odd about it. */
static bool arg_is_plain(const struct fxt *x, const uint8_t *p, uint64_t size)
{
	struct fxt_slot *const *const strings = x->provider->strings;
	struct cursor c = cursor_make(p, size, x->swap);
	struct fxt_arg a;

	fxt_arg_next(&c, &a);
	if (a.state != FXT_ARG_GOOD || a.padding || a.type >= FXT_ARG_TYPES)
		return false;
	if (a.name.text ? !utf8_all_valid(a.name.text, a.name.len)
			: !string_now(strings, a.name.ref))
		return false;
	return a.text.text ? utf8_all_valid(a.text.text, a.text.len)
			   : string_now(strings, a.text.ref) != 0;
}

/* skip_args() for those that nothing needs to be said about. */
static inline const uint8_t *plain_args(const struct fxt *x, struct fxt_slot *const *strings,
					const uint8_t *q, const uint8_t *end, uint64_t n, bool swap)
{
	for (; n; n--) {
		uint64_t h, size;

		if (end - q < FXT_WORD)
			return NULL;
		h = load64(q, swap);
		size = fxt_bits(h, 4, 15) * FXT_WORD;
		if (!size || size > (uint64_t)(end - q))
			return NULL;
		if (!arg_bytes[h & 15] || (h & (unsigned)FXT_INLINE << 16)) {
			if (!arg_is_plain(x, q, size))
				return NULL;
		} else if (arg_bytes[h & 15] > size || !string_now(strings, fxt_bits(h, 16, 30))) {
			return NULL;
		}
		q += size;
	}
	return q;
}

/*
 * Rows of plain events from x->off on, as many as fit.
 * INVARIANT: as for scan_events(). Where anything is odd about a record, nothing has been done for it.
 */
static inline __attribute__((always_inline)) void plain_rows(struct fxt *x, struct batch *b,
							     uint64_t *records, bool swap)
{
	const uint8_t *const data = x->src->data;
	const uint64_t size = x->src->size;
	const struct fxt_clock clock = x->provider->clock;
	struct fxt_slot *const *const strings = x->provider->strings;
	const struct fxt_slot *const threads = x->provider->threads;
	const bool ordered = x->ordered;
	struct spur_event *row = b->rows + b->count, *const rows_end = b->rows + b->cap;
	uint64_t off = x->off, taken = 0;
	int64_t last = x->last;

	while (row < rows_end && size - off >= 2 * FXT_WORD) {
		const uint8_t *const p = data + off;
		const uint64_t h = load64(p, swap), bytes = fxt_bits(h, 4, 15) * FXT_WORD;
		const uint8_t *const end = p + bytes, *q;
		const unsigned event = (unsigned)fxt_bits(h, 16, 19);
		const uint32_t track = threads[fxt_bits(h, 24, 31)].now;
		const unsigned kind = fxt_event_kinds[event];
		uint64_t rank = off, id = 0, flags = 0;
		uint32_t cat, name, cls;
		int64_t ts, dur = 0;

		if (fxt_type(h) != FXT_EVENT || bytes < 2 * FXT_WORD || bytes > size - off ||
		    event >= FXT_EVENT_TYPES || !track ||
		    (h & (UINT64_C(1) << 47 | UINT64_C(1) << 63)) ||
		    !fxt_clock_fast(&clock, load64(p + FXT_WORD, swap), &ts))
			break;
		cat = string_now(strings, fxt_bits(h, 32, 46));
		name = string_now(strings, fxt_bits(h, 48, 62));
		q = plain_args(x, strings, p + 2 * FXT_WORD, end, fxt_bits(h, 20, 23), swap);
		if (!cat || !name || !q)
			break;
		if (fxt_has_tail(event)) {
			if (end - q < FXT_WORD)
				break;
			id = load64(q, swap);
		}
		if (event == FXT_COMPLETE) {
			if (id < load64(p + FXT_WORD, swap) || !fxt_clock_fast(&clock, id, &dur))
				break;
			dur -= ts;
			rank = REORDER_SPAN(dur);
			id = 0;
		}
		if (ordered) {
			const reorder_key key = reorder_make_key(ts, rank);

			if (key < x->order.bar) {
				taken++;
				off += bytes;
				continue;
			}
			if (x->order.nheap && x->order.due < key + 1)
				break;
			x->order.bar = key + 1;
		}
		cls = fxt_class_of(x, cat - 1, name - 1, kind > SPUR_SPAN);
		if (!cls)
			break;
		if (event == FXT_END && name == 1)
			flags = SPUR_F_ANY;
		row_store(row, (uint64_t)ts, id, off,
			  (struct row_words){
				  .len_track = row_pair((uint32_t)bytes, track - 1),
				  .stream_cat = row_pair(x->stream, cat - 1),
				  .name_cls = row_pair(name - 1, cls),
				  .rest = row_rest(kind, (unsigned)flags, SPUR_NO_CPU, 0) });
		row->dur = dur;
		row->nargs = (uint8_t)fxt_bits(h, 20, 23);
		row++;
		last = ts;
		taken++;
		off += bytes;
	}
	b->count = (uint32_t)(row - b->rows);
	*records += taken;
	x->off = off;
	x->last = last;
}

/* Rows of one record that is not too late: into the batch; what does not fit is held. */
static void put_rows(struct fxt *x, struct batch *b, const struct spur_event *rows, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (b->count < b->cap)
			b->rows[b->count++] = rows[i];
		else
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
		if (!late && !reorder_until(&x->order, r.ts, rank, b))
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
static bool put_on_lanes(struct fxt *x, struct batch *b)
{
	for (uint32_t i = 0; i < b->count; i++) {
		struct spur_event *row = &b->rows[i];

		if (row->kind == SPUR_SPAN)
			row->track = lanes_span(x->lanes, row->track, row->ts, row->dur);
		else if (row->kind == SPUR_END_SPAN)
			lanes_end(x->lanes, row->track);
		else if (row->kind == SPUR_BEGIN && !lanes_begin(x->lanes, row->track))
			return false;
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
		if (x->ordered && !reorder_until(&x->order, INT64_MAX, UINT64_MAX - 1, b))
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
	enum spur_status st = SPUR_OK;
	bool more = true;

	b->count = 0;
	x->log = &f->diag;
	for (uint32_t i = 0; i < x->nheld && b->count < b->cap; i++)
		b->rows[b->count++] = x->held[i];
	x->nheld -= b->count;
	if (x->nheld)
		x->held[0] = x->held[1];
	while (more && b->count < b->cap) {
		if (!x->told && x->swap)
			plain_rows(x, b, &f->records, true);
		else if (!x->told)
			plain_rows(x, b, &f->records, false);
		if (b->count == b->cap || (b->count && must_wait(x)))
			break;
		more = next_record(x, b, &f->records, &st);
	}
	if (st == SPUR_FAIL || (x->spans && x->ordered && !put_on_lanes(x, b)))
		return SPUR_FAIL;
	return b->count ? SPUR_OK : SPUR_END;
}
