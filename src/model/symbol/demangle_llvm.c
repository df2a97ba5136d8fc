/* SPEC xray/account-names: full C++ names as LLVM's tools write them. */
#include <string.h>

#include "model/symbol/demangle.h"

enum { CLOSE_UP = 15 }; /* the first version that writes ">>" */

static const char operator_word[] = "operator>";

/* The text ends in the name of an operator, so its '>' ends no template arguments. */
static bool ends_operator(const char *p, size_t len)
{
	const size_t n = sizeof(operator_word) - 1;

	return len >= n && memcmp(p + len - n, operator_word, n) == 0;
}

void demangle_llvm(struct out *o, const char *name, size_t len, unsigned version)
{
	const size_t from = o->len;
	size_t to;

	demangle(o, name, len, DEMANGLE_FULL);
	if (version < CLOSE_UP || o->error)
		return;
	to = from;
	for (size_t i = from; i < o->len; i++)
		if (o->buf[i] != ' ' || i == from || i + 1 == o->len || o->buf[i - 1] != '>' ||
		    o->buf[i + 1] != '>' || ends_operator(o->buf + from, to - from))
			o->buf[to++] = o->buf[i];
	o->len = to;
}
