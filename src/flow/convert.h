/*
 * Conversion: rows of a trace, filtered, paired and pushed into a writer (format/writer.h). What
 * the target cannot carry is counted.
 */
#ifndef SPUR_FLOW_CONVERT_H
#define SPUR_FLOW_CONVERT_H

#include "flow/pipe.h"
#include "format/writer.h"

/* The time that times of the target count from. */
enum convert_zero {
	ZERO_CLOCK, /* the clock's own zero */
	ZERO_START, /* the first event */
	ZERO_EXACT, /* the first event if the target would round times as large as the trace's */
};

struct convert {
	struct pipe_options pipe;
	enum convert_zero zero;
	bool no_args; /* leave arguments out */
	/* Set by convert_run(). */
	struct loss_table loss;
	struct loss_reason reasons[LOSS_REASONS]; /* of `loss` */
	uint64_t rows; /* that passed the filter */
};

/*
 * Writes the trace to `o`. Returns SPUR_FAIL if out of memory; failures to write are in o->error.
 */
enum spur_status convert_run(struct convert *c, struct spur_trace *t,
			     const struct spur_writer *writer, struct out *o);

#endif
