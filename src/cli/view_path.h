/* The traces in the commands that a viewer shows. */
#ifndef SPUR_CLI_VIEW_PATH_H
#define SPUR_CLI_VIEW_PATH_H

#include "cli/values.h"
#include "pass/view.h"

/*
 * Sets o->name, and o->path to the options and names that make another command read the traces as
 * they are read here; the text is in `paths`, which the caller frees. If out of memory, o->path is
 * "".
 */
void view_paths(const struct values *v, struct view_options *o, struct out *paths);

#endif
