/* Decode programs from the inside: what plan.c compiles and plan_skip.c and plan_value.c run. */
#ifndef SPUR_FORMAT_CTF_PLAN_PARTS_H
#define SPUR_FORMAT_CTF_PLAN_PARTS_H

#include "base/search.h"
#include "format/ctf/plan/bits.h"
#include "format/ctf/plan/plan.h"
#include "format/ctf/plan/bytes.h"

enum step_code {
	STEP_END,
	STEP_ALIGN, /* to a multiple of `size` bits */
	STEP_ORDER, /* the rule against a change of byte order inside a byte */
	/* Skip programs. A run is `size` bits of fields at known places; STEP_GETs read from it. */
	STEP_RUN,
	STEP_GET, /* `size` bits at `off` of the run, to `keeps` */
	STEP_PLACE, /* keeps the byte offset of `off` in `slot` */
	STEP_SKIP_MANY, /* `count` elements of `size` bits */
	STEP_SKIP_DYNAMIC, /* slots[slot] elements of `size` bits */
	STEP_SKIP_TEXT, /* slots[slot] or, with `to` 1, `count` bytes of text in UTF-16 or 32 */
	STEP_MARK, /* keeps the byte offset of what comes next */
	/* Both. */
	STEP_VAR, /* LEB128 */
	STEP_STRING, /* to the NUL of `size` bits */
	/*
	 * Repeats the steps up to STEP_NEXT `count` times; skipped if `count` is 0. `size`: bits of
	 * each element, if known
	 */
	STEP_LOOP,
	STEP_LOOP_DYNAMIC, /* slots[slot] times */
	STEP_NEXT, /* back to `to` */
	STEP_SELECT, /* to the option of tables[to] that holds slots[slot] */
	STEP_JUMP, /* to `to` */
	/* To `to` unless tables[count] or, with size 0, a true boolean holds slots[slot] */
	STEP_OPTION,
	/* Value programs. */
	STEP_OPEN, /* a structure of `size` members */
	STEP_CLOSE,
	STEP_INT,
	STEP_WIDE, /* more than 64 bits: bytes */
	STEP_FLOAT,
	STEP_TEXT, /* `count` bytes */
	STEP_TEXT_DYNAMIC, /* slots[slot] bytes */
	STEP_BLOB,
	STEP_BLOB_DYNAMIC,
	STEP_CODES
};

enum step_flag {
	STEP_BIG = 1,
	STEP_REVERSED = 2,
	STEP_SIGNED = 4,
	STEP_SCOPE = 8, /* OPEN, CLOSE: of a whole scope */
};

/* What is done with an integer beside showing it. */
enum keep_what { KEEP_SLOT, KEEP_CLOCK };

struct keep {
	uint32_t what;
	uint32_t slot;
};

struct step {
	uint8_t code;
	uint8_t flags;
	uint8_t show; /* enum spur_show */
	uint8_t nkeeps;
	uint32_t keeps; /* index of the first */
	uint32_t size;
	uint32_t off;
	uint32_t slot;
	uint32_t to;
	uint32_t name; /* string id */
	uint32_t scope;
	uint64_t count;
	const struct ctf_field *field;
};

struct option {
	uint64_t low, high;
	uint32_t to;
};

/*
 * Ranges of selectors in ascending order (as signed numbers where `is_signed`), none over another.
 */
struct table {
	const struct option *options;
	uint32_t count;
	bool is_signed;
};

/* Names of values, for enumerations. */
struct ctf_label {
	uint64_t low, high;
	const char *name;
};

struct ctf_labels {
	const struct ctf_label *items;
	uint32_t count;
	bool ordered; /* ascending, none over another: one name at most, found by halving */
};

struct code {
	const struct step *steps;
	uint32_t count;
};

struct ctf_program {
	struct code skip, value;
	const struct keep *keeps;
	const struct table *tables;
	/* Slots of fields that are not in every event: 0 where they are not. */
	const uint32_t *optional;
	uint32_t noptional;
	struct byte_program bytes;
};

enum {
	PLAN_DEPTH =
		128, /* structures, arrays, options inside each other when aliases are followed */
	PLAN_STEPS = 1 << 22, /* of one program */
	PLAN_ALL_STEPS = 1 << 23, /* of all programs of a trace */
	PLAN_VALUES = 1 << 22, /* of one event */
	VAR_BYTES = 10, /* of a LEB128 integer of 64 bits */
};

/* The slot's place in the cursor. */
static inline uint32_t slot_index(uint32_t slot)
{
	return CTF_SLOTS_FIXED + slot;
}

/*
 * A time stamp of `bits` bits: the rest comes from the clock before, one wrap further where it went
 * back.
 */
static inline uint64_t clock_update(uint64_t clock, uint64_t v, unsigned bits)
{
	uint64_t mask;

	if (bits >= 64)
		return v;
	mask = bits_mask(bits);
	if ((v & mask) < (clock & mask))
		clock += mask + 1;
	return (clock & ~mask) | (v & mask);
}

static inline void keep_value(const struct ctf_program *p, const struct step *s,
			      struct ctf_cursor *c, uint64_t v, unsigned bits)
{
	for (unsigned i = 0; i < s->nkeeps; i++) {
		const struct keep *k = &p->keeps[s->keeps + i];

		if (k->what == KEEP_CLOCK) {
			c->clock = clock_update(c->clock, v, bits);
			continue;
		}
		c->slots[k->slot] = v;
		if (k->slot < CTF_SLOTS_FIXED)
			c->have[k->slot] = 1;
	}
}

/*
 * plan_table.c: sorts `n` ranges into the table (`is_signed` is set), the first one before others
 * that lie over it. Returns false if out of memory.
 */
bool table_make(struct table *t, struct arena *arena, const struct option *options, size_t n);

static inline void plan_forget(const struct ctf_program *p, struct ctf_cursor *c)
{
	for (uint32_t i = 0; i < p->noptional; i++)
		c->slots[p->optional[i]] = 0;
}

/* The option that holds the value, or NULL. */
static inline const struct option *table_find(const struct table *t, uint64_t v)
{
	const uint64_t flip = t->is_signed ? (uint64_t)1 << 63 : 0;
	uint32_t low;

	bisect(low, 0, t->count, (t->options[low].high ^ flip) < (v ^ flip));
	return low < t->count && (t->options[low].low ^ flip) <= (v ^ flip) ? &t->options[low]
									    : NULL;
}

/*
 * SPEC ctf2/leb128 SPEC ctf2/leb128-limit: takes an integer of at most 64 bits and 10 bytes at a
 * byte boundary; `used` gets its bytes. NULL: all is well, else what is wrong.
 */
static inline const char *var_load(const struct ctf_cursor *c, bool is_signed, uint64_t *out,
				   unsigned *used)
{
	const uint8_t *p = c->data + c->at / 8;
	const uint64_t left = (c->limit - c->at) / 8;
	uint64_t v = 0;
	unsigned n = 0;

	for (;; n++) {
		if (n == left)
			return "the end of a variable-length integer, found the end of the packet";
		if (n == VAR_BYTES)
			return "a variable-length integer of 10 bytes at most, found a longer one";
		v |= (uint64_t)(p[n] & 0x7F) << (7 * n);
		if (!(p[n] & 0x80))
			break;
	}
	if (n == VAR_BYTES - 1 && (is_signed ? p[n] != 0 && p[n] != 0x7F && p[n] != 1 : p[n] > 1))
		return "a variable-length integer of 64 bits at most, found a larger one";
	*used = n + 1;
	if (is_signed && *used * 7 < 64)
		v = (uint64_t)bits_signed(v, *used * 7);
	*out = v;
	return NULL;
}

/*
 * SPEC ctf2/wide: byte `i` of a value of more than 64 bits at bit `at`, from its least significant
 * one on.
 */
static inline uint8_t wide_byte(const struct step *s, const uint8_t *data, uint64_t at, unsigned i)
{
	const bool big = s->flags & STEP_BIG, turn = s->flags & STEP_REVERSED;
	const unsigned low = 8 * i, bits = s->size - low < 8 ? s->size - low : 8;
	const uint64_t v =
		bits_load_any(data, at + (big == turn ? low : s->size - low - bits), bits, big);

	return (uint8_t)(turn ? bits_turn(v, bits) : v);
}

/* What values of a number's field have in common: all but the number and its label. */
void plan_number(const struct ctf_field *f, struct spur_value *v);
/* Without a name a value is its number, but for styles, which say so. */
static inline void plan_unnamed(struct spur_value *v)
{
	v->type = (v->count & CTF_ENUM_KIND) == CTF_ENUM_SIGNED ? SPUR_I64 : SPUR_U64;
	v->count >>= CTF_ENUM_BITS_SHIFT;
}

/*
 * Names of the value: of an ordered list the one, else all that hold it, in the metadata's order.
 * *good becomes false if out of memory.
 */
const char *plan_label(struct spur_args *args, bool flat, const struct ctf_field *f, uint64_t v,
		       bool *good);

/*
 * SPEC ctf2/strings: returns the bits of the string at the cursor with its NUL, or 0 if it is not
 * terminated.
 */
uint64_t string_bits(const struct ctf_cursor *c, unsigned unit_bits);
/*
 * Returns an error of the text of `bytes` bytes at the cursor, or NULL. Requires that the bytes are
 * available.
 */
const char *text_wrong(const struct ctf_cursor *c, const struct ctf_field *f, uint64_t bytes);
/* Bytes of a code unit: 1, 2, 4. */
static inline unsigned text_unit(const struct ctf_field *f)
{
	return f->encoding == CTF_UTF16BE || f->encoding == CTF_UTF16LE	  ? 2
	       : f->encoding == CTF_UTF32BE || f->encoding == CTF_UTF32LE ? 4
									  : 1;
}

static inline enum spur_status plan_wrong(struct ctf_cursor *c, const struct ctf_field *f,
					  const char *why)
{
	c->wrong = f;
	c->why = why;
	c->wrong_at = c->at;
	return SPUR_FAIL;
}

/*
 * What both programs do alike. False: the cursor says what is wrong. SPEC ctf2/content-end: no
 * field, and no padding before one, goes beyond the packet's content
 */
static inline bool step_align(struct ctf_cursor *c, const struct step *s)
{
	const uint64_t at = align_up(c->at, s->size);

	if (__builtin_expect(at > c->limit || at < c->at, 0)) {
		plan_wrong(c, s->field, "a field, found the end of the packet");
		return false;
	}
	c->at = at;
	return true;
}

/* SPEC ctf2/mixed-order */
static inline bool step_order(struct ctf_cursor *c, const struct step *s)
{
	const bool big = s->flags & STEP_BIG;

	if (c->at % 8 && c->order_known && c->order_big != big) {
		plan_wrong(
			c, s->field,
			"the byte order of the bits before in the same byte, found the other one");
		return false;
	}
	c->order_known = true;
	c->order_big = big;
	return true;
}

#endif
