/* Feeds: reading a trace in parts, on several threads. Included by <spur.h>. */
#ifndef SPUR_FEED_H
#define SPUR_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spur/error.h>
#include <spur/event.h>

#ifdef __cplusplus
extern "C" {
#endif

struct spur_trace;

/* A part of a trace that can be read separately: in most formats the rows of one thread. */
struct spur_feed;

/* The properties of a feed that are known before it is read. */
struct spur_feed_info {
	uint32_t track; /* its main track; SPUR_NONE: no main track */
	/* All rows of this stream are in the feed, in stored order; SPUR_NONE: no such stream */
	uint32_t stream;
	uint64_t size; /* approximate bytes of its data; 0: unknown. Start large feeds first */
};

/*
 * The number of feeds, known once the trace is open.
 * Returns: a number, 0 if t is NULL.
 * Threads: any thread.
 */
size_t spur_feed_count(const struct spur_trace *t);
/*
 * Copies the properties of a feed.
 * Returns: true; false, with *out zero, for unknown numbers.
 * Lifetime: the copy is the caller's.
 * Threads: any thread.
 */
bool spur_feed_info(const struct spur_trace *t, size_t number, struct spur_feed_info *out);
/*
 * Whether rows of one track may come from several feeds (CTF, where each stream is that of a CPU).
 * If so, only spur_next() gives the rows of a track by time; a program that does not need that
 * order may still read feeds.
 * Returns: true or false.
 * Lifetime: does not change while the trace is open.
 * Threads: any thread.
 */
bool spur_tracks_shared(const struct spur_trace *t);
/*
 * Opens feed `number` for reading, which is possible once for each feed. All feeds together have
 * the rows of spur_next(), which can no longer be called.
 * Returns: SPUR_OK; SPUR_FAIL, with *out NULL and `err` (may be NULL) set, if the feed was opened
 * before, if spur_next() was called, if the filter needs the rows of all feeds by time, or if out
 * of memory.
 * Lifetime: the feed is valid until spur_close(), and can be read until spur_feed_close().
 * Threads: any thread.
 */
enum spur_status spur_feed_open(struct spur_feed **out, struct spur_trace *t, size_t number,
				struct spur_error *err);
/*
 * Reads the feed's next rows, which are in time order except for rows with SPUR_F_BACK.
 * Returns: as spur_next().
 * Lifetime: the rows are valid until the next call on the feed.
 * Threads: one thread at a time for each feed; different feeds at the same time.
 */
enum spur_status spur_feed_next(struct spur_feed *f, const struct spur_event **rows, size_t *count);
/*
 * Ends reading a feed and frees its buffers. NULL: does nothing.
 * Returns: nothing.
 * Lifetime: the feed's rows become invalid.
 * Threads: as spur_feed_next().
 */
void spur_feed_close(struct spur_feed *f);

#ifdef __cplusplus
}
#endif
#endif
