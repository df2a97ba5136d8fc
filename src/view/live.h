/* A store of a trace that is being written: what has come is shown a moment later. */
#ifndef SPUR_VIEW_LIVE_H
#define SPUR_VIEW_LIVE_H

#include "flow/pipe.h"
#include "store/store.h"

/*
 * Adds the rows of a trace that grows (pipe_is_live()) to a writer with one worker until the trace
 * ends or pipe->stop is set; store_writer_finish() is the caller's. Returns SPUR_FAIL if out of
 * memory, if writing failed, or if rows of a track do not come in the order of their times, which a
 * store cannot show before all of them are there.
 */
enum spur_status live_build(struct spur_trace *t, const struct pipe_options *pipe,
			    struct store_writer *writer, struct spur_error *err);

#endif
