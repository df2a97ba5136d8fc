/*
 * FDR mode: a thread's buffers, one after the other, to rows. Function records go through a short
 * loop; everything else through take_other(), one record at a time.
 */
#include "format/xray/fdr.h"

enum {
	NOT_ORDINARY = 9, /* little endian: metadata, or a function record of kind 4 to 7 */
	NOT_ORDINARY_BIG = 12, /* the same in the highest four bits */
	CALLS_SEEN = CALL_KINDS * CALL_KINDS,
};

static_assert(SPUR_BEGIN == 0 && SPUR_END_SPAN == 1, "kinds are made without a branch");

/* SPEC xray/call-kinds, SPEC xray/tail: by the kind of the record before and its own */
static uint64_t call_rest(unsigned before, unsigned kind, bool gap, uint16_t cpu)
{
	const bool enter = kind == CALL_ENTER || kind == CALL_ENTER_ARGS;
	const bool tail = enter ? before == CALL_TAIL_EXIT : kind == CALL_TAIL_EXIT;
	const unsigned flags = (tail ? SPUR_F_TAIL : 0u) | (gap && !enter ? SPUR_F_GAP : 0u);

	return row_rest(enter ? SPUR_BEGIN : SPUR_END_SPAN, (uint16_t)flags, cpu, 0);
}

uint64_t xray_call_rest(const struct xray_thread *th, unsigned kind, uint16_t cpu)
{
	return call_rest(th->call, kind, th->gap, cpu);
}

/* Where a run of records ended, and at how many ticks from the origin. */
struct run {
	uint64_t off, d;
};

/* Stored at once. */
typedef uint64_t pair __attribute__((vector_size(16)));

/* A row but for its id. `fixed`: its third quarter. */
static inline void call_store(char *row, int64_t ts, uint64_t off, pair fixed, uint64_t name_cls,
			      const char *rest)
{
	memcpy(row, &ts, 8);
	memset(row + 8, 0, 8);
	memcpy(row + 24, &off, 8);
	memcpy(row + 32, &fixed, 16);
	memcpy(row + 48, &name_cls, 8);
	memcpy(row + 56, rest, 8);
}

/*
 * Function records that are complete, of functions met before, near in time: those in [off, end),
 * for which the batch has room. Ends at the first that is something else. `k` by value: what is
 * written to rows could be it, for all that the compiler knows. Every register counts here: kinds
 * are kept doubled, as they stand in the record, and the id goes out before it is known that there
 * is a row.
 */
static inline __attribute__((always_inline)) struct run take_run(const struct fdr *r, uint64_t off,
								 const uint64_t end,
								 const struct ticks k,
								 const bool big)
{
	const uint8_t *const data = r->x->src->data;
	const bool swap = order_swaps(big);
	uint64_t *const *const pages = r->x->pages[0];
	const struct row_words words = xray_row_words(r, XRAY_FUNCTION);
	const pair fixed = { words.len_track, words.stream_cat };
	char *row = (char *)&r->b->rows[r->b->count];
	uint64_t rest[CALLS_SEEN], d = r->th->base - k.origin;
	uint32_t before = r->th->call * 2u;

	for (unsigned i = 0; i < CALLS_SEEN; i++)
		rest[i] = call_rest(i / CALL_KINDS, i % CALL_KINDS, r->th->gap, r->th->cpu);
	for (; off < end; off += XRAY_FUNCTION, row += sizeof(struct spur_event)) {
		const uint32_t w = load32(data + off, swap), delta = load32(data + off + 4, swap);
		const uint32_t kind = big ? w >> 27 & 6 : w & 6;
		const uint64_t id = big ? w & 0x0fffffff : w >> 4;
		uint64_t name_cls;

		memcpy(row + offsetof(struct spur_event, id), &id, 8);
		if (__builtin_expect(big ? w >> 28 & NOT_ORDINARY_BIG : w & NOT_ORDINARY, 0))
			break;
		name_cls = xray_words(pages, (uint32_t)id);
		if (__builtin_expect(!name_cls, 0) || __builtin_expect(d + delta >= k.limit, 0))
			break;
		d += delta;
		call_store(row, ticks_near(&k, d), off, fixed, name_cls,
			   (const char *)rest + (before * CALL_KINDS + kind) * UINT64_C(4));
		before = kind;
	}
	return (struct run){ off, d };
}

/* Each has the registers for itself. */
static __attribute__((noinline)) struct run run_little(const struct fdr *r, uint64_t off,
						       uint64_t end)
{
	return take_run(r, off, end, r->xf->ticks, false);
}

static __attribute__((noinline)) struct run run_big(const struct fdr *r, uint64_t off, uint64_t end)
{
	return take_run(r, off, end, r->xf->ticks, true);
}

/* Ordinary function records until something stops them. */
static void read_calls(struct fdr *r)
{
	struct xray_feed *xf = r->xf;
	struct xray_thread *th = r->th;
	const uint64_t fit = (xf->buffer.end - xf->junk - xf->pos) / XRAY_FUNCTION;
	const uint64_t room = r->b->cap - r->b->count;
	uint64_t end = xf->pos + (fit < room ? fit : room) * XRAY_FUNCTION;
	struct run run;

	if (xf->pos < xf->copied && xf->copied < end)
		end = xf->copied;
	if (th->base - xf->ticks.origin >= xf->ticks.limit)
		ticks_move(&xf->ticks, th->base);
	run = r->x->big ? run_big(r, xf->pos, end) : run_little(r, xf->pos, end);
	if (run.off == xf->pos)
		return;
	r->b->count += (uint32_t)((run.off - xf->pos) / XRAY_FUNCTION);
	xf->pos = run.off;
	th->high = th->base = xf->ticks.origin + run.d;
	th->call = (uint8_t)xray_call_kind(r->x, xray_at(r->x, run.off - XRAY_FUNCTION));
	if (r->b->rows[r->b->count - 1].kind == SPUR_BEGIN)
		xray_read_arguments(r, &r->b->rows[r->b->count - 1]);
}

/*
 * The short loop may run: no head, no first record with its fix, known time, not after the last
 * row. Invariant: xf->pos is where a record begins, or buffer.end; nothing before it is unread.
 */
static bool is_plain(const struct fdr *r)
{
	const struct xray_feed *xf = r->xf;

	return !xf->head && !xf->first && !xf->nheld && r->th->based &&
	       (r->x->stored || r->th->base >= r->th->high);
}

/*
 * Opens the next buffer. Returns false at the end, or if none has arrived yet and the batch has
 * rows.
 */
static bool next_buffer(struct fdr *r)
{
	struct xray *x = r->x;
	struct xray_feed *xf = r->xf;
	struct xray_buffer *list = x->list.items;

	if (!x->stored) {
		xray_feed_seek(x, xf);
		if (xf->next == xf->stop)
			return false;
		xf->buffer = list[xf->next];
		xf->copied = xray_copied_end(x, xf->next++);
		return true;
	}
	if (r->b->count && !x->src->eof)
		return false;
	if (xray_scan_next(x, &xf->scan, &r->f->diag, &xf->buffer))
		return true;
	xf->ended = true;
	xray_report_source(x, &r->f->diag);
	if (!x->nthreads)
		xray_report_empty(x, &r->f->diag);
	return false;
}

/* --- what another log has --- */

static bool forked_push(struct xray_feed *xf, const struct spur_event *row)
{
	if (!mem_grow((void **)&xf->forked, &xf->forked_cap, xf->nforked + 1, sizeof(*row),
		      UINT32_MAX))
		return false;
	xf->forked[xf->nforked++] = *row;
	return true;
}

/* As ENDs close calls (SPUR_END_SPAN): the innermost of the function, or all that are open. */
static void forked_pop(struct xray_feed *xf, const struct spur_event *row)
{
	size_t i = xf->nforked;

	while (i && xf->forked[i - 1].cls != row->cls)
		i--;
	xf->nforked = i ? i - 1 : 0;
}

/*
 * SPEC xray/forked-log: takes the rows from `from` on back, and keeps the calls that they leave
 * open
 */
static void forget_rows(struct fdr *r, uint32_t from)
{
	for (uint32_t i = from; i < r->b->count && !r->failed; i++) {
		const struct spur_event *row = &r->b->rows[i];

		if (row->kind == SPUR_BEGIN)
			r->failed = !forked_push(r->xf, row);
		else if (row->kind == SPUR_END_SPAN)
			forked_pop(r->xf, row);
	}
	r->b->count = from;
}

/* The next record makes a row. */
static bool at_row(const struct fdr *r)
{
	const uint64_t pos = r->xf->pos;
	int kind;

	if (pos >= r->xf->buffer.end - r->xf->junk)
		return false;
	kind = xray_meta(r->x, xray_at(r->x, pos));
	return kind < 0 || kind == META_CUSTOM || kind == META_TYPED;
}

/*
 * SPEC xray/forked-log: the thread goes on where the fork was: calls that were open there begin
 * again, at that time, so that their ENDs close them and the time before is the other log's alone.
 */
static void emit_forked(struct fdr *r)
{
	struct xray_feed *xf = r->xf;

	while (xf->forked_given < xf->nforked && r->b->count < r->b->cap) {
		struct spur_event *row = &r->b->rows[r->b->count++];

		*row = xf->forked[xf->forked_given++];
		row->ts = ticks_ns(&xf->ticks, r->th->high);
		row->flags |= SPUR_F_RETIMED;
	}
	if (xf->forked_given == xf->nforked)
		xf->forked_given = xf->nforked = 0;
}

/* SPEC xray/forked-log: what another log has sets the time, but makes no rows */
static void read_copied(struct fdr *r)
{
	const uint64_t pos = r->xf->pos;
	const uint32_t count = r->b->count;

	if (is_plain(r))
		read_calls(r);
	if (r->xf->pos == pos)
		xray_read_other(r);
	forget_rows(r, count);
}

static bool read_buffer(struct fdr *r)
{
	while (r->b->count < r->b->cap && r->xf->open && !r->failed) {
		if (r->xf->span_at < r->xf->span_end) {
			xray_read_span(r);
			continue;
		}
		if (r->xf->pos < r->xf->copied) {
			read_copied(r);
			continue;
		}
		if (r->xf->nforked && at_row(r)) {
			emit_forked(r);
			continue;
		}
		if (is_plain(r))
			read_calls(r);
		if (r->b->count < r->b->cap)
			xray_read_other(r);
	}
	return !r->failed;
}

enum spur_status xray_fdr_next(struct xray *x, struct feed *f, struct batch *b)
{
	struct xray_feed *xf = f->state;
	struct fdr r = { .x = x, .f = f, .xf = xf, .th = xf->thread, .b = b };
	uint64_t from;

	if (x->stored && !xf->scan.started)
		xray_read_header(&r);
	while (b->count < b->cap && !xf->ended) {
		if (!xf->open && (!next_buffer(&r) || !xray_open_buffer(&r)))
			break;
		from = xf->pos;
		if (!read_buffer(&r))
			break;
		source_passed(x->src, from, xf->pos);
	}
	read_count(&x->t->read.records, b->count);
	if (r.failed || trace_short_of_memory(x->t))
		return SPUR_FAIL;
	return b->count ? SPUR_OK : SPUR_END;
}
