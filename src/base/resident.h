/*
 * Pages of mapped input files that have been read: they are given back to the system in steps, so
 * that the resident memory of a program does not grow with its input.
 *
 * Pages that are needed again are read again, mostly from the system's cache of files. So what is
 * given back costs time if the guess was wrong, and never changes what is read. Memory that is not
 * a read-only mapping of a file must not be passed here: its contents would be lost.
 */
#ifndef SPUR_BASE_RESIDENT_H
#define SPUR_BASE_RESIDENT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Bytes [from, to) of the `size` bytes of the mapping have been read, and reading goes on at `to`.
 * `data` is where the mapping begins; it is unmapped by resident_unmap(). Thread-safe.
 */
void resident_passed(const uint8_t *data, uint64_t size, uint64_t from, uint64_t to);
/* Unmaps a file whose bytes may have been passed. */
void resident_unmap(const uint8_t *data, size_t size);

#endif
