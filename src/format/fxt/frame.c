/* Record after record, and the search for the next one behind damage. See frame.h. */
#include "format/fxt/frame.h"

#include "format/fxt/shape.h"

#define NOWHERE UINT64_MAX

/* The header alone: type and size are possible, bits that are always 0 are 0. */
static bool head_plausible(uint64_t h, uint64_t words)
{
	switch (fxt_type(h)) {
	case FXT_METADATA:
		return fxt_bits(h, 16, 19) >= FXT_PROVIDER_INFO &&
		       fxt_bits(h, 16, 19) <= FXT_TRACE_INFO;
	case FXT_INIT:
		return (words == 2 || words == 4) && !(h >> 16);
	case FXT_STRING:
		return fxt_bits(h, 16, 30) && !fxt_bits(h, 31, 31) && !(h >> 47) &&
		       words == 1 + align_up(fxt_bits(h, 32, 46), FXT_WORD) / FXT_WORD;
	case FXT_THREAD:
		return words == 3 && !(h >> 24);
	case FXT_EVENT:
		return fxt_bits(h, 16, 19) < FXT_EVENT_TYPES && words >= 2;
	case FXT_BLOB:
		return !fxt_bits(h, 47, 47) && !(h >> 56);
	case FXT_USER_OBJECT:
	case FXT_KERNEL_OBJECT:
		return !(h >> 44);
	case FXT_SCHEDULING:
		return fxt_bits(h, 60, 63) < FXT_SCHEDULING_TYPES;
	case FXT_LOG:
		return !fxt_bits(h, 31, 31) && !(h >> 40);
	case FXT_PROFILER:
		return fxt_bits(h, 16, 19) < FXT_PROFILER_TYPES;
	case FXT_LARGE:
		return fxt_bits(h, 36, 39) == 0 && !(h >> 41);
	default:
		return false;
	}
}

static inline bool have(struct source *src, uint64_t end)
{
	return end <= src->size || source_need(src, end);
}

bool fxt_plausible(struct source *src, uint64_t off, bool swap, bool exact, int least)
{
	for (int i = 0; i < FXT_CHAIN; i++) {
		uint64_t head, words;

		if (!have(src, off + FXT_WORD))
			return i >= least;
		head = load64(src->data + off, swap);
		words = fxt_words(head);
		if (!words || !head_plausible(head, words) || !have(src, off + words * FXT_WORD))
			return false;
		if (exact) {
			struct fxt_shape s;

			fxt_shape_of(&s, src->data + off, words * FXT_WORD, swap);
			if (!fxt_shape_exact(&s, swap))
				return false;
		}
		off += words * FXT_WORD;
	}
	return true;
}

/* The first place at or behind `off`, at steps of 8, where records begin; NOWHERE: none below `limit`. */
static uint64_t next_place(struct source *src, uint64_t off, bool swap, bool exact,
			   struct fxt_searched *known, uint64_t limit)
{
	uint64_t at = off;

	if (known->from <= off && off <= known->clear)
		at = known->clear;
	else
		known->from = off;
	while (at < limit && have(src, at + FXT_WORD) && !fxt_plausible(src, at, swap, exact, 1))
		at += FXT_WORD;
	known->clear = at;
	return at < limit && have(src, at + FXT_WORD) ? at : NOWHERE;
}

/*
 * SPEC fxt/resync: word by word; where bytes were lost or put in, the words are elsewhere: then byte by byte, for
 * records that are exact, since almost anything looks plausible at some byte.
 */
static uint64_t resync(struct source *src, uint64_t off, bool swap, struct fxt_resync *r)
{
	uint64_t best =
		next_place(src, off + FXT_WORD, swap, false, &r->near[off % FXT_WORD], NOWHERE);

	for (uint64_t at = off + 1; at < off + FXT_WORD; at++) {
		const uint64_t place =
			next_place(src, at, swap, true, &r->exact[at % FXT_WORD], best);

		best = place < best ? place : best;
	}
	return best;
}

void fxt_frame_at(struct source *src, uint64_t off, bool swap, struct fxt_resync *r,
		  struct fxt_frame *f)
{
	uint64_t words, next;

	*f = (struct fxt_frame){ .state = FXT_FRAME_DAMAGE };
	if (!have(src, off + FXT_WORD)) {
		f->lost = src->size - off;
		f->state = f->lost ? FXT_FRAME_DAMAGE : FXT_FRAME_END;
		f->code = "fxt/truncated-tail";
		f->to_end = true;
		return;
	}
	f->head = load64(src->data + off, swap);
	words = fxt_words(f->head);
	f->size = words * FXT_WORD;
	if (words && have(src, off + f->size)) {
		f->state = FXT_FRAME_RECORD;
		return;
	}
	next = resync(src, off, swap, r);
	f->to_end = next == NOWHERE;
	f->lost = (f->to_end ? src->size : next) - off;
	f->code = !words ? "fxt/size-zero" : f->to_end ? "fxt/truncated-tail" : "fxt/size-past-end";
}
