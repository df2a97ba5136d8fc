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
	struct spb_copy_counts {
		uint64_t chunks, descriptors, unknown, damaged, holes;
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

/* copy_calls.c */
/* Decides what becomes of records that end other calls, if not all are kept. */
bool spb_copy_calls(struct spb_copying *c);
/* *fewer gets the number of calls of SPB_KEEP_FEWER. */
enum spb_keep spb_copy_keeps(struct spb_copying *c, const struct spb_record *r, uint64_t *fewer);

/* copy_chunk.c */
/* Copies a chunk of records. Returns false if out of memory. */
bool spb_copy_records(struct spb_copying *c, uint32_t number);
bool spb_copy_descriptors(struct spb_copying *c, uint32_t number);
/* Writes bytes of a chunk, or all of it, as they are stored, but for times that are shifted. */
void spb_copy_bytes(struct spb_copying *c, const uint8_t *p, uint64_t len);
/* Adds the shift to the ns of a pair of clocks whose ticks are set. */
void spb_copy_shift(const struct spb_copying *c, uint8_t *pair);

#endif
