/*
 * Copies of XRay logs. A buffer of a flight data recorder log stays as it is, byte for byte, if all
 * of it is kept and it is undamaged; if some of its calls are kept, the others are taken out and
 * ticks that count from a record that is gone count from the one before; anything else is written
 * anew (copy_anew.c).
 */
#include "format/xray/copy.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/search.h"
#include "format/xray/encode.h"

enum {
	CAPACITY_LEAST = 256,
	CAPACITY_USUAL = 16384, /* if the header's size makes no sense */
};

/* --- wall times --- */

static const int64_t wall_most = (INT64_C(1) << 40) * 1000000 - 1; /* that a reader takes */

static const struct xray_buffer *buffers(const struct xray *x)
{
	return x->list.items;
}

/* A wall time with the part's shift, as a record can hold it. */
static int64_t wall_moved(const struct xray_copy_run *r, int64_t wall)
{
	const __int128 moved = (__int128)wall + r->part->shift / 1000;

	return moved < 0 ? 0 : moved > wall_most ? wall_most : (int64_t)moved;
}

int64_t xray_copy_wall(const struct xray_copy_run *r, size_t i)
{
	return r->walls ? r->walls[i] : wall_moved(r, buffers(r->x)[i].wall);
}

int64_t xray_copy_wall_last(const struct xray_copy_run *r, size_t i)
{
	const int64_t wall = xray_copy_wall(r, i);
	int64_t next;

	if (i + 1 == r->x->list.count || buffers(r->x)[i + 1].thread != buffers(r->x)[i].thread)
		return wall_most;
	next = xray_copy_wall(r, i + 1);
	return next > wall ? next - 1 : wall;
}

/* --- how a buffer stands --- */

/* What a walk over a buffer's records finds. */
struct shape {
	bool readable; /* undamaged: it may stay as it is */
	/* Its records can be taken out one by one: a row is what its record says */
	bool plain;
	uint64_t body; /* where its first records end */
	uint64_t end; /* where its last whole record ends */
	uint32_t events, typed;
	bool doubled; /* SPEC xray/double-delta: it may count ticks twice */
};

/* The records that a buffer begins with, as they are prescribed. Sets their end and the ticks. */
static bool head_walk(const struct xray *x, const struct xray_buffer *b, struct shape *s,
		      uint64_t *base)
{
	static const uint8_t kinds[] = { META_NEW_BUFFER, META_WALL_TIME, META_PID, META_NEW_CPU };
	uint64_t off = b->off;

	for (size_t i = 0; i < sizeof(kinds); i++) {
		const uint8_t *p = xray_at(x, off);

		if (kinds[i] == META_PID && x->version < 3)
			continue;
		if (b->end - off < XRAY_METADATA || xray_meta(x, p) != kinds[i])
			return false;
		off += XRAY_METADATA;
		*base = load64(p + XRAY_CPU_AT_TICKS, x->swap);
	}
	s->body = off;
	return *base <= INT64_MAX;
}

/* SPEC xray/bad-ticks */
uint64_t xray_copy_ticks_end(const struct xray *x, size_t i)
{
	const struct xray_buffer *next = &buffers(x)[i + 1];

	if (i + 1 >= x->list.count || next->thread != buffers(x)[i].thread ||
	    (next->flags & BUFFER_NO_TSC) || next->tsc > (uint64_t)INT64_MAX - UINT32_MAX)
		return INT64_MAX;
	return next->tsc + UINT32_MAX;
}

/* The state of a walk. */
struct walk {
	uint64_t base, end; /* ticks, and their limit */
	bool takes_args; /* the record before is an entry or an argument of one */
};

/* One metadata record of a body. Returns its length, or 0 if it is damaged. */
static uint64_t meta_walk(const struct xray *x, const uint8_t *p, int kind, uint64_t left,
			  struct walk *w, struct shape *s)
{
	const uint64_t size = load32(p + XRAY_META_AT_DATA, x->swap);
	uint64_t ticks;

	switch (kind) {
	case META_NEW_CPU:
	case META_TSC_WRAP:
		ticks = load64(p + (kind == META_NEW_CPU ? XRAY_CPU_AT_TICKS : XRAY_META_AT_DATA),
			       x->swap);
		/* Ticks that go back are a reader's matter, but no damage. */
		s->plain = s->plain && ticks >= w->base;
		w->base = ticks;
		w->takes_args = false;
		return ticks <= w->end ? XRAY_METADATA : 0;
	case META_ARGUMENT:
		return w->takes_args ? XRAY_METADATA : 0;
	case META_CUSTOM:
	case META_TYPED:
		if (kind == META_TYPED && x->version < 3)
			return 0;
		s->events++;
		s->typed += kind == META_TYPED;
		w->takes_args = false;
		if (x->version < XRAY_FDR_VERSION &&
		    load64(p + XRAY_EVENT_AT_TICKS, x->swap) > w->end)
			return 0;
		ticks = w->base +
			(uint64_t)(int64_t)(int32_t)load32(p + XRAY_EVENT_AT_TICKS, x->swap);
		if (x->version == XRAY_FDR_VERSION) {
			s->plain = s->plain && ticks >= w->base;
			w->base = ticks;
		}
		return size <= INT32_MAX && size <= left - XRAY_METADATA ? XRAY_METADATA + size : 0;
	default:
		return 0;
	}
}

/* Function records from `off` on. Returns where something else comes. */
static inline uint64_t calls_walk(const struct xray *x, uint64_t off, uint64_t end, struct walk *w)
{
	const bool big = x->big, swap = x->swap;
	const uint8_t *const data = x->src->data;
	uint64_t base = w->base;
	uint32_t word = 0;
	const uint64_t begin = off;

	for (; end - off >= XRAY_FUNCTION; off += XRAY_FUNCTION) {
		word = load32(data + off, swap);
		if (big ? word & 0xc0000000 || !(word & 0x0fffffff) : word & 9 || !(word >> 4))
			break;
		base += load32(data + off + XRAY_FUNCTION_AT_DELTA, swap);
	}
	if (off > begin) {
		const uint32_t kind = xray_call_kind(x, data + off - XRAY_FUNCTION);

		w->takes_args = kind == CALL_ENTER || kind == CALL_ENTER_ARGS;
	}
	w->base = base;
	return off;
}

/* Walks over the body of a buffer of version 2 or later. */
static void body_walk(const struct xray *x, const struct xray_buffer *b, struct walk *w,
		      struct shape *s)
{
	uint64_t off = s->body, size;

	for (;;) {
		off = calls_walk(x, off, b->end, w);
		if (b->end - off < XRAY_METADATA || xray_meta(x, xray_at(x, off)) < 0)
			break;
		size = meta_walk(x, xray_at(x, off), xray_meta(x, xray_at(x, off)), b->end - off, w,
				 s);
		if (!size)
			break;
		off += size;
	}
	s->end = off;
	source_passed(x->src, b->off, off);
}

/*
 * SPEC xray/typed-extents: LLVM leaves out the last 16 bytes of each typed event, so that the
 * buffer ends inside a record. That is no damage.
 */
static bool ends_short(struct xray_copy_run *r, size_t i, const struct shape *s)
{
	const struct xray *x = r->x;
	const struct xray_buffer *b = &buffers(x)[i];
	const uint8_t *p = xray_at(x, s->end);
	const int kind = s->end < b->end ? xray_meta(x, p) : -1;
	const uint64_t left = b->end - s->end;

	if (!s->typed || x->version < 4 || x->exact)
		return false;
	if (left < (kind < 0 ? XRAY_FUNCTION : XRAY_METADATA))
		return true;
	/* A reader goes on behind a size that is wrong. */
	return (kind == META_CUSTOM || kind == META_TYPED) &&
	       load32(p + XRAY_META_AT_DATA, x->swap) <= INT32_MAX && xray_copy_reads(r, i);
}

/* The records that a buffer of version 1 begins with. */
static bool first_version_head(const struct xray *x, const struct xray_buffer *b, struct shape *s)
{
	s->body = b->off + 2 * XRAY_METADATA;
	return b->end - b->off >= 3 * XRAY_METADATA &&
	       xray_meta(x, xray_at(x, b->off)) == META_NEW_BUFFER &&
	       xray_meta(x, xray_at(x, b->off + XRAY_METADATA)) == META_WALL_TIME;
}

/* SPEC xray/end-of-buffer: a buffer of version 1 is undamaged if its records end with that one. */
static bool first_version_walk(const struct xray *x, const struct xray_buffer *b, struct shape *s)
{
	struct walk w = { .end = INT64_MAX };

	if (!first_version_head(x, b, s))
		return false;
	body_walk(x, b, &w, s);
	/* Without an EndOfBuffer record is no damage. */
	return s->end == b->end || (b->end - s->end >= XRAY_METADATA &&
				    xray_meta(x, xray_at(x, s->end)) == META_END_OF_BUFFER);
}

/*
 * Returns true if a reader takes ticks with which buffer `i` begins: they are not far before the
 * buffer before, nor far after the next one, as in body.c.
 */
static bool ticks_taken(const struct xray *x, size_t i, uint64_t ticks)
{
	const struct xray_buffer *before = i ? &buffers(x)[i - 1] : NULL;

	if (ticks > xray_copy_ticks_end(x, i))
		return false;
	return !before || before->thread != buffers(x)[i].thread ||
	       (before->flags & BUFFER_NO_TSC) || before->tsc <= UINT32_MAX ||
	       ticks >= before->tsc - UINT32_MAX;
}

static struct shape buffer_walk(struct xray_copy_run *r, size_t i)
{
	const struct xray *x = r->x;
	const struct xray_buffer *b = &buffers(x)[i];
	struct shape s = { .plain = true };
	struct walk w = { .end = xray_copy_ticks_end(x, i) };

	if (b->flags & (BUFFER_CUT | BUFFER_NO_WALL))
		return s;
	if (x->version == 1) {
		s.readable = b->end - b->off == x->buffer_size && first_version_walk(x, b, &s) &&
			     (!s.events || x->exact);
		s.plain = false;
		return s;
	}
	if (!(b->flags & BUFFER_EXTENTS) || !head_walk(x, b, &s, &w.base) ||
	    !ticks_taken(x, i, w.base) ||
	    load64(xray_at(x, b->off - XRAY_METADATA) + XRAY_META_AT_DATA, x->swap) !=
		    b->end - b->off)
		return s;
	body_walk(x, b, &w, &s);
	s.readable = s.end == b->end || ends_short(r, i, &s);
	/* Before version 4 ticks may count twice, and payloads may be missing. */
	s.plain = s.plain && s.readable && x->version > 3;
	if (x->version < 4 && s.events && !x->exact)
		s.readable = false;
	return s;
}

/* --- taking out records --- */

/* What is written of a buffer: first only counted, then written. */
struct sink {
	struct xray_copy_run *r;
	struct out *o; /* NULL: counted */
	uint64_t size, records;
};

static void put(struct sink *k, const void *p, size_t n)
{
	k->size += n;
	if (k->o)
		out_bytes(k->o, p, n);
}

/* A record of NewCPUId or TSCWrap, with its ticks shifted. */
static void put_base(struct sink *k, const uint8_t *p, int kind)
{
	const struct xray *x = k->r->x;
	const size_t at = kind == META_NEW_CPU ? XRAY_CPU_AT_TICKS : XRAY_META_AT_DATA;
	uint8_t record[XRAY_METADATA];

	memcpy(record, p, sizeof(record));
	store64(record + at, load64(p + at, x->swap) + k->r->shift, x->swap);
	put(k, record, sizeof(record));
}

/*
 * Puts a call or an event whose ticks count from the record before: `at` is where they stand, and
 * `passed` how many they are in the copy.
 */
static void put_delta(struct sink *k, const uint8_t *p, size_t size, size_t at, uint64_t passed,
		      uint64_t ticks)
{
	const struct xray *x = k->r->x;
	uint8_t record[XRAY_METADATA];

	if (passed != load32(p + at, x->swap) && passed > INT32_MAX) {
		xray_meta_put((char *)record, META_TSC_WRAP, x->big);
		store64(record + XRAY_META_AT_DATA, ticks + k->r->shift, x->swap);
		put(k, record, XRAY_METADATA);
		passed = 0;
	}
	memcpy(record, p, size);
	store32(record + at, (uint32_t)passed, x->swap);
	put(k, record, size);
	k->records++;
}

/* Writes the kept records of the body of a plain buffer. */
static void put_body(struct sink *k, const struct shape *s, uint64_t base)
{
	const struct xray *x = k->r->x;
	uint64_t from = base, off = s->body; /* the ticks that a reader of the copy is at */
	bool kept = false;

	while (off < s->end) {
		const uint8_t *p = xray_at(x, off);
		const int kind = xray_meta(x, p);
		uint64_t size = kind < 0 ? XRAY_FUNCTION : XRAY_METADATA;

		if (kind == META_NEW_CPU || kind == META_TSC_WRAP) {
			put_base(k, p, kind);
			base = from = load64(
				p + (kind == META_NEW_CPU ? XRAY_CPU_AT_TICKS : XRAY_META_AT_DATA),
				x->swap);
		} else if (kind == META_ARGUMENT) {
			/* SPEC xray/copied-arguments */
			if (kept)
				put(k, p, XRAY_METADATA);
		} else {
			const bool event = kind >= 0;
			const size_t at = event ? XRAY_EVENT_AT_TICKS : XRAY_FUNCTION_AT_DELTA;

			kept = xray_copy_keeps(k->r, off);
			if (!event || x->version == XRAY_FDR_VERSION)
				base += load32(p + at, x->swap);
			if (kept && event && x->version < XRAY_FDR_VERSION) {
				uint8_t record[XRAY_METADATA];

				memcpy(record, p, sizeof(record));
				store64(record + at, load64(p + at, x->swap) + k->r->shift,
					x->swap);
				put(k, record, sizeof(record));
				k->records++;
			} else if (kept) {
				put_delta(k, p, size, at, base - from, base);
				from = base;
			}
			if (event) {
				const uint64_t payload = load32(p + XRAY_META_AT_DATA, x->swap);

				if (kept)
					put(k, p + XRAY_METADATA, payload);
				size += payload;
			}
		}
		off += size;
	}
}

/* The wall time of a buffer whose times are shifted. */
static void put_wall(struct sink *k, const uint8_t *p, size_t i)
{
	const struct xray *x = k->r->x;
	const int64_t moved = xray_copy_wall(k->r, i), micro = 1000000;
	uint8_t record[XRAY_METADATA];

	memcpy(record, p, sizeof(record));
	if (k->r->shift) {
		store64(record + XRAY_META_AT_DATA, (uint64_t)(moved / micro), x->swap);
		store32(record + XRAY_WALL_AT_MICROSECONDS, (uint32_t)(moved % micro), x->swap);
	}
	put(k, record, sizeof(record));
}

static void put_parts(struct sink *k, size_t i, const struct shape *s)
{
	const struct xray *x = k->r->x;
	const struct xray_buffer *b = &buffers(x)[i];
	uint64_t base = 0;

	for (uint64_t off = b->off; off < s->body; off += XRAY_METADATA) {
		const uint8_t *p = xray_at(x, off);
		const int kind = xray_meta(x, p);

		if (kind == META_NEW_CPU) {
			put_base(k, p, kind);
			base = load64(p + XRAY_CPU_AT_TICKS, x->swap);
		} else if (kind == META_WALL_TIME) {
			put_wall(k, p, i);
		} else {
			put(k, p, XRAY_METADATA);
		}
	}
	put_body(k, s, base);
}

/* SPEC xray/copied-calls: writes a plain buffer without the records that are not kept. */
static void copy_parts(struct xray_copy_run *r, size_t i, const struct shape *s)
{
	struct sink count = { .r = r }, k = { .r = r, .o = r->copy->out };
	const struct xray *x = r->x;
	const struct xray_buffer *b = &buffers(x)[i];
	uint8_t extents[XRAY_METADATA];

	put_parts(&count, i, s);
	if (!count.records)
		return;
	memcpy(extents, xray_at(x, b->off - XRAY_METADATA), sizeof(extents));
	store64(extents + XRAY_META_AT_DATA, count.size, x->swap);
	out_bytes(r->copy->out, extents, sizeof(extents));
	put_parts(&k, i, s);
	r->copy->records += k.records;
	assert(k.size == count.size);
}

/* --- buffers --- */

/* Writes a range of the file as it is. */
static void copy_range(struct xray_copy_run *r, uint64_t from, uint64_t to)
{
	out_bytes(r->copy->out, xray_at(r->x, from), to - from);
	source_passed(r->x->src, from, to);
}

/* Counts the calls and events of a buffer that stays as it is. */
static uint64_t count_records(const struct xray *x, const struct xray_buffer *b,
			      const struct shape *s)
{
	uint64_t n = 0, off = s->body;

	while (off < s->end) {
		const uint8_t *p = xray_at(x, off);
		const int kind = xray_meta(x, p);
		const bool event = kind == META_CUSTOM || kind == META_TYPED;

		n += kind < 0 || event;
		off += kind < 0 ? XRAY_FUNCTION : XRAY_METADATA;
		off += event ? load32(p + XRAY_META_AT_DATA, x->swap) : 0;
	}
	assert(off <= b->end);
	return n;
}

/*
 * Returns true if a buffer that is not as it is prescribed is undamaged all the same: it begins and
 * ends where it should, and a reader finds no damage in it.
 */
static bool buffer_reads(struct xray_copy_run *r, size_t i)
{
	const struct xray *x = r->x;
	const struct xray_buffer *b = &buffers(x)[i];
	struct shape s = { .plain = true };
	uint64_t base;

	if (b->flags & (BUFFER_CUT | BUFFER_NO_WALL))
		return false;
	if (x->version == 1)
		return b->end - b->off == x->buffer_size && first_version_head(x, b, &s) &&
		       xray_copy_reads(r, i);
	return (b->flags & BUFFER_EXTENTS) && head_walk(x, b, &s, &base) &&
	       ticks_taken(x, i, base) &&
	       load64(xray_at(x, b->off - XRAY_METADATA) + XRAY_META_AT_DATA, x->swap) ==
		       b->end - b->off &&
	       xray_copy_reads(r, i);
}

/* Returns true if buffer `i` of x->list, of that shape, stays as it is. */
static bool buffer_stays(struct xray_copy_run *r, size_t i, const struct shape *s)
{
	const struct xray_buffer *b = &buffers(r->x)[i];

	if (r->part->kept || r->shift || xray_copied_end(r->x, i) || r->walls)
		return false;
	return (!r->mends && (s->readable || buffer_reads(r, i))) ||
	       (s->readable && s->plain && s->end == b->end);
}

/*
 * SPEC xray/copied-buffers: copies buffer `i` of x->list; its BufferExtents record, if it has one,
 * precedes it.
 */
static void copy_buffer(struct xray_copy_run *r, size_t i)
{
	const struct xray *x = r->x;
	const struct xray_buffer *b = &buffers(x)[i];
	const uint64_t from = b->flags & BUFFER_EXTENTS ? b->off - XRAY_METADATA : b->off;
	struct shape s;

	if (r->part->kept && kept_next(r->part->kept, x->stream, b->off) >= b->end)
		return;
	s = buffer_walk(r, i);
	if (buffer_stays(r, i, &s)) {
		copy_range(r, from, b->end);
		r->copy->records += count_records(x, b, &s);
	} else if (s.readable && s.plain && !xray_copied_end(x, i) && !r->walls) {
		r->mended += s.end != b->end;
		copy_parts(r, i, &s);
	} else {
		xray_copy_anew(r, i);
	}
	source_passed(x->src, from, b->end);
}

/* The buffer of x->list at an offset, or one past the last if the list does not have it. */
static size_t buffer_find(const struct xray_copy_run *r, uint64_t off)
{
	const struct xray_buffer *list = buffers(r->x);
	size_t i;

	const uint32_t *by_off = r->x->by_off;

	bisect(i, 0, r->x->list.count, list[by_off[i]].off < off);
	return i < r->x->list.count && list[by_off[i]].off == off ? by_off[i] : r->x->list.count;
}

/* Returns true if a buffer that `b` repeats stays as it is. */
static bool repeated_stays(struct xray_copy_run *r, const struct xray_buffer *b)
{
	const struct xray *x = r->x;
	const struct xray_range *th = &x->ranges[b->thread];
	const struct xray_buffer *list = buffers(x);
	struct shape s;
	size_t i;

	bisect(i, th->first, th->last,
	       list[i].wall < b->wall || (list[i].wall == b->wall && list[i].tsc < b->tsc));
	for (; i < th->last && list[i].wall == b->wall && list[i].tsc == b->tsc; i++) {
		s = buffer_walk(r, i);
		if (buffer_stays(r, i, &s))
			return true;
	}
	return false;
}

/*
 * SPEC xray/repeated-buffer: what stands in the file twice stays so in a copy of all of it, unless
 * that is to be repaired. What repeats a buffer that is written anew would no longer repeat it.
 */
static void copy_repeated(struct xray_copy_run *r, const struct xray_buffer *b)
{
	const struct xray *x = r->x;
	const uint64_t from = b->flags & BUFFER_EXTENTS ? b->off - XRAY_METADATA : b->off;
	uint64_t size = x->version == 1 ? x->buffer_size : 0;

	if (b->flags & BUFFER_EXTENTS)
		size = load64(xray_at(x, from) + XRAY_META_AT_DATA, x->swap);
	if (!r->part->kept && !r->copy->repair && !r->shift && b->thread != SPUR_NONE &&
	    b->end - b->off == size && repeated_stays(r, b))
		copy_range(r, from, b->end);
	else if (!r->part->kept && b->thread != SPUR_NONE)
		r->repeated++;
}

/* The buffers that have kept rows, as they stand in the file. Requires a log without damage. */
static void copy_kept(struct xray_copy_run *r)
{
	const struct xray *x = r->x;
	uint64_t off = 0;

	while (!r->failed && !(r->copy->stop && *r->copy->stop)) {
		size_t i;

		off = kept_next(r->part->kept, x->stream, off);
		bisect(i, 0, x->list.count, buffers(x)[x->by_off[i]].end <= off);
		if (off == UINT64_MAX || i == x->list.count)
			break;
		copy_buffer(r, x->by_off[i]);
		off = buffers(x)[x->by_off[i]].end;
	}
	r->failed |= trace_short_of_memory(x->t);
}

static void losses_add(struct xray_copy_run *r, const struct diag_log *log)
{
	r->copy->damaged |= diag_count(log, DIAG_DAMAGE) != 0;
	for (size_t i = 0; i < diag_groups(log); i++)
		if (diag_at(log, i)->level == DIAG_DAMAGE)
			r->copy->bytes_lost += diag_at(log, i)->bytes_lost;
}

/*
 * All buffers as they stand in the file, and what is lost between them; or only the latter, and
 * what is repeated, if buffers are written in another order.
 */
static void copy_as_stored(struct xray_copy_run *r, bool writes)
{
	struct xray_scan scan = { .at = XRAY_HEADER };
	struct diag_log diag;
	struct xray_buffer b;

	diag_init(&diag);
	while (!r->failed && !(r->copy->stop && *r->copy->stop) &&
	       xray_scan_next(r->x, &scan, &diag, &b)) {
		const size_t i = b.thread == SPUR_NONE ? r->x->list.count : buffer_find(r, b.off);

		/* Its head was looked at. */
		source_passed(r->x->src, b.off, b.off + 1);
		if (i < r->x->list.count) {
			if (writes)
				copy_buffer(r, i);
		} else if (b.end > b.off && writes) {
			copy_repeated(r, &b);
		} else if (b.end > b.off) {
			r->repeated += !r->part->kept && b.thread != SPUR_NONE;
		}
	}
	losses_add(r, &diag);
	r->failed |= trace_short_of_memory(r->x->t);
	diag_free(&diag);
}

static int time_order(const void *a, const void *b, void *list)
{
	const struct xray_buffer *p = (const struct xray_buffer *)list + *(const uint32_t *)a,
				 *q = (const struct xray_buffer *)list + *(const uint32_t *)b;

	if (p->wall != q->wall)
		return p->wall < q->wall ? -1 : 1;
	if (p->tsc != q->tsc)
		return p->tsc < q->tsc ? -1 : 1;
	return p->off < q->off ? -1 : p->off > q->off;
}

static int off_order(const void *a, const void *b, void *list)
{
	const struct xray_buffer *p = (const struct xray_buffer *)list + *(const uint32_t *)a,
				 *q = (const struct xray_buffer *)list + *(const uint32_t *)b;

	return p->off < q->off ? -1 : p->off > q->off;
}

/* Lists the buffers by offset, for the first copy of a log. Returns false if out of memory. */
static bool buffers_list(struct xray *x)
{
	const size_t n = x->mode == XRAY_BASIC ? 0 : x->list.count;

	if (x->by_off)
		return true;
	x->by_off = mem_array(n + 1, sizeof(*x->by_off));
	for (size_t i = 0; x->by_off && i < n; i++)
		x->by_off[i] = (uint32_t)i;
	if (x->by_off && n)
		qsort_r(x->by_off, n, sizeof(*x->by_off), off_order, x->list.items);
	return x->by_off != NULL;
}

/* SPEC xray/buffer-order: a ring's buffers in the order in which they were begun */
static void copy_sorted(struct xray_copy_run *r)
{
	uint32_t *order = r->x->by_off;

	r->x->by_off = NULL;
	if (r->x->list.count)
		qsort_r(order, r->x->list.count, sizeof(*order), time_order, r->x->list.items);
	for (size_t i = 0; i < r->x->list.count && !r->failed && !(r->copy->stop && *r->copy->stop);
	     i++)
		copy_buffer(r, order[i]);
	mem_free(order);
}

static void copy_fdr(struct xray_copy_run *r)
{
	const struct diag_log *diag = &r->cursor.feed.diag;
	/* A buffer is read from the state that its thread has after the ones before. */
	const bool sorted = r->copy->sorted || (r->x->wrapped && r->walls);

	if (!sorted && r->part->kept && !diag_count(&r->x->t->diag, DIAG_DAMAGE))
		copy_kept(r);
	else
		copy_as_stored(r, !sorted);
	if (sorted)
		copy_sorted(r);
	if (!r->part->kept)
		losses_add(r, diag);
}

/* --- the log --- */

/* Bytes of a buffer that is written anew. */
static uint64_t capacity_of(const struct xray *x)
{
	return x->buffer_size >= CAPACITY_LEAST && x->buffer_size <= XRAY_CAPACITY_MOST
		       ? x->buffer_size
		       : CAPACITY_USUAL;
}

/* The header of the first log; what it says of the size of buffers is made true. */
static void copy_header(const struct xray *x, const struct copy *c, bool mends)
{
	uint8_t header[XRAY_HEADER];
	uint64_t most = x->buffer_size;

	memcpy(header, xray_at(x, 0), sizeof(header));
	if (x->mode == XRAY_FDR) {
		for (size_t i = 0; i < c->count; i++) {
			const struct xray *other = c->parts[i].trace->state;

			most = other->buffer_size > most ? other->buffer_size : most;
		}
		if (x->version == 1 && most != capacity_of(x))
			most = capacity_of(x);
		store64(header + XRAY_AT_BUFFER_SIZE, most, x->swap);
	}
	/* SPEC xray/exact-mark */
	if (mends)
		memcpy(header + XRAY_AT_RESERVED, xray_exact_mark, sizeof(xray_exact_mark));
	/* SPEC xray/raw-log: the type that its records have */
	if (x->mode == XRAY_BASIC && c->repair) {
		store16(header + XRAY_AT_VERSION, x->version, x->swap);
		store16(header + XRAY_AT_TYPE, XRAY_TYPE_BASIC, x->swap);
	}
	out_bytes(c->out, header, sizeof(header));
}

static void note(const struct copy *c, uint64_t n, const char *one, const char *many)
{
	if (n && c->notes)
		out_printf(c->notes, "%" PRIu64 " %s\n", n, n == 1 ? one : many);
}

static void copy_notes(const struct xray_copy_run *r)
{
	const struct copy *c = r->copy;

	if (!r->part->kept)
		note(c, r->anew, "buffer was written anew, with what could be read of it",
		     "buffers were written anew, with what could be read of them");
	note(c, r->moved, "estimated time was too late for a log and was changed",
	     "estimated times were too late for a log and were changed");
	note(c, r->repeated, "buffer or record that repeats others was left out",
	     "buffers or records that repeat others were left out");
	note(c, r->strays, "argument without its call was left out",
	     "arguments without their calls were left out");
	note(c, r->mended, "event or buffer whose size was wrong was mended",
	     "events or buffers whose sizes were wrong were mended");
}

/* Returns what keeps the logs from being joined, or NULL. */
static const char *difference(const struct xray *x, const struct xray *y)
{
	if (x->mode != y->mode || x->type != y->type)
		return "kinds of logs";
	if (x->version != y->version)
		return "versions";
	if (x->big != y->big)
		return "byte orders";
	if (x->exact != y->exact)
		return "sizes of typed events";
	return x->hz != y->hz ? "frequencies" : NULL;
}

/* Notes that the process is that of part `number`; see processes_take(). */
static bool process_take(struct map64 *owners, int64_t pid, uint64_t number)
{
	struct map64_slot *slot = pid == XRAY_NO_THREAD ? NULL : map64_put(owners, (uint64_t)pid);

	if (!slot || (slot->value && slot->value != number))
		return false;
	slot->value = number;
	return true;
}

/*
 * Notes that the processes of the log are those of part `number`. Returns false if another part has
 * one of them, if one is unknown, or if out of memory.
 */
static bool processes_take(struct map64 *owners, const struct xray *x, uint64_t number)
{
	for (size_t i = 0; i < x->nranges; i++)
		if (!process_take(owners, trace_track(x->t, x->ranges[i].track)->pid, number))
			return false;
	return x->left_out == XRAY_NO_THREAD || process_take(owners, x->left_out, number);
}

/* SPEC xray/joined */
bool xray_joins(const struct copy *c)
{
	const struct xray *first = c->parts->trace->state;
	struct map64 owners = { 0 };
	bool good = first->mode != XRAY_PROFILE;

	for (size_t i = 0; good && i < c->count; i++) {
		const struct xray *x = c->parts[i].trace->state;
		const __int128 shift = (__int128)c->parts[i].shift * (x->hz ? (int64_t)x->hz : 1);

		good = !difference(first, x) && !xray_maps_count(x->maps) &&
		       (!x->hz || shift % 1000000000 == 0) && processes_take(&owners, x, i + 1);
	}
	map64_free(&owners);
	return good;
}

/* Ticks of a shift; the nearest number. */
static uint64_t shift_ticks(const struct xray *x, int64_t ns)
{
	const __int128 hz = x->hz ? (__int128)x->hz : 1000000000, product = ns * hz;

	return (uint64_t)(int64_t)((product + (ns < 0 ? -500000000 : 500000000)) / 1000000000);
}

/*
 * SPEC xray/repaired: returns true if what a reader would have to guess is to be made plain
 * (SPEC xray/exact-mark): the log is to be repaired, or it is of version 1 to 3, where the sizes of
 * events are guessed from all of a buffer, and not all buffers stay, or records of a fork may be
 * left in it.
 */
static bool run_mends(struct xray_copy_run *r)
{
	const struct xray *x = r->x;

	if (x->mode == XRAY_PROFILE)
		return false;
	if (r->copy->repair)
		return x->mode == XRAY_FDR || x->nthreads > 1;
	/* Without others, records of a basic log could be taken for those of a fork. */
	if (x->mode == XRAY_BASIC)
		return r->copy->count > 1 ||
		       (x->nthreads > 1 && (r->part->kept || diag_count(&x->t->diag, DIAG_DAMAGE)));
	if (x->version > 3)
		return false;
	if (r->part->kept || r->shift || r->copy->count > 1)
		return true;
	for (size_t i = 0; i < x->list.count; i++)
		if (xray_copied_end(x, i) || !(buffer_walk(r, i).readable || buffer_reads(r, i)))
			return true;
	return false;
}

/*
 * Microseconds that buffer `i` has to itself: in version 1, where buffers have one size, as many as
 * it may become parts.
 */
static int64_t wall_parts(const struct xray_copy_run *r, size_t i)
{
	const struct xray_buffer *b = &buffers(r->x)[i];
	/* A NewCPUId or TSCWrap for each call */
	const uint64_t most = 3 * (b->end - b->off);

	return r->x->version > 1 ? 1 : (int64_t)(most / (r->capacity - XRAY_HEAD_MOST)) + 2;
}

/* Returns true if buffer `i` follows one of the same thread and time. */
static bool wall_tied(const struct xray_copy_run *r, size_t i)
{
	const struct xray_buffer *b = &buffers(r->x)[i];

	return i && b->thread == b[-1].thread &&
	       wall_moved(r, b->wall) == wall_moved(r, b[-1].wall);
}

/*
 * Returns true if buffers need other wall times: those of a thread with the same one could be read
 * in another order, or as repeated ones, once they are no longer as they were.
 */
static bool walls_needed(struct xray_copy_run *r)
{
	size_t tied = 0;

	if (r->x->mode != XRAY_FDR || r->x->version < 4)
		return r->x->mode == XRAY_FDR && r->mends;
	for (size_t i = 0; i < r->x->list.count; i++)
		tied += wall_tied(r, i);
	if (!tied || r->part->kept || r->shift || r->mends)
		return tied;
	for (size_t i = 0; i < r->x->list.count; i++) {
		const struct shape s = buffer_walk(r, i);

		if (!buffer_stays(r, i, &s))
			return true;
	}
	return false;
}

/*
 * SPEC xray/copied-walls: lists wall times for all buffers, if they need others. Returns false if
 * out of memory.
 */
static bool walls_list(struct xray_copy_run *r)
{
	const struct xray_buffer *list = buffers(r->x);
	int64_t *walls;

	if (!walls_needed(r))
		return true;
	walls = mem_array(r->x->list.count + 1, sizeof(*walls));
	for (size_t i = 0; walls && i < r->x->list.count; i++) {
		const bool first = !i || list[i].thread != list[i - 1].thread;
		const int64_t least = first ? 0 : walls[i - 1] + wall_parts(r, i - 1);

		walls[i] = wall_moved(r, list[i].wall);
		walls[i] = walls[i] < least ? least : walls[i];
		walls[i] = walls[i] > wall_most ? wall_most : walls[i];
	}
	r->walls = walls;
	return walls != NULL;
}

/* Makes the state of a copy. Returns false if out of memory. */
static bool run_open(struct xray_copy_run *r, struct copy *c, const struct copy_part *part)
{
	*r = (struct xray_copy_run){ .copy = c, .part = part, .x = part->trace->state };
	r->shift = shift_ticks(r->x, part->shift);
	r->capacity = capacity_of(r->x);
	diag_init(&r->cursor.feed.diag);
	out_to_memory(&r->body);
	if (r->x->version < XRAY_FDR_VERSION)
		r->cursor.xf.held = xray_held_new();
	r->failed = !buffers_list(r->x) || (r->x->version < XRAY_FDR_VERSION && !r->cursor.xf.held);
	r->mends = !r->failed && run_mends(r);
	r->failed = r->failed || !walls_list(r);
	return !r->failed;
}

static void run_close(struct xray_copy_run *r)
{
	xray_copy_anew_close(r);
	mem_free(r->walls);
}

/* Writes a part, with the header if it is the first. Returns false if out of memory. */
static bool copy_part(struct copy *c, const struct copy_part *part)
{
	struct xray_copy_run r;

	if (run_open(&r, c, part)) {
		if (part == c->parts)
			copy_header(r.x, c, r.mends);
		if (r.x->mode == XRAY_FDR)
			copy_fdr(&r);
		else if (r.x->mode == XRAY_BASIC)
			xray_copy_basic(&r);
		else
			xray_copy_profile(&r);
		copy_notes(&r);
	}
	run_close(&r);
	return !r.failed;
}

enum spur_status xray_copy(struct copy *c)
{
	const struct xray *first = c->parts->trace->state;
	bool good = true;

	for (size_t i = 1; i < c->count; i++) {
		const char *what = difference(first, c->parts[i].trace->state);

		if (what)
			return err_set(c->err, SPUR_ERR_USAGE,
				       "%s: expected logs of one kind, found different %s; spur "
				       "convert writes any of them as one",
				       c->parts[i].trace->path, what);
	}
	for (size_t i = 0; good && i < c->count; i++)
		good = copy_part(c, &c->parts[i]);
	return good ? SPUR_OK : SPUR_FAIL;
}
