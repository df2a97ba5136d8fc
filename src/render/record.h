/*
 * Fields of records as text, for records that have a layout (model/layout.h): a program per layout,
 * literal, number, literal, number, made once and run over the record's bytes. It writes the same
 * as args_text_list() (`named`) and args_json() make of the decoded fields.
 */
#ifndef SPUR_RENDER_RECORD_H
#define SPUR_RENDER_RECORD_H

#include "base/bits.h"
#include "base/digits.h"
#include "model/layout.h"
#include "render/frag.h"
#include "render/value.h"

enum {
	RECORD_LITERAL = 32, /* bytes before a number; longer literals have no program */
	RECORD_SHORT = 8, /* bytes of a literal that is copied as one word */
	RECORD_NUMBER = 32, /* room for a number */
	RECORD_JOINT = 64, /* bytes of numbers that are one text, with what stands around them */
	RECORD_JOINTS_LOG2 = 6, /* how many of these texts are kept */
	RECORD_ROOM = (LAYOUT_FIELDS + 1) * (RECORD_LITERAL + RECORD_NUMBER),
};

/* What a step writes behind its literal. */
enum record_step_kind {
	STEP_END, /* nothing more */
	STEP_NUMBER,
	STEP_HEX,
	STEP_REST,
	STEP_JOINT, /* the program's joint; it has no literal */
};

/* A literal and the number behind it. */
struct record_step {
	uint64_t mask;
	uint8_t kind; /* enum record_step_kind */
	uint8_t at, shift;
	uint8_t len; /* of the literal */
	char literal[RECORD_LITERAL];
};

/* The text of a joint for one value of its bits. */
struct joint_text {
	uint32_t bits; /* and one more, so that 0 is no text yet */
	uint32_t len;
	char text[RECORD_JOINT];
};

/*
 * Small numbers side by side in one word, with the literals before, between and behind them: few
 * values of their bits come again and again, so the text of each is made once.
 */
struct record_joint {
	uint64_t mask; /* of the word at `at`, shifted: the bits of all numbers */
	uint8_t at, shift;
	uint32_t nsteps;
	struct record_step steps[LAYOUT_FIELDS]; /* of the numbers */
	uint32_t after_len;
	char after[RECORD_LITERAL]; /* the literal behind them */
	struct joint_text texts[1 << RECORD_JOINTS_LOG2]; /* by a hash of the bits */
};

struct record_program {
	bool made;
	bool swap;
	uint32_t size;
	uint32_t nsteps; /* 0: fields have to be decoded */
	struct record_step steps[LAYOUT_FIELDS + 1];
	struct record_joint joint;
};

/* The digits of a hexadecimal number that stand before its last eight. */
struct record_high {
	uint32_t high; /* the number's upper half; 0: not known yet */
	uint32_t len;
	char text[8];
};

enum { RECORD_HIGHS = 4 };

/* The programs of a trace, used by one thread. Zero-initialise but for what it is made of. */
struct record_pen {
	const struct value_writer *values;
	enum value_form form; /* of `values` */
	const char *before, *after; /* what stands before and behind the fields */
	struct number big; /* digits that long numbers share; number_init() */
	struct record_high highs[RECORD_HIGHS]; /* by the upper half's lowest bits */
	struct record_program programs[LAYOUTS];
};

/* Out of line half of record_program(). */
struct record_program *record_program_make(struct record_pen *pen, const struct record_layout *l);
/* Returns NULL if fields of this layout have to be decoded. */
static inline struct record_program *record_program(struct record_pen *pen,
						    const struct record_layout *l)
{
	struct record_program *const p = &pen->programs[l->number];

	return p->nsteps ? p : record_program_make(pen, l);
}

/* The number of a step's field. */
static inline uint64_t record_number(const struct record_step *s, const uint8_t *raw, bool swap)
{
	return load64(raw + s->at, swap) >> s->shift & s->mask;
}

/* What the numbers of the joint are, as one. */
static inline uint32_t record_joint_bits(const struct record_program *p, const uint8_t *raw)
{
	return (uint32_t)(load64(raw + p->joint.at, p->swap) >> p->joint.shift & p->joint.mask);
}

/* Out of line half of put_joint(). */
void record_joint_make(const struct record_program *p, const uint8_t *raw, struct joint_text *t);

static inline char *put_joint(struct record_program *p, const uint8_t *raw, char *w)
{
	const uint32_t bits = record_joint_bits(p, raw);
	/* By 2^32 divided by the golden ratio, numbers in turn get slots far from each other. */
	struct joint_text *const t =
		&p->joint.texts[bits * 2654435769u >> (32 - RECORD_JOINTS_LOG2)];

	if (__builtin_expect(t->bits != bits + 1, 0))
		record_joint_make(p, raw, t);
	memcpy(w, t->text, sizeof(t->text));
	return w + t->len;
}

/* Times are long numbers that share their first digits. */
static inline char *put_field(char *w, struct number *big, uint64_t v)
{
	if (v < 1000000000)
		return put_decimal(w, v);
	return v <= INT64_MAX ? put_number(w, big, (int64_t)v) : put_u64(w, v);
}

/* Addresses share few upper halves. */
static inline char *put_hex_shared(char *w, struct record_pen *pen, uint64_t v)
{
	const uint32_t high = (uint32_t)(v >> 32);
	struct record_high *const k = &pen->highs[high % RECORD_HIGHS];

	if (!high)
		return put_hex_digits(w, v, false);
	if (__builtin_expect(k->high != high, 0)) {
		k->high = high;
		k->len = (uint32_t)(put_hex(k->text, high) - k->text);
	}
	memcpy(w, k->text, sizeof(k->text));
	return put_hex_eight(w + k->len, (uint32_t)v);
}

/* Most literals are short, and every store counts. */
static inline char *put_step(char *w, const struct record_step *s)
{
	if (s->len <= RECORD_SHORT)
		memcpy(w, s->literal, RECORD_SHORT);
	else
		memcpy(w, s->literal, RECORD_LITERAL);
	return w + s->len;
}

/*
 * Writes the fields of a record of `len` bytes and what stands around them. Requires RECORD_ROOM
 * bytes of room and the bytes of the layout.
 */
static inline char *record_put(struct record_pen *pen, struct record_program *p, const uint8_t *raw,
			       uint32_t len, char *w)
{
	for (const struct record_step *s = p->steps;; s++) {
		if (s->kind == STEP_JOINT) {
			w = put_joint(p, raw, w);
			continue;
		}
		w = put_step(w, s);
		if (s->kind == STEP_END)
			return w;
		if (s->kind == STEP_HEX)
			w = put_hex_shared(w, pen, record_number(s, raw, p->swap));
		else
			w = put_field(w, &pen->big,
				      s->kind == STEP_REST ? len - p->size
							   : record_number(s, raw, p->swap));
	}
}

#endif
