/*
 * A Heph trace being read. By time: a first pass over all packets (open) finds the epoch, streams,
 * losses and stragglers; a second (next) makes the rows. As stored: one pass that makes rows as
 * packets come.
 */
#ifndef SPUR_FORMAT_HEPH_READER_H
#define SPUR_FORMAT_HEPH_READER_H

#include "format/heph/marks.h"
#include "format/heph/name.h"
#include "format/heph/packet.h"
#include "format/heph/track.h"
#include "model/args.h"
#include "model/lane.h"
#include "model/reorder.h"

enum { HEPH_SEGMENTS = 4096 };

/* Packets from `from` on, up to the next segment's, have times relative to this epoch. */
struct heph_segment {
	uint64_t from;
	uint64_t epoch;
	__int128 shift; /* added to its times: rows are relative to the first epoch */
};

/* Names of arguments and fields. */
enum heph_word {
	HEPH_W_DESCRIPTION,
	HEPH_W_UNDECODED,
	HEPH_W_VALUE,
	HEPH_W_SIZE,
	HEPH_W_STREAM,
	HEPH_W_COUNTER,
	HEPH_W_SUBSTREAM,
	HEPH_W_START,
	HEPH_W_END,
	HEPH_W_OPTION,
	HEPH_W_ATTRIBUTES,
	HEPH_WORDS
};

struct heph_schemas; /* schema.c */

enum heph_what { HEPH_EVENT, HEPH_OPTION, HEPH_LOSS };

/* An item that the first pass stores: a straggler, or a row that stands for no event. */
struct heph_item {
	uint64_t place; /* offset of the packet << 2 | enum heph_what */
	uint32_t track;
	uint32_t count; /* of lost events */
};

/* ts and dur of a row. */
struct heph_span {
	int64_t ts, dur;
};

/*
 * Second pass: the events of a window that are not stragglers, in stored order, and their order by
 * time.
 */
struct heph_window {
	struct heph_span spans[REORDER_WINDOW];
	const uint8_t *places[REORDER_WINDOW];
	/* By time: (ts - the least) << HEPH_INDEX_BITS | ~index. */
	uint64_t order[REORDER_WINDOW];
	uint32_t at, count; /* of order */
};

enum { HEPH_INDEX_BITS = 10 }; /* of heph_window.order */
static_assert(REORDER_WINDOW == 1 << HEPH_INDEX_BITS, "an index fits below its time");

struct heph {
	struct spur_trace *trace;
	struct feed *feed;
	const char *file;
	struct heph_walk walk;
	bool epoch_seen;
	struct heph_segment *segments; /* by offset; the first exists from the start */
	size_t nsegments, segments_cap;
	const struct heph_segment *segment; /* of the current packet */
	struct heph_tracks tracks;
	struct heph_names descriptions, options, attributes;
	uint64_t noptions; /* stored in `order` */
	uint32_t options_track; /* for rows that belong to no stream */
	uint32_t lost_name, lost_class;
	uint32_t named; /* tracks whose names were told, and the bytes of these names */
	size_t named_bytes;
	uint32_t words[HEPH_WORDS]; /* names of arguments and fields */
	struct reorder order;
	struct lanes *lanes;
	int64_t first; /* earliest ts of all events */
	/*
	 * ts of the previous event, or (second pass) of the previous row; initially INT64_MIN, or
	 * `first`
	 */
	int64_t last;
	struct heph_window *window; /* second pass */
	bool ended;
	/* As stored. */
	bool held; /* a packet whose row waits for room */
	struct heph_packet packet;
	uint32_t held_track;
	struct heph_span held_span;
	bool stored, begun; /* begun: the layout is known */
	bool bookkeeping; /* by time: rows of epochs too */
	struct heph_schemas *schemas; /* NULL until one is requested */
	struct heph_gaps *gaps; /* NULL until some packets are copied */
	struct heph_item *losses; /* certain losses, whose rows come next */
	size_t nlosses, losses_cap, losses_done;
};

static inline uint64_t heph_off(const struct heph *h, const uint8_t *p)
{
	return (uint64_t)(p - h->walk.base);
}

struct heph_times {
	uint64_t start, end;
};

static inline struct heph_times heph_times(const struct heph *h, const uint8_t *p)
{
	const uint8_t *const name = p + h->walk.head;

	return (struct heph_times){ be64(name - HEPH_START_BACK), be64(name - HEPH_END_BACK) };
}

static inline uint32_t heph_stream_id(const uint8_t *p)
{
	return be32(p + HEPH_STREAM_AT);
}

static inline uint32_t heph_counter_of(const uint8_t *p)
{
	return be32(p + HEPH_COUNTER_AT);
}

/* What the event at p names, if that is all it does. SPEC heph/track-names */
static inline enum heph_naming heph_event_naming(const struct heph *h, const uint8_t *p,
						 uint32_t size)
{
	const struct heph_times t = heph_times(h, p);

	if (__builtin_expect(t.start != t.end, 1))
		return HEPH_NAMES_EVENT;
	return heph_naming(p + h->walk.head + heph_name_len(p, h->walk.head), p + size);
}

/* SPEC heph/old-layout: no substreams; all events are the runtime's */
static inline uint64_t heph_substream(const struct heph *h, const uint8_t *p)
{
	return h->walk.head == HEPH_EVENT_HEAD ? be64(p + HEPH_SUBSTREAM_AT) : 0;
}

/* Out of line half of the next. */
struct heph_span heph_far_span(const struct heph_segment *s, struct heph_times t);

/* ts and dur of an event's row. SPEC heph/end-before-start: such a span lasts 0 ns */
static inline struct heph_span heph_span(const struct heph_segment *s, struct heph_times t)
{
	if (__builtin_expect(s->shift || (t.start | t.end) >> 63, 0))
		return heph_far_span(s, t);
	return (struct heph_span){ (int64_t)t.start,
				   t.end > t.start ? (int64_t)(t.end - t.start) : 0 };
}

/* scan.c: the first pass. Both report damage to the feed's log. Returns false if out of memory. */
bool heph_scan(struct heph *h);
/* Registers an event or a metadata packet. Called by the pass that sees it first. */
bool heph_meet_event(struct heph *h, const struct heph_packet *k, struct heph_span span,
		     uint32_t *track);
bool heph_meet_option(struct heph *h, const struct heph_packet *k);
/* After the last packet. */
bool heph_meet_end(struct heph *h);
/* Returns true if the packet is an epoch with a value. */
bool heph_is_epoch(const struct heph_packet *k);
uint64_t heph_epoch(const struct heph_packet *k);
const struct heph_segment *heph_segment_at(const struct heph *h, uint64_t off);
/*
 * Returns the track of rows that belong to no stream, adding it when first needed. Returns
 * SPUR_NONE if out of memory.
 */
uint32_t heph_options_track(struct heph *h);

/* place.c */
/* Adds the origin of a segment, which has the segment's number. Returns false if out of memory. */
bool heph_origin_add(struct heph *h, size_t segment);
void heph_place(struct spur_trace *t, const struct spur_event *ev, struct spur_place *place);
bool heph_ticks(struct spur_trace *t, const struct spur_event *ev, uint64_t ticks[2]);

/* read.c */
enum spur_status heph_read(struct heph *h, struct batch *b);
enum spur_status heph_read_stored(struct heph *h, struct batch *b);

/* schema.c */
/* Called with t->lock held. Returns NULL if out of memory. */
const struct spur_schema *heph_schema(struct spur_trace *t, const struct event_class *cls);
void heph_schemas_free(struct heph_schemas *s);

/* args.c */
/*
 * Decodes the arguments of an event's row. `described`: with its description, for events that share
 * the class of names beyond the limit. Returns false if out of memory.
 */
bool heph_event_args(struct heph *h, const struct heph_packet *k, bool described,
		     struct spur_args *args);
enum spur_status heph_args(struct spur_trace *t, const struct spur_event *ev,
			   struct spur_args *args);
enum spur_status heph_fields(struct spur_trace *t, const struct spur_event *ev,
			     struct spur_args *args);

#endif
