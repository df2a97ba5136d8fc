/* From the words of a chunk to records. */
#include "format/spur/reader.h"

const uint8_t *spb_chunk(const struct spb *s, uint32_t number, const uint8_t **end)
{
	const uint64_t off = SPB_HEADER + (uint64_t)number * s->chunk_size;
	const uint64_t left = s->size > off ? s->size - off : 0;

	*end = s->data + off + (left < s->chunk_size ? left / SPB_WORD * SPB_WORD : s->chunk_size);
	return s->data + off;
}

/*
 * The end of the last page of a chunk that may have something: a thread that ends gives back the
 * room that it has not used.
 */
static const uint8_t *data_end(const struct spb *s, const uint8_t *base, const uint8_t *end)
{
	const uint64_t off = (uint64_t)(base - s->data);
	const uint64_t size = holes_data_end(s->holes, off, off + (uint64_t)(end - base)) - off;
	const uint64_t pages = align_up(size, SPB_PAGE);

	return pages && pages < (uint64_t)(end - base) ? base + pages : end;
}

void spb_cursor_open(const struct spb *s, struct spb_cursor *c, uint32_t chunk, uint32_t track)
{
	c->base = spb_chunk(s, chunk, &c->end);
	assert(c->end - c->base >= SPB_CHUNK_HEAD);
	c->end = data_end(s, c->base, c->end);
	c->at = c->base + SPB_CHUNK_HEAD;
	c->ticks = spb_64(c->base + SPB_OPEN_AT);
	c->track = track;
	c->cpu = SPUR_NO_CPU;
	c->lost_told = false;
}

void spb_cursor_close(const struct spb *s, struct spb_cursor *c)
{
	if (s->src)
		source_passed(s->src, (uint64_t)(c->base - s->data), (uint64_t)(c->at - s->data));
	c->base = NULL;
}

/* The end of the page that has the byte. SPEC spur/page */
static const uint8_t *page_end(const struct spb_cursor *c)
{
	const size_t at = (size_t)(c->at - c->base) / SPB_PAGE * SPB_PAGE + SPB_PAGE;
	const size_t size = (size_t)(c->end - c->base);

	return c->base + (at < size ? at : size);
}

/*
 * SPEC spur/commit: at a word of zero. Returns true if a record was begun here: if more records
 * follow in the page.
 */
static bool hole_skip(struct spb_cursor *c, struct spb_record *r)
{
	const uint8_t *const end = page_end(c), *const from = c->at;

	while (c->at < end && !spb_64(c->at))
		c->at += SPB_WORD;
	if (c->at == end)
		return false;
	*r = (struct spb_record){ .p = from,
				  .payload = c->at,
				  .len = (uint32_t)(c->at - from),
				  .kind = SPB_HOLE,
				  .ticks = c->ticks };
	return true;
}

/*
 * SPEC spur/more: a record that fills its page goes on with records of kind MORE at the beginning
 * of the next one, which fill theirs if more follow.
 */
static void more_take(struct spb_cursor *c, struct spb_record *r)
{
	while (c->at < c->end && (spb_64(c->at) & 15) == SPB_MORE) {
		const uint8_t *const p = c->at, *const end = page_end(c);
		uint64_t words = spb_64(p) >> 4 & 15, head = SPB_WORD;

		if (words == SPB_LENGTH_FAR) {
			head += SPB_WORD;
			words = (size_t)(end - p) >= head ? spb_32(p + SPB_WORD) : SPB_PAGE;
		}
		if (head + words * SPB_WORD > (size_t)(end - p))
			return;
		c->at += head + words * SPB_WORD;
		r->len += (uint32_t)(head + words * SPB_WORD);
		if (c->at < end)
			return;
	}
}

static void report_long(const struct spb *s, struct diag_log *diag, const uint8_t *p,
			uint64_t words, const uint8_t *end)
{
	if (diag)
		diag_add(diag, DIAG_DAMAGE, "spur/long-record", s->file, spb_off(s, p),
			 (uint64_t)(end - p),
			 "record: expected its end within the page, found a payload of %llu words: "
			 "the rest of the page is skipped",
			 (unsigned long long)words);
}

bool spb_record_next(const struct spb *s, struct spb_cursor *c, struct diag_log *diag,
		     struct spb_record *r)
{
	while (c->at < c->end) {
		const uint8_t *const p = c->at, *end;
		const uint64_t word = spb_64(p);
		uint64_t words = word >> 4 & 15, head = SPB_WORD;

		if (__builtin_expect(!word, 0)) {
			if (hole_skip(c, r))
				return true;
			continue;
		}
		end = page_end(c);
		if (__builtin_expect(words == SPB_LENGTH_FAR, 0)) {
			head += SPB_WORD;
			if ((word & 15) == SPB_RESERVED)
				words = word >> 32; /* SPEC spur/reserved */
			else
				words = (size_t)(end - p) >= head ? spb_32(p + SPB_WORD) : SPB_PAGE;
		}
		/* SPEC spur/length */
		if (__builtin_expect(head + words * SPB_WORD > (size_t)(end - p), 0)) {
			report_long(s, diag, p, words, end);
			c->at = end;
			continue;
		}
		*r = (struct spb_record){ .p = p,
					  .payload = p + head,
					  .words = (uint32_t)words,
					  .len = (uint32_t)(head + words * SPB_WORD),
					  .id = (uint32_t)(word >> 8) & 0xFFFFFF,
					  .kind = word & 15 };
		c->at = p + r->len;
		if (__builtin_expect(c->at == end, 0))
			more_take(c, r);
		/* SPEC spur/time */
		if (r->kind == SPB_RESERVED)
			r->kind = SPB_HOLE;
		else if (r->kind == SPB_TIME && words)
			c->ticks = spb_64(r->payload);
		else if (r->kind != SPB_PAD)
			c->ticks +=
				(uint64_t)(int32_t)((uint32_t)(word >> 32) - (uint32_t)c->ticks);
		r->ticks = c->ticks;
		return true;
	}
	return false;
}
