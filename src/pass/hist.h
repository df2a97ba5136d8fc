/* Options of histograms of durations. */
#ifndef SPUR_PASS_HIST_H
#define SPUR_PASS_HIST_H

#include "pass/pass.h"

struct hist_options {
	const char *root; /* name or pattern of the functions; required */
};

/* Requires the environment of a pass that declares them. */
static inline const struct hist_options *hist_options(const struct pass_env *env)
{
	return env->options;
}

#endif
