/*
 * From records to rows: by time, one feed for each thread; or as stored, one feed for the file.
 *
 * A thread's records are stored nearly by time: only a signal handler that records between the
 * clock and the store of another record is before it. So a first pass looks whether that happened
 * at all; if so, the records that are late are kept, and a second pass merges them.
 */
#include "format/spur/reader.h"

static const uint8_t site_kinds[] = {
	[SPB_SITE_SPAN] = SPUR_INSTANT,
	[SPB_SITE_INSTANT] = SPUR_INSTANT,
	[SPB_SITE_COUNTER] = SPUR_COUNTER,
	[SPB_SITE_ASYNC_BEGIN] = SPUR_ASYNC_BEGIN,
	[SPB_SITE_ASYNC_INSTANT] = SPUR_ASYNC_INSTANT,
	[SPB_SITE_ASYNC_END] = SPUR_ASYNC_END,
	[SPB_SITE_FLOW_BEGIN] = SPUR_FLOW_BEGIN,
	[SPB_SITE_FLOW_STEP] = SPUR_FLOW_STEP,
	[SPB_SITE_FLOW_END] = SPUR_FLOW_END,
	[SPB_SITE_LOG] = SPUR_LOG,
	[SPB_SITE_SWITCH] = SPUR_SWITCH,
	[SPB_SITE_WAKEUP] = SPUR_WAKEUP,
	[SPB_SITE_SAMPLE] = SPUR_SAMPLE,
	[SPB_SITE_OBJECT] = SPUR_OBJECT,
	[SPB_SITE_BLOB] = SPUR_BLOB,
	[SPB_SITE_LOST] = SPUR_LOST,
	[SPB_SITE_NATIVE] = SPUR_NATIVE,
	[SPB_SITE_WHOLE] = SPUR_SPAN,
};

static void row_set(const struct spb *s, const struct spb_record *r, uint32_t track,
		    struct spur_event *row)
{
	*row = (struct spur_event){ .ts = spb_ns(s, r->ticks),
				    .off = spb_off(s, r->p),
				    .len = r->len,
				    .track = track,
				    .stream = s->stream,
				    .cpu = SPUR_NO_CPU };
}

static const struct event_class *row_class(const struct spb *s, struct spur_event *row,
					   uint32_t cls)
{
	const struct event_class *c = trace_class(s->t, cls);

	row->cls = cls;
	row->name = c->name;
	row->cat = c->cat;
	return c;
}

static void row_own(const struct spb *s, struct spur_event *row, uint8_t kind, enum spb_class cls)
{
	row->kind = kind;
	row_class(s, row, s->own[cls]);
}

static void row_unknown(const struct spb_rows *w, const struct spb_record *r,
			struct spur_event *row)
{
	row_own(w->s, row, SPUR_NATIVE, SPB_CLASS_UNKNOWN);
	row->id = r->id;
	if (w->diag)
		diag_add(
			w->diag, DIAG_DAMAGE, "spur/unknown-record", w->s->file,
			spb_off(w->s, r->p), 0,
			"record: expected a known kind and a described site, found kind %u of site "
			"%u: kept as it is",
			r->kind, r->id);
}

/* SPEC spur/site-has: what stands in front of the arguments. */
static void row_has(const struct spb_rows *w, const struct spb_site *site,
		    const struct spb_record *r, struct spur_event *row)
{
	static const uint16_t flags[] = { SPUR_F_OUT,	    SPUR_F_IN,	    SPUR_F_PREEMPTED,
					  SPUR_F_EXIT,	    SPUR_F_RETIMED, SPUR_F_ESTIMATED,
					  SPUR_F_UNRELIABLE };
	const uint8_t *p = r->payload, *const end = p + (size_t)r->words * SPB_WORD;

	if (site->has & SPB_HAS_ID && p < end) {
		row->id = spb_64(p);
		p += SPB_WORD;
	}
	if (site->has & SPB_HAS_LENGTH && p < end) {
		row->dur = spb_64(p) > INT64_MAX ? INT64_MAX : (int64_t)spb_64(p);
		p += SPB_WORD;
	}
	for (unsigned i = 0; site->has & SPB_HAS_MARKS && p < end && i < 7; i++)
		row->flags |= spb_64(p) >> i & 1 ? flags[i] : 0;
	if (row->kind == SPUR_LOST && w->diag)
		read_count(&w->s->t->read.discarded, row->id);
}

/* SPEC spur/site: BEGIN, END and EVENT of a site */
static void row_site(const struct spb_rows *w, const struct spb_record *r, struct spur_event *row)
{
	const struct spb *const s = w->s;
	const struct spb_site *site = spb_table_find(&s->sites, r->id);

	if (r->kind == SPB_END && !r->id) {
		w->th->spans -= w->th->spans != 0;
		row_own(s, row, SPUR_END_SPAN, SPB_CLASS_RETURN);
		row->flags = SPUR_F_ANY;
		return;
	}
	if (!site) {
		row_unknown(w, r, row);
		return;
	}
	row_class(s, row, site->cls);
	row->nargs = site->nargs;
	switch ((enum spb_kind)r->kind) {
	case SPB_BEGIN:
		row->kind = SPUR_BEGIN;
		w->th->spans++;
		return;
	case SPB_END:
		row->kind = SPUR_END_SPAN;
		w->th->spans -= w->th->spans != 0;
		row->nargs = site->nresults;
		return;
	default:
		row->kind = site_kinds[site->kind];
	}
	if (site->has)
		row_has(w, site, r, row);
}

/* SPEC spur/function: returns false if out of memory. */
static bool row_function(struct spb *s, const struct spb_record *r, struct spur_event *row)
{
	const uint64_t addr = !r->id && r->words ? spb_64(r->payload) : 0;
	const struct spb_site *fn = r->id ? spb_table_find(&s->functions, r->id) : NULL;
	const bool end = r->kind == SPB_EXIT;
	uint32_t cls;

	row->kind = end ? SPUR_END_SPAN : SPUR_BEGIN;
	if (end && !r->id) {
		row_class(s, row, s->own[SPB_CLASS_RETURN]);
		row->flags = SPUR_F_ANY;
		return true;
	}
	cls = fn ? __atomic_load_n(&fn->cls, __ATOMIC_ACQUIRE) : 0;
	if (!cls)
		cls = spb_function(s, r->id, addr, r->ticks);
	if (!cls)
		return false;
	row->id = row_class(s, row, cls)->addr;
	/* A record without a payload has none: a jump to another function ended the call. */
	if (fn && r->words)
		row->nargs = end ? fn->nresults : fn->nargs;
	return true;
}

/* The END rows that a record stands for, `n` at most as many as functions are open. */
static void pending_ends(const struct spb_rows *w, const struct spur_event *row, uint64_t n,
			 uint16_t flags)
{
	struct spb_thread *const th = w->th;

	th->pending = *row;
	th->pending.nargs = 0;
	th->pending.id = 0;
	row_own(w->s, &th->pending, SPUR_END_SPAN, SPB_CLASS_RETURN);
	th->pending.flags = (uint16_t)(SPUR_F_ANY | flags);
	th->npending = n < th->calls ? n : th->calls;
	th->calls -= (uint32_t)th->npending;
}

/* SPEC spur/tail-call: the innermost function ends, and another begins in its place. */
static bool row_tail(const struct spb_rows *w, const struct spb_record *r, struct spur_event *row)
{
	struct spb_thread *const th = w->th;
	struct spur_event begin = *row;

	if (!row_function(w->s, r, &begin))
		return false;
	begin.flags = SPUR_F_TAIL;
	pending_ends(w, row, 1, SPUR_F_TAIL);
	th->calls++;
	*row = begin;
	if (th->npending) {
		*row = th->pending;
		th->pending = begin;
	}
	return true;
}

/* SPEC spur/switch */
static void row_switch(const struct spb *s, const struct spb_record *r, struct spur_event *row)
{
	row_own(s, row, SPUR_SWITCH, SPB_CLASS_SWITCH);
	row->cpu = r->id >> 1 < SPUR_NO_CPU ? (uint16_t)(r->id >> 1) : SPUR_NO_CPU;
	row->flags = r->id & 1 ? SPUR_F_OUT : SPUR_F_IN;
	if (r->id & 1 && r->words && spb_64(r->payload) & 1)
		row->flags |= SPUR_F_PREEMPTED;
}

/* SPEC spur/lost */
static void row_lost(const struct spb_rows *w, uint64_t n, struct spur_event *row)
{
	row_own(w->s, row, SPUR_LOST, SPB_CLASS_LOST);
	row->id = n;
	if (w->diag)
		read_count(&w->s->t->read.discarded, n);
}

static void fiber_run(const struct spb_rows *w, const struct spb_record *r)
{
	const uint64_t id = r->words ? spb_64(r->payload) : 0;
	const struct map64_slot *slot = id ? map64_find(&w->s->fibers, id) : NULL;

	/* SPEC spur/fiber: one without a name runs on the thread's track */
	w->c->track = slot ? (uint32_t)slot->value : w->th->track;
}

static enum spb_outcome bookkeeping(const struct spb_rows *w, enum spb_class cls,
				    struct spur_event *row)
{
	if (!w->stored)
		return ROW_NONE;
	row_own(w->s, row, SPUR_NATIVE, cls);
	return ROW_MADE;
}

static enum spb_outcome row_call(const struct spb_rows *w, const struct spb_record *r,
				 struct spur_event *row)
{
	struct spb_thread *const th = w->th;

	switch ((enum spb_kind)r->kind) {
	case SPB_ENTER:
		th->calls++;
		return row_function(w->s, r, row) ? ROW_MADE : ROW_FAILED;
	case SPB_EXIT:
		th->calls -= th->calls != 0;
		return row_function(w->s, r, row) ? ROW_MADE : ROW_FAILED;
	case SPB_TAIL:
		return row_tail(w, r, row) ? ROW_MADE : ROW_FAILED;
	default:
		/* SPEC spur/unwind */
		pending_ends(w, row, r->words ? spb_64(r->payload) : 1, 0);
		if (!th->npending)
			return ROW_NONE;
		th->npending--;
		*row = th->pending;
		return ROW_MADE;
	}
}

enum spb_outcome spb_row_of(const struct spb_rows *w, const struct spb_record *r,
			    struct spur_event *row)
{
	row_set(w->s, r, w->c->track, row);
	row->cpu = w->c->cpu;
	switch ((enum spb_kind)r->kind) {
	case SPB_BEGIN:
	case SPB_END:
	case SPB_EVENT:
		row_site(w, r, row);
		return ROW_MADE;
	case SPB_ENTER:
	case SPB_EXIT:
	case SPB_TAIL:
	case SPB_UNWIND:
		return row_call(w, r, row);
	case SPB_TIME:
		return bookkeeping(w, SPB_CLASS_TIME, row);
	case SPB_FIBER:
		fiber_run(w, r);
		return bookkeeping(w, SPB_CLASS_FIBER, row);
	case SPB_CPU:
		/* SPEC spur/cpu */
		w->c->cpu = r->id && r->id <= SPUR_NO_CPU ? (uint16_t)(r->id - 1) : SPUR_NO_CPU;
		return bookkeeping(w, SPB_CLASS_CPU, row);
	case SPB_PAD:
		return bookkeeping(w, SPB_CLASS_PAD, row);
	case SPB_SWITCH:
		row_switch(w->s, r, row);
		return ROW_MADE;
	case SPB_HOLE:
		row_lost(w, 1, row);
		row->flags = SPUR_F_RETIMED;
		return ROW_MADE;
	case SPB_LOST:
		row_lost(w, r->words ? spb_64(r->payload) : 0, row);
		return ROW_MADE;
	default:
		row_unknown(w, r, row);
		return ROW_MADE;
	}
}

enum spb_outcome spb_chunk_end(const struct spb_rows *w, uint64_t lost, struct spur_event *row)
{
	const struct spb_record r = { .p = w->c->base,
				      .len = SPB_CHUNK_HEAD,
				      .ticks = w->c->ticks };

	if (!lost || w->c->lost_told)
		return ROW_NONE;
	w->c->lost_told = true;
	row_set(w->s, &r, w->th->track, row);
	row_lost(w, lost, row);
	return ROW_MADE;
}

/*
 * SPEC spur/gap: what a ring has overwritten between two of its chunks may have the ends of all
 * that is open: the second one was begun after the first one was closed, but not before its last
 * record.
 */
uint64_t spb_gap_ticks(const struct spb *s, uint32_t before, uint32_t chunk, uint64_t last)
{
	const uint8_t *end;
	const uint64_t closed = spb_64(spb_chunk(s, before, &end) + SPB_CLOSE_AT);
	const uint64_t opened = spb_64(spb_chunk(s, chunk, &end) + SPB_OPEN_AT);

	if (spb_32(s->data + SPB_MODE_AT) != SPB_RING || !closed || (int64_t)(opened - closed) <= 0)
		return 0;
	return (int64_t)(last - closed) > 0 ? last : closed;
}

/*
 * Ends what is open before a gap. The rows' place is the pair that tells it, so that a copy knows
 * them from the losses that the same head may tell.
 */
static void gap_ends(const struct spb_rows *w, uint32_t before, uint32_t chunk)
{
	const struct spb *const s = w->s;
	struct spb_thread *const th = w->th;
	const uint8_t *end, *const p = spb_chunk(s, chunk, &end);
	const uint64_t closed = spb_gap_ticks(s, before, chunk, w->c->ticks);
	const uint64_t open = (uint64_t)th->calls + th->spans;
	struct spur_event row;

	if (!closed || !open)
		return;
	row_set(s, &(struct spb_record){ .p = p + SPB_OPEN_AT, .len = SPB_PAIR, .ticks = closed },
		w->c->track, &row);
	th->calls = (uint32_t)(open < UINT32_MAX ? open : UINT32_MAX);
	pending_ends(w, &row, th->calls, SPUR_F_IMPLIED);
	th->spans = 0;
}

/* The next row as stored, of the chunk that is being read. */
static enum spb_outcome chunk_next(const struct spb_rows *w, struct spur_event *row)
{
	struct spb_thread *const th = w->th;
	struct spb_record r;

	if (th->npending) {
		th->npending--;
		*row = th->pending;
		return ROW_MADE;
	}
	while (spb_record_plain(w->c, &r) || spb_record_next(w->s, w->c, w->diag, &r)) {
		const enum spb_outcome made = spb_row_of(w, &r, row);

		if (made != ROW_NONE)
			return made;
	}
	if (spb_chunk_end(w, spb_64(w->c->base + SPB_CHUNK_LOST_AT), row) == ROW_MADE)
		return ROW_MADE;
	spb_cursor_close(w->s, w->c);
	return ROW_NONE;
}

/* The next row of a thread in stored order; ROW_NONE: no more follow. */
static enum spb_outcome thread_next(const struct spb_rows *w, struct spur_event *row)
{
	const struct spb *const s = w->s;
	struct spb_thread *const th = w->th;

	for (;;) {
		enum spb_outcome made;

		if (!w->c->base) {
			if (th->next == th->count)
				return ROW_NONE;
			assert(th->next < th->count);
			if (th->next)
				gap_ends(w, s->chunks[th->first + th->next - 1].number,
					 s->chunks[th->first + th->next].number);
			spb_cursor_open(s, w->c, s->chunks[th->first + th->next++].number,
					th->track);
			continue;
		}
		made = chunk_next(w, row);
		if (made != ROW_NONE)
			return made;
	}
}

static void thread_rewind(struct spb_thread *th)
{
	th->next = th->calls = th->spans = 0;
	th->npending = 0;
	th->cursor.base = NULL;
}

/* Returns true if the record is not before the last one, whose time becomes its own. */
static inline bool ticks_ascend(const struct spb *s, const struct spb_record *r, int64_t *last)
{
	const int64_t before = *last;

	*last = (int64_t)(r->ticks - s->ticks);
	return *last >= before;
}

/* Returns true if all records of the thread are stored by time, as spb_ns() sees it. */
static bool thread_ascends(const struct spb *s, const struct spb_thread *th)
{
	int64_t last = INT64_MIN;
	struct spb_cursor c;

	for (uint32_t i = 0; i < th->count; i++) {
		struct spb_record r;
		bool more = true;

		r.ticks = i ? spb_gap_ticks(s, s->chunks[th->first + i - 1].number,
					    s->chunks[th->first + i].number, c.ticks)
			    : 0;
		if (r.ticks && !ticks_ascend(s, &r, &last))
			return false;
		spb_cursor_open(s, &c, s->chunks[th->first + i].number, th->track);
		while (more && (spb_record_plain(&c, &r) || spb_record_next(s, &c, NULL, &r)))
			more = ticks_ascend(s, &r, &last);
		spb_cursor_close(s, &c);
		if (!more)
			return false;
	}
	return true;
}

/* The first pass. Returns false if out of memory. SPEC spur/order */
static bool thread_begin(struct spb *s, struct spb_thread *th)
{
	const struct spb_rows w = { .s = s, .th = th, .c = &th->cursor };
	struct spur_event row;
	struct reorder *order;
	enum spb_outcome made;

	th->begun = true;
	if (thread_ascends(s, th))
		return true;
	th->merge = mem_alloc(sizeof(*th->merge));
	if (!th->merge)
		return false;
	order = &th->merge->order;
	reorder_init(order, sizeof(struct spur_event), false);
	while ((made = thread_next(&w, &row)) == ROW_MADE)
		if (reorder_late(order, row.ts, 0) && !reorder_add(order, row.ts, 0, &row))
			return false;
	thread_rewind(th);
	return made != ROW_FAILED && reorder_sort(order);
}

void spb_thread_end(struct spb_thread *th)
{
	if (th->merge)
		reorder_free(&th->merge->order);
	mem_free(th->merge);
	th->merge = NULL;
}

/* The next row that is not late, to be held until all that is before it was given out. */
static enum spb_outcome merge_hold(const struct spb_rows *w, struct spb_merge *m)
{
	enum spb_outcome made = ROW_MADE;

	while (!m->holds && (made = thread_next(w, &m->held)) == ROW_MADE)
		m->holds = !reorder_late(&m->order, m->held.ts, 0);
	return made;
}

/* The second pass. Returns false if out of memory. */
static bool merge_next(const struct spb_rows *w, struct batch *b)
{
	struct spb_merge *const m = w->th->merge;
	enum spb_outcome made;

	while ((made = merge_hold(w, m)) == ROW_MADE) {
		if (!reorder_until(&m->order, m->held.ts, 0, b))
			return true;
		assert(b->count < b->cap);
		b->rows[b->count++] = m->held;
		m->holds = false;
	}
	if (made == ROW_NONE)
		reorder_until(&m->order, INT64_MAX, UINT64_MAX - 1, b);
	return made != ROW_FAILED;
}

enum spur_status spb_read(struct spb *s, struct feed *f, struct batch *b)
{
	struct spb_thread *const th = f->state;
	const struct spb_rows w = { .s = s, .th = th, .c = &th->cursor, .diag = &f->diag };
	enum spb_outcome made = ROW_MADE;

	if (!th->begun && !thread_begin(s, th))
		return SPUR_FAIL;
	if (th->merge) {
		if (!merge_next(&w, b))
			return SPUR_FAIL;
	} else {
		while (b->count < b->cap &&
		       (made = thread_next(&w, &b->rows[b->count])) == ROW_MADE)
			b->count++;
		if (made == ROW_FAILED)
			return SPUR_FAIL;
	}
	read_count(&s->t->read.records, b->count);
	if (!b->count)
		spb_thread_end(th);
	return b->count ? SPUR_OK : SPUR_END;
}

/* SPEC spur/lost: events that no chunk says anything of, at the end of the recording. */
enum spur_status spb_read_process(struct spb *s, struct batch *b)
{
	const struct spb_rows w = { .s = s };
	const struct spb_record r = { .p = s->data, .len = SPB_HEADER, .ticks = s->last };

	if (s->lost_told || !s->lost)
		return SPUR_END;
	s->lost_told = true;
	row_set(s, &r, s->process, b->rows);
	row_lost(&w, s->lost, b->rows);
	read_count(&s->t->read.discarded, s->lost);
	b->rows->flags = SPUR_F_RETIMED;
	b->count = 1;
	return SPUR_OK;
}

/* --- as stored: SPEC spur/stored --- */

static bool descriptor_row(const struct spb_rows *w, struct spur_event *row)
{
	struct spb_described d;

	if (!spb_descriptor_next(w->s, w->c, NULL, &d))
		return false;
	row_set(w->s,
		&(struct spb_record){ .p = d.p, .len = (uint32_t)d.len, .ticks = w->c->ticks },
		w->s->process, row);
	row_own(w->s, row, SPUR_NATIVE, SPB_CLASS_DESCRIPTOR);
	row->id = d.type;
	row->flags = SPUR_F_RETIMED;
	return true;
}

/* Begins the next chunk of the file. */
static void stored_begin(struct spb *s, struct spb_rows *w)
{
	const struct spb_chunk *const k = &s->chunks[s->stored_chunk++];

	s->stored_thread = k->thread;
	if (k->thread == SPUR_NONE) {
		spb_cursor_open(s, w->c, k->number, s->process);
		return;
	}
	w->th = &s->threads[k->thread];
	spb_cursor_open(s, w->c, k->number, w->th->track);
}

enum spur_status spb_read_stored(struct spb *s, struct feed *f, struct batch *b)
{
	struct spb_rows w = { .s = s, .c = &s->stored, .diag = &f->diag, .stored = true };

	while (b->count < b->cap) {
		struct spur_event *const row = &b->rows[b->count];
		enum spb_outcome made = ROW_NONE;

		if (!s->stored.base) {
			if (s->stored_chunk == s->nchunks)
				break;
			stored_begin(s, &w);
		} else if (s->stored_thread == SPUR_NONE) {
			made = descriptor_row(&w, row) ? ROW_MADE : ROW_NONE;
			if (made == ROW_NONE)
				spb_cursor_close(s, &s->stored);
		} else {
			w.th = &s->threads[s->stored_thread];
			made = chunk_next(&w, row);
		}
		if (made == ROW_FAILED)
			return SPUR_FAIL;
		b->count += made == ROW_MADE;
	}
	if (!b->count)
		return spb_read_process(s, b);
	read_count(&s->t->read.records, b->count);
	return SPUR_OK;
}
