/*
 * A pager for output on a terminal, as git has one: $SPUR_PAGER, else $PAGER, else less if there is one; none where
 * that is empty or "cat". less gets LESS=FRX unless it is set: it ends by itself where one screen is enough.
 */
#ifndef SPUR_CLI_PAGER_H
#define SPUR_CLI_PAGER_H

#include "cli/values.h"

/*
 * Sends standard output, and standard error where it is a terminal, to a pager, if standard output is a terminal. What
 * depends on the terminal (its width, color) must have been asked for before.
 */
void pager_begin(const struct values *v);
/* Waits until the user has left the pager. Nothing can be written behind this. */
void pager_end(void);

#endif
