/* The state of spur_next_spans(). */
#ifndef SPUR_API_SPANS_H
#define SPUR_API_SPANS_H

struct span_reader;

void span_reader_free(struct span_reader *r);

#endif
