/* Pass 1: headers and times; the tables, the tracks, and the rows of what comes too late. */
#include "format/fxt/plain.h"

enum { PASS_STEP = 1 << 20 }; /* bytes of events between calls of source_passed() */

bool fxt_record_at(struct fxt *x, struct fxt_frame *f, struct fxt_record *r)
{
	uint64_t next;

	fxt_shape_of(&r->shape, x->src->data + x->off, f->size, x->swap);
	next = fxt_resync_within(x, x->off, &r->shape);
	/* Looking ahead may have moved the data. */
	if (r->shape.p != x->src->data + x->off)
		fxt_shape_of(&r->shape, x->src->data + x->off, f->size, x->swap);
	if (next != UINT64_MAX) {
		f->state = FXT_FRAME_DAMAGE;
		f->code = "fxt/size-past-end";
		f->lost = next - x->off;
		return false;
	}
	r->off = x->off;
	r->provider = x->provider;
	r->clamped = false;
	r->placed = r->shape.timed || (x->mark_end && x->mark_end == x->off);
	if (r->shape.timed)
		r->ts = fxt_clock_ns(&r->provider->clock, r->shape.ticks, &r->clamped);
	else if (r->placed)
		r->ts = x->mark_ts;
	else if (!x->ordered)
		r->ts = x->last;
	else
		r->ts = x->order.highest == INT64_MIN ? x->start : x->order.highest;
	if (fxt_shape_is_next_mark(&r->shape))
		x->sure = x->off + r->shape.size;
	/* SPEC fxt/time-mark: for all that has no time up to the next record that has one */
	if (r->shape.timed ? r->shape.type == FXT_BLOB : r->placed) {
		x->mark_end = x->off + r->shape.size;
		x->mark_ts = r->ts;
	}
	return true;
}

/* SPEC fxt/damage: what is no record is skipped and counted */
bool fxt_pass_damage(struct fxt *x, const struct fxt_frame *f)
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
	assert(f->lost && f->lost <= x->src->size - x->off);
	x->off += f->lost;
	x->lost_until = x->off;
	x->gaps = true;
	if (!x->first)
		return true;
	if (!fxt_scratch_grow((void **)&x->lost, &x->lost_cap, x->nlost + 1, sizeof(*x->lost)))
		return false;
	x->lost[x->nlost++] = (struct fxt_gap){ .off = x->off - f->lost, .len = f->lost };
	return true;
}

uint64_t fxt_row_rank(const struct spur_event *row)
{
	if (row->kind == SPUR_SPAN)
		return REORDER_SPAN(row->dur);
	/* Of the two rows of a switch the second one. */
	return row->off + (row->flags & SPUR_F_IN ? 1 : 0);
}

/*
 * The row of a plain event that comes too late. False: it is not plain, or (then *good is) no
 * memory.
 */
static bool store_late(struct fxt *x, const uint8_t *p, bool *good)
{
	const uint8_t *const data_end = x->src->data + x->src->size;
	struct plain_event e;
	struct spur_event row;

	if (!plain_event(x, plain_tables(x), p, data_end, &e, x->swap, false) &&
	    !fxt_inline_event(x, plain_tables(x), p, data_end, &e))
		return false;
	plain_row(&row, &e, (uint64_t)(p - x->src->data));
	fxt_mark_gap(x, &row);
	*good = reorder_add(&x->order, row.ts, fxt_row_rank(&row), &row);
	return *good;
}

/* The event of `bytes` at p, which are there, has an inline thread that was seen before. */
static __attribute__((noinline)) bool thread_is_seen(const struct fxt *x, const uint8_t *p,
						     uint64_t bytes)
{
	return bytes >= 4 * FXT_WORD && !fxt_get(load64(p, x->swap), FXT_F_EVENT_THREAD) &&
	       fxt_thread_seen(x, load64(p + 2 * FXT_WORD, x->swap),
			       load64(p + 3 * FXT_WORD, x->swap));
}

/*
 * Plain events from x->off on, up to a step: all that is asked of most is their time. Returns false
 * if out of memory. INVARIANT: p <= data_end, and a record is looked at only where all of it is
 * there.
 */
ALWAYS_INLINE bool scan_events(struct fxt *x, bool swap, bool plain)
{
	const uint8_t *const data = x->src->data, *const data_end = data + x->src->size;
	const uint8_t *p = data + x->off;
	const ptrdiff_t whole = data_end - p - (2 * FXT_WORD - 1);
	const uint8_t *const stop = whole > PASS_STEP ? p + PASS_STEP : p + whole;
	const struct plain_tables in = plain_tables(x);
	struct reorder order = x->order; /* a copy, so that it need not lie in memory */
	int64_t start = x->start;
	bool spans = false, good = true;

	while (p < stop) {
		const uint64_t h = load64(p, swap), bytes = fxt_bytes(h),
			       ticks = load64(p + FXT_WORD, swap);
		const uint64_t event = fxt_get(h, FXT_F_EVENT_TYPE);
		int64_t ts = (int64_t)ticks;

		source_ahead(p, 0);
		if (fxt_type(h) != FXT_EVENT || event >= FXT_EVENT_TYPES ||
		    bytes - 2 * FXT_WORD > (uint64_t)(data_end - p) - 2 * FXT_WORD ||
		    (!in.threads[fxt_get(h, FXT_F_EVENT_THREAD)].now &&
		     !thread_is_seen(x, p, bytes)) ||
		    (plain ? ts < 0 : !fxt_clock_fast(in.clock, ticks, &ts)))
			break;
		spans |= event == FXT_COMPLETE;
		start = ts < start ? ts : start;
		if (!reorder_ascends(&order, ts) && reorder_late_window(&order, ts)) {
			x->order = order;
			x->told = !store_late(x, p, &good);
			order = x->order;
			if (x->told)
				break;
		}
		p += bytes;
	}
	x->order = order;
	x->start = start;
	x->spans |= spans;
	x->off = (uint64_t)(p - data);
	return good;
}

/* Plain events up to a record that is none. Returns false if out of memory. */
static bool scan_plain(struct fxt *x)
{
	const bool plain = !x->swap && x->provider->clock.plain;
	uint64_t from;
	bool good;

	do {
		from = x->off;
		good = x->swap ? scan_events(x, true, false)
		       : plain ? scan_events(x, false, true)
			       : scan_events(x, false, false);
		source_passed(x->src, from, x->off);
	} while (good && !x->told && x->off - from >= PASS_STEP);
	return good;
}

/* Any record; its rows are wanted only where it comes too late. */
static bool scan_record(struct fxt *x, const struct fxt_record *record)
{
	struct fxt_record r = *record;
	struct spur_event rows[2];
	uint32_t n = 0;
	bool late = false;

	if (r.placed) {
		late = x->told || reorder_late_window(&x->order, r.ts);
		x->start = r.ts < x->start ? r.ts : x->start;
	} else if (x->order.highest != INT64_MIN) {
		/* Spans of the same time may be in the window before. */
		late = reorder_late_window(&x->order, r.ts);
	} else {
		reorder_pass_window(&x->order);
	}
	x->told = false;
	if (r.shape.type == FXT_EVENT && !r.shape.lacks && r.shape.sub == FXT_COMPLETE)
		x->spans = true;
	if (r.shape.type == FXT_EVENT && !late)
		return r.shape.lacks || fxt_record_track(x, &r, &r.shape.threads[0]) != SPUR_NONE;
	if (!fxt_rows_of(x, &r, rows, &n))
		return false;
	for (uint32_t i = 0; late && i < n; i++)
		if (!reorder_add(&x->order, rows[i].ts, fxt_row_rank(&rows[i]), &rows[i]))
			return false;
	return true;
}

bool fxt_scan(struct fxt *x)
{
	struct fxt_frame f;
	struct fxt_record r;

	x->first = true;
	x->log = &x->mute;
	x->start = INT64_MAX;
	do {
		if (!scan_plain(x))
			return false;
		fxt_frame_at(x->src, x->off, x->swap, &x->resync, &f);
		if (f.state == FXT_FRAME_DAMAGE ||
		    (f.state == FXT_FRAME_RECORD && !fxt_record_at(x, &f, &r))) {
			if (!fxt_pass_damage(x, &f))
				return false;
		} else if (f.state == FXT_FRAME_RECORD) {
			if (!scan_record(x, &r))
				return false;
			x->off += f.size;
		}
	} while (f.state != FXT_FRAME_END);
	return true;
}

bool fxt_scan_end(struct fxt *x)
{
	assert(x->first && !x->told);
	x->first = false;
	x->had_gaps = x->gaps;
	x->start = x->start == INT64_MAX ? 0 : x->start;
	return fxt_state_rewind(x) && reorder_sort(&x->order);
}
