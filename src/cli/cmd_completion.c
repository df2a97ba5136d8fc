/* spur completion: scripts for shells. */
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
	.summary = "Writes a completion script for bash, zsh or fish.",
	.usage = "bash|zsh|fish",
	.description = "The script is made from the option tables, so it knows every option and, where "
		       "they are fixed, its values. It completes functions (of -F and other filters, "
		       "and behind the trace of graph, hist and flame) with those of the trace on the "
		       "command line, else of ./uftrace.data.",
	.examples = "eval \"$(spur completion bash)\"\tin this shell\n"
		    "spur completion fish > ~/.config/fish/completions/spur.fish\tfor good\n",
	.run = completion_run,
};
