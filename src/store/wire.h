/*
 * The file of a store. Numbers are in the byte order of the machine that wrote it, which the head
 * tells; a store of the other order is refused. docs/formats/store.md has the rules.
 *
 *	offset	what
 *	0	struct store_head
 *	4096	blocks, each at a multiple of 8
 *	...	sections, each at a multiple of 64, where the head says
 *
 * A block of n items, at `at` of its node, `size` bytes:
 *
 *	size	field	meaning
 *	4	mask	a bit for each column (enum store_column) of the block; other columns are 0
 *	2	data	offset of the first column's data from the block's begin
 *	2	flags	enum store_block_flag
 *	then for each column of the mask, in order:
 *	1	width	bits of a value: 0 to 57, or 64
 *	1	bytes	of the base, 0 to 8; shift << 4
 *	bytes	base	little endian; an item has base + (value << shift)
 *	at `data`, for each column of the mask, in order:
 *	...	values	n (level 1: one for each 16; STORE_SELF: one for each 1 in STORE_OUTER) of
 *			`width` bits, the lowest bits first, up to a whole byte
 *	8 to 15	0	so that one load of 8 bytes reads any value; to a multiple of 8
 *
 * Among the blocks are sums of 256 blocks of a lane of spans, at `at` of their node of level 2:
 * struct store_label_sum, one for each label.
 */
#ifndef SPUR_STORE_WIRE_H
#define SPUR_STORE_WIRE_H

#include <stdint.h>

enum { STORE_VERSION = 6, STORE_HEAD = 4096, STORE_ORDER = 0x01020304 };

#define STORE_MAGIC "SPURSTO1"

/* The ids are those of the items' labels (store_label_wire.addr); there is no column STORE_ID. */
enum store_block_flag { STORE_LABEL_IDS = 1 };

enum store_column {
	/* Level 1: a value for each 16 items, if there are more than 16. Span lanes: */
	STORE_N_START, /* - start of the node */
	STORE_N_END, /* - start of the node */
	STORE_N_LABEL, /* of the longest */
	STORE_N_DUR, /* of the longest */
	/* Counters have N_START, and values: */
	STORE_N_LEAST = STORE_N_END,
	STORE_N_MOST = STORE_N_LABEL,
	STORE_N_LAST = STORE_N_DUR,
	/* A value for each item: */
	STORE_START, /* - start of the node */
	STORE_DUR,
	STORE_LABEL,
	STORE_MARKS, /* kind | enum store_mark << 5 */
	STORE_NARGS, /* of the first row */
	STORE_FLAGS, /* of the first row */
	STORE_OFF,
	STORE_LEN,
	STORE_STREAM,
	STORE_ID,
	STORE_CPU,
	/* How many items of the track end at the item's start before it begins. */
	STORE_TIES,
	STORE_END_FLAGS,
	STORE_END_LABEL, /* of the END row - the item's */
	/* Of END rows with arguments, else 0; an event with SPUR_F_DEPTH: its depth in END_LEN */
	STORE_END_NARGS,
	STORE_END_OFF, /* - offset of the first row */
	STORE_END_LEN,
	STORE_END_STREAM, /* - stream of the first row */
	STORE_END_ID, /* - id of the first row */
	STORE_VALUE, /* of counters */
	STORE_OUTER, /* 1: time of the span is spent in spans right inside it */
	STORE_INNER, /* how many spans around it on the track are of its label's head */
	/* A value for each item whose STORE_OUTER is 1; of all others it is STORE_DUR: */
	STORE_SELF, /* ns of the span without those of the spans right inside it */
	STORE_COLUMNS
};

/* A block, or what 16 nodes of the level below have in common. */
struct store_node {
	int64_t start, end; /* first start, last end */
	/* Offset of the block in the file; of level 2: of its sums, or 0; above it 0. */
	uint64_t at;
	union {
		uint64_t busy; /* ns in spans */
		uint64_t least; /* of a counter */
	};
	union {
		uint64_t best_dur; /* of the longest item */
		uint64_t most;
	};
	union {
		struct {
			uint32_t best; /* label of the longest item */
			uint32_t best_off_cpu; /* 1: that is time off the CPU */
		};
		uint64_t last;
	};
	uint64_t number; /* of its first item in the lane */
	uint16_t n; /* items of the block; 0 above blocks */
	uint16_t units; /* size in 8 bytes of what is at `at` */
	uint32_t sum; /* of what is at `at` */
};

enum { STORE_SUMS_LEVEL = 2, STORE_SUMS_BLOCKS = 256, STORE_SUMS_MOST = 1024 };

/* What the spans of 256 blocks with one label add up to; label 0: time off the CPU. */
struct store_label_sum {
	uint32_t label, calls;
	uint64_t sum; /* ns */
	uint64_t child; /* ns of it that are spent in spans right inside */
	uint64_t inner; /* ns of it in spans with STORE_INNER */
	uint64_t least, most; /* ns */
};

/* A lane's nodes: `nblocks` blocks from `first` on, a node for each full 16 of them, and so on. */
struct store_lane_wire {
	uint32_t kind, track, depth, label, arg, feed;
	uint64_t id;
	uint64_t items, spans;
	uint64_t first, nblocks;
};

struct store_label_wire {
	uint32_t name, simple, raw, cat, module, file, line, flags, head, size;
	uint64_t addr;
	uint32_t library, zero;
};

struct store_track_wire {
	uint32_t parent, name, order, kind;
	int64_t pid, tid;
	int32_t cpu;
	uint32_t trace; /* string: of several traces read as one, which it is of */
};

struct store_stream_wire {
	uint32_t path, zero;
	uint64_t size;
};

/* A flow event. They are in order of all members but the kind. */
struct store_flow_wire {
	uint32_t name; /* the first label with its name and category */
	uint32_t kind; /* enum spur_kind */
	uint64_t id;
	int64_t ts;
	uint32_t track, depth; /* of its lane */
	uint64_t number; /* of its item */
};

/* A LOST row, in order of times. */
struct store_lost_wire {
	int64_t ts, dur;
	uint64_t count; /* of events; 0: not known */
	uint32_t track, zero;
};

/* A stack of a SAMPLE row. They are in order of track and time. */
struct store_stack_wire {
	int64_t ts;
	uint64_t self; /* ns of its leaf */
	uint64_t calls; /* of its leaf */
	uint64_t first; /* of its frames */
	uint32_t n; /* of them, at least 1 */
	uint32_t track;
};

enum store_note_flag { STORE_NOTE_DAMAGE = 1, STORE_NOTE_TIME = 2 /* it has one */ };
enum { STORE_NOTES_MOST = 1 << 12 };

/* What reading the trace told. */
struct store_note_wire {
	uint32_t code, file, text, flags;
	uint64_t off; /* UINT64_MAX: none */
	uint64_t count; /* of its kind; 0: that of the note before it */
	int64_t ts; /* of the first item behind its place in the file */
};

struct store_section {
	uint64_t at, size;
	uint32_t sum, zero;
};

enum store_section_id {
	STORE_SEC_NODES, /* struct store_node, lane by lane */
	STORE_SEC_LANES, /* struct store_lane_wire, by track and depth */
	STORE_SEC_LABELS, /* struct store_label_wire */
	STORE_SEC_TRACKS, /* struct store_track_wire */
	STORE_SEC_STREAMS, /* struct store_stream_wire */
	STORE_SEC_STRING_AT, /* uint64_t: end of each string in the texts, id 0 is empty */
	STORE_SEC_TEXTS, /* bytes of strings, each with a NUL behind it */
	STORE_SEC_IDENTITY, /* text: what it was made of */
	STORE_SEC_FLOWS, /* struct store_flow_wire */
	STORE_SEC_LOST, /* struct store_lost_wire */
	STORE_SEC_NOTES, /* struct store_note_wire */
	STORE_SEC_STACKS, /* struct store_stack_wire */
	STORE_SEC_FRAMES, /* uint32_t: labels of stacks, each from the root to the leaf */
	STORE_SECTIONS
};

struct store_head {
	char magic[8];
	uint32_t order; /* STORE_ORDER */
	uint32_t version;
	uint64_t size; /* of the file */
	uint64_t blocks; /* end of the blocks */
	uint64_t spans, events, rows;
	int64_t start, end;
	uint32_t facts; /* enum store_fact */
	uint32_t feeds; /* of the trace */
	/* What the trace says of itself (model/trace.h): */
	uint32_t clock_name; /* string */
	uint32_t epoch_known;
	int64_t epoch_ns, epoch_error_ns;
	uint64_t hz;
	int64_t default_min_ns;
	int64_t last_row; /* time of the last row */
	struct store_section sections[STORE_SECTIONS];
	/* SPEC store/told: what reading the trace told (struct diag_totals) */
	uint64_t damaged, bytes_lost, warnings;
	uint32_t zero;
	uint32_t sum; /* of all before it */
};

#endif
