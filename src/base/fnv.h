/* FNV-1a, a hash whose values are stable: outputs may hold ids that are made of it. */
#ifndef SPUR_BASE_FNV_H
#define SPUR_BASE_FNV_H

#include <stddef.h>
#include <stdint.h>

static const uint64_t fnv_basis = 0xCBF29CE484222325u, fnv_prime = 0x100000001B3u;

/* Goes on with `h`, which is fnv_basis at first. */
static inline uint64_t fnv_bytes(uint64_t h, const void *p, size_t len)
{
	const uint8_t *s = p;

	for (size_t i = 0; i < len; i++)
		h = (h ^ s[i]) * fnv_prime;
	return h;
}

/* The bytes of a number, the lowest first. */
static inline uint64_t fnv_u64(uint64_t h, uint64_t v)
{
	for (unsigned i = 0; i < 8; i++)
		h = (h ^ (uint8_t)(v >> (8 * i))) * fnv_prime;
	return h;
}

#endif
