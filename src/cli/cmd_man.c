/* spur man: writes the manual pages. */
#include "cli/help.h"

static int man_run(const struct spur_cmd *cmd, struct values *v)
{
	(void)cmd;
	return help_operand(v, man_page);
}

const struct spur_cmd spur_cmd_man = {
	.name = "man",
	.summary = "Write the manual page of Spur or a command.",
	.usage = "[COMMAND]",
	.description = "Write a page in roff, which man displays.",
	.examples = "spur man report | man -l -\tread it\n",
	.run = man_run,
};
