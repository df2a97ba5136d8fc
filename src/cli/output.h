/* Where a command writes: standard output, or a file that takes its name when all is written. */
#ifndef SPUR_CLI_OUTPUT_H
#define SPUR_CLI_OUTPUT_H

#include "base/mem.h"
#include "base/out.h"

struct output {
	struct out out;
	const char *path; /* NULL: standard output */
	char *temp; /* name until the end; NULL: written in place */
	bool force;
	struct arena arena;
};

/* Refuses a file that is there, without `force`. `path` NULL or "-": standard output. */
enum spur_status output_open(struct output *o, const char *path, bool force,
			     struct spur_error *err);
/*
 * Flushes and, with `keep`, gives the file its name; else removes it. A reader that went away
 * (EPIPE) is no error. Frees all in any case.
 */
enum spur_status output_close(struct output *o, bool keep, struct spur_error *err);

#endif
