/*
 * What the two halves of the FDR decoder share: fdr.c has the short loop, body.c everything else.
 */
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
	bool failed; /* memory */
};

/* A row's second half but for name and last word. */
struct row_words xray_row_words(const struct fdr *r, uint32_t len);

/* As stored: the file's header. */
void xray_read_header(struct fdr *r);
/* A row of the bytes from xf->span_at on; the batch has room for it. */
void xray_read_span(struct fdr *r);
/* Begins to read xf->buffer. Returns false if out of memory. */
bool xray_open_buffer(struct fdr *r);
/*
 * Takes one record, or what is no record, or closes the buffer. Gives at most one row: the batch
 * has room for it.
 */
void xray_read_other(struct fdr *r);
/* SPEC xray/call-argument: those behind an entry's row are its arguments */
void xray_read_arguments(struct fdr *r, struct spur_event *row);

#endif
