/* How many parts a trace of one feed is divided into. */
#ifndef TESTS_UNIT_PARTS_COUNT_H
#define TESTS_UNIT_PARTS_COUNT_H

#include "flow/parts.h"

/* Parts of about `size` bytes. */
static inline size_t parts_count(const char *trace, enum pipe_parts how, uint64_t size)
{
	const struct pipe_options opt = { .threads = 2, .parts = how };
	struct spur_options options = SPUR_OPTIONS();
	struct spur_error err = { 0 };
	struct spur_trace *t;
	struct parts parts;
	size_t n;

	options.read_size = size;
	assert_int_equal(spur_open(&t, trace, &options, &err), SPUR_OK);
	assert_int_equal(t->nfeeds, 1);
	assert_true(parts_make(&parts, t, &opt, t->feeds, 1, 1 << 20));
	n = parts.n;
	parts_free(&parts);
	spur_close(t);
	return n;
}

#endif
