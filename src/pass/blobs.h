/* Options of the list of blobs. */
#ifndef SPUR_PASS_BLOBS_H
#define SPUR_PASS_BLOBS_H

#include "pass/pass.h"

struct blobs_options {
	const char *extract; /* directory to write them to; NULL: none */
	const char *blob; /* only the content of the blob of this name; NULL: the list */
	const char *name; /* only those whose names match; NULL: all */
	bool force; /* overwrite files */
};

/* Requires the environment of a pass that declares them. */
static inline const struct blobs_options *blobs_options(const struct pass_env *env)
{
	return env->options;
}

#endif
