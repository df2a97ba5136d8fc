/* Filters: which events are read. Included by <spur.h>. */
#ifndef SPUR_FILTER_H
#define SPUR_FILTER_H

#include <stddef.h>
#include <stdint.h>

#include <spur/error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct spur_trace;

/* How names are compared. */
enum spur_match {
	/* Extended regular expressions; a name without special characters is exact */
	SPUR_MATCH_REGEX,
	SPUR_MATCH_GLOB,
	SPUR_MATCH_EXACT,
	SPUR_MATCH_FORMS
};

/*
 * Selects the rows to read; all conditions that are set must hold. Initialise with SPUR_FILTER() or
 * spur_filter_default(). docs/selecting.md describes the texts.
 */
struct spur_filter {
	size_t size; /* sizeof(struct spur_filter), as spur_options.size */
	/* An expression, such as "dur > 1ms && name =~ 'read'"; NULL: no condition */
	const char *where;
	/* NULL-terminated patterns: events with any of these names; NULL: all */
	const char *const *names;
	enum spur_match match; /* how `names` are compared */
	/*
	 * Rows pass from time `from` to before time `to`, written as for --from and --to ("1.5s"
	 * counts from the first event, "@5ms" is on the trace's own clock); NULL: no limit. Formats
	 * that can seek skip the rest.
	 */
	const char *from, *to;
	/* Rows with begin <= ts < end, in the unit of rows; both 0: no limit. */
	int64_t begin, end;
	/*
	 * Minimum duration of calls in ns; 0: all. SPUR_MIN_DUR_OF_TRACE: the threshold below which
	 * the trace itself asks analyses to leave calls out, which `spur report` uses.
	 */
	int64_t min_dur;
};

#define SPUR_MIN_DUR_OF_TRACE INT64_C(-1)

/* As SPUR_OPTIONS(). */
#define SPUR_FILTER(...) { .size = sizeof(struct spur_filter), __VA_ARGS__ }

/* Returns a filter that all rows pass, for any version of C++. Any thread. */
static inline struct spur_filter spur_filter_default(void)
{
#ifdef __cplusplus
	struct spur_filter filter = {};
#else
	struct spur_filter filter = { 0 };
#endif

	filter.size = sizeof(filter);
	return filter;
}

/*
 * Makes spur_next() and feeds give only rows that pass the filter. Must be called before rows are
 * read; a later call replaces the filter. NULL: all rows pass.
 * Returns: SPUR_OK; SPUR_FAIL, with the previous filter unchanged, if the filter is invalid (`err`,
 * which may be NULL, names the text and the place in it), if rows have been read, or if out of
 * memory.
 * Lifetime: the filter's texts are copied.
 * Threads: one thread at a time.
 */
enum spur_status spur_set_filter(struct spur_trace *t, const struct spur_filter *filter,
				 struct spur_error *err);

#ifdef __cplusplus
}
#endif
#endif
