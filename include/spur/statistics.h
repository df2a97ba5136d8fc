/* Statistics of spans by function, and percentiles of any durations. Included by <spur.h>. */
#ifndef SPUR_STATISTICS_H
#define SPUR_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spur/error.h>
#include <spur/span.h>

#ifdef __cplusplus
extern "C" {
#endif

struct spur_trace;

/*
 * The calls of one function in numbers, as `spur report` shows them, samples excluded. Times are in
 * the unit of rows. How long a call lasts that is open when the data ends is unknown: avg to stdev
 * leave such calls out if there are others.
 */
struct spur_latency {
	uint32_t cls; /* 0: time off the CPU, which has no name */
	uint32_t name; /* string id */
	uint64_t calls; /* whose begin is in the data */
	uint64_t unfinished; /* whose begin or end is not in the data */
	uint64_t total; /* of recursive calls only the outermost counts */
	uint64_t self; /* time in no span inside and not off the CPU */
	uint64_t avg, min, max;
	uint64_t p50, p90, p99; /* as exact as those of struct spur_spread */
	uint64_t stdev;
};

/* Latencies of all functions, summed up from spans. */
struct spur_statistics;

/*
 * Makes empty statistics of the spans of one trace. Several threads need one each, which
 * spur_statistics_join() adds up.
 * Returns: SPUR_OK; SPUR_FAIL, with *out NULL and `err` (may be NULL) set, if out of memory.
 * Lifetime: until spur_statistics_free(), which must be called before spur_close().
 * Threads: any thread.
 */
enum spur_status spur_statistics_new(struct spur_statistics **out, struct spur_trace *t,
				     struct spur_error *err);
/*
 * Adds spans, in any order.
 * Returns: SPUR_OK; SPUR_FAIL if out of memory: spans are missing from then on.
 * Threads: one thread at a time for each statistics.
 */
enum spur_status spur_statistics_add(struct spur_statistics *s, const struct spur_span *spans,
				     size_t count);
/*
 * Adds the spans of other statistics of the same trace, which do not change.
 * Returns: as spur_statistics_add().
 * Threads: one thread at a time for each statistics.
 */
enum spur_status spur_statistics_join(struct spur_statistics *into,
				      const struct spur_statistics *from);
/*
 * The latency of a function: of all classes whose spur_class.head is `cls`, or of the time off the
 * CPU if `cls` is 0. Each function once: call it for all numbers below spur_class_count(). More
 * spans may be added later.
 * Returns: true; false, with *out zero, if no span of the function was added, if `cls` is not the
 * head of a function, or if out of memory (spur_last_error()).
 * Lifetime: the copy is the caller's.
 * Threads: one thread at a time for each statistics.
 */
bool spur_statistics_of(struct spur_statistics *s, uint32_t cls, struct spur_latency *out);
/*
 * Frees statistics. NULL: does nothing.
 * Returns: nothing.
 * Lifetime: the statistics end here.
 * Threads: one thread at a time for each statistics.
 */
void spur_statistics_free(struct spur_statistics *s);

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
