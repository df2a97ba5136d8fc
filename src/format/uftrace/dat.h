/* What the loops over the records of TID.dat share: dat.c makes rows of them, sum.c sums. */
#ifndef SPUR_FORMAT_UFTRACE_DAT_H
#define SPUR_FORMAT_UFTRACE_DAT_H

#include "base/bits.h"
#include "format/uftrace/reader.h"
#include "format/uftrace/wire.h"
#include "model/sink.h"

enum {
	DEPTH_SURE = 512, /* below, a record's depth cannot be one of 1,024 more */
	/* Magic, ENTRY or EXIT, no payload, depth below DEPTH_SURE. */
	ORDINARY_MASK = MAGIC_MASK | 6 | DEPTH_SURE << 6,
};

static_assert((unsigned)DEPTH_SURE <= SINK_DEPTH, "ordinary records have room in a sink");

static inline uint32_t slot_class(const struct addr_slot *s)
{
	uint32_t name_cls[2];

	memcpy(name_cls, &s->name_cls, sizeof(name_cls));
	return name_cls[1];
}

/* Records from this time on need more than a look at the cache, or come after a side row. */
static inline uint64_t window_stop(const struct uftrace_feed *uf, uint64_t bound)
{
	const uint64_t until = uf->cache->window.until;

	return until < bound ? until : bound;
}

/*
 * Returns the slot of a function's address, by a look-up of its class if it is new, or NULL if out
 * of memory. Requires a time in the cache's window.
 */
const struct addr_slot *uftrace_slot(struct uftrace *u, struct uftrace_feed *uf, uint64_t time,
				     uint64_t addr);
/*
 * Sums the next records into the batch's sink, as far as they are regular and before `bound`; if
 * they are many, the batch is to have few rows. Returns true if there may be more of them.
 */
bool uftrace_sum(struct uftrace *u, struct uftrace_feed *uf, const struct source *src,
		 struct batch *b, uint64_t bound);

#endif
