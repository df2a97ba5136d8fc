/* Options of cuts: spur cut, sort and repair. */
#ifndef SPUR_PASS_CUT_H
#define SPUR_PASS_CUT_H

#include "pass/pass.h"

struct cut_options {
	bool sorted, repair; /* see struct copy (format/copy.h) */
};

/* Requires the environment of a pass that declares them. */
static inline const struct cut_options *cut_options(const struct pass_env *env)
{
	return env->options;
}

#endif
