/*
 * Thrift's compact protocol, which Parquet's metadata is written in: a field is a byte with its
 * type and the distance of its number from that of the field before, then the value; numbers are
 * zigzag varints; a structure ends with a zero byte.
 */
#ifndef SPUR_EXPORT_PARQUET_THRIFT_H
#define SPUR_EXPORT_PARQUET_THRIFT_H

#include <assert.h>

#include "base/out.h"

enum thrift_type {
	THRIFT_TRUE = 1,
	THRIFT_FALSE = 2,
	THRIFT_BYTE = 3,
	THRIFT_I32 = 5,
	THRIFT_I64 = 6,
	THRIFT_BINARY = 8,
	THRIFT_LIST = 9,
	THRIFT_STRUCT = 12,
};

enum { THRIFT_SHORT_LIST = 15 };

static inline void thrift_varint(struct out *o, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		out_char(o, (char)(v | 0x80));
	out_char(o, (char)v);
}

static inline void thrift_zigzag(struct out *o, int64_t v)
{
	thrift_varint(o, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}

/* `last`: the number of the field before in the structure, 0 at first. */
static inline void thrift_field(struct out *o, unsigned *last, unsigned number,
				enum thrift_type type)
{
	assert(number > *last && number - *last < 16);
	out_char(o, (char)((number - *last) << 4 | type));
	*last = number;
}

static inline void thrift_i32(struct out *o, unsigned *last, unsigned number, int64_t v)
{
	thrift_field(o, last, number, THRIFT_I32);
	thrift_zigzag(o, v);
}

static inline void thrift_i64(struct out *o, unsigned *last, unsigned number, uint64_t v)
{
	thrift_field(o, last, number, THRIFT_I64);
	thrift_zigzag(o, (int64_t)v);
}

static inline void thrift_bytes(struct out *o, const void *p, size_t len)
{
	thrift_varint(o, len);
	out_bytes(o, p, len);
}

static inline void thrift_binary(struct out *o, unsigned *last, unsigned number, const void *p,
				 size_t len)
{
	thrift_field(o, last, number, THRIFT_BINARY);
	thrift_bytes(o, p, len);
}

static inline void thrift_list(struct out *o, unsigned *last, unsigned number,
			       enum thrift_type type, size_t n)
{
	thrift_field(o, last, number, THRIFT_LIST);
	if (n < THRIFT_SHORT_LIST) {
		out_char(o, (char)(n << 4 | type));
		return;
	}
	out_char(o, (char)(0xF0 | type));
	thrift_varint(o, n);
}

static inline void thrift_stop(struct out *o)
{
	out_char(o, 0);
}

#endif
