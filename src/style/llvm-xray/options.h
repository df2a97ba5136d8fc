/* Options of llvm-xray's layouts. */
#ifndef SPUR_STYLE_LLVM_XRAY_OPTIONS_H
#define SPUR_STYLE_LLVM_XRAY_OPTIONS_H

#include <limits.h>

#include "pass/pass.h"

struct llvm_xray_options {
	int version; /* of LLVM whose layout is meant; 0: the latest */
};

/* Requires the environment of a pass of this style. */
static inline const struct llvm_xray_options *llvm_xray_options(const struct pass_env *env)
{
	return env->style_options;
}

/* The option as demangle_llvm() takes it. */
static inline unsigned llvm_version(int option)
{
	return option > 0 ? (unsigned)option : UINT_MAX;
}

#endif
