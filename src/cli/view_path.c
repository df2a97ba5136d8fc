#include "cli/view_path.h"

#include <stdio.h>
#include <string.h>

#include "view/view.h"

static void put_option(struct out *o, const char *name, const char *text)
{
	if (!text || !*text)
		return;
	out_printf(o, "--%s=", name);
	view_quote(o, text);
	out_char(o, ' ');
}

/* Appends what another command needs to read the traces as they are read here: options, names. */
static void put_input(struct out *o, const struct values *v)
{
	static const char *const demangle[] = { "name", "simple", "full", "no" };
	char text[64];

	put_option(o, "input-format", v->open.format);
	put_option(o, "symbols-dir", v->open.symbol_dirs);
	put_option(o, "key-file", v->open.key_file);
	for (size_t i = 0; i < v->nbinaries; i++)
		put_option(o, "binary", v->binaries[i]);
	if (v->demangle >= 0 && v->demangle < (int)(sizeof(demangle) / sizeof(*demangle)))
		put_option(o, "demangle", demangle[v->demangle]);
	if (v->open.no_spans)
		out_str(o, "--no-spans ");
	if (v->open.same_clock)
		out_str(o, "--same-clock ");
	for (size_t i = 0; i < v->noffsets; i++) {
		snprintf(text, sizeof(text), "%zu:%lldns", v->offsets[i].trace + 1,
			 (long long)v->offsets[i].ns);
		put_option(o, "offset", text);
	}
	for (size_t i = 0; i < v->naligns; i++)
		put_option(o, "align", v->aligns[i]);
	for (size_t i = 0; i < v->ntraces; i++) {
		if (i)
			out_char(o, ' ');
		view_quote(o, v->traces[i]);
	}
	out_char(o, '\0');
}

bool view_refuse_output(struct values *v, const char *path)
{
	err_set(&v->err, SPUR_ERR_USAGE,
		"-o %s: a viewer writes no file; to write the viewer's page as a file, use spur "
		"convert --to=html -o FILE TRACE",
		path);
	return false;
}

void view_paths(const struct values *v, struct view_options *o, struct out *paths)
{
	o->name = v->traces[0];
	out_to_memory(paths);
	put_input(paths, v);
	o->path = paths->error ? "" : paths->buf;
}
