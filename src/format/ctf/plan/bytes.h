/*
 * Byte programs: a second form of the programs of plan.c, for events whose fields are whole bytes,
 * nested in structures at most, as nearly all are. Positions are bytes, runs of fields are
 * bounds-checked once, and values are copies of a template with the number filled in. Everything
 * else is left to the bit programs, which also report errors. If a byte program succeeds, both give
 * the same result.
 */
#ifndef SPUR_FORMAT_CTF_PLAN_BYTES_H
#define SPUR_FORMAT_CTF_PLAN_BYTES_H

#include "base/bits.h"
#include "format/ctf/plan/plan.h"

struct code;
struct keep;

enum byte_code {
	/* Numbers: kept in `slot`, or values. Kinds of byte_load(). */
	BYTE_U8,
	BYTE_I8,
	BYTE_U16,
	BYTE_I16,
	BYTE_U32,
	BYTE_I32,
	BYTE_64,
	BYTE_U16_SWAPPED,
	BYTE_I16_SWAPPED,
	BYTE_U32_SWAPPED,
	BYTE_I32_SWAPPED,
	BYTE_64_SWAPPED,
	BYTE_F32,
	BYTE_F32_SWAPPED,
	/* Both. */
	BYTE_END,
	BYTE_ALIGN, /* to a multiple of `size` bytes */
	BYTE_STRING, /* to the NUL */
	/* Skipping. */
	BYTE_ROLE, /* a number of kind `load`, to a slot that has a role */
	BYTE_CLOCK, /* of `bits` bits */
	BYTE_PLACE, /* where it is in the packet, to `slot` */
	BYTE_COUNTED, /* a number of kind `load`, to `slot`, and as many times `size` bytes */
	BYTE_DYNAMIC, /* slots[slot] times `size` bytes */
	/* Values. */
	BYTE_RUN, /* while compiling: `size` bytes that what follows reads from */
	BYTE_NUMBER, /* a number in the machine's order; to `slot`, too */
	BYTE_MORE, /* the same, directly after another number of the same run */
	BYTE_INT, /* a number of kind `load` with properties: see enum byte_what */
	BYTE_TEXT, /* `count` bytes */
	BYTE_BLOB,
	BYTE_TEXT_DYNAMIC, /* slots[slot] bytes */
	BYTE_BLOB_DYNAMIC,
	BYTE_ARRAY, /* `count` numbers of `size` bytes and kind `load` */
	BYTE_SEQUENCE, /* slots[slot] of them */
	BYTE_OPEN, /* a structure of `count` members */
	BYTE_CLOSE,
};

enum byte_what {
	BYTE_SCOPE = 1, /* OPEN, CLOSE: of a whole scope */
	BYTE_HIDDEN = 2, /* no value, only kept */
	BYTE_BOOL = 4,
	BYTE_LABELS = 8,
	BYTE_KEPT = 16, /* in `slot` */
};

enum {
	BYTE_DEPTH = 16, /* structures inside each other */
	BYTE_ELEMENTS = 1 << 16, /* of one sequence */
};

/*
 * A step first skips `run` bytes. Its data begins `back` bytes before the end of the last such
 * run.
 */
struct byte_skip {
	uint8_t code;
	uint8_t load;
	uint8_t bits;
	uint32_t run;
	uint32_t back;
	uint32_t slot;
	uint32_t size;
};

struct byte_value {
	uint8_t code;
	uint8_t load;
	uint8_t what;
	uint8_t shift; /* NUMBER: bits of a word that are not the number's */
	uint32_t run;
	uint32_t back;
	uint32_t size;
	uint32_t slot;
	uint32_t count;
	union {
		uint64_t mask; /* NUMBER: clears the sign bits of unsigned numbers */
		const struct ctf_field *field; /* INT */
		uint32_t name; /* ARRAY, SEQUENCE: of the whole */
	};
	struct spur_value value; /* template of the field's values or elements */
};

struct byte_program {
	const struct byte_skip *skip; /* NULL: there is no byte program */
	/* Size of the skip program's fields if it is a single run and stores nothing; else 0 */
	uint32_t fixed;
	/*
	 * By `flat`: values with structures for scopes, and without. NULL: there is no byte
	 * program.
	 */
	const struct byte_value *values[2];
	uint32_t top[2]; /* values at the top */
	/* Size of the flat values if they are only numbers of one run; else 0 */
	uint32_t numbers;
};

/*
 * Compiles the bit programs to byte programs, as far as possible. Returns false if out of memory.
 */
bool bytes_compile(struct byte_program *b, struct arena *arena, const struct code *skip,
		   const struct code *values, const struct keep *keeps);

/*
 * Finds the offset of a value that is stored in `slot` and precedes all fields of varying size, and
 * how it is loaded (an enum byte_code; BYTE_PLACE: text). Returns false if there is no such value.
 */
bool bytes_find(const struct byte_program *b, uint32_t slot, uint32_t *off, uint8_t *load);
/*
 * Makes the program stop storing these slots, unless it needs them itself. Their values are then
 * found by bytes_find().
 */
void bytes_drop(struct byte_program *b, const uint32_t *slots, size_t n);

/*
 * Returns the end of the fields that begin at `p`, or NULL if this program cannot decode them.
 * `end` is the end of the packet's whole bytes.
 */
const uint8_t *bytes_skip(const struct byte_skip *s, struct ctf_cursor *c, const uint8_t *p,
			  const uint8_t *end);

/* A packet, as far as it has whole bytes. */
struct byte_packet {
	const uint8_t *data, *end;
	uint64_t *slots;
};

/*
 * As plan_values(), for the fields that begin at `p`. Returns their end, or NULL if this program
 * cannot decode them, with nothing changed but memory and slots.
 */
const uint8_t *bytes_values(const struct byte_program *b, bool flat, const struct byte_packet *in,
			    const uint8_t *p, struct spur_args *args);

/* A float's bits are those of a double. */
static inline uint64_t byte_float(uint32_t bits)
{
	float f;
	double d;
	uint64_t v;

	memcpy(&f, &bits, sizeof(f));
	d = (double)f;
	memcpy(&v, &d, sizeof(v));
	return v;
}

static inline uint64_t byte_load(unsigned kind, const uint8_t *p)
{
	switch (kind) {
	case BYTE_U8:
		return *p;
	case BYTE_I8:
		return (uint64_t)(int8_t)*p;
	case BYTE_U16:
		return load16(p, false);
	case BYTE_I16:
		return (uint64_t)(int16_t)load16(p, false);
	case BYTE_U32:
		return load32(p, false);
	case BYTE_I32:
		return (uint64_t)(int32_t)load32(p, false);
	case BYTE_64:
		return load64(p, false);
	case BYTE_U16_SWAPPED:
		return load16(p, true);
	case BYTE_I16_SWAPPED:
		return (uint64_t)(int16_t)load16(p, true);
	case BYTE_U32_SWAPPED:
		return load32(p, true);
	case BYTE_I32_SWAPPED:
		return (uint64_t)(int32_t)load32(p, true);
	case BYTE_64_SWAPPED:
		return load64(p, true);
	case BYTE_F32:
		return byte_float(load32(p, false));
	default:
		return byte_float(load32(p, true));
	}
}

/*
 * Readable bytes after the fields of byte programs, since numbers of all sizes are loaded as
 * words.
 */
enum { BYTE_SLACK = 8 };

/*
 * Decodes numbers of a run that ends at `p`, from a NUMBER on, and returns the step after them.
 * Requires that the word at `p` is readable.
 */
static inline const struct byte_value *number_values(const struct byte_value *s,
						     struct spur_value **values, const uint8_t *p,
						     uint64_t *slots)
{
	struct spur_value *v = *values;

	do {
		uint64_t w = load64(p - s->back, false);

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		w <<= s->shift;
#endif
		w = (uint64_t)((int64_t)w >> s->shift) & s->mask;
		slots[s->slot] = w;
		*v = s->value;
		v->u = w;
		v++;
		s++;
	} while (s->code == BYTE_MORE);
	*values = v;
	return s;
}

#endif
