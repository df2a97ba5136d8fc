/*
 * Parts of one thread's FDR log, which threads read at once. A buffer begins with its CPU and its
 * ticks; what the buffers before it decide is the least time of its first row, whether that is a
 * tail call, and whether records may be missing. A part is read as if none of these mattered;
 * xray_part_follows() tells whether that was right. It does not ask whether records may be missing,
 * which SPUR_F_GAP says: that decides only what an END does whose call is not open (PARTS_CALLS).
 */
#include "format/format.h"
#include "format/xray/reader.h"

enum { CUTS_MAX = 1 << 20 };

/*
 * Whether a buffer begins as the runtime writes it, with times that the next buffer confirms, so
 * that no record of it takes its time from the buffer before.
 */
static bool is_plain_head(const struct xray *x, const struct xray_buffer *b,
			  const struct xray_buffer *next)
{
	static const enum xray_meta kinds[] = { META_NEW_BUFFER, META_WALL_TIME, META_PID,
						META_NEW_CPU };
	enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

	if ((b->flags & (BUFFER_CUT | BUFFER_NO_TSC | BUFFER_NO_WALL)) ||
	    (next->flags & BUFFER_NO_TSC) || next->tsc < b->tsc || next->tsc > INT64_MAX ||
	    b->end - b->off < KINDS * XRAY_METADATA)
		return false;
	for (size_t i = 0; i < KINDS; i++)
		if (xray_meta(x, xray_at(x, b->off + i * XRAY_METADATA)) != (int)kinds[i])
			return false;
	return load64(xray_at(x, b->off + (KINDS - 1) * XRAY_METADATA + XRAY_CPU_AT_TICKS),
		      x->swap) == b->tsc;
}

static bool is_divisible(const struct xray *x, const struct feed *f)
{
	const struct spur_trace *t = x->t;

	return x->mode == XRAY_FDR && x->version == XRAY_FDR_VERSION && !x->stored &&
	       !x->bookkeeping && !x->copied_ends && f->state != x && xray_range_of(x, f->track) &&
	       t->want_from == INT64_MIN && t->want_to == INT64_MAX;
}

uint32_t xray_divide(struct spur_trace *t, struct feed *f, uint64_t bytes, enum parts_use use)
{
	struct xray *x = t->state;
	const struct xray_buffer *list = x->list.items;
	struct xray_feed *xf;
	uint64_t size = 0;

	if (use != PARTS_CALLS || !is_divisible(x, f) || !xray_feed_open(x, f))
		return 1;
	xf = f->state;
	assert(!xf->cuts && xf->stop == xf->last);
	for (size_t i = xf->next; i + 1 < xf->last; i++) {
		/* Out of memory: fewer parts are made. */
		if (size >= bytes && is_plain_head(x, &list[i], &list[i + 1]) &&
		    mem_grow((void **)&xf->cuts, &xf->cuts_cap, xf->ncuts + 1, sizeof(*xf->cuts),
			     CUTS_MAX)) {
			xf->cuts[xf->ncuts++] = (uint32_t)i;
			size = 0;
		}
		size += list[i].end - list[i].off;
	}
	if (xf->ncuts) {
		xf->stop = xf->cuts[0];
		xf->is_part = true;
	}
	return (uint32_t)xf->ncuts + 1;
}

bool xray_part_open(struct spur_trace *t, const struct feed *f, uint32_t number,
		    const struct feed *before, struct feed *part)
{
	const struct xray_feed *whole = f->state, *b = before ? before->state : NULL;
	struct xray *x = t->state;
	struct xray_feed *xf;

	assert(number && number <= whole->ncuts);
	if (!xray_feed_open(x, part))
		return false;
	xf = part->state;
	xf->is_part = true;
	xf->next = whole->cuts[number - 1];
	xf->stop = number < whole->ncuts ? whole->cuts[number] : xf->last;
	if (b)
		xf->own = b->own;
	xf->part_ticks = ((const struct xray_buffer *)x->list.items)[xf->next].tsc;
	return true;
}

bool xray_part_follows(const struct feed *before, const struct feed *part)
{
	const struct xray_feed *b = before->state;
	struct xray_feed *xf = part->state;

	xf->own.gap |= b->own.gap;
	return b->own.call != CALL_TAIL_EXIT && b->own.high <= xf->part_ticks;
}

void xray_part_close(struct feed *part)
{
	if (part->state)
		xray_feed_free(part->state);
	part->state = NULL;
}
