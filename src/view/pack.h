/* Bytes as base64 in a page, compressed with gzip before if that is wanted. */
#ifndef SPUR_VIEW_PACK_H
#define SPUR_VIEW_PACK_H

#include <zlib.h>

#include "base/out.h"

struct pack {
	struct out *out;
	z_stream z;
	bool plain; /* not compressed */
	bool failed; /* out of memory */
	uint8_t rest[3]; /* what is not yet written: less than a group of base64 */
	unsigned nrest;
	uint64_t size; /* bytes that were given */
};

/* Requires pack_end() in any case. `out` is borrowed until then. */
void pack_begin(struct pack *p, struct out *out, bool plain);
void pack_bytes(struct pack *p, const void *bytes, size_t n);
/* Appends zeros up to a multiple of 8 bytes. */
void pack_align(struct pack *p);
/* Writes what is left. Returns false if out of memory. */
bool pack_end(struct pack *p);

/* Appends `n` bytes as base64, with padding. */
void put_base64(struct out *o, const void *bytes, size_t n);

#endif
