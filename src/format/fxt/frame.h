/*
 * Framing: where records begin and end, and where reading goes on where that is lost. Used by both passes and by the
 * probe.
 */
#ifndef SPUR_FORMAT_FXT_FRAME_H
#define SPUR_FORMAT_FXT_FRAME_H

#include "base/source.h"
#include "format/fxt/wire.h"

enum fxt_frame_state {
	FXT_FRAME_RECORD, /* a record of `size` bytes, which are there */
	FXT_FRAME_END, /* the end of the data, at the end of a record */
	FXT_FRAME_DAMAGE, /* no record: `lost` bytes are to be passed over */
};

struct fxt_frame {
	enum fxt_frame_state state;
	uint64_t head;
	uint64_t size;
	uint64_t lost;
	const char *code; /* of the damage */
	bool to_end; /* nothing behind it looks like a record */
};

/* No place in [from, clear) is one where records begin. */
struct fxt_searched {
	uint64_t from, clear;
};

/* Where they were looked for in vain before, by the offset modulo 8: so that no byte is looked at again and again. */
struct fxt_resync {
	struct fxt_searched near[FXT_WORD], exact[FXT_WORD];
};

/* What is at `off`. Waits for as many bytes as that needs. */
void fxt_frame_at(struct source *src, uint64_t off, bool swap, struct fxt_resync *r,
		  struct fxt_frame *f);

enum { FXT_CHAIN = 4 };
/*
 * SPEC fxt/resync: a chain of FXT_CHAIN plausible records begins at `off`, or fewer, `least` at least, that end where
 * the data ends. `exact`: their parts fill them exactly.
 */
bool fxt_plausible(struct source *src, uint64_t off, bool swap, bool exact, int least);

#endif
