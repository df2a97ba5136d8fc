/*
 * The gaps of a ring in a copy of some of its records: chunks that are left out must not look as if
 * they had been overwritten, and where chunks were, it must still show. SPEC spur/gap
 */
#include "base/bits.h"
#include "format/spur/copy.h"

bool spb_copy_has_gap(const struct spb_copying *c, uint32_t number)
{
	const uint8_t *end;

	return spb_copy_has(c, spb_off(c->s, spb_chunk(c->s, number, &end)) + SPB_OPEN_AT);
}

/* Returns true if the copy has the chunk. */
static bool chunk_stays(struct spb_copying *c, uint32_t number)
{
	struct spb_cursor at;
	struct spb_record r;
	uint64_t fewer;

	spb_cursor_open(c->s, &at, number, 0);
	if (spb_64(at.base + SPB_CHUNK_LOST_AT) && spb_copy_has(c, spb_off(c->s, at.base)))
		return true;
	if (spb_copy_has_gap(c, number))
		return true;
	while (spb_record_next(c->s, &at, NULL, &r))
		if (spb_copy_has_row(&r) && spb_copy_keeps(c, &r, &fewer) != SPB_DROP)
			return true;
	return false;
}

/*
 * Decides when the chunk `last` was closed, behind which the copy has chunk `next`. `gap`: the
 * chunk in front of the first gap between them, or UINT32_MAX. Returns false if out of memory.
 */
static bool close_decide(struct spb_copying *c, uint32_t last, uint32_t gap, uint32_t next)
{
	const uint8_t *end, *const p = spb_chunk(c->s, last, &end), *from;
	const uint64_t closed = spb_64(p + SPB_CLOSE_AT);
	struct map64_slot *slot;

	from = gap == UINT32_MAX ? spb_chunk(c->s, next, &end) + SPB_OPEN_AT
				 : spb_chunk(c->s, gap, &end) + SPB_CLOSE_AT;
	if (!closed || (int64_t)(spb_64(from) - closed) <= 0)
		return true;
	slot = map64_put(&c->closes, last);
	if (slot)
		slot->value = spb_off(c->s, from);
	return slot;
}

bool spb_copy_gaps(struct spb_copying *c)
{
	const struct spb *const s = c->s;

	if (!c->part->kept || spb_32(s->data + SPB_MODE_AT) != SPB_RING)
		return true;
	for (size_t i = 0; i < s->nthreads; i++) {
		const struct spb_thread *const th = &s->threads[i];
		const struct spb_chunk *const chunks = s->chunks + th->first;
		uint32_t last = UINT32_MAX, gap = UINT32_MAX;

		for (uint32_t k = 0; k < th->count; k++) {
			if (k && gap == UINT32_MAX &&
			    spb_gap_ticks(s, chunks[k - 1].number, chunks[k].number, 0))
				gap = chunks[k - 1].number;
			if (!chunk_stays(c, chunks[k].number))
				continue;
			if (last != UINT32_MAX && !close_decide(c, last, gap, chunks[k].number))
				return false;
			last = chunks[k].number;
			gap = UINT32_MAX;
		}
	}
	return true;
}

void spb_copy_close(const struct spb_copying *c, const uint8_t *p, uint8_t *head)
{
	const uint64_t number = (spb_off(c->s, p) - SPB_HEADER) / c->s->chunk_size;
	const struct map64_slot *const slot =
		c->closes.count ? map64_find(&c->closes, number) : NULL;

	if (slot)
		memcpy(head + SPB_CLOSE_AT, c->s->data + slot->value, SPB_PAIR);
}
