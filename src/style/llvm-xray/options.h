/* Options of llvm-xray's layouts. */
#ifndef SPUR_STYLE_LLVM_XRAY_OPTIONS_H
#define SPUR_STYLE_LLVM_XRAY_OPTIONS_H

#include <limits.h>

#include "pass/pass.h"

struct llvm_xray_options {
	int version; /* of LLVM whose layout is meant; 0: the latest */
	/* diff: words of statistics; NULL: none */
	const char *edge_label, *edge_color, *vertex_label, *vertex_color;
	int vertex_label_trun; /* diff: bytes of a name that are shown; 0: 40 */
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
