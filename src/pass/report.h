/* Options of the report of functions and tasks. */
#ifndef SPUR_PASS_REPORT_H
#define SPUR_PASS_REPORT_H

#include "pass/pass.h"

struct report_options {
	const char *by; /* "function", "task" or "session"; NULL: function */
	bool task; /* the same as by "task" */
};

/* Requires the environment of a pass that declares them. */
static inline const struct report_options *report_options(const struct pass_env *env)
{
	return env->options;
}

#endif
