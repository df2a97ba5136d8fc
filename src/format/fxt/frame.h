/*
 * Framing: where records begin and end, and where reading goes on where that is lost. Used by both
 * passes and by the probe.
 */
#ifndef SPUR_FORMAT_FXT_FRAME_H
#define SPUR_FORMAT_FXT_FRAME_H

#include "base/bits.h"
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

struct fxt;

/* The search for the next record. */
struct fxt_resync {
	/* Tables that references are looked up in; NULL: references are not checked */
	const struct fxt *x;
	bool eager; /* the input may grow for ever: judge by what is there, see fxt_frame_at() */
	/*
	 * Where records were looked for in vain, by the offset modulo 8: no byte is looked at again
	 * and again.
	 */
	struct fxt_searched searched[FXT_WORD];
};

/*
 * What is at `off`. Waits for as many bytes as that needs. With r->eager it does not wait for a
 * record that what is there contradicts, if a chain of good records stands behind its header.
 */
void fxt_frame_at(struct source *src, uint64_t off, bool swap, struct fxt_resync *r,
		  struct fxt_frame *f);

/* resync.c */
/*
 * SPEC fxt/resync: the first place behind `off` where a chain of records begins; UINT64_MAX: none
 * up to the end of the data, or, with r->eager, of what is there.
 */
uint64_t fxt_resync_behind(struct source *src, uint64_t off, bool swap, struct fxt_resync *r);
/*
 * Returns true if the record of `size` bytes at `off`, of which only the beginning is there, is one
 * that was cut: what is there of it is exact, and its references exist.
 */
bool fxt_record_is_cut(const struct source *src, uint64_t off, uint64_t size, bool swap,
		       const struct fxt_resync *r);

/* The header alone: type and size are possible, bits that are always 0 are 0. */
bool fxt_head_plausible(uint64_t head, uint64_t words);

enum { FXT_CHAIN = 4 };
/*
 * A chain of FXT_CHAIN plausible records begins at `off`, or fewer, `least` at least, that end
 * where the data ends. `exact`: their parts fill them exactly. For the first bytes of a file, where
 * no tables are known.
 */
bool fxt_plausible(struct source *src, uint64_t off, bool swap, bool exact, int least);

#endif
