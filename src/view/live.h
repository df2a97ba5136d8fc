/* A store of a trace that is being written: what has come is shown a moment later. */
#ifndef SPUR_VIEW_LIVE_H
#define SPUR_VIEW_LIVE_H

#include "flow/pipe.h"
#include "store/store.h"
#include "view/args_log.h"

/* Why events are missing, with their number. */
#define VIEW_LATE_TEXT                                                                            \
	"events that came too long after later ones of their thread to be put in order are left " \
	"out: %llu; view the trace once it is complete"

/*
 * Adds the rows of a trace that grows (pipe_is_live()) to a writer with one worker until the trace
 * ends or pipe->stop is set; store_writer_finish() is the caller's. Rows that come out of order are
 * put in order as far as a window goes (window.h); others are counted in view->late, and told as a
 * warning of the trace. view->args gets the arguments of all rows. Returns SPUR_FAIL if out of
 * memory or if writing failed.
 */
enum spur_status live_build(struct spur_trace *t, const struct pipe_options *pipe,
			    struct store_writer *writer, struct view *view, struct spur_error *err);

#endif
