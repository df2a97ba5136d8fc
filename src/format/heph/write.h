/*
 * The writer's parts: packets (write_packet.c), streams and substreams (write_ids.c), and the order
 * of packets (write.c).
 */
#ifndef SPUR_FORMAT_HEPH_WRITE_H
#define SPUR_FORMAT_HEPH_WRITE_H

#include "base/map64.h"
#include "format/heph/marks.h"
#include "format/heph/reader.h"
#include "format/writer.h"

enum heph_loss {
	HEPH_LOST_KIND = LOSS_OWN,
	HEPH_LOST_ID,
	HEPH_LOST_SUBSTREAM,
	HEPH_LOST_TIME,
	HEPH_LOST_TYPE,
	HEPH_LOST_TEXT,
	HEPH_LOST_PAYLOAD,
	HEPH_LOST_TWICE,
	HEPH_LOST_GAP,
	HEPH_LOST_END
};

/* A stream that is written: a process. */
struct heph_target {
	uint32_t number; /* its id in the file */
	uint32_t counter; /* of its next event */
	uint64_t gap; /* events that are lost before its next one */
	bool exact; /* the number is the process's id */
	bool loose; /* of threads without a process's track */
	uint32_t process; /* the track that it was made for */
	uint32_t first; /* the track of its first thread */
	struct map64 substreams; /* number to the track of its thread + 1 */
	uint64_t substitute; /* the next number for a thread whose own cannot be used */
};

/* Where events of a track go. */
struct heph_ids {
	uint32_t target; /* index + 1; 0: not known yet */
	bool exact; /* both numbers are those of the source */
	uint64_t substream;
};

/* An event that is to be written. */
struct heph_out_event {
	const struct spur_event *row;
	const struct spur_event *last; /* the END row of its span, or NULL */
	int64_t end; /* ns on the trace's clock */
};

struct heph_writer {
	struct write *write;
	struct spur_trace *trace;
	const struct heph *source; /* the source's reader if it is one Heph trace, else NULL */
	bool old; /* the layout of before March 2021 */
	bool begun; /* the epoch is written */
	struct out packet; /* the packet that is being made */
	struct out path; /* name of the attribute that is being made */
	struct spur_args args, last_args; /* of a row, and of its END row */
	uint16_t row_losses; /* 1 << (reason - LOSS_OWN): of the event that is being made */
	bool failed; /* out of memory */
	struct heph_target *targets;
	size_t ntargets, targets_cap;
	struct map64 by_process; /* track of the process to index + 1 */
	struct map64 by_number; /* number of a stream to index + 1 */
	uint32_t substitute; /* the next number for a process whose own cannot be used */
	struct heph_ids *ids; /* by track */
	size_t ids_cap;
	struct heph_queue *queue;
	uint32_t *owners; /* tracks of substreams, in the order of their first events */
	size_t nowners, owners_cap;
	uint64_t latest; /* the latest time that was written */
};

/* write_ids.c. Returns NULL if out of memory. Valid until the next call. */
const struct heph_ids *heph_ids_of(struct heph_writer *w, uint32_t track);
void heph_ids_free(struct heph_writer *w);

/*
 * write_names.c. Appends packets with the names of all processes and threads that have events.
 * Returns false if out of memory.
 */
bool heph_put_names(struct heph_writer *w, struct out *o);

/* write_packet.c. Both append a packet to `o`. They return false if out of memory. */
bool heph_put_epoch(struct heph_writer *w, struct out *o);
bool heph_put_event(struct heph_writer *w, const struct heph_out_event *e, struct out *o);

/*
 * write_source.c: packets of a source that is a Heph trace itself, whose names and attributes are
 * copied.
 */
/* Returns true if the row has such a packet. */
bool heph_has_packet(const struct heph_writer *w, const struct spur_event *row);
/* Appends it. Returns false if out of memory. */
bool heph_put_packet(struct heph_writer *w, const struct spur_event *row, struct out *o);
/* Returns the time at which the event after a LOST row ends, as rows have times. */
int64_t heph_gap_end(const struct heph_writer *w, const struct spur_event *row);

/* Counts a loss of the event that is being made, once for each reason. */
static inline void heph_lose(struct heph_writer *w, enum heph_loss reason)
{
	w->row_losses |= (uint16_t)(1 << (reason - LOSS_OWN));
}

/*
 * Appends the head of an event's packet, with a size of 0 that heph_end_packet() sets, to
 * w->packet. Returns false if out of memory.
 */
bool heph_begin_packet(struct heph_writer *w, const struct spur_event *row, uint64_t start,
		       uint64_t end);
/* Appends a text with its length, which is cut to 65,535 bytes. */
void heph_put_text(struct heph_writer *w, const char *s, size_t len);
/* Appends a mark with a text. */
void heph_put_mark(struct heph_writer *w, enum heph_mark mark, const char *text, size_t len);
/* Copies the packet to `o`, and counts the losses of `kind`. Returns false if out of memory. */
bool heph_end_packet(struct heph_writer *w, unsigned kind, struct out *o);

#endif
