/*
 * What the parts that write share: numbers in the byte order of the data, names that mean others.
 */
#ifndef SPUR_FORMAT_UFTRACE_STORE_H
#define SPUR_FORMAT_UFTRACE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/* Stores a number of `size` bytes. */
static inline void wire_store(uint8_t *p, uint64_t v, unsigned size, bool big_endian)
{
	for (unsigned i = 0; i < size; i++)
		p[i] = (uint8_t)(v >> 8 * (big_endian ? size - 1 - i : i));
}

/* Returns true for names in .sym files that are no symbols: they end the one before. */
static inline bool uftrace_is_end_mark(struct text name)
{
	return text_is(name, "__sym_end") || text_is(name, "__dynsym_end") ||
	       text_is(name, "__func_end");
}

#endif
