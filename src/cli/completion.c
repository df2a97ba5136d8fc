/* Completion scripts. See help.h. */
#include <string.h>

#include "cli/help.h"

/* What the option tables give to one script. */
struct script {
	struct out *out;
	const struct spur_cmd *cmd;
};

static bool bash_name(void *self, const char *title, const struct opt *opt)
{
	const struct script *s = self;

	(void)title;
	if (!opt->hidden)
		out_printf(s->out, " --%s", opt->name);
	return true;
}

static bool bash_choices(void *self, const char *title, const struct opt *opt)
{
	const struct script *s = self;

	(void)title;
	if (opt->hidden || opt->type != OPT_CHOICE)
		return true;
	out_printf(s->out, "\t%s:--%s) words=\"", s->cmd->name, opt->name);
	for (int i = 0; opt->choices[i]; i++)
		out_printf(s->out, "%s%s", i ? " " : "", opt->choices[i]);
	out_str(s->out, "\" ;;\n");
	return true;
}

void completion_bash(struct out *o, const struct spur_cmd *cmd)
{
	(void)cmd;
	out_str(o, "# bash completion of spur\n_spur()\n{\n"
		   "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} "
		   "cmd=${COMP_WORDS[1]} words=\n"
		   "\tif [ \"$cur\" = = ]; then cur=; elif [ \"$prev\" = = ]; then "
		   "prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
		   "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\twords=\"");
	for (size_t i = 0; spur_cmds[i]; i++)
		out_printf(o, "%s ", spur_cmds[i]->name);
	out_str(o, "--version --help\"\n\t\tCOMPREPLY=($(compgen -W \"$words\" -- "
		   "\"$cur\"))\n\t\treturn\n\tfi\n"
		   "\tcase $cmd:$prev in\n");
	for (size_t i = 0; spur_cmds[i]; i++)
		opt_each(spur_cmds[i], bash_choices, &(struct script){ o, spur_cmds[i] });
	out_str(o, "\t*) case $cur in\n\t-*) case $cmd in\n");
	for (size_t i = 0; spur_cmds[i]; i++) {
		out_printf(o, "\t\t%s) words=\"", spur_cmds[i]->name);
		opt_each(spur_cmds[i], bash_name, &(struct script){ o, spur_cmds[i] });
		out_str(o, "\" ;;\n");
	}
	out_str(o, "\t\tesac ;;\n\tesac ;;\n\tesac\n"
		   "\tif [ -n \"$words\" ]; then COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
		   "\telse COMPREPLY=($(compgen -f -- \"$cur\")); fi\n}\n"
		   "complete -o filenames -o bashdefault -F _spur spur\n");
}

/* Text inside '...'; zsh takes [ ] and : of descriptions for its own. */
static void quoted(struct out *o, const char *s, bool zsh)
{
	for (; *s; s++) {
		if (*s == '\'')
			out_str(o, zsh ? "'\\''" : "\\'");
		else if (zsh && strchr("[]:\\", *s))
			out_printf(o, "\\%c", *s);
		else
			out_char(o, *s);
	}
}

static bool zsh_option(void *self, const char *title, const struct opt *opt)
{
	const struct script *s = self;

	(void)title;
	if (opt->hidden)
		return true;
	out_printf(s->out, "\t\t'*--%s%s[", opt->name, opt->arg ? "=" : "");
	quoted(s->out, opt->help, true);
	out_str(s->out, "]");
	if (opt->arg) {
		out_str(s->out, ":");
		quoted(s->out, opt->arg, true);
		out_str(s->out, ":");
		for (int i = 0; opt->type == OPT_CHOICE && opt->choices[i]; i++)
			out_printf(s->out, "%s%s%s", i ? " " : "(", opt->choices[i],
				   opt->choices[i + 1] ? "" : ")");
		if (opt->type == OPT_STRING)
			out_str(s->out, "_files");
	}
	out_str(s->out, "' \\\n");
	return true;
}

void completion_zsh(struct out *o, const struct spur_cmd *cmd)
{
	(void)cmd;
	out_str(o, "#compdef spur\n_spur() {\n\tif (( CURRENT == 2 )); then\n\t\tlocal -a "
		   "commands=(\n");
	for (size_t i = 0; spur_cmds[i]; i++) {
		out_printf(o, "\t\t\t'%s:", spur_cmds[i]->name);
		quoted(o, spur_cmds[i]->summary, true);
		out_str(o, "'\n");
	}
	out_str(o,
		"\t\t)\n\t\t_describe command commands\n\t\treturn\n\tfi\n\tcase $words[2] in\n");
	for (size_t i = 0; spur_cmds[i]; i++) {
		out_printf(o, "\t%s) shift words; (( CURRENT-- ))\n\t\t_arguments \\\n",
			   spur_cmds[i]->name);
		opt_each(spur_cmds[i], zsh_option, &(struct script){ o, spur_cmds[i] });
		out_str(o, "\t\t'*:trace:_files' ;;\n");
	}
	out_str(o, "\tesac\n}\n_spur \"$@\"\n");
}

static bool fish_option(void *self, const char *title, const struct opt *opt)
{
	const struct script *s = self;

	(void)title;
	if (opt->hidden)
		return true;
	out_printf(s->out, "complete -c spur -n '__fish_seen_subcommand_from %s' -l %s",
		   s->cmd->name, opt->name);
	if (opt->letter)
		out_printf(s->out, " -s %c", opt->letter);
	if (opt->arg)
		out_str(s->out, " -r");
	for (int i = 0; opt->type == OPT_CHOICE && opt->choices[i]; i++)
		out_printf(s->out, "%s%s%s", i ? " " : " -f -a '", opt->choices[i],
			   opt->choices[i + 1] ? "" : "'");
	out_str(s->out, " -d '");
	quoted(s->out, opt->help, false);
	out_str(s->out, "'\n");
	return true;
}

void completion_fish(struct out *o, const struct spur_cmd *cmd)
{
	(void)cmd;
	for (size_t i = 0; spur_cmds[i]; i++) {
		out_printf(o, "complete -c spur -n __fish_use_subcommand -f -a %s -d '",
			   spur_cmds[i]->name);
		quoted(o, spur_cmds[i]->summary, false);
		out_str(o, "'\n");
		opt_each(spur_cmds[i], fish_option, &(struct script){ o, spur_cmds[i] });
	}
}
