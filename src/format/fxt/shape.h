/*
 * The shape of a record: which parts it has, and where. It depends on the record's bytes alone, not
 * on tables, so equal bytes always have the same shape.
 */
#ifndef SPUR_FORMAT_FXT_SHAPE_H
#define SPUR_FORMAT_FXT_SHAPE_H

#include "base/cursor.h"
#include "format/fxt/wire.h"

/* A reference to a string, and the text if it is inline. */
struct fxt_string_ref {
	uint16_t ref;
	uint32_t len;
	const char *text; /* NULL: by index, or empty */
};

/* Returns the bytes of the text that a record has for a reference. */
static inline uint64_t fxt_text_bytes(uint64_t ref)
{
	return ref & FXT_INLINE ? align_up(ref & (FXT_INLINE - 1), FXT_WORD) : 0;
}

/* A reference to a thread, and the ids if they are inline. */
struct fxt_thread_ref {
	uint8_t ref;
	bool process_only;
	uint64_t pid, tid;
};

struct fxt_shape {
	const uint8_t *p;
	uint64_t size; /* bytes */
	uint64_t head;
	uint8_t type,
		sub; /* sub: of metadata, event, scheduling, profiler, large record (blob format) */
	bool known; /* false: only members common to unknown events are set */
	bool timed;
	bool padding; /* padding bytes are not zero */
	bool args_lost; /* the end of an argument is unknown; args_end is where it begins */
	bool tail_lost; /* so the word after the arguments is unknown too */
	uint8_t nargs; /* number in the header; with args_lost, the number found */
	uint8_t nthreads;
	const char *lacks; /* the part that does not fit into the record; NULL: all parts fit */
	/*
	 * If a part does not fit: offset of its end from the record's start; `last`: it is the
	 * record's last part. UINT64_MAX if its size is impossible.
	 */
	uint64_t needs;
	bool last;
	uint64_t ticks;
	struct fxt_thread_ref threads[2]; /* of switches: outgoing, incoming (new ones: tid only) */
	struct fxt_string_ref cat, name;
	const uint8_t *args, *args_end;
	uint64_t value; /* id, end ticks; pointer, koid; ticks per second; start address */
	uint64_t more[2]; /* base ticks and time; range and vaddr */
	const uint8_t *data; /* payload, build id, frames, message, text of a string */
	uint64_t data_len;
	uint64_t extra; /* words after the known parts */
	bool extended; /* initialization with base */
};

/* Finds the shape of the record at `p`. Requires `size` bytes, the size in its header. */
void fxt_shape_of(struct fxt_shape *s, const uint8_t *p, uint64_t size, bool swap);

/*
 * Returns the first of the words behind the known parts if they are `words`, and begin with the
 * mark (8 bytes); else NULL.
 */
static inline const uint8_t *fxt_shape_mark(const struct fxt_shape *s, const char *mark,
					    unsigned words)
{
	const uint8_t *const at = s->p + s->size - s->extra * FXT_WORD;

	return s->extra == words && memcmp(at, mark, FXT_WORD) == 0 ? at : NULL;
}

/* SPEC fxt/payload-mark: returns the mark of a large blob that is an event; NULL: it is none. */
static inline const uint8_t *fxt_shape_payload(const struct fxt_shape *s)
{
	return s->type == FXT_LARGE && s->known && s->sub == FXT_LARGE_WITH_META
		       ? fxt_shape_mark(s, FXT_PAYLOAD_MARK, FXT_PAYLOAD_WORDS)
		       : NULL;
}

/* The marks that a record of the type and subtype may have; NULL: it has none of them. */
const uint8_t *fxt_shape_marked(const struct fxt_shape *s);

/* SPEC fxt/placeholder: returns true if the blob has no name and fills unused room. */
static inline bool fxt_blob_is_filler(const struct fxt_shape *s)
{
	return !s->name.len && !(s->name.ref & (FXT_INLINE - 1)) &&
	       fxt_get(s->head, FXT_F_BLOB_TYPE) == FXT_BLOB_DATA;
}

/* SPEC fxt/next-mark */
static inline bool fxt_shape_is_next_mark(const struct fxt_shape *s)
{
	return s->type == FXT_BLOB && s->data && s->data_len == FXT_WORD && fxt_blob_is_filler(s) &&
	       memcmp(s->data, FXT_NEXT_MARK, FXT_WORD) == 0;
}

enum fxt_arg_state {
	FXT_ARG_GOOD,
	FXT_ARG_BAD, /* its name or value does not fit into it: only this argument is lost */
	FXT_ARG_LOST, /* its size is impossible: it and all later arguments are lost */
};

struct fxt_arg {
	enum fxt_arg_state state;
	uint8_t type;
	bool padding;
	const char *lacks; /* set unless good */
	uint64_t head;
	struct fxt_string_ref name, text;
	uint64_t word; /* types with a value word */
	const uint8_t *data; /* blob; of an unknown type, everything after its name */
	uint64_t len;
};

/* Decodes the argument at c->p, and moves c->p to its end unless it is lost. */
void fxt_arg_next(struct cursor *c, struct fxt_arg *a);

/*
 * Returns true if all parts fit, nothing follows them, and reserved bits are 0. This distinguishes
 * records from other bytes after damage.
 */
bool fxt_shape_exact(const struct fxt_shape *s, bool swap);
/* The same for all parts but the arguments, which are not walked over. */
bool fxt_shape_fits(const struct fxt_shape *s);
/*
 * SPEC fxt/contradicted: returns true if what follows the record may show that it is none. Events
 * are not doubted: they are most of all records, and skipped unread in the first pass.
 */
static inline bool fxt_shape_doubtful(const struct fxt_shape *s)
{
	return s->type != FXT_EVENT && !fxt_shape_fits(s);
}
/*
 * Requires that `s` is the shape of the first s->size bytes of a record of `size` bytes. Returns
 * true if the missing bytes explain every part that does not fit, so that the record may be
 * truncated.
 */
bool fxt_shape_cut(const struct fxt_shape *s, uint64_t size);
/*
 * Requires the same. Returns false if the record is not exact, whatever its missing bytes are.
 */
bool fxt_shape_open(const struct fxt_shape *s, uint64_t size);

#endif
