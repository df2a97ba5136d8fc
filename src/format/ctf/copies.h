/*
 * Copies of CTF traces: files are copied whole where all of them is kept and nothing is wrong with
 * them, else packet by packet; packets are copied whole, or made anew of the events that are kept.
 */
#ifndef SPUR_FORMAT_CTF_COPIES_H
#define SPUR_FORMAT_CTF_COPIES_H

#include "base/spool.h"
#include "format/copy.h"
#include "format/ctf/reader.h"

/* Counters of a data stream as it is copied: those of one feed. */
struct copies_stream {
	const struct ctf_feed *feed;
	const struct kept *kept; /* NULL: everything */
	struct kept *real; /* all that can be read, where it is damaged; NULL: it is not */
	uint64_t extra; /* packets of a whole copy that were made of parts of others */
	bool numbered; /* `number` is that of the packet after the last one */
	uint64_t number;
	uint64_t hidden; /* discarded events that no longer count */
};

/* Where a packet's own values are, in bits from its begin; size 0: it has none. */
struct copies_field {
	uint64_t at;
	uint32_t size;
	bool big, reversed;
};

enum { CTF_COPY_CLASSES = 256 /* classes of packets in one file */ };

enum copies_value {
	COPIES_BEGIN,
	COPIES_END,
	COPIES_CONTENT,
	COPIES_PACKET,
	COPIES_DISCARDED,
	COPIES_SEQUENCE,
	COPIES_COMPRESSION,
	COPIES_ENCRYPTION,
	COPIES_CHECKSUM_SCHEME,
	COPIES_CHECKSUM,
	COPIES_MAGIC,
	COPIES_CLASS,
	COPIES_UUID, /* 128 bits */
	COPIES_VALUES,
};

/* A packet of the output, for its entry in the index file. */
struct copies_entry {
	uint64_t off, total, content; /* bytes, bits, bits */
	uint64_t begin, end, discarded, class, instance, sequence;
};

/* A copy of one part. */
struct copies {
	struct copy *copy;
	const struct copy_part *part;
	struct ctf *c;
	int64_t shift; /* ns by which the part's clocks move */
	const char *root; /* of the trace's files */
	const char *prefix; /* of the output's names */
	struct copies_stream *streams; /* by number of the feed */
	uint32_t *feed_of; /* by file */
	/* The file that is written. */
	struct out *out;
	uint64_t written; /* bytes of it */
	struct spool spool;
	struct spool_seq entries;
	uint64_t nentries;
	/* The packet that is made: bits of it so far. */
	uint8_t *packet;
	uint64_t packet_size; /* bytes of memory */
	uint64_t at;
	struct ctf_cursor cursor;
	uint8_t have[CTF_SLOTS_FIXED];
	struct spur_args scratch;
	struct copies_field fields[COPIES_VALUES];
	/* What is told at the end. */
	uint64_t made, sorted, left_out, indexes, stray;
	bool mend; /* headers of the file's packets may be wrong */
	bool failed; /* copy->err is set */
};

/*
 * copy_packet.c: copies a packet, or what is kept of it. `next`: the packet after it in its stream
 * has losses that are kept. Returns false if out of memory or with s->failed set.
 */
bool copies_packet(struct copies *s, struct ctf_file *f, const struct ctf_packet *p,
		   const struct ctf_packet *before, bool next);
/* Returns true if the losses that a packet tells are kept. */
bool copies_losses(const struct copies *s, const struct ctf_file *f, const struct ctf_packet *p);
/*
 * copy_clock.c: returns true if the part's times can be moved so that it is on the first part's
 * clock: its clocks have the same origin, and offsets that can say the move exactly.
 */
bool copies_shift_fits(const struct copy *copy, size_t part);
/* Returns the ns by which the clocks of a part move. */
int64_t copies_shift(const struct copy *copy, size_t part);
/* Writes the metadata with moved clocks. Returns false if it cannot be read that way. */
bool copies_shift_out(const struct ctf_meta *m, int64_t ns, struct out *o);
/* Bits of a place of rows in a file: places count bytes or bits. */
static inline uint64_t copies_place(const struct ctf_class *k, const struct ctf_packet *p,
				    uint64_t bit)
{
	return k->bits ? 8 * p->off + bit : p->off + bit / 8;
}

#endif
