/* The format that a command writes: what convert, merge and anonymize have in common. */
#ifndef SPUR_CLI_TARGET_H
#define SPUR_CLI_TARGET_H

#include "cli/values.h"
#include "format/writer.h"

/* Returns the name of the i-th target, NULL behind the last one: the values of --to. */
const char *target_word(size_t i);
/*
 * Takes the value of --to. Requires that the command's own options begin with a struct
 * convert_options. Returns false if no target has that name.
 */
bool target_take(struct values *v, const char *text);

/* The option --set of a command whose own options OWN have a member `convert`. */
#define TARGET_SET(OWN)                                                                       \
	{                                                                                     \
		.name = "set", .type = OPT_LIST, OPT_OWN(OWN, convert.settings),              \
		.arg = "NAME=VALUE",                                                          \
		.help = "A setting of the format that is written (spur formats lists them); " \
			"may be repeated"                                                     \
	}

#endif
