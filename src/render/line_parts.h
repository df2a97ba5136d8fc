/* Line programs from the inside: what line.c compiles and line_run.c runs. */
#ifndef SPUR_RENDER_LINE_PARTS_H
#define SPUR_RENDER_LINE_PARTS_H

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
	LINE_INDEX_TEXT = 16, /* of an index, at most */
	/*
	 * What one step takes at most, but for text and arrays: its literal, and a number or a
	 * remembered text
	 */
	LINE_STEP_ROOM = LINE_LITERAL_MOST + LINE_NUMBER,
	LINE_TEXT_STEP = 16, /* bytes of text that are looked at at once */
	LINE_MEMORY = 4 << 20, /* bytes of programs */
	LINE_ID_BITS = 16, /* of an event's number */
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

#endif
