/*
 * The shared memory of LTTng-UST's ring buffers (--shm-path) after a crash: sub-buffers that hold a
 * packet each.
 */
#ifndef SPUR_FORMAT_CTF_CRASH_H
#define SPUR_FORMAT_CTF_CRASH_H

#include <stdbool.h>
#include <stdint.h>

#include "format/format.h"

struct ctf_ring {
	const uint8_t *data; /* the caller's */
	uint64_t size;
	bool swap;
	uint32_t at[11]; /* offsets and strides of its numbers */
	uint8_t bytes[8];
	uint32_t stride[3];
	uint64_t subbuf, count; /* size and number of sub-buffers */
	uint64_t next, end; /* bytes produced before the next sub-buffer, and in total */
};

/* One sub-buffer. */
struct ctf_subbuf {
	uint64_t off; /* bytes before it in the file */
	uint64_t bytes; /* written to it, head included */
	bool whole; /* its packet is closed: its header has the sizes */
	bool bad; /* its numbers are invalid: its data cannot be read */
};

/* Returns true if the file is such memory. */
bool crash_is(const uint8_t *data, uint64_t size);
/* Returns false if the numbers in it are invalid. */
bool crash_open(struct ctf_ring *r, const uint8_t *data, uint64_t size);
/*
 * Gets the next sub-buffer in the order of writing, skipping empty ones. Returns false at the end.
 */
bool crash_next(struct ctf_ring *r, struct ctf_subbuf *out);
/* recover.c: spur_format.recover */
enum spur_status ctf_recover(const char *path, struct format_recovery *r, struct spur_error *err);

#endif
