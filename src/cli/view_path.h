/* What spur view and spur tui share: the traces in the commands that they show, and options. */
#ifndef SPUR_CLI_VIEW_PATH_H
#define SPUR_CLI_VIEW_PATH_H

#include "cli/cmd.h"
#include "cli/values.h"
#include "pass/view.h"

/* Options that other commands share and a viewer, which writes no file, refuses. */
#define VIEW_NO_OUTPUT                                                               \
	{ .name = "output",                                                          \
	  .letter = 'o',                                                             \
	  .type = OPT_CALL,                                                          \
	  .call = view_refuse_output,                                                \
	  .arg = "FILE",                                                             \
	  .help = "Refused: a viewer writes no file",                                \
	  .hidden = true },                                                          \
	{                                                                            \
		.name = "force", .letter = 'y', .type = OPT_FLAG, OPT_COMMON(force), \
		.help = "Let -o overwrite a file", .hidden = true                    \
	}

/* Sets v->err to what to use instead of -o. Returns false. */
bool view_refuse_output(struct values *v, const char *path);

/*
 * Sets o->name, and o->path to the options and names that make another command read the traces as
 * they are read here; the text is in `paths`, which the caller frees. If out of memory, o->path is
 * "".
 */
void view_paths(const struct values *v, struct view_options *o, struct out *paths);

#endif
