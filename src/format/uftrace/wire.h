/*
 * The layout of the binary files of uftrace data, as tables: offset, size, field, meaning. Nothing
 * here depends on the reader, so that writers and recorders can include it. Numbers have the byte
 * order that the header of `info` names, but for the kernel's pages.
 *
 * SPEC uftrace/byte-order: `info` begins with 40 bytes; lines of text follow.
 *
 *	 0  8  magic        "Ftrace!\0"
 *	 8  4  version      3 or 4
 *	12  2  size         of this header
 *	14  1  byte order   UFTRACE_LITTLE or UFTRACE_BIG
 *	15  1  class        UFTRACE_32 or UFTRACE_64
 *	16  8  features     bits
 *	24  8  lines        bits: which lines follow
 *	32  2  levels       of the stack, at most
 *	34  6  unused
 *
 * SPEC uftrace/record: TID.dat has records of 16 bytes, each followed by its payload.
 *
 *	 0  8  time         ns; of LOST 0
 *	 8  8  word         from the lowest bit on:
 *	                    2 bits  type, enum record_type
 *	                    1 bit   a payload follows
 *	                    3 bits  magic, 5
 *	                   10 bits  depth modulo 1,024
 *	                   48 bits  address; of EVENT its id, of LOST the number of records
 *
 * The payload of an ENTRY has the arguments that the function's specification lists, that of an
 * EXIT the value it returns; both are padded to a multiple of 8. The payload of an EVENT:
 *
 *	 0  2  length       n
 *	 2  n  data
 *	       padding      to a multiple of 8, the length included
 *
 * SPEC uftrace/perf-record: perf-cpuN.dat has records of a multiple of 8 bytes.
 *
 *	 0  4  type         enum perf_type
 *	 4  2  misc         enum perf_misc
 *	 6  2  size         n, of the record
 *	 8     body
 *	n-16 4 process      from here the trailer; not of type 9
 *	n-12 4 thread
 *	n-8 8  time         ns
 *
 *	COMM        8  4  process
 *	           12  4  thread
 *	           16     name, NUL-ended, padded to a multiple of 8
 *	FORK, EXIT  8  4  process; of FORK the child's
 *	           12  4  parent's process
 *	           16  4  thread
 *	           20  4  parent's thread
 *	           24  8  time
 *	LOST        8  8  id
 *	           16  8  number of records
 *	SWITCH            no body
 *
 * SPEC uftrace/header-page: kernel-cpuN.dat has pages of a fixed size, in the kernel's byte order.
 * `kernel_header` has the offsets of a page's fields; where it is missing:
 *
 *	 0  8  time         ns, of the first record
 *	 8  w  commit       w bytes, 4 or 8, the kernel's `long`; SPEC uftrace/ring-commit:
 *	                    bits 0-26  bytes of data
 *	                    bit 30     the number of lost records follows the data
 *	                    bit 31     records before the page were lost
 *	 8+w   data         records
 *
 * SPEC uftrace/ring-record: a record begins with a word of 4 bytes: 5 bits type, 27 bits time since
 * the record before, from the lowest bit on; big endian: from the highest bit on.
 *
 *	type 0      4  4  length, of itself and the data; the data follows
 *	1 to 28    4  data: as many words as the type says
 *	29          4  4  length of unused bytes; time 0: the rest of the page is unused
 *	30          4  4  time: its bits 27 and above
 *	31          4  4  time, absolute: its bits 27 to 58
 *
 * SPEC uftrace/framing: records of type 0 to 28 are events; all else in a page frames them.
 *
 * SPEC uftrace/left-over: a buffer in shared memory, in the byte order of the machine.
 *
 *	 0  4  size         bytes of records that TID.dat does not have yet
 *	 4  4  flags        1 new, 2 was written to TID.dat, 4 has records
 *	 8  8  unused
 *	16     records, as in TID.dat
 */
#ifndef SPUR_FORMAT_UFTRACE_WIRE_H
#define SPUR_FORMAT_UFTRACE_WIRE_H

#include <stdint.h>

/* The header of `info`. */
enum {
	INFO_HEADER = 40,
	INFO_AT_VERSION = 8,
	INFO_AT_SIZE = 12,
	INFO_AT_ORDER = 14,
	INFO_AT_CLASS = 15,
	INFO_AT_FEATURES = 16,
	INFO_AT_LINES = 24,
	INFO_AT_LEVELS = 32,
};

/* A record of TID.dat. */
enum {
	RECORD = 16,
	RECORD_AT_WORD = 8,
	RECORD_TYPE_MASK = 3,
	RECORD_MORE = 4,
	MAGIC_BITS = 5 << 3, /* of the low byte of the word */
	MAGIC_MASK = 7 << 3,
	DEPTH_SHIFT = 6,
	DEPTH_MASK = 1023,
	ADDRESS_SHIFT = 16,
	EVENT_LENGTH = 2, /* bytes of the length of an EVENT's payload */
	MAX_PAYLOAD = 1032, /* the recorder stores no more than 1,020 bytes, padded */
};

enum record_type { RECORD_ENTRY, RECORD_EXIT, RECORD_LOST, RECORD_EVENT };

/* A buffer in shared memory. */
enum { SHARED_AT_SIZE = 0, SHARED_AT_FLAGS = 4, SHARED_DATA = 16, SHARED_FLAGS = 7 };

/* Records of perf-cpuN.dat. */
enum perf_type {
	PERF_LOST = 2,
	PERF_COMM = 3,
	PERF_EXIT = 4,
	PERF_FORK = 7,
	PERF_SAMPLE = 9, /* the only type without a trailer */
	PERF_SWITCH = 14
};

enum perf_misc {
	PERF_COMM_EXEC = 0x2000,
	PERF_SWITCH_OUT = 0x2000,
	PERF_SWITCH_PREEMPTED = 0x4000, /* with OUT: preempted */
};

enum {
	PERF_HEAD = 8,
	PERF_TRAILER = 16,
	PERF_COMM_BODY = 8, /* without the name */
	PERF_TASK_BODY = 24,
	PERF_LOST_BODY = 16,
};

/* Records of kernel-cpuN.dat. */
enum {
	RING_WORD = 4,
	RING_LONG = 0, /* types */
	RING_WORDS = 28, /* 1 to 28: number of words of data */
	RING_PADDING = 29,
	RING_EXTEND = 30,
	RING_STAMP = 31,
	RING_DELTA_BITS = 27,
	RING_DELTA_MASK = (1 << RING_DELTA_BITS) - 1,
	RING_COMMIT_MASK = (1 << 27) - 1,
};

#endif
