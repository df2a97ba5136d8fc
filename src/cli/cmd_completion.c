/* spur completion: writes completion scripts for shells. */
#include <string.h>

#include "cli/help.h"
#include "cli/run.h"

static int completion_run(const struct spur_cmd *cmd, struct values *v)
{
	const char *shell = v->noperands ? v->operands[0] : "";

	if (strcmp(shell, "bash") == 0)
		return help_print(v, completion_bash, cmd);
	if (strcmp(shell, "zsh") == 0)
		return help_print(v, completion_zsh, cmd);
	if (strcmp(shell, "fish") == 0)
		return help_print(v, completion_fish, cmd);
	err_set(&v->err, SPUR_ERR_USAGE, "completion: expected bash, zsh or fish, found \"%s\"",
		shell);
	return run_error(&v->err);
}

const struct spur_cmd spur_cmd_completion = {
	.name = "completion",
	.summary = "Write a completion script for bash, zsh or fish.",
	.usage = "bash|zsh|fish",
	.description =
		"The script completes options, the values of those that have a fixed set, and "
		"functions (of -F and other filters, and after the trace of graph, hist and "
		"flame), which it reads from the trace on the command line, or else from the "
		"default one.",
	.examples =
		"eval \"$(spur completion bash)\"\tfor this shell\n"
		"spur completion fish > ~/.config/fish/completions/spur.fish\tfor all shells to "
		"come\n",
	.run = completion_run,
};
