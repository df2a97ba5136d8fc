/*
 * The arguments of a trace that is being written, as texts in a temporary file: what was read of
 * such a trace may be gone when a span is picked. Memory is a few bytes for each 64 KiB of it.
 */
#ifndef SPUR_VIEW_ARGS_LOG_H
#define SPUR_VIEW_ARGS_LOG_H

#include "view/view.h"

/*
 * Begins a log for rows of a trace, which must stay open. Returns SPUR_FAIL if out of memory, or if
 * no temporary file can be made.
 */
enum spur_status args_log_new(struct args_log **out, const struct spur_trace *t,
			      struct spur_error *err);
/*
 * Appends the arguments of a row. One thread at a time may call it. Returns false if out of memory
 * or if the disk is full, which args_log_failed() tells.
 */
bool args_log_add(struct args_log *l, const struct spur_event *row, const struct spur_args *args);
/* Sets the error of an args_log_add() that returned false. Returns SPUR_FAIL. */
enum spur_status args_log_failed(const struct args_log *l, struct spur_error *err);
/*
 * Passes on the arguments of a row that was added: one with the same time, kind and place. `end`:
 * it ends a span. Any thread may call it. Returns false if out of memory or if the file cannot be
 * read.
 */
bool args_log_find(struct args_log *l, const struct spur_event *row, bool end, view_arg_take take,
		   void *self);
/* NULL: does nothing. */
void args_log_free(struct args_log *l);

#endif
