/*
 * The layout of XRay logs, as tables: offset, size, field, meaning. Nothing here depends on the
 * reader, so that writers and recorders can include it. All numbers have the byte order of the
 * machine that wrote the log.
 *
 * SPEC xray/header: a log begins with 32 bytes.
 *
 *	 0  2  version      1 to 5 (flight data recorder), 1 to 3 (basic)
 *	 2  2  type         enum xray_log_type
 *	 4  4  flags        bit 0: constant TSC, bit 1: nonstop TSC; big endian: from the highest
 *	                    bit on
 *	 8  8  hz           ticks per second
 *	16  8  buffer size  flight data recorder: bytes of a buffer; else reserved
 *	24  8  reserved
 *
 * SPEC xray/profile-header: a profile begins with 32 bytes.
 *
 *	 0  8  magic        xray_profile_magic
 *	 8  8  version      xray_profile_version
 *	16  8  time         ns since 1970
 *	24  8  process
 *
 * SPEC xray/basic-record: 32 bytes, the call of a function.
 *
 *	 0  2  type         0
 *	 2  1  CPU
 *	 3  1  kind         enum xray_call
 *	 4  4  function
 *	 8  8  ticks
 *	16  4  thread
 *	20  4  process      version 3; else unused
 *	24  8  unused
 *
 * SPEC xray/basic-argument: 32 bytes, an argument of the thread's call before it.
 *
 *	 0  2  type         1
 *	 2  2  unused
 *	 4  4  function
 *	 8  4  thread
 *	12  4  process      version 3; else unused
 *	16  8  value
 *	24  8  unused
 *
 * SPEC xray/function-record: 8 bytes of a flight data recorder's buffer.
 *
 *	 0  4  word         from the lowest bit on: 1 bit 0, 3 bits kind, 28 bits function; big
 *	                    endian: from the highest bit on
 *	 4  4  delta        ticks since the record before
 *
 * SPEC xray/metadata-record: 16 bytes of a flight data recorder's buffer. The first byte has the
 * kind (enum xray_meta) above bit 0, which is set; big endian: the highest bit is set, the kind is
 * in the others. Bytes of no field are not initialised.
 *
 *	NewBuffer       1  4  thread
 *	EndOfBuffer     -             version 1; the rest of the buffer has no meaning
 *	NewCPUId        1  2  CPU
 *	                3  8  ticks   absolute
 *	TSCWrap         1  8  ticks   absolute
 *	WallTime        1  8  seconds
 *	                9  4  microseconds
 *	CustomEvent     1  4  size    of the payload that follows the record
 *	                5  8  ticks   absolute; version 5: 4 bytes, since the record before
 *	               13  2  CPU     version 4
 *	CallArgument    1  8  value
 *	BufferExtents   1  8  size    of the buffer that follows the record; version 2 and later
 *	TypedEvent      1  4  size    of the payload that follows the record; version 3 and later
 *	                5  8  ticks   absolute; version 5: 4 bytes, since the record before
 *	               13  2  type    version 5: at 9
 *	Pid             1  4  process version 3 and later
 *
 * A buffer is NewBuffer, WallTime, Pid (version 3 and later), NewCPUId, then calls and events.
 * Version 1 has buffers of the header's size that EndOfBuffer ends; later versions have
 * BufferExtents before each buffer.
 *
 * SPEC xray/profile-block: a block of a profile begins with 16 bytes.
 *
 *	 0  4  size         of the block, these bytes included
 *	 4  4  number
 *	 8  8  thread
 *
 * SPEC xray/profile-record: call stacks fill the rest of the block.
 *
 *	 0  4n functions    from the leaf to the root
 *	4n  4  0            ends the functions
 *	    8  calls
 *	    8  ticks        signed: of these calls with all that they called
 */
#ifndef SPUR_FORMAT_XRAY_WIRE_H
#define SPUR_FORMAT_XRAY_WIRE_H

#include <stdint.h>

enum xray_log_type { XRAY_TYPE_BASIC, XRAY_TYPE_FDR };

/* Kinds of metadata records. */
enum xray_meta {
	META_NEW_BUFFER,
	META_END_OF_BUFFER,
	META_NEW_CPU,
	META_TSC_WRAP,
	META_WALL_TIME,
	META_CUSTOM,
	META_ARGUMENT,
	META_EXTENTS,
	META_TYPED,
	META_PID,
	META_KINDS
};

/* Kinds of calls. */
enum xray_call { CALL_ENTER, CALL_EXIT, CALL_TAIL_EXIT, CALL_ENTER_ARGS, CALL_KINDS };

/* Types of basic records. */
enum { XRAY_BASIC_CALL, XRAY_BASIC_ARGUMENT };

/* Latest versions. */
enum { XRAY_FDR_VERSION = 5, XRAY_BASIC_VERSION = 3 };

/* Sizes in bytes. */
enum {
	XRAY_HEADER = 32,
	XRAY_FUNCTION = 8,
	XRAY_METADATA = 16,
	XRAY_RECORD = 32, /* of basic mode */
	XRAY_PROFILE_HEADER = 32,
	XRAY_BLOCK = 16, /* header of a block in profiling mode */
	XRAY_STACK_TAIL = 20, /* of a stack: what follows the functions */
	XRAY_ID_BITS = 28, /* of a function in FDR mode; others have 32 */
};

/* Offsets in the header of a log. */
enum {
	XRAY_AT_VERSION = 0,
	XRAY_AT_TYPE = 2,
	XRAY_AT_FLAGS = 4,
	XRAY_AT_HZ = 8,
	XRAY_AT_BUFFER_SIZE = 16,
	XRAY_AT_RESERVED = 24,
};

/* Offsets in the header of a profile. */
enum {
	XRAY_PROFILE_AT_VERSION = 8,
	XRAY_PROFILE_AT_TIME = 16,
	XRAY_PROFILE_AT_PID = 24,
};

/* Offsets in a block's header. */
enum { XRAY_BLOCK_AT_SIZE = 0, XRAY_BLOCK_AT_NUMBER = 4, XRAY_BLOCK_AT_TID = 8 };

/* Offsets in a basic record. */
enum {
	XRAY_BASIC_AT_TYPE = 0,
	XRAY_BASIC_AT_CPU = 2,
	XRAY_BASIC_AT_KIND = 3,
	XRAY_BASIC_AT_FUNCTION = 4,
	XRAY_BASIC_AT_TICKS = 8,
	XRAY_BASIC_AT_TID = 16, /* the process follows */
	XRAY_BASIC_AT_ARGUMENT_TID = 8, /* the same in an argument */
	XRAY_BASIC_AT_VALUE = 16,
};

/* Offset of the ticks in a function record. */
enum { XRAY_FUNCTION_AT_DELTA = 4 };

/* Offsets in metadata records. */
enum {
	XRAY_META_AT_DATA =
		1, /* the first field: thread, ticks, seconds, size, value, process or CPU */
	XRAY_CPU_AT_TICKS = 3,
	XRAY_WALL_AT_MICROSECONDS = 9,
	XRAY_EVENT_AT_TICKS = 5,
	XRAY_CUSTOM_AT_CPU = 13,
	XRAY_TYPED_AT_TYPE = 13,
	XRAY_TYPED_AT_TYPE_5 = 9, /* in version 5 */
};

/*
 * SPEC xray/exact-mark: the reserved bytes of a log without mistakes of LLVM's that cannot be told
 * from its records: extents count typed events whole, and no record is left from a fork.
 */
static const uint8_t xray_exact_mark[8] = { 'S', 'p', 'u', 'r', 0, 0, 0, 1 };

static const uint64_t xray_profile_magic =
	UINT64_C(0x7872617970726f66); /* "xrayprof" as a number */
static const uint64_t xray_profile_version = 0x20180424;

#endif
