/*
 * Buffers of flight data recorder logs that are written anew, because records of them are left out
 * or damaged, or because their writer wrote them wrong: the rows that a reader makes of them, with
 * the bytes of their records but for ticks that count from other records.
 */
#include "base/mem.h"
#include "format/xray/copy.h"
#include "format/xray/encode.h"

/* A buffer being written. */
struct anew {
	struct xray_copy_run *r;
	const struct xray_buffer *b; /* the one that it is made of */
	const struct xray_thread *th;
	bool begun;
	uint64_t base; /* ticks that the next record counts from */
	uint16_t cpu;
	uint64_t ticks_end; /* that a reader takes: times beyond are only estimated */
	uint64_t junk; /* bytes at its end, for payloads that were overwritten */
	int64_t wall, wall_last; /* of the next buffer, and the latest one, us */
	uint64_t capacity; /* bytes of a buffer */
};

/* --- the cursor --- */

/* Buffers of a thread that are read again where threads take turns: runtimes had 100 by default. */
enum { CHAIN = 256 };

static void cursor_seek(struct xray_copy_run *r, const struct xray_thread *th, size_t buffer)
{
	struct xray_copy_cursor *c = &r->cursor;
	struct xray_held *held = c->xf.held;
	struct spur_event *forked = c->xf.forked;
	const size_t cap = c->xf.forked_cap;

	c->of = th;
	c->has_row = c->ended = false;
	c->thread = (struct xray_thread){ .pid = th->pid,
					  .tid = th->tid,
					  .track = th->track,
					  .cpu = SPUR_NO_CPU,
					  .before = buffer > th->first };
	c->xf = (struct xray_feed){ .thread = &c->thread,
				    .next = buffer,
				    .last = th->last,
				    .held = held,
				    .forked = forked,
				    .forked_cap = cap };
	ticks_init(&c->xf.ticks, r->x->hz, true);
	c->feed.state = &c->xf;
}

void xray_copy_anew_close(struct xray_copy_run *r)
{
	mem_free(r->cursor.xf.held);
	mem_free(r->cursor.xf.forked);
	diag_free(&r->cursor.feed.diag);
	out_free(&r->body);
}

/* Reads the thread's next row unless one is at hand. Returns false at the end. */
static bool cursor_fill(struct xray_copy_run *r)
{
	struct xray_copy_cursor *c = &r->cursor;
	struct batch b = { .rows = &c->row, .cap = 1 };
	enum spur_status st;

	if (c->has_row || c->ended)
		return c->has_row;
	st = xray_fdr_next(r->x, &c->feed, &b);
	c->has_row = st == SPUR_OK;
	c->ended = st != SPUR_OK;
	r->failed |= st == SPUR_FAIL;
	return c->has_row;
}

/*
 * Gets the next row of buffer `i`. Rows of other buffers may lie between two calls, but only older
 * ones are skipped. Returns false at the buffer's end.
 */
static bool cursor_next(struct xray_copy_run *r, size_t i, struct spur_event *row)
{
	struct xray_copy_cursor *c = &r->cursor;

	while (cursor_fill(r)) {
		if (c->xf.next > i + 1)
			return false;
		c->has_row = false;
		if (c->xf.next < i + 1)
			continue;
		*row = c->row;
		return true;
	}
	return false;
}

/*
 * Moves the cursor before buffer `i`. Versions 2 and 3 count from the thread's buffer before, whose
 * end depends in the same way on the one before it; version 1 from all that come before.
 */
static void cursor_reach(struct xray_copy_run *r, const struct xray_thread *th, size_t i)
{
	const struct xray_copy_cursor *c = &r->cursor;
	size_t from = i;

	if (r->x->version < 4 && i > th->first)
		from = r->x->version == 1 || i - th->first < CHAIN ? th->first : i - CHAIN;
	if (c->of != th || c->xf.next < from || c->xf.next > i + (c->has_row || c->xf.open) ||
	    c->ended)
		cursor_seek(r, th, from);
}

bool xray_copy_reads(struct xray_copy_run *r, size_t i)
{
	const struct xray_buffer *b = (const struct xray_buffer *)r->x->list.items + i;
	struct diag_log *diag = &r->cursor.feed.diag, others = *diag;
	struct spur_event row;
	bool good;

	/* What is found here is found again if the buffer is written anew, and is counted then. */
	diag_init(diag);
	r->cursor.of = NULL;
	cursor_reach(r, xray_thread_at(r->x, b->thread), i);
	while (cursor_next(r, i, &row))
		continue;
	good = !diag_count(diag, DIAG_DAMAGE);
	diag_free(diag);
	*diag = others;
	r->cursor.of = NULL;
	return good;
}

/* --- records --- */

static uint64_t used(const struct anew *a)
{
	return a->r->body.len + a->junk;
}

static char *body_room(struct anew *a, size_t n)
{
	char *p = out_room(&a->r->body, n);

	a->r->failed |= !p;
	return p;
}

static void head_begin(struct anew *a, uint64_t ticks)
{
	const struct xray *x = a->r->x;
	const struct xray_head head = { .version = x->version,
					.big = x->big,
					.tid = (int32_t)a->th->tid,
					.pid = (int32_t)a->th->pid,
					.wall = a->wall,
					.cpu = a->cpu,
					.ticks = ticks };
	char *p = body_room(a, XRAY_HEAD_MOST);

	if (p)
		a->r->body.len += xray_head_put(&head, p);
	a->wall += a->wall < a->wall_last;
	a->base = ticks;
	a->begun = true;
}

/* Ends the buffer: its extents or its end, and what it lacks to its size in version 1. */
static void buffer_end(struct anew *a)
{
	struct xray_copy_run *r = a->r;
	struct out *o = r->copy->out;
	uint64_t pad = a->junk;
	char record[XRAY_METADATA];

	if (!a->begun)
		return;
	if (r->x->version > 1) {
		xray_meta_put(record, META_EXTENTS, r->x->big);
		store64(record + XRAY_META_AT_DATA, used(a), r->x->swap);
		out_bytes(o, record, sizeof(record));
	}
	out_bytes(o, r->body.buf, r->body.len);
	if (r->x->version == 1) {
		xray_meta_put(record, META_END_OF_BUFFER, r->x->big);
		out_bytes(o, record, sizeof(record));
		pad = a->capacity - r->body.len - sizeof(record);
	}
	for (uint64_t n; pad; pad -= n) {
		n = pad < 4096 ? pad : 4096;
		out_pad(o, '\0', n);
	}
	r->failed |= r->body.error != 0;
	out_clear(&r->body);
	a->begun = false;
	a->junk = 0;
}

/* Begins a buffer if none was begun, or if `more` bytes do not fit. */
static void buffer_room(struct anew *a, const struct spur_event *row, uint64_t ticks, uint64_t more)
{
	const uint64_t tail = a->r->x->version == 1 ? XRAY_METADATA : 0;

	if (a->begun && used(a) + more + tail > a->capacity)
		buffer_end(a);
	if (a->begun)
		return;
	a->cpu = row->cpu;
	head_begin(a, ticks);
}

/* NewCPUId where the CPU changes, TSCWrap where the ticks are too many for a record. */
static void put_state(struct anew *a, const struct spur_event *row, uint64_t ticks)
{
	const struct xray *x = a->r->x;
	const bool moved = row->cpu != a->cpu;
	char *p;

	if (!moved && ticks - a->base <= INT32_MAX)
		return;
	p = body_room(a, XRAY_METADATA);
	if (!p)
		return;
	xray_meta_put(p, moved ? META_NEW_CPU : META_TSC_WRAP, x->big);
	if (moved)
		store16(p + XRAY_META_AT_DATA, row->cpu, x->swap);
	store64(p + (moved ? XRAY_CPU_AT_TICKS : XRAY_META_AT_DATA), ticks, x->swap);
	a->r->body.len += XRAY_METADATA;
	a->cpu = row->cpu;
	a->base = ticks;
}

static void put_call(struct anew *a, const struct spur_event *row, uint64_t ticks)
{
	const struct xray *x = a->r->x;
	char *p = body_room(a, XRAY_FUNCTION);

	if (!p)
		return;
	memcpy(p, xray_at(x, row->off), XRAY_FUNCTION);
	store32(p + XRAY_FUNCTION_AT_DELTA, (uint32_t)(ticks - a->base), x->swap);
	a->r->body.len += XRAY_FUNCTION;
	a->base = ticks;
	out_bytes(&a->r->body, xray_at(x, row->off + XRAY_FUNCTION), row->len - XRAY_FUNCTION);
}

/*
 * SPEC xray/overwritten-payload: an event without its payload counts it all the same, unless sizes
 * are mended.
 */
static void put_event(struct anew *a, const struct spur_event *row, uint64_t ticks)
{
	const struct xray *x = a->r->x;
	const uint32_t payload = row->len - XRAY_METADATA,
		       size = load32(xray_at(x, row->off) + XRAY_META_AT_DATA, x->swap);
	char *p = body_room(a, XRAY_METADATA);

	if (!p)
		return;
	memcpy(p, xray_at(x, row->off), XRAY_METADATA);
	if (a->r->mends && size != payload) {
		store32(p + XRAY_META_AT_DATA, payload, x->swap);
		a->r->mended++;
	} else if (x->version > 1) {
		a->junk += size - payload;
	}
	if (x->version < 5) {
		store64(p + XRAY_EVENT_AT_TICKS, ticks, x->swap);
	} else {
		store32(p + XRAY_EVENT_AT_TICKS, (uint32_t)(ticks - a->base), x->swap);
		a->base = ticks;
	}
	a->r->body.len += XRAY_METADATA;
	out_bytes(&a->r->body, xray_at(x, row->off + XRAY_METADATA), payload);
}

static void put_row(struct anew *a, const struct spur_event *row)
{
	const uint64_t own = (uint64_t)row->ts, end = a->ticks_end,
		       ticks = (own < end ? own : end) + a->r->shift;

	buffer_room(a, row, ticks, XRAY_METADATA + (uint64_t)row->len);
	put_state(a, row, ticks);
	if (row->kind == SPUR_INSTANT)
		put_event(a, row, ticks);
	else
		put_call(a, row, ticks);
	a->r->copy->records++;
}

void xray_copy_anew(struct xray_copy_run *r, size_t i)
{
	const struct xray_buffer *b = (const struct xray_buffer *)r->x->list.items + i;
	struct anew a = { .r = r,
			  .b = b,
			  .th = xray_thread_at(r->x, b->thread),
			  .wall = xray_copy_wall(r, i),
			  .wall_last = xray_copy_wall_last(r, i),
			  .capacity = r->capacity,
			  .ticks_end = xray_copy_ticks_end(r->x, i) };
	struct spur_event row;

	/* Parts of one wall time are ordered by ticks, which may go back in the next buffer. */
	if (a.wall == a.wall_last && r->x->version > 1)
		a.capacity = XRAY_CAPACITY_MOST;
	cursor_reach(r, a.th, i);
	while (!r->failed && cursor_next(r, i, &row))
		if (row.kind <= SPUR_INSTANT && row.kind != SPUR_SPAN &&
		    xray_copy_keeps(r, row.off))
			put_row(&a, &row);
	buffer_end(&a);
	r->anew++;
}
