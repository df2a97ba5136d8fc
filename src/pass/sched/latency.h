/*
 * Times from a wake-up to running, of one thread: one by one while they are few, as there may be a
 * million threads that were woken once or twice; then in a spread.
 */
#ifndef SPUR_PASS_SCHED_LATENCY_H
#define SPUR_PASS_SCHED_LATENCY_H

#include <stdbool.h>
#include <stdint.h>

struct sched_latency;

/* Adds a time to `*l`, which is NULL at first. Returns false if out of memory. */
bool sched_latency_add(struct sched_latency **l, uint64_t ns);
void sched_latency_free(struct sched_latency *l);
/* Called once after the last time was added, before the functions below. NULL is allowed. */
void sched_latency_end(struct sched_latency *l);
/* Return the mean, the greatest, and the one that 99 % are not above. */
uint64_t sched_latency_mean(const struct sched_latency *l);
uint64_t sched_latency_most(const struct sched_latency *l);
uint64_t sched_latency_p99(const struct sched_latency *l);

#endif
