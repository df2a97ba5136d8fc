/* spur help: the same as --help. */
#include "cli/help.h"

static int help_run(const struct spur_cmd *cmd, struct values *v)
{
	(void)cmd;
	return help_operand(v, help_long);
}

const struct spur_cmd spur_cmd_help = {
	.name = "help",
	.summary = "Help about Spur or a command.",
	.usage = "[COMMAND]",
	.description = "The same as spur --help and spur COMMAND --help.",
	.examples = "spur help report\tall about report\n",
	.run = help_run,
};
