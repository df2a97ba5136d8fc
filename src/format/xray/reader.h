/*
 * Shared by the parts of the XRay reader. Only src/format/xray.c and src/format/xray/ include it.
 */
#ifndef SPUR_FORMAT_XRAY_READER_H
#define SPUR_FORMAT_XRAY_READER_H

#include "base/bits.h"
#include "base/map64.h"
#include "base/pool.h"
#include "base/source.h"
#include "format/xray/map.h"
#include "format/xray/ticks.h"
#include "format/xray/wire.h"
#include "model/trace.h"

enum xray_mode { XRAY_BASIC, XRAY_FDR, XRAY_PROFILE };

enum {
	XRAY_MAX_ARGS = 1 << 16, /* of one call; further ones belong to no call */
	XRAY_NO_THREAD = -1,
	XRAY_RUN = 4, /* consecutive plausible records that are trusted */
	XRAY_PAGE_LISTS = 1 << (32 - XRAY_ID_BITS),
	XRAY_PAGE_BITS = 14,
	XRAY_PAGE = 1 << XRAY_PAGE_BITS, /* functions in a page of the table */
};

/* Classes that are not functions, one for each kind of record. */
enum xray_class {
	XRAY_CLASS_META, /* + kind */
	XRAY_CLASS_UNKNOWN = XRAY_CLASS_META + META_KINDS, /* a record of no known kind */
	XRAY_CLASS_HEADER,
	XRAY_CLASS_BLOCK,
	XRAY_CLASS_OTHERS, /* functions beyond the limit */
	XRAY_CLASS_REPEATED, /* records that are left out because another log has them too */
	XRAY_CLASSES
};

/* String ids of the names that arguments and fields have. */
enum xray_name {
	NAME_ARG1,
	NAME_ARGS = 16,
	NAME_CALLS = NAME_ARGS,
	NAME_CONSTANT,
	NAME_CPU,
	NAME_DATA,
	NAME_DELTA,
	NAME_FLAGS,
	NAME_FREQUENCY,
	NAME_FUNCTION,
	NAME_KIND,
	NAME_MICROSECONDS,
	NAME_NONSTOP,
	NAME_NUMBER,
	NAME_PID,
	NAME_RESERVED,
	NAME_SECONDS,
	NAME_SIZE,
	NAME_BUFFER_SIZE,
	NAME_STACK,
	NAME_TICKS,
	NAME_TID,
	NAME_TIMESTAMP,
	NAME_TSC,
	NAME_TYPE,
	NAME_VALUE,
	NAME_VERSION,
	XRAY_NAMES
};

enum xray_buffer_flag {
	BUFFER_CUT = 1, /* the file ends before the buffer does */
	BUFFER_NO_TSC = 2, /* its first records have no TSC */
	BUFFER_NO_WALL = 4,
	BUFFER_EXTENTS = 8, /* a BufferExtents record precedes it */
};

/* A thread's buffer in FDR mode; a block in profiling mode. */
struct xray_buffer {
	uint64_t off; /* of its first record */
	uint64_t end; /* end of its last byte in the file */
	uint64_t tsc; /* first one */
	int64_t wall; /* us */
	uint32_t thread; /* index in xray.threads; once the log is open, in xray.ranges */
	uint32_t flags; /* enum xray_buffer_flag */
};

static_assert(sizeof(struct xray_buffer) <= 40, "each of a million threads has some");

/* Basic mode: records of one thread that follow each other. */
struct xray_run {
	uint64_t off;
	uint32_t count;
	uint32_t next, before; /* runs of the same thread; UINT32_MAX: none */
};

/* Bytes of the file for a bookkeeping row that belongs to no thread. */
struct xray_span {
	uint64_t off, len;
	uint32_t what; /* enum xray_class */
};

/* Array in scratch memory. */
struct xray_list {
	void *items;
	size_t count, cap;
	size_t size; /* of an item */
};

/* The records that the next ones of a thread repeat. */
struct xray_copy {
	uint32_t run; /* UINT32_MAX: no repetition */
	uint32_t at; /* record of the run */
	uint64_t last; /* ticks of the thread's last call */
};

/* A thread of an open log, unless its records are read as stored. */
struct xray_range {
	uint32_t track; /* has the thread's ids */
	uint32_t first, last; /* of its buffers (last: after them), or its first and last run */
	bool gap; /* records may be missing; see struct xray_thread */
};

static_assert(sizeof(struct xray_range) <= 16, "there may be a million threads");

/*
 * A thread while a log is opened or read as stored, and its state from one of its buffers to the
 * next.
 */
struct xray_thread {
	int64_t pid, tid;
	uint32_t track; /* as stored; SPUR_NONE until it is needed */
	uint32_t first, last; /* while opening: as in struct xray_range */
	uint16_t cpu;
	uint8_t call; /* enum xray_call of the record before */
	bool based : 1; /* base comes from the file */
	bool before : 1; /* there was a buffer before this one */
	/* basic, while opening: the log of another process has its records, so it has no range */
	bool copied : 1;
	bool gap : 1; /* records of the thread are missing: its ENDs have SPUR_F_GAP */
	uint64_t bytes; /* while opening: of its records */
	union {
		struct {
			uint64_t base; /* ticks that deltas add to */
			uint64_t high; /* ticks of the last row */
		};
		struct xray_copy copy; /* basic, while opening */
	};
};

static_assert(sizeof(struct xray_thread) <= 56, "there may be a million threads");

enum { XRAY_THREAD_PAGE = 4096 };

/* The state of the search for buffers. */
struct xray_scan {
	uint64_t at;
	bool started;
};

/* SPEC xray/overwritten-payload: how the payloads of a buffer's events are stored */
enum xray_payloads { PAYLOADS_UNKNOWN, PAYLOADS_INTACT, PAYLOADS_OVERWRITTEN };

/* SPEC xray/event-order: an event that has its own ticks waits for older calls. */
struct xray_held {
	struct spur_event row;
	uint64_t ticks;
};

enum { XRAY_HELD = 16 };

enum { XRAY_SPAN_MAX = 1 << 30 }; /* maximum bytes of a row; more bytes make several rows */

struct xray_feed {
	/* `own`; as stored: that of the current buffer; NULL: see xray_file_next() */
	struct xray_thread *thread;
	struct xray_thread own;
	size_t next, last; /* in the list of buffers; basic: next is the current run */
	size_t stop; /* FDR: rows end before that buffer; mostly `last` */
	struct xray_scan scan; /* as stored */
	struct xray_buffer buffer;
	uint64_t copied; /* see xray_copied_end() */
	uint64_t pos; /* of the next record */
	bool open; /* buffer and pos are of a buffer being read */
	bool head; /* still among its first records */
	bool first; /* no function record yet */
	bool first_known; /* first_ticks was looked for */
	bool ended;
	/* The buffer ended inside a record: what waits in held[], one row or more, still comes. */
	bool draining;
	bool sought; /* xray_feed_seek() has looked, or must not: a cursor goes to places */
	uint8_t seen; /* bits of enum xray_meta: records of the head (Pid: that of CallArgument) */
	uint8_t payloads; /* enum xray_payloads */
	uint32_t typed; /* typed events in it */
	uint32_t ids; /* all bits of function ids before ids_at */
	uint64_t ids_at; /* where a record begins */
	uint64_t junk; /* unused bytes at its end, due to overwritten payloads */
	uint64_t base_before; /* ticks at the end of the thread's buffer before */
	uint64_t cpu_tsc; /* of its first NewCPUId */
	uint64_t tsc_end; /* later ticks than any in it */
	uint64_t first_ticks; /* of its first call or event, where it is `first_known` */
	uint64_t run_left; /* basic: records of the run */
	/* Basic: records after it that are arguments, each a bookkeeping row. */
	uint32_t args_left;
	int64_t file_time; /* of the rows of the file itself */
	uint64_t span_at,
		span_end; /* bytes not yet returned as rows of class XRAY_CLASS_REPEATED */
	struct xray_held *held; /* by ticks, room for XRAY_HELD; NULL in version 5 */
	uint32_t nheld;
	/*
	 * SPEC xray/forked-log: calls that were open at the end of the records that another log has
	 * too: BEGIN rows still to be returned, outermost first
	 */
	struct spur_event *forked;
	size_t nforked, forked_cap, forked_given;
	struct ticks ticks;
	struct xray_tree *tree; /* profiling: call paths of the block */
	/* Of a feed that was divided: buffers before which its parts from 1 on begin; else NULL. */
	uint32_t *cuts;
	size_t ncuts, cuts_cap;
	bool is_part; /* its state stays when it has ended: the next part is compared with it */
	uint64_t part_ticks; /* of a part: the first ones */
};

/* Returns room for XRAY_HELD of them, or NULL if out of memory. */
static inline struct xray_held *xray_held_new(void)
{
	return pool_alloc(XRAY_HELD * sizeof(struct xray_held));
}

static inline void xray_held_free(struct xray_held *held)
{
	pool_free(held, XRAY_HELD * sizeof(*held));
}

struct xray {
	struct spur_trace *t;
	struct source *src;
	struct xray_maps *maps; /* under t->lock once open */
	const char *file; /* name of the stream */
	enum xray_mode mode;
	bool big, swap; /* the file is big endian; its byte order is not the machine's */
	bool stored; /* rows in stored order */
	bool bookkeeping; /* SPEC xray/bookkeeping: bookkeeping records are rows too */
	bool wrapped; /* FDR: the oldest buffers are overwritten */
	bool exact; /* SPEC xray/exact-mark */
	bool follow; /* the file is still being written */
	uint16_t version, type;
	uint32_t flags;
	uint64_t hz, buffer_size;
	uint64_t timestamp; /* profiling */
	uint32_t stream;
	uint32_t file_track; /* as stored: of records that belong to no thread */
	uint32_t names[XRAY_NAMES];
	uint32_t own[XRAY_CLASSES]; /* classes */
	/*
	 * Threads in the order of their first records, while opening and as stored: pages of
	 * XRAY_THREAD_PAGE in scratch memory (xray_thread_at()), and an index by pid and tid.
	 */
	struct xray_thread **threads;
	size_t nthreads, threads_cap; /* cap: of pages */
	struct key_index by_key;
	/* Threads by pid and tid, and so by track. NULL while opening and as stored */
	struct xray_range *ranges;
	size_t nranges, ranges_cap;
	int64_t left_out; /* process of the thread that has no range; or XRAY_NO_THREAD */
	struct map64 by_pid; /* pid -> 1 + track */
	struct xray_list list; /* xray_buffer by thread and time; basic: xray_run by offset */
	uint64_t *copied_ends; /* see xray_copied_end(); in scratch memory */
	uint32_t *by_off; /* buffers of `list` by offset, once records are copied; else NULL */
	struct xray_list spans; /* xray_span by offset; with options.bookkeeping */
	struct xray_cursors *cursors; /* of xray_ticks(); NULL until that is called */
	/*
	 * SPEC xray/forked-log: number and first offset of records left out of FDR buffers, and the
	 * log that has them
	 */
	uint64_t copied, copied_off;
	const char *copied_from;
	bool ref_known; /* one moment on both clocks */
	uint64_t ref_tsc;
	int64_t ref_wall;

	/*
	 * Functions: pages of name and class as one word; 0: not seen yet. Read without a lock,
	 * written under t->lock.
	 */
	/*
	 * Indexed by an id's highest four bits, then the next ones; except for the first: NULL
	 * until needed.
	 */
	uint64_t **pages[XRAY_PAGE_LISTS];
	uint64_t *no_page; /* a page of zeros in place of missing pages */
	uint32_t npages, nunknown;
	uint32_t *typed[256]; /* classes of typed events, pages by the type's high byte; as above */
};

/* --- bytes --- */

static inline const uint8_t *xray_at(const struct xray *x, uint64_t off)
{
	return x->src->data + off;
}

/* Waits for bytes up to `end`. Returns true if they are there. */
static inline bool xray_have(const struct xray *x, uint64_t end)
{
	return x->src->size >= end || source_need(x->src, end);
}

/* SPEC xray/metadata-record: the kind, or -1 for a function record. `p` has one byte. */
static inline int xray_meta(const struct xray *x, const uint8_t *p)
{
	if (x->big)
		return *p & 0x80 ? *p & 0x7f : -1;
	return *p & 1 ? *p >> 1 : -1;
}

/* SPEC xray/function-record: 8 bytes at `p` */
static inline uint32_t xray_call_kind(const struct xray *x, const uint8_t *p)
{
	const uint32_t w = load32(p, x->swap);

	return x->big ? w >> 28 & 7 : w >> 1 & 7;
}

static inline uint32_t xray_call_id(const struct xray *x, const uint8_t *p)
{
	const uint32_t w = load32(p, x->swap);

	return x->big ? w & 0x0fffffff : w >> 4;
}

/* Returns the type of a typed event's record. */
static inline uint16_t xray_event_type(const struct xray *x, const uint8_t *p)
{
	return load16(p + (x->version < 5 ? XRAY_TYPED_AT_TYPE : XRAY_TYPED_AT_TYPE_5), x->swap);
}

/* --- functions (names.c) --- */

bool xray_names_open(struct xray *x);
void xray_names_close(struct xray *x);
/* Makes the word of a new function. Returns 0 if out of memory. */
uint64_t xray_words_new(struct xray *x, uint32_t id);
uint32_t xray_typed_class(struct xray *x, uint16_t type);

/*
 * Returns the function's word, or 0 if it was not seen yet. `id` has XRAY_ID_BITS bits, `pages` is
 * x->pages[0].
 */
static inline uint64_t xray_words(uint64_t *const *pages, uint32_t id)
{
	const uint64_t *page = __atomic_load_n(&pages[id >> XRAY_PAGE_BITS], __ATOMIC_ACQUIRE);

	return __atomic_load_n(&page[id & (XRAY_PAGE - 1)], __ATOMIC_ACQUIRE);
}

/* The same for any id; makes the word if needed. Returns 0 if out of memory. */
static inline uint64_t xray_words_get(struct xray *x, uint32_t id)
{
	uint64_t *const *pages = __atomic_load_n(&x->pages[id >> XRAY_ID_BITS], __ATOMIC_ACQUIRE);
	const uint64_t words = pages ? xray_words(pages, id & ((1u << XRAY_ID_BITS) - 1)) : 0;

	return words ? words : xray_words_new(x, id);
}

/* --- threads, tracks, feeds (threads.c) --- */

/* Appends a zeroed item. Returns NULL if out of memory. */
void *xray_list_add(struct xray_list *l);
/*
 * While opening and as stored: returns the index of the thread, adding it if it is new. Returns
 * SPUR_NONE if out of memory.
 */
uint32_t xray_thread_get(struct xray *x, int64_t pid, int64_t tid);
/* While opening and as stored: returns the thread of an index. It never moves. */
static inline struct xray_thread *xray_thread_at(const struct xray *x, size_t i)
{
	return &x->threads[i / XRAY_THREAD_PAGE][i % XRAY_THREAD_PAGE];
}
/* While opening and as stored: returns the thread, or NULL if it is unknown. */
struct xray_thread *xray_thread_find(const struct xray *x, int64_t pid, int64_t tid);
/* As stored: makes the thread's track if it has none. Called with t->lock held. */
bool xray_thread_track(struct xray *x, struct xray_thread *th);
/* Returns the index in x->ranges of the thread that has the ids, or SPUR_NONE if it is unknown. */
uint32_t xray_range_find(const struct xray *x, int64_t pid, int64_t tid);
/* Returns the range of a thread's track, or NULL if the track is of no thread. */
const struct xray_range *xray_range_of(const struct xray *x, uint32_t track);
/* Returns the thread before its first record. */
struct xray_thread xray_range_thread(const struct xray *x, const struct xray_range *range);
/*
 * Returns the offset before which records of buffer `i` of x->list are in another log too (run.c);
 * 0: no such records.
 */
static inline uint64_t xray_copied_end(const struct xray *x, size_t i)
{
	return x->copied_ends ? x->copied_ends[i] : 0;
}
/*
 * Sorts the list of buffers by thread and time, and sets each thread's range. Returns false if out
 * of memory.
 */
bool xray_sort_buffers(struct xray *x);
/* Adds one feed for all threads, or one for each. */
bool xray_add_feeds(struct xray *x);
/* Makes the feed's state if it has none yet. Returns false if out of memory. */
bool xray_feed_open(struct xray *x, struct feed *f);
/* FDR: moves to the buffers of the wanted time range, if that is known without reading them. */
void xray_feed_seek(const struct xray *x, struct xray_feed *xf);
/* Frees the feed's state: it has ended. */
void xray_feed_end(struct xray *x, struct feed *f);
void xray_feed_free(struct xray_feed *xf);
void xray_threads_close(struct xray *x);

/*
 * If bookkeeping rows were requested, registers bytes that belong to no thread, for a row in the
 * feed of the file itself. Called while opening. Returns false if out of memory.
 */
bool xray_span_add(struct xray *x, uint64_t off, uint64_t len, enum xray_class what);
/* Reads the rows of the file itself: its header and the spans. */
enum spur_status xray_file_next(struct xray *x, struct feed *f, struct batch *b);

/* Report why reading ended early, and that a file has no record. */
void xray_report_source(const struct xray *x, struct diag_log *diag);
void xray_report_empty(const struct xray *x, struct diag_log *diag);

/* --- FDR --- */

bool xray_scan_open(struct xray *x); /* finds all buffers */
/* The next buffer in the file; false: none, or out of memory. */
bool xray_scan_next(struct xray *x, struct xray_scan *s, struct diag_log *diag,
		    struct xray_buffer *b);
/* Returns true if NewBuffer and WallTime records are at `off`. */
bool xray_head_at(const struct xray *x, uint64_t off, uint64_t end);
/*
 * Returns the offset of the next buffer in [from, end), including its BufferExtents, or
 * UINT64_MAX.
 */
uint64_t xray_head_find(const struct xray *x, uint64_t from, uint64_t end);
/*
 * Fills thread, times and flags of a buffer from its first records; the thread is SPUR_NONE if it
 * is not one of x->ranges. Returns false if out of memory.
 */
bool xray_head_read(struct xray *x, struct xray_buffer *b);
/* Fills times and flags of a buffer. Returns true if it is the thread's. */
bool xray_head_is_of(const struct xray *x, struct xray_buffer *b, const struct xray_thread *th);
/* Converts between wall time and TSC. */
uint64_t xray_tsc_at(const struct xray *x, int64_t wall);

/*
 * Returns the number of consecutive plausible records at `off`, with function ids of no other bits
 * than `ids`: at most `most`, and `most` too if they end exactly at `end`.
 */
uint32_t xray_run(const struct xray *x, uint64_t off, uint64_t end, uint32_t ids, bool head,
		  uint32_t most);
/* Returns the size of the record at `off` with its payload, or 0 if it is not plausible. */
uint64_t xray_record_size(const struct xray *x, uint64_t off, uint64_t end, uint32_t ids,
			  bool head);
/* SPEC xray/overwritten-payload */
enum xray_payloads xray_payloads_find(const struct xray *x, const struct xray_buffer *b);

/* Returns the last word of a call's row, by its kind and the state of the thread. */
uint64_t xray_call_rest(const struct xray_thread *th, unsigned kind, uint16_t cpu);
enum spur_status xray_fdr_next(struct xray *x, struct feed *f, struct batch *b);

/* --- basic and profiling mode --- */

/*
 * Returns the number of consecutive plausible records of basic mode at `off`: at most `most`, and
 * `most` too if they end with the file.
 */
uint32_t xray_basic_run(const struct xray *x, uint64_t off, uint32_t most);
/* Returns true if plausible records of basic mode are at `off`, three or as many as are left. */
bool xray_basic_at(const struct xray *x, uint64_t off);
bool xray_basic_open(struct xray *x); /* finds each thread's records */
/*
 * Writes the offsets of at most `max` argument records that follow the call at `off` to `at`.
 * Returns their number.
 */
uint32_t xray_basic_arguments(const struct xray *x, uint64_t off, uint64_t *at, uint32_t max);
enum spur_status xray_basic_next(struct xray *x, struct feed *f, struct batch *b);
bool xray_profile_open(struct xray *x);
/* Frees the state of a feed's block. */
void xray_profile_close(struct xray_feed *xf);
enum spur_status xray_profile_next(struct xray *x, struct feed *f, struct batch *b);

/* --- parts (parts.c); see struct spur_format --- */

uint32_t xray_divide(struct spur_trace *t, struct feed *f, uint64_t bytes, enum parts_use use);
bool xray_part_open(struct spur_trace *t, const struct feed *f, uint32_t number,
		    const struct feed *before, struct feed *part);
bool xray_part_follows(const struct feed *before, const struct feed *part);
void xray_part_close(struct feed *part);

/* --- several logs of one run (run.c) --- */

extern const struct spur_format spur_format_xray;
/* Returns true if the directory has a log. */
bool xray_run_in(const char *dir);
/* See `members` and `relate` of struct spur_format. */
enum spur_status xray_run_members(const char *dir, struct arena *a, const char *const **paths,
				  size_t *count, struct spur_error *err);
bool xray_run_relate(struct spur_trace *const *logs, size_t count, bool run);

/* --- values (fields.c) --- */

bool xray_fields_open(struct xray *x);
enum spur_status xray_args(struct spur_trace *t, const struct spur_event *ev,
			   struct spur_args *args);
/* Classes of a SAMPLE row's stack, root first; see struct spur_format. */
size_t xray_stack(struct spur_trace *t, const struct spur_event *ev, uint32_t *cls, size_t cap);
enum spur_status xray_fields(struct spur_trace *t, const struct spur_event *ev,
			     struct spur_args *args);
/* Returns the record's bytes, or NULL if they are not in the file. */
const uint8_t *xray_raw(const struct xray *x, const struct spur_event *ev);

/* --- records (record.c); see struct spur_format --- */

void xray_place(struct spur_trace *t, const struct spur_event *ev, struct spur_place *place);
/*
 * Function records hold ticks relative to the previous record, so the thread's buffer is read again
 * to find their ticks; this is fast if calls come in the order of rows. As stored, ticks are known
 * for clocks of 1 GHz or less.
 */
bool xray_ticks(struct spur_trace *t, const struct spur_event *ev, uint64_t ticks[2]);
const struct spur_schema *xray_schema(struct spur_trace *t, const struct event_class *cls);
void xray_cursors_close(struct xray *x);

#endif
