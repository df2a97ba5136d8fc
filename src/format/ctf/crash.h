/*
 * Shared memory of LTTng-UST's ring buffers (--shm-path), as a crash leaves it: sub-buffers that
 * hold a packet each.
 */
#ifndef SPUR_FORMAT_CTF_CRASH_H
#define SPUR_FORMAT_CTF_CRASH_H

#include <stdbool.h>
#include <stdint.h>

struct ctf_ring {
	const uint8_t *data; /* the caller's */
	uint64_t size;
	bool swap;
	uint32_t at[11]; /* where its numbers are, and how far it is from one to the next */
	uint8_t bytes[8];
	uint32_t stride[3];
	uint64_t subbuf, count; /* size and number of sub-buffers */
	uint64_t next, end; /* bytes produced before the sub-buffer to come, and in all */
};

/* One sub-buffer. */
struct ctf_subbuf {
	uint64_t off; /* bytes before it in the file */
	uint64_t bytes; /* written to it, head included */
	bool whole; /* its packet is closed: its head says the sizes */
	bool bad; /* what is said of it cannot be: nothing can be had from it */
};

/* The file is such memory. */
bool crash_is(const uint8_t *data, uint64_t size);
/* False: the numbers in it cannot be. */
bool crash_open(struct ctf_ring *r, const uint8_t *data, uint64_t size);
/*
 * The next sub-buffer in the order of writing; those without anything in them are left out. False:
 * no more.
 */
bool crash_next(struct ctf_ring *r, struct ctf_subbuf *out);

#endif
