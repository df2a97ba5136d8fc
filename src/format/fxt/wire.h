/*
 * FXT as it is stored, for readers, writers and recorders. Nothing is decoded here.
 *
 * A trace is a sequence of records, a record one of 64-bit words. SPEC fxt/byte-order: words are in
 * the order of the machine that wrote them. Offsets below count words from the record's first one,
 * its header; bits count from the lowest one of a word. Where a part has no fixed place it is
 * marked with +, and follows the part before it. SPEC fxt/stream: texts and bytes are padded
 * with zeros to whole words. SPEC fxt/longer: a record may be longer than its known parts.
 *
 * Header of every record
 *	bits	field	meaning
 *	0-3	type	enum fxt_type
 *	4-15	size	SPEC fxt/record-size: words of the record, header included; in
 *			large records bits 4-35
 *	16-63		of the type; bits that no table below names are 0
 *
 * SPEC fxt/string-ref: string reference, 16 bits
 *	0		the empty string
 *	1-0x7fff	index into the provider's string table
 *	0x8000 | n	n bytes of text stand in the record
 *
 * SPEC fxt/thread-ref: thread reference, 8 bits
 *	0		process id and thread id stand in the record, a word each
 *	1-255		index into the provider's thread table
 *
 * 0 METADATA
 *	bits	field		meaning
 *	16-19	metadata type	1 provider info, 2 section, 3 event, 4 trace info
 *	20-51	provider	of types 1 to 3: SPEC fxt/provider-switch
 *	52-59	name length	of type 1: bytes
 *	52-55	event		of type 3: 0 is SPEC fxt/buffer-filled
 *	20-23	info type	of type 4: 0 is the magic
 *	24-55	magic		of type 4: SPEC fxt/magic: 0x16547846, "FxT" and 0x16
 *	word	field
 *	1	name		of type 1
 *
 * 1 INITIALIZATION
 *	word	field		meaning
 *	1	ticks		a second
 *	2	base ticks	SPEC fxt/init-base: only in records of four words
 *	3	base time	ns since 1970 UTC at the base ticks
 *
 * 2 STRING: SPEC fxt/string-record
 *	bits	field		meaning
 *	16-30	index		from 1
 *	32-46	length		bytes
 *	word	field
 *	1	text
 *
 * 3 THREAD: SPEC fxt/thread-record
 *	bits	field		meaning
 *	16-23	index		from 1
 *	word	field		meaning
 *	1	process id	koid
 *	2	thread id	koid
 *
 * 4 EVENT
 *	bits	field		meaning
 *	16-19	event type	enum fxt_event
 *	20-23	arguments	their number
 *	24-31	thread		thread reference
 *	32-47	category	string reference
 *	48-63	name		string reference
 *	word	field		meaning
 *	1	time stamp	ticks
 *	+	thread		two words, if inline
 *	+	category, name	SPEC fxt/inline-strings: texts, if inline
 *	+	arguments
 *	+	value		of COUNTER, async, flow: SPEC fxt/event-id; of COMPLETE: end ticks
 *
 * Argument: SPEC fxt/argument-size
 *	bits	field		meaning
 *	0-3	type		enum fxt_arg_type
 *	4-15	size		of the argument in words, header included
 *	16-31	name		string reference
 *	32-63	value		of I32 and U32; of BOOL bit 32; of BLOB its length in bytes
 *	32-47	value		of STRING: string reference
 *	word	field
 *	1	name		text, if inline
 *	+	value		of I64, U64, F64, POINTER, KOID a word; of STRING a text, if inline;
 *				of BLOB the bytes
 *
 * 5 BLOB: SPEC fxt/blob-pieces
 *	bits	field		meaning
 *	16-31	name		string reference
 *	32-46	length		bytes
 *	48-55	blob type	1 data, 2 last branch, 3 Perfetto
 *	word	field
 *	1	name		text, if inline
 *	+	bytes		SPEC fxt/time-mark: without a name, of type data and 16 bytes:
 *				"SpurTime" and a time stamp; SPEC fxt/next-mark: of 8 bytes:
 *				"SpurNext"
 *
 * 6 USERSPACE OBJECT: SPEC fxt/user-object, 7 KERNEL OBJECT: SPEC fxt/kernel-object
 *	bits	field		meaning
 *	16-23	process		of 6: thread reference; of 7: type of the object (ZX_OBJ_TYPE_*)
 *	24-39	name		string reference
 *	40-43	arguments	their number
 *	word	field		meaning
 *	1	pointer or koid
 *	+	process id	of 6: one word, if inline
 *	+	name		text, if inline
 *	+	arguments
 *
 * 8 SCHEDULING: SPEC fxt/scheduling-type
 *	bits	field		meaning
 *	60-63	type		0 legacy switch, 1 switch, 2 wake-up
 *	16-19	arguments	of 1 and 2: their number
 *	20-35	CPU		of 1 and 2: SPEC fxt/cpu
 *	36-39	state		of 1: SPEC fxt/thread-state: of the outgoing thread
 *	16-23	CPU		of 0
 *	24-27	state		of 0
 *	28-35	outgoing	of 0: thread reference
 *	36-43	incoming	of 0: thread reference
 *	44-51	priority	of 0: of the outgoing thread
 *	52-59	priority	of 0: of the incoming thread
 *	word	field		meaning
 *	1	time stamp	ticks
 *	2	thread id	of 1 and 2: SPEC fxt/switch-tid: outgoing, or woken thread
 *	3	thread id	of 1: incoming thread
 *	+	threads		of 0: two words each, if inline
 *	+	arguments	of 1 and 2
 *
 * 9 LOG
 *	bits	field		meaning
 *	16-30	length		bytes of the message
 *	32-39	thread		thread reference
 *	word	field		meaning
 *	1	time stamp	ticks
 *	+	thread		two words, if inline
 *	+	message
 *
 * 10 PROFILER
 *	bits	field		meaning
 *	16-19	type		SPEC fxt/profiler-type: 0 module, 1 mapping, 2 backtrace
 *	20-27	thread		thread reference
 *	28-43	module		of 0 and 1: id
 *	44-51	name length	of 0: bytes
 *	52-59	build id length	of 0: bytes
 *	44-46	flags		of 1: 1 readable, 2 writable, 4 executable
 *	28-35	frames		of 2: their number
 *	word	field		meaning
 *	1	time stamp	ticks
 *	+	thread		if inline: SPEC fxt/profiler-thread: one or two words
 *	+	name, build id	of 0
 *	+	start, range, module address	of 1: a word each
 *	+	frames		of 2: addresses, a word each
 *
 * 15 LARGE
 *	bits	field		meaning
 *	4-35	size		of the record in words
 *	36-39	type		0 blob
 *	40-43	format		0 with time, thread and arguments; 1 without
 *	word	field		meaning
 *	1	format header	bits 0-15 category, 16-31 name (string references); of format 0 also
 *				32-35 number of arguments, 36-43 thread reference
 *	+	category, name	texts, if inline
 *	+	time stamp	of format 0: SPEC fxt/large-blob: ticks
 *	+	thread		of format 0: two words, if inline
 *	+	arguments	of format 0
 *	+	length		bytes, a whole word
 *	+	bytes
 */
#ifndef SPUR_FORMAT_FXT_WIRE_H
#define SPUR_FORMAT_FXT_WIRE_H

#include <stdint.h>

enum {
	FXT_WORD = 8, /* bytes */
	FXT_ARGS = 15, /* most arguments of a record */
	/* Of a string reference: the text is in the record, the other bits are its length. */
	FXT_INLINE = 0x8000,
	FXT_STRINGS = 0x8000, /* indices of the string table, 0 included */
	FXT_THREADS = 256, /* indices of the thread table, 0 included */
	FXT_RECORD_MOST = 0xFFF, /* words of a record that is not large */
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

enum fxt_event {
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
/* SPEC fxt/time-mark: the first bytes of a placeholder that tells a time. */
#define FXT_TIME_MARK "SpurTime"
/* SPEC fxt/next-mark: the bytes of a placeholder whose next record is not doubted. */
#define FXT_NEXT_MARK "SpurNext"

/*
 * What Spur writes behind the known parts of a record (SPEC fxt/longer), so that only it needs to
 * know. Each begins with a word of text:
 *
 * SPEC fxt/kind-mark: an INSTANT event that stands for another kind of row
 *	1	bits 0-7 the kind, 8-23 the flags, 24-39 the CPU of the row
 *	2, 3	its id, its duration in ns
 * SPEC fxt/side-mark: a switch of which one thread is known
 *	1	the flag of the row that it stands for
 * SPEC fxt/name-mark: an object, module or mapping that others refer to, and no more
 * SPEC fxt/number-mark: a large blob
 *	1	its number
 * SPEC fxt/payload-mark: a large blob that is an event with an argument too long for a record
 *	1-3	as of a kind mark
 *	4	bits 0-7: index of the argument that the payload is, which is null; 8: it is text
 */
#define FXT_KIND_MARK "SpurKind"
#define FXT_SIDE_MARK "SpurSide"
#define FXT_NAME_MARK "SpurName"
#define FXT_NUMBER_MARK "SpurBlob"
#define FXT_PAYLOAD_MARK "SpurData"
enum {
	FXT_KIND_WORDS = 4,
	FXT_SIDE_WORDS = 2,
	FXT_NAME_WORDS = 1,
	FXT_NUMBER_WORDS = 2,
	FXT_PAYLOAD_WORDS = 5,
	FXT_MARK_WORDS = FXT_PAYLOAD_WORDS, /* the longest */
};

/*
 * SPEC fxt/made-id: ids that Spur gives to threads and processes that have none, or the same as
 * another. Their low 32 bits are distinct, since readers cut them.
 */
enum fxt_made_id { FXT_MADE_TOP = 0xF7, FXT_MADE_LOW = 7 };

enum { FXT_BLOB_DATA = 1, FXT_BLOB_LAST_BRANCH, FXT_BLOB_PERFETTO };
enum { FXT_LARGE_WITH_META, FXT_LARGE_PLAIN, FXT_LARGE_FORMATS };
enum { FXT_OBJECT_PROCESS = 1, FXT_OBJECT_THREAD };
enum { FXT_STATE_NEW, FXT_STATE_RUNNING, FXT_STATE_SUSPENDED, FXT_STATE_BLOCKED };

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

/* Fields of words as the tables have them: the first bit, and the last one << 8. */
enum fxt_field {
	FXT_F_MADE_NUMBER = 0 | 27 << 8,
	FXT_F_MADE_LOW = 28 | 31 << 8, /* FXT_MADE_LOW */
	FXT_F_MADE_ID = 32 | 54 << 8, /* the id that it stands for, unless NONE */
	FXT_F_MADE_NONE = 55 | 55 << 8,
	FXT_F_MADE_TOP = 56 | 63 << 8, /* FXT_MADE_TOP */

	FXT_F_KIND = 0 | 7 << 8,
	FXT_F_KIND_FLAGS = 8 | 23 << 8,
	FXT_F_KIND_CPU = 24 | 39 << 8,
	FXT_F_PAYLOAD_INDEX = 0 | 7 << 8,
	FXT_F_PAYLOAD_TEXT = 8 | 8 << 8,

	FXT_F_TYPE = 0 | 3 << 8,
	FXT_F_SIZE = 4 | 15 << 8,

	FXT_F_METADATA_TYPE = 16 | 19 << 8,
	FXT_F_METADATA_PROVIDER = 20 | 51 << 8,
	FXT_F_METADATA_NAME_LEN = 52 | 59 << 8,
	FXT_F_METADATA_EVENT = 52 | 55 << 8,
	FXT_F_METADATA_INFO_TYPE = 20 | 23 << 8,

	FXT_F_STRING_INDEX = 16 | 30 << 8,
	FXT_F_STRING_LEN = 32 | 46 << 8,
	FXT_F_THREAD_INDEX = 16 | 23 << 8,

	FXT_F_EVENT_TYPE = 16 | 19 << 8,
	FXT_F_EVENT_ARGS = 20 | 23 << 8,
	FXT_F_EVENT_THREAD = 24 | 31 << 8,
	FXT_F_EVENT_CATEGORY = 32 | 47 << 8,
	FXT_F_EVENT_CATEGORY_INDEX = 32 | 46 << 8, /* without the inline bit */
	FXT_F_EVENT_NAME = 48 | 63 << 8,
	FXT_F_EVENT_NAME_INDEX = 48 | 62 << 8,

	FXT_F_ARG_NAME = 16 | 31 << 8,
	FXT_F_ARG_NAME_INDEX = 16 | 30 << 8,
	FXT_F_ARG_VALUE = 32 | 63 << 8,
	FXT_F_ARG_STRING = 32 | 47 << 8,

	FXT_F_BLOB_NAME = 16 | 31 << 8,
	FXT_F_BLOB_LEN = 32 | 46 << 8,
	FXT_F_BLOB_TYPE = 48 | 55 << 8,

	FXT_F_OBJECT_PROCESS = 16 | 23 << 8,
	FXT_F_OBJECT_TYPE = 16 | 23 << 8,
	FXT_F_OBJECT_NAME = 24 | 39 << 8,
	FXT_F_OBJECT_ARGS = 40 | 43 << 8,

	FXT_F_SCHED_TYPE = 60 | 63 << 8,
	FXT_F_SCHED_ARGS = 16 | 19 << 8,
	FXT_F_SCHED_CPU = 20 | 35 << 8,
	FXT_F_SCHED_STATE = 36 | 39 << 8,
	FXT_F_LEGACY_CPU = 16 | 23 << 8,
	FXT_F_LEGACY_STATE = 24 | 27 << 8,
	FXT_F_LEGACY_OUT = 28 | 35 << 8,
	FXT_F_LEGACY_IN = 36 | 43 << 8,
	FXT_F_LEGACY_OUT_PRIORITY = 44 | 51 << 8,
	FXT_F_LEGACY_IN_PRIORITY = 52 | 59 << 8,

	FXT_F_LOG_LEN = 16 | 30 << 8,
	FXT_F_LOG_THREAD = 32 | 39 << 8,

	FXT_F_PROFILER_TYPE = 16 | 19 << 8,
	FXT_F_PROFILER_THREAD = 20 | 27 << 8,
	FXT_F_PROFILER_MODULE = 28 | 43 << 8,
	FXT_F_PROFILER_NAME_LEN = 44 | 51 << 8,
	FXT_F_PROFILER_BUILD_ID_LEN = 52 | 59 << 8,
	FXT_F_PROFILER_FLAGS = 44 | 46 << 8,
	FXT_F_PROFILER_FRAMES = 28 | 35 << 8,

	FXT_F_LARGE_SIZE = 4 | 35 << 8,
	FXT_F_LARGE_TYPE = 36 | 39 << 8,
	FXT_F_LARGE_FORMAT = 40 | 43 << 8,
	/* Of the format header. */
	FXT_F_LARGE_CATEGORY = 0 | 15 << 8,
	FXT_F_LARGE_NAME = 16 | 31 << 8,
	FXT_F_LARGE_ARGS = 32 | 35 << 8,
	FXT_F_LARGE_THREAD = 36 | 43 << 8,
};

/* Bits `from` to `to` of a word, both included. */
static inline uint64_t fxt_bits(uint64_t w, unsigned from, unsigned to)
{
	return w >> from & (((uint64_t)2 << (to - from)) - 1);
}

static inline uint64_t fxt_get(uint64_t w, enum fxt_field f)
{
	return fxt_bits(w, (unsigned)f & 0xff, (unsigned)f >> 8);
}

/* A word whose only field is this one; of a value that is too large the low bits. */
static inline uint64_t fxt_put(enum fxt_field f, uint64_t value)
{
	const unsigned from = (unsigned)f & 0xff, to = (unsigned)f >> 8;

	return fxt_bits(value, 0, to - from) << from;
}

static inline unsigned fxt_type(uint64_t head)
{
	return (unsigned)fxt_get(head, FXT_F_TYPE);
}

/* Words of a record. */
static inline uint64_t fxt_words(uint64_t head)
{
	return fxt_type(head) == FXT_LARGE ? fxt_get(head, FXT_F_LARGE_SIZE)
					   : fxt_get(head, FXT_F_SIZE);
}

/* Bytes of a record that is not large, or of an argument. */
static inline uint64_t fxt_bytes(uint64_t head)
{
	return head >> 1 & 0x7ff8;
}

/* SPEC fxt/made-id: the id that is shown of a koid, -1: none. */
static inline int64_t fxt_shown_id(uint64_t koid)
{
	if (fxt_get(koid, FXT_F_MADE_TOP) != FXT_MADE_TOP ||
	    fxt_get(koid, FXT_F_MADE_LOW) != FXT_MADE_LOW)
		return (int64_t)koid;
	return fxt_get(koid, FXT_F_MADE_NONE) ? -1 : (int64_t)fxt_get(koid, FXT_F_MADE_ID);
}

/* Returns 1 if events of the type have a word after their arguments, else 0. */
static inline int fxt_has_tail(unsigned event)
{
	return event == FXT_COUNTER || (event >= FXT_COMPLETE && event < FXT_EVENT_TYPES);
}

#endif
