/* Completion scripts. See help.h. */
#include <string.h>

#include "base/text.h"
#include "cli/help.h"

/* The state of writing one script from the option tables. */
struct script {
	struct out *out;
	const struct spur_cmd *cmd;
};

/* Returns the first list like "total,self,calls" in a text; empty if the text has no such list. */
static struct text listed_words(const char *text)
{
	while (*text) {
		const size_t word = strcspn(text, " ");
		const size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-,");

		if (memchr(text, ',', n) && n > 2 && text[n - 1] != ',' && text[0] >= 'a')
			return text_make(text, n);
		text += word + (text[word] == ' ');
	}
	return text_make("", 0);
}

static bool find_fields(void *self, const char *title, const struct opt *opt)
{
	const struct opt **found = self;

	(void)title;
	if (strcmp(opt->name, "fields") == 0)
		*found = opt;
	return !*found;
}

/* Returns the columns that an option's help lists; if --sort lists none, those of --fields. */
static struct text column_words(const struct spur_cmd *cmd, const struct opt *opt)
{
	const struct opt *fields = NULL;
	struct text t = listed_words(opt->help);

	if (!t.len && strcmp(opt->name, "sort") == 0)
		opt_each(cmd, find_fields, &fields);
	return fields ? listed_words(fields->help) : t;
}

static void word_out(struct out *o, const char *word, size_t len, bool lower)
{
	out_char(o, ' ');
	for (size_t i = 0; i < len; i++)
		out_char(o, lower && word[i] >= 'A' && word[i] <= 'Z' ? (char)(word[i] | 32)
								      : word[i]);
}

/*
 * Appends the values that an option may have, each after a blank. Returns false if they are not
 * known.
 */
static bool option_words(struct out *o, const struct spur_cmd *cmd, const struct opt *opt)
{
	const size_t had = o->len;

	if (opt->choices) {
		for (int i = 0; opt->choices[i]; i++)
			word_out(o, opt->choices[i], strlen(opt->choices[i]), false);
	} else if (opt->choice) {
		for (size_t i = 0; opt->choice(i); i++)
			word_out(o, opt->choice(i), strlen(opt->choice(i)), true);
	} else if (opt->arg && strcmp(opt->arg, "LIST") == 0) {
		struct text t = column_words(cmd, opt);

		while (t.len) {
			const char *comma = memchr(t.p, ',', t.len);
			const size_t n = comma ? (size_t)(comma - t.p) : t.len;

			word_out(o, t.p, n, false);
			t = text_make(t.p + n + !!comma, t.len - n - !!comma);
		}
	}
	return o->len > had;
}

static bool takes_function(const struct opt *opt)
{
	return opt->type == OPT_FILTER && opt->arg && strcmp(opt->arg, "FUNC") == 0;
}

/* The value is a file or a directory. */
static bool takes_file(const struct opt *opt)
{
	return opt->arg && (strstr(opt->arg, "FILE") || strstr(opt->arg, "DIR") ||
			    strcmp(opt->arg, "TRACE") == 0);
}

/* An operand after the traces is a function. */
static bool function_operand(const struct spur_cmd *cmd)
{
	return strstr(cmd->usage, "FUNC") != NULL;
}

/* Writes the names of the commands whose operand may be a function, with `between` between them. */
static void function_commands(struct out *o, const char *between)
{
	bool any = false;

	for (size_t i = 0; spur_cmds[i]; i++) {
		if (!function_operand(spur_cmds[i]))
			continue;
		out_printf(o, "%s%s", any ? between : "", spur_cmds[i]->name);
		any = true;
	}
}

/* The first operand is a program, and what follows is up to that. */
static bool program_operand(const struct spur_cmd *cmd)
{
	return cmd->takes & TAKES_PROGRAM;
}

/* The same for commands whose operand is a program. */
static void program_commands(struct out *o, const char *between)
{
	bool any = false;

	for (size_t i = 0; spur_cmds[i]; i++) {
		if (!program_operand(spur_cmds[i]))
			continue;
		out_printf(o, "%s%s", any ? between : "", spur_cmds[i]->name);
		any = true;
	}
}

static bool bash_name(void *self, const char *title, const struct opt *opt)
{
	const struct script *s = self;

	(void)title;
	if (!opt->hidden)
		out_printf(s->out, " --%s", opt->name);
	return true;
}

static void bash_case(const struct script *s, const struct opt *opt)
{
	out_printf(s->out, "\t%s:--%s", s->cmd->name, opt->name);
	if (opt->letter)
		out_printf(s->out, "|%s:-%c", s->cmd->name, opt->letter);
	out_str(s->out, ") ");
}

static bool bash_values(void *self, const char *title, const struct opt *opt)
{
	const struct script *s = self;
	struct out words;

	(void)title;
	if (opt->hidden || !opt->arg)
		return true;
	out_to_memory(&words);
	if (takes_function(opt)) {
		bash_case(s, opt);
		out_str(s->out, "names=1 ;;\n");
	} else if (option_words(&words, s->cmd, opt)) {
		bash_case(s, opt);
		out_str(s->out, "words=\"");
		out_bytes(s->out, words.buf + 1, words.len - 1);
		out_str(s->out, "\" ;;\n");
	} else {
		bash_case(s, opt);
		out_str(s->out, takes_file(opt) ? "files=1 ;;\n" : "return ;;\n");
	}
	out_free(&words);
	return true;
}

/*
 * Lists the functions of the trace on the command line, else of ./uftrace.data: the first column of
 * the report, in which names with commas are quoted.
 */
static const char names_of_trace[] =
	"_spur_functions()\n{\n"
	"\tlocal word trace=uftrace.data\n"
	"\tfor word in \"$@\"; do\n"
	"\t\tcase $word in -*) ;; *) [ -e \"$word\" ] && trace=$word && break ;; esac\n"
	"\tdone\n"
	"\ttimeout 3 spur report --quiet --csv --fields=function \"$trace\" 2>/dev/null </dev/null "
	"|\n"
	"\t\tsed -e 1d -e 's/^\"\\(\\([^\"]\\|\"\"\\)*\\)\"$/\\1/' -e '/^(/d'\n}\n";

void completion_bash(struct out *o, const struct spur_cmd *cmd)
{
	(void)cmd;
	out_str(o, "# bash completion of spur\n");
	out_str(o, names_of_trace);
	out_str(o, "_spur()\n{\n"
		   "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} "
		   "cmd=${COMP_WORDS[1]} words= names= files= head IFS=$' \\t\\n'\n\tCOMPREPLY=()\n"
		   "\tif [ \"$cur\" = = ]; then cur=; elif [ \"$prev\" = = ]; then "
		   "prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
		   "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\twords=\"");
	for (size_t i = 0; spur_cmds[i]; i++)
		out_printf(o, "%s ", spur_cmds[i]->name);
	out_str(o, "--version --help\"\n\t\tCOMPREPLY=($(compgen -W \"$words\" -- "
		   "\"$cur\"))\n\t\treturn\n\tfi\n"
		   "\tcase $cmd:$prev in\n");
	for (size_t i = 0; spur_cmds[i]; i++)
		opt_each(spur_cmds[i], bash_values, &(struct script){ o, spur_cmds[i] });
	out_str(o, "\t*) case $cur in\n\t-*) case $cmd in\n");
	for (size_t i = 0; spur_cmds[i]; i++) {
		out_printf(o, "\t\t%s) words=\"", spur_cmds[i]->name);
		opt_each(spur_cmds[i], bash_name, &(struct script){ o, spur_cmds[i] });
		out_str(o, "\" ;;\n");
	}
	out_str(o, "\t\tesac ;;\n\tesac ;;\n\tesac\n"
		   "\tif [ -z \"$files$words$names\" ]; then case $cmd in ");
	function_commands(o, "|");
	out_str(o, ")\n"
		   "\t\tfor head in \"${COMP_WORDS[@]:2:COMP_CWORD-2}\"; do\n"
		   "\t\t\tcase $head in -*) ;; *) [ -e \"$head\" ] && names=1 ;; esac\n"
		   "\t\tdone ;;\n\tesac; fi\n"
		   "\tif [ -n \"$names\" ]; then\n\t\tIFS=$'\\n'\n"
		   "\t\tCOMPREPLY=($(_spur_functions \"${COMP_WORDS[@]:2}\" | "
		   "while read -r head; do\n"
		   "\t\t\tcase $head in \"$cur\"*) printf '%q\\n' \"$head\" ;; esac\n\t\tdone))\n"
		   "\telif [ -n \"$words\" ]; then\n\t\thead=${cur%\"${cur##*,}\"}\n"
		   "\t\tCOMPREPLY=($(compgen -P \"$head\" -W \"$words\" -- \"${cur##*,}\"))\n"
		   "\telse COMPREPLY=($(compgen -f -- \"$cur\")); fi\n"
		   "\tif [ -z \"$files$words$names\" ]; then case $cmd in ");
	program_commands(o, "|");
	out_str(o, ") COMPREPLY+=($(compgen -c -- \"$cur\")) ;; esac; fi\n}\n"
		   "complete -o filenames -o bashdefault -F _spur spur\n");
}

/* Text inside '...'; in descriptions, [ ] and : have a meaning for zsh. */
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

/* Writes the action that completes the value of an option. */
static void zsh_values(const struct script *s, const struct opt *opt)
{
	struct out words;

	out_to_memory(&words);
	if (takes_function(opt)) {
		out_str(s->out, "_spur_names");
	} else if (option_words(&words, s->cmd, opt)) {
		const bool list = strcmp(opt->arg, "LIST") == 0;

		out_str(s->out, list ? "_values -s , value" : "(");
		out_bytes(s->out, words.buf + !list, words.len - !list);
		out_str(s->out, list ? "" : ")");
	} else if (takes_file(opt)) {
		out_str(s->out, "_files");
	} else {
		out_char(s->out, ' ');
	}
	out_free(&words);
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
		zsh_values(s, opt);
	}
	out_str(s->out, "' \\\n");
	return true;
}

void completion_zsh(struct out *o, const struct spur_cmd *cmd)
{
	(void)cmd;
	out_str(o, "#compdef spur\n");
	out_str(o, names_of_trace);
	out_str(o, "_spur_names() {\n\tlocal -a names\n"
		   "\tnames=(\"${(@f)$(_spur_functions \"${words[@]:1}\")}\")\n"
		   "\tcompadd -a names\n}\n"
		   "_spur_operand() {\n\tlocal word trace=\n"
		   "\tfor word in \"${(@)words[2,CURRENT-1]}\"; do\n"
		   "\t\t[[ $word != -* && -e $word ]] && trace=$word\n\tdone\n"
		   "\t[[ -n $trace ]] && _spur_names\n\t_files\n}\n");
	out_str(o, "_spur() {\n\tif (( CURRENT == 2 )); then\n\t\tlocal -a "
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
		out_str(o, function_operand(spur_cmds[i])  ? "\t\t'*:function:_spur_operand' ;;\n"
			   : program_operand(spur_cmds[i]) ? "\t\t'*::program:_normal' ;;\n"
							   : "\t\t'*:trace:_files' ;;\n");
	}
	out_str(o, "\tesac\n}\n_spur \"$@\"\n");
}

static bool fish_option(void *self, const char *title, const struct opt *opt)
{
	const struct script *s = self;
	struct out words;

	(void)title;
	if (opt->hidden)
		return true;
	out_printf(s->out, "complete -c spur -n '__fish_seen_subcommand_from %s' -l %s",
		   s->cmd->name, opt->name);
	if (opt->letter)
		out_printf(s->out, " -s %c", opt->letter);
	if (opt->arg)
		out_str(s->out, takes_file(opt) ? " -r" : " -x");
	out_to_memory(&words);
	if (opt->arg && takes_function(opt)) {
		out_str(s->out, " -a '(__spur_functions)'");
	} else if (opt->arg && option_words(&words, s->cmd, opt)) {
		out_str(s->out, " -a '");
		out_bytes(s->out, words.buf + 1, words.len - 1);
		out_char(s->out, '\'');
	}
	out_free(&words);
	out_str(s->out, " -d '");
	quoted(s->out, opt->help, false);
	out_str(s->out, "'\n");
	return true;
}

void completion_fish(struct out *o, const struct spur_cmd *cmd)
{
	(void)cmd;
	out_str(o, "function __spur_functions\n\tset -l trace uftrace.data\n"
		   "\tfor word in (commandline -opc)[3..]\n"
		   "\t\tif not string match -q -- '-*' $word; and test -e $word\n"
		   "\t\t\tset trace $word\n\t\t\tbreak\n\t\tend\n\tend\n"
		   "\ttimeout 3 spur report --quiet --csv --fields=function $trace 2>/dev/null "
		   "</dev/null |\n"
		   "\t\tsed -e 1d -e 's/^\"\\(\\([^\"]\\|\"\"\\)*\\)\"$/\\1/' -e '/^(/d'\nend\n"
		   "function __spur_operands\n"
		   "\tfor word in (commandline -opc)[3..]\n"
		   "\t\tif not string match -q -- '-*' $word; and test -e $word\n"
		   "\t\t\t__spur_functions\n\t\t\tbreak\n\t\tend\n\tend\nend\n"
		   "complete -c spur -n '__fish_seen_subcommand_from ");
	function_commands(o, " ");
	out_str(o, "' -a '(__spur_operands)'\n"
		   "complete -c spur -n '__fish_seen_subcommand_from ");
	program_commands(o, " ");
	out_str(o, "' -a '(__fish_complete_command)'\n");
	for (size_t i = 0; spur_cmds[i]; i++) {
		out_printf(o, "complete -c spur -n __fish_use_subcommand -f -a %s -d '",
			   spur_cmds[i]->name);
		quoted(o, spur_cmds[i]->summary, false);
		out_str(o, "'\n");
		opt_each(spur_cmds[i], fish_option, &(struct script){ o, spur_cmds[i] });
	}
}
