/* What the parts of src/store share: items on their way to a block, lists of nodes, the reader. */
#ifndef SPUR_STORE_PARTS_H
#define SPUR_STORE_PARTS_H

#include <pthread.h>

#include "store/block.h"
#include "store/store.h"

enum { BLOCK_BYTES = 48 << 10, NODE_PAGES = 32, NODE_LEVELS = 12, SLOT_RARE = 8 };
enum { LANE_DEPTHS = (1 << 29) - 1 /* most of a growing_lane */ };

/* What is 0 or the same for most items of a lane. */
struct slot_rare {
	union {
		uint64_t words[SLOT_RARE];
		struct {
			uint64_t id, end_id;
			union {
				uint64_t end_off;
				uint64_t value; /* of a counter, which has no END */
			};
			uint32_t stream, ties, end_stream, end_len, end_label, inner;
			uint16_t flags, end_flags, cpu;
			uint16_t marks; /* as in STORE_MARKS */
			uint8_t kind, nargs, end_nargs, zero[5];
		};
	};
};

/* An item before it is in a block. */
struct slot {
	int64_t start;
	uint64_t dur, off, self;
	uint32_t label, len;
	struct slot_rare rare;
};

static_assert(sizeof(struct slot) == 104 && sizeof(struct store_node) == 64 &&
		      sizeof(struct slot_rare) == SLOT_RARE * sizeof(uint64_t) &&
		      sizeof(struct store_label_sum) == 48,
	      "items are written as whole words, nodes are stored as they are");

/* Of values, as their bits. */
struct extremes {
	uint64_t least, most;
};

static inline bool value_is_nan(enum store_lane_kind kind, uint64_t v)
{
	return kind == STORE_F64 && (v << 1) > (uint64_t)0xFFE << 52;
}

static inline bool value_below(enum store_lane_kind kind, uint64_t a, uint64_t b)
{
	double x, y;

	if (kind == STORE_I64)
		return (int64_t)a < (int64_t)b;
	if (kind == STORE_U64)
		return a < b;
	memcpy(&x, &a, sizeof(x));
	memcpy(&y, &b, sizeof(y));
	return x < y;
}

static inline void extremes_add(enum store_lane_kind kind, struct extremes *x, uint64_t least,
				uint64_t most)
{
	if (value_is_nan(kind, least))
		return;
	if (value_is_nan(kind, x->least))
		*x = (struct extremes){ least, most };
	if (value_below(kind, least, x->least))
		x->least = least;
	if (value_below(kind, x->most, most))
		x->most = most;
}

/*
 * Makes a block of `n` items, 1 to STORE_BLOCK, at `to`, which has room for BLOCK_BYTES. Fills the
 * node, but for `at` and `number`. Returns the size.
 */
uint32_t block_make(uint8_t *to, const struct spur_trace *trace, enum store_lane_kind kind,
		    const struct slot *items, uint32_t n, struct store_node *node);
/* The kind and the marks of an item, of a value of STORE_MARKS. */
enum { MARKS_SHIFT = 5, KIND_MASK = 31 };
static_assert(SPUR_KINDS <= KIND_MASK + 1, "a kind has 5 bits");

/* Nodes that never move: page k has 1 << k of them. */
struct node_list {
	struct store_node *pages[NODE_PAGES];
	uint32_t count; /* atomic: those that can be read; of blocks the lane counts them */
};

/* Returns the node and how many follow it at once, itself included. */
static inline struct store_node *node_list_at(const struct node_list *l, uint64_t i, uint64_t *run)
{
	const unsigned page = 63 - (unsigned)__builtin_clzll(i + 1);
	const uint64_t at = i + 1 - ((uint64_t)1 << page);

	*run = ((uint64_t)1 << page) - at;
	return &l->pages[page][at];
}

/* What the items of a counter have in common. */
struct series {
	enum store_lane_kind kind;
	uint32_t track, label, arg;
	uint64_t id;
};

/* What a lane has that is a counter, or has more than its first block. */
struct lane_tree {
	struct series series; /* of a counter */
	struct lane_sums *sums; /* of the blocks since the last 256th; NULL: they have none */
	struct node_list *levels[NODE_LEVELS]; /* NULL: empty (atomic) */
};

/*
 * A lane of a store that is being written. One worker writes; others read what is atomic. Each call
 * of a deep stack has a lane of its own, so a lane of one item is as small as may be.
 */
struct growing_lane {
	uint32_t track;
	uint32_t kind : 3, depth : 29; /* kind: enum store_lane_kind */
	uint32_t feed;
	uint16_t n, cap; /* n < cap, so that one more item can be begun */
	struct slot *buf; /* `n` items of `cap` */
	uint32_t made; /* blocks */
	uint32_t count; /* atomic: those of them that are written */
	struct store_node *first; /* of the first block; NULL: no block was made */
	struct lane_tree *tree; /* atomic; NULL: it is not needed yet */
};

static_assert(STORE_STATES < 1 << 3 && STORE_BLOCK <= UINT16_MAX, "numbers fit their bits");

/* Any thread may call these. */
static inline struct lane_tree *growing_tree(const struct growing_lane *l)
{
	return __atomic_load_n(&l->tree, __ATOMIC_ACQUIRE);
}

/* Returns the number of nodes of a level that can be read. */
static inline uint64_t growing_nodes(const struct growing_lane *l, unsigned level)
{
	const struct lane_tree *tree;
	const struct node_list *list;

	if (!level)
		return __atomic_load_n(&l->count, __ATOMIC_ACQUIRE);
	tree = growing_tree(l);
	list = tree ? __atomic_load_n(&tree->levels[level], __ATOMIC_ACQUIRE) : NULL;
	return list ? __atomic_load_n(&list->count, __ATOMIC_ACQUIRE) : 0;
}

/* As store_run(). Requires i < growing_nodes(), or that the worker calls it for a block it made. */
static inline struct store_node *growing_node(const struct growing_lane *l, unsigned level,
					      uint64_t i, uint64_t *run)
{
	if (level || i)
		return node_list_at(growing_tree(l)->levels[level], i, run);
	*run = 1;
	return l->first;
}

/* Returns the series of a counter; zeroed for other lanes. */
static inline struct series growing_series(const struct growing_lane *l)
{
	const struct lane_tree *tree = growing_tree(l);

	return tree ? tree->series : (struct series){ 0 };
}

/* Returns the number of items in blocks. Called by the worker, or when it has ended. */
static inline uint64_t growing_items(const struct growing_lane *l)
{
	const struct store_node *last;
	uint64_t run;

	if (!l->made)
		return 0;
	last = growing_node(l, 0, l->made - 1, &run);
	return last->number + last->n;
}

enum { LANE_PAGES = 32 };

/* See lists.c. */
struct store_lists {
	const struct store_flow_wire *flows;
	const struct store_lost_wire *lost;
	const struct store_note_wire *notes; /* while the store is written: owned */
	const struct store_stack_wire *stacks;
	const uint32_t *frames;
	uint64_t nflows, nlost, nnotes, nstacks, nframes;
};

struct store {
	/* A finished file: */
	const uint8_t *map;
	size_t size;
	const struct store_head *head;
	const struct store_node *nodes;
	const struct store_lane_wire *lanes;
	const struct store_label_wire *labels;
	const struct store_track_wire *tracks;
	const uint64_t *string_at;
	const char *texts;
	uint64_t nnodes, nstrings;
	uint32_t nlanes, nlabels, ntracks;
	struct store_lists lists;
	uint8_t *checked; /* a bit by node: its block's sum was right (atomic) */
	/* Or one that grows: */
	struct store_writer *writer; /* NULL: a file */

	int damaged; /* atomic */
};

/* Returns the number of nodes of a level of a lane that exists; level 0 are blocks. */
uint64_t store_nodes(const struct store *s, uint32_t lane, unsigned level);
/*
 * Returns a node, and in *run how many follow at once, itself included. Requires i < store_nodes().
 */
const struct store_node *store_run(const struct store *s, uint32_t lane, unsigned level, uint64_t i,
				   uint64_t *run);
/*
 * Reads columns up to `last` of a block. Returns false if it is damaged, which store_is_damaged()
 * then tells.
 */
bool store_block(const struct store *s, const struct store_node *node, struct block *b,
		 enum store_column last);
/*
 * Returns the sums of the blocks below a node of level STORE_SUMS_LEVEL, and in *n their number.
 * Returns NULL if the node has no sums, or they are damaged, which store_is_damaged() then tells.
 */
const struct store_label_sum *store_node_sums(const struct store *s, const struct store_node *node,
					      uint32_t *n);
/*
 * Make the row that begins or ends an item, but for track, depth, name and cat. All columns are
 * needed.
 */
void block_row(const struct store *s, const struct block *b, const struct store_node *n, uint32_t i,
	       struct spur_event *row);
void block_end_row(const struct store *s, const struct block *b, const struct store_node *n,
		   uint32_t i, struct spur_event *row);
/* From now on store_is_damaged() returns true. */
void store_set_damaged(const struct store *s);
uint32_t store_lane_count(const struct store *s);
/* Returns the first block that begins at `t` or later; `blocks` if all begin earlier. */
uint64_t store_block_from(const struct store *s, uint32_t lane, int64_t t, uint64_t blocks);
/*
 * Returns a number that lanes have in common whose calls, where nothing ends them, end with the
 * same last row: those of one feed, or of one recording (flow/ends.h).
 */
uint64_t store_ends_with(const struct store *s, uint32_t lane);

/* Of a store that grows, in write.c: */
uint32_t growing_lane_count(const struct store_writer *w);
const struct growing_lane *growing_lane(const struct store_writer *w, uint32_t lane);
/* Returns the span lane of a track at a depth, or SPUR_NONE. Takes the writer's lock. */
uint32_t growing_lane_at(struct store_writer *w, uint32_t track, uint32_t depth);
const uint8_t *growing_bytes(const struct store_writer *w, uint64_t at, size_t size);
struct spur_trace *growing_trace(const struct store_writer *w);
struct store_facts growing_facts(const struct store_writer *w);
/* Requires that the store is done. */
const struct store_lists *growing_lists(const struct store_writer *w);
/* Returns the time of the last row of all. */
int64_t growing_last_row(const struct store_writer *w);

#endif
