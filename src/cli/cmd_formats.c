/* spur formats: lists the formats that can be read. */
#include <string.h>

#include "cli/help.h"
#include "cli/run.h"

static void formats_text(struct out *o, const struct spur_cmd *cmd)
{
	(void)cmd;
	for (size_t i = 0; spur_formats[i]; i++) {
		out_printf(o, "%-10s %s\n", spur_formats[i]->name, spur_formats[i]->title);
		out_printf(o, "           reads: %s\n", spur_formats[i]->reads);
	}
}

static void formats_json(struct out *o, const struct spur_cmd *cmd)
{
	(void)cmd;
	out_json_head(o, "formats");
	out_str(o, ",\"formats\":[");
	for (size_t i = 0; spur_formats[i]; i++) {
		const struct spur_format *f = spur_formats[i];

		out_printf(o, "%s{\"name\":\"%s\",\"title\":", i ? "," : "", f->name);
		out_json(o, f->title, strlen(f->title));
		out_str(o, ",\"reads\":");
		out_json(o, f->reads, strlen(f->reads));
		out_char(o, '}');
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
	.summary = "List the formats that can be read.",
	.usage = "[OPTION...]",
	.description = "List the formats, and the versions and parts of each that are supported.",
	.examples = "spur formats\tthe list\n",
	.takes = TAKES_JSON,
	.run = formats_run,
};
