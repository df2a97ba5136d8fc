/* Names of enumeration values, as arguments show them. */
#ifndef SPUR_MODEL_ENUM_H
#define SPUR_MODEL_ENUM_H

#include "base/mem.h"
#include "base/text.h"

struct enum_value {
	int64_t value;
	const char *name;
	size_t order; /* in the definition */
};

struct enum_table {
	const char *name;
	struct enum_value *values; /* ascending by value, stable */
	size_t count;
	struct enum_table *next;
};

/*
 * Parses `enum NAME { A, B = 3, C }` (an optional `enum`, values in C notation, a missing one is
 * the one before + 1) into a table in the arena. NULL where the text is not of this form or memory
 * is out.
 */
struct enum_table *enum_parse(struct arena *a, struct text text);
const struct enum_table *enum_find(const struct enum_table *list, struct text name);

/*
 * The value that a register or field holds whose upper half may be left over from something else:
 * an enumeration whose values all fit into 32 bits has the low 32, with a sign if one of its values
 * is negative. Without a definition (`t` is NULL) it is read as an `int`, which enumerations of C
 * are.
 */
int64_t enum_reduce(const struct enum_table *t, int64_t value);

/*
 * The label of a value: its name; else, if it is not negative, the names of its bits joined by `|`,
 * what is left in hexadecimal behind a `+`. NUL-ended in `buf`, cut to `size`. Returns the number
 * of characters, 0 if there is no label.
 */
size_t enum_label(const struct enum_table *t, int64_t value, char *buf, size_t size);

#endif
