/* Building stores: the pass `index`, its options, and the part that others use. */
#ifndef SPUR_PASS_INDEX_H
#define SPUR_PASS_INDEX_H

#include "pass/pass.h"

struct store_writer;

struct index_options {
	const char *path; /* of the store to write; NULL: it is kept in the cache (store/cache.h) */
};

static inline const struct index_options *index_options(const struct pass_env *env)
{
	return env->options;
}

/*
 * Reads all feeds of the trace into the writer, which has as many workers as pipe_workers() says.
 * store_writer_finish() is the caller's. Returns SPUR_FAIL if out of memory, or if writing failed.
 */
enum spur_status index_build(struct spur_trace *t, const struct pipe_options *pipe,
			     struct store_writer *writer, struct spur_error *err);
/*
 * The same on one thread, so that equal traces make equal stores. Returns SPUR_WARN if the trace
 * has more than `most` rows; the store then lacks some. Requires a writer with one worker.
 */
enum spur_status index_build_few(struct spur_trace *t, const struct pipe_options *pipe,
				 struct store_writer *writer, uint64_t most,
				 struct spur_error *err);

#endif
