/*
 * Unpacks xz and bzip2, a piece at a time. A file may have several streams of such data; each is
 * begun by unpack_begin(). Floor 0; source.h is what readers use.
 */
#ifndef SPUR_BASE_UNPACK_H
#define SPUR_BASE_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum unpack_kind { UNPACK_XZ, UNPACK_BZIP2 };

enum unpack_status {
	UNPACK_MORE, /* the stream goes on */
	UNPACK_END, /* the stream is complete */
	UNPACK_NOMEM, /* out of memory */
	UNPACK_BAD, /* not such data; unpack_problem() says what */
};

struct unpacker;

/* What one step reads and writes; it moves the pointers and takes from the lengths. */
struct unpack_piece {
	const uint8_t *in;
	size_t in_len;
	uint8_t *out;
	size_t out_len;
};

/* Returns NULL if out of memory. */
struct unpacker *unpack_new(enum unpack_kind kind);
void unpack_free(struct unpacker *u);
/* Begins a stream, wherever the one before is. Returns false if out of memory. */
bool unpack_begin(struct unpacker *u);
/* Requires unpack_begin(). Needs no input to write what is unpacked already. */
enum unpack_status unpack_step(struct unpacker *u, struct unpack_piece *p);
/* What was found instead of good data by the last step, a static string. */
const char *unpack_problem(const struct unpacker *u);

#endif
