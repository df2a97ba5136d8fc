/* Options of the counts of events. */
#ifndef SPUR_PASS_EVENTS_H
#define SPUR_PASS_EVENTS_H

#include "pass/pass.h"

struct events_options {
	const char *by; /* list of "name", "kind", "cat", "thread", "cpu", "stream"; NULL: name */
};

/* Requires the environment of a pass that declares them. */
static inline const struct events_options *events_options(const struct pass_env *env)
{
	return env->options;
}

#endif
