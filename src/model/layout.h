/*
 * Layouts of records: what the fields of a record are and where their numbers stand, for records of
 * which all of one layout have the same fields. A format that has such records offers them by
 * spur_format.layout, so that text can be made of the records themselves (render/record.h) instead
 * of decoded fields.
 */
#ifndef SPUR_MODEL_LAYOUT_H
#define SPUR_MODEL_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

enum {
	LAYOUTS = 4, /* of one trace */
	LAYOUT_FIELDS = 8,
};

enum layout_kind {
	LAYOUT_TEXT, /* a string, the same in all records of the layout */
	LAYOUT_FIXED, /* a number, the same in all records of the layout */
	LAYOUT_NUMBER,
	LAYOUT_HEX, /* a number that text shows as SPUR_SHOW_HEX */
	LAYOUT_REST, /* the number of the record's bytes behind its first `size` */
};

struct layout_field {
	const char *text; /* TEXT; of FIXED the digits */
	uint64_t mask;
	uint32_t name; /* string id */
	uint8_t kind; /* enum layout_kind */
	uint8_t at; /* offset of a word of 8 bytes, */
	uint8_t shift; /* of which the number is these bits */
};

struct record_layout {
	uint32_t number; /* below LAYOUTS; each layout of a trace has its own */
	uint32_t size; /* of the part that all records of the layout have */
	uint32_t count;
	bool swap; /* words are not in the machine's byte order */
	struct layout_field fields[LAYOUT_FIELDS]; /* names are different ones */
};

#endif
