/*
 * Where a command writes: standard output, or a file or directory that gets its name when all is
 * written.
 */
#ifndef SPUR_CLI_OUTPUT_H
#define SPUR_CLI_OUTPUT_H

#include "base/mem.h"
#include "base/out.h"
#include "base/outdir.h"

struct output {
	struct out out;
	const char *path; /* NULL: standard output; of a symbolic link to a file, that file */
	char *temp; /* the file's name until output_close(); NULL: written in place */
	bool force;
	bool replaces; /* a file of this name exists */
	bool is_dir; /* the output is `dir`; `out` is then memory that is dropped */
	struct outdir dir;
	struct arena arena;
};

/*
 * Opens the output; `path` NULL, "-" or "/dev/stdout" is standard output. Returns SPUR_FAIL, with
 * the error set, if the file cannot be created, or exists and `force` is false. Requires
 * output_close() in any case.
 */
enum spur_status output_open(struct output *o, const char *path, bool force,
			     struct spur_error *err);
/* Opens a directory as the output, in the same way; `path` is required. */
enum spur_status output_open_dir(struct output *o, const char *path, bool force,
				 struct spur_error *err);
/*
 * Returns SPUR_FAIL, with the error set, if the output would replace the file `input` ("-":
 * standard input), or a file in the directory `input`.
 */
enum spur_status output_spare(const struct output *o, const char *input, struct spur_error *err);
/* The same of a file that is not opened here. */
enum spur_status output_spare_file(const char *path, const char *input, struct spur_error *err);
/*
 * Returns SPUR_FAIL, with the error set, unless a file that is not opened here may get this name: a
 * new one, or (`force`) in place of a file.
 */
enum spur_status output_check(const char *path, bool force, struct spur_error *err);
/*
 * Flushes the output and, with `keep`, gives the file its name; else removes it. Returns SPUR_FAIL,
 * with the error set, if that fails, but not if the reader of a pipe has closed it (EPIPE). Frees
 * the output in any case.
 */
enum spur_status output_close(struct output *o, bool keep, struct spur_error *err);

#endif
