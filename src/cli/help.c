/* Help texts, 80 columns wide. See help.h. */
#include "cli/help.h"

#include <string.h>

#include "cli/output.h"
#include "cli/pager.h"
#include "cli/run.h"

enum { WIDTH = 79, COLUMN = 27 };

const char spur_summary[] = "records and reads traces: who called what, when, and where time went";
const char spur_description[] =
	"Spur records programs, and reads traces of six formats, whole or damaged. It shows them "
	"as a list of events, as nested calls, as tables, call graphs and flame graphs, converts "
	"them, cuts, merges and repairs them. It recognizes the format by content.\n"
	"A TRACE is a file, a directory, - for standard input, or net://HOST/host/NAME/SESSION, a "
	"live session of LTTng's relay daemon. Files compressed by gzip, zstd, xz or bzip2 are "
	"unpacked while they are read. Damage does not stop reading: it is located, counted and "
	"reported on standard error, and the rest is shown.\n"
	"On a terminal, output goes through a pager ($SPUR_PAGER, $PAGER or less). Trees are drawn "
	"in ASCII if the locale is not UTF-8.";

const struct spur_cmd *cmd_find(const char *name)
{
	for (size_t i = 0; spur_cmds[i]; i++)
		if (strcmp(spur_cmds[i]->name, name) == 0)
			return spur_cmds[i];
	return NULL;
}

/*
 * Returns how many bytes of the next word go on a line with `room` left; a word that is too long
 * for any line is broken after a comma.
 */
static size_t word_piece(const char *text, size_t room, size_t whole)
{
	const size_t n = strcspn(text, " ");
	size_t piece = n;

	if (n <= whole)
		return n;
	while (piece > room || (piece < n && piece && text[piece - 1] != ','))
		piece--;
	return piece ? piece : strcspn(text, ", ") + 1;
}

/* Writes a paragraph from column `at` on, further lines from column `indent` on. */
static void wrap(struct out *o, const char *text, size_t at, size_t indent)
{
	bool first = true, glued = true;

	while (*text) {
		const size_t gap = glued ? 0 : 1, left = at + gap < WIDTH ? WIDTH - at - gap : 0;
		size_t n = word_piece(text, left, WIDTH - indent);

		if (!first && n > left) {
			out_char(o, '\n');
			out_pad(o, ' ', indent);
			at = indent;
			n = word_piece(text, WIDTH - indent, WIDTH - indent);
		} else if (gap) {
			out_char(o, ' ');
			at++;
		}
		out_bytes(o, text, n);
		at += n;
		text += n;
		glued = *text != ' ';
		text += *text == ' ';
		first = false;
	}
	out_char(o, '\n');
}

static void paragraphs(struct out *o, const char *text)
{
	while (*text) {
		const size_t n = strcspn(text, "\n");
		char line[2000];

		if (n < sizeof(line)) {
			memcpy(line, text, n);
			line[n] = '\0';
			out_char(o, '\n');
			wrap(o, line, 0, 0);
		}
		text += n;
		text += *text == '\n';
	}
}

static void option_out(struct out *o, const struct opt *opt)
{
	char head[64];
	size_t len = 2;

	memcpy(head, "      ", 6);
	if (opt->letter)
		memcpy(head + 2, (const char[]){ '-', opt->letter, ',' }, 3);
	len = 6;
	len += (size_t)(stpncpy(head + len, "--", 3) - (head + len));
	len += (size_t)(stpncpy(head + len, opt->name, 24) - (head + len));
	if (opt->arg) {
		head[len++] = ' ';
		len += (size_t)(stpncpy(head + len, opt->arg, 24) - (head + len));
	}
	out_bytes(o, head, len);
	if (len + 2 > COLUMN) {
		out_char(o, '\n');
		len = 0;
	}
	out_pad(o, ' ', COLUMN - len);
	wrap(o, opt->help, COLUMN, COLUMN);
}

/* The state of listing options: all of them, or only the command's own. */
struct listing {
	struct out *out;
	const char *title;
	bool own_only;
};

static bool list_option(void *self, const char *title, const struct opt *opt)
{
	struct listing *l = self;

	if (opt->hidden)
		return true;
	if (l->own_only && strcmp(title, "Options") != 0)
		return false;
	if (!l->title || strcmp(l->title, title) != 0)
		out_printf(l->out, "\n%s:\n", title);
	l->title = title;
	option_out(l->out, opt);
	return true;
}

/* Lists the shared options by name only. */
struct name_line {
	struct out *out;
	const char *title;
	char text[2000];
	size_t len;
};

static void names_flush(struct name_line *l)
{
	if (l->title && l->len) {
		out_printf(l->out, "\n%s:", l->title);
		wrap(l->out, l->text, strlen(l->title) + 1, 2);
	}
	l->len = 0;
	l->text[0] = '\0';
}

static bool list_name(void *self, const char *title, const struct opt *opt)
{
	struct name_line *l = self;
	size_t n = strlen(opt->name);

	if (opt->hidden || strcmp(title, "Options") == 0)
		return true;
	if (!l->title || strcmp(l->title, title) != 0)
		names_flush(l);
	l->title = title;
	if (l->len + n + 8 < sizeof(l->text)) {
		memcpy(l->text + l->len, " --", 3);
		memcpy(l->text + l->len + 3, opt->name, n + 1);
		l->len += n + 3;
	}
	return true;
}

static void examples_out(struct out *o, const char *text)
{
	if (!text || !*text)
		return;
	out_str(o, "\nExamples:\n");
	while (*text) {
		const size_t n = strcspn(text, "\t"), m = strcspn(text + n, "\n");

		out_str(o, "  ");
		out_bytes(o, text, n);
		if (m > 1) {
			out_str(o, "\n        ");
			out_bytes(o, text + n + 1, m - 1);
		}
		out_char(o, '\n');
		text += n + m;
		text += *text == '\n';
	}
}

static void command_help(struct out *o, const struct spur_cmd *cmd, bool full)
{
	struct listing all = { .out = o, .own_only = !full };
	struct name_line names = { .out = o };

	out_printf(o, "Usage: spur %s %s\n", cmd->name, cmd->usage);
	wrap(o, cmd->summary, 0, 0);
	if (full)
		paragraphs(o, cmd->description);
	opt_each(cmd, list_option, &all);
	if (full) {
		examples_out(o, cmd->examples);
		out_str(o, "\nExit codes: 0 clean, 1 differences or no match, 2 usage, 3 damaged "
			   "input but\n"
			   "output written, 4 unreadable or unknown format, 5 reading or writing "
			   "failed.\n");
		return;
	}
	opt_each(cmd, list_name, &names);
	names_flush(&names);
	out_printf(o, "\nMore: spur %s --help\n", cmd->name);
}

static void program_help(struct out *o, bool full)
{
	out_printf(o, "Usage: spur COMMAND [OPTION...] [TRACE]\nSpur %s ", spur_version());
	wrap(o, spur_summary, 6 + strlen(spur_version()), 0);
	if (full)
		paragraphs(o, spur_description);
	out_str(o, "\nCommands:\n");
	for (size_t i = 0; spur_cmds[i]; i++) {
		const struct spur_cmd *c = spur_cmds[i];

		out_printf(o, "  %-12s", c->name);
		wrap(o, c->summary, 14, 14);
	}
	out_str(o, "\nRun spur COMMAND -h for the options of a command, spur COMMAND --help for "
		   "its\nwhole help, and spur --version [--json] for the version.\n");
}

void help_short(struct out *o, const struct spur_cmd *cmd)
{
	if (cmd)
		command_help(o, cmd, false);
	else
		program_help(o, false);
}

void help_long(struct out *o, const struct spur_cmd *cmd)
{
	if (cmd)
		command_help(o, cmd, true);
	else
		program_help(o, true);
}

int help_print(const struct values *v, help_writer *writer, const struct spur_cmd *cmd)
{
	struct spur_error err;
	struct output o;

	if (writer == help_long)
		pager_begin(v);
	if (output_open(&o, v->output, v->force, &err) == SPUR_FAIL) {
		output_close(&o, false, NULL);
		return run_error(&err);
	}
	writer(&o.out, cmd);
	return output_close(&o, true, &err) == SPUR_FAIL ? run_error(&err) : EXIT_CLEAN;
}

int help_operand(struct values *v, help_writer *write)
{
	const struct spur_cmd *of = NULL;

	if (v->noperands && !(of = cmd_find(v->operands[0]))) {
		err_set(&v->err, SPUR_ERR_USAGE, "no command named \"%s\"; see spur -h",
			v->operands[0]);
		return run_error(&v->err);
	}
	return help_print(v, write, of);
}
