/*
 * Reads perf rings recorded with sample_id_all and TID | TIME: COMM, EXIT, FORK, SWITCH, LOST.
 * Other types are framed by their size. Where the framing is lost, the next place that looks like a
 * record of these types is taken.
 */
#include "format/uftrace/perfring.h"

#include <string.h>

#include "base/bits.h"

enum {
	TYPE_MOST = 63, /* far above the kernel's last */
	/* With the longest name, padded */
	COMM_MOST = PERF_HEAD + PERF_COMM_BODY + 16 + PERF_TRAILER,
	NEAR = 4096, /* bytes after damage in which a record at a fitting time is preferred */
};

/* Time between neighbours that a resync believes: an hour. */
static const uint64_t time_gap = UINT64_C(3600) * 1000000000;

/* Bytes that a record of the type has at least. */
static uint32_t least_size(uint32_t type)
{
	switch (type) {
	case PERF_COMM: return PERF_HEAD + PERF_COMM_BODY + 8 + PERF_TRAILER;
	case PERF_EXIT:
	case PERF_FORK: return PERF_HEAD + PERF_TASK_BODY + PERF_TRAILER;
	case PERF_LOST: return PERF_HEAD + PERF_LOST_BODY + PERF_TRAILER;
	case PERF_SAMPLE: return PERF_HEAD;
	default: return PERF_HEAD + PERF_TRAILER;
	}
}

static bool is_fixed(uint32_t type)
{
	return type == PERF_EXIT || type == PERF_FORK || type == PERF_LOST || type == PERF_SWITCH;
}

/* SPEC uftrace/perf-record: sizes are multiples of 8, the trailer stands at the end */
static bool framed(const uint8_t *p, uint64_t left, bool swap, struct perf_record *rec)
{
	*rec = (struct perf_record){ .pid = -1, .tid = -1, .ppid = -1, .ptid = -1 };
	if (left < PERF_HEAD)
		return false;
	rec->type = load32(p, swap);
	rec->misc = load16(p + 4, swap);
	rec->len = load16(p + 6, swap);
	return rec->type && rec->type <= TYPE_MOST && rec->len % 8 == 0 &&
	       rec->len >= least_size(rec->type) && rec->len <= left;
}

bool perf_decode(const uint8_t *p, uint64_t left, bool swap, struct perf_record *rec)
{
	const uint8_t *body = p + PERF_HEAD, *trailer;

	if (!framed(p, left, swap, rec))
		return false;
	if (rec->type == PERF_SAMPLE)
		return true;
	trailer = p + rec->len - PERF_TRAILER;
	rec->pid = (int32_t)load32(trailer, swap);
	rec->tid = (int32_t)load32(trailer + 4, swap);
	rec->time = load64(trailer + 8, swap);
	switch (rec->type) {
	case PERF_COMM:
		rec->pid = (int32_t)load32(body, swap);
		rec->tid = (int32_t)load32(body + 4, swap);
		body += PERF_COMM_BODY;
		rec->comm = text_make(body, strnlen((const char *)body, (size_t)(trailer - body)));
		break;
	case PERF_EXIT:
	case PERF_FORK:
		rec->pid = (int32_t)load32(body, swap);
		rec->ppid = (int32_t)load32(body + 4, swap);
		rec->tid = (int32_t)load32(body + 8, swap);
		rec->ptid = (int32_t)load32(body + 12, swap);
		/*
		 * SPEC uftrace/perf-task-time: the body's time is the event's, the trailer is a
		 * little off
		 */
		rec->time = load64(body + 16, swap);
		break;
	case PERF_LOST: rec->lost = load64(body + 8, swap); break;
	default: break;
	}
	return true;
}

/*
 * A record at a time near `time` (0: any); where `surely`, of a type that is expected, of its size.
 */
static bool plausible(const uint8_t *p, uint64_t left, bool swap, uint64_t time, bool surely)
{
	struct perf_record rec;

	if (!perf_decode(p, left, swap, &rec) || !rec.time || rec.time > INT64_MAX)
		return false;
	if (surely && !(is_fixed(rec.type) && rec.len == least_size(rec.type)) &&
	    !(rec.type == PERF_COMM && rec.len <= COMM_MOST))
		return false;
	return !time || (rec.time > time ? rec.time - time : time - rec.time) <= time_gap;
}

/*
 * The next place in [off, end) where a record, and after it another or the end, is plausible; else
 * the file's end.
 */
static uint64_t resync(const struct perfring *r, uint64_t off, uint64_t end, uint64_t time)
{
	const struct source *s = r->src;

	for (; off < end && off + PERF_HEAD <= s->size; off++) {
		uint64_t next;

		if (!plausible(s->data + off, s->size - off, r->swap, time, true))
			continue;
		next = off + load16(s->data + off + 6, r->swap);
		if (next == s->size ||
		    plausible(s->data + next, s->size - next, r->swap, time, false))
			return off;
	}
	return s->size;
}

/* The record at r->off cannot be framed. */
static void damaged(struct perfring *r, const struct perf_record *rec)
{
	const uint64_t off = r->off;
	uint64_t left, next;

	source_need(r->src, UINT64_MAX);
	left = r->src->size - off;
	/*
	 * A near place at a time that fits is better, but the last time may have been the damage.
	 */
	next = r->time ? resync(r, off + 1, off + NEAR, r->time) : r->src->size;
	if (next == r->src->size)
		next = resync(r, off + 1, r->src->size, 0);
	r->off = next;
	if (left < PERF_HEAD)
		diag_add(r->diag, DIAG_DAMAGE, "uftrace/bad-perf-record", r->file, off, next - off,
			 "perf record: expected a header of 8 bytes, found %llu",
			 (unsigned long long)left);
	else if (!rec->type || rec->type > TYPE_MOST)
		diag_add(r->diag, DIAG_DAMAGE, "uftrace/bad-perf-record", r->file, off, next - off,
			 "perf record: expected a type of 1 to %d, found %u", TYPE_MOST, rec->type);
	else if (rec->len > left && rec->len % 8 == 0 && rec->len >= least_size(rec->type) &&
		 (!is_fixed(rec->type) || rec->len == least_size(rec->type)))
		diag_add(r->diag, DIAG_DAMAGE, "uftrace/bad-perf-record", r->file, off, next - off,
			 "perf record: expected %u bytes, found %llu", rec->len,
			 (unsigned long long)left);
	else
		diag_add(r->diag, DIAG_DAMAGE, "uftrace/bad-perf-record", r->file, off, next - off,
			 "perf record: expected for type %u a size of %s%u of the %llu bytes left, "
			 "found %u",
			 rec->type, is_fixed(rec->type) ? "" : "at least ", least_size(rec->type),
			 (unsigned long long)left, rec->len);
}

/*
 * A size that its type does not have. It is damage where a record begins at the size that it should
 * have, or none where it ends; else it may be a newer form.
 */
static bool odd_size(const struct perfring *r, const struct perf_record *rec)
{
	const struct source *s = r->src;
	const uint64_t next = r->off + rec->len, due = r->off + least_size(rec->type);
	struct perf_record after;

	if (rec->type == PERF_COMM ? rec->len <= COMM_MOST : next == due)
		return false;
	/* Whole records decide, however much is read at a time. */
	source_need(r->src, UINT64_MAX);
	return plausible(s->data + due, s->size - due, r->swap, r->time, true) ||
	       (next != s->size && !framed(s->data + next, s->size - next, r->swap, &after));
}

void perfring_init(struct perfring *r, struct source *src, bool swap, const char *file,
		   struct diag_log *diag)
{
	*r = (struct perfring){ .src = src, .swap = swap, .file = file, .diag = diag };
}

bool perfring_next(struct perfring *r, struct perf_record *rec)
{
	struct source *s = r->src;

	/* Each round moves r->off on. */
	while (source_need(s, r->off + PERF_HEAD) || s->size > r->off) {
		if (s->size - r->off >= PERF_HEAD)
			source_need(s, r->off + load16(s->data + r->off + 6, r->swap) + PERF_HEAD);
		if (!perf_decode(s->data + r->off, s->size - r->off, r->swap, rec) ||
		    ((is_fixed(rec->type) || rec->type == PERF_COMM) && odd_size(r, rec))) {
			damaged(r, rec);
			continue;
		}
		if (!is_fixed(rec->type) && rec->type != PERF_COMM)
			diag_add(r->diag, DIAG_NOTE, "uftrace/perf-type", r->file, r->off, 0,
				 "perf record: expected a task's or a switch, found type %u, which "
				 "is skipped",
				 rec->type);
		rec->off = r->off;
		r->off += rec->len;
		if (rec->time)
			r->time = rec->time;
		return true;
	}
	return false;
}
