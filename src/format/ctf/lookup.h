/*
 * Finds the packet of a row's record, from which fields, places and ticks of the record are read.
 */
#ifndef SPUR_FORMAT_CTF_LOOKUP_H
#define SPUR_FORMAT_CTF_LOOKUP_H

#include "format/ctf/reader.h"

struct ctf_lookup {
	struct ctf_trace *trace;
	struct ctf_class *class; /* NULL: not found */
	uint64_t room; /* bytes from the packet's begin to the next packet of its stream */
	struct ctf_packet packet; /* a copy: lists of packets may grow and move */
};

/*
 * Finds the last packet at or before the row's place. Returns false if no packet precedes it.
 * Called with files held (files_hold()).
 */
bool ctf_lookup(const struct ctf *c, const struct spur_event *ev, struct ctf_lookup *out);

/* The row's first bit in its packet. */
static inline uint64_t ctf_event_bit(const struct ctf_lookup *in, const struct spur_event *ev)
{
	return in->class->bits ? ev->off - 8 * in->packet.off : 8 * (ev->off - in->packet.off);
}

/* Prevents readers of feeds from adding files, packets and traces until files_release(). */
static inline void files_hold(struct ctf *c)
{
	if (c->grow)
		pthread_rwlock_rdlock(&c->lock);
}

static inline void files_release(struct ctf *c)
{
	if (c->grow)
		pthread_rwlock_unlock(&c->lock);
}

#endif
