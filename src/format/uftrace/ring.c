/*
 * Reads ftrace ring-buffer pages: both byte orders, `long` of 4 and 8 bytes, all record kinds. Not
 * read: the compressed or older (before 2.6.28) forms, which no tool writes to files.
 */
#include "format/uftrace/ring.h"

#include "base/bits.h"
#include "format/uftrace/wire.h"

/* SPEC uftrace/ring-commit */
static const uint64_t commit_missed = UINT64_C(1) << 31;
static const uint64_t commit_stored = UINT64_C(1) << 30;
/* SPEC uftrace/ring-stamp: an absolute stamp has 59 bits; the rest stays as it was */
static const uint64_t stamp_keeps = UINT64_C(0x1f) << 59;

struct ring_layout ring_layout_default(uint32_t page_size, unsigned long_size, bool big_endian)
{
	return (struct ring_layout){
		.page_size = page_size,
		.commit_off = 8,
		.commit_size = (uint8_t)long_size,
		.data_off = 8 + long_size,
		.big_endian = big_endian,
		.swap = order_swaps(big_endian),
	};
}

bool ring_layout_valid(const struct ring_layout *l)
{
	return (l->commit_size == 4 || l->commit_size == 8) && l->page_size <= RING_COMMIT_MASK &&
	       l->data_off < l->page_size && l->time_off <= l->data_off &&
	       l->data_off - l->time_off >= 8 && l->commit_off <= l->data_off &&
	       l->data_off - l->commit_off >= l->commit_size;
}

void ring_init(struct ring *r, const struct ring_layout *layout, struct source *src,
	       const char *file, struct diag_log *diag)
{
	*r = (struct ring){ .layout = layout, .src = src, .file = file, .diag = diag };
}

static uint64_t load_long(const struct ring_layout *l, const uint8_t *p)
{
	return l->commit_size == 8 ? load64(p, l->swap) : load32(p, l->swap);
}

/* The kernel lost records before this page: how many may follow the page's data. */
static void page_missed(struct ring *r, uint64_t commit, uint64_t size)
{
	const struct ring_layout *l = r->layout;
	uint64_t at = r->page + l->data_off + size;
	int64_t n = -1;

	if (!(commit & commit_missed))
		return;
	if (commit & commit_stored && l->data_off + size + l->commit_size <= l->page_size &&
	    at + l->commit_size <= r->src->size) {
		uint64_t stored = load_long(l, r->src->data + at);

		if (stored && stored <= INT64_MAX)
			n = (int64_t)stored;
	}
	if (r->missed < 0 || n < 0 || r->missed > INT64_MAX - n)
		r->missed = -1;
	else
		r->missed += n;
}

/* Opens the next page. Returns false at the end. A page may be empty. */
static bool page_open(struct ring *r)
{
	const struct ring_layout *l = r->layout;
	const uint8_t *p;
	uint64_t left, commit, size;

	r->page = r->next_page;
	source_need(r->src, r->page + l->page_size);
	left = r->src->size > r->page ? r->src->size - r->page : 0;
	if (!left)
		return false;
	if (left > l->page_size)
		left = l->page_size;
	r->next_page = r->page + left;
	if (left < l->data_off) {
		diag_add(r->diag, DIAG_DAMAGE, "uftrace/torn-page", r->file, r->page, left,
			 "kernel page: expected %u bytes, found %llu", l->page_size,
			 (unsigned long long)left);
		return false;
	}
	p = r->src->data + r->page;
	r->time = load64(p + l->time_off, l->swap);
	commit = load_long(l, p + l->commit_off);
	size = commit & RING_COMMIT_MASK;
	if (size > l->page_size - l->data_off) {
		diag_add(r->diag, DIAG_DAMAGE, "uftrace/bad-page", r->file, r->page + l->commit_off,
			 0, "kernel page: expected at most %u bytes of data, found %llu",
			 l->page_size - l->data_off, (unsigned long long)size);
		size = l->page_size - l->data_off;
	}
	page_missed(r, commit, size);
	if (left < l->page_size) {
		const uint64_t lost = l->data_off + size > left ? l->data_off + size - left : 0;

		diag_add(r->diag, DIAG_DAMAGE, "uftrace/torn-page", r->file, r->page, lost,
			 "kernel page: expected %u bytes, found %llu", l->page_size,
			 (unsigned long long)left);
		size -= lost;
	}
	r->pos = r->page + l->data_off;
	r->end = r->pos + size;
	return true;
}

/* The rest of the page cannot be framed: the next page can. */
static void page_drop(struct ring *r, const char *bound, uint64_t expected, uint64_t found)
{
	diag_add(r->diag, DIAG_DAMAGE, "uftrace/bad-kernel-record", r->file, r->pos,
		 r->end - r->pos, "kernel record: expected at %s %llu bytes, found %llu", bound,
		 (unsigned long long)expected, (unsigned long long)found);
	r->pos = r->end;
}

/*
 * The record that starts with `word`: bytes from its first word to its end in `total`, where its
 * data starts in `skip`. False: the page was dropped.
 */
static bool record_frame(struct ring *r, uint32_t type, const uint8_t *p, uint64_t *skip,
			 uint64_t *total)
{
	const uint64_t left = r->end - r->pos;
	uint64_t n;

	if (type && type <= RING_WORDS) {
		*skip = RING_WORD;
		*total = RING_WORD + (uint64_t)type * RING_WORD;
	} else {
		if (left < 2 * RING_WORD) {
			page_drop(r, "least", 2 * RING_WORD, left);
			return false;
		}
		n = load32(p + RING_WORD, r->layout->swap);
		if (type == RING_LONG && n < RING_WORD) {
			page_drop(r, "least", RING_WORD, n);
			return false;
		}
		*skip = 2 * RING_WORD;
		*total = type == RING_EXTEND || type == RING_STAMP ? 2 * RING_WORD : RING_WORD + n;
	}
	if (*total > left) {
		page_drop(r, "most", left, *total);
		return false;
	}
	return true;
}

/* The next record of the page; false at the page's end. */
static bool page_next(struct ring *r, struct ring_record *rec)
{
	const struct ring_layout *l = r->layout;

	while (r->pos < r->end) {
		const uint8_t *p = r->src->data + r->pos;
		uint64_t skip, total, step;
		uint32_t word, type, delta;

		if (r->end - r->pos < RING_WORD) {
			page_drop(r, "least", RING_WORD, r->end - r->pos);
			return false;
		}
		word = load32(p, l->swap);
		type = l->big_endian ? word >> RING_DELTA_BITS : word & 31;
		delta = l->big_endian ? word & RING_DELTA_MASK : word >> 5;
		if (type == RING_PADDING && !delta) { /* what follows was never written */
			r->pos = r->end;
			return false;
		}
		if (!record_frame(r, type, p, &skip, &total))
			return false;
		step = align_up(total, RING_WORD);
		*rec = (struct ring_record){ .off = r->pos, .len = (uint32_t)total };
		r->pos = step < r->end - r->pos ? r->pos + step : r->end;
		if (type == RING_EXTEND) {
			r->time += ((uint64_t)load32(p + RING_WORD, l->swap) << RING_DELTA_BITS) +
				   delta;
		} else if (type == RING_STAMP) {
			r->time = (r->time & stamp_keeps) |
				  (((uint64_t)load32(p + RING_WORD, l->swap) << RING_DELTA_BITS) +
				   delta);
		} else {
			r->time += delta;
			if (type == RING_PADDING)
				continue;
			rec->data = p + skip;
			rec->size = (uint32_t)(total - skip);
			return true;
		}
	}
	return false;
}

bool ring_next(struct ring *r, struct ring_record *rec)
{
	while (!page_next(r, rec)) {
		/* Each round ends a page, so the pages bound it. */
		if (!page_open(r))
			return false;
	}
	rec->time = r->time;
	rec->missed = r->missed;
	r->missed = 0;
	return true;
}

bool ring_data(const struct ring_layout *l, const uint8_t *p, uint32_t len, const uint8_t **data,
	       uint32_t *size)
{
	uint32_t word, type, skip;

	if (len < RING_WORD)
		return false;
	word = load32(p, l->swap);
	type = l->big_endian ? word >> RING_DELTA_BITS : word & 31;
	skip = type == RING_LONG ? 2 * RING_WORD : RING_WORD;
	if (type > RING_WORDS || len < skip)
		return false;
	*data = p + skip;
	*size = len - skip;
	return true;
}
