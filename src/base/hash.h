/*
 * The hash of numbers, bytes and strings. Its values are not stable: they are never written or
 * sorted by.
 */
#ifndef SPUR_BASE_HASH_H
#define SPUR_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bits.h"

static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
	const unsigned __int128 m = (unsigned __int128)a * b;

	/* Use both halves: the low bits of the product do not depend on the factors' high bits. */
	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static inline uint64_t hash64(uint64_t x)
{
	return hash_mix(x, 0x9E3779B97F4A7C15u);
}

/*
 * `seed` is 0, the hash of the preceding data, or a random number if input must not be able to
 * cause collisions.
 */
static inline uint64_t hash_bytes(const void *data, size_t len, uint64_t seed)
{
	const uint64_t k0 = 0xA0761D6478BD642Fu, k1 = 0xE7037ED1A0B428DBu;
	const uint8_t *p = data;
	uint64_t h = seed ^ (len * k0), a = 0, b = 0;
	size_t left = len;

	for (; left > 16; p += 16, left -= 16)
		h = hash_mix(load64(p, false) ^ k0, load64(p + 8, false) ^ h);
	if (left >= 8) {
		a = load64(p, false);
		b = load64(p + left - 8, false);
	} else if (left >= 4) {
		a = load32(p, false);
		b = load32(p + left - 4, false);
	} else if (left) {
		a = (uint64_t)p[0] << 16 | (uint64_t)p[left / 2] << 8 | p[left - 1];
	}
	return hash_mix(hash_mix(a ^ k1, b ^ h), k0 ^ len);
}

static inline uint64_t hash_str(const char *s, uint64_t seed)
{
	return hash_bytes(s, strlen(s), seed);
}

#endif
