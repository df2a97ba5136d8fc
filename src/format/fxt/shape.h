/*
 * The shape of a record: which parts it has and where. Looks at its bytes only and knows no tables,
 * so the same bytes have the same shape whenever they are looked at.
 */
#ifndef SPUR_FORMAT_FXT_SHAPE_H
#define SPUR_FORMAT_FXT_SHAPE_H

#include "base/cursor.h"
#include "format/fxt/wire.h"

/* A reference to a string; the text where it is inline. */
struct fxt_string_ref {
	uint16_t ref;
	uint32_t len;
	const char *text; /* NULL: by index, or empty */
};

/* A reference to a thread; the ids where they are inline. */
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
	bool known; /* false: of the rest only what is common to unknown events is set */
	bool timed;
	bool padding; /* bytes of padding are not zero */
	bool args_lost; /* where an argument ends is not known; args_end is where it begins */
	bool tail_lost; /* and so the word behind the arguments is not known either */
	uint8_t nargs; /* as the header says; with args_lost, that were found */
	uint8_t nthreads;
	const char *lacks; /* NULL: whole; else what does not fit into the record */
	/*
	 * Where something does not fit: bytes from the record's start up to the end of the part
	 * that does not; `last`: it is the record's last part. UINT64_MAX where its size cannot be
	 * right.
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
	uint64_t extra; /* words behind the part that is known */
	bool extended; /* initialization with base */
};

/* The record at `p`: `size` bytes as its header says, which are there. */
void fxt_shape_of(struct fxt_shape *s, const uint8_t *p, uint64_t size, bool swap);

enum fxt_arg_state {
	FXT_ARG_GOOD,
	FXT_ARG_BAD, /* its name or value does not fit into it: it alone is lost */
	FXT_ARG_LOST, /* its size is impossible: it and all behind it are lost */
};

struct fxt_arg {
	enum fxt_arg_state state;
	uint8_t type;
	bool padding;
	const char *lacks; /* unless good */
	uint64_t head;
	struct fxt_string_ref name, text;
	uint64_t word; /* types with a value word */
	const uint8_t *data; /* blob; all of an unknown type behind its name */
	uint64_t len;
};

/* The argument at c->p, which moves behind it unless it is lost. */
void fxt_arg_next(struct cursor *c, struct fxt_arg *a);

/*
 * Every part where it belongs and nothing behind: how records are told from other bytes where
 * framing is lost. Reserved bits are 0.
 */
bool fxt_shape_exact(const struct fxt_shape *s, bool swap);
/* The same of all but the arguments, which takes no walk over them. */
bool fxt_shape_fits(const struct fxt_shape *s);
/*
 * `s` is the shape of the beginning of a record of `size` bytes, of which s->size are there.
 * Returns true if the missing bytes explain all that does not fit: the record may be one that was
 * cut.
 */
bool fxt_shape_cut(const struct fxt_shape *s, uint64_t size);

#endif
