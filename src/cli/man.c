/* Manual pages in roff. See help.h. */
#include <string.h>

#include "cli/help.h"

static void roff(struct out *o, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (s[i] == '-')
			out_str(o, "\\-");
		else if (s[i] == '\\')
			out_str(o, "\\e");
		else if ((s[i] == '.' || s[i] == '\'') && (i == 0 || s[i - 1] == '\n'))
			out_printf(o, "\\&%c", s[i]);
		else
			out_char(o, s[i]);
	}
}

static void roff_str(struct out *o, const char *s)
{
	roff(o, s, strlen(s));
}

static void roff_paragraphs(struct out *o, const char *text)
{
	while (*text) {
		const size_t n = strcspn(text, "\n");

		roff(o, text, n);
		out_str(o, "\n");
		text += n;
		text += *text == '\n';
		if (*text)
			out_str(o, ".PP\n");
	}
}

static void man_option(struct out *o, const struct opt *opt)
{
	out_str(o, ".TP\n");
	if (opt->letter)
		out_printf(o, "\\fB\\-%c\\fR, ", opt->letter);
	out_str(o, "\\fB\\-\\-");
	roff_str(o, opt->name);
	out_str(o, "\\fR");
	if (opt->arg) {
		out_str(o, " \\fI");
		roff_str(o, opt->arg);
		out_str(o, "\\fR");
	}
	out_char(o, '\n');
	roff_str(o, opt->help);
	out_char(o, '\n');
	for (int i = 0; opt->type == OPT_CHOICE && opt->choices[i]; i++)
		out_printf(o, "%s%s%s", i ? ", " : "One of: ", opt->choices[i],
			   opt->choices[i + 1] ? "" : ".\n");
}

struct man_listing {
	struct out *out;
	const char *title;
};

static bool man_list(void *self, const char *title, const struct opt *opt)
{
	struct man_listing *l = self;

	if (opt->hidden)
		return true;
	if (!l->title)
		out_str(l->out, ".SH OPTIONS\n");
	if ((!l->title || strcmp(l->title, title) != 0) && strcmp(title, "Options") != 0)
		out_printf(l->out, ".SS %s\n", title);
	l->title = title;
	man_option(l->out, opt);
	return true;
}

static void man_examples(struct out *o, const char *text)
{
	if (!text || !*text)
		return;
	out_str(o, ".SH EXAMPLES\n");
	while (*text) {
		const size_t n = strcspn(text, "\t"), m = strcspn(text + n, "\n");

		out_str(o, ".TP\n\\fB");
		roff(o, text, n);
		out_str(o, "\\fR\n");
		if (m > 1)
			roff(o, text + n + 1, m - 1);
		out_char(o, '\n');
		text += n + m;
		text += *text == '\n';
	}
}

static void man_end(struct out *o)
{
	out_str(o,
		".SH EXIT STATUS\n"
		"0 clean; 1 differences, or nothing passes the filter; 2 usage; 3 the input is "
		"damaged, the output was written; 4 unreadable or unknown format; 5 reading or "
		"writing failed; 130 interrupted: the output is incomplete, and the file of "
		"\\fB\\-o\\fR is unchanged (with \\fB\\-\\-follow\\fR, the output is complete up "
		"to then).\n"
		".SH ENVIRONMENT\n.TP\nNO_COLOR\nIf set and not empty, colors are off unless "
		"\\fB\\-\\-color=always\\fR is given.\n"
		".TP\nSPUR_PAGER, PAGER\nThe pager for output on a terminal (default: less).\n");
}

static void man_head(struct out *o, const char *name, const char *summary)
{
	out_str(o, ".TH ");
	for (const char *p = name; *p; p++)
		out_char(o, *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p);
	out_printf(o, " 1 \"\" \"spur %s\" \"Spur\"\n.nh\n.ad l\n.SH NAME\n", spur_version());
	roff_str(o, name);
	out_str(o, " \\- ");
	roff_str(o, summary);
	out_str(o, "\n.SH SYNOPSIS\n");
}

static void man_program(struct out *o)
{
	man_head(o, "spur", spur_summary);
	out_str(o, "\\fBspur\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...] [\\fITRACE\\fR]\n.SH "
		   "DESCRIPTION\n");
	roff_paragraphs(o, spur_description);
	out_str(o, ".SH COMMANDS\n");
	for (size_t i = 0; spur_cmds[i]; i++) {
		out_printf(o, ".TP\n\\fB%s\\fR\n", spur_cmds[i]->name);
		roff_str(o, spur_cmds[i]->summary);
		out_str(o, "\n");
	}
	man_end(o);
	out_str(o, ".SH SEE ALSO\n");
	for (size_t i = 0; spur_cmds[i]; i++)
		out_printf(o, "%s\\fBspur\\-%s\\fR(1)", i ? ", " : "", spur_cmds[i]->name);
	out_char(o, '\n');
}

void man_page(struct out *o, const struct spur_cmd *cmd)
{
	struct man_listing l = { .out = o };
	char name[64] = "spur-";

	if (!cmd) {
		man_program(o);
		return;
	}
	strncat(name, cmd->name, sizeof(name) - 6);
	man_head(o, name, cmd->summary);
	out_printf(o, "\\fBspur %s\\fR ", cmd->name);
	roff_str(o, cmd->usage);
	out_char(o, '\n');
	man_examples(o, cmd->examples);
	out_str(o, ".SH DESCRIPTION\n");
	roff_paragraphs(o, cmd->description);
	opt_each(cmd, man_list, &l);
	man_end(o);
	out_str(o, ".SH SEE ALSO\n\\fBspur\\fR(1)\n");
}
