/* Statistics of spans by function, and percentiles of any durations. Included by <spur.h>. */
#ifndef SPUR_STATISTICS_H
#define SPUR_STATISTICS_H

#include <stdint.h>

#include <spur/error.h>
#include <spur/span.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A distribution of durations: exact for up to 64 of them, beyond that with an error of at most
 * 1/128 (0.8 %), in bounded memory. `spur report` shows the same percentiles.
 */
struct spur_spread;

/*
 * Makes an empty spread.
 * Returns: the spread, NULL if out of memory.
 * Lifetime: the caller's until spur_spread_free().
 * Threads: any thread.
 */
struct spur_spread *spur_spread_new(void);
/*
 * Adds a duration.
 * Returns: SPUR_OK; SPUR_FAIL if out of memory: durations are missing from then on.
 * Threads: one thread at a time for each spread.
 */
enum spur_status spur_spread_add(struct spur_spread *s, uint64_t duration);
/*
 * The number of durations added so far.
 * Returns: a number, 0 if s is NULL.
 * Threads: one thread at a time for each spread.
 */
uint64_t spur_spread_count(const struct spur_spread *s);
/*
 * The duration at or below which `percent` (0 to 100) percent of all durations are, by nearest
 * rank. More durations may be added later.
 * Returns: the duration; 0 if the spread is empty, or if out of memory.
 * Threads: one thread at a time for each spread.
 */
uint64_t spur_spread_percentile(struct spur_spread *s, unsigned percent);
/*
 * Frees a spread. NULL: does nothing.
 * Returns: nothing.
 * Lifetime: the spread becomes invalid.
 * Threads: one thread at a time for each spread.
 */
void spur_spread_free(struct spur_spread *s);

#ifdef __cplusplus
}
#endif
#endif
