/*
 * What the public calls share: checking arguments, and the state that they keep with a trace.
 *
 * A call that is used wrongly changes nothing. It fails with SPUR_ERR_USAGE and a message that
 * begins with its name; if the library was built with SPUR_ABORT_ON_MISUSE and without NDEBUG it
 * aborts with that message as assert() does.
 */
#ifndef SPUR_API_API_H
#define SPUR_API_API_H

#include "base/err.h"
#include "model/trace.h"

struct filter;
struct span_reader;
struct spur_feed;

/* How the rows of a trace are read: the ways cannot be mixed. */
enum api_reading {
	API_UNREAD,
	API_MERGED, /* spur_next() */
	API_FEEDS, /* spur_feed_next() */
	API_SPANS, /* spur_next_spans() */
};

struct api_state {
	pthread_mutex_t lock; /* for `last` and `failed` */
	struct spur_error last; /* of spur_last_error(); code 0: none */
	enum api_reading reading;
	struct filter *filter; /* of spur_set_filter(); NULL: all rows pass */
	struct arena texts; /* of the filter */
	struct spur_feed **feeds; /* by number; NULL: not opened yet */
	struct span_reader *spans; /* of spur_next_spans(); made at the first call */
};

/*
 * Returns the state of a trace, made at the first call; NULL if out of memory. Several threads may
 * ask at once.
 */
struct api_state *api_state(const struct spur_trace *t);
/* Frees it, with the feeds that are open. */
void api_state_free(struct spur_trace *t);

/*
 * Sets `err` (if not NULL) and the trace's last error (if `t` is not NULL) and returns SPUR_FAIL.
 * In debug builds it aborts instead.
 */
enum spur_status api_misuse(const struct spur_trace *t, struct spur_error *err, const char *fmt,
			    ...) __attribute__((format(printf, 3, 4)));
/* Makes `from` the trace's last error. Returns SPUR_FAIL. */
enum spur_status api_failed(const struct spur_trace *t, const struct spur_error *from);
/* The same for a call that was out of memory. */
enum spur_status api_no_memory(const struct spur_trace *t, struct spur_error *err);

/* The half of api_given() that fails. Returns false. */
bool api_missing(const struct spur_trace *t, const char *call, const char *what);
/* Returns true if the argument is not NULL; else the call `call` is misused: it lacks `what`. */
static inline bool api_given(const struct spur_trace *t, const char *call, const void *argument,
			     const char *what)
{
	return __builtin_expect(argument != NULL, 1) || api_missing(t, call, what);
}

/* Returns true if `ev` can be a row of the trace; else the call is misused. */
bool api_row(const struct spur_trace *t, const char *call, const struct spur_event *ev);

/*
 * Completes the caller's options, which may be NULL and of another size, into *full. Fails with
 * SPUR_ERR_USAGE if a value is invalid.
 */
enum spur_status api_options(const struct spur_options *given, struct spur_options *full,
			     struct spur_error *err);
/*
 * Copies a struct that begins with its size: `given` bytes long, `size` in this library, at least
 * `least`. Bytes that the caller does not have are 0. Fails with SPUR_ERR_USAGE if the caller has
 * more and sets them.
 */
enum spur_status api_copy_sized(void *to, size_t size, const void *from, size_t least,
				const char *what, struct spur_error *err);

#endif
