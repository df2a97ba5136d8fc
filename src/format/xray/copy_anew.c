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
	struct xray_thread th; /* has its ids */
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

static const struct xray_buffer *buffer_at(const struct xray_copy_run *r, size_t i)
{
	return (const struct xray_buffer *)r->x->list.items + i;
}

static size_t states_size(const struct xray_copy_run *r)
{
	return r->x->nranges * sizeof(*r->states);
}

void xray_copy_anew_close(struct xray_copy_run *r)
{
	xray_held_free(r->cursor.xf.held);
	mem_free(r->cursor.xf.forked);
	diag_free(&r->cursor.feed.diag);
	out_free(&r->body);
	scratch_free(r->states, states_size(r));
}

/* Moves the cursor before a buffer. `state`: NULL if nothing is known of what is before. */
static void cursor_seek(struct xray_copy_run *r, const struct xray_range *range, size_t buffer,
			const struct xray_thread *state)
{
	struct xray_copy_cursor *c = &r->cursor;
	struct xray_held *held = c->xf.held;
	struct spur_event *forked = c->xf.forked;
	const size_t cap = c->xf.forked_cap;

	c->at = c->count = 0;
	c->thread = state ? *state : xray_range_thread(r->x, range);
	if (!state)
		c->thread.before = buffer > range->first;
	c->xf = (struct xray_feed){ .thread = &c->thread,
				    .sought = true,
				    .next = buffer,
				    .stop = buffer,
				    .last = range->last,
				    .held = held,
				    .forked = forked,
				    .forked_cap = cap };
	ticks_init(&c->xf.ticks, r->x->hz, true);
	c->feed.state = &c->xf;
}

/* Reads more rows. Returns false at the beginning of buffer c->xf.stop, or if out of memory. */
static bool cursor_fill(struct xray_copy_run *r)
{
	struct xray_copy_cursor *c = &r->cursor;
	struct batch b = { .rows = c->rows, .cap = XRAY_COPY_ROWS };
	const enum spur_status st = xray_fdr_next(r->x, &c->feed, &b);

	r->failed |= st == SPUR_FAIL;
	c->at = 0;
	c->count = st == SPUR_OK ? b.count : 0;
	return c->count != 0;
}

/* Keeps the thread's state; calls that a fork left open are more than that. */
static void state_keep(struct xray_copy_run *r, struct xray_copy_states *s, unsigned which)
{
	s->thread[which] = r->cursor.thread;
	s->next[which] = r->cursor.xf.nforked ? 0 : r->cursor.xf.next;
}

/*
 * Moves the cursor before buffer `i`, to the state that a reader of all of the log has there: from
 * what is known of the thread, or from its first buffer. Of long threads that are read in another
 * order the last CHAIN buffers have to do, but in version 1 times are the sum of all.
 */
static void cursor_reach(struct xray_copy_run *r, size_t i)
{
	const uint32_t thread = buffer_at(r, i)->thread;
	const struct xray_range *range = &r->x->ranges[thread];
	struct xray_copy_cursor *c = &r->cursor;
	struct diag_log others = c->feed.diag;
	struct xray_copy_states *s;
	unsigned which;

	if (!r->states)
		r->states = scratch_alloc(states_size(r));
	if (!r->states) {
		r->failed = true;
		return;
	}
	s = &r->states[thread];
	which = s->next[1] && s->next[1] <= i;
	if (s->next[which] && s->next[which] <= i)
		cursor_seek(r, range, s->next[which], &s->thread[which]);
	else if (r->x->version == 1 || i - range->first < CHAIN)
		cursor_seek(r, range, range->first, NULL);
	else
		cursor_seek(r, range, i - CHAIN, NULL);
	/* What is found in buffers before is found when they are written. */
	diag_init(&c->feed.diag);
	c->xf.stop = i;
	while (!r->failed && cursor_fill(r))
		continue;
	diag_free(&c->feed.diag);
	c->feed.diag = others;
	state_keep(r, s, 0);
	c->xf.stop = i + 1;
}

/* Gets the next row of the buffer that cursor_reach() found. Returns false at the buffer's end. */
static bool cursor_next(struct xray_copy_run *r, struct spur_event *row)
{
	struct xray_copy_cursor *c = &r->cursor;

	if (r->failed)
		return false;
	if (c->at == c->count && !cursor_fill(r)) {
		if (!r->failed)
			state_keep(r, &r->states[buffer_at(r, c->xf.stop - 1)->thread], 1);
		return false;
	}
	*row = c->rows[c->at++];
	return true;
}

bool xray_copy_reads(struct xray_copy_run *r, size_t i)
{
	struct diag_log *diag = &r->cursor.feed.diag, others;
	struct spur_event row;
	bool good;

	cursor_reach(r, i);
	/* What is found here is found again if the buffer is written anew, and is counted then. */
	others = *diag;
	diag_init(diag);
	while (cursor_next(r, &row))
		continue;
	good = !diag_count(diag, DIAG_DAMAGE);
	diag_free(diag);
	*diag = others;
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
					.tid = (int32_t)a->th.tid,
					.pid = (int32_t)a->th.pid,
					.wall = a->wall,
					.cpu = a->cpu,
					.ticks = ticks };
	char *p = body_room(a, XRAY_HEAD_MOST);

	if (p)
		a->r->body.len += xray_head_put(&head, p);
	/*
	 * Parts of one wall time would be ordered by ticks, which may go back in the next buffer,
	 * or be taken for repeated ones.
	 */
	if (a->wall == a->wall_last && x->version > 1)
		a->capacity = XRAY_CAPACITY_MOST;
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

	/* Times of rows end at INT64_MAX, which may stand for more ticks. */
	a->r->moved += own > end || own == INT64_MAX;
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
	const struct xray_buffer *b = buffer_at(r, i);
	struct anew a = { .r = r,
			  .b = b,
			  .th = xray_range_thread(r->x, &r->x->ranges[b->thread]),
			  .wall = xray_copy_wall(r, i),
			  .wall_last = xray_copy_wall_last(r, i),
			  .capacity = r->capacity,
			  /* If all buffers are written anew, the next one has its rows' ticks. */
			  .ticks_end = r->walls ? INT64_MAX : xray_copy_ticks_end(r->x, i) };
	struct spur_event row;

	cursor_reach(r, i);
	while (cursor_next(r, &row))
		if (row.kind <= SPUR_INSTANT && row.kind != SPUR_SPAN &&
		    xray_copy_keeps(r, row.off))
			put_row(&a, &row);
	buffer_end(&a);
	r->anew++;
}
