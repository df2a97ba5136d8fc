/* Options of the metadata of CTF traces. */
#ifndef SPUR_PASS_METADATA_H
#define SPUR_PASS_METADATA_H

#include "pass/pass.h"

struct metadata_options {
	bool compiled; /* the field classes instead of the text */
};

/* Requires the environment of a pass that declares them. */
static inline const struct metadata_options *metadata_options(const struct pass_env *env)
{
	return env->options;
}

#endif
