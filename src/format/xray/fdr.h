/* Shared by the two parts of the FDR decoder: fdr.c has the hot loop, body.c everything else. */
#ifndef SPUR_FORMAT_XRAY_FDR_H
#define SPUR_FORMAT_XRAY_FDR_H

#include "format/xray/reader.h"

/* One call of xray_fdr_next(). */
struct fdr {
	struct xray *x;
	struct feed *f;
	struct xray_feed *xf;
	struct xray_thread *th;
	struct batch *b;
	bool failed; /* out of memory */
};

/* Makes a row's second half except for its name and last word. */
struct row_words xray_row_words(const struct fdr *r, uint32_t len);

/* As stored: makes the row of the file's header. */
void xray_read_header(struct fdr *r);
/* Makes a row of the bytes from xf->span_at on. Requires room in the batch. */
void xray_read_span(struct fdr *r);
/* Starts reading xf->buffer. Returns false if out of memory. */
bool xray_open_buffer(struct fdr *r);
/*
 * Reads one record, skips bytes that are no record, or closes the buffer. Makes at most one row.
 * Requires room in the batch.
 */
void xray_read_other(struct fdr *r);
/* SPEC xray/call-argument: the argument records that follow an entry belong to its row */
void xray_read_arguments(struct fdr *r, struct spur_event *row);

#endif
