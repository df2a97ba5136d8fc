/*
 * Decode plans of CTF: field classes compiled once into flat programs; no tree is walked per event.
 *
 * Of a sequence of scopes (packet header and context; event header; event contexts and payload)
 * there are two programs. The skip program moves over the fields, keeps the values that others need
 * (lengths, selectors, roles, captures) in slots, and merges runs of fixed-size fields into one
 * bounds check and one step. The value program gives every field as a spur_value and remembers its
 * place in bits. Both stop at the first thing that cannot be.
 */
#ifndef SPUR_FORMAT_CTF_PLAN_PLAN_H
#define SPUR_FORMAT_CTF_PLAN_PLAN_H

#include "format/ctf/meta/meta.h"
#include "model/trace.h"

/* Slots of a cursor at most. */
enum { PLAN_CURSOR_SLOTS = META_SLOTS + 64 };

struct ctf_program; /* lives in the arena it was compiled into */

/*
 * Slots of roles; those of references and captures come after. A slot without value in this packet
 * has `have` 0.
 */
enum ctf_slot {
	CTF_SLOT_MAGIC,
	CTF_SLOT_STREAM_CLASS_ID,
	CTF_SLOT_STREAM_ID,
	CTF_SLOT_BEGIN, /* time stamp of the packet context */
	CTF_SLOT_END,
	CTF_SLOT_CONTENT_SIZE,
	CTF_SLOT_PACKET_SIZE,
	CTF_SLOT_DISCARDED,
	CTF_SLOT_SEQUENCE,
	CTF_SLOT_EVENT_ID,
	CTF_SLOT_CPU,
	CTF_SLOT_COMPRESSION,
	CTF_SLOT_ENCRYPTION,
	CTF_SLOT_CHECKSUM,
	CTF_SLOT_CHECKSUM_SCHEME,
	CTF_SLOT_SESSION,
	CTF_SLOT_SEQUENCE_BITS,
	CTF_SLOT_DISCARD, /* write-only */
	CTF_SLOT_UUID, /* byte offset in the packet of the 16 bytes */
	CTF_SLOTS_FIXED
};

/*
 * Where decoding is. Positions are bits from the packet's first byte; alignment counts from there
 * too.
 */
struct ctf_cursor {
	const uint8_t *data; /* the packet; 8 readable bytes after `limit` are not promised */
	uint64_t limit; /* bits that are there: no field ends after */
	uint64_t at;
	uint64_t clock; /* cycles; updated by time stamps, partial ones included */
	uint64_t *slots; /* nslots of the meta plus CTF_SLOTS_FIXED */
	uint8_t *have; /* of the first CTF_SLOTS_FIXED: a value came in this packet */
	bool order_known,
		/* Byte order of the last bits, for the rule against mixing inside a byte */
		order_big;
	/* Set on SPUR_FAIL: */
	const struct ctf_field *wrong; /* the field that cannot be read */
	const char
		*why; /* "expected X" as a literal, e.g. "32 bits, found the end of the packet" */
	uint64_t wrong_at;
};

/*
 * Compiles scopes, in order (NULL ones are left out), into `arena`. The trace interns names.
 * SPUR_FAIL: memory or limit. Under the trace's lock where others may compile too.
 */
struct ctf_scope_fields {
	enum ctf_scope scope;
	struct ctf_field *field; /* a STRUCT, or NULL */
};
enum spur_status plan_compile(struct ctf_program **out, struct spur_trace *t, struct ctf_meta *m,
			      struct arena *arena, const struct ctf_scope_fields *scopes,
			      size_t nscopes, struct spur_error *err);

/*
 * Makes the top-level field `name` (as shown) of a structure keep its value in a slot: of an
 * integer the value, of text (strings, arrays of characters) its byte offset in the packet.
 * CTF_NO_SLOT: there is no such field, or it is of another kind. To be called before
 * plan_compile().
 */
uint32_t plan_capture(struct ctf_meta *m, struct ctf_field *structure, const char *name);

/* How a number is shown, as the metadata prefers. */
enum spur_show plan_show(const struct ctf_field *f);

/*
 * Moves over all fields. SPUR_FAIL: c->wrong, c->why, c->wrong_at say what; c->at is where the
 * field began.
 */
enum spur_status plan_skip(const struct ctf_program *p, struct ctf_cursor *c);

/*
 * Which slots a program fills: `filled[slot]` becomes true, for slots below `n`; and whether it
 * asks for one of those.
 */
void plan_fills(const struct ctf_program *p, bool *filled, uint32_t n);
bool plan_asks(const struct ctf_program *p, const bool *filled, uint32_t n);

/*
 * What plan_values() puts between several labels of one value where scopes are apart; into ENUM
 * values' `count`.
 */
enum { CTF_LABELS_BETWEEN = 0x1F, CTF_ENUM_UNSIGNED = 0, CTF_ENUM_SIGNED = 1, CTF_ENUM_FLAGS = 2 };
/* `count` of an ENUM: one of these, and above these bits what `count` of its number would be. */
enum { CTF_ENUM_KIND = 3, CTF_ENUM_BITS_SHIFT = 2 };

/*
 * Values of all fields: one item per scope field (top-level members as items of `args` directly
 * when `flat`, else one STRUCT per scope, named as in paths). SPUR_WARN: damaged from some field
 * on; what came before is there.
 */
enum spur_status plan_values(const struct ctf_program *p, struct ctf_cursor *c, bool flat,
			     struct spur_args *args);

/*
 * For `spur dump`: each basic field in order with its path, first bit and length. false from `each`
 * stops.
 */
struct ctf_place {
	const struct ctf_field *field;
	const char *path; /* "payload.args[2].len" */
	uint64_t at, size; /* bits */
	struct spur_value value;
};
enum spur_status plan_walk(const struct ctf_program *p, struct ctf_cursor *c,
			   const struct spur_trace *t, struct spur_args *scratch,
			   bool (*each)(void *self, const struct ctf_place *place), void *self);

/*
 * What plan_skip() could not move over, exactly: sets c->why, c->wrong_at and the path of the field
 * that it is ("payload.args[2].len"). False: everything can be read.
 */
bool plan_find_wrong(const struct ctf_program *p, struct ctf_cursor *c, const struct spur_trace *t,
		     char *path, size_t size);

#endif
