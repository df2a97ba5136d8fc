/* The clock of a trace, and the facts that the trace states about itself. Included by <spur.h>. */
#ifndef SPUR_CLOCK_H
#define SPUR_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct spur_trace;

/* The clock of a trace. */
struct spur_clock {
	const char *name; /* "monotonic", ...; "unknown" */
	const char *derived; /* how the name is known, as a sentence */
	uint64_t hz; /* ticks per second in the records; 0: unknown, a tick counts as a ns */
	bool ticks; /* spur_event.ts and .dur are ticks (spur_options.raw_time), not ns */
	/* Times count from a zero of the trace's own, not from that of the named clock */
	bool own_zero;
	bool epoch_known;
	int64_t epoch_ns; /* add to ts (in ns) for ns since 1970-01-01 UTC */
	int64_t epoch_error_ns; /* maximum error of epoch_ns */
};

/*
 * Copies the properties of the trace's clock.
 * Returns: true; false, with *out zero, if t is NULL.
 * Lifetime: the copy is the caller's; its texts are valid until spur_close().
 * Threads: any thread.
 */
bool spur_clock(const struct spur_trace *t, struct spur_clock *out);

/* A fact that a trace states about itself, as `spur info` shows it. */
struct spur_info {
	const char *key; /* lower-case words with blanks between */
	const char *value; /* NUL-ended; may hold any bytes */
	size_t len; /* of the value */
};

/*
 * The number of facts, known once the trace is open.
 * Returns: a number, 0 if t is NULL.
 * Threads: any thread.
 */
size_t spur_info_count(const struct spur_trace *t);
/*
 * The fact of a number below spur_info_count(), in the order of the trace.
 * Returns: true; false, with *out zero, for unknown numbers.
 * Lifetime: texts are valid until spur_close().
 * Threads: any thread.
 */
bool spur_info(const struct spur_trace *t, size_t i, struct spur_info *out);

#ifdef __cplusplus
}
#endif
#endif
