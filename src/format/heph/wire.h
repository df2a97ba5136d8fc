/*
 * Heph traces as they are stored, for readers, writers and recorders. Nothing is decoded here.
 *
 * A trace is a sequence of packets, without a header or an end mark. All numbers are big-endian.
 * Offsets and sizes below are bytes; + marks a part that follows the previous one.
 *
 * Head of every packet: SPEC heph/packet
 *	offset	size	field	meaning
 *	0	4	magic	heph_meta_magic, heph_event_magic
 *	4	4	size	of the whole packet, this head included
 *
 * Metadata: SPEC heph/metadata
 *	offset	size	field	meaning
 *	8	2	n	length of the option's name
 *	10	n	name	UTF-8; SPEC heph/epoch: "epoch"
 *	10 + n		value	up to the packet's end; of "epoch" 8 bytes: ns since 1970 UTC
 *
 * Event: SPEC heph/event
 *	offset	size	field		meaning
 *	8	4	stream
 *	12	4	counter		of the stream's events, from 0: SPEC heph/counter-loss
 *	16	8	substream	SPEC heph/substream-track
 *	24	8	start		ns since the epoch
 *	32	8	end		ns since the epoch
 *	40	2	n		length of the description
 *	42	n	description	UTF-8
 *	42 + n		attributes	up to the packet's end
 * SPEC heph/old-layout: an event of before March 2021 has no substream, so that all that follows it
 * stands 8 bytes earlier.
 *
 * Attribute: SPEC heph/attribute
 *	offset	size	field	meaning
 *	0	2	n	length of the name
 *	2	n	name	UTF-8
 *	2 + n	1	type	enum heph_type; with HEPH_ARRAY added, an array of it
 *	+	2	count	of an array: SPEC heph/array: number of its values
 *	+		value	of u64, i64, f64 8 bytes; of a string 2 bytes of length, then its
 *				bytes
 */
#ifndef SPUR_FORMAT_HEPH_WIRE_H
#define SPUR_FORMAT_HEPH_WIRE_H

#include <stdint.h>

static const uint32_t heph_meta_magic = 0x75D11D4D, heph_event_magic = 0xC1FC1FB7;

enum {
	HEPH_SIZE_AT = 4,
	HEPH_FRAME = 8, /* magic and size */

	HEPH_OPTION_LEN_AT = 8,
	HEPH_META_HEAD = 10, /* up to the option's name */

	HEPH_STREAM_AT = 8,
	HEPH_COUNTER_AT = 12,
	HEPH_SUBSTREAM_AT = 16,
	HEPH_EVENT_HEAD = 42, /* up to the description */
	HEPH_OLD_HEAD = 34, /* the same, before March 2021 */
	/* Distances back from the description, in both layouts. */
	HEPH_START_BACK = 18,
	HEPH_END_BACK = 10,
	HEPH_NAME_LEN_BACK = 2,

	HEPH_ATTR_LEN = 2, /* bytes of a length: of names, strings, arrays */
	HEPH_ATTR_HEAD = 3, /* an attribute's length and type, without its name */
	HEPH_NUMBER = 8, /* bytes of a number */
};

/* Types of attributes. */
enum heph_type { HEPH_U64 = 1, HEPH_I64, HEPH_F64, HEPH_STRING, HEPH_ARRAY = 0x80 };

#endif
