/* The parts of a writer: lanes that grow (lane.c), rows (rows.c), the file (write.c). */
#ifndef SPUR_STORE_GROW_H
#define SPUR_STORE_GROW_H

#include <assert.h>

#include "base/map64.h"
#include "flow/ends.h"
#include "flow/fit.h"
#include "flow/sample.h"
#include "flow/walk.h"
#include "store/parts.h"

/*
 * Memory that is freed at once and may be larger than what a process should keep: all but the first
 * few MiB is scratch memory (base/mem.h).
 */
struct slabs {
	struct slab *last;
	size_t used; /* bytes of the last one */
};

/* Returns zeroed memory, aligned to 8, or NULL if out of memory. */
void *slabs_alloc(struct slabs *s, size_t size);
void slabs_free(struct slabs *s);

/* What a worker keeps of a track. */
struct growing_track {
	struct growing_lane **lanes; /* by depth; NULL: none yet */
	size_t nlanes;
	int64_t last; /* ts of its last row */
	int64_t tie; /* when its last item ended, and how many did then */
	uint32_t ties;
	bool touched; /* is in `touched` of its worker */
	bool in_state; /* the lane of states has an open item */
	struct growing_lane *states; /* NULL: none yet */
};

/* A block in the worker's buffer. */
struct pending_block {
	struct growing_lane *lane;
	struct store_node *node;
	/* The sums that are complete with it: as `at`, `units` and `sum` of their node. */
	uint32_t sums_at, sums_sum;
	uint16_t sums_units; /* 0: none */
};

/*
 * Open calls of a head (class.h), by its class: those of one track are at hand here, those of other
 * tracks are in store_worker.parked.
 */
struct open_calls {
	uint32_t head; /* of the class, + 1; 0: not looked up yet */
	uint32_t track; /* whose calls are counted, + 1; 0: none */
	uint32_t open;
};

/* The track at hand, for the quick path. */
struct rows_view {
	struct fit fit;
	struct growing_track *track; /* NULL: none */
	const struct pair_frame *frames;
	uint32_t id;
};

/* Of one worker, in scratch memory. */
struct worker_lists {
	struct store_flow_wire *flows;
	struct store_lost_wire *lost;
	struct store_stack_wire *stacks;
	uint32_t *frames;
	size_t nflows, flows_cap, nlost, lost_cap, nstacks, stacks_cap, nframes, frames_cap;
};

struct store_worker {
	struct store_writer *writer;
	struct worker_lists lists;
	struct pair pair;
	struct ends ends;
	bool late; /* see store_worker_late() */
	struct slabs slabs;
	struct rows_view view;
	struct open_calls *calls; /* by class */
	size_t ncalls;
	struct map64 parked; /* track << 32 | head -> open calls, if there are any */
	struct growing_track **tracks; /* by id */
	size_t ntracks;
	uint32_t *touched; /* tracks with rows of this feed */
	size_t ntouched, touched_cap;
	struct map64 series; /* hash of a series to its lane */
	struct growing_lane **counters; /* with items of this feed */
	size_t ncounters, counters_cap;
	struct sample sample; /* the one at hand */
	struct spur_args args;
	const struct spur_args *given; /* of the current row; NULL: the trace is asked */
	uint32_t name_waker, name_target; /* string ids of arguments of wake-ups */
	uint8_t *out; /* blocks that are not written yet */
	size_t out_len;
	struct pending_block *pending;
	size_t npending, pending_cap;
	struct lane_sums *idle_sums; /* of no lane */
	uint32_t nsums; /* those of lanes and the idle ones */
	struct idle_buffer *idle_buffers; /* of BUFFER_FIRST items */
	size_t nidle; /* their number */
	size_t buffered; /* bytes of all lanes' buffers */
	size_t buffered_least; /* of them after the last flush: what open items need */
	uint32_t feed; /* id of the one at hand */
	unsigned facts; /* enum store_fact */
	uint64_t rows, spans, events;
	int64_t first, last; /* of all rows and ends; first > last: none */
	int64_t last_row;
	int64_t feed_row; /* time of the feed's latest row */
	/* What other threads see of them; atomic. */
	struct {
		uint64_t rows, spans, events;
		int64_t first, last;
	} told;
};

/* A buffer of no lane, in place of its items. */
struct idle_buffer {
	struct idle_buffer *next;
};

enum {
	BUFFER_FIRST = 1, /* items of a lane's first buffer */
	IDLE_KEPT = 1024, /* idle buffers that are not used for other things */
	OUT_BYTES = 256 << 10,
	BUFFERED_MAX = 16 << 20,
	SUMS_BYTES = STORE_SUMS_MOST * sizeof(struct store_label_sum)
};

/* --- lane.c */

/* Returns the lane of the worker's track at a depth, made if needed; NULL if out of memory. */
struct growing_lane *lane_at(struct store_worker *k, uint32_t track, size_t depth);
/* Returns the lane of a counter, made if needed; NULL if out of memory. */
struct growing_lane *lane_of_series(struct store_worker *k, const struct series *key);
/* Makes the lane's tree if it has none. Returns false if out of memory. */
bool lane_tree_make(struct store_worker *k, struct growing_lane *l);
/* Makes room for one more item. Returns false if out of memory, or if writing fails. */
bool lane_room(struct store_worker *k, struct growing_lane *l);
/* Makes a block of the lane's items, if it has any. The open one after them becomes the first. */
bool lane_flush(struct store_worker *k, struct growing_lane *l);
void lane_drop_buffer(struct store_worker *k, struct growing_lane *l);
/* Frees the buffer of a lane whose worker ends. */
static inline void buffer_free(const struct growing_lane *l)
{
	if (l->cap > BUFFER_FIRST)
		mem_free(l->buf);
}
/* Writes the blocks that are pending. */
bool worker_write(struct store_worker *k);

/* --- rows.c */

/* Returns the arguments of the current row; NULL if out of memory. */
const struct spur_args *worker_args(struct store_worker *k, const struct spur_event *row);

/* --- lane_sums.c */

/*
 * SPEC store/lane-sums: adds `n` items, which become the lane's next block, to its sums if these
 * can be kept. Returns false if out of memory.
 */
bool lane_sums_add(struct store_worker *k, struct growing_lane *l, const struct slot *items,
		   uint32_t n);
/*
 * Ends the sums of the lane's last 256 blocks: writes them to `to`, which has room for SUMS_BYTES,
 * and returns their size; 0 if the lane has none.
 */
uint32_t lane_sums_end(struct store_worker *k, struct growing_lane *l, uint8_t *to);
/* The lane gets no more blocks for now: gives up the sums that are not complete. */
void lane_sums_drop(struct store_worker *k, struct growing_lane *l);
void lane_sums_free(struct lane_sums *s);

/* --- items on their way to a block */

/* The place behind the items of a lane, which has room for it. */
static inline struct slot *lane_open(struct growing_lane *l)
{
	assert(l->n < l->cap);
	return &l->buf[l->n];
}

/* Begins an item with what its row has. */
static inline void slot_begin(struct slot *s, const struct spur_event *row, uint32_t ties,
			      unsigned marks, uint32_t inner)
{
	s->start = row->ts;
	s->off = row->off;
	s->label = row->cls;
	s->len = row->len;
	s->rare.id = row->id;
	s->rare.stream = row->stream;
	s->rare.marks = (uint16_t)(row->kind | marks << MARKS_SHIFT);
	s->rare.kind = row->kind;
	s->rare.nargs = row->nargs;
	s->rare.ties = ties;
	s->rare.flags = row->flags;
	s->rare.cpu = row->cpu;
	s->rare.inner = inner;
}

/* The item has no END row, or one without arguments. */
static inline void slot_plain_end(struct slot *s, uint64_t dur, uint64_t child, uint16_t flags)
{
	s->dur = dur;
	s->self = child < dur ? dur - child : 0;
	s->rare.end_off = 0;
	s->rare.end_id = 0;
	s->rare.end_stream = 0;
	s->rare.end_len = s->rare.end_label = 0;
	s->rare.end_flags = flags;
	s->rare.end_nargs = 0;
}

/* Counts the item behind those that are finished as one of them. */
static inline void lane_close(struct growing_lane *l)
{
	l->n++;
}

/* --- lists.c */

static inline bool row_is_listed(const struct spur_event *row)
{
	return row->kind == SPUR_LOST || row->kind == SPUR_FLOW_BEGIN ||
	       row->kind == SPUR_FLOW_STEP || row->kind == SPUR_FLOW_END;
}
/*
 * Lists a row that is item `number` of its track's lane at a depth. Returns false if out of memory.
 */
bool lists_row(struct store_worker *k, const struct spur_event *row, uint64_t number, size_t depth);
/* Lists the stack of a SAMPLE row, if it has one. Returns false if out of memory. */
bool lists_stack(struct store_worker *k, const struct spur_event *row);
void worker_lists_free(struct worker_lists *l);
/* Makes the lists of all workers. Returns false if out of memory. */
bool writer_lists(struct store_writer *w, unsigned workers, struct store_lists *l);
void lists_free(struct store_lists *l);

/* --- states.c */

/* Returns true if states_row() takes the row. */
static inline bool row_is_of_states(const struct spur_event *row)
{
	return row->kind == SPUR_SWITCH || row->kind == SPUR_WAKEUP || row_ends_thread(row);
}
/* SPEC store/states: the row changes what its thread does. Returns false if out of memory. */
bool states_row(struct store_worker *k, struct growing_track *t, const struct spur_event *row);
/* The feed ends, with a row at `last`: the thread stays in its state. */
bool states_end(struct store_worker *k, struct growing_track *t, int64_t last);

/* --- lane.c */

/* Returns the lane of a thread's states, made if needed; NULL if out of memory. */
struct growing_lane *lane_of_states(struct store_worker *k, uint32_t track);

/* --- write.c */

/* Adds a lane for readers. Returns false if out of memory. */
bool writer_add_lane(struct store_writer *w, struct growing_lane *l);
struct spur_trace *writer_trace(const struct store_writer *w);
/*
 * Appends `size` bytes to the blocks of the file and returns their offset; 0 if that fails, which
 * store_writer_finish() tells.
 */
uint64_t writer_append(struct store_writer *w, const void *p, size_t size);
/* Publishes the worker's counts. */
void worker_tell(struct store_worker *k);

#endif
