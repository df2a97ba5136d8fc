/* Help, manual pages and completion scripts, generated from the tables. */
#ifndef SPUR_CLI_HELP_H
#define SPUR_CLI_HELP_H

#include "cli/opt.h"

const struct spur_cmd *cmd_find(const char *name);
/* The summary and description of the program: for `spur -h`, `spur help` and the manual. */
extern const char spur_summary[];
extern const char spur_description[];

typedef void help_writer(struct out *o, const struct spur_cmd *cmd);
/* Write the help of a command, or of the program if cmd is NULL. */
help_writer help_short, help_long;

/* Writes the manual page of a command, or of the program if cmd is NULL, in roff. */
help_writer man_page;

/* Write completion scripts; `cmd` is ignored. */
help_writer completion_bash, completion_zsh, completion_fish;

/* Calls `write` with the output that the options name. Returns the exit code. */
int help_print(const struct values *v, help_writer *write, const struct spur_cmd *cmd);
/* The same for the command that the first operand names, or for the program if it is missing. */
int help_operand(struct values *v, help_writer *write);

#endif
