/*
 * A copy of a file that others write to in place: parts of it are read when they are wanted, and
 * again when they may have changed. What was read stays as it is, at an address that does not move,
 * until it is read again: so neither a truncated file nor a byte that changes can harm the reader.
 *
 * The copy is an unlinked temporary file, mapped into a reserved range of addresses, so that it
 * takes no private memory.
 */
#ifndef SPUR_BASE_MIRROR_H
#define SPUR_BASE_MIRROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mirror {
	const uint8_t *data; /* zeros where nothing was read */
	uint64_t size; /* of the copy */
	uint64_t reserved; /* bytes of addresses */
	int fd; /* the file; -1: closed */
	int copy; /* the temporary file */
};

/*
 * Opens a regular file and reserves up to `most` bytes of addresses. Returns false (errno) if it
 * cannot be opened. Requires mirror_close() in any case.
 */
bool mirror_open(struct mirror *m, const char *path, uint64_t most);
/* The present size of the file; 0 if that cannot be found out. */
uint64_t mirror_file_size(const struct mirror *m);
/* Makes the copy at least that large. Returns false (errno; ENOMEM: the range is too small). */
bool mirror_grow(struct mirror *m, uint64_t size);
/*
 * Copies `len` bytes at `off` of the file to `at` of the copy, which has room for them; fewer at
 * the end of the file. Returns false (errno) if the file cannot be read or the disk is full.
 */
bool mirror_load(struct mirror *m, uint64_t off, uint64_t at, size_t len);
/* Reads bytes of the file into `to` only. Returns how many: fewer at the file's end. */
size_t mirror_peek(const struct mirror *m, uint64_t off, void *to, size_t len);
/* The file will not change any more: closes it; the copy stays. */
void mirror_end(struct mirror *m);
void mirror_close(struct mirror *m);

#endif
