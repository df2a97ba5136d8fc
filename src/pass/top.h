/* Options of the pass `top`. */
#ifndef SPUR_PASS_TOP_H
#define SPUR_PASS_TOP_H

#include "pass/pass.h"

enum { TOP_DEFAULT = 20, TOP_MAX = 1000000 };

struct top_options {
	int longest; /* calls to show; 0: TOP_DEFAULT */
};

static inline const struct top_options *top_options(const struct pass_env *env)
{
	return env->options;
}

#endif
