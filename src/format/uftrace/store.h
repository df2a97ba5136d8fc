/* Numbers of any size in the byte order of the data, for those parts that write. */
#ifndef SPUR_FORMAT_UFTRACE_STORE_H
#define SPUR_FORMAT_UFTRACE_STORE_H

#include <stdbool.h>
#include <stdint.h>

/* Stores a number of `size` bytes. */
static inline void wire_store(uint8_t *p, uint64_t v, unsigned size, bool big_endian)
{
	for (unsigned i = 0; i < size; i++)
		p[i] = (uint8_t)(v >> 8 * (big_endian ? size - 1 - i : i));
}

#endif
