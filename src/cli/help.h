/* Help, manual pages and completion, all from the tables. */
#ifndef SPUR_CLI_HELP_H
#define SPUR_CLI_HELP_H

#include "cli/opt.h"

const struct spur_cmd *cmd_find(const char *name);
/* What the program is: for `spur -h`, `spur help` and the manual. */
extern const char spur_summary[];
extern const char spur_description[];

typedef void help_writer(struct out *o, const struct spur_cmd *cmd);
/* Of a command; of the program where cmd is NULL. */
help_writer help_short, help_long;

/* A manual page in roff; of the program where cmd is NULL. */
help_writer man_page;

/* Completion scripts; `cmd` plays no part. */
help_writer completion_bash, completion_zsh, completion_fish;

/* Writes what `write` makes to the output that is asked for; the exit code. */
int help_print(const struct values *v, help_writer *write, const struct spur_cmd *cmd);
/* The same of the command that the first operand names; of the program where there is none. */
int help_operand(struct values *v, help_writer *write);

#endif
