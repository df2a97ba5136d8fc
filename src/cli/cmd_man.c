/* spur man: the manual pages. */
#include "cli/help.h"
#include "cli/run.h"

static int man_run(const struct spur_cmd *cmd, struct values *v)
{
	const struct spur_cmd *of = NULL;

	(void)cmd;
	if (v->noperands && !(of = cmd_find(v->operands[0]))) {
		err_set(&v->err, SPUR_ERR_USAGE, "no command named \"%s\"; see spur -h",
			v->operands[0]);
		return run_error(&v->err);
	}
	return help_print(v, man_page, of);
}

const struct spur_cmd spur_cmd_man = {
	.name = "man",
	.summary = "Writes the manual page of Spur or a command.",
	.usage = "[COMMAND]",
	.description = "Writes roff, as man reads it.",
	.examples = "spur man report | man -l -\tread it\n",
	.run = man_run,
};
