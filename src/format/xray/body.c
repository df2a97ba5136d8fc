/* FDR mode: the records of a buffer that are not ordinary, and what is damaged. */
#include "format/xray/fdr.h"

#include <assert.h>

enum { LONG_RUN = 32 }; /* records by which places are compared */

static const char *const meta_names[META_KINDS] = {
	"NewBuffer",   "EndOfBuffer",  "NewCPUId",	"TSCWrap",    "WallTime",
	"CustomEvent", "CallArgument", "BufferExtents", "TypedEvent", "Pid",
};

/* --- rows --- */

struct row_words xray_row_words(const struct fdr *r, uint32_t len)
{
	return (struct row_words){
		.len_track = row_pair(len, r->th ? r->th->track : r->x->file_track),
		.stream_cat = row_pair(r->x->stream, 0),
	};
}

/*
 * SPEC xray/time-back: rows of a feed are in order of time; one that would be older than the row
 * before gets that row's time and says so.
 */
static uint64_t row_ticks(struct fdr *r, uint64_t tsc, uint64_t off, uint16_t *flags)
{
	struct xray_thread *th = r->th;

	if (!th->based)
		*flags |= SPUR_F_RETIMED;
	if (!r->x->stored && tsc < th->high) {
		diag_add(&r->f->diag, DIAG_WARN, "xray/time-back", r->x->file, off, 0,
			 "record: expected at least %llu ticks, found %llu",
			 (unsigned long long)th->high, (unsigned long long)tsc);
		*flags |= SPUR_F_RETIMED | SPUR_F_BACK;
		return th->high;
	}
	th->high = tsc;
	return tsc;
}

/* A row of the record at xf->pos. */
static struct spur_event *put_row(struct fdr *r, uint64_t tsc, uint64_t id, uint64_t name_cls,
				  uint64_t rest, uint32_t len)
{
	struct spur_event *row = &r->b->rows[r->b->count++];
	struct row_words words = xray_row_words(r, len);
	uint16_t flags = 0;
	const uint64_t ticks = row_ticks(r, tsc, r->xf->pos, &flags);

	words.name_cls = name_cls;
	words.rest = rest;
	row_store(row, (uint64_t)ticks_ns(&r->xf->ticks, ticks), id, r->xf->pos, words);
	row->flags |= flags;
	return row;
}

static uint64_t class_words(const struct xray *x, uint32_t cls)
{
	return row_pair(trace_class(x->t, cls)->name, cls);
}

/* Ticks of the first call or event of a buffer, at `p`, if its head tells `base`; 0: no record. */
static uint64_t first_record_ticks(const struct fdr *r, const uint8_t *p, uint64_t base)
{
	const uint64_t own = load64(p + XRAY_EVENT_AT_TICKS, r->x->swap);
	const int32_t delta = (int32_t)own;

	if (xray_meta(r->x, p) < 0)
		return xray_call_kind(r->x, p) < CALL_KINDS && xray_call_id(r->x, p) ? base : 0;
	if (r->x->version < 5)
		return own < base ? own : base;
	return delta < 0 ? base + (uint64_t)(int64_t)delta : base;
}

/*
 * SPEC xray/book-time: those before a thread's first row get its time. Walks the records of the
 * buffer up to its first call or event. Returns 0 if they do not tell.
 */
static uint64_t first_ticks(const struct fdr *r)
{
	const struct xray_buffer *b = &r->xf->buffer;
	uint64_t tsc = b->flags & BUFFER_NO_WALL ? 0 : xray_tsc_at(r->x, b->wall), off = b->off;

	for (; b->end - off >= XRAY_METADATA; off += XRAY_METADATA) {
		const uint8_t *p = xray_at(r->x, off);
		const int kind = xray_meta(r->x, p);

		if (kind == META_NEW_CPU || kind == META_TSC_WRAP) {
			const uint64_t found = load64(
				p + (kind == META_NEW_CPU ? XRAY_CPU_AT_TICKS : XRAY_META_AT_DATA),
				r->x->swap);

			/* SPEC xray/bad-ticks */
			if (found <= r->xf->tsc_end)
				tsc = found;
		} else if (kind < 0 || kind == META_CUSTOM ||
			   (kind == META_TYPED && r->x->version > 2)) {
			tsc = first_record_ticks(r, p, tsc);
			break;
		}
	}
	return tsc <= r->xf->tsc_end ? tsc : 0;
}

/* A NATIVE row at the time of the row before. */
static void put_native(struct fdr *r, uint64_t off, enum xray_class what, uint32_t len)
{
	struct row_words words = xray_row_words(r, len);
	uint64_t high = r->th ? r->th->high : 0;

	if (!high && !r->x->stored) {
		if (!r->xf->first_known)
			r->xf->first_ticks = first_ticks(r);
		r->xf->first_known = true;
		high = r->xf->first_ticks;
	}
	words.name_cls = class_words(r->x, r->x->own[what]);
	words.rest = row_rest(SPUR_NATIVE, SPUR_F_RETIMED, r->th ? r->th->cpu : SPUR_NO_CPU, 0);
	row_store(&r->b->rows[r->b->count++], (uint64_t)ticks_ns(&r->xf->ticks, high), 0, off,
		  words);
}

/* --- events that wait --- */

static void hold_row(struct xray_feed *xf, const struct spur_event *row, uint64_t tsc)
{
	uint32_t i = xf->nheld++;

	for (; i && xf->held[i - 1].ticks > tsc; i--)
		xf->held[i] = xf->held[i - 1];
	xf->held[i] = (struct xray_held){ .row = *row, .ticks = tsc };
}

static void emit_held(struct fdr *r)
{
	struct xray_feed *xf = r->xf;
	struct spur_event *row = &r->b->rows[r->b->count++];
	uint16_t flags = 0;

	*row = xf->held[0].row;
	row->ts = ticks_ns(&xf->ticks, row_ticks(r, xf->held[0].ticks, row->off, &flags));
	row->flags |= flags;
	xf->nheld--;
	memmove(xf->held, xf->held + 1, xf->nheld * sizeof(*xf->held));
}

void xray_read_header(struct fdr *r)
{
	r->xf->scan = (struct xray_scan){ .at = XRAY_HEADER, .started = true };
	put_native(r, 0, XRAY_CLASS_HEADER, XRAY_HEADER);
}

void xray_read_span(struct fdr *r)
{
	struct xray_feed *xf = r->xf;
	const uint64_t left = xf->span_end - xf->span_at;
	const uint32_t len = left < XRAY_SPAN_MAX ? (uint32_t)left : XRAY_SPAN_MAX;

	assert(xf->span_at < xf->span_end && r->b->count < r->b->cap);
	put_native(r, xf->span_at, XRAY_CLASS_REPEATED, len);
	xf->span_at += len;
}

/* --- damage --- */

static void close_buffer(struct fdr *r)
{
	r->xf->pos = r->xf->buffer.end;
	r->xf->open = false;
	r->th->before = true;
}

/* How many bytes the buffer was to have. */
static uint64_t nominal_size(const struct fdr *r)
{
	const struct xray_buffer *b = &r->xf->buffer;

	return b->flags & BUFFER_EXTENTS
		       ? load64(xray_at(r->x, b->off - XRAY_METADATA) + XRAY_META_AT_DATA,
				r->x->swap)
		       : r->x->buffer_size;
}

static void report_truncated(struct fdr *r)
{
	const struct xray_buffer *b = &r->xf->buffer;

	diag_add(&r->f->diag, DIAG_DAMAGE, "xray/truncated", r->x->file, r->xf->pos,
		 b->end - r->xf->pos, "buffer: expected %llu bytes, found %llu",
		 (unsigned long long)nominal_size(r), (unsigned long long)(b->end - b->off));
}

/*
 * SPEC xray/typed-extents: the writers of versions 4 and 5 leave out 16 bytes for each typed event,
 * wherever that cuts the records off; of the last one `left` bytes are there. Returns false if that
 * does not apply to the buffer.
 */
static bool report_typed(struct fdr *r, uint64_t left)
{
	const struct xray_feed *xf = r->xf;
	const uint64_t missing = (uint64_t)xf->typed * XRAY_METADATA;

	if (!xf->typed || r->x->version < 4 || r->x->exact)
		return false;
	if (left)
		diag_add(&r->f->diag, DIAG_WARN, "xray/typed-extents", r->x->file, xf->pos,
			 left + missing,
			 "buffer: expected 16 more bytes for each of its %u typed events, found "
			 "its end inside a record: the writer left them out",
			 xf->typed);
	else
		diag_add(&r->f->diag, DIAG_WARN, "xray/typed-extents", r->x->file, xf->pos, missing,
			 "buffer: expected 16 more bytes for each of its %u typed events, found "
			 "its end between records: up to %llu bytes are missing, as LLVM leaves "
			 "them out",
			 xf->typed, (unsigned long long)missing);
	r->th->gap = true;
	return true;
}

/* The buffer ends inside a record. */
static void read_torn(struct fdr *r)
{
	struct xray_feed *xf = r->xf;
	const uint64_t left = xf->buffer.end - xf->pos;

	r->th->gap = true;
	if (xf->buffer.flags & BUFFER_CUT)
		report_truncated(r);
	else if (!report_typed(r, left))
		diag_add(&r->f->diag, DIAG_DAMAGE, "xray/torn-record", r->x->file, xf->pos, left,
			 "record: expected to end within its buffer, found %llu bytes",
			 (unsigned long long)left);
	if (xf->nheld) {
		xf->pos = xf->buffer.end;
		xf->draining = true;
	} else {
		close_buffer(r);
	}
}

/* Events that waited when the buffer ended inside a record are older than the next buffer. */
static void drain_held(struct fdr *r)
{
	struct xray_feed *xf = r->xf;

	assert(xf->nheld && xf->pos == xf->buffer.end);
	emit_held(r);
	if (xf->nheld)
		return;
	xf->draining = false;
	close_buffer(r);
}

static uint64_t body_end(const struct fdr *r)
{
	return r->xf->buffer.end - r->xf->junk;
}

/*
 * Bits of the function ids in the buffer's records so far. They have all been taken, so they need
 * no checks.
 */
static uint32_t seen_ids(struct fdr *r)
{
	struct xray_feed *xf = r->xf;
	uint64_t off = xf->ids_at;

	while (off < xf->pos) {
		const uint8_t *p = xray_at(r->x, off);
		const int kind = xray_meta(r->x, p);
		const bool event = kind == META_CUSTOM || (kind == META_TYPED && r->x->version > 2);

		if (kind < 0)
			xf->ids |= xray_call_id(r->x, p);
		off += kind < 0 ? XRAY_FUNCTION : XRAY_METADATA;
		if (event && xf->payloads == PAYLOADS_INTACT)
			off += load32(p + XRAY_META_AT_DATA, r->x->swap);
	}
	xf->ids_at = xf->pos;
	return xf->ids;
}

/*
 * SPEC xray/resync: where records in a row could stand, with functions no larger than those seen.
 * Of eight places the one from which on most can; the one that keeps the records' alignment comes
 * first.
 */
static uint64_t find_records(struct fdr *r)
{
	const uint64_t end = body_end(r);
	const uint32_t ids = seen_ids(r);

	for (uint64_t off = r->xf->pos; off < end; off += XRAY_FUNCTION) {
		uint32_t best = XRAY_RUN - 1;
		uint64_t found = end;

		for (uint64_t i = 0; i < XRAY_FUNCTION; i++) {
			const uint64_t at = off + (i ? i : XRAY_FUNCTION);
			const uint32_t run = xray_run(r->x, at, end, ids, r->xf->head, LONG_RUN);

			if (run > best) {
				best = run;
				found = at;
			}
		}
		if (found != end)
			return found;
	}
	return end;
}

static void read_bad(struct fdr *r, const char *expected, unsigned found)
{
	const uint64_t next = find_records(r);

	diag_add(&r->f->diag, DIAG_DAMAGE, "xray/bad-record", r->x->file, r->xf->pos,
		 next - r->xf->pos, "record: expected %s, found %u", expected, found);
	r->th->gap = true;
	r->xf->pos = next;
}

/* --- heads --- */

/* The next buffer's first ticks, and some more, as the CPUs' counters may differ. */
static uint64_t find_tsc_end(const struct fdr *r)
{
	const struct xray_buffer *next = r->x->list.items;
	const uint64_t last = INT64_MAX;

	if (r->x->stored || r->xf->next == r->xf->last)
		return last;
	next += r->xf->next;
	return next->flags & BUFFER_NO_TSC || next->tsc > last - UINT32_MAX
		       ? last
		       : next->tsc + UINT32_MAX;
}

bool xray_open_buffer(struct fdr *r)
{
	struct xray *x = r->x;
	struct xray_feed *xf = r->xf;
	const struct xray_buffer *b = &xf->buffer;
	bool ok = true;

	if (x->stored) {
		r->th = xf->thread = b->thread == SPUR_NONE ? NULL : xray_thread_at(x, b->thread);
		pthread_mutex_lock(&x->t->lock);
		ok = !r->th || xray_thread_track(x, r->th);
		pthread_mutex_unlock(&x->t->lock);
	}
	if (x->version < 5 && !xf->held)
		xf->held = xray_held_new();
	if (!ok || (x->version < 5 && !xf->held)) {
		r->failed = true;
		return false;
	}
	xf->tsc_end = find_tsc_end(r);
	xf->first_known = false;
	if (x->bookkeeping && (b->flags & BUFFER_EXTENTS))
		put_native(r, b->off - XRAY_METADATA, XRAY_CLASS_META + META_EXTENTS,
			   XRAY_METADATA);
	xf->span_at = b->off;
	xf->span_end = x->bookkeeping && xf->copied > b->off ? xf->copied : b->off;
	xf->pos = xf->ids_at = b->off;
	xf->ids = 0;
	xf->open = xf->head = xf->first = r->th != NULL;
	xf->seen = 0;
	/* SPEC xray/exact-mark */
	xf->payloads = x->version > 3 || x->exact ? PAYLOADS_INTACT : PAYLOADS_UNKNOWN;
	xf->typed = 0;
	xf->junk = xf->cpu_tsc = 0;
	if (!r->th)
		return true;
	xf->base_before = r->th->base;
	/* SPEC xray/carry-over: in version 1 only a thread's first buffer has a NewCPUId record */
	r->th->based = x->version == 1 && r->th->based;
	return true;
}

/* The first record that belongs to no head. */
static void leave_head(struct fdr *r)
{
	struct xray_feed *xf = r->xf;
	struct xray_thread *th = r->th;
	const unsigned need = 1u << META_NEW_BUFFER | 1u << META_WALL_TIME;
	uint64_t tsc;

	if (!xf->head)
		return;
	xf->head = false;
	if ((xf->seen & need) != need)
		diag_add(&r->f->diag, DIAG_DAMAGE, "xray/bad-head", r->x->file, xf->buffer.off, 0,
			 "buffer: expected NewBuffer and WallTime records, found no %s",
			 xf->seen & 1u << META_NEW_BUFFER ? "WallTime" : "NewBuffer");
	if (th->based)
		return;
	/* SPEC xray/no-ticks: estimated by the wall time, and marked */
	tsc = xf->buffer.flags & BUFFER_NO_WALL ? 0 : xray_tsc_at(r->x, xf->buffer.wall);
	th->base = tsc > th->high || r->x->stored ? tsc : th->high;
	diag_add(&r->f->diag, r->x->version == 1 ? DIAG_WARN : DIAG_DAMAGE, "xray/no-ticks",
		 r->x->file, xf->buffer.off, 0,
		 "buffer: expected a NewCPUId record, found none: its times are estimated");
}

/* Records that a head has once, and that set nothing. */
static bool read_head(struct fdr *r, int kind)
{
	struct xray_feed *xf = r->xf;
	const uint8_t bit = (uint8_t)(1u << (kind == META_PID ? META_ARGUMENT : kind));

	if (!xf->head || (xf->seen & bit))
		return false;
	xf->seen |= bit;
	if (r->x->bookkeeping)
		put_native(r, xf->pos, XRAY_CLASS_META + (enum xray_class)kind, XRAY_METADATA);
	xf->pos += XRAY_METADATA;
	return true;
}

static bool is_head(const struct fdr *r, uint64_t off)
{
	const int kind =
		body_end(r) - off >= XRAY_METADATA ? xray_meta(r->x, xray_at(r->x, off)) : -1;

	return kind == META_NEW_BUFFER || kind == META_WALL_TIME || kind == META_PID ||
	       kind == META_NEW_CPU || kind == META_TSC_WRAP;
}

/* A record of a head that is damaged: others of the head follow where it ends. */
static bool read_bad_head(struct fdr *r)
{
	struct xray_feed *xf = r->xf;
	const bool early = xf->head && (!r->th->based || !(xf->seen & 1u << META_WALL_TIME));

	if (!early || body_end(r) - xf->pos < 2 * XRAY_METADATA || is_head(r, xf->pos) ||
	    !is_head(r, xf->pos + XRAY_METADATA))
		return false;
	diag_add(&r->f->diag, DIAG_DAMAGE, "xray/bad-record", r->x->file, xf->pos, XRAY_METADATA,
		 "record: expected one of a buffer's first, found byte 0x%02x",
		 *xray_at(r->x, xf->pos));
	xf->pos += XRAY_METADATA;
	xf->ids_at = xf->pos;
	return true;
}

/*
 * SPEC xray/bad-ticks: far after the thread's next buffer, or far before the last row: all that
 * follows would get the time of one row, as rows do not go back.
 */
static void set_base(struct fdr *r, uint64_t tsc)
{
	const uint64_t high = r->th->high, end = r->xf->tsc_end;

	if (tsc > end) {
		diag_add(&r->f->diag, DIAG_DAMAGE, "xray/bad-ticks", r->x->file, r->xf->pos, 0,
			 "record: expected at most %llu ticks, found %llu: not taken",
			 (unsigned long long)end, (unsigned long long)tsc);
	} else if (!r->x->stored && high > UINT32_MAX && tsc < high - UINT32_MAX) {
		diag_add(&r->f->diag, DIAG_WARN, "xray/ticks-back", r->x->file, r->xf->pos, 0,
			 "record: expected about %llu ticks or more, found %llu: not taken",
			 (unsigned long long)high, (unsigned long long)tsc);
	} else {
		r->th->base = tsc;
		r->th->based = true;
	}
}

/* NewCPUId, TSCWrap. */
static void read_base(struct fdr *r, const uint8_t *p, int kind)
{
	struct xray_feed *xf = r->xf;
	struct xray_thread *th = r->th;
	uint64_t rest;

	if (kind == META_NEW_CPU) {
		/* SPEC xray/new-cpu */
		th->cpu = load16(p + XRAY_META_AT_DATA, r->x->swap);
		set_base(r, load64(p + XRAY_CPU_AT_TICKS, r->x->swap));
		if (!(xf->seen & 1u << META_NEW_CPU))
			xf->cpu_tsc = th->base;
		xf->seen |= 1u << META_NEW_CPU;
	} else {
		/* SPEC xray/tsc-wrap */
		set_base(r, load64(p + XRAY_META_AT_DATA, r->x->swap));
	}
	if (r->x->stored) {
		rest = row_rest(SPUR_NATIVE, 0, th->cpu, 0);
		put_row(r, th->base, 0,
			class_words(r->x, r->x->own[XRAY_CLASS_META + (enum xray_class)kind]), rest,
			XRAY_METADATA);
	} else if (r->x->bookkeeping) {
		put_native(r, xf->pos, XRAY_CLASS_META + (enum xray_class)kind, XRAY_METADATA);
	}
	xf->pos += XRAY_METADATA;
}

/* --- calls --- */

void xray_read_arguments(struct fdr *r, struct spur_event *row)
{
	struct xray_feed *xf = r->xf;
	uint32_t count = 0;

	while (count < XRAY_MAX_ARGS && body_end(r) - xf->pos >= XRAY_METADATA &&
	       xray_meta(r->x, xray_at(r->x, xf->pos)) == META_ARGUMENT) {
		count++;
		xf->pos += XRAY_METADATA;
	}
	row->len += count * XRAY_METADATA;
	row->nargs = (uint8_t)(count < UINT8_MAX ? count : UINT8_MAX);
}

/*
 * SPEC xray/double-delta: writers of versions 2 and 3 give the first call of a buffer the ticks
 * since the buffer before though NewCPUId has just set them.
 */
static bool is_double(const struct fdr *r, uint32_t delta)
{
	const struct xray_feed *xf = r->xf;

	return xf->first && (r->x->version == 2 || r->x->version == 3) && delta && r->th->before &&
	       r->th->base == xf->cpu_tsc && delta == xf->cpu_tsc - xf->base_before;
}

/* Ticks of the function record at `p`. */
static uint64_t call_ticks(const struct fdr *r, const uint8_t *p)
{
	const uint32_t delta = load32(p + XRAY_FUNCTION_AT_DELTA, r->x->swap);

	/* SPEC xray/ticks: deltas are unsigned and add up */
	return r->th->base + (is_double(r, delta) ? 0 : delta);
}

static void read_call(struct fdr *r, const uint8_t *p)
{
	struct xray_feed *xf = r->xf;
	struct xray_thread *th = r->th;
	const uint32_t kind = xray_call_kind(r->x, p), id = xray_call_id(r->x, p);
	struct spur_event *row;
	uint64_t words;

	if (kind >= CALL_KINDS || !id) {
		read_bad(r, id ? "a function record of kind 0 to 3" : "a function number from 1 on",
			 id ? kind : id);
		return;
	}
	leave_head(r);
	words = xray_words_get(r->x, id);
	if (!words) {
		r->failed = true;
		return;
	}
	if (is_double(r, load32(p + XRAY_FUNCTION_AT_DELTA, r->x->swap)))
		diag_add(&r->f->diag, DIAG_WARN, "xray/double-delta", r->x->file, xf->pos, 0,
			 "record: expected ticks since NewCPUId, found the %u since the thread's "
			 "buffer before: "
			 "counted once",
			 load32(p + XRAY_FUNCTION_AT_DELTA, r->x->swap));
	th->base = call_ticks(r, p);
	xf->first = false;
	row = put_row(r, th->base, id, words, xray_call_rest(th, kind, th->cpu), XRAY_FUNCTION);
	th->call = (uint8_t)kind;
	xf->pos += XRAY_FUNCTION;
	if (row->kind == SPUR_BEGIN)
		xray_read_arguments(r, row);
}

/* --- events --- */

/*
 * SPEC xray/custom-event, SPEC xray/typed-event: when it happened, by version. SPEC xray/bad-ticks:
 * ticks of its own that cannot be are those of the record before, or of the row before if that is
 * later, and a flag is set.
 */
static uint64_t event_ticks(struct fdr *r, const uint8_t *p, uint16_t *flags)
{
	struct xray_thread *th = r->th;
	uint64_t own;

	if (r->x->version >= XRAY_FDR_VERSION) {
		th->base += (uint64_t)(int64_t)(int32_t)load32(p + XRAY_EVENT_AT_TICKS, r->x->swap);
		return th->base;
	}
	own = load64(p + XRAY_EVENT_AT_TICKS, r->x->swap);
	if (own <= r->xf->tsc_end)
		return own;
	diag_add(&r->f->diag, DIAG_DAMAGE, "xray/bad-ticks", r->x->file, r->xf->pos, 0,
		 "event: expected at most %llu ticks, found %llu: not taken",
		 (unsigned long long)r->xf->tsc_end, (unsigned long long)own);
	*flags = SPUR_F_RETIMED;
	return !r->x->stored && th->high > th->base ? th->high : th->base;
}

/*
 * The length of an event's record with its payload; 0: it does not fit.
 * SPEC xray/overwritten-payload: writers of versions 1 to 3 put the next record where the payload
 * is, but count it in the extents; the payload of a buffer's last event stays.
 */
static uint64_t event_length(struct fdr *r, int32_t size)
{
	struct xray_feed *xf = r->xf;
	const uint64_t left = body_end(r) - xf->pos - XRAY_METADATA,
		       payload = (uint64_t)(int64_t)size;

	if (xf->payloads == PAYLOADS_UNKNOWN)
		xf->payloads = (uint8_t)xray_payloads_find(r->x, &xf->buffer);
	if (xf->payloads == PAYLOADS_INTACT || !size)
		return payload <= left ? XRAY_METADATA + payload : 0;
	if (size < 0)
		return 0;
	if (r->x->version > 1 && !(xf->buffer.flags & BUFFER_CUT)) {
		if (payload == left)
			return XRAY_METADATA + payload;
		if (payload < left)
			xf->junk += payload;
	}
	diag_add(&r->f->diag, DIAG_WARN, "xray/overwritten-payload", r->x->file,
		 xf->pos + XRAY_METADATA, payload < left ? payload : left,
		 "event: expected %llu bytes of payload, found the next record: the writer put it "
		 "there",
		 (unsigned long long)payload);
	return XRAY_METADATA;
}

static void put_event(struct fdr *r, const uint8_t *p, uint64_t name_cls, uint32_t len,
		      uint8_t nargs)
{
	uint16_t flags = 0;
	const uint64_t before = r->th->base, tsc = event_ticks(r, p, &flags),
		       rest = row_rest(SPUR_INSTANT, flags, r->th->cpu, 0);
	struct row_words words = xray_row_words(r, len);
	struct spur_event row;

	/* Events that wait already may be older. */
	if (r->x->version > 4 || r->x->stored || (tsc <= before && !r->xf->nheld)) {
		put_row(r, tsc, 0, name_cls, rest, len)->nargs = nargs;
		return;
	}
	words.name_cls = name_cls;
	words.rest = rest;
	row_store(&row, 0, 0, r->xf->pos, words);
	row.nargs = nargs;
	hold_row(r->xf, &row, tsc);
}

static void read_event(struct fdr *r, const uint8_t *p, int kind)
{
	struct xray_feed *xf = r->xf;
	const int32_t size = (int32_t)load32(p + XRAY_META_AT_DATA, r->x->swap);
	uint32_t cls = r->x->own[XRAY_CLASS_META + META_CUSTOM];
	uint64_t length;

	leave_head(r);
	xf->typed += kind == META_TYPED;
	length = event_length(r, size);
	if (!length || length > UINT32_MAX) {
		if (find_records(r) == body_end(r))
			read_torn(r);
		else
			read_bad(r, "an event's size within the buffer", (unsigned)size);
		return;
	}
	if (kind == META_TYPED)
		cls = xray_typed_class(r->x, xray_event_type(r->x, p));
	if (!cls) {
		r->failed = true;
		return;
	}
	put_event(r, p, class_words(r->x, cls), (uint32_t)length,
		  (uint8_t)((kind == META_TYPED) + (length > XRAY_METADATA || !size)));
	r->th->call = CALL_ENTER;
	xf->pos += length;
}

/* --- the rest --- */

/*
 * A whole buffer inside another one, whose extents were wrong. Its records are read if they are the
 * same thread's; as stored they may be any thread's.
 */
static bool read_nested(struct fdr *r, int kind)
{
	struct xray_feed *xf = r->xf;
	struct xray_buffer inner = { .off = xf->pos + (kind == META_EXTENTS ? XRAY_METADATA : 0),
				     .end = xf->buffer.end,
				     .flags = kind == META_EXTENTS ? BUFFER_EXTENTS : 0 };
	uint64_t next;

	if ((kind != META_EXTENTS && kind != META_NEW_BUFFER) ||
	    !xray_head_at(r->x, inner.off, inner.end))
		return false;
	inner.flags |= xf->buffer.flags & BUFFER_CUT;
	if (r->x->stored ? !xray_head_read(r->x, &inner)
			 : !xray_head_is_of(r->x, &inner, r->th)) {
		next = xray_head_find(r->x, inner.off + XRAY_METADATA, inner.end);
		next = next == UINT64_MAX ? inner.end : next;
		diag_add(&r->f->diag, DIAG_DAMAGE, "xray/bad-extents", r->x->file, xf->pos,
			 next - xf->pos,
			 "buffer: expected to end before the next one, found one of another thread "
			 "inside");
		xf->pos = next;
		return true;
	}
	diag_add(&r->f->diag, DIAG_DAMAGE, "xray/bad-extents", r->x->file, xf->pos, 0,
		 "buffer: expected to end before the next one, found one inside");
	r->th->before = true;
	xf->buffer = inner;
	xf->copied = 0;
	xray_open_buffer(r);
	return true;
}

/* A record that has no place here. */
static void read_unexpected(struct fdr *r, int kind)
{
	struct xray_feed *xf = r->xf;

	if (read_nested(r, kind))
		return;
	diag_add(&r->f->diag, DIAG_DAMAGE, "xray/unexpected-record", r->x->file, xf->pos,
		 XRAY_METADATA, "record: expected calls and events, found %s", meta_names[kind]);
	if (r->x->stored)
		put_native(r, xf->pos, XRAY_CLASS_META + (enum xray_class)kind, XRAY_METADATA);
	xf->pos += XRAY_METADATA;
}

/* SPEC xray/unknown-record: kept where a record follows it, else it is none */
static void read_unknown(struct fdr *r, int kind)
{
	struct xray_feed *xf = r->xf;
	const uint64_t next = xf->pos + XRAY_METADATA, end = body_end(r);

	if (!r->th->based ||
	    (next != end && !xray_run(r->x, next, end, seen_ids(r), xf->head, 1))) {
		read_bad(r, "a metadata record of kind 0 to 9", (unsigned)kind);
		return;
	}
	diag_add(&r->f->diag, DIAG_DAMAGE, "xray/unknown-record", r->x->file, xf->pos, 0,
		 "record: expected a metadata record of a kind that version %u has, found %d",
		 r->x->version, kind);
	put_native(r, xf->pos, XRAY_CLASS_UNKNOWN, XRAY_METADATA);
	xf->pos = next;
}

static void read_stray(struct fdr *r)
{
	diag_add(&r->f->diag, DIAG_DAMAGE, "xray/stray-argument", r->x->file, r->xf->pos, 0,
		 "record: expected CallArgument behind a function's entry, found it elsewhere");
	leave_head(r);
	put_native(r, r->xf->pos, XRAY_CLASS_META + META_ARGUMENT, XRAY_METADATA);
	r->xf->pos += XRAY_METADATA;
}

/*
 * SPEC xray/end-of-buffer: in version 1; what is after it in the buffer is left from earlier use
 */
static void read_end(struct fdr *r)
{
	if (r->x->version > 1) {
		read_unexpected(r, META_END_OF_BUFFER);
		return;
	}
	if (r->x->bookkeeping)
		put_native(r, r->xf->pos, XRAY_CLASS_META + META_END_OF_BUFFER, XRAY_METADATA);
	close_buffer(r);
}

static void read_meta(struct fdr *r, const uint8_t *p, int kind)
{
	switch (kind) {
	case META_NEW_CPU:
	case META_TSC_WRAP:
		read_base(r, p, kind);
		break;
	case META_CUSTOM:
		read_event(r, p, kind);
		break;
	case META_TYPED:
		if (r->x->version < 3)
			read_unknown(r, kind);
		else
			read_event(r, p, kind);
		break;
	case META_ARGUMENT:
		read_stray(r);
		break;
	case META_END_OF_BUFFER:
		read_end(r);
		break;
	case META_NEW_BUFFER:
	case META_WALL_TIME:
	case META_PID:
		if (!read_head(r, kind))
			read_unexpected(r, kind);
		break;
	case META_EXTENTS:
		read_unexpected(r, kind);
		break;
	default:
		read_unknown(r, kind);
	}
}

/* The buffer's records are used up. */
static void finish_buffer(struct fdr *r)
{
	if (r->xf->buffer.flags & BUFFER_CUT)
		report_truncated(r);
	else if (!report_typed(r, 0) && r->x->version == 1)
		diag_add(&r->f->diag, DIAG_WARN, "xray/no-end", r->x->file, r->xf->pos, 0,
			 "buffer: expected an EndOfBuffer record, found none");
	close_buffer(r);
}

/* Nothing that comes now can be older than the first row held. */
static bool held_is_due(const struct fdr *r, const uint8_t *p, uint64_t left)
{
	const struct xray_feed *xf = r->xf;
	const int kind = left ? xray_meta(r->x, p) : META_KINDS;

	if (kind < 0)
		return left < XRAY_FUNCTION || xray_call_kind(r->x, p) >= CALL_KINDS ||
		       !xray_call_id(r->x, p) || call_ticks(r, p) >= xf->held[0].ticks;
	return left < XRAY_METADATA || xf->nheld == XRAY_HELD ||
	       (kind != META_NEW_CPU && kind != META_TSC_WRAP && kind != META_ARGUMENT &&
		kind != META_CUSTOM && kind != META_TYPED);
}

void xray_read_other(struct fdr *r)
{
	const uint64_t left = body_end(r) - r->xf->pos;
	const uint8_t *p = xray_at(r->x, r->xf->pos);
	int kind;

	if (r->xf->draining) {
		drain_held(r);
		return;
	}
	if (r->xf->nheld && held_is_due(r, p, left)) {
		emit_held(r);
		return;
	}
	if (!left) {
		finish_buffer(r);
		return;
	}
	if (read_bad_head(r))
		return;
	kind = xray_meta(r->x, p);
	if (left < (kind < 0 ? XRAY_FUNCTION : XRAY_METADATA))
		read_torn(r);
	else if (kind < 0)
		read_call(r, p);
	else
		read_meta(r, p, kind);
}
