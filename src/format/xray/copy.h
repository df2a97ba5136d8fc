/*
 * Shared by the parts of XRay's copies: copy.c for flight data recorder logs, copy_anew.c for their
 * buffers that cannot stay as they are, copy_flat.c for basic logs and profiles.
 */
#ifndef SPUR_FORMAT_XRAY_COPY_H
#define SPUR_FORMAT_XRAY_COPY_H

#include "format/copy.h"
#include "format/xray/fdr.h"

enum { XRAY_COPY_ROWS = 64 /* of a buffer, read at once */ };

/* Reads the rows of a buffer with their raw ticks. */
struct xray_copy_cursor {
	struct xray_thread thread; /* its state of its own */
	struct xray_feed xf;
	struct feed feed; /* `diag`: what is found in the buffers that are written */
	struct spur_event rows[XRAY_COPY_ROWS];
	uint32_t at, count; /* of `rows` */
};

/*
 * The states of a thread at the beginning and at the end of the buffer of it that was read last, as
 * the time of a row may depend on all rows before. `next`: the buffer that follows the state; 0: no
 * state.
 */
struct xray_copy_states {
	struct xray_thread thread[2];
	size_t next[2];
};

/* The copy of one log. */
struct xray_copy_run {
	struct copy *copy;
	const struct copy_part *part;
	struct xray *x;
	uint64_t shift; /* ticks to add, modulo 2^64 */
	uint64_t capacity; /* bytes of a buffer that is written anew, without BufferExtents */
	/* Wall times by index in x->list if they are not the buffers' own; else NULL */
	int64_t *walls;
	struct xray_copy_cursor cursor;
	struct xray_copy_states *states; /* by thread, in scratch memory; NULL until needed */
	struct out body; /* of a buffer that is written anew */
	/* Sizes of events are those of what is there (SPEC xray/exact-mark) */
	bool mends;
	bool failed; /* out of memory */
	/* What was done: */
	uint64_t anew, repeated, mended;
	uint64_t strays; /* arguments without their call, left out */
	uint64_t moved; /* rows whose estimated times are later than a reader takes */
};

enum { XRAY_CAPACITY_MOST = 16 << 20 /* bytes of a buffer that is written anew */ };

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
/* Returns the wall time, in us, with which the copy of buffer `i` of x->list begins. */
int64_t xray_copy_wall(const struct xray_copy_run *r, size_t i);
/*
 * Returns the latest wall time that parts of the copy of buffer `i` may have, so that readers order
 * them before the thread's next buffer: that of the first part at least.
 */
int64_t xray_copy_wall_last(const struct xray_copy_run *r, size_t i);
/* Returns the latest ticks that a reader takes from buffer `i`, as body.c does. */
uint64_t xray_copy_ticks_end(const struct xray *x, size_t i);
/* Returns true if reading buffer `i` finds no damage. */
bool xray_copy_reads(struct xray_copy_run *r, size_t i);
void xray_copy_anew_close(struct xray_copy_run *r);

/* Write all of the part but its header. Set r->failed if out of memory. */
void xray_copy_basic(struct xray_copy_run *r);
void xray_copy_profile(struct xray_copy_run *r);

/* spur_format.joins, spur_format.copy */
bool xray_joins(const struct copy *copy);
enum spur_status xray_copy(struct copy *copy);

#endif
