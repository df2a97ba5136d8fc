/*
 * Byte programs: a second form of the programs of plan.c, for events whose fields are whole bytes,
 * nested in structures at most, as nearly all are. Positions are bytes, runs of fields are
 * bounds-checked once, and values are copies of a template with the number filled in. Everything
 * else is left to the bit programs, which also report errors. If a byte program succeeds, both give
 * the same result.
 */
#ifndef SPUR_FORMAT_CTF_PLAN_BYTES_H
#define SPUR_FORMAT_CTF_PLAN_BYTES_H

#include "format/ctf/plan/plan.h"
#include "model/bytes.h"

struct code;
struct keep;

/* A step of a skip program: see model/bytes.h. */
struct byte_skip {
	uint8_t code;
	uint8_t load;
	uint8_t bits;
	uint32_t run;
	uint32_t back;
	uint32_t slot;
	uint32_t size;
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

/* See byte_source.value. */
bool bytes_value(const struct byte_value *s, bool flat, uint64_t n, struct spur_args *args,
		 struct spur_value *v);

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
		const uint64_t w = byte_number(p - s->back, s->shift, s->mask);

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
