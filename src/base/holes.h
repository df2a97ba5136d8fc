/*
 * The parts of a file that take no room on the disk: they read as zero, and reading them takes time
 * and memory all the same. A reader that knows them need not look.
 */
#ifndef SPUR_BASE_HOLES_H
#define SPUR_BASE_HOLES_H

#include <stdint.h>

struct holes;

/*
 * Finds the holes of a file of that size which are large enough to matter; the descriptor's offset
 * becomes 0. Returns NULL if no hole is large enough, if the file system does not say, or if out of
 * memory. Requires holes_free().
 */
struct holes *holes_find(int fd, uint64_t size);
void holes_free(struct holes *h);
/*
 * Returns where the last data of the range [begin, end) ends: `end`, or the beginning of the hole
 * that reaches up to `end`, but not less than `begin`. `h` may be NULL.
 */
uint64_t holes_data_end(const struct holes *h, uint64_t begin, uint64_t end);
/* How to read the mapped file, for madvise(): what is mostly holes is not read ahead. */
int holes_advice(const struct holes *h, uint64_t size);

#endif
