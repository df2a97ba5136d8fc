/*
 * A store: the events of a trace at rest, in a file that is read at random without reading the
 * trace. docs/formats/store.md specifies the file.
 *
 * A lane is a row of a picture: the spans of one track at one depth, which do not overlap (see
 * STORE_LAPS), in the order of their starts; or the values of one counter. Items of a lane are
 * numbered from 0 on. An item of a span lane is a span, or an event without a duration. Lanes
 * consist of blocks of up to 256 items; above the blocks stands a tree with 16 children a node, in
 * which each node knows the extent of what lies below, and the longest item.
 *
 * A store is open for reading in one of two ways: a finished file (store_open()), or a store that
 * is still being written (store_writer_view()). Both have the same functions. Reading takes no lock
 * and any thread may call any function at any time, but for store_close(). What a growing store
 * has is never changed: items, lanes, labels and tracks are only added, and a lane's items appear
 * in their order.
 *
 * Times are ns on the trace's own clock.
 */
#ifndef SPUR_STORE_STORE_H
#define SPUR_STORE_STORE_H

#include <string.h>

#include "model/event.h"
#include "model/trace.h"

struct store;

enum {
	STORE_BLOCK = 256, /* items of a block */
	STORE_FAN = 16, /* children of a node */
	STORE_TILE = 1024, /* pixels of a tile */
	STORE_SUB_SHIFT = 5,
	/* Parts of a pixel in which tiles have their positions. */
	STORE_SUB = 1 << STORE_SUB_SHIFT,
	STORE_SHIFT_MAX = 52, /* of store_tile(): a tile then covers all times */
};

/*
 * Returns true if a time is before the end of a range. A range that ends at INT64_MAX has no end,
 * as an event may have that time.
 */
static inline bool store_before(int64_t t, int64_t to)
{
	return t < to || to == INT64_MAX;
}

/*
 * Opens a finished store. Checks everything but the blocks, which are checked when they are read
 * first. Returns SPUR_FAIL if it cannot be read, is of another version, or is damaged
 * (SPUR_ERR_FORMAT). `*out` then is NULL, else it belongs to the caller.
 */
enum spur_status store_open(struct store **out, const char *path, struct spur_error *err);
/* The same of an open file, which stays the caller's; `name` stands for its path in errors. */
enum spur_status store_open_file(struct store **out, int fd, const char *name,
				 struct spur_error *err);
/* Returns true if the path is that of a file that begins as a store. */
bool store_is_file(const char *path);
/* NULL: does nothing. No other function may run on the store any more. */
void store_close(struct store *s);
/*
 * Returns true if a block was found to be damaged since the store was opened. Its items read as if
 * there were none; the store should be built anew.
 */
bool store_is_damaged(const struct store *s);

/* Returns what store_writer_finish() was given; "" while the store grows. */
const char *store_identity(const struct store *s);

enum store_fact {
	STORE_NOTED = 1, /* reading the trace told damage, or something to note */
	STORE_STACKS = 2, /* SAMPLE rows have stacks (store_stack()) */
	/*
	 * Times of a feed go back: lanes may not be in order, and what is open at the end of a
	 * range lasts until the last row, which is not the latest one.
	 */
	STORE_BACK = 4,
	STORE_SHARED = 8, /* tracks have rows from several streams (spur_trace.tracks_shared) */
	STORE_LAPS = 16, /* spans that go on longer than the one around them overlap the next one */
	STORE_APART = 64, /* the trace has several recordings, each with an end of its own */
	STORE_RENAMED = 128, /* a range of the trace may name threads otherwise (tracks_renamed) */
	STORE_GAPS = 32, /* calls whose BEGIN the data lacks are around others; no lane has them */
	STORE_TRACKS_APART = 256, /* each track has an end of its own (spur_trace.tracks_apart) */
};

struct store_facts {
	bool done; /* false: still being written */
	unsigned facts; /* enum store_fact */
	uint64_t spans; /* items with a begin and an end: SPAN rows, BEGIN rows, time off the CPU */
	uint64_t events; /* items of span lanes that are no spans */
	uint64_t rows; /* rows of the trace */
	int64_t start, end; /* first and last time, ends of spans included; equal if empty */
	uint32_t lanes, labels, tracks; /* ids are below these */
};
/* While the store grows the numbers are those of this moment, and may be below what can be read. */
struct store_facts store_facts(const struct store *s);

enum store_lane_kind {
	STORE_SPANS,
	STORE_I64, /* a counter: values are int64_t */
	STORE_U64,
	STORE_F64, /* double */
	STORE_STATES, /* of a thread: spans whose label is an enum store_thread_state */
};

static inline bool kind_is_counter(enum store_lane_kind kind)
{
	return kind == STORE_I64 || kind == STORE_U64 || kind == STORE_F64;
}

/* Returns true if items have a duration. */
static inline bool kind_has_spans(enum store_lane_kind kind)
{
	return kind == STORE_SPANS || kind == STORE_STATES;
}

/* Returns a value of a counter as a number, which may round it. */
static inline double store_number(enum store_lane_kind kind, uint64_t bits)
{
	double d;

	if (kind == STORE_I64)
		return (double)(int64_t)bits;
	if (kind == STORE_U64)
		return (double)bits;
	memcpy(&d, &bits, sizeof(d));
	return d;
}

struct store_lane {
	enum store_lane_kind kind;
	uint32_t track;
	uint32_t depth; /* of a span lane; of counters: their number on the track */
	uint32_t label; /* of a counter: its class */
	uint32_t arg; /* of a counter: name of the argument that has the value (store_string()) */
	uint64_t id; /* of a counter */
	uint64_t items;
	int64_t start, end; /* of all items; equal if the lane is empty */
};
/*
 * Returns false, with *out zeroed, if there is no such lane (yet). While the store grows, `end` may
 * be that of items that were added after `items` was read.
 */
bool store_lane(const struct store *s, uint32_t lane, struct store_lane *out);
/* Returns the kind of a lane that exists. */
enum store_lane_kind store_kind(const struct store *s, uint32_t lane);
/*
 * Returns the span lane of a track at a depth, or SPUR_NONE if the track has no such lane. Takes a
 * lock for a moment while the store grows.
 */
uint32_t store_lane_at(const struct store *s, uint32_t track, uint32_t depth);

/* Bytes of the store or the trace, valid until it is closed; NUL-terminated. Not always UTF-8. */
struct store_text {
	const char *p;
	size_t len;
};
/* Returns the string of an id; empty if there is no such string. */
struct store_text store_string(const struct store *s, uint32_t id);

/* What items of one name and origin share: a class of the trace. */
struct store_label {
	struct store_text name, cat, module, file;
	uint32_t line; /* 0: unknown */
	uint32_t flags; /* enum class_flag */
	uint32_t head; /* label of the first one that tables show as one with it (class.h) */
};
/* Returns false, with *out zeroed, if there is no such label. */
bool store_label(const struct store *s, uint32_t id, struct store_label *out);

struct store_track {
	struct store_text name;
	struct store_text trace; /* of several traces read as one, which it is of; else empty */
	uint32_t parent; /* SPUR_NONE: a top-level track */
	enum spur_track_kind kind;
	int64_t pid, tid; /* -1: not applicable */
	int32_t cpu; /* -1: not applicable */
};
/* Returns false, with *out zeroed, if there is no such track. */
bool store_track(const struct store *s, uint32_t id, struct store_track *out);
/*
 * Returns the place of each of the *count tracks so far in the order to be shown, which does not
 * depend on thread scheduling as the numbers of tracks may. While the store grows, a track that is
 * found may move others. Free with mem_free(). Returns NULL if out of memory.
 */
uint32_t *store_track_places(const struct store *s, size_t *count);
/* Returns whether two tracks are of one trace, of several that are read as one. */
bool store_same_trace(const struct store *s, uint32_t a, uint32_t b);

enum store_mark {
	STORE_SPAN = 1, /* a span; else an event, or the value of a counter */
	STORE_OPEN =
		2, /* the data lacks the end, which is that of what implies it, or of the data */
	STORE_NO_END =
		4, /* no row ends it: SPANs, calls without END or that end with their thread */
	STORE_AGAIN = 8, /* of a counter: an item of another lane has the same row */
	STORE_LAST = 16, /* open when the data ends: how long it lasts is not known */
	/* Time off the CPU that no row tells the end of: it is in no sum. */
	STORE_UNCOUNTED = 32,
};

struct store_item {
	int64_t start;
	int64_t dur; /* 0 for events and counters */
	uint64_t id; /* as spur_event.id */
	uint64_t value; /* of counters: the bits of the int64_t, uint64_t or double */
	uint32_t label;
	uint16_t flags; /* enum spur_flag: of the row that begins it */
	uint16_t cpu; /* SPUR_NO_CPU: unknown */
	uint8_t kind; /* enum spur_kind of its first row; SPUR_SWITCH of a span: time off the CPU */
	uint8_t marks; /* enum store_mark */
	uint8_t nargs, end_nargs; /* numbers of arguments of its first and its END row */
	/* How many items of its track end at its start before it begins: tells what it is in. */
	uint32_t ties;
};

/* Returns false, with *out zeroed, if there is no such item, or its block is damaged. */
bool store_item(const struct store *s, uint32_t lane, uint64_t number, struct store_item *out);
/*
 * Makes the row that begins the item (`end`: that ends it) as the trace's reader gave it, but for
 * members that the store lacks (dur of a SAMPLE; name and cat are those of the class and ids of
 * the trace that the store was made of). Returns false if there is no such row.
 */
bool store_row(const struct store *s, uint32_t lane, uint64_t number, bool end,
	       struct spur_event *row);
/*
 * Finds the row that begins the item (`end`: that ends it) in the trace: *row is a row of `t`, and
 * spur_args() decodes its arguments. Requires that `t` was opened as the trace that the store was
 * made of, and that no row of it was read. Reads what `t` must read to get to the row's time.
 * Returns SPUR_END if there is no such row, or SPUR_FAIL if out of memory.
 */
enum spur_status store_find_row(const struct store *s, uint32_t lane, uint64_t number, bool end,
				struct spur_trace *t, struct spur_event *row);
/*
 * Returns the number of the first item that ends after `t` or begins at `t` or later; the number of
 * items if all end before.
 */
uint64_t store_seek(const struct store *s, uint32_t lane, int64_t t);
/*
 * Returns the number of the item in the lane one level up in which the item lies, or UINT64_MAX if
 * it lies in no item. Its children are in the lane one level down, from store_seek(start) on, while
 * they begin before its end.
 */
uint64_t store_parent(const struct store *s, uint32_t lane, uint64_t number);
/* Returns the item's duration without that of its children. */
int64_t store_self(const struct store *s, uint32_t lane, uint64_t number);

/* --- pictures --- */

enum store_rect_flag {
	STORE_RECT_MERGED = 1, /* several items within a pixel: the label is that of the longest */
	STORE_RECT_LEFT = 2, /* goes on before the tile */
	STORE_RECT_RIGHT = 4, /* goes on behind the tile */
	STORE_RECT_OPEN = 8, /* STORE_OPEN */
	STORE_RECT_ARGS = 16, /* its first row has arguments */
	STORE_RECT_EVENT = 32, /* no duration: x0 == x1 */
	STORE_RECT_OFF_CPU = 64, /* time off the CPU */
};

struct store_rect {
	uint16_t x0, x1; /* in 1 / STORE_SUB pixel of the tile */
	uint32_t label; /* label << 8 | enum store_rect_flag */
};

/* Zero-initialise; free with store_rects_free(). */
struct store_rects {
	struct store_rect *rects;
	size_t n, cap;
};
void store_rects_free(struct store_rects *r);
/*
 * Appends what a span lane shows in the STORE_TILE pixels from `t0` on, of 2^shift ns each, in
 * order. Items of a pixel or more each have a rectangle; smaller ones are merged by pixel. Exact at
 * any zoom: nothing within the tile is left out. The time taken depends on what is drawn, not on
 * the lane's size. Returns false if out of memory.
 */
bool store_tile(const struct store *s, uint32_t lane, int64_t t0, unsigned shift,
		struct store_rects *out);

enum store_cell_flag {
	STORE_CELL_SHOWN = 1, /* else there is nothing in the cell */
	STORE_CELL_SEVERAL = 2, /* several items are in the cell */
	STORE_CELL_LEFT = 4, /* the item begins before the cell */
	STORE_CELL_RIGHT = 8, /* the item goes on behind the cell */
	STORE_CELL_OPEN = 16, /* STORE_OPEN */
	STORE_CELL_EVENT = 32, /* no duration */
	STORE_CELL_OFF_CPU = 64, /* time off the CPU */
};

/* What a cell of a coarse picture shows: the item that takes the most of its time. */
struct store_cell {
	uint64_t covered; /* ns of the cell that the item takes */
	uint64_t number; /* of the item; UINT64_MAX: the longest of those in the cell */
	uint32_t label;
	uint32_t flags; /* enum store_cell_flag */
};
/*
 * Fills `n` cells with what a lane of spans or states shows from `t0` on, `step` ns each. Of items
 * that take equally much of a cell the first one is shown. Exact at any zoom, as store_tile(), but
 * for items without a duration, which are shown only where nothing else is. Requires that n * step
 * fits an uint64_t.
 */
void store_cells(const struct store *s, uint32_t lane, int64_t t0, uint64_t step,
		 struct store_cell *cells, size_t n);

/* The values of a counter within a pixel, as bits of the lane's kind. */
struct store_point {
	uint16_t x; /* pixel */
	uint16_t pad;
	uint32_t count; /* of samples; more stay UINT32_MAX */
	uint64_t least, most, last; /* NaN is neither least nor most */
};
struct store_points {
	struct store_point *points;
	size_t n, cap;
	bool before; /* a sample precedes the tile: */
	uint64_t value; /* the last one that does */
};
void store_points_free(struct store_points *p);
/*
 * Appends a point for each pixel with samples of a counter lane, and sets `before` and `value`.
 * Returns false if out of memory.
 */
bool store_curve(const struct store *s, uint32_t lane, int64_t t0, unsigned shift,
		 struct store_points *out);

/* --- finding --- */

/* A set of lanes: NULL stands for all. */
struct store_lanes {
	const uint32_t *lanes;
	size_t n;
};
/* Which items a query is about. */
enum store_which {
	STORE_ANY_ITEM,
	STORE_NO_OFF_CPU, /* no time off the CPU */
	STORE_ONLY_OFF_CPU,
};

/* What an item must be. */
struct store_query {
	enum store_which which;
	const uint64_t *labels; /* a bit by label: those wanted; NULL: all */
	size_t nlabels; /* bits of it */
	int64_t least; /* ns that it lasts at least; 0: events too */
	bool ended; /* its end is in the data before `to`; that of a complete span, anywhere */
	struct store_lanes lanes;
	int64_t from, to; /* it begins from `from` to before `to` */
};
struct store_place {
	uint32_t lane;
	uint64_t number;
	int64_t start;
};
/*
 * Counts the items, and finds where they begin: firsts[i] is the first begin from `base + i * step`
 * to before `base + (i + 1) * step` (the first and the last of the `n` parts have what is before
 * and behind all of them), or INT64_MAX if no item begins there. Returns false if out of memory.
 */
bool store_survey(const struct store *s, const struct store_query *q, int64_t base, int64_t step,
		  int64_t *firsts, size_t n, uint64_t *count);
/*
 * Finds the first item by start, lane and number that comes after `after` (NULL: of all); `back`:
 * the last one that comes before it. `out` may be `after`. Returns SPUR_END if no item is left, or
 * SPUR_FAIL if out of memory.
 */
enum spur_status store_next(const struct store *s, const struct store_query *q,
			    const struct store_place *after, bool back, struct store_place *out);

struct store_call {
	struct store_place place;
	int64_t dur;
};
/*
 * Finds the longest spans, at most `cap`; of those of equal duration the first by start, lane and
 * number. `*n` is their number, and they are in order, the longest first. For a `cap` that a table
 * shows: takes time by its square at worst. Returns false if out of memory.
 */
bool store_longest(const struct store *s, const struct store_query *q, struct store_call *out,
		   size_t cap, size_t *n);

/* --- lists --- */

/* A row of kind LOST: the producer lost events. */
struct store_lost {
	int64_t ts, dur; /* dur: 0 if it is not known how long */
	uint64_t count; /* of events; 0: not known */
	uint32_t track;
};
/* Returns false if there are no more, and while the store grows. */
bool store_lost(const struct store *s, uint64_t i, struct store_lost *out);

/* What reading the trace told: damage, or something to note. */
struct store_note {
	struct store_text code, file, text;
	uint64_t off; /* in the file; UINT64_MAX: none */
	uint64_t count; /* of its kind; 0: that of the note before it */
	bool is_damage;
	bool timed; /* `ts` is the time of the first event behind its place in the file */
	int64_t ts;
};
/*
 * The stack of a SAMPLE row: calls that others made and added up. The time is its leaf's own, and
 * part of all calls on the stack.
 */
struct store_stack {
	int64_t ts;
	uint64_t self; /* ns */
	uint64_t calls; /* of the leaf */
	uint32_t track;
	const uint32_t *labels; /* from the root to the leaf; valid as long as the store */
	uint32_t n; /* of them, at least 1 */
};
/*
 * Sets *out to stack `i` in the order of tracks and times. Returns false if there are no more, and
 * while the store grows.
 */
bool store_stack(const struct store *s, uint64_t i, struct store_stack *out);
/* Returns the first stack of a track that is not before a time, or the next one. */
uint64_t store_stack_from(const struct store *s, uint32_t track, int64_t ts);

/* As store_lost(). */
bool store_note(const struct store *s, uint64_t i, struct store_note *out);

/* Returns what reading the trace told in all. Requires a finished file (store_open()). */
struct diag_totals store_told(const struct store *s);

/* Returns true if store_flow_step() works: not while the store grows. */
bool store_has_flows(const struct store *s);
/*
 * Finds the event before (`back`) or behind a flow event in its flow. Returns false if it is the
 * first or last one.
 */
bool store_flow_step(const struct store *s, uint32_t lane, uint64_t number, bool back,
		     struct store_place *out);

/* --- what threads do --- */

enum store_thread_state {
	STORE_RUNNING, /* has a CPU */
	STORE_RUNNABLE, /* could run: it was woken, or lost its CPU while it ran */
	STORE_BLOCKED, /* waits to be woken; without wake-ups in the data, to run again */
};

/*
 * What a thread does from `start` to before `end`, by its SWITCH and WAKEUP rows: as `spur sched`
 * counts it, but for the last state, of which the data has no end.
 */
struct store_doing {
	enum store_thread_state state;
	bool preempted; /* runnable since it lost its CPU */
	bool last; /* it lasts until the data ends */
	int64_t start, end;
	/* Running: its CPU. Runnable, preempted: the one it lost. SPUR_NO_CPU: not known. */
	uint16_t cpu;
	/* Runnable, woken: by which thread (a track), or SPUR_NONE. */
	uint32_t waker;
};

/* Returns the lane of a track's states; SPUR_NONE if it has none. */
uint32_t store_states(const struct store *s, uint32_t track);
/* Returns what an item of a lane of states tells; false if there is no such item. */
bool store_doing(const struct store *s, uint32_t lane, uint64_t number, struct store_doing *out);
/* Returns the number of the item of a lane of states at a time; UINT64_MAX if nothing is known. */
uint64_t store_doing_at(const struct store *s, uint32_t lane, int64_t t);

/* --- sums --- */

/*
 * Items that begin from `from` to before `to` (store_before()). `lanes` has all lanes of a track,
 * or none of it.
 */
struct store_range {
	struct store_lanes lanes;
	int64_t from, to;
};

/* What the calls of a function add up to, in ns, as `spur report` counts them for the range. */
struct store_sum {
	uint64_t calls;
	uint64_t sampled; /* of them, known from stacks of samples alone: none has a duration */
	uint64_t sum; /* of all calls */
	uint64_t total; /* without calls inside another call of the function */
	uint64_t self;
	uint64_t least, most; /* of the calls that end in the range; if none does, of the others */
	uint64_t unfinished; /* begins or ends that are not in the range or the data */
	uint64_t open; /* calls that do not end in the range */
	uint64_t open_sum, open_least, open_most;
};
/*
 * Sets sums[0 .. nlabels). A sum is in the place of its label's head; that of time off the CPU has
 * the place 0. Requires that nlabels is not below that of store_facts(). Returns false if out of
 * memory. Not for stores with STORE_LAPS or STORE_BACK, whose lanes are out of order. Stacks are
 * left out.
 */
bool store_sums(const struct store *s, const struct store_range *range, struct store_sum *sums,
		uint32_t nlabels);

/*
 * Returns when the first call of a lane that begins at `from` or later tells by its recorded depth
 * that there are others around it, or `told` if none does before that time.
 */
int64_t store_depth_told(const struct store *s, uint32_t lane, int64_t from, int64_t told);

/*
 * When the rows of a range end that a track was read with: calls that go on then end with the last
 * of them. Free with store_lasts_free(); NULL: out of memory.
 */
struct store_lasts;
struct store_lasts *store_lasts_new(const struct store *s, const struct store_range *range);
/* Returns INT64_MIN if there is no row before the end of the range. */
int64_t store_lasts_of(const struct store_lasts *l, uint32_t lane);
void store_lasts_free(struct store_lasts *l);

/* --- writing --- */

struct store_writer;
struct store_worker; /* what one thread adds */

/*
 * Begins a store of the trace, which must be open for all rows and stay open. It is written to a
 * new file beside `path` until store_writer_finish(), or, if `path` is NULL, to a temporary file
 * without a name, which no end of the program leaves behind. `workers`: how many threads add rows.
 * Returns SPUR_FAIL if the file cannot be made, or out of memory.
 */
enum spur_status store_writer_new(struct store_writer **out, struct spur_trace *t, const char *path,
				  unsigned workers, struct spur_error *err);
struct store_worker *store_writer_worker(struct store_writer *w, unsigned i);
/*
 * A feed begins (NULL: all feeds as one), has rows, ends. store_worker_order() sees all rows in the
 * order of the feed; store_worker_rows() gets them too, but may get those of different tracks
 * apart. They return false if out of memory or if writing fails.
 */
bool store_worker_begin(struct store_worker *k, const struct feed *f);
bool store_worker_order(struct store_worker *k, const struct spur_event *rows, size_t n);
bool store_worker_rows(struct store_worker *k, const struct spur_event *rows, size_t n);
bool store_worker_end(struct store_worker *k);
/* Adds one row, in order, whose arguments the trace may not have any more. As the two above. */
bool store_worker_row(struct store_worker *k, const struct spur_event *row,
		      const struct spur_args *args);
/*
 * Rows of the feed come as they are written, those of one thread behind later ones of another: what
 * is open on a track when the feed ends lasts at least until the last row of that track.
 */
void store_worker_late(struct store_worker *k);
/*
 * Ends the complete spans (SPAN rows) of a track that are over at `now`, as its next row would. No
 * later row of the track may begin before their end. Returns false if out of memory or if writing
 * fails.
 */
bool store_worker_pass(struct store_worker *k, uint32_t track, int64_t now);
/*
 * Makes all items that are complete visible to readers, in blocks that may have few of them: for a
 * trace that is still being written. Returns false if out of memory or if writing fails.
 */
bool store_worker_flush(struct store_worker *k);
/*
 * Returns SPUR_FAIL with the error of a writer whose worker returned false: that of the file, or
 * out of memory.
 */
enum spur_status store_writer_failed(const struct store_writer *w, struct spur_error *err);
/*
 * Completes the store once all feeds have ended, and gives it its name, if it has one. `identity`
 * is stored with it (cache.h). Returns SPUR_FAIL if writing failed at any time (a full disk), or
 * out of memory.
 */
enum spur_status store_writer_finish(struct store_writer *w, const char *identity,
				     struct spur_error *err);
/*
 * Returns the store as far as it is written; it belongs to the writer and may be read by other
 * threads until store_writer_free(), also while rows are added and when it is finished.
 */
struct store *store_writer_view(struct store_writer *w);
/* Returns the descriptor of the file, which is open until store_writer_free(). */
int store_writer_file(const struct store_writer *w);
/* Frees the writer. A store that is not finished is removed. NULL: does nothing. */
void store_writer_free(struct store_writer *w);

#endif
