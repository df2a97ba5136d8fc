/* Options of the tables of asynchronous spans and flows. */
#ifndef SPUR_PASS_ASYNC_H
#define SPUR_PASS_ASYNC_H

#include "pass/pass.h"

struct async_options {
	const char *kind; /* "async" or "flow"; NULL: async */
	const char *by; /* "name", "step" or "path"; NULL: name */
};

/* Requires the environment of a pass that declares them. */
static inline const struct async_options *async_options(const struct pass_env *env)
{
	return env->options;
}

#endif
