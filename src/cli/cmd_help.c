/* spur help: the same as --help. */
#include "cli/help.h"
#include "cli/run.h"

static int help_run(const struct spur_cmd *cmd, struct values *v)
{
	const struct spur_cmd *of = NULL;

	(void)cmd;
	if (v->noperands && !(of = cmd_find(v->operands[0]))) {
		err_set(&v->err, SPUR_ERR_USAGE, "no command named \"%s\"; see spur -h",
			v->operands[0]);
		return run_error(&v->err);
	}
	return help_print(v, help_long, of);
}

const struct spur_cmd spur_cmd_help = {
	.name = "help",
	.summary = "Help about Spur or a command.",
	.usage = "[COMMAND]",
	.description = "The same as spur --help and spur COMMAND --help.",
	.examples = "spur help report\tall about report\n",
	.run = help_run,
};
