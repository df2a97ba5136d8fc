/* Functions as llvm-xray names them. */
#ifndef SPUR_STYLE_LLVM_XRAY_NAME_NAME_H
#define SPUR_STYLE_LLVM_XRAY_NAME_NAME_H

#include "pass/pass.h"

/* What is known of a function: its name, its place in a binary, or its id alone. */
enum llvm_xray_naming { NAME_KNOWN, NAME_ADDRESS, NAME_NUMBER };

enum llvm_xray_naming llvm_xray_naming(const struct event_class *c);
/*
 * Writes the full name: C++ with parameters, also where other outputs have simple names. `id`: of
 * the function.
 */
void llvm_xray_name(struct out *o, const struct pass_env *env, const struct event_class *c,
		    uint64_t id);

#endif
