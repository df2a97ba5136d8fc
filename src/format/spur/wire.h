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
 *	36	4	control		bit 0: events are recorded
 *	40	8	hz		ticks per second as the kernel computes them; 0: unknown
 *	48	24	begin		pair of clocks when recording began
 *	72	24	end		pair of clocks when the process ended it; ticks 0: not yet
 *	96	16	boot		id of the boot, as bytes; all 0: unknown
 *	112	8	taken		number of chunks that were taken
 *	120	8	ready		number of chunks that have room on the disk
 *	128	8	lost		events for which no chunk was to be had
 *	136	4	recorder	pid of the recorder; 0: none
 *	256	256	program		path of the program, ended by NUL
 *	512	3584	arguments	each ended by NUL; cut where they do not fit
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
 *	8	8	sequence	0: not in use; stored last
 *	16	4	tid		of the thread
 *	20	4	thread		its number in the process, from 1: a tid may be used again
 *	24	8	open ticks
 *	32	8	open monotonic	ns
 *	40	8	close ticks	0: open
 *	48	8	close monotonic	ns
 *	56	8	lost		events of the thread between its chunk before and this one
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
	SPB_PROGRAM_AT = 256,
	SPB_ARGUMENTS_AT = 512,

	SPB_CHUNK_LEAST = 4096,
	SPB_CHUNK_MOST = 1 << 24,
	SPB_CHUNK_SIZE = 256 << 10, /* of the recorder */

	SPB_CHUNK_HEAD = 64,
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

enum spb_mode { SPB_STREAM, SPB_RING, SPB_ONESHOT };
enum spb_clock { SPB_CLOCK_TSC = 1, SPB_CLOCK_MONOTONIC = 2 };
enum spb_chunk_kind { SPB_CHUNK_RECORDS = 1, SPB_CHUNK_DESCRIPTORS = 2 };
enum spb_state { SPB_FREE, SPB_OPEN, SPB_FULL };

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
};

/* Types of arguments: a word each, but texts and bytes: 2 bytes of length, then those bytes. */
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
};

#endif
