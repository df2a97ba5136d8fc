/*
 * The packet that a row's record is in. What reads fields and what gives places and ticks of
 * records start from it.
 */
#ifndef SPUR_FORMAT_CTF_LOOKUP_H
#define SPUR_FORMAT_CTF_LOOKUP_H

#include "format/ctf/reader.h"

struct ctf_lookup {
	struct ctf_trace *trace;
	struct ctf_class *class; /* NULL: nothing was found */
	uint64_t room; /* bytes from the packet's begin to the next packet of its stream */
	struct ctf_packet packet; /* a copy: lists of packets may grow and move */
};

/*
 * Finds the last packet at or before the row's place. Returns false if there is none. Called with
 * files held.
 */
bool ctf_lookup(const struct ctf *c, const struct spur_event *ev, struct ctf_lookup *out);

/* The row's first bit in its packet. */
static inline uint64_t ctf_event_bit(const struct ctf_lookup *in, const struct spur_event *ev)
{
	return in->class->bits ? ev->off - 8 * in->packet.off : 8 * (ev->off - in->packet.off);
}

/*
 * Keeps files, packets and traces as they are, where a feed's reader adds to them, until
 * files_release().
 */
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
