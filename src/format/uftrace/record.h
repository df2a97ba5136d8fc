/*
 * The record of TID.dat, in the order of bytes that `info` gives:
 *
 *	offset	size	field
 *	0	8	time, ns
 *	8	8	word:	bits 0-1	type
 *				bit 2		a payload follows
 *				bits 3-5	magic, 5
 *				bits 6-15	depth modulo 1024
 *				bits 16-63	address; of EVENT the id, of LOST the number of records
 */
#ifndef SPUR_FORMAT_UFTRACE_RECORD_H
#define SPUR_FORMAT_UFTRACE_RECORD_H

#include "format/uftrace/reader.h"

enum {
	RECORD = 16,
	/* SPEC uftrace/record */
	RECORD_MORE = 4,
	MAGIC_BITS = 5 << 3, /* of the low byte of the second word */
	MAGIC_MASK = 7 << 3,
	DEPTH_MASK = 1023,
	MAX_PAYLOAD = 1032, /* the recorder stores no more than 1,020 bytes, padded */
};

enum record_type { RECORD_ENTRY, RECORD_EXIT, RECORD_LOST, RECORD_EVENT };

/* The address of a call, extended to the kernel's half. */
static inline uint64_t record_address(uint64_t word)
{
	return (uint64_t)((int64_t)word >> 16);
}

#endif
