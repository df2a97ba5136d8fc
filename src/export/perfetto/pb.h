/*
 * Encoding protobuf messages into a memory buffer. Lengths of messages are padded varints, filled
 * in at the end.
 */
#ifndef SPUR_EXPORT_PERFETTO_PB_H
#define SPUR_EXPORT_PERFETTO_PB_H

#include <assert.h>

#include "base/bits.h"
#include "base/out.h"
#include "export/perfetto/fields.h"

enum {
	PB_ROOM = 32, /* of a field that is a number */
	PB_LENGTH = 4, /* bytes of a message's length: 256 MiB at most */
};

static inline char *put_varint(char *w, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*w++ = (char)(v | 0x80);
	*w++ = (char)v;
	return w;
}

/* A field that is a number, into room that there is. */
static inline char *put_number(char *w, unsigned field, uint64_t v)
{
	return put_varint(put_varint(w, field << 3 | PB_VARINT), v);
}

static inline void pb_number(struct out *o, unsigned field, uint64_t v)
{
	char *w = out_room(o, PB_ROOM);

	if (w)
		out_to(o, put_number(w, field, v));
}

static inline void pb_fixed64(struct out *o, unsigned field, uint64_t v)
{
	char *w = out_room(o, PB_ROOM);

	if (!w)
		return;
	w = put_varint(w, field << 3 | PB_FIXED64);
	store64(w, v, order_swaps(false));
	out_to(o, w + sizeof(v));
}

static inline void pb_bytes(struct out *o, unsigned field, const void *p, size_t len)
{
	char *w = out_room(o, PB_ROOM);

	if (!w)
		return;
	out_to(o, put_varint(put_varint(w, field << 3 | PB_BYTES), len));
	out_bytes(o, p, len);
}

/*
 * Text of protobuf is UTF-8: of other texts, control characters and bytes that belong to no
 * character are written as out_safe() does. A text of more than `most` bytes is cut between two
 * characters. Returns false if it was not UTF-8.
 */
bool pb_text(struct out *o, unsigned field, const char *s, size_t len, size_t most);

/* The head of a message, whose length pb_close() fills in. */
static inline char *put_open(char *w, unsigned field)
{
	return put_varint(w, field << 3 | PB_BYTES) + PB_LENGTH;
}

/* Begins a message; returns what pb_close() is to be given. */
static inline size_t pb_open(struct out *o, unsigned field)
{
	char *w = out_room(o, PB_ROOM);

	if (w)
		out_to(o, put_open(w, field));
	return o->len;
}

/* Requires that the buffer was not flushed since pb_open(). */
static inline void pb_close(struct out *o, size_t begin)
{
	const size_t len = o->len - begin;
	char *w = o->buf + begin - PB_LENGTH;

	if (o->error)
		return;
	assert(begin >= PB_LENGTH && o->len >= begin);
	assert(len < 1u << (7 * PB_LENGTH));
	store32(w,
		((uint32_t)len & 0x7F) | ((uint32_t)len << 1 & 0x7F00) |
			((uint32_t)len << 2 & 0x7F0000) | ((uint32_t)len << 3 & 0x7F000000) |
			0x808080,
		order_swaps(false));
}

#endif
