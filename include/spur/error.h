/* Errors: how a call ended, and why it failed. Included by <spur.h>. */
#ifndef SPUR_ERROR_H
#define SPUR_ERROR_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct spur_trace;

enum spur_status {
	SPUR_OK,
	SPUR_END, /* no more data */
	SPUR_MORE, /* more bytes may come later (a pipe still open) */
	SPUR_WARN, /* done, but a part is missing */
	SPUR_FAIL, /* not done: see the error */
};

enum spur_error_code {
	SPUR_ERR_NONE,
	SPUR_ERR_USAGE, /* the caller's arguments are invalid */
	SPUR_ERR_MEMORY,
	SPUR_ERR_IO, /* the system failed to read or write */
	SPUR_ERR_FORMAT, /* unknown or unreadable format */
	SPUR_ERR_LIMIT, /* a stated limit is exceeded */
};

/* Why a call failed. */
struct spur_error {
	enum spur_error_code code;
	char message[500]; /* one line, no newline: FILE: what was expected, what was found */
	/*
	 * The input that the error is about: its path as given or found; for a filter, the name of
	 * its text ("where", "name", "from" or "to"). Empty if no input applies. If the path is too
	 * long, its last part.
	 */
	char stream[256];
	/*
	 * Offset in that input in bytes; in a filter's text, in characters. UINT64_MAX: no place
	 */
	uint64_t offset;
};

/*
 * Copies the error of the latest call on the trace that returned SPUR_FAIL, whichever thread
 * called.
 * Returns: true; false with code SPUR_ERR_NONE if no call has failed.
 * Lifetime: the copy is the caller's.
 * Threads: any thread.
 */
bool spur_last_error(const struct spur_trace *t, struct spur_error *err);

#ifdef __cplusplus
}
#endif
#endif
