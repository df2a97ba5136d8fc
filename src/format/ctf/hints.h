/*
 * LTTng's index files (index/NAME.idx beside a stream NAME): the place of each packet of a stream,
 * used if the packet's own header is damaged. See hints.c.
 */
#ifndef SPUR_FORMAT_CTF_HINTS_H
#define SPUR_FORMAT_CTF_HINTS_H

#include "base/err.h"
#include "base/source.h"

/* One packet, as the index has it. */
struct ctf_hint {
	uint64_t off; /* bytes in the stream */
	uint64_t total, content; /* bits */
	uint64_t begin, end; /* clock, cycles */
	uint64_t discarded;
	uint64_t class_id, instance, sequence;
	bool has_instance; /* version 1.1: instance and sequence are there */
};

/* Entries of an index file; points into its bytes. Zeroed: no index file. */
struct ctf_hints {
	const uint8_t *entries;
	size_t count;
	uint32_t size; /* bytes of an entry */
	bool has_instance;
};

/*
 * SPEC ctf/index-file: opens an index file whose entries ascend in the stream. Returns false if it
 * is invalid, with the reason in *why (a literal).
 */
bool hints_open(struct ctf_hints *h, const uint8_t *data, uint64_t size, const char **why);
void hints_get(const struct ctf_hints *h, size_t i, struct ctf_hint *out);
/* Returns the first entry at or after a byte of the stream, or `count`. */
size_t hints_find(const struct ctf_hints *h, uint64_t off);

#endif
