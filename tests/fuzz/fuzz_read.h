/* How fuzzers of readers open their bytes as a trace, and how they choose to read it. */
#ifndef SPUR_TESTS_FUZZ_READ_H
#define SPUR_TESTS_FUZZ_READ_H

#include "base/source.h"
#include "format/format.h"
#include "fuzz_row.h"
#include "model/trace.h"

/* Sizes of pieces; the last byte chooses, so that all are met; the slow ones less often. */
static const size_t fuzz_pieces[8] = { 0, 64, 4096, 13, 64, 7, 100, 1 };

/* Sets *opened to whether the trace can be read. Returns the trace, NULL if memory failed. */
static inline struct spur_trace *fuzz_open(const char *format, const uint8_t *data, size_t size,
					   size_t piece, bool stored, bool *opened)
{
	const struct spur_options opt = SPUR_OPTIONS(.as_stored = stored);
	const struct source_options so = { .read_size = piece };
	struct spur_trace *const t = trace_new("fuzz", &opt);
	struct spur_error err = { 0 };

	*opened = t && source_memory(&t->source, "fuzz", data, size, &so, &err) != SPUR_FAIL;
	if (*opened) {
		t->format = format_find(format);
		*opened = t->format->open(t, t->source, &err) != SPUR_FAIL;
	}
	return t;
}

#endif
