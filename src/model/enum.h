/* Names of enumeration values, as arguments show them. */
#ifndef SPUR_MODEL_ENUM_H
#define SPUR_MODEL_ENUM_H

#include "base/mem.h"
#include "base/text.h"

struct enum_value {
	int64_t value;
	const char *name;
	size_t order; /* position in the definition */
};

struct enum_table {
	const char *name;
	struct enum_value *values; /* ascending by value, stable */
	size_t count;
	struct enum_table *next;
};

/*
 * Parses `enum NAME { A, B = 3, C }` (an optional `enum`, values in C notation, a missing one is
 * the previous one + 1) into a table in the arena. Returns NULL if the text is not of this form, or
 * if out of memory.
 */
struct enum_table *enum_parse(struct arena *a, struct text text);
const struct enum_table *enum_find(const struct enum_table *list, struct text name);

/*
 * Returns the value of a register or field whose upper half may be stale: if all values of the
 * enumeration fit into 32 bits, the low 32 bits, sign-extended if one of the values is negative.
 * Without a definition (`t` is NULL) it is read as an `int`, as C enumerations are.
 */
int64_t enum_reduce(const struct enum_table *t, int64_t value);

/*
 * Writes the label of a value to `buf`, NUL-terminated and truncated to `size`: its name; else, if
 * it is not negative, the names of its bits joined by `|`, and after a `+` the remaining bits in
 * hexadecimal. Returns the number of characters, 0 if there is no label.
 */
size_t enum_label(const struct enum_table *t, int64_t value, char *buf, size_t size);

#endif
