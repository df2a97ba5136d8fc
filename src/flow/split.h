/*
 * Splits a trace into several traces of the same format: one for each thread or process, or one
 * after the other by time, number of events or size. Each part is a copy (flow/cut.h).
 */
#ifndef SPUR_FLOW_SPLIT_H
#define SPUR_FLOW_SPLIT_H

#include "flow/pipe.h"
#include "format/format.h"

enum split_by { SPLIT_THREAD, SPLIT_PROCESS, SPLIT_TIME, SPLIT_COUNT, SPLIT_SIZE };

struct split {
	struct pipe_options pipe; /* its filter chooses the rows that are split */
	enum split_by by;
	uint64_t each; /* of a part: ns, number of events, or bytes of records; at least 1 */
	struct outdir *dir; /* gets a file or directory for each part */
	const char *ending; /* of their names, such as ".fxt"; "": none */
	struct out *notes;
	/* Set by split_run(): */
	struct spur_error error; /* if it fails */
	size_t count; /* of parts */
	uint64_t bytes_lost; /* of all parts, see struct copy */
	bool damaged;
};

enum { SPLIT_PARTS = 65536 };

/*
 * Returns SPUR_OK, SPUR_WARN if there is nothing to split, or SPUR_FAIL with s->error set: also if
 * there would be more than SPLIT_PARTS parts.
 */
enum spur_status split_run(struct split *s, struct spur_trace *t);

#endif
