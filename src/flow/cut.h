/*
 * Cuts: the rows that pass a filter, as a trace of the same format. The filter runs over the rows
 * and the records of those that it keeps are noted (model/kept.h); the format then copies these
 * (format/copy.h).
 */
#ifndef SPUR_FLOW_CUT_H
#define SPUR_FLOW_CUT_H

#include "flow/pipe.h"
#include "format/format.h"

struct cut {
	struct pipe_options pipe; /* its filter chooses the rows; NULL: all */
	bool sorted, repair; /* see struct copy */
	struct out *out;
	struct outdir *dir;
	struct out *notes;
	/* Set by cut_run(): */
	struct spur_error error; /* if it fails */
	bool none; /* no row passed the filter: nothing was written */
	struct copy copy; /* what the format did */
};

/*
 * Runs a format's copy. What it notes goes to copy->notes with the program's name before each line.
 * Returns SPUR_FAIL, with copy->err set, if it fails.
 */
enum spur_status cut_copy(const struct spur_format *format, struct copy *copy);
/*
 * Returns the format that copies the trace: that of its files if it is a directory of such, which
 * are parts of one copy. Its `copy` is NULL if traces of the format cannot be copied.
 */
const struct spur_format *cut_format(const struct spur_trace *t);
/* Returns true if the copy of the trace is a directory. */
bool cut_is_dir(const struct spur_trace *t);
/*
 * The parts of a copy of a trace alone, or of a trace that joins several. Returns NULL if out of
 * memory. Free with mem_free().
 */
struct copy_part *cut_parts(struct spur_trace *t, size_t *count);
/*
 * Returns true if the traces that `t` joins are of one format that can join them by moving records,
 * without a filter, and their clocks differ by an offset at most. cut_run() then writes one trace.
 */
bool cut_joins(const struct cut *c, struct spur_trace *t);
/* Returns SPUR_FAIL, with c->error set, if it fails. */
enum spur_status cut_run(struct cut *c, struct spur_trace *t);

#endif
