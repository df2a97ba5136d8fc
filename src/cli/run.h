/* Runs a pass by the options: shared by all commands that read a trace. */
#ifndef SPUR_CLI_RUN_H
#define SPUR_CLI_RUN_H

#include "cli/output.h"
#include "cli/values.h"

/* Writes the error's message. Returns its exit code. */
int run_error(const struct spur_error *err);
/*
 * Returns true if an operand that may be a function is a trace: - or a URL, a file or directory of
 * a known format, or anything that exists if its path has a slash or --input-format is given. A
 * program that is named as its function is not one.
 */
bool run_is_trace(const struct values *v, const char *path);
/*
 * Returns the format of a trace by its path and first bytes, or as --input-format says; NULL if it
 * is a pipe, or of no known format.
 */
const struct spur_format *run_format(const struct values *v, const char *path);
/*
 * Moves the traces' paths from the operands into v->traces: -d, else the first operand and those
 * after it that are traces too, else ./uftrace.data, else standard input if that is a file or a
 * pipe. The last `more` operands are traces only if run_is_trace(). Returns false, with v->err
 * set, if there is no trace or an operand is left over.
 */
bool run_take_traces(const struct spur_cmd *cmd, struct values *v, size_t more);
/* Options of a pass or of a style, of the type that its header declares. */
struct run_options {
	const char *style; /* NULL: of the analysis, whatever the style */
	const void *data;
	size_t size;
};
#define RUN_OPTIONS(STYLE, DATA) { .style = (STYLE), .data = (DATA), .size = sizeof(*(DATA)) }
enum { RUN_OPTIONS_MAX = 4 };

/* A pass to run, and its options. */
struct run_request {
	const char *pass; /* name of the analysis; values.style chooses its layout */
	struct run_options options[RUN_OPTIONS_MAX]; /* those left out are zeroed */
	bool selective; /* an option besides the filter selects events: no result is exit code 1 */
	bool writes_files; /* a signal must let the pass remove them */
	bool until_stopped; /* runs until a signal comes, which is no interruption */
	bool draws; /* the pass draws on the terminal: no pager, and no progress once it runs */
	bool strict; /* write nothing if anything would be lost */
	bool is_dir; /* the output is a directory; needs -o and implies writes_files */
	/*
	 * Not NULL: a second file beside an output that is a new file, with this ending behind its
	 * name
	 */
	const char *side;
	/* The output is a copy of the trace: a directory if the format says so. */
	bool is_copy;
};

/*
 * Opens the directory that -o names as the output. Returns SPUR_FAIL, with v->err set, if it cannot
 * be made, or if --force would replace a directory that is no trace. Requires output_close() in any
 * case; `o` must be zeroed before.
 */
enum spur_status run_output_dir(struct values *v, struct output *o);
/* Returns SPUR_FAIL, with v->err set, if a duration was given without a unit. */
enum spur_status run_check_units(struct values *v);
/* Opens the trace, runs the pass in the chosen style, reports the damage. Returns the exit code. */
int run_pass(struct values *v, const struct run_request *request);
/*
 * Runs a pass that compares two inputs: v->traces, which are opened one after the other and not
 * joined. Returns the exit code: EXIT_DAMAGED if one of them is damaged, else EXIT_DIFFERENT if
 * the pass says that they differ.
 */
int run_compare(struct values *v, const struct run_request *request);
/* run_take_traces() with no more operands, then run_pass(). */
int run_simple(const struct spur_cmd *cmd, struct values *v, const struct run_request *request);

#endif
