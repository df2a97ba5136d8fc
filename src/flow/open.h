/*
 * Opening a trace below the public calls: for joined traces, and for a second reading of the same
 * input.
 */
#ifndef SPUR_FLOW_OPEN_H
#define SPUR_FLOW_OPEN_H

#include "model/trace.h"

struct source;

/*
 * As spur_open(). Where `strings` is not NULL the trace's strings go there (trace_share_strings());
 * they must outlive it.
 */
enum spur_status trace_open(struct spur_trace **out, const char *path,
			    const struct spur_options *opt, struct intern *strings,
			    struct spur_error *err);
/* An input without a path. */
struct trace_input {
	const void *data; /* `size` bytes that outlive the trace */
	size_t size;
	int fd; /* or, from 0 on, a descriptor of the caller's */
};
/* As trace_open(), for a trace of one file; `name` stands for its path. */
enum spur_status trace_open_input(struct spur_trace **out, const char *name,
				  const struct trace_input *in, const struct spur_options *opt,
				  struct spur_error *err);
/* Returns true if the input of `t` can be read twice: it is no pipe, and it no longer grows. */
bool trace_can_reopen(const struct spur_trace *t);
/*
 * Opens the input of `t` once more, from its beginning. Returns SPUR_WARN, with nothing opened, if
 * the input is a pipe or still grows: such an input can be read only once.
 */
enum spur_status trace_open_again(struct spur_trace **out, const struct spur_trace *t,
				  struct spur_error *err);
/*
 * Closes a trace that trace_open() or one of the others opened, or a test made. NULL: does nothing.
 */
void trace_close(struct spur_trace *t);
/*
 * Whether the followed file of `t`, which has been read to its end, was replaced or cut, and there
 * is a file of that name to go on with. If so, that is no longer damage of `t`.
 */
enum trace_renewal { TRACE_SAME, TRACE_REPLACED, TRACE_CUT };
enum trace_renewal trace_take_renewal(struct spur_trace *t);

#endif
