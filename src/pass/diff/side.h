/*
 * One input of a comparison: its functions or call paths with their sums. Holds copies only, so
 * the trace can be closed before the next one is opened.
 */
#ifndef SPUR_PASS_DIFF_SIDE_H
#define SPUR_PASS_DIFF_SIDE_H

#include "base/source.h"
#include "pass/diff/dist.h"
#include "pass/fold/tree.h"

/* What is compared of a function. */
enum diff_measure {
	DIFF_TOTAL, /* ns */
	DIFF_SELF, /* ns */
	DIFF_CALLS,
	DIFF_AVG, /* ns, like those below */
	DIFF_P50,
	DIFF_P90,
	DIFF_P99,
	DIFF_MEASURES
};

struct diff_values {
	uint64_t of[DIFF_MEASURES];
	uint8_t known; /* 1 << enum diff_measure */
};

struct diff_line {
	struct group group; /* without its class; strings in the arena */
	struct diff_values values;
	const struct dist *dist; /* of single calls; in the arena; NULL: unknown */
};

/* Zero-initialise, then diff_side_init(). */
struct diff_side {
	struct arena arena; /* in scratch memory */
	struct diff_line *lines;
	size_t n, cap;
	uint64_t self; /* ns, sum of all lines or nodes */
	uint8_t saved; /* of a saved report: the columns that it has, 1 << enum diff_measure */
	struct tree tree; /* of call paths: functions are numbers of lines, which lack values */
};

void diff_side_init(struct diff_side *s);
void diff_side_free(struct diff_side *s);

/*
 * Reads the trace of `env` by function, or by call path. SPUR_WARN: no row passed the filter;
 * SPUR_FAIL with the error set.
 */
enum spur_status diff_side_functions(struct diff_side *s, struct pass_env *env);
enum spur_status diff_side_paths(struct diff_side *s, struct pass_env *env);

/* Returns true if the file begins like a report by function that was saved as JSON. */
bool diff_saved_is(const uint8_t *head, size_t len);
/*
 * Reads a report that was saved as JSON. Durations of single calls stay unknown. Returns SPUR_FAIL,
 * with the error set, if it is damaged or not a report by function.
 */
enum spur_status diff_side_saved(struct diff_side *s, const struct source *saved,
				 struct spur_error *err);

/* Sets a value. */
static inline void diff_value_set(struct diff_values *v, enum diff_measure m, uint64_t value)
{
	v->of[m] = value;
	v->known |= (uint8_t)(1 << m);
}

/* Adds a line with copies of the group's strings. Returns NULL if out of memory. */
struct diff_line *diff_side_add(struct diff_side *s, const struct group *group);

#endif
