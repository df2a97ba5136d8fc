/* Copies of recordings (format/copy.h): chunks as they are stored, or with records of their own. */
#ifndef SPUR_FORMAT_SPUR_COPY_H
#define SPUR_FORMAT_SPUR_COPY_H

#include "format/spur/pack.h"
#include "format/spur/reader.h"

/* A file that is copied. */
struct spb_copying {
	struct copy *copy;
	const struct copy_part *part;
	struct spb *s;
	struct out *out;
	uint32_t pid; /* that the copy has */
	uint64_t start; /* the start time that the copy has */
	struct map64
		decisions; /* copy_calls.c: from the offset of a record to what becomes of it */
	struct map64 closes; /* copy_gaps.c: from a chunk to the offset of its last pair */
	struct spb_copy_counts {
		uint64_t chunks, descriptors, unknown, damaged, holes, arguments;
	} * counts;
	bool failed; /* out of memory */
};

/* What becomes of a record. */
enum spb_keep {
	SPB_KEEP, /* as it is */
	SPB_DROP,
	SPB_KEEP_AS_ENTER, /* a TAIL whose call before is not kept */
	SPB_KEEP_FEWER, /* an UNWIND of fewer calls */
};

static inline bool spb_copy_has(const struct spb_copying *c, uint64_t off)
{
	return !c->part->kept || kept_has(c->part->kept, c->part->stream, off);
}

static inline bool spb_copy_has_row(const struct spb_record *r)
{
	return r->kind != SPB_TIME && r->kind != SPB_FIBER && r->kind != SPB_CPU &&
	       r->kind != SPB_PAD;
}

/* copy_calls.c */
/* Decides what becomes of records that end other calls, if not all are kept. */
bool spb_copy_calls(struct spb_copying *c);
/* *fewer gets the number of calls of SPB_KEEP_FEWER. */
enum spb_keep spb_copy_keeps(struct spb_copying *c, const struct spb_record *r, uint64_t *fewer);

/* copy_gaps.c */
/* Decides when the chunks of a ring were closed, if not all are kept. False if out of memory. */
bool spb_copy_gaps(struct spb_copying *c);
/*
 * Whether the copy has the ends that the gap before a chunk implies (SPEC spur/gap): then it needs
 * the chunk, also if it has no record of it.
 */
bool spb_copy_has_gap(const struct spb_copying *c, uint32_t number);
/* Stores the pair at which the chunk at `p` was closed in its copy's head, if one is decided. */
void spb_copy_close(const struct spb_copying *c, const uint8_t *p, uint8_t *head);

/* copy_chunk.c */
/* Copies a chunk of records. Returns false if out of memory. */
bool spb_copy_records(struct spb_copying *c, uint32_t number);
bool spb_copy_descriptors(struct spb_copying *c, uint32_t number);
/* Writes bytes of a chunk, or all of it, as they are stored, but for times that are shifted. */
void spb_copy_bytes(struct spb_copying *c, const uint8_t *p, uint64_t len);
/* Adds the shift to the ns of a pair of clocks whose ticks are set. */
void spb_copy_shift(const struct spb_copying *c, uint8_t *pair);

#endif
