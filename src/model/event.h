/* The 64-byte row and the batch that carries it. */
#ifndef SPUR_MODEL_EVENT_H
#define SPUR_MODEL_EVENT_H

#include <assert.h>
#include <spur.h>
#include <string.h>

static_assert(sizeof(struct spur_event) == 64, "a row is one cache line");
static_assert(SPUR_F_DEPTH + SPUR_F_IMPLIED + SPUR_F_ORPHAN + SPUR_F_OUT + SPUR_F_IN +
			      SPUR_F_PREEMPTED + SPUR_F_RETIMED + SPUR_F_UNRELIABLE + SPUR_F_GAP +
			      SPUR_F_ESTIMATED + SPUR_F_BACK + SPUR_F_TAIL + SPUR_F_ANY +
			      SPUR_F_EXIT ==
		      (1 << 14) - 1,
	      "each flag of a row has a bit of its own");

enum { BATCH_ROWS = 512 };

struct call_sink; /* sink.h */
struct tally; /* tally.h */

/* A row to be rendered as text, with the pass's remarks on its line. */
struct shown_row {
	struct spur_event row;
	uint32_t marks; /* private to the pass: which line this is and what is added to it */
	uint32_t user; /* private to the pass */
};

/* Rows of one feed in time order. The feed owns the memory; valid until its next pull. */
struct batch {
	struct spur_event *rows;
	uint32_t count, cap;
	/*
	 * The filter drops calls shorter than this and looks at nothing else, so both rows of such
	 * a call may be left out. 0: all rows are wanted.
	 */
	int64_t short_ns;
	/* Where calls may be summed in place of rows (sink.h), or NULL */
	struct call_sink *sink;
	uint64_t summed; /* rows that were summed: then there may be none in the batch */
	struct tally *tally; /* where rows may be counted in place of making them, or NULL */
	uint64_t counted; /* bytes of the rows that were counted: then there may be none either */
};

/*
 * The second half of a row as four words, for hot loops that write rows that differ in a few
 * fields: eight stores, where the compiler makes fourteen of an initializer.
 */
struct row_words {
	uint64_t len_track, stream_cat, name_cls, rest;
};

static inline uint64_t row_pair(uint32_t first, uint32_t second)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return first | (uint64_t)second << 32;
#else
	return (uint64_t)first << 32 | second;
#endif
}

/* kind, nargs 0, flags, cpu, depth */
static inline uint64_t row_rest(uint32_t kind, uint32_t flags, uint32_t cpu, uint64_t depth)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return kind | (uint64_t)flags << 16 | (uint64_t)cpu << 32 | depth << 48;
#else
	return (uint64_t)kind << 56 | (uint64_t)flags << 32 | (uint64_t)cpu << 16 | depth;
#endif
}

static inline void row_store(struct spur_event *row, uint64_t ts, uint64_t id, uint64_t off,
			     struct row_words w)
{
	char *p = (char *)row;

	memcpy(p, &ts, 8);
	memset(p + 8, 0, 8);
	memcpy(p + 16, &id, 8);
	memcpy(p + 24, &off, 8);
	memcpy(p + 32, &w.len_track, 8);
	memcpy(p + 40, &w.stream_cat, 8);
	memcpy(p + 48, &w.name_cls, 8);
	memcpy(p + 56, &w.rest, 8);
}

/* Returns true for the kinds that open or close a frame of the call stack. */
static inline bool kind_is_call(unsigned kind)
{
	return kind == SPUR_BEGIN || kind == SPUR_END_SPAN;
}

/* Returns true if the row has an id. That of an async or flow event may be 0, others have none. */
static inline bool row_has_id(const struct spur_event *row)
{
	return row->id || (row->kind >= SPUR_ASYNC_BEGIN && row->kind <= SPUR_FLOW_END);
}

/* Returns true if the thread of the row's track ends with the row. */
static inline bool row_ends_thread(const struct spur_event *row)
{
	return (row->flags & SPUR_F_EXIT) &&
	       (row->kind == SPUR_SWITCH || row->kind == SPUR_INSTANT);
}

#endif
