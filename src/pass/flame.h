/* Options of flame graphs. */
#ifndef SPUR_PASS_FLAME_H
#define SPUR_PASS_FLAME_H

#include "pass/pass.h"

struct flame_options {
	const char *format; /* "svg" or "folded"; NULL: folded */
	const char *root; /* only what this function calls; NULL: all */
	int64_t sample_ns; /* one sample for each; 0: 1 ns */
};

/* Requires the environment of a pass that declares them. */
static inline const struct flame_options *flame_options(const struct pass_env *env)
{
	return env->options;
}

#endif
