/* What is told on standard error. */
#ifndef SPUR_CLI_REPORT_DIAG_H
#define SPUR_CLI_REPORT_DIAG_H

#include "model/trace.h"

/* `spur: MESSAGE`, safe on a terminal. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* If an allocation has failed: says "out of memory", unless that has been said, and returns true. */
bool say_memory(void);
/* Text of lines that are safe already. */
void say_text(const char *text, size_t len);
/*
 * A line for each diagnostic kept, how many more there are of its kind, and a summary. `quiet`:
 * only damage; `summary`: only the last line. True where there is damage.
 */
bool report_diag(struct spur_trace *t, bool quiet, bool summary);

#endif
