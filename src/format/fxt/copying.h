/*
 * Copies of FXT files (format/copy.h), shared by copy.c, which walks the records, and
 * copy_record.c, which writes them. copy_plain.c takes runs of events that need nothing else.
 *
 * A trace without damage that is copied whole is copied byte by byte. Otherwise each record is
 * written with what it needs, when it needs it: the section of its provider, the clock, the strings
 * and threads that it refers to, and the names of koids (SPEC fxt/name-mark). Since the tables of
 * the reader answer for any offset, records may be written in any order.
 */
#ifndef SPUR_FORMAT_FXT_COPYING_H
#define SPUR_FORMAT_FXT_COPYING_H

#include "format/fxt/reader.h"
#include "format/fxt/write_record.h"

/* Bytes that are written in one piece: more leave the caches before they are. */
enum { FXT_RUN_MOST = 1 << 18 };

#define FXT_PROCESS_TOLD ((uint64_t)1 << 32)

/* How times of a part are written. */
enum fxt_times {
	FXT_TIMES_KEPT, /* as they are */
	FXT_TIMES_MOVED, /* ticks are added */
	FXT_TIMES_NS, /* in ns */
};

/* A provider of a part, as the output knows it. */
struct fxt_copied {
	uint32_t id;
	bool announced, nameless; /* nameless: its records need no announcement */
	uint32_t head; /* of its initialization records (struct fxt_copying.inits) */
	uint64_t init; /* 1 + offset of the initialization record that was written; 0: none */
	uint64_t clock_init; /* the same of the record that `clock` is of */
	struct fxt_clock clock; /* of the source */
	uint32_t *strings, *threads; /* 1 + what the indices stand for in the output */
	/*
	 * By index: the output's table has what holds at the walk's place. NULL as long as the
	 * tables above are.
	 */
	uint8_t *string_told, *thread_told;
};

/* A walk over the records of a part. */
struct fxt_walk {
	uint64_t off, size;
	size_t gap, section; /* the next ones */
	uint32_t number; /* of the provider that speaks */
	uint64_t head;
	uint64_t mark_end; /* SPEC fxt/time-mark, as in the reader */
	int64_t mark_ts;
	const struct fxt_clock *clock; /* of the provider here; NULL: to be asked for */
};

/* Where a walk over the records of a trace may go on. */
struct fxt_stop {
	struct fxt_walk walk; /* without its clock; the next record is behind it */
	int64_t highest; /* as in struct fxt_copying */
};

/* An initialization record. */
struct fxt_init {
	uint64_t off;
	uint32_t number; /* of its provider */
};

/*
 * What copies of a trace found, for further copies of it: the parts of a split would otherwise walk
 * over all records again. The arrays are in scratch memory.
 */
struct fxt_walked {
	bool complete; /* the initialization records are known */
	bool fallback; /* SPEC fxt/provider-fallback may apply */
	struct fxt_init *inits;
	size_t ninits, inits_cap;
	struct fxt_stop *stops; /* by offset, at least FXT_STOP_BYTES apart */
	size_t nstops, stops_cap;
};

enum { FXT_STOP_BYTES = 1 << 20 };

struct fxt_item {
	int64_t ts;
	uint64_t rank, off;
};

struct fxt_copying {
	struct copy *copy;
	const struct copy_part *part;
	struct fxt *x;
	struct out *o;
	bool joined; /* there are several parts */
	bool damaged; /* the part is */
	bool sorted;
	bool recode; /* the part's byte order is not the output's */
	enum fxt_times times;
	int64_t shift; /* ns, of FXT_TIMES_MOVED and FXT_TIMES_NS */
	int64_t base; /* ticks of FXT_TIMES_NS at 0 */
	struct fxt_copied *providers;
	size_t nproviders;
	struct fxt_copied *speaking;
	bool quick; /* plain events may be copied in runs */
	uint32_t settled; /* 1 + number of the provider whose section and clock the output is at */
	struct fxt_log inits; /* values are indices of x->walked->inits */
	int64_t highest; /* time of the records so far, as the reader has it; INT64_MIN: none */
	int64_t written; /* the same of the output, on the first part's clock */
	bool gap, gap_told; /* records are missing in the source; the output says so */
	struct map64 ids; /* of providers of the output */
	/* koid -> 1 + name, of the part; FXT_PROCESS_TOLD: the thread's process too */
	struct map64 told;
	/* What the output has of the part: */
	struct map64 modules; /* fxt_module_key() -> name */
	struct map64 mappings; /* offset of the record -> 1 */
	struct map64 pointers; /* fxt_user_key() -> name */
	struct fxt_build record, args;
	struct fxt_item *items; /* of a sorted copy; scratch memory */
	size_t nitems, items_cap;
	uint64_t damages, unmarked, gaps_told, rewritten, dropped; /* for the notes */
};

/* A record of the source. */
struct fxt_copy_record {
	uint64_t off;
	uint32_t number; /* of its provider */
	int64_t ts; /* its time, or the row's */
	struct fxt_shape shape;
};

/* A time of the part on the clock of the first one. */
static inline int64_t fxt_copy_moved(const struct fxt_copying *k, int64_t ts)
{
	int64_t at;

	if (__builtin_add_overflow(ts, k->part->shift, &at))
		at = ts < 0 ? INT64_MIN + 1 : INT64_MAX;
	return at;
}

/* copy_record.c; all return false if out of memory */
/* Returns the clock that the provider's times are on at an offset. */
const struct fxt_clock *fxt_copy_clock(struct fxt_copying *k, uint32_t number, uint64_t off);
/* The first clock, which others are related to. */
bool fxt_copy_first_clock(struct fxt_copying *k);
bool fxt_copy_record(struct fxt_copying *k, struct fxt_copy_record *r);

/* copy_stops.c */
/*
 * Notes that the walk may go on here later, if the last stop is far enough away. Returns false if
 * out of memory.
 */
bool fxt_copy_stop(struct fxt_copying *k, const struct fxt_walk *w);
/* Moves the walk to the last stop before the record at `next`, if that is further on. */
void fxt_copy_skip(struct fxt_copying *k, struct fxt_walk *w, uint64_t next);

/* copy_plain.c */
/*
 * Notes a record that the walk has come to, if it changes a table or a clock: what the output knows
 * of it holds no longer.
 */
void fxt_copy_changed(struct fxt_copying *k, struct fxt_walk *w);
/*
 * Goes over the events behind the walk's record, up to the first that fxt_copy_record() has to look
 * at, and writes those that are kept. `next` is the offset of the next one that is.
 */
void fxt_copy_plain(struct fxt_copying *k, struct fxt_walk *w, uint64_t *next);

#endif
