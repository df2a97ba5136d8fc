/*
 * Maps streams and substreams to tracks, and finds losses by the counters of streams. A stream is a
 * track like a process's, a substream a track like a thread's below it; each segment has new ones.
 */
#ifndef SPUR_FORMAT_HEPH_TRACK_H
#define SPUR_FORMAT_HEPH_TRACK_H

#include "base/key_index.h"
#include "base/map64.h"
#include "model/trace.h"

enum {
	HEPH_TRACK_SLOTS = 1024,
	HEPH_TRACKS = 1 << 20, /* streams and substreams with separate tracks */
	HEPH_WINDOW = 1024, /* events that may precede a late event in its stream */
	HEPH_GAPS = 1 << 20, /* open gaps; beyond them a gap counts as a loss at once */
};

/* Missing counters: [from, from + count). */
struct heph_gap {
	uint32_t from, count;
	uint32_t size; /* of the packet after it, .. */
	uint64_t off; /* .. and its offset */
	int64_t ts;
	uint32_t events; /* of the stream before it */
};

struct heph_stream {
	uint32_t id, track;
	uint32_t next; /* expected counter */
	bool begun; /* an event was seen */
	/* Shared by the streams beyond HEPH_TRACKS; its counters are not checked */
	bool common;
	struct key_index substreams; /* tracks by id */
	uint32_t skipped, late; /* counters in all its gaps; events that came late */
	struct heph_gap *gaps; /* by counter; that were left up to HEPH_WINDOW events ago */
	size_t ngaps, gaps_cap;
};

struct heph_slot {
	uint64_t substream;
	uint64_t stream_id; /* | HEPH_SLOT_USED */
	struct heph_stream *stream;
	uint32_t track;
};

#define HEPH_SLOT_USED ((uint64_t)1 << 32)

struct heph_tracks {
	struct spur_trace *trace;
	struct diag_log *diag;
	const char *file;
	uint32_t segment, newest; /* from 0 */
	size_t made; /* tracks */
	size_t gaps; /* open, in all streams */
	struct map64 by_id; /* segment << 32 | id of stream, to index + 1 */
	struct heph_stream **streams; /* of all segments */
	size_t nstreams, streams_cap, first; /* first: of the newest segment */
	struct heph_stream *common; /* NULL: not needed yet */
	struct heph_slot slots[HEPH_TRACK_SLOTS]; /* the latest look-ups */
};

void heph_tracks_init(struct heph_tracks *k, struct spur_trace *t, struct diag_log *diag,
		      const char *file);
void heph_tracks_free(struct heph_tracks *k);
/* Starts a segment: later streams belong to it. */
void heph_tracks_segment(struct heph_tracks *k, uint32_t segment);
/* Out of line half of the one below. */
const struct heph_slot *heph_track_slow(struct heph_tracks *k, uint32_t id, uint64_t substream,
					struct heph_slot *s);

/* Returns NULL if out of memory. Valid until the next call. */
static inline const struct heph_slot *heph_track_get(struct heph_tracks *k, uint32_t id,
						     uint64_t substream)
{
	const uint64_t stream_id = id | HEPH_SLOT_USED;
	/*
	 * The top bits of a product; hash64() here and in name.h would make a report 2.5 % slower.
	 */
	struct heph_slot *s =
		&k->slots[((substream ^ stream_id << 31) * 0x9E3779B97F4A7C15u) >> 54];

	if (__builtin_expect(s->substream == substream && s->stream_id == stream_id, 1))
		return s;
	return heph_track_slow(k, id, substream, s);
}

/* The meaning of a counter other than the expected one. */
enum heph_counter {
	HEPH_COUNTER_GAP, /* events are missing or come later */
	HEPH_COUNTER_LATE, /* a missing event has come */
	HEPH_COUNTER_AGAIN, /* the counter was seen before */
	HEPH_COUNTER_RESTART, /* the counter starts again, at 0 or any number */
};

/*
 * Handles an event's counter other than stream->next; `event` has its place, which a gap stores.
 * Calls `lost` with the number of events for each gap that is now certain. Returns false if out of
 * memory.
 */
struct heph_losses {
	bool (*lost)(void *self, const struct heph_stream *s, const struct heph_gap *g);
	void *self;
};
bool heph_counter_odd(struct heph_tracks *k, struct heph_stream *s, uint32_t counter,
		      struct heph_gap event, const struct heph_losses *l, enum heph_counter *what);
/* Treats all gaps of the newest segment's streams as certain. Returns false if out of memory. */
bool heph_counters_end(struct heph_tracks *k, const struct heph_losses *l);

#endif
