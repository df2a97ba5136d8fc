/* Options of the table of counters. */
#ifndef SPUR_PASS_COUNTERS_H
#define SPUR_PASS_COUNTERS_H

#include "pass/pass.h"

struct counters_options {
	const char *by; /* "process" or "track"; NULL: process */
	bool values; /* every sample instead of the table */
};

/* Requires the environment of a pass that declares them. */
static inline const struct counters_options *counters_options(const struct pass_env *env)
{
	return env->options;
}

#endif
