/*
 * Events whose fields are whole bytes: what the fields of a class are and how they are loaded, as a
 * list of steps. A format that has such events offers them by spur_format.bytes, so that text can
 * be made of the bytes themselves (render/line.h) instead of decoded arguments.
 */
#ifndef SPUR_MODEL_BYTES_H
#define SPUR_MODEL_BYTES_H

#include <spur.h>

#include "base/bits.h"

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
		const void *field; /* INT: the format's own */
		uint32_t name; /* ARRAY, SEQUENCE: of the whole */
	};
	struct spur_value value; /* template of the field's values or elements */
};

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

/* A number in the machine's order, of a word whose upper `shift` bits are not its own. */
static inline uint64_t byte_number(const uint8_t *p, unsigned shift, uint64_t mask)
{
	uint64_t w = load64(p, false);

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	w <<= shift;
#endif
	return (uint64_t)((int64_t)w >> shift) & mask;
}

/*
 * Readable bytes after the fields of byte programs, since numbers of all sizes are loaded as
 * words.
 */
enum { BYTE_SLACK = 8 };

/*
 * A piece of a stream in which each event begins with its number in 16 bits, and its fields begin
 * `head` bytes later.
 */
struct byte_block {
	uint32_t stream; /* of the rows */
	uint32_t head;
	uint32_t id_mask; /* the number's bits; all of them: the event has another form */
	uint32_t nids; /* only lower numbers have lists of steps; 0: no event has one */
	uint32_t id_slot; /* the slot that gets the number */
	uint32_t nslots; /* which steps may use */
	uint64_t low, size; /* rows' offset of its first byte; offsets up to the next block's */
	const uint8_t *data, *end;
	const void *class, *trace; /* the format's own; numbers belong to `class` */
};

/* How text is made of bytes. All functions are thread-safe. */
struct byte_source {
	/*
	 * Describes the block of the row's record. `flat`: values as of spur_format.args, without
	 * the structures of scopes. Returns false if nothing is known of the block.
	 */
	bool (*block)(struct spur_trace *t, const struct spur_event *row, bool flat,
		      struct byte_block *b);
	/*
	 * Returns the steps of the events with this number (< nids), which live as long as the
	 * trace. Returns NULL if they are not decoded by bytes, or not known yet.
	 */
	const struct byte_value *(*steps)(const struct byte_block *b, uint32_t id, bool flat);
	/*
	 * Makes the value of a BYTE_INT step that holds `n`; what it refers to lives until the next
	 * args_reset(). Returns false if out of memory.
	 */
	bool (*value)(const struct byte_value *s, bool flat, uint64_t n, struct spur_args *args,
		      struct spur_value *v);
};

#endif
