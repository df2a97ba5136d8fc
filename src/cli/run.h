/* From the options to the end of a pass: what all commands on a trace share. */
#ifndef SPUR_CLI_RUN_H
#define SPUR_CLI_RUN_H

#include "cli/values.h"

/* The exit code that an error stands for; says it. */
int run_error(const struct spur_error *err);
/*
 * Takes the trace's path off the operands: -d, else the first one, else ./uftrace.data. At most
 * `more` operands may be left. False: v->err is set.
 */
bool run_take_trace(const struct spur_cmd *cmd, struct values *v, size_t more);
/* Opens the trace, runs the pass of that name in the chosen style, tells the damage. Returns the
 * exit code. */
int run_pass(struct values *v, const char *pass);
/* run_take_trace() with no more operands, then run_pass(). */
int run_simple(const struct spur_cmd *cmd, struct values *v, const char *pass);

#endif
