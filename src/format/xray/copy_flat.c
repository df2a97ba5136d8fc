/* Copies of basic logs and of profiles. */
#include "base/map64.h"
#include "format/xray/copy.h"

/* --- basic --- */

/* Of each thread its latest call, and whether it is kept: the arguments after it are, too. */
struct basic_copy {
	struct xray_copy_run *r;
	struct map64 calls; /* process << 32 | thread -> function << 2 | `wants` << 1 | `keeps` */
	uint64_t from; /* bytes from here on are to be written as they are */
	uint64_t key;
	/*
	 * Of thread `key`: whether it has a call, the function that was entered last (0: none), if
	 * that lacks its argument, and if it is kept.
	 */
	bool called;
	uint32_t function;
	bool wants;
	bool keeps;
};

static bool is_argument(const struct xray *x, uint64_t off)
{
	return load16(xray_at(x, off), x->swap) == XRAY_BASIC_ARGUMENT;
}

static uint64_t thread_key(const struct xray *x, uint64_t off)
{
	const uint8_t *p = xray_at(x, off) +
			   (is_argument(x, off) ? XRAY_BASIC_AT_ARGUMENT_TID : XRAY_BASIC_AT_TID);

	return (x->version > 2 ? (uint64_t)load32(p + 4, x->swap) << 32 : 0) | load32(p, x->swap);
}

/* Whether records that belong to no event stay: in a copy of all that is not mended. */
static bool keeps_odd(const struct xray_copy_run *r)
{
	return !r->part->kept && !r->mends && !r->copy->repair && !r->shift;
}

enum { PIECE = 256 << 10 }; /* bytes that are written at once */

/* Writes what is before `off` and was not yet written; goes on at `next`. */
static void flush(struct basic_copy *b, uint64_t off, uint64_t next)
{
	const struct xray *const x = b->r->x;

	while (b->from < off) {
		const uint64_t left = off - b->from, n = left < PIECE ? left : PIECE;

		out_bytes(b->r->copy->out, xray_at(x, b->from), n);
		source_passed(x->src, b->from, b->from + n);
		b->from += n;
	}
	b->from = next;
}

/* Notes the state of the thread that is left, and gets that of the next. */
static void thread_change(struct basic_copy *b, uint64_t key)
{
	struct map64_slot *slot = b->key != UINT64_MAX ? map64_put(&b->calls, b->key) : NULL;

	if (b->key != UINT64_MAX) {
		if (!slot) {
			b->r->failed = true;
			return;
		}
		slot->value = (uint64_t)b->function << 2 | (uint64_t)b->wants << 1 | b->keeps;
	}
	slot = map64_find(&b->calls, key);
	b->keeps = slot && (slot->value & 1);
	b->wants = slot && (slot->value >> 1 & 1);
	b->function = slot ? (uint32_t)(slot->value >> 2) : 0;
	b->called = slot != NULL;
	b->key = key;
}

/*
 * An argument: whether it belongs to no call (`*stray`), and if it stays nevertheless.
 * SPEC xray/basic-argument, SPEC xray/deep-argument
 */
static bool odd_argument(struct basic_copy *b, uint64_t off, bool *stray)
{
	const struct xray *x = b->r->x;

	*stray = load32(xray_at(x, off) + XRAY_BASIC_AT_FUNCTION, x->swap) != b->function;
	if (*stray)
		return keeps_odd(b->r) && !x->exact && b->called && !b->wants &&
		       xray_basic_run(x, off - XRAY_RECORD, 1);
	b->wants = false;
	if (!x->exact)
		b->function = 0;
	return false;
}

/* A record that can be read. */
static void basic_record(struct basic_copy *b, uint64_t off)
{
	const struct xray *x = b->r->x;
	const uint64_t key = thread_key(x, off);
	uint8_t record[XRAY_RECORD], kind;
	bool stray = false;

	if (key != b->key)
		thread_change(b, key);
	if (is_argument(x, off)) {
		if (odd_argument(b, off, &stray))
			return;
	} else {
		kind = xray_at(x, off)[XRAY_BASIC_AT_KIND];
		b->keeps = xray_copy_keeps(b->r, off);
		b->called = true;
		b->wants = kind == CALL_ENTER_ARGS;
		b->function = kind == CALL_ENTER || kind == CALL_ENTER_ARGS
				      ? load32(xray_at(x, off) + XRAY_BASIC_AT_FUNCTION, x->swap)
				      : 0;
	}
	if (stray && !b->r->part->kept) {
		b->r->copy->bytes_lost += XRAY_RECORD;
		b->r->strays++;
	}
	if (!b->keeps || stray || b->r->shift)
		flush(b, off, off + XRAY_RECORD);
	if (!b->keeps || stray)
		return;
	b->r->copy->records += !is_argument(x, off);
	if (!b->r->shift)
		return;
	memcpy(record, xray_at(x, off), sizeof(record));
	if (!is_argument(x, off))
		store64(record + XRAY_BASIC_AT_TICKS,
			load64(record + XRAY_BASIC_AT_TICKS, x->swap) + b->r->shift, x->swap);
	out_bytes(b->r->copy->out, record, sizeof(record));
}

/*
 * Bytes between two runs: records that repeat others, which stay in a copy of all, or damage.
 * SPEC xray/forked-copy
 */
static void basic_gap(struct basic_copy *b, uint64_t from, uint64_t to)
{
	const struct xray *x = b->r->x;
	const bool stays = keeps_odd(b->r);
	uint64_t off = from;

	for (; to - off >= XRAY_RECORD && xray_basic_run(x, off, 1); off += XRAY_RECORD) {
		b->r->repeated += !stays && !b->r->part->kept;
		if (!stays)
			flush(b, off, off + XRAY_RECORD);
	}
	if (off == to)
		return;
	flush(b, off, to);
	if (!b->r->part->kept)
		b->r->copy->bytes_lost += to - off;
}

/* The records of a thread that a forked process has of its parent. */
static bool is_copied(const struct xray *x, uint64_t off)
{
	const uint64_t key = thread_key(x, off);

	return x->left_out != XRAY_NO_THREAD &&
	       xray_range_find(x, x->version > 2 ? (int32_t)(key >> 32) : XRAY_NO_THREAD,
			       (int32_t)key) == SPUR_NONE;
}

void xray_copy_basic(struct xray_copy_run *r)
{
	struct basic_copy b = { .r = r, .from = XRAY_HEADER, .key = UINT64_MAX };
	const struct xray *x = r->x;
	const struct xray_run *runs = x->list.items;
	uint64_t at = XRAY_HEADER;

	for (size_t i = 0; i < x->list.count && !r->failed; i++) {
		const uint64_t end = runs[i].off + (uint64_t)runs[i].count * XRAY_RECORD;

		if (r->copy->stop && *r->copy->stop)
			break;
		basic_gap(&b, at, runs[i].off);
		at = end;
		if (is_copied(x, runs[i].off)) {
			basic_gap(&b, runs[i].off, end);
			continue;
		}
		for (uint64_t off = runs[i].off; off < end && !r->failed; off += XRAY_RECORD)
			basic_record(&b, off);
	}
	basic_gap(&b, at, x->src->size);
	flush(&b, x->src->size, x->src->size);
	map64_free(&b.calls);
}

/* --- profiles --- */

/* The end of the stack at `off`, or 0 if it does not end before `end`. */
static uint64_t stack_end(const struct xray *x, uint64_t off, uint64_t end)
{
	uint64_t at = off;

	while (end - at >= 4 && load32(xray_at(x, at), x->swap))
		at += 4;
	return end - at >= XRAY_STACK_TAIL ? at + XRAY_STACK_TAIL : 0;
}

/*
 * Walks over the stacks of a block. Returns the bytes of those that are kept, and with `o` writes
 * them; what cannot be read is added to `*lost`.
 */
static uint64_t block_walk(struct xray_copy_run *r, const struct xray_buffer *b, struct out *o,
			   uint64_t *lost)
{
	const struct xray *x = r->x;
	uint64_t size = 0, off = b->off, end;

	for (; off < b->end && (end = stack_end(x, off, b->end)) != 0; off = end) {
		if (end - off <= XRAY_STACK_TAIL) {
			*lost += end - off;
			continue;
		}
		if (!xray_copy_keeps(r, off))
			continue;
		size += end - off;
		if (!o)
			continue;
		out_bytes(o, xray_at(x, off), end - off);
		r->copy->records++;
	}
	*lost += b->end - off;
	return size;
}

/* SPEC xray/profile-block, SPEC xray/copied-stacks */
static void copy_block(struct xray_copy_run *r, const struct xray_buffer *b)
{
	struct out *o = r->copy->out;
	uint64_t lost = 0, again = 0;
	const uint64_t size = block_walk(r, b, NULL, &lost);
	uint8_t head[XRAY_BLOCK];

	if (!r->part->kept) {
		r->copy->bytes_lost += lost;
		r->copy->damaged |= (b->flags & BUFFER_CUT) != 0;
	}
	if (!size && (r->part->kept || lost))
		return;
	memcpy(head, xray_at(r->x, b->off - XRAY_BLOCK), sizeof(head));
	store32(head + XRAY_BLOCK_AT_SIZE, (uint32_t)(size + XRAY_BLOCK), r->x->swap);
	out_bytes(o, head, sizeof(head));
	block_walk(r, b, o, &again);
	r->anew += lost != 0;
}

void xray_copy_profile(struct xray_copy_run *r)
{
	const struct xray *x = r->x;
	const struct xray_buffer *list = x->list.items;
	uint64_t at = XRAY_PROFILE_HEADER;

	for (size_t i = 0; i < x->list.count && !r->failed; i++) {
		copy_block(r, &list[r->x->by_off[i]]);
		at = list[r->x->by_off[i]].end;
	}
	if (!r->part->kept)
		r->copy->bytes_lost += x->src->size - at;
}
