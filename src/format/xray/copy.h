/*
 * Shared by the parts of XRay's copies: copy.c for flight data recorder logs, copy_anew.c for their
 * buffers that cannot stay as they are, copy_flat.c for basic logs and profiles.
 */
#ifndef SPUR_FORMAT_XRAY_COPY_H
#define SPUR_FORMAT_XRAY_COPY_H

#include "format/copy.h"
#include "format/xray/fdr.h"

/* Reads the rows of a thread's buffers with their raw ticks, one at a time. */
struct xray_copy_cursor {
	const struct xray_thread *of; /* whose buffers it reads; NULL: none */
	struct xray_thread thread; /* its state of its own */
	struct xray_feed xf;
	struct feed feed;
	struct spur_event row;
	bool has_row; /* `row` was read and not used yet */
	bool ended;
};

/* The copy of one log. */
struct xray_copy_run {
	struct copy *copy;
	const struct copy_part *part;
	struct xray *x;
	uint64_t shift; /* ticks to add, modulo 2^64 */
	uint64_t capacity; /* bytes of a buffer that is written anew, without BufferExtents */
	struct xray_copy_cursor cursor;
	struct out body; /* of a buffer that is written anew */
	/* Sizes of events are those of what is there (SPEC xray/exact-mark) */
	bool mends;
	bool failed; /* out of memory */
	/* What was done: */
	uint64_t anew, repeated, mended;
};

/* Returns true if the row of the record at `off` is to be written. */
static inline bool xray_copy_keeps(const struct xray_copy_run *r, uint64_t off)
{
	return !r->part->kept || kept_has(r->part->kept, r->x->stream, off);
}

/*
 * Writes the kept records of buffer `i` of x->list as new buffers, with the ticks and CPUs that
 * they have as rows. Sets r->failed if out of memory.
 */
void xray_copy_anew(struct xray_copy_run *r, size_t i);
/* Returns the latest ticks that a reader takes from buffer `i`, as body.c does. */
uint64_t xray_copy_ticks_end(const struct xray *x, size_t i);
/* Returns true if reading buffer `i` finds no damage. */
bool xray_copy_reads(struct xray_copy_run *r, size_t i);
void xray_copy_anew_close(struct xray_copy_run *r);

/* Write all of the part but its header. Set r->failed if out of memory. */
void xray_copy_basic(struct xray_copy_run *r);
void xray_copy_profile(struct xray_copy_run *r);

/* spur_format.copy */
enum spur_status xray_copy(struct copy *copy);

#endif
