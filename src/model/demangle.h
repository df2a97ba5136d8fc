/* Demangling of C++ (Itanium), Rust legacy and Rust v0 names. */
#ifndef SPUR_MODEL_DEMANGLE_H
#define SPUR_MODEL_DEMANGLE_H

#include <stddef.h>

#include "base/out.h"

enum demangle_form {
	/*
	 * no parameters, no template arguments: exactly uftrace's `simple`, which argument specs
	 * match on
	 */
	DEMANGLE_SIMPLE,
	DEMANGLE_FULL,
	DEMANGLE_NONE,
};

/*
 * Appends the demangled name to `o` (a memory buffer); a name that is not mangled, or badly, is appended as it is.
 * Never recurses deeper or runs longer than a bound set by the name's length. Thread-safe.
 */
void demangle(struct out *o, const char *name, size_t len, enum demangle_form form);

#endif
