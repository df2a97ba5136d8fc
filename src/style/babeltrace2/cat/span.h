/*
 * SPEC ctf/stream-intersection: the time in which all streams of a trace are active, from the
 * latest begin of a stream's first packet to the earliest end of a last one. Each of several traces
 * has its own.
 */
#ifndef SPUR_STYLE_BABELTRACE2_CAT_SPAN_H
#define SPUR_STYLE_BABELTRACE2_CAT_SPAN_H

#include "format/ctf/reader.h"

/* Of the trace that a stream is part of; ns, both inclusive. */
struct stream_span {
	int64_t from, to;
};

/*
 * Fills *out (mem_free()) with the span of each stream. Returns SPUR_FAIL with err set if a trace
 * has none, if packets do not say when they begin and end, if the trace grows, or if out of memory.
 */
enum spur_status spans_find(struct stream_span **out, const struct ctf *c, struct spur_error *err);

#endif
