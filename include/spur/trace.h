/* Traces: open, read by time, close; the strings of a trace. Included by <spur.h>. */
#ifndef SPUR_TRACE_H
#define SPUR_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include <spur/error.h>
#include <spur/event.h>
#include <spur/options.h>

#ifdef __cplusplus
extern "C" {
#endif

struct spur_trace;

/*
 * Opens a file, a directory, "-" (standard input), or a session of a relay daemon
 * (net://HOST[:PORT]/host/NAME/SESSION). `opt` and `err` may be NULL.
 * Returns: SPUR_OK; SPUR_FAIL with *out NULL and `err` set.
 * Lifetime: the trace is the caller's until spur_close(); path and options are copied.
 * Threads: any thread.
 */
enum spur_status spur_open(struct spur_trace **out, const char *path,
			   const struct spur_options *opt, struct spur_error *err);
/*
 * Opens `count` traces, of any formats, as one whose rows come by time, on the first trace's clock.
 * Each keeps its own streams and tracks; spur_format_name() is "joined". Clocks are related because
 * they are the same clock, by their epochs, or as spur_options.offsets, align and same_clock say;
 * otherwise the call fails with SPUR_ERR_USAGE. spur_relation() says how. A trace that is still
 * being written cannot be joined.
 * Returns: as spur_open().
 * Lifetime: as spur_open().
 * Threads: any thread.
 */
enum spur_status spur_open_several(struct spur_trace **out, const char *const *paths, size_t count,
				   const struct spur_options *opt, struct spur_error *err);
/*
 * Opens a trace of one file from `size` bytes in memory. `name` is the path that messages show;
 * other files of the trace, such as a program's symbols, are looked for beside it, unless it is
 * NULL or "-". The trace cannot be followed (spur_options.follow).
 * Returns: as spur_open().
 * Lifetime: `data` must stay valid and unchanged until spur_close(); name and options are copied.
 * Threads: any thread.
 */
enum spur_status spur_open_memory(struct spur_trace **out, const char *name, const void *data,
				  size_t size, const struct spur_options *opt,
				  struct spur_error *err);
/*
 * Opens a trace of one file from the current position of a descriptor of a file, pipe or socket.
 * `name` is as for spur_open_memory(). The trace cannot be followed.
 * Returns: as spur_open().
 * Lifetime: the caller keeps the descriptor and may close it at once; its position moves if it is
 * not a regular file. Name and options are copied.
 * Threads: any thread.
 */
enum spur_status spur_open_fd(struct spur_trace **out, int fd, const char *name,
			      const struct spur_options *opt, struct spur_error *err);
/*
 * Closes a trace and frees everything that belongs to it, including open feeds. NULL: does
 * nothing.
 * Returns: nothing.
 * Lifetime: everything that calls on the trace returned becomes invalid.
 * Threads: one thread at a time.
 */
void spur_close(struct spur_trace *t);

/*
 * Reads the next events of all streams, merged by time. Waits for more if the input is a pipe that
 * is still open. A trace is read either by this call or by feeds (spur_feed_open()).
 * Returns: SPUR_OK with at least one row; SPUR_END with none; SPUR_FAIL with none if out of memory,
 * as every later call then does. Other traces are not affected.
 * Lifetime: the rows are valid until the next call on the trace's rows or spur_close().
 * Threads: one thread at a time.
 */
enum spur_status spur_next(struct spur_trace *t, const struct spur_event **rows, size_t *count);

/*
 * The name of the trace's format, such as "uftrace", as spur_options.format takes it; "joined" for
 * traces opened as one.
 * Returns: a name, "" if t is NULL.
 * Lifetime: static.
 * Threads: any thread.
 */
const char *spur_format_name(const struct spur_trace *t);
/*
 * The version of the format that the trace states, such as "4" or "2.0".
 * Returns: text, "" if the trace states none.
 * Lifetime: valid until spur_close().
 * Threads: any thread.
 */
const char *spur_format_version(const struct spur_trace *t);
/*
 * The byte order of the trace's records.
 * Returns: "little", "big" or "mixed"; "" if none is known.
 * Lifetime: static.
 * Threads: any thread.
 */
const char *spur_byte_order(const struct spur_trace *t);
/*
 * The text of a string id; `len` (may be NULL) gets its length, as it may hold any bytes.
 * Returns: NUL-ended text, "" for unknown ids.
 * Lifetime: valid until spur_close().
 * Threads: any thread.
 */
const char *spur_string(const struct spur_trace *t, uint32_t id, size_t *len);

#ifdef __cplusplus
}
#endif
#endif
