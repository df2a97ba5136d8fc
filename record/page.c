/*
 * Pages: the one that a thread stores records into, and the next one of its chunk. Hooks come here
 * with the program's vector registers as they are, so for libspur-record this part is compiled for
 * general registers alone, and calls nothing.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core.h"

void core_page_drop(void)
{
	seam_set_pointer(&spur_trace_here.end, NULL);
	spur_trace_here.at = NULL;
	core_own.chunk = core_own.chunk_end = NULL;
}

/*
 * Fills the rest of a page, in which an event of that size had no room, with PAD records: so a word
 * of zero in a page that was left is always a record that is not complete. The event had moved the
 * place beyond the page, so nothing else gets these bytes, even if a signal handler has taken
 * another page since.
 */
static void page_fill(char *at, uint64_t size)
{
	const char *const end = seam_load_pointer(&spur_trace_here.end);
	const uint64_t off = (uint64_t)(at - core_own.chunk);
	uint64_t left;

	/* If a handler went on to another chunk, or moved the place beyond the page before. */
	if (!end || !core_own.chunk || off >= SPB_CHUNK_SIZE || at >= end ||
	    off % SPB_PAGE + size <= SPB_PAGE)
		return;
	left = (SPB_PAGE - off % SPB_PAGE) / SPB_WORD;
	while (left) {
		const uint64_t words = left > SPB_LENGTH_FAR ? SPB_LENGTH_FAR - 1 : left - 1;

		/* Each is whole by one store. */
		spur_trace_commit(at, SPB_PAD, (uint32_t)words, 0, 0);
		at += SPB_WORD + words * SPB_WORD;
		left -= 1 + words;
	}
}

/*
 * Moves on from the page of that end to the next one of the chunk, unless a signal handler has done
 * it. Returns false at the chunk's end. A recording that ends meanwhile takes the page away, before
 * or after it is here.
 */
static bool page_next(char *end)
{
	if (!core_own.chunk || !end || end == core_own.chunk_end ||
	    core_own.session != seam_load(&core_session.number))
		return false;
	seam_turn(&spur_trace_here, end, end, end + SPB_PAGE);
	seam_fence_threads();
	if (core_own.session == seam_load(&core_session.number))
		return true;
	seam_set_pointer(&spur_trace_here.end, NULL);
	return false;
}

/*
 * True if a signal handler has moved on from the page in which the event had no room. The place
 * alone does not tell: what a handler stored in the page after a full one may end just where the
 * event would have ended.
 */
static bool page_turned(const char *end, const char *behind)
{
	return end && (spur_trace_here.at != behind || (uint64_t)(end - behind) < SPB_PAGE);
}

bool core_page_turn(char *at, uint64_t size)
{
	char *end;

	page_fill(at, size);
	/* Read once: a handler may move on at any time, and its page is not full. */
	end = seam_load_pointer(&spur_trace_here.end);
	return page_turned(end, at + size) || page_next(end);
}

bool core_page_take(char **at, uint64_t size)
{
	char *end;

	do {
		if (core_own.busy || !core_page_turn(*at, size))
			return false;
		/* As spur_trace_reserve(). */
		end = seam_load_pointer(&spur_trace_here.end);
		*at = spur_trace_add(size);
	} while ((uint64_t)(end - *at) - size > SPUR_TRACE_PAGE - size);
	return true;
}
