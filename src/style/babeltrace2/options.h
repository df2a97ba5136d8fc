/* Options of babeltrace2's text output. */
#ifndef SPUR_STYLE_BABELTRACE2_OPTIONS_H
#define SPUR_STYLE_BABELTRACE2_OPTIONS_H

#include "pass/pass.h"

struct babeltrace2_options {
	const char *names, *fields; /* lists as given, with commas; NULL: not given */
	bool no_delta; /* no time since the event before */
	bool cycles, date, seconds, gmt; /* forms of times */
	bool intersection; /* only while all streams are active */
};

/* Requires the environment of a pass of this style. */
static inline const struct babeltrace2_options *babeltrace2_options(const struct pass_env *env)
{
	return env->style_options;
}

#endif
