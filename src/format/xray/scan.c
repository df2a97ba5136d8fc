/*
 * FDR mode: where the buffers are. Hops from one to the next by BufferExtents (version 2 and later)
 * or by the header's buffer size (version 1) and reads only their first records, unless something
 * does not fit: then the next place where a NewBuffer and a WallTime record follow each other is
 * looked for.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/os.h"
#include "format/xray/reader.h"

enum {
	HEAD_RECORDS = 8, /* looked at for thread and times */
	FUNCTION_BITS = 24, /* of ids, while none has been seen */
	MICRO = 1000000,
};

static const uint64_t nowhere = UINT64_MAX;
static const int64_t max_seconds = INT64_C(1) << 40;

static int meta_at(const struct xray *x, uint64_t off)
{
	return xray_have(x, off + XRAY_METADATA) ? xray_meta(x, xray_at(x, off)) : -1;
}

/* SPEC xray/wall-time: seconds and microseconds */
static bool wall_read(const struct xray *x, const uint8_t *p, int64_t *wall)
{
	const int64_t seconds = (int64_t)load64(p + XRAY_META_AT_DATA, x->swap);
	const int32_t micro = (int32_t)load32(p + XRAY_WALL_AT_MICROSECONDS, x->swap);

	if (seconds < 0 || seconds >= max_seconds || micro < 0 || micro >= MICRO)
		return false;
	*wall = seconds * MICRO + micro;
	return true;
}

bool xray_head_at(const struct xray *x, uint64_t off, uint64_t end)
{
	int64_t wall;

	return end - off >= 2 * XRAY_METADATA && meta_at(x, off) == META_NEW_BUFFER &&
	       (int32_t)load32(xray_at(x, off) + XRAY_META_AT_DATA, x->swap) > 0 &&
	       meta_at(x, off + XRAY_METADATA) == META_WALL_TIME &&
	       wall_read(x, xray_at(x, off + XRAY_METADATA), &wall);
}

uint64_t xray_head_find(const struct xray *x, uint64_t from, uint64_t end)
{
	const int new_buffer = x->big ? 0x80 | META_NEW_BUFFER : META_NEW_BUFFER << 1 | 1;
	uint64_t off = from;

	while (off < end) {
		const uint64_t there = x->src->size < end ? x->src->size : end;
		const uint8_t *p =
			off < there ? memchr(xray_at(x, off), new_buffer, there - off) : NULL;

		if (!p) {
			off = there > off ? there : off;
			if (off == end || !source_more(x->src))
				return nowhere;
			continue;
		}
		off = (uint64_t)(p - x->src->data);
		if (xray_head_at(x, off, end)) {
			const bool extents = x->version > 1 && off - from >= XRAY_METADATA &&
					     meta_at(x, off - XRAY_METADATA) == META_EXTENTS;

			return extents ? off - XRAY_METADATA : off;
		}
		off++;
	}
	return nowhere;
}

/* --- what can follow what --- */

uint64_t xray_record_size(const struct xray *x, uint64_t off, uint64_t end, uint32_t ids, bool head)
{
	const uint8_t *p = xray_at(x, off);
	const int kind = xray_meta(x, p);
	const uint64_t left = end - off;
	int32_t size;

	if (kind < 0) {
		if (left < XRAY_FUNCTION || xray_call_kind(x, p) >= CALL_KINDS)
			return 0;
		return xray_call_id(x, p) && !(xray_call_id(x, p) & ~ids) ? XRAY_FUNCTION : 0;
	}
	if (left < XRAY_METADATA)
		return 0;
	switch (kind) {
	case META_NEW_CPU:
	case META_TSC_WRAP:
	case META_ARGUMENT:
		return XRAY_METADATA;
	case META_WALL_TIME:
	case META_PID:
		return head ? XRAY_METADATA : 0;
	case META_END_OF_BUFFER:
		return x->version == 1 ? XRAY_METADATA : 0;
	case META_CUSTOM:
	case META_TYPED:
		if (kind == META_TYPED && x->version < 3)
			return 0;
		size = (int32_t)load32(p + XRAY_META_AT_DATA, x->swap);
		return size >= 0 && (uint64_t)size <= left - XRAY_METADATA
			       ? XRAY_METADATA + (uint64_t)size
			       : 0;
	default:
		return 0;
	}
}

uint32_t xray_run(const struct xray *x, uint64_t off, uint64_t end, uint32_t ids, bool head,
		  uint32_t most)
{
	/* As many bits as the largest id seen has. */
	const uint32_t mask =
		ids ? UINT32_MAX >> __builtin_clz(ids | 63) : (1u << FUNCTION_BITS) - 1;

	for (uint32_t i = 0; i < most; i++) {
		const uint64_t size = off < end ? xray_record_size(x, off, end, mask, head) : 0;

		if (!size)
			return i && off == end ? most : i;
		if (x->version == 1 && xray_meta(x, xray_at(x, off)) == META_END_OF_BUFFER)
			return most;
		off += size;
	}
	return most;
}

/* --- heads --- */

/*
 * SPEC xray/pid: version 1 has none, in version 2 it is the thread's own number, later a record
 * tells
 */
static int64_t default_pid(const struct xray *x, int64_t tid)
{
	return x->version == 2 ? tid : XRAY_NO_THREAD;
}

/* What a buffer's first records, which stand at `p`, say. */
static void head_parse(const struct xray *x, const uint8_t *p, struct xray_buffer *b, int64_t *pid,
		       int64_t *tid)
{
	uint64_t off = b->off;

	*pid = *tid = XRAY_NO_THREAD;
	b->flags |= BUFFER_NO_TSC | BUFFER_NO_WALL;
	for (int i = 0; i < HEAD_RECORDS && b->end - off >= XRAY_METADATA;
	     i++, off += XRAY_METADATA, p += XRAY_METADATA) {
		const int kind = xray_meta(x, p);

		if (kind == META_NEW_BUFFER && *tid == XRAY_NO_THREAD)
			*tid = (int32_t)load32(p + XRAY_META_AT_DATA, x->swap);
		else if (kind == META_WALL_TIME && wall_read(x, p, &b->wall))
			b->flags &= ~(uint32_t)BUFFER_NO_WALL;
		else if (kind == META_PID && x->version > 2)
			*pid = (int32_t)load32(p + XRAY_META_AT_DATA, x->swap);
		if (kind != META_NEW_CPU)
			continue;
		/* SPEC xray/new-cpu: u16 CPU, u64 ticks */
		b->tsc = load64(p + XRAY_CPU_AT_TICKS, x->swap);
		b->flags &= ~(uint32_t)BUFFER_NO_TSC;
		break;
	}
	if (*pid == XRAY_NO_THREAD)
		*pid = default_pid(x, *tid);
}

/* xray_head_read() of the records at `p`. */
static bool head_read(struct xray *x, const uint8_t *p, struct xray_buffer *b)
{
	int64_t pid, tid;

	head_parse(x, p, b, &pid, &tid);
	if (!x->ref_known && !(b->flags & (BUFFER_NO_TSC | BUFFER_NO_WALL))) {
		x->ref_known = true;
		x->ref_tsc = b->tsc;
		x->ref_wall = b->wall;
	}
	b->thread = x->ranges ? xray_range_find(x, pid, tid) : xray_thread_get(x, pid, tid);
	return x->ranges || b->thread != SPUR_NONE;
}

bool xray_head_read(struct xray *x, struct xray_buffer *b)
{
	return head_read(x, xray_at(x, b->off), b);
}

bool xray_head_is_of(const struct xray *x, struct xray_buffer *b, const struct xray_thread *th)
{
	int64_t pid, tid;

	head_parse(x, xray_at(x, b->off), b, &pid, &tid);
	return th->pid == pid && th->tid == tid;
}

uint64_t xray_tsc_at(const struct xray *x, int64_t wall)
{
	const __int128 hz = x->hz ? (__int128)x->hz : 1000 * MICRO;
	const __int128 tsc = x->ref_known ? x->ref_tsc + (wall - x->ref_wall) * hz / MICRO : 0;

	return tsc < 0 ? 0 : tsc > INT64_MAX ? INT64_MAX : (uint64_t)tsc;
}

/* The other way round, for a buffer whose head lacks the wall time. */
static int64_t wall_at(const struct xray *x, uint64_t tsc)
{
	const __int128 hz = x->hz ? (__int128)x->hz : 1000 * MICRO;
	const __int128 wall =
		x->ref_known ? x->ref_wall + ((__int128)tsc - x->ref_tsc) * MICRO / hz : 0;

	return wall < INT64_MIN ? INT64_MIN : wall > INT64_MAX ? INT64_MAX : (int64_t)wall;
}

/* --- hopping --- */

/* Bytes that belong to no buffer. */
static uint64_t pass_over(const struct xray *x, uint64_t at, struct diag_log *diag)
{
	const uint64_t found = xray_head_find(x, at + 1, nowhere);
	const uint64_t next = found == nowhere ? x->src->size : found;

	diag_add(diag, DIAG_DAMAGE, "xray/no-buffer", x->file, at, next - at,
		 "buffer: expected %sNewBuffer and WallTime records, found byte 0x%02x",
		 x->version > 1 ? "BufferExtents, " : "", *xray_at(x, at));
	return found;
}

static void end_at(const struct xray *x, struct xray_buffer *b, uint64_t end)
{
	if (end != nowhere && xray_have(x, end)) {
		b->end = end;
		return;
	}
	b->end = x->src->size;
	b->flags |= BUFFER_CUT;
}

/*
 * Returns where the first NewBuffer record from `off`, where a record begins, to `end` is, or
 * nowhere. Bytes in the middle of records may look like one: if all before it are records and one
 * of them goes on past it, it is none.
 */
static uint64_t head_between(const struct xray *x, uint64_t off, uint64_t end)
{
	uint64_t found = xray_head_find(x, off, end), size = XRAY_METADATA;

	while (found != nowhere) {
		while (off < found && size) {
			size = xray_record_size(x, off, x->src->size, UINT32_MAX, true);
			off += size;
		}
		if (off <= found)
			break;
		found = xray_head_find(x, off, end);
	}
	return found;
}

/*
 * SPEC xray/buffer-size: version 1 has buffers of that size, one after the other; a wrong one is
 * found out
 */
static uint64_t hop_by_size(const struct xray *x, struct xray_buffer *b, struct diag_log *diag)
{
	const uint64_t body = b->off + 2 * XRAY_METADATA, size = x->buffer_size;
	const uint64_t next =
		size > INT64_MAX - b->off || size < 2 * XRAY_METADATA ? nowhere : b->off + size;
	const bool reached = next != nowhere && xray_have(x, next);
	const bool fits = reached && (x->follow || !xray_have(x, next + 2 * XRAY_METADATA) ||
				      xray_head_at(x, next, nowhere));
	uint64_t found = fits ? head_between(x, body, next) : xray_head_find(x, body, nowhere);

	if (found == nowhere && !fits && (reached || size < 2 * XRAY_METADATA))
		found = x->src->size;
	if (found != nowhere)
		diag_add(diag, DIAG_DAMAGE, "xray/bad-buffer-size", x->file, b->off, 0,
			 "buffer: expected the next one behind %llu bytes, found it behind %llu",
			 (unsigned long long)size, (unsigned long long)(found - b->off));
	end_at(x, b, found != nowhere ? found : next);
	return b->end;
}

/*
 * A BufferExtents record or the end of the file stands there, or so little that it makes no
 * difference.
 */
static bool fits_end(const struct xray *x, uint64_t off)
{
	if (off == nowhere || !xray_have(x, off))
		return false;
	return xray_have(x, off + XRAY_METADATA) ? meta_at(x, off) == META_EXTENTS : true;
}

/*
 * Where the record ends that reaches `target` or passes it, counted from the buffer's first; 0: not
 * all are records.
 */
static uint64_t walk_past(const struct xray *x, uint64_t off, uint64_t target)
{
	uint64_t size = xray_head_at(x, off, nowhere) ? XRAY_METADATA : 0;

	while (off < target) {
		if (!size)
			return 0;
		off += size;
		size = off < target ? xray_record_size(x, off, x->src->size, UINT32_MAX, true) : 0;
	}
	return off;
}

/*
 * Its extents end a buffer too early: inside a record, or more records follow. `found`: where the
 * next buffer is, or nowhere.
 */
static bool goes_on(const struct xray *x, uint64_t off, uint64_t target, uint64_t found)
{
	const uint64_t end = found == nowhere ? x->src->size : found;

	/* Room for a damaged BufferExtents record. */
	if (end - target == XRAY_METADATA && meta_at(x, end) == META_NEW_BUFFER)
		return false;
	return walk_past(x, off, target) > target ||
	       xray_run(x, target, end, 0, false, XRAY_RUN) == XRAY_RUN;
}

/* SPEC xray/extents: they are the distance to the next buffer */
static uint64_t hop_by_extents(const struct xray *x, struct xray_buffer *b, struct diag_log *diag)
{
	const uint64_t size =
		load64(xray_at(x, b->off - XRAY_METADATA) + XRAY_META_AT_DATA, x->swap);
	const uint64_t target = size > INT64_MAX - b->off ? nowhere : b->off + size;
	const bool reached = target != nowhere && xray_have(x, target);
	/* If the input is still being written, it is unknown when the next buffer comes. */
	const bool trusted = x->follow && reached && xray_head_at(x, b->off, nowhere);
	const bool fits = trusted || (reached && fits_end(x, target));
	const uint64_t from =
		xray_head_at(x, b->off, nowhere) ? b->off + 2 * XRAY_METADATA : b->off;
	uint64_t end = target, found;

	if (trusted || (fits && (!x->buffer_size || size <= x->buffer_size))) {
		b->end = target;
		return target;
	}
	found = xray_head_find(x, from, fits ? target : nowhere);
	if (found != nowhere && (!reached || found < target))
		end = found;
	else if (reached && !fits && goes_on(x, b->off, target, found))
		end = found == nowhere ? x->src->size : found;
	if (end != target)
		diag_add(diag, DIAG_DAMAGE, "xray/bad-extents", x->file, b->off - XRAY_METADATA, 0,
			 "buffer extents: expected the next buffer behind %llu bytes, found it "
			 "behind %llu",
			 (unsigned long long)size, (unsigned long long)(end - b->off));
	end_at(x, b, end);
	return b->end;
}

/* A BufferExtents record that what follows bears out, as far as the file goes. */
static bool extents_at(const struct xray *x, uint64_t off)
{
	const uint64_t body = off + XRAY_METADATA;
	uint64_t size;

	if (meta_at(x, off) != META_EXTENTS)
		return false;
	size = load64(xray_at(x, off) + XRAY_META_AT_DATA, x->swap);
	return xray_head_at(x, body, nowhere) || !xray_have(x, body + 2 * XRAY_METADATA) ||
	       (size <= INT64_MAX - body && fits_end(x, body + size));
}

/* A buffer whose BufferExtents record is damaged or missing: up to the next one. */
static uint64_t hop_by_search(const struct xray *x, struct xray_buffer *b)
{
	const uint64_t found = xray_head_find(x, b->off + 2 * XRAY_METADATA, nowhere);

	end_at(x, b, found == nowhere ? x->src->size : found);
	return b->end;
}

/* Finds the end of the buffer at s->at, and where the next one is; false: nothing is there. */
static bool hop(const struct xray *x, struct xray_scan *s, struct diag_log *diag,
		struct xray_buffer *b)
{
	const bool extents = x->version > 1;

	*b = (struct xray_buffer){ .off = s->at };
	if (extents && extents_at(x, s->at)) {
		b->off += XRAY_METADATA;
		b->flags = BUFFER_EXTENTS;
		s->at = hop_by_extents(x, b, diag);
		return true;
	}
	if (extents && xray_head_at(x, s->at + XRAY_METADATA, nowhere)) {
		diag_add(diag, DIAG_DAMAGE, "xray/bad-extents", x->file, s->at, XRAY_METADATA,
			 "record: expected BufferExtents, found byte 0x%02x", *xray_at(x, s->at));
		b->off += XRAY_METADATA;
		s->at = hop_by_search(x, b);
		return true;
	}
	if (!xray_head_at(x, s->at, nowhere))
		return false;
	if (extents)
		diag_add(diag, DIAG_DAMAGE, "xray/bad-extents", x->file, s->at, 0,
			 "record: expected BufferExtents, found NewBuffer");
	s->at = extents ? hop_by_search(x, b) : hop_by_size(x, b, diag);
	return true;
}

bool xray_scan_next(struct xray *x, struct xray_scan *s, struct diag_log *diag,
		    struct xray_buffer *b)
{
	while (s->at != nowhere && xray_have(x, s->at + 1)) {
		if (!hop(x, s, diag, b)) {
			s->at = pass_over(x, s->at, diag);
			continue;
		}
		if (b->end - b->off >= XRAY_METADATA)
			return xray_head_read(x, b);
		b->thread = SPUR_NONE;
		if (b->flags & BUFFER_CUT)
			diag_add(diag, DIAG_DAMAGE, "xray/truncated", x->file, b->off,
				 b->end - b->off,
				 "buffer: expected records, found the end of the file");
		return true;
	}
	return false;
}

/* A buffer without records, for rows of the file itself. Returns false if out of memory. */
static bool add_empty(struct xray *x, const struct xray_buffer *b)
{
	if ((b->flags & BUFFER_EXTENTS) && !xray_span_add(x, b->off - XRAY_METADATA, XRAY_METADATA,
							  XRAY_CLASS_META + META_EXTENTS))
		return false;
	/* Where the file ends inside, the bytes are counted as lost. */
	return (b->flags & BUFFER_CUT) || b->end == b->off ||
	       xray_span_add(x, b->off, b->end - b->off, XRAY_CLASS_UNKNOWN);
}

/* --- buffers as LLVM writes them --- */

/* Extents and the first records of a buffer, copied from the file. */
struct window {
	uint8_t bytes[(1 + HEAD_RECORDS) * XRAY_METADATA];
	uint64_t have;
};

/*
 * The file that windows are read from. Where it is not in memory, the disk is asked for the windows
 * of many buffers ahead, as long as these are about as long as those before: LLVM's are full but
 * for a few bytes. What is between the windows is not read.
 */
struct window_file {
	int fd;
	uint64_t from; /* where the buffers begin that are about as long as each other */
	uint32_t alike; /* how many there are */
	bool sparse; /* the disk reads nothing that is not asked for */
	uint64_t asked; /* windows before it have been asked for */
};

enum { WINDOWS_AHEAD = 256, WINDOWS_ALIKE = 16, WINDOW_SLACK = 256, WINDOWS_APART = 8192 };

/* The window at `at` is waited for. */
static void window_ahead(const struct xray *x, struct window_file *f, uint64_t at)
{
	const uint64_t size = f->sparse ? (at - f->from) / f->alike : 0;

	if (!f->sparse || at < f->asked)
		return;
	for (uint32_t i = 0; i < WINDOWS_AHEAD && at < x->src->size; i++, at += size)
		os_posix_fadvise(f->fd, (off_t)(at - WINDOW_SLACK),
				 sizeof(struct window) + 2 * WINDOW_SLACK, POSIX_FADV_WILLNEED);
	f->asked = at;
}

/* There is a buffer from `at` to before `end`. */
static void window_sized(struct window_file *f, uint64_t at, uint64_t end)
{
	const uint64_t mean = f->alike ? (at - f->from) / f->alike : 0, size = end - at;
	const bool alike = size < mean + mean / 64 && size > mean - mean / 64;
	const bool sparse = alike && f->alike >= WINDOWS_ALIKE && mean >= WINDOWS_APART;

	f->from = alike ? f->from : at;
	f->alike = alike ? f->alike + 1 : 1;
	if (sparse != f->sparse)
		os_posix_fadvise(f->fd, 0, 0, sparse ? POSIX_FADV_RANDOM : POSIX_FADV_NORMAL);
	f->asked = sparse ? f->asked : 0;
	f->sparse = sparse;
}

static bool window_read(const struct xray *x, struct window_file *f, uint64_t at, struct window *w)
{
	const uint64_t left = x->src->size - at;
	const size_t want = left < sizeof(w->bytes) ? (size_t)left : sizeof(w->bytes);
	ssize_t n = os_pread_cached(f->fd, w->bytes, want, (off_t)at);

	if (n < 0 || (size_t)n < want) {
		window_ahead(x, f, at);
		n = os_pread(f->fd, w->bytes, want, (off_t)at);
	}
	w->have = n > 0 ? (uint64_t)n : 0;
	return w->have == want;
}

/* The buffer whose extents stand at `at`. Returns false if anything is not as it is prescribed. */
static bool window_buffer(const struct xray *x, const struct window *w, uint64_t at,
			  struct xray_buffer *b)
{
	const uint8_t *p = w->bytes;
	int64_t wall;
	uint64_t size;

	if (w->have < 3 * XRAY_METADATA || xray_meta(x, p) != META_EXTENTS ||
	    xray_meta(x, p + XRAY_METADATA) != META_NEW_BUFFER ||
	    (int32_t)load32(p + XRAY_METADATA + XRAY_META_AT_DATA, x->swap) <= 0 ||
	    xray_meta(x, p + 2 * XRAY_METADATA) != META_WALL_TIME ||
	    !wall_read(x, p + 2 * XRAY_METADATA, &wall))
		return false;
	size = load64(p + XRAY_META_AT_DATA, x->swap);
	*b = (struct xray_buffer){ .off = at + XRAY_METADATA, .flags = BUFFER_EXTENTS };
	if (size < 2 * XRAY_METADATA || size > x->src->size - b->off ||
	    (x->buffer_size && size > x->buffer_size))
		return false;
	b->end = b->off + size;
	return true;
}

/*
 * Lists buffers from copies of their first records, as long as each is followed by the next one.
 * That costs less than a fault of the page that they are in, and many buffers are never looked at
 * again. The rest of the scan begins with the first buffer that is not as it is prescribed.
 * Returns false if out of memory.
 */
static bool scan_copies(struct xray *x, int fd, struct xray_scan *scan)
{
	struct window w, next = { .have = 0 };
	struct xray_buffer b, *item;
	struct window_file f = { .fd = fd };
	bool more = window_read(x, &f, scan->at, &w);

	while (more && window_buffer(x, &w, scan->at, &b)) {
		/* Without room for extents there is no next buffer; see fits_end(). */
		more = x->src->size - b.end >= XRAY_METADATA;
		window_sized(&f, scan->at, b.end);
		if (more &&
		    (!window_read(x, &f, b.end, &next) || xray_meta(x, next.bytes) != META_EXTENTS))
			break;
		item = head_read(x, w.bytes + XRAY_METADATA, &b) ? xray_list_add(&x->list) : NULL;
		if (!item)
			return false;
		*item = b;
		scan->at = b.end;
		w = next;
	}
	return true;
}

/* Returns the file of a log to copy from, or -1. */
static int scan_file(const struct xray *x)
{
	struct stat st;
	int fd;

	if (x->version < 2 || x->follow || x->t->unnamed || !x->src->mapped || x->src->copy ||
	    strcmp(x->src->path, "-") == 0)
		return -1;
	fd = os_open(x->src->path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0 ||
	    (os_fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == x->src->size))
		return fd;
	os_close(fd);
	return -1;
}

bool xray_scan_open(struct xray *x)
{
	struct xray_scan scan = { .at = XRAY_HEADER };
	struct xray_buffer b, *item;
	const int fd = scan_file(x);
	bool good = true;

	x->list.size = sizeof(b);
	if (fd >= 0) {
		good = scan_copies(x, fd, &scan);
		os_close(fd);
	}
	if (!good)
		return false;
	while (xray_scan_next(x, &scan, &x->t->diag, &b)) {
		source_passed(x->src, b.off, b.off + 1);
		if (b.thread == SPUR_NONE) {
			if (!add_empty(x, &b))
				return false;
			continue;
		}
		item = xray_list_add(&x->list);
		if (!item)
			return false;
		*item = b;
	}
	item = x->list.items;
	for (size_t i = 0; i < x->list.count; i++)
		if (item[i].flags & BUFFER_NO_WALL)
			item[i].wall = item[i].flags & BUFFER_NO_TSC ? 0 : wall_at(x, item[i].tsc);
	return xray_sort_buffers(x);
}

/* --- overwritten payloads --- */

/* What a walk over a buffer's records finds, if its events' payloads are there, or are not. */
struct walk {
	bool whole; /* it ends where the buffer does */
	bool clean; /* nothing that could not stand there */
	bool back; /* a call would be older than the event before it */
	uint32_t max_id;
};

/* Returns true if the bytes up to `end`, fewer than a record, may be the begin of one. */
static bool may_be_cut(const struct xray *x, uint64_t off, uint64_t end)
{
	const uint8_t *p = xray_at(x, off);
	const int kind = xray_meta(x, p);
	const uint64_t left = end - off;

	if (kind < 0)
		return left < sizeof(uint32_t) ||
		       (left < XRAY_FUNCTION && xray_call_kind(x, p) < CALL_KINDS &&
			xray_call_id(x, p));
	return left < XRAY_METADATA && kind < META_KINDS;
}

static struct walk walk_records(const struct xray *x, const struct xray_buffer *b, bool intact)
{
	struct walk w = { .clean = true };
	uint64_t off = b->off, junk = 0, base = 0, event = 0;

	while (off < b->end && !(junk && x->version > 1 && off + junk == b->end)) {
		const uint8_t *p = xray_at(x, off);
		const uint64_t size = xray_record_size(x, off, b->end, UINT32_MAX, true);
		const int kind = xray_meta(x, p);
		const bool is_event = kind == META_CUSTOM || kind == META_TYPED;

		if (!size &&
		    !(kind == META_NEW_BUFFER && off == b->off && b->end - off >= XRAY_METADATA)) {
			w.clean = is_event || may_be_cut(x, off, b->end);
			return w;
		}
		if (kind < 0) {
			base += load32(p + XRAY_FUNCTION_AT_DELTA, x->swap);
			w.back |= base < event;
			event = 0;
			w.max_id = xray_call_id(x, p) > w.max_id ? xray_call_id(x, p) : w.max_id;
		} else if (kind == META_NEW_CPU || kind == META_TSC_WRAP) {
			base = load64(
				p + (kind == META_NEW_CPU ? XRAY_CPU_AT_TICKS : XRAY_META_AT_DATA),
				x->swap);
		} else if (is_event) {
			event = load64(p + XRAY_EVENT_AT_TICKS, x->swap);
			junk += intact ? 0 : size - XRAY_METADATA;
		} else if (kind == META_END_OF_BUFFER) {
			w.whole = true;
			return w;
		}
		off += kind < 0 ? XRAY_FUNCTION : is_event && intact ? size : XRAY_METADATA;
	}
	w.whole = x->version > 1 && off + junk == b->end;
	return w;
}

enum xray_payloads xray_payloads_find(const struct xray *x, const struct xray_buffer *b)
{
	const struct walk over = walk_records(x, b, false), intact = walk_records(x, b, true);

	if (over.whole != intact.whole)
		return over.whole ? PAYLOADS_OVERWRITTEN : PAYLOADS_INTACT;
	if (!over.whole && over.clean != intact.clean)
		return over.clean ? PAYLOADS_OVERWRITTEN : PAYLOADS_INTACT;
	if (over.back != intact.back)
		return intact.back ? PAYLOADS_OVERWRITTEN : PAYLOADS_INTACT;
	/* Text that is read as records has functions that nothing else calls. */
	return over.max_id > intact.max_id ? PAYLOADS_INTACT : PAYLOADS_OVERWRITTEN;
}
