/* Messages on standard error. */
#ifndef SPUR_CLI_REPORT_DIAG_H
#define SPUR_CLI_REPORT_DIAG_H

#include "model/trace.h"

/* Writes `spur: MESSAGE`, safe on a terminal. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* If an allocation has failed, writes "out of memory", but only once, and returns true. */
bool say_memory(void);
/* Writes lines that are safe on a terminal. */
void say_text(const char *text, size_t len);
/*
 * Writes a line for each diagnostic kept, the number of others of its kind, and a summary of the
 * trace, which is called `path` there; with `quiet` only damage, with `summary` only the last line.
 * Returns true if the trace is damaged.
 */
bool report_diag(struct spur_trace *t, const char *path, bool quiet, bool summary);
/* Writes the summary alone, of a trace that was not read. Returns true if it is damaged. */
bool report_totals(const char *path, const struct diag_totals *sum, bool quiet);

#endif
