/*
 * Spur's own recordings as they are stored, for the recorder, readers and writers. Nothing is
 * decoded here. docs/formats/spur.md has the rules.
 *
 * A file is a header, then chunks of one size. SPEC spur/byte-order: all integers are
 * little-endian. Offsets and sizes are bytes; a word has 8.
 *
 * Header: SPEC spur/header
 *	offset	size	field		meaning
 *	0	8	magic		spb_magic; stored last
 *	8	4	chunk size	SPEC spur/chunk-size
 *	12	4	mode		enum spb_mode
 *	16	4	pid
 *	20	4	parent		pid of the parent
 *	24	8	start time	of the process, in clock ticks since boot (/proc/PID/stat)
 *	32	4	clock		enum spb_clock, of all ticks
 *	36	4	control		bit 0: events are recorded; others: SPEC spur/control
 *	40	8	hz		ticks per second as the kernel computes them; 0: unknown
 *	48	24	begin		pair of clocks when recording began
 *	72	24	end		pair of clocks when the process ended it; ticks 0: not yet
 *	96	16	boot		id of the boot, as bytes; all 0: unknown
 *	112	8	taken		number of chunks that were taken
 *	120	8	ready		number of chunks that have room on the disk
 *	128	8	lost		events that threads without a chunk lost
 *	136	4	recorder	pid of the recorder; 0: none
 *	140	4	zero		1: clock 3 counts from a zero of its own
 *	160	32	clock name	of clock 3, ended by NUL; "": unknown
 *	192	4	list number	SPEC spur/list; odd while the list is written; 0: no list
 *	196	4	list taken	number of the list by which the process goes
 *	200	4	listening	enum spb_listening
 *	256	256	program		path of the program, ended by NUL
 *	512	3584	arguments	each ended by NUL; cut where they do not fit; 2560 bytes of
 *					them where there is a list
 *	3072	1024	list		of categories, ended by NUL
 *
 * Pair of clocks: SPEC spur/clock
 *	offset	size	field		meaning
 *	0	8	ticks
 *	8	8	monotonic	CLOCK_MONOTONIC, in ns
 *	16	8	real		CLOCK_REALTIME, in ns since 1970 UTC
 *
 * Head of a chunk: SPEC spur/chunk
 *	offset	size	field		meaning
 *	0	4	magic		spb_chunk_magic
 *	4	2	kind		enum spb_chunk_kind
 *	6	2	state		enum spb_state
 *	8	8	sequence	0: not in use; stored last; SPEC spur/reuse
 *	16	4	tid		of the thread
 *	20	4	thread		its number in the process, from 1: a tid may be used again
 *	24	8	open ticks
 *	32	8	open monotonic	ns
 *	40	8	close ticks	0: open
 *	48	8	close monotonic	ns
 *	56	8	lost		events that the thread lost since, until its next chunk
 *
 * Record: SPEC spur/commit, SPEC spur/length, SPEC spur/time
 *	bits	field
 *	0-3	kind	enum spb_kind
 *	4-7	length	of the payload in words; 15: the next word has it
 *	8-31	id
 *	32-63	time	the low half of the ticks
 *
 * Descriptor: SPEC spur/descriptor, a word and its body, padded to a word
 *	offset	size	field		meaning
 *	0	4	size		of the whole descriptor; stored last
 *	4	4	type		enum spb_descriptor
 *	8		body		of the type; texts have a length of 2 bytes before them
 */
#ifndef SPUR_FORMAT_SPUR_WIRE_H
#define SPUR_FORMAT_SPUR_WIRE_H

#include <stdint.h>

enum {
	SPB_HEADER = 4096,
	SPB_CHUNK_SIZE_AT = 8,
	SPB_MODE_AT = 12,
	SPB_PID_AT = 16,
	SPB_PARENT_AT = 20,
	SPB_START_TIME_AT = 24,
	SPB_CLOCK_AT = 32,
	SPB_CONTROL_AT = 36,
	SPB_HZ_AT = 40,
	SPB_BEGIN_AT = 48,
	SPB_END_AT = 72,
	SPB_BOOT_AT = 96,
	SPB_BOOT_SIZE = 16,
	SPB_TAKEN_AT = 112,
	SPB_READY_AT = 120,
	SPB_LOST_AT = 128,
	SPB_RECORDER_AT = 136,
	SPB_ZERO_AT = 140,
	SPB_CLOCK_NAME_AT = 160,
	SPB_CLOCK_NAME_SIZE = 32,
	SPB_LIST_NUMBER_AT = 192,
	SPB_LIST_TAKEN_AT = 196,
	SPB_LISTENING_AT = 200,
	SPB_PROGRAM_AT = 256,
	SPB_ARGUMENTS_AT = 512,
	SPB_LIST_AT = 3072,
	SPB_LIST_SIZE = 1024,

	SPB_CHUNK_LEAST = 4096,
	SPB_CHUNK_MOST = 1 << 24,
	SPB_CHUNK_SIZE = 256 << 10, /* of the recorder */

	SPB_CHUNK_HEAD = 64,
	SPB_PAIR = 16, /* two clocks at one moment */
	SPB_KIND_AT = 4,
	SPB_STATE_AT = 6,
	SPB_SEQUENCE_AT = 8,
	SPB_TID_AT = 16,
	SPB_THREAD_AT = 20,
	SPB_OPEN_AT = 24,
	SPB_CLOSE_AT = 40,
	SPB_CHUNK_LOST_AT = 56,

	SPB_PAGE = 4096, /* SPEC spur/page */
	SPB_WORD = 8,
	SPB_LENGTH_FAR = 15,
	SPB_DESCRIPTOR_HEAD = 8,
};

#define SPB_MAGIC UINT64_C(0x3142505352555053) /* "SPURSPB1" */
#define SPB_CHUNK_MAGIC UINT32_C(0x43425053) /* "SPBC" */

/* SPEC spur/list: the file of the directory, and lists that are one word. */
#define SPB_LIST_NAME "categories"
#define SPB_LIST_ALL "all"
#define SPB_LIST_NONE "none"
#define SPB_LIST_DEFAULT "default"

enum spb_mode { SPB_STREAM, SPB_RING, SPB_ONESHOT, SPB_OBSERVED };
enum spb_clock { SPB_CLOCK_TSC = 1, SPB_CLOCK_MONOTONIC = 2, SPB_CLOCK_NAMED = 3 };
enum spb_chunk_kind { SPB_CHUNK_RECORDS = 1, SPB_CHUNK_DESCRIPTORS = 2 };
enum spb_state { SPB_FREE, SPB_OPEN, SPB_FULL };

/* Bits of the header's control word. */
enum spb_control { SPB_CONTROL_ON = 1, SPB_CONTROL_STEP = 2 };

/* Bits of the header's word `listening`: whether the process sees what another one switches. */
enum spb_listening {
	SPB_LISTENS = 1, /* at once, as it has a thread for that */
	SPB_LIMITED = 2, /* something is off: points may be reached without a look */
};

enum spb_kind {
	SPB_HOLE,
	SPB_BEGIN,
	SPB_END,
	SPB_EVENT,
	SPB_ENTER,
	SPB_EXIT,
	SPB_TAIL,
	SPB_UNWIND,
	SPB_TIME,
	SPB_FIBER,
	SPB_LOST,
	SPB_SWITCH,
	SPB_CPU,
	SPB_MORE,
	SPB_RESERVED = 14,
	SPB_PAD = 15,
};

enum spb_descriptor {
	SPB_SITE = 1,
	SPB_FUNCTION,
	SPB_MODULE,
	SPB_UNLOAD,
	SPB_THREAD_NAME,
	SPB_PROCESS_NAME,
	SPB_FIBER_NAME,
	SPB_STRING,
	SPB_TRACK,
	SPB_MORE_DESCRIPTOR,
};

/* What an EVENT of a site is. */
enum spb_site_kind {
	SPB_SITE_SPAN = 1,
	SPB_SITE_INSTANT,
	SPB_SITE_COUNTER,
	SPB_SITE_ASYNC_BEGIN,
	SPB_SITE_ASYNC_INSTANT,
	SPB_SITE_ASYNC_END,
	SPB_SITE_FLOW_BEGIN,
	SPB_SITE_FLOW_STEP,
	SPB_SITE_FLOW_END,
	SPB_SITE_LOG,
	SPB_SITE_SWITCH,
	SPB_SITE_WAKEUP,
	SPB_SITE_SAMPLE,
	SPB_SITE_OBJECT,
	SPB_SITE_BLOB,
	SPB_SITE_LOST,
	SPB_SITE_NATIVE,
	SPB_SITE_WHOLE,
};

/* SPEC spur/site-has: words in front of the arguments, in this order, and a longer descriptor. */
enum spb_has { SPB_HAS_ID = 1, SPB_HAS_LENGTH = 2, SPB_HAS_MARKS = 4, SPB_HAS_MORE = 128 };

/* Bits of the word of marks. */
enum spb_mark {
	SPB_MARK_OUT = 1, /* the thread leaves the CPU */
	SPB_MARK_IN = 2, /* it gets the CPU */
	SPB_MARK_PREEMPTED = 4,
	SPB_MARK_EXIT = 8, /* the thread ends */
	SPB_MARK_RETIMED = 16, /* the time is that of a neighbour */
	SPB_MARK_ESTIMATED = 32, /* the time was invented */
	SPB_MARK_UNRELIABLE = 64, /* the values may be wrong */
};

/* SPEC spur/function-is: bits of a function's descriptor */
enum spb_function_is {
	SPB_FUNCTION_MORE = 1, /* the descriptor is longer */
	SPB_FUNCTION_KERNEL = 2,
	SPB_FUNCTION_LIBRARY = 4,
	SPB_FUNCTION_UNKNOWN = 8, /* it has no symbol */
};

/*
 * Types of arguments: a word each, but texts and bytes: 2 bytes of length, then those bytes. The
 * highest three bits of the byte that has the type are enum spur_show.
 */
enum spb_type {
	SPB_I64 = 1,
	SPB_U64,
	SPB_F64,
	SPB_BOOL,
	SPB_POINTER,
	SPB_TEXT,
	SPB_BYTES,
	SPB_STRING_ID,
	SPB_CHAR,
	SPB_LONG_TEXT, /* a word of length, then the bytes */
	SPB_LONG_BYTES,
	SPB_NULL,
	SPB_KOID,
	SPB_ENUM,
	SPB_STRUCT, /* its members are described behind it */
	SPB_ARRAY, /* a word that says how many; the element is described behind it */
	SPB_TUPLE, /* an array whose elements are described behind it, one by one */
	SPB_LABELLED, /* a value, which is described behind it, and a text */
	SPB_FRAMES, /* a word that says how many, then the number of a function each */
	SPB_F32,
	SPB_TYPES,
};

enum { SPB_SHOW_SHIFT = 5, SPB_TYPE_MASK = 31 };

#endif
