/*
 * The pages of the kernel's ftrace ring buffer in kernel-cpuN.dat: pages of fixed size, each a time
 * stamp, a commit word and packed records. Does not decode the records' data.
 */
#ifndef SPUR_FORMAT_UFTRACE_RING_H
#define SPUR_FORMAT_UFTRACE_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/source.h"

/* The layout of a page, from the kernel's `header_page`. */
struct ring_layout {
	uint32_t page_size;
	uint32_t time_off, commit_off, data_off;
	uint8_t commit_size; /* 4 or 8: the kernel's `long` */
	bool big_endian;
	bool swap; /* the byte order is not the machine's */
};

/* Returns the layout for kernels with a `long` of 4 or 8 bytes if header_page is missing. */
struct ring_layout ring_layout_default(uint32_t page_size, unsigned long_size, bool big_endian);
/* Returns true if all fields lie inside the page, in order. */
bool ring_layout_valid(const struct ring_layout *l);

struct ring_record {
	uint64_t time; /* ns */
	uint64_t off; /* in the file, of the record's first word */
	uint32_t len; /* from there to the end of its data */
	uint32_t size; /* bytes of data */
	const uint8_t *data; /* in the source: until source_close() */
	/* Number of records that the kernel lost just before; -1: unknown number */
	int64_t missed;
};

/* One pass over the pages of one CPU. It owns no memory. */
struct ring {
	const struct ring_layout *layout;
	struct source *src;
	const char *file; /* for diagnostics */
	struct diag_log *diag;
	uint64_t page; /* offset of the current page */
	uint64_t pos, end; /* in the file: the next record, the end of the page's data */
	uint64_t next_page;
	uint64_t time;
	/* Lost records not reported with a record yet; at the end, those after the last record */
	int64_t missed;
};

void ring_init(struct ring *r, const struct ring_layout *layout, struct source *src,
	       const char *file, struct diag_log *diag);
/*
 * Gets the next record. Waits for the source's bytes; reports and skips damage. Returns false at
 * the end.
 */
bool ring_next(struct ring *r, struct ring_record *rec);
/*
 * Finds the data inside a record (`len` bytes at `p`, as ring_next() returned them). Returns false
 * if it has no data.
 */
bool ring_data(const struct ring_layout *l, const uint8_t *p, uint32_t len, const uint8_t **data,
	       uint32_t *size);

#endif
