/* Line programs from the inside: what line.c compiles and line_run.c runs. */
#ifndef SPUR_RENDER_LINE_PARTS_H
#define SPUR_RENDER_LINE_PARTS_H

#include "base/mem.h"
#include "model/args.h"
#include "render/line.h"

enum line_code {
	LINE_END,
	LINE_LITERAL, /* nothing but the literal */
	LINE_U64, /* decimal */
	LINE_I64,
	LINE_HEX, /* hexadecimal, without the first `count` bits */
	LINE_PUT, /* a number by words->put() */
	LINE_KEEP, /* only for its slot */
	LINE_VALUE, /* by words->value(), and remembered: enumerations, booleans */
	LINE_FLOAT, /* by words->put(), and remembered */
	LINE_STRING, /* up to the NUL */
	LINE_TEXT, /* text of `count` bytes */
	LINE_TEXT_DYNAMIC, /* of slots[slot] bytes */
	LINE_BLOB, /* bytes; the same */
	LINE_BLOB_DYNAMIC,
	LINE_ARRAY, /* `count` numbers */
	LINE_SEQUENCE, /* slots[slot] of them */
	LINE_ALIGN, /* to a multiple of `size` bytes */
};

enum {
	LINE_LITERAL_MOST = 40, /* longer literals are several steps */
	LINE_COPY = 32, /* of a literal that is copied at once */
	LINE_STEPS = 64, /* of one program */
	LINE_DEPTH = BYTE_DEPTH + 2, /* structures inside each other, scopes, the top level */
	LINE_MEMO = 16, /* texts that a step remembers */
	LINE_MEMO_TEXT = 54,
	LINE_MEMO_FIRST = 22, /* that is copied at once */
	LINE_ELEMENTS = 24, /* of an array; longer ones are decoded */
	LINE_INDEX_TEXT = 16, /* of an index, at most */
	/*
	 * What one step takes at most, but for text and arrays: its literal, and a number or a
	 * remembered text
	 */
	LINE_STEP_ROOM = LINE_LITERAL_MOST + LINE_NUMBER,
	LINE_TEXT_STEP = 16, /* bytes of text that are looked at at once */
};

/* The text of one value. */
struct line_memo {
	uint64_t key;
	bool used;
	uint8_t len;
	char text[LINE_MEMO_TEXT];
};

/*
 * A step skips `run` bytes, writes its literal, and then a value that begins `back` bytes before
 * the end of the last run.
 */
struct line_step {
	uint8_t code;
	uint8_t load; /* enum byte_code */
	uint8_t what; /* enum byte_what */
	uint8_t shift;
	uint8_t literal_len;
	bool decimal; /* elements are written as LINE_U64 */
	uint32_t run, back, size, slot, count;
	uint64_t mask;
	const struct byte_value *from;
	struct line_memo *memo;
	char literal[LINE_LITERAL_MOST];
};

struct line_program {
	uint32_t nsteps; /* 0: events of this class have to be decoded */
	uint32_t items; /* see line_at */
	/*
	 * What all its steps take, but for text and arrays. INVARIANT: the steps that are left have
	 * their part of it: after text and arrays there is room for all of it again.
	 */
	uint32_t room;
	const struct line_step *steps;
};

enum {
	LINE_BLOCKS = 16, /* latest blocks, by stream */
	LINE_CLASSES = 8, /* of streams; events of others are decoded */
	LINE_MEMORY = 4 << 20, /* bytes of programs */
	LINE_ID_BITS = 16, /* of an event's number */
};

/* The programs of a class of streams, by the number of the event. NULL: not made yet. */
struct line_class {
	const void *class;
	const struct line_program **lines;
	uint32_t nlines;
};

struct line_block {
	struct byte_block of;
	const struct line_program **lines;
	uint64_t bound; /* offsets below have room for an event's head; 0: events are decoded */
	uint64_t key; /* of the event with the number 0: no other block of the pen's has it */
};

/* What stands before an element of an array, or behind the last one. */
struct line_index {
	char text[LINE_INDEX];
	uint8_t len;
};

struct line_pen {
	struct line_pen *next; /* in the list of unused ones */
	struct spur_trace *trace;
	const struct byte_source *source;
	const struct line_words *words;
	const void *self;
	struct line_block blocks[LINE_BLOCKS];
	uint64_t turns; /* of blocks */
	struct line_class classes[LINE_CLASSES];
	struct line_index before[LINE_ELEMENTS]; /* elements */
	struct line_index behind[2]; /* the last one; [0]: there are none */
	uint64_t *slots;
	uint32_t nslots;
	size_t used; /* of LINE_MEMORY */
	struct arena arena;
	struct spur_args args; /* what labels refer to */
	struct out scratch;
};

#endif
