/* FXT as it is stored: numbers of types, and fields of words. Words are 64 bits; fields count from the lowest bit. */
#ifndef SPUR_FORMAT_FXT_WIRE_H
#define SPUR_FORMAT_FXT_WIRE_H

#include "base/bits.h"

enum {
	FXT_WORD = 8,
	FXT_ARGS = 15, /* most arguments of a record */
	FXT_INLINE =
		0x8000, /* of a string reference: the text is in the record, the other bits are its length */
	FXT_STRINGS = 0x8000,
	FXT_THREADS = 256,
};

/* The first word of a trace; a record by itself. */
#define FXT_MAGIC UINT64_C(0x0016547846040010)

enum fxt_type {
	FXT_METADATA,
	FXT_INIT,
	FXT_STRING,
	FXT_THREAD,
	FXT_EVENT,
	FXT_BLOB,
	FXT_USER_OBJECT,
	FXT_KERNEL_OBJECT,
	FXT_SCHEDULING,
	FXT_LOG,
	FXT_PROFILER,
	FXT_LARGE = 15,
};

enum { FXT_PROVIDER_INFO = 1, FXT_PROVIDER_SECTION, FXT_PROVIDER_EVENT, FXT_TRACE_INFO };
enum { FXT_BUFFER_FILLED = 0 };

enum {
	FXT_INSTANT,
	FXT_COUNTER,
	FXT_BEGIN,
	FXT_END,
	FXT_COMPLETE,
	FXT_ASYNC_BEGIN,
	FXT_ASYNC_INSTANT,
	FXT_ASYNC_END,
	FXT_FLOW_BEGIN,
	FXT_FLOW_STEP,
	FXT_FLOW_END,
	FXT_EVENT_TYPES,
};

enum { FXT_LEGACY_SWITCH, FXT_SWITCH, FXT_WAKEUP, FXT_SCHEDULING_TYPES };
enum { FXT_MODULE, FXT_MMAP, FXT_BACKTRACE, FXT_PROFILER_TYPES };
enum { FXT_BLOB_DATA = 1, FXT_BLOB_LAST_BRANCH, FXT_BLOB_PERFETTO };
enum { FXT_LARGE_WITH_META, FXT_LARGE_PLAIN, FXT_LARGE_FORMATS };
enum { FXT_OBJECT_PROCESS = 1, FXT_OBJECT_THREAD };
enum { FXT_STATE_NEW, FXT_STATE_RUNNING };

enum fxt_arg_type {
	FXT_ARG_NULL,
	FXT_ARG_I32,
	FXT_ARG_U32,
	FXT_ARG_I64,
	FXT_ARG_U64,
	FXT_ARG_F64,
	FXT_ARG_STRING,
	FXT_ARG_POINTER,
	FXT_ARG_KOID,
	FXT_ARG_BOOL,
	FXT_ARG_BLOB,
	FXT_ARG_TYPES,
};

/* Bits `from` to `to`, both with it. */
static inline uint64_t fxt_bits(uint64_t w, unsigned from, unsigned to)
{
	return w >> from & (((uint64_t)2 << (to - from)) - 1);
}

static inline unsigned fxt_type(uint64_t head)
{
	return head & 15;
}

/* SPEC fxt/record-size: 12 bits of words with the header; large records have 32 */
static inline uint64_t fxt_words(uint64_t head)
{
	return fxt_type(head) == FXT_LARGE ? fxt_bits(head, 4, 35) : fxt_bits(head, 4, 15);
}

/* Bytes of a record that is not large, or of an argument. */
static inline uint64_t fxt_bytes(uint64_t head)
{
	return head >> 1 & 0x7ff8;
}

/* Event types that are followed by a word behind their arguments. */
static inline bool fxt_has_tail(unsigned event)
{
	return event == FXT_COUNTER || (event >= FXT_COMPLETE && event < FXT_EVENT_TYPES);
}

#endif
