/* Options of the call tree. */
#ifndef SPUR_PASS_GRAPH_H
#define SPUR_PASS_GRAPH_H

#include "pass/pass.h"

struct graph_options {
	const char *root; /* only this function, how it is reached and what it calls; NULL: all */
};

/* Requires the environment of a pass that declares them. */
static inline const struct graph_options *graph_options(const struct pass_env *env)
{
	return env->options;
}

#endif
