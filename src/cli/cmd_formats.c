/* spur formats: lists the formats that can be read and written. */
#include <string.h>

#include "cli/help.h"
#include "cli/run.h"
#include "format/writer.h"

enum { NAME_WIDTH = 10 };

static void settings_text(struct out *o, const struct spur_writer *w)
{
	for (const struct write_setting *s = w->settings; s && s->name; s++) {
		out_printf(o, "%*s --set %s=", NAME_WIDTH, "", s->name);
		for (const char *const *v = s->values; v && *v; v++)
			out_printf(o, "%s%s", v == s->values ? "" : "|", *v);
		out_printf(o, "%s: %s\n", s->values ? "" : "VALUE", s->help);
	}
}

static void formats_text(struct out *o, const struct spur_cmd *cmd)
{
	(void)cmd;
	for (size_t i = 0; spur_formats[i]; i++) {
		const struct spur_format *f = spur_formats[i];
		const struct spur_writer *w = writer_find(f->name);

		out_printf(o, "%-*s %s\n", NAME_WIDTH, f->name, f->title);
		out_printf(o, "%*s reads: %s\n", NAME_WIDTH, "", f->reads);
		if (w)
			out_printf(o, "%*s writes: %s\n", NAME_WIDTH, "", w->title);
		if (w)
			settings_text(o, w);
	}
	out_str(o, "\nOnly written, by spur convert:\n");
	for (size_t i = 0; spur_writers[i]; i++) {
		if (format_find(spur_writers[i]->name))
			continue;
		out_printf(o, "%-*s %s\n", NAME_WIDTH, spur_writers[i]->name,
			   spur_writers[i]->title);
		settings_text(o, spur_writers[i]);
	}
}

static void settings_json(struct out *o, const struct spur_writer *w)
{
	out_str(o, ",\"settings\":[");
	for (const struct write_setting *s = w->settings; s && s->name; s++) {
		out_printf(o, "%s{\"name\":\"%s\",\"values\":", s == w->settings ? "" : ",",
			   s->name);
		for (const char *const *v = s->values; v && *v; v++)
			out_printf(o, "%s\"%s\"", v == s->values ? "[" : ",", *v);
		out_str(o, s->values ? "],\"help\":" : "null,\"help\":");
		out_json(o, s->help, strlen(s->help));
		out_char(o, '}');
	}
	out_char(o, ']');
}

/* How the target carries each kind of event, by the names of kinds. */
static void fits_json(struct out *o, const struct spur_writer *w)
{
	static const char *const fits[] = {
		[WRITE_DROPPED] = "dropped", [WRITE_DEGRADED] = "degraded", [WRITE_WHOLE] = "whole"
	};

	out_str(o, ",\"kinds\":{");
	for (unsigned k = 0; k < SPUR_KINDS; k++)
		out_printf(o, "%s\"%s\":\"%s\"", k ? "," : "", spur_kind_name(k), fits[w->fits[k]]);
	out_char(o, '}');
}

static void head_json(struct out *o, const char *name, const char *title)
{
	out_printf(o, "{\"name\":\"%s\",\"title\":", name);
	out_json(o, title, strlen(title));
}

/* The members of a format that is read (`f`), written (`w`) or both. */
static void format_json(struct out *o, const struct spur_format *f, const struct spur_writer *w)
{
	if (f) {
		out_str(o, ",\"reads\":");
		out_json(o, f->reads, strlen(f->reads));
	}
	if (w) {
		out_str(o, ",\"writes\":");
		out_json(o, w->title, strlen(w->title));
		settings_json(o, w);
		fits_json(o, w);
	}
	out_char(o, '}');
}

static void formats_json(struct out *o, const struct spur_cmd *cmd)
{
	const char *comma = "";

	(void)cmd;
	out_json_head(o, "formats");
	out_str(o, ",\"formats\":[");
	for (size_t i = 0; spur_formats[i]; i++) {
		const char *name = spur_formats[i]->name;

		out_str(o, i ? "," : "");
		head_json(o, name, spur_formats[i]->title);
		format_json(o, spur_formats[i], writer_find(name));
	}
	out_str(o, "],\"targets\":[");
	for (size_t i = 0; spur_writers[i]; i++) {
		if (format_find(spur_writers[i]->name))
			continue;
		out_str(o, comma);
		head_json(o, spur_writers[i]->name, spur_writers[i]->title);
		format_json(o, NULL, spur_writers[i]);
		comma = ",";
	}
	out_str(o, "]}\n");
}

static int formats_run(const struct spur_cmd *cmd, struct values *v)
{
	if (v->noperands) {
		err_set(&v->err, SPUR_ERR_USAGE, "unexpected operand \"%s\"", v->operands[0]);
		return run_error(&v->err);
	}
	return help_print(v, v->json ? formats_json : formats_text, cmd);
}

const struct spur_cmd spur_cmd_formats = {
	.name = "formats",
	.summary = "List the formats that can be read and written.",
	.usage = "[OPTION...]",
	.description =
		"List the formats, the versions and parts of each that are supported, and the "
		"settings of those that are written (spur convert --set).",
	.examples = "spur formats\tthe list\n",
	.takes = TAKES_JSON,
	.run = formats_run,
};
