/* The program: finds the command, reads its options, runs it. */
#include <string.h>

#include "base/os.h"
#include "base/text.h"
#include "cli/help.h"
#include "cli/pager.h"
#include "cli/report_diag.h"
#include "cli/run.h"
#include "cli/signals.h"
#include "view/export.h"

enum { WORDS = 64 };

static void version_text(struct out *o, const struct spur_cmd *cmd)
{
	(void)cmd;
	out_printf(o, "spur %s\n", spur_version());
}

static void version_json(struct out *o, const struct spur_cmd *cmd)
{
	(void)cmd;
	out_json_head(o, "version");
	out_printf(o, ",\"name\":\"spur\",\"version\":\"%s\",\"formats\":[",
		   spur_version());
	for (size_t i = 0; spur_formats[i]; i++)
		out_printf(o, "%s\"%s\"", i ? "," : "", spur_formats[i]->name);
	out_str(o, "],\"commands\":[");
	for (size_t i = 0; spur_cmds[i]; i++)
		out_printf(o, "%s\"%s\"", i ? "," : "", spur_cmds[i]->name);
	out_str(o, "],\"input_compression\":[\"gzip\",\"zstd\",\"xz\",\"bzip2\"]}\n");
}

static int unknown_command(const char *name)
{
	const char *words[WORDS] = { NULL };
	const char *near;
	size_t n = 0;

	for (size_t i = 0; spur_cmds[i] && n + 1 < WORDS; i++)
		words[n++] = spur_cmds[i]->name;
	near = text_suggest(name, words);
	if (name[0] == '-')
		say("unknown option %s; see spur -h", name);
	else if (near)
		say("no command named \"%s\"; did you mean %s?", name, near);
	else if (os_access(name, F_OK) == 0)
		say("no command named \"%s\"; to see the trace of that name: spur report %s", name,
		    name);
	else
		say("no command named \"%s\"; see spur -h", name);
	return EXIT_USAGE;
}

/* Options before any command. */
static int run_program(int argc, char *const *argv)
{
	const struct values none = { 0 };
	const char *arg = argv[1];

	if (strcmp(arg, "--version") == 0 || strcmp(arg, "-V") == 0) {
		if (argc > 3 || (argc == 3 && strcmp(argv[2], "--json") != 0)) {
			say("--version: expected --json or nothing after it, found \"%s\"",
			    argv[argc == 3 ? 2 : 3]);
			return EXIT_USAGE;
		}
		return help_print(&none, argc == 3 ? version_json : version_text, NULL);
	}
	if (strcmp(arg, "-h") == 0)
		return help_print(&none, help_short, NULL);
	if (strcmp(arg, "--help") == 0)
		return help_print(&none, help_long, NULL);
	return unknown_command(arg);
}

static int run_command(const struct spur_cmd *cmd, int argc, char *const *argv)
{
	struct values v;
	int code;

	values_init(&v);
	if (!opt_parse(cmd, &v, argc, argv))
		code = run_error(&v.err);
	else if (v.help || v.help_long)
		code = help_print(&v, v.help ? help_short : help_long, cmd);
	else
		code = cmd->run(cmd, &v);
	values_free(&v);
	return code;
}

int main(int argc, char **argv)
{
	const struct spur_cmd *cmd;
	int code;

	signals_install();
	html_page = view_export;
	if (argc < 2) {
		say("expected a command; see spur -h");
		return EXIT_USAGE;
	}
	cmd = cmd_find(argv[1]);
	code = cmd ? run_command(cmd, argc - 2, argv + 2) : run_program(argc, argv);
	pager_end();
	/* Even if the failure was handled, part of the output may be missing. */
	return code != EXIT_INTERRUPTED && say_memory() ? EXIT_IO : code;
}
