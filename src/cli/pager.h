/*
 * A pager for output on a terminal, as git has one: $SPUR_PAGER, else $PAGER, else less if it is
 * installed; output is not paged if that is empty or "cat". less gets LESS=FRX unless it is set: it
 * exits if the output fits on one screen.
 */
#ifndef SPUR_CLI_PAGER_H
#define SPUR_CLI_PAGER_H

#include "cli/values.h"

/*
 * Sends standard output, and standard error if it is a terminal, to a pager, if standard output is
 * a terminal. Requires that what depends on the terminal (its width, color) was read before.
 */
void pager_begin(const struct values *v);
/* Waits until the user has left the pager. Nothing can be written after this. */
void pager_end(void);

#endif
