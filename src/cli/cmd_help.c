/* spur help: shows the text of --help. */
#include "cli/help.h"

static int help_run(const struct spur_cmd *cmd, struct values *v)
{
	(void)cmd;
	return help_operand(v, help_long);
}

const struct spur_cmd spur_cmd_help = {
	.name = "help",
	.summary = "Show help about Spur or a command.",
	.usage = "[COMMAND]",
	.description = "Same as spur --help and spur COMMAND --help.",
	.examples = "spur help report\tall about report\n",
	.run = help_run,
};
