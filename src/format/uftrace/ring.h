/*
 * The kernel's ftrace ring buffer as its pages stand in kernel-cpuN.dat: pages of fixed size, each
 * a time stamp, a commit word and packed records. Knows nothing of what is in a record.
 */
#ifndef SPUR_FORMAT_UFTRACE_RING_H
#define SPUR_FORMAT_UFTRACE_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/source.h"

/* Where a page has what: the kernel's `header_page` tells. */
struct ring_layout {
	uint32_t page_size;
	uint32_t time_off, commit_off, data_off;
	uint8_t commit_size; /* 4 or 8: the kernel's `long` */
	bool big_endian;
	bool swap; /* the byte order is not the machine's */
};

/* What pages of a kernel with `long` of 4 or 8 bytes look like where no header_page is known. */
struct ring_layout ring_layout_default(uint32_t page_size, unsigned long_size, bool big_endian);
/* The offsets can hold: everything stands inside the page, in order. */
bool ring_layout_valid(const struct ring_layout *l);

struct ring_record {
	uint64_t time; /* ns */
	uint64_t off; /* in the file, of the record's first word */
	uint32_t len; /* from there to the end of its data */
	uint32_t size; /* bytes of data */
	const uint8_t *data; /* in the source: until source_close() */
	/* Records that the kernel lost just before: 0; -1: some, it does not say how many */
	int64_t missed;
};

/* One pass over the pages of one CPU. Zero cost beyond the source: nothing is to be freed. */
struct ring {
	const struct ring_layout *layout;
	struct source *src;
	const char *file; /* for diagnostics */
	struct diag_log *diag;
	uint64_t page; /* offset of the current page */
	uint64_t pos, end; /* in the file: the next record, the end of the page's data */
	uint64_t next_page;
	uint64_t time;
	/* Not yet told with a record; after the end: what was missed behind the last one */
	int64_t missed;
};

void ring_init(struct ring *r, const struct ring_layout *layout, struct source *src,
	       const char *file, struct diag_log *diag);
/*
 * The next record; false at the end. Waits for the source's bytes. What is damaged goes to the log
 * and is passed over.
 */
bool ring_next(struct ring *r, struct ring_record *rec);
/*
 * The data inside a record's own bytes (`len` at `p`, as ring_next() gave them). False: it has
 * none.
 */
bool ring_data(const struct ring_layout *l, const uint8_t *p, uint32_t len, const uint8_t **data,
	       uint32_t *size);

#endif
