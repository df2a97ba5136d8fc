/* The sections and the head of a store, written when all blocks are. */
#ifndef SPUR_STORE_SEAL_H
#define SPUR_STORE_SEAL_H

#include "store/parts.h"

/*
 * Writes all that follows the blocks, which end at *end, then the head. `*end` becomes the size of
 * the file. Returns false if out of memory, or if writing fails.
 */
bool store_seal(struct store_writer *w, const char *identity, uint64_t *end);
/* Writes bytes at an offset. Returns false if that fails, which store_writer_finish() tells. */
bool writer_put(struct store_writer *w, uint64_t at, const void *p, size_t size);
/* The sum of a section: that of its pieces. `sum` is that of the pieces before, 0 at first. */
enum { SECTION_PIECE = 64 << 10 };
uint32_t section_sum(uint32_t sum, const void *p, size_t size);

#endif
