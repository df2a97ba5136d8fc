/* Options of splits. */
#ifndef SPUR_PASS_SPLIT_H
#define SPUR_PASS_SPLIT_H

#include "flow/split.h"
#include "pass/pass.h"

struct split_options {
	enum split_by by;
	uint64_t each; /* see struct split */
	const char *ending;
};

/* Requires the environment of a pass that declares them. */
static inline const struct split_options *split_options(const struct pass_env *env)
{
	return env->options;
}

#endif
