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

static inline void pb_number(struct out *o, unsigned field, uint64_t v)
{
	char *w = out_room(o, PB_ROOM);

	if (w)
		out_to(o, put_varint(put_varint(w, field << 3 | PB_VARINT), v));
}

static inline void pb_fixed64(struct out *o, unsigned field, uint64_t v)
{
	char *w = out_room(o, PB_ROOM);

	if (!w)
		return;
	w = put_varint(w, field << 3 | PB_FIXED64);
	for (unsigned i = 0; i < 8; i++)
		*w++ = (char)(v >> (8 * i));
	out_to(o, w);
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

/* Begins a message; returns what pb_close() is to be given. */
static inline size_t pb_open(struct out *o, unsigned field)
{
	char *w = out_room(o, PB_ROOM);

	if (w)
		out_to(o, put_varint(w, field << 3 | PB_BYTES) + PB_LENGTH);
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
	for (unsigned i = 0; i < PB_LENGTH; i++)
		w[i] = (char)((len >> (7 * i) & 0x7f) | (i + 1 < PB_LENGTH ? 0x80 : 0));
}

#endif
