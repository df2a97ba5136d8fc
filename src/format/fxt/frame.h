/*
 * Framing: finds where records begin and end, and where reading resumes after damage. Used by both
 * passes and by the probe.
 */
#ifndef SPUR_FORMAT_FXT_FRAME_H
#define SPUR_FORMAT_FXT_FRAME_H

#include "base/bits.h"
#include "base/source.h"
#include "format/fxt/wire.h"

enum fxt_frame_state {
	FXT_FRAME_RECORD, /* a record of `size` bytes, all available */
	FXT_FRAME_END, /* the end of the data, at the end of a record */
	FXT_FRAME_DAMAGE, /* not a record: `lost` bytes must be skipped */
};

struct fxt_frame {
	enum fxt_frame_state state;
	uint64_t head;
	uint64_t size;
	uint64_t lost;
	const char *code; /* diagnostic code of the damage */
	bool to_end; /* no plausible record follows */
};

/* No record begins in [from, clear). */
struct fxt_searched {
	uint64_t from, clear;
};

struct fxt;

/* The state of the search for the next record. */
struct fxt_resync {
	/* Tables that references are looked up in; NULL: references are not checked */
	const struct fxt *x;
	bool eager; /* the input may grow: decide by the bytes available, see fxt_frame_at() */
	/*
	 * Ranges without records, by the offset modulo 8, so that no byte is searched repeatedly.
	 */
	struct fxt_searched searched[FXT_WORD];
	uint64_t undecided; /* the first place that more data decides; UINT64_MAX: none */
};

/*
 * Frames the bytes at `off`. Waits for as many bytes as that needs; with r->eager, it does not wait
 * for the rest of a record that the available bytes contradict, if a chain of valid records follows
 * its header.
 */
void fxt_frame_at(struct source *src, uint64_t off, bool swap, struct fxt_resync *r,
		  struct fxt_frame *f);

/* resync.c */
/*
 * SPEC fxt/resync: returns the first offset after `off` where a chain of records begins, or
 * UINT64_MAX if there is no such offset in the data (with r->eager, in the available data).
 */
uint64_t fxt_resync_behind(struct source *src, uint64_t off, bool swap, struct fxt_resync *r);
/*
 * Returns true if the record of `size` bytes at `off`, of which only the beginning is available, is
 * a truncated valid record: the available parts are exact, and its references exist.
 */
bool fxt_record_is_cut(const struct source *src, uint64_t off, uint64_t size, bool swap,
		       const struct fxt_resync *r);

/* Checks the header alone: type and size are valid, and reserved bits are 0. */
bool fxt_head_plausible(uint64_t head, uint64_t words);

enum { FXT_CHAIN = 4 };
/*
 * Returns true if a chain of FXT_CHAIN plausible records begins at `off`, or at least `least` that
 * end where the data ends. `exact`: their parts must fill them exactly. For the first bytes of a
 * file, when no tables are known.
 */
bool fxt_plausible(struct source *src, uint64_t off, bool swap, bool exact, int least);

#endif
