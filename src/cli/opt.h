/* The table-driven option parser. */
#ifndef SPUR_CLI_OPT_H
#define SPUR_CLI_OPT_H

#include "cli/values.h"

/* A table of options with its heading in help. */
struct opt_group {
	const char *title;
	const struct opt *opts; /* ended by one without name */
	unsigned need; /* only for commands that take this: enum cmd_takes */
};

/* The shared options: for input, filters and output. Ended by one without title. */
extern const struct opt_group opt_groups[];
/* The shared options that only uftrace's style has. Ended by one without name. */
extern const struct opt uftrace_option_table[];

/*
 * Calls `each` for every option of the command, its own first, which hide shared ones of the same
 * name; stops if `each` returns false.
 */
void opt_each(const struct spur_cmd *cmd,
	      bool (*each)(void *self, const char *title, const struct opt *opt), void *self);
/*
 * Fills `v` from the arguments (after the command's name): --name VALUE, --name=VALUE, -x VALUE,
 * -xVALUE, bundled flags, `--` before operands that begin with a dash; options and operands in any
 * order. Returns false, with v->err set, if they are not valid.
 */
bool opt_parse(const struct spur_cmd *cmd, struct values *v, int argc, char *const *argv);

#endif
