/* Options of conversion. */
#ifndef SPUR_PASS_CONVERT_H
#define SPUR_PASS_CONVERT_H

#include "flow/mask.h"
#include "pass/pass.h"

struct convert_options {
	const char *to; /* name of the writer; required */
	const char *settings; /* of the writer (format/writer.h), or NULL */
	bool masked; /* replace names and ids (flow/mask.h), by .. */
	struct mask_options mask;
	bool clocks; /* tell how the clocks of several traces are related */
};

/* Requires the environment of a pass that declares them. */
static inline const struct convert_options *convert_options(const struct pass_env *env)
{
	return env->options;
}

#endif
