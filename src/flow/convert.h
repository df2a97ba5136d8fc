/*
 * Conversion: rows of a trace, filtered, paired and pushed into a writer (format/writer.h). What
 * the target cannot carry is counted.
 */
#ifndef SPUR_FLOW_CONVERT_H
#define SPUR_FLOW_CONVERT_H

#include "flow/mask.h"
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
	const char *settings; /* of the writer, checked by writer_check(); NULL: none */
	struct mask *mask; /* replaces names and ids; NULL: none */
	struct outdir *dir; /* the output, if the writer writes a directory; else NULL */
	struct out *side; /* the file beside the output, if there is one; else NULL */
	/* Set by convert_run(). */
	struct spur_error error; /* if it fails */
	struct loss_table loss;
	struct loss_reason reasons[LOSS_REASONS]; /* of `loss` */
	uint64_t rows; /* that passed the filter */
};

/*
 * Writes the trace to `o`, or to c->dir. Returns SPUR_FAIL, with c->error set, if that fails;
 * failures to write to `o` are in o->error.
 */
enum spur_status convert_run(struct convert *c, struct spur_trace *t,
			     const struct spur_writer *writer, struct out *o);

#endif
