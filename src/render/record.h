/*
 * Fields of records as text, for records that have a layout (model/layout.h): a program per layout,
 * literal, number, literal, number, made once and run over the record's bytes. It writes the same
 * as args_text_list() (`named`) and args_json() make of the decoded fields.
 */
#ifndef SPUR_RENDER_RECORD_H
#define SPUR_RENDER_RECORD_H

#include "model/layout.h"
#include "render/frag.h"
#include "render/value.h"

enum {
	RECORD_LITERAL = 32, /* bytes before a number; longer literals have no program */
	RECORD_NUMBER = 32, /* room for a number */
	RECORD_ROOM = (LAYOUT_FIELDS + 1) * (RECORD_LITERAL + RECORD_NUMBER),
};

/* A literal and the number behind it. */
struct record_step {
	uint64_t mask;
	uint8_t kind; /* enum layout_kind; TEXT: the program ends behind the literal */
	uint8_t at, shift;
	uint8_t len; /* of the literal */
	char literal[RECORD_LITERAL];
};

struct record_program {
	bool made;
	bool swap;
	uint32_t size;
	uint32_t nsteps; /* 0: fields have to be decoded */
	struct record_step steps[LAYOUT_FIELDS + 1];
};

/* The programs of a trace, used by one thread. Zero-initialise but for what it is made of. */
struct record_pen {
	const struct value_writer *values;
	enum value_form form; /* of `values` */
	struct number big; /* digits that long numbers share; number_init() */
	struct record_program programs[LAYOUTS];
};

/* Out of line half of record_program(). */
const struct record_program *record_program_make(struct record_pen *pen,
						 const struct record_layout *l);
/* Returns NULL if fields of this layout have to be decoded. */
static inline const struct record_program *record_program(struct record_pen *pen,
							  const struct record_layout *l)
{
	const struct record_program *p = &pen->programs[l->number];

	return p->nsteps ? p : record_program_make(pen, l);
}

/*
 * Writes the fields of a record of `len` bytes. Requires RECORD_ROOM bytes of room and the bytes of
 * the layout.
 */
char *record_put(struct record_pen *pen, const struct record_program *program, const uint8_t *raw,
		 uint32_t len, char *w);

#endif
