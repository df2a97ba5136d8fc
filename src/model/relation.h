/*
 * How the clock of one trace becomes that of another: the line that maps its times, and how that
 * line was found. A joined trace (flow/join.h) has one of these for each of its parts.
 */
#ifndef SPUR_MODEL_RELATION_H
#define SPUR_MODEL_RELATION_H

#include <spur.h>

/* Drift is in units of 2^-60, at most CLOCK_DRIFT_MAX (an eighth) in either direction. */
enum { CLOCK_DRIFT_BITS = 60 };
#define CLOCK_DRIFT_ONE ((int64_t)1 << CLOCK_DRIFT_BITS)
#define CLOCK_DRIFT_MAX (CLOCK_DRIFT_ONE / 8)

/*
 * A time t becomes t + shift + floor((t - pivot) * drift + 1/2). The result is computed in 128 bits
 * and clamped to 64. INVARIANT: |drift| <= CLOCK_DRIFT_MAX, so the map is monotone: two times keep
 * their order, or become equal.
 */
struct clock_map {
	int64_t shift; /* added at `pivot`; the unit of rows (ns, or ticks with raw_time) */
	int64_t pivot; /* on the clock that is mapped; of no effect if `drift` is 0 */
	int64_t drift; /* in 2^-60 */
};

/* What is known of a relation beside its map. */
struct clock_relation {
	enum spur_related how;
	int64_t added; /* the part of the shift that spur_options.offsets asked for, in ns */
	int64_t error; /* how far times may be off, in ns; -1: unknown */
	uint64_t events; /* pairs of events that the map was fitted to */
	uint64_t rejected; /* pairs that were found but left out as outliers */
	int64_t residual; /* median distance of the pairs from the map, in ns */
};

int64_t clock_map_ts(const struct clock_map *m, int64_t ts);
/* Returns what remains of a duration that begins at `ts` on the clock that is mapped. */
int64_t clock_map_dur(const struct clock_map *m, int64_t ts, int64_t dur);
/* The inverse of clock_map_ts(): returns the least time that is mapped to `ts` or later. */
int64_t clock_map_back(const struct clock_map *m, int64_t ts);
/* Returns drift in 10^-12 (10^-6 ppm), rounded to the nearest. */
int64_t clock_drift_trillionths(int64_t drift);

/* Returns the relation in one word, such as "epochs", as JSON has it. */
const char *relation_word(enum spur_related how);
/* Returns how the relation is known, as a sentence without a full stop. */
const char *relation_text(enum spur_related how);

#endif
