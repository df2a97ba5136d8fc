/* One error (why an operation failed as a whole), and the log of counted, located diagnostics. */
#ifndef SPUR_BASE_ERR_H
#define SPUR_BASE_ERR_H

#include <assert.h>
#include <spur.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

/*
 * Fills `err` (NULL is allowed) and returns SPUR_FAIL, so that a caller writes `return
 * err_set(...)`. The message has the form `FILE: expected X, found Y`, without newline.
 */
enum spur_status err_set(struct spur_error *err, enum spur_error_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Adds the place: a path, and an offset in it or DIAG_NO_OFF. Returns SPUR_FAIL. */
enum spur_status err_at(struct spur_error *err, const char *stream, uint64_t offset);
/*
 * As err_set() with SPUR_ERR_MEMORY, or with the error of a temporary file if that was the last
 * failure charged to this thread. Requires that a caller that charges a trace (mem_charge()) still
 * does.
 */
enum spur_status err_nomem(struct spur_error *err);

/*
 * Diagnostics. Grouped by (code, file): a count, the bytes lost, and the first few messages.
 * Bounded whatever the input does: at most DIAG_GROUPS groups (the rest are counted in the code's
 * group with the file "..."), DIAG_KEEP messages a group. `code` must be a string literal,
 * `format/what`, e.g. "uftrace/torn-record". Not thread-safe: each feed has its own log;
 * diag_merge() joins them in a fixed order.
 */
enum { DIAG_GROUPS = 4096, DIAG_KEEP = 4 };

enum diag_level {
	DIAG_NOTE, /* reported, but nothing is wrong or lost: an optional file is missing */
	/* Odd, repaired, or discarded by the producer: the file is not damaged */
	DIAG_WARN,
	DIAG_DAMAGE, /* the input is damaged: exit code 3 */
};

struct diag_group {
	const char *code;
	char *file; /* owned by the log */
	enum diag_level level;
	uint64_t count;
	uint64_t bytes_lost;
	uint64_t first_off; /* byte offset of the first, or UINT64_MAX: no offset */
	uint32_t nkept;
	struct {
		uint64_t off;
		char *text; /* "record: expected X, found Y"; owned by the log */
	} kept[DIAG_KEEP];
};

enum { DIAG_LEVELS = DIAG_DAMAGE + 1 };

/*
 * Each feed has a log, and most stay empty, so the store is allocated with the first entry. Only
 * src/base/err.c uses its members, except for `overflow`.
 */
struct diag_log {
	union {
		const volatile int *suppressed; /* see diag_suppress(); until there is a store */
		struct diag_store *store; /* holds the groups, counts and `suppressed` */
	};
	uint16_t unstored[DIAG_LEVELS]; /* by level: entries for which there was no store */
	bool stored; /* there is a store */
	bool overflow; /* out of memory: counts are right, some groups or texts are missing */
};

static_assert(sizeof(struct diag_log) <= 16, "there is one for each of a million threads");

#define DIAG_NO_OFF UINT64_MAX

void diag_init(struct diag_log *log);
/*
 * Adds nothing from when on `*stop` is other than 0: reading was stopped, and input truncated by
 * that is not damage. NULL: adds everything. Requires a log without entries.
 */
void diag_suppress(struct diag_log *log, const volatile int *stop);
void diag_free(struct diag_log *log);
/* Returns how many entries of the level the log has. */
uint64_t diag_count(const struct diag_log *log, enum diag_level level);
/* What the diagnostics of a log add up to. */
struct diag_totals {
	uint64_t damaged, bytes_lost; /* damaged places, and what they cost */
	uint64_t warnings;
};
struct diag_totals diag_totals(const struct diag_log *log);
/* Returns the number of groups. */
uint32_t diag_groups(const struct diag_log *log);
/* Returns group `i`, valid until the next entry. */
const struct diag_group *diag_at(const struct diag_log *log, size_t i);
/* Sorts the groups by `compare`, as qsort() does. Nothing may be added afterwards. */
void diag_sort(struct diag_log *log, int (*compare)(const void *a, const void *b));
/* `off` is a byte offset in `file`, or DIAG_NO_OFF. Costs no formatting once the group is full. */
void diag_add(struct diag_log *log, enum diag_level level, const char *code, const char *file,
	      uint64_t off, uint64_t bytes_lost, const char *fmt, ...)
	__attribute__((format(printf, 7, 8)));
/* Adds all of `from` to `into`; `from` stays as it is. */
void diag_merge(struct diag_log *into, const struct diag_log *from);
/*
 * The same for the log of the trace at `path`: prefixes files that are named relative to it, so
 * that names are unique among traces.
 */
void diag_merge_below(struct diag_log *into, const struct diag_log *from, const char *path);

#endif
