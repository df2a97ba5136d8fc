/*
 * Tracks (timelines: threads, CPUs, ...), streams (files) and origins (who wrote the records).
 * Included by <spur.h>.
 */
#ifndef SPUR_TRACK_H
#define SPUR_TRACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct spur_trace;

enum spur_track_kind {
	SPUR_TRACK_PROCESS,
	SPUR_TRACK_THREAD,
	SPUR_TRACK_CPU,
	SPUR_TRACK_ASYNC,
	SPUR_TRACK_COUNTER,
	SPUR_TRACK_OTHER,
	SPUR_TRACK_PROVIDER, /* one of several producers */
	SPUR_TRACK_LANE, /* spans of its parent that overlap others */
};

#define SPUR_NONE UINT32_MAX /* no track, no stream */

struct spur_track {
	uint32_t parent; /* SPUR_NONE: a top-level track */
	uint32_t name; /* string id */
	enum spur_track_kind kind;
	int64_t pid, tid; /* the bits of an unsigned id; -1: not applicable */
	int32_t cpu; /* -1: not applicable */
};

struct spur_stream {
	const char *path; /* of its file, relative to the trace's own path; not always UTF-8 */
	uint64_t size; /* bytes; 0 while a pipe is open */
	uint32_t origin; /* of its records, unless spur_place names another */
};

/*
 * The producer of a stream, or of a part of a stream that several producers share, and how it
 * writes records.
 */
struct spur_origin {
	uint32_t name; /* string id of the producer's name; 0: no name */
	uint32_t provider; /* its number in the trace; SPUR_NONE: no number */
	uint32_t track; /* of kind SPUR_TRACK_PROVIDER; SPUR_NONE: no such track */
	char byte_order; /* 'l': little endian, 'b': big endian, 0: unknown */
	bool clock_shared; /* its ticks are those of spur_clock() */
	uint64_t hz; /* ticks per second of its clock; 0: unknown, a tick counts as a ns */
};

/*
 * The number of tracks; ids are below it. Grows while rows are read.
 * Returns: a number, 0 if t is NULL.
 * Threads: any thread.
 */
size_t spur_track_count(const struct spur_trace *t);
/*
 * The track of an id (spur_event.track).
 * Returns: the track, NULL for unknown ids.
 * Lifetime: valid until spur_close().
 * Threads: any thread.
 */
const struct spur_track *spur_track(const struct spur_trace *t, uint32_t id);
/*
 * The number of streams; ids are below it. Grows while a trace that is still being written is read.
 * Returns: a number, 0 if t is NULL.
 * Threads: any thread.
 */
size_t spur_stream_count(const struct spur_trace *t);
/*
 * The stream of an id (spur_event.stream).
 * Returns: the stream, NULL for unknown ids.
 * Lifetime: valid until spur_close().
 * Threads: any thread.
 */
const struct spur_stream *spur_stream(const struct spur_trace *t, uint32_t id);
/*
 * The number of origins; ids are below it.
 * Returns: a number, 0 if t is NULL or if the format has none.
 * Threads: one thread at a time while rows of a live trace are read, else any thread.
 */
size_t spur_origin_count(const struct spur_trace *t);
/*
 * Copies the origin of an id (spur_stream.origin, spur_place.origin).
 * Returns: true; false, with *out zero, for unknown ids.
 * Lifetime: the copy is the caller's.
 * Threads: as spur_origin_count().
 */
bool spur_origin(const struct spur_trace *t, uint32_t id, struct spur_origin *out);

#ifdef __cplusplus
}
#endif
#endif
