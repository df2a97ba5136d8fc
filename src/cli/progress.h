/*
 * The progress of a long command: on a terminal, after the first second, a line on standard error
 * with the bytes read, the rate and the time left. It is erased when text appears on the same
 * terminal, and at the end.
 */
#ifndef SPUR_CLI_PROGRESS_H
#define SPUR_CLI_PROGRESS_H

#include <pthread.h>

#include "base/out.h"
#include "cli/values.h"
#include "model/trace.h"

struct progress {
	bool runs, stop, shown;
	int fd; /* of the terminal */
	const struct out *text; /* the line is erased once text is written to it; NULL: never */
	const struct spur_trace *trace; /* atomic; NULL: not open yet */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	int64_t began; /* ns of the monotonic clock */
};

/* Starts the progress line. Requires that no pager has started yet (see pager.h). */
void progress_begin(struct progress *p, const struct values *v, const struct out *text);
/* Requires a trace that stays open until progress_end(). */
void progress_trace(struct progress *p, const struct spur_trace *t);
void progress_end(struct progress *p);

#endif
