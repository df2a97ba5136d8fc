/*
 * Raw records of the kernel's perf ring, as in perf-cpuN.dat: context switches, and threads that
 * are created, named or ended. Every record ends in a trailer of pid, tid and time.
 */
#ifndef SPUR_FORMAT_UFTRACE_PERFRING_H
#define SPUR_FORMAT_UFTRACE_PERFRING_H

#include "base/err.h"
#include "base/source.h"
#include "base/text.h"
#include "format/uftrace/wire.h"

struct perf_record {
	uint64_t off; /* in the file */
	uint32_t len;
	uint32_t type; /* any type; those not in enum perf_type are framed, not decoded */
	uint16_t misc;
	/*
	 * The process and thread of COMM, FORK (the child) and EXIT; else those that were running
	 */
	int64_t pid, tid;
	int64_t ppid, ptid; /* FORK, EXIT; else -1 */
	uint64_t time; /* ns: of the event itself if the record has it, else of the trailer */
	struct text comm; /* COMM; in the source */
	uint64_t lost; /* LOST: number of records */
};

struct perfring {
	struct source *src;
	const char *file; /* for diagnostics */
	struct diag_log *diag;
	uint64_t off; /* of the next record */
	uint64_t time; /* of the last whole record; 0: none yet */
	bool swap;
};

void perfring_init(struct perfring *r, struct source *src, bool swap, const char *file,
		   struct diag_log *diag);
/*
 * Decodes the next record of any type. Waits for the source's bytes, and reports damage to the log.
 * Returns false at the end.
 */
bool perfring_next(struct perfring *r, struct perf_record *rec);
/*
 * Decodes the record at `p`, of which `left` bytes are available. Returns false if it is invalid or
 * too short for its type.
 */
bool perf_decode(const uint8_t *p, uint64_t left, bool swap, struct perf_record *rec);

#endif
