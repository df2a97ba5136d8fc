/* Integers of 1 to 64 bits at any bit of a packet. */
#ifndef SPUR_FORMAT_CTF_PLAN_BITS_H
#define SPUR_FORMAT_CTF_PLAN_BITS_H

#include "base/bits.h"

/* The bits of a value of `size` bits in reverse. */
static inline uint64_t bits_turn(uint64_t v, unsigned size)
{
	v = (v >> 1 & 0x5555555555555555u) | (v & 0x5555555555555555u) << 1;
	v = (v >> 2 & 0x3333333333333333u) | (v & 0x3333333333333333u) << 2;
	v = (v >> 4 & 0x0F0F0F0F0F0F0F0Fu) | (v & 0x0F0F0F0F0F0F0F0Fu) << 4;
	return __builtin_bswap64(v) >> (64 - size);
}

static inline uint64_t bits_mask(unsigned size)
{
	return size >= 64 ? UINT64_MAX : ((uint64_t)1 << size) - 1;
}

/* Two's complement of `size` bits, widened. */
static inline int64_t bits_signed(uint64_t v, unsigned size)
{
	const unsigned shift = 64 - size;

	return (int64_t)(v << shift) >> shift;
}

/*
 * Little-endian: fields fill bytes from the low bit; big-endian: from the high bit. All bytes of
 * the field are there.
 */
static inline uint64_t bits_load_any(const uint8_t *data, uint64_t at, unsigned size, bool big)
{
	const uint8_t *p = data + at / 8;
	const unsigned skip = at % 8, total = skip + size, n = (total + 7) / 8;
	uint64_t v = 0;

	if (big) {
		for (unsigned i = 0; i < n && i < 8; i++)
			v = v << 8 | p[i];
		if (n > 8)
			return (v << (total - 64) | p[8] >> (72 - total)) & bits_mask(size);
		return v >> (8 * n - total) & bits_mask(size);
	}
	for (unsigned i = 0; i < n && i < 8; i++)
		v |= (uint64_t)p[i] << (8 * i);
	v >>= skip;
	if (n > 8)
		v |= (uint64_t)p[8] << (64 - skip);
	return v & bits_mask(size);
}

static inline uint64_t bits_load(const uint8_t *data, uint64_t at, unsigned size, bool big)
{
	const uint8_t *p = data + at / 8;

	if (at % 8 == 0) {
		switch (size) {
		case 8:
			return *p;
		case 16:
			return load16(p, order_swaps(big));
		case 32:
			return load32(p, order_swaps(big));
		case 64:
			return load64(p, order_swaps(big));
		default:
			break;
		}
	}
	return bits_load_any(data, at, size, big);
}

#endif
