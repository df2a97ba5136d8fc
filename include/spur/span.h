/* Spans: events paired into calls from begin to end. Included by <spur.h>. */
#ifndef SPUR_SPAN_H
#define SPUR_SPAN_H

#include <stddef.h>
#include <stdint.h>

#include <spur/error.h>
#include <spur/event.h>

#ifdef __cplusplus
extern "C" {
#endif

struct spur_trace;

enum spur_span_flag {
	/* The data lacks its end; `end` is the time of the row that showed it was over */
	SPUR_SPAN_IMPLIED = 1,
	SPUR_SPAN_OPEN = 2, /* it was open when the data ended; `end` is the time of the last row */
	/* An END without a BEGIN: only name, class, track and `end` are known */
	SPUR_SPAN_NO_BEGIN = 4,
	SPUR_SPAN_OFF_CPU = 8, /* not a call: the thread was off the CPU in the span around it */
	/* With OFF_CPU: the data lacks the time when the thread ran again; dur and self are 0 */
	SPUR_SPAN_NO_END = 16,
	SPUR_SPAN_RECURSIVE = 32, /* inside another span of its function (spur_class.head) */
};

/* A span or call from begin to end. Times are in the unit of rows. */
struct spur_span {
	int64_t begin, end;
	int64_t dur; /* end - begin; 0 if time ran backwards */
	int64_t self; /* the part of dur outside inner spans and on the CPU */
	uint64_t id; /* from 1, in the order of begins; 0 with SPUR_SPAN_NO_BEGIN */
	/* id of the span around it on its track; 0: none, or its begin is missing */
	uint64_t parent;
	uint32_t track;
	uint32_t cls;
	uint32_t name; /* string id */
	uint32_t cat; /* string id */
	uint32_t depth; /* number of spans open around it on its track */
	uint32_t flags; /* enum spur_span_flag */
};

/*
 * Reads the spans that end next, of all streams: those of each track in the order of their ends,
 * tracks one after another or mixed. Chooses the fastest way of reading that is right for the
 * trace, and waits if the input is still being written. A trace is read in one way: by this call,
 * by spur_next() or by feeds.
 * Returns: SPUR_OK with at least one span; SPUR_END with none; SPUR_FAIL with none if out of
 * memory, as does every later call.
 * Lifetime: the spans are valid until the next call.
 * Threads: one thread at a time.
 */
enum spur_status spur_next_spans(struct spur_trace *t, const struct spur_span **spans,
				 size_t *count);

/*
 * Pairs begins and ends of one trace: of all rows in the order of spur_next(), or of one feed after
 * another.
 */
struct spur_pairing;

/*
 * Makes a pairing. A program that reads feeds on several threads needs one for each thread.
 * Returns: SPUR_OK; SPUR_FAIL, with *out NULL and `err` (may be NULL) set, if out of memory.
 * Lifetime: the pairing is the caller's until spur_pairing_free(), which must come before
 * spur_close().
 * Threads: any thread.
 */
enum spur_status spur_pairing_new(struct spur_pairing **out, struct spur_trace *t,
				  struct spur_error *err);
/*
 * Takes rows in time order (skipping all but BEGIN, END, SPAN and SWITCH rows) and gives the spans
 * that ended with them, by end on each track. A SPAN row ends at the first later row of its track
 * beyond its end, or at spur_pairing_end().
 * Returns: SPUR_OK, perhaps with no span; SPUR_FAIL if out of memory: spans are missing from then
 * on.
 * Lifetime: the spans are valid until the next call on the pairing.
 * Threads: one thread at a time for each pairing.
 */
enum spur_status spur_pairing_rows(struct spur_pairing *p, const struct spur_event *rows, size_t n,
				   const struct spur_span **spans, size_t *count);
/*
 * Ends all open spans. Must be called after the last row (of all feeds, or of one feed). The
 * pairing may then take rows of another feed.
 * Returns: as spur_pairing_rows().
 * Lifetime: as spur_pairing_rows().
 * Threads: as spur_pairing_rows().
 */
enum spur_status spur_pairing_end(struct spur_pairing *p, const struct spur_span **spans,
				  size_t *count);
/*
 * Frees a pairing. NULL: does nothing.
 * Returns: nothing.
 * Lifetime: the pairing and its spans become invalid.
 * Threads: one thread at a time for each pairing.
 */
void spur_pairing_free(struct spur_pairing *p);

#ifdef __cplusplus
}
#endif
#endif
