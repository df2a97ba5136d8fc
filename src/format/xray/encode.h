/* Records of a flight data recorder's buffer, made for the writer and for copies. */
#ifndef SPUR_FORMAT_XRAY_ENCODE_H
#define SPUR_FORMAT_XRAY_ENCODE_H

#include <stdbool.h>
#include <string.h>

#include "base/bits.h"
#include "format/xray/wire.h"

enum { XRAY_HEAD_MOST = 4 * XRAY_METADATA };

/* SPEC xray/metadata-record: one with its kind, the rest 0 */
static inline void xray_meta_put(char *p, enum xray_meta kind, bool big)
{
	memset(p, 0, XRAY_METADATA);
	*p = (char)(big ? 0x80 | kind : kind << 1 | 1);
}

/* The first records of a buffer. */
struct xray_head {
	uint16_t version;
	bool big;
	int32_t tid, pid;
	int64_t wall; /* us */
	uint16_t cpu;
	uint64_t ticks;
};

/*
 * Puts NewBuffer, WallTime, Pid (version 3 and later) and NewCPUId. Returns their size,
 * XRAY_HEAD_MOST at most.
 */
static inline size_t xray_head_put(const struct xray_head *h, char *p)
{
	const bool swap = order_swaps(h->big);
	const uint64_t wall = h->wall < 0 ? 0 : (uint64_t)h->wall, micro = 1000000;
	char *const begin = p;

	xray_meta_put(p, META_NEW_BUFFER, h->big);
	store32(p + XRAY_META_AT_DATA, (uint32_t)h->tid, swap);
	p += XRAY_METADATA;
	/* SPEC xray/wall-time */
	xray_meta_put(p, META_WALL_TIME, h->big);
	store64(p + XRAY_META_AT_DATA, wall / micro, swap);
	store32(p + XRAY_WALL_AT_MICROSECONDS, (uint32_t)(wall % micro), swap);
	p += XRAY_METADATA;
	if (h->version > 2) {
		xray_meta_put(p, META_PID, h->big);
		store32(p + XRAY_META_AT_DATA, (uint32_t)h->pid, swap);
		p += XRAY_METADATA;
	}
	/* SPEC xray/new-cpu */
	xray_meta_put(p, META_NEW_CPU, h->big);
	store16(p + XRAY_META_AT_DATA, h->cpu, swap);
	store64(p + XRAY_CPU_AT_TICKS, h->ticks, swap);
	return (size_t)(p + XRAY_METADATA - begin);
}

#endif
