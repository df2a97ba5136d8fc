/*
 * A set of records, each known by its stream and its offset there: those that a copy keeps. It
 * takes a bit for each byte of the parts of streams that have such records, in scratch memory.
 * One thread at a time changes a set.
 */
#ifndef SPUR_MODEL_KEPT_H
#define SPUR_MODEL_KEPT_H

#include <stdbool.h>
#include <stdint.h>

struct kept;

/* Returns an empty set, or NULL if out of memory. Free with kept_free(). */
struct kept *kept_new(void);
void kept_free(struct kept *k);
/* Both return false if out of memory. */
bool kept_add(struct kept *k, uint32_t stream, uint64_t off);
/* Adds all records of another set. */
bool kept_join(struct kept *k, const struct kept *from);
bool kept_has(const struct kept *k, uint32_t stream, uint64_t off);
/* Returns the first offset >= `off` in the set, or UINT64_MAX. */
uint64_t kept_next(const struct kept *k, uint32_t stream, uint64_t off);
/* Returns the number of records in the set. */
uint64_t kept_count(const struct kept *k);

#endif
