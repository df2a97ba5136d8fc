/* From the options to the end of a pass: what all commands on a trace share. */
#ifndef SPUR_CLI_RUN_H
#define SPUR_CLI_RUN_H

#include "cli/values.h"

/* The exit code that an error stands for; says it. */
int run_error(const struct spur_error *err);
/*
 * Returns true if an operand that may be a function is a trace: - or a URL, a file or directory of a
 * known format, or anything that exists if its path has a slash or --input-format is given. A
 * program that is named as its function is not one.
 */
bool run_is_trace(const struct values *v, const char *path);
/*
 * Takes the traces' paths off the operands into v->traces: -d, else the first operand and those
 * behind it that are traces too, else ./uftrace.data, else standard input if that is a file or a
 * pipe. The last `more` operands are traces only if run_is_trace(). Returns false, with v->err
 * set, if there is no trace or an operand is left over.
 */
bool run_take_traces(const struct spur_cmd *cmd, struct values *v, size_t more);
/* Opens the trace, runs the pass of that name in the chosen style, tells the damage. Returns the
 * exit code. */
int run_pass(struct values *v, const char *pass);
/* run_take_traces() with no more operands, then run_pass(). */
int run_simple(const struct spur_cmd *cmd, struct values *v, const char *pass);

#endif
