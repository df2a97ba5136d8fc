/*
 * Framing of packets, resynchronization after damage, and the two layouts of events. All numbers
 * are big-endian.
 *
 * Packets are returned in stored order; a size is trusted only if the bytes are available. The walk
 * depends on the bytes alone, not on how they arrive, so it can be repeated.
 */
#ifndef SPUR_FORMAT_HEPH_PACKET_H
#define SPUR_FORMAT_HEPH_PACKET_H

#include "base/bits.h"
#include "base/err.h"
#include "base/source.h"
#include "format/heph/wire.h"

enum { HEPH_USUAL = 16 << 20 }; /* bytes of a packet; larger ones are reported */

static inline uint16_t be16(const uint8_t *p)
{
	return load16(p, order_swaps(true));
}

static inline uint32_t be32(const uint8_t *p)
{
	return load32(p, order_swaps(true));
}

static inline uint64_t be64(const uint8_t *p)
{
	return load64(p, order_swaps(true));
}

static inline uint32_t heph_size(const uint8_t *p)
{
	return be32(p + HEPH_SIZE_AT);
}

/*
 * The length of an event's description or an option's name; `head`: bytes of the packet up to it.
 */
static inline uint16_t heph_name_len(const uint8_t *p, size_t head)
{
	return be16(p + head - HEPH_NAME_LEN_BACK);
}

static inline bool heph_is_magic(uint32_t v)
{
	return v == heph_event_magic || v == heph_meta_magic;
}

/*
 * A packet within the data. SPEC heph/packet, SPEC heph/metadata, SPEC heph/event: its name is
 * within it too
 */
struct heph_packet {
	const uint8_t *p;
	uint32_t size;
	bool meta;
};

struct heph_walk {
	struct source *src;
	const uint8_t *base, *at; /* start of the data; the next packet */
	const uint8_t *end; /* of the available data */
	uint32_t head; /* bytes of an event's header: HEPH_EVENT_HEAD or HEPH_OLD_HEAD */
	bool eof; /* no more bytes will come */
	bool wait; /* wait for bytes that have not arrived, else return HEPH_MORE */
	bool more; /* HEPH_MORE was returned instead of waiting */
	/* No chain of packets follows an incomplete one before this place */
	const uint8_t *looked;
	bool eager; /* return the available packets without waiting: see cut_at() */
	bool loose; /* descriptions may be too long: the layout is not known yet */
	uint64_t spent; /* bytes read to distinguish truncated packets from whole ones */
	struct diag_log *diag; /* NULL: damage has been reported already */
	const char *file;
};

enum heph_step { HEPH_PACKET, HEPH_MORE, HEPH_END };

/* Starts at the beginning of the source's data; without diagnostics, waiting for bytes. */
void heph_walk_init(struct heph_walk *w, struct source *src);
enum heph_step heph_walk_slow(struct heph_walk *w, struct heph_packet *k);

/*
 * Returns the size of the undamaged event at p if another packet follows it, else 0: then call
 * heph_walk_next(). For loops that keep the position in a register.
 */
static inline uint32_t heph_event_at(const struct heph_walk *w, const uint8_t *p)
{
	const size_t left = (size_t)(w->end - p);
	uint32_t size;

	if (__builtin_expect(left < HEPH_EVENT_HEAD || be32(p) != heph_event_magic, 0))
		return 0;
	size = heph_size(p);
	if (__builtin_expect(size < w->head || size > HEPH_USUAL || left < (size_t)size + 4 ||
				     w->head + heph_name_len(p, w->head) > size ||
				     !heph_is_magic(be32(p + size)),
			     0))
		return 0;
	return size;
}

/* The next packet. */
static inline enum heph_step heph_walk_next(struct heph_walk *w, struct heph_packet *k)
{
	const uint32_t size = heph_event_at(w, w->at);

	if (__builtin_expect(!size, 0))
		return heph_walk_slow(w, k);
	*k = (struct heph_packet){ .p = w->at, .size = size };
	source_record_passed(w->src, (uint64_t)(w->at - w->base), size);
	w->at += size;
	return HEPH_PACKET;
}

/*
 * Returns true if events have the layout from before March 2021. The first event whose attributes
 * end at the packet's end in only one of the layouts decides. Does not move the walk.
 */
bool heph_layout_is_old(const struct heph_walk *w);

/* Returns the probability that the first bytes are those of a Heph trace, 0 to 100. */
int heph_probe(const uint8_t *p, size_t len);

/* --- attributes: SPEC heph/attribute, SPEC heph/array --- */

enum heph_fault {
	HEPH_GOOD,
	HEPH_TRAILING, /* too few bytes for an attribute */
	HEPH_TORN, /* it extends beyond the packet */
	HEPH_INVALID, /* an invalid type: 0, or an array of it */
	HEPH_UNKNOWN, /* an unassigned type; its length is unknown */
};

struct heph_attr {
	const uint8_t *name, *value; /* value: for an array, after the count */
	uint16_t name_len;
	uint16_t count; /* of an array */
	uint8_t type;
};

/*
 * Decodes the attribute at *q. If it is good, fills *a and moves *q to its end. Requires that *q is
 * not the packet's end.
 */
enum heph_fault heph_attr_next(const uint8_t **q, const uint8_t *end, struct heph_attr *a);

/* The slow path of the next function. */
enum heph_fault heph_attrs_rest(const uint8_t **q, const uint8_t *end, uint32_t *n);

/* Counts the attributes from *q to the packet's end. If one is not good, *q is where it begins. */
static inline enum heph_fault heph_attrs_count(const uint8_t **q, const uint8_t *end, uint32_t *n)
{
	const uint8_t *p = *q;
	uint32_t count = 0;

	while (p < end) {
		const size_t left = (size_t)(end - p), name = left >= 5 ? be16(p) : left;
		const uint8_t *v;
		unsigned type;
		size_t size;

		/* There is nearly always room for the name, a type and a string's length. */
		if (__builtin_expect(name + 5 > left, 0))
			break;
		v = p + HEPH_ATTR_HEAD + name;
		type = v[-1];
		size = type == HEPH_STRING ? HEPH_ATTR_LEN + be16(v) : HEPH_NUMBER;
		if (__builtin_expect(type - HEPH_U64 > HEPH_STRING - HEPH_U64 ||
					     size > (size_t)(end - v),
				     0))
			break;
		p = v + size;
		count++;
	}
	*q = p;
	*n = count;
	return __builtin_expect(p < end, 0) ? heph_attrs_rest(q, end, n) : HEPH_GOOD;
}

#endif
