/*
 * LTTng's index files (index/NAME.idx beside a stream NAME): where each packet of a stream stands,
 * in case that its own header does not say so any more. See hints.c.
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

/* Entries of an index file; points into its bytes. Zeroed: there is none. */
struct ctf_hints {
	const uint8_t *entries;
	size_t count;
	uint32_t size; /* bytes of an entry */
	bool has_instance;
};

/*
 * SPEC ctf/index-file: takes an index file whose entries rise in the stream. False: it is none, or
 * not sane; *why (a literal) says so.
 */
bool hints_open(struct ctf_hints *h, const uint8_t *data, uint64_t size, const char **why);
void hints_get(const struct ctf_hints *h, size_t i, struct ctf_hint *out);
/* The first entry at or behind a byte of the stream; `count`: none. */
size_t hints_find(const struct ctf_hints *h, uint64_t off);

#endif
