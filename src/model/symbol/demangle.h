/* Demangling of C++ (Itanium), Rust legacy and Rust v0 names. */
#ifndef SPUR_MODEL_SYMBOL_DEMANGLE_H
#define SPUR_MODEL_SYMBOL_DEMANGLE_H

#include <assert.h>
#include <spur.h>
#include <stddef.h>

#include "base/out.h"

/* The numbers are those of enum spur_demangle. */
enum demangle_form {
	/*
	 * Template arguments, but no parameters of the function itself; the simple form for names
	 * that libiberty rejects.
	 */
	DEMANGLE_NAME,
	/*
	 * no parameters, no template arguments: exactly uftrace's `simple`, which argument specs
	 * match on
	 */
	DEMANGLE_SIMPLE,
	DEMANGLE_FULL,
	DEMANGLE_NONE,
};

static_assert((int)DEMANGLE_NAME == SPUR_DEMANGLE_NAME &&
		      (int)DEMANGLE_SIMPLE == SPUR_DEMANGLE_SIMPLE &&
		      (int)DEMANGLE_FULL == SPUR_DEMANGLE_FULL &&
		      (int)DEMANGLE_NONE == SPUR_DEMANGLE_NONE,
	      "the forms have the same numbers");

/*
 * Appends the demangled name to `o` (a memory buffer); a name that is not validly mangled is
 * appended unchanged. Depth and time are bounded by the name's length. Thread-safe.
 */
void demangle(struct out *o, const char *name, size_t len, enum demangle_form form);

/* The forms of a class's name: string ids, 0 if out of memory. */
struct demangled {
	uint32_t name, simple, raw;
};

/*
 * Returns the names of a function in the form that the trace was opened with, and in the other
 * forms of a class.
 */
struct demangled demangle_class(struct spur_trace *t, const char *raw);

/*
 * Appends the name in full, as LLVM's tools of that version write it: since LLVM 15 template
 * arguments that end together end without blanks, `A<B<int>>`.
 */
void demangle_llvm(struct out *o, const char *name, size_t len, unsigned version);

#endif
