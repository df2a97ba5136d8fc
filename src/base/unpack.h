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
	UNPACK_BAD, /* invalid data; unpack_problem() describes it */
};

struct unpacker;

/* The input and output of a step, which advances the pointers and reduces the lengths. */
struct unpack_piece {
	const uint8_t *in;
	size_t in_len;
	uint8_t *out;
	size_t out_len;
};

/* Returns NULL if out of memory. */
struct unpacker *unpack_new(enum unpack_kind kind);
void unpack_free(struct unpacker *u);
/* Begins a new stream. Returns false if out of memory. */
bool unpack_begin(struct unpacker *u);
/* Requires unpack_begin(). Needs no input to write what is unpacked already. */
enum unpack_status unpack_step(struct unpacker *u, struct unpack_piece *p);
/* Returns what the last step found instead of valid data, a static string. */
const char *unpack_problem(const struct unpacker *u);

#endif
