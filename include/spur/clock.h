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

/* How the clock of a part of a joined trace is related to that of the first part. */
enum spur_related {
	SPUR_RELATED_FIRST, /* it is the first part */
	SPUR_RELATED_SAME, /* the same clock: the names and the epochs agree */
	SPUR_RELATED_BOOT, /* the same clock: both parts say that it is that of the same boot */
	SPUR_RELATED_EPOCHS, /* both parts know what time of day their zero is */
	SPUR_RELATED_ASSUMED, /* names, rates and kinds of zero are equal; nothing contradicts */
	SPUR_RELATED_TOLD, /* spur_options.same_clock */
	SPUR_RELATED_OFFSET, /* nothing but spur_options.offsets relates them */
	SPUR_RELATED_EVENTS, /* pairs of events that spur_options.align names */
	SPUR_RELATED_AUTO, /* events that both have (spur_options.align "auto") */
};

/*
 * A part of a joined trace and its clock. On the first part's clock a time t of the part is
 * t + offset_ns + (t - at_ns) * drift_ppm / 10^6, rounded.
 */
struct spur_relation {
	const char *path; /* the part, as it was opened */
	const char *format; /* its format's name */
	const char *clock; /* its clock's name */
	enum spur_related how;
	const char *word; /* `how` as `spur info --json` has it */
	const char *derived; /* how the relation is known, as a sentence */
	int64_t offset_ns; /* includes what spur_options.offsets adds */
	int64_t added_ns; /* added by spur_options.offsets */
	double drift_ppm; /* how much faster the first part's clock is; 0: as fast */
	int64_t at_ns; /* the part's time at which offset_ns holds, if there is a drift */
	bool error_known;
	/*
	 * How far mapped times may be off: by epochs, what the epochs' precision leaves; by events,
	 * the largest distance of a pair that was used
	 */
	int64_t error_ns;
	uint64_t events; /* pairs of events that offset and drift were fitted to */
	uint64_t rejected; /* pairs that were found but left out as outliers */
	int64_t residual_ns; /* median distance of the pairs from the fit */
};

/*
 * The number of traces that a joined trace was opened from.
 * Returns: a number; 0 if the trace is not a joined one, or NULL.
 * Threads: any thread.
 */
size_t spur_part_count(const struct spur_trace *t);
/*
 * How the clock of a part, by its number below spur_part_count(), is related to the first part's.
 * Returns: true; false, with *out zero, for unknown numbers.
 * Lifetime: the copy is the caller's; its texts are valid until spur_close().
 * Threads: any thread.
 */
bool spur_relation(const struct spur_trace *t, size_t part, struct spur_relation *out);

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
