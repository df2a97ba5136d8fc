/* Record after record. See frame.h. */
#include "format/fxt/frame.h"

#include "format/fxt/shape.h"

bool fxt_head_plausible(uint64_t h, uint64_t words)
{
	switch (fxt_type(h)) {
	case FXT_METADATA:
		return fxt_get(h, FXT_F_METADATA_TYPE) >= FXT_PROVIDER_INFO &&
		       fxt_get(h, FXT_F_METADATA_TYPE) <= FXT_TRACE_INFO;
	case FXT_INIT:
		return (words == 2 || words == 4) && !(h >> 16);
	case FXT_STRING:
		return fxt_get(h, FXT_F_STRING_INDEX) && !fxt_bits(h, 31, 31) && !(h >> 47) &&
		       words == 1 + align_up(fxt_get(h, FXT_F_STRING_LEN), FXT_WORD) / FXT_WORD;
	case FXT_THREAD:
		return words == 3 && !(h >> 24);
	case FXT_EVENT:
		return fxt_get(h, FXT_F_EVENT_TYPE) < FXT_EVENT_TYPES && words >= 2;
	case FXT_BLOB:
		return !fxt_bits(h, 47, 47) && !(h >> 56);
	case FXT_USER_OBJECT:
	case FXT_KERNEL_OBJECT:
		return !(h >> 44);
	case FXT_SCHEDULING:
		return fxt_get(h, FXT_F_SCHED_TYPE) < FXT_SCHEDULING_TYPES;
	case FXT_LOG:
		return !fxt_bits(h, 31, 31) && !(h >> 40);
	case FXT_PROFILER:
		return fxt_get(h, FXT_F_PROFILER_TYPE) < FXT_PROFILER_TYPES;
	case FXT_LARGE:
		return fxt_get(h, FXT_F_LARGE_TYPE) == 0 && !(h >> 41);
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
		if (!words || !fxt_head_plausible(head, words) ||
		    !have(src, off + words * FXT_WORD))
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

/*
 * Whether all of a record is there; waits for it. SPEC fxt/follow-damage: where the input may grow
 * for ever it is not waited for a record that what is there contradicts, once a chain of good
 * records follows its header: *next is where.
 */
static bool record_is_there(struct source *src, uint64_t off, uint64_t size, bool swap,
			    struct fxt_resync *r, uint64_t *next)
{
	if (!r->eager)
		return have(src, off + size);
	while (off + size > src->size) {
		if (!fxt_record_is_cut(src, off, size, swap, r))
			*next = fxt_resync_behind(src, off, swap, r);
		if (*next != UINT64_MAX || !source_more(src))
			return false;
	}
	return true;
}

/* Where reading goes on after what is no record; UINT64_MAX: nowhere. */
static uint64_t place_behind(struct source *src, uint64_t off, uint64_t size, bool swap,
			     struct fxt_resync *r)
{
	uint64_t next;
	bool ended;

	/* SPEC fxt/cut-tail: nothing follows a record that the end of the data cuts */
	if (size && src->eof && fxt_record_is_cut(src, off, size, swap, r))
		return UINT64_MAX;
	do {
		ended = src->eof;
		next = fxt_resync_behind(src, off, swap, r);
		/* That the data ends decides too. */
	} while (next == UINT64_MAX && r->eager && (source_more(src) || !ended));
	return next;
}

void fxt_frame_at(struct source *src, uint64_t off, bool swap, struct fxt_resync *r,
		  struct fxt_frame *f)
{
	uint64_t words, next = UINT64_MAX;

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
	if (words && record_is_there(src, off, f->size, swap, r, &next)) {
		f->state = FXT_FRAME_RECORD;
		return;
	}
	if (next == UINT64_MAX)
		next = place_behind(src, off, f->size, swap, r);
	f->to_end = next == UINT64_MAX;
	f->lost = (f->to_end ? src->size : next) - off;
	f->code = !words ? "fxt/size-zero" : f->to_end ? "fxt/truncated-tail" : "fxt/size-past-end";
}
