/* Loads and stores of fixed-width integers at any alignment, in either byte order. */
#ifndef SPUR_BASE_BITS_H
#define SPUR_BASE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* `swap` is true if the data's byte order differs from the machine's. */
static inline uint16_t load16(const uint8_t *p, bool swap)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return swap ? __builtin_bswap16(v) : v;
}

static inline uint32_t load32(const uint8_t *p, bool swap)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return swap ? __builtin_bswap32(v) : v;
}

static inline uint64_t load64(const uint8_t *p, bool swap)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return swap ? __builtin_bswap64(v) : v;
}

static inline void store16(void *p, uint16_t v, bool swap)
{
	v = swap ? __builtin_bswap16(v) : v;
	memcpy(p, &v, sizeof(v));
}

static inline void store32(void *p, uint32_t v, bool swap)
{
	v = swap ? __builtin_bswap32(v) : v;
	memcpy(p, &v, sizeof(v));
}

static inline void store64(void *p, uint64_t v, bool swap)
{
	v = swap ? __builtin_bswap64(v) : v;
	memcpy(p, &v, sizeof(v));
}

/* Returns true if data of the given order must be swapped on this machine. */
static inline bool order_swaps(bool big_endian)
{
	return big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

/* `n` rounded up to a power of two `to`. */
static inline uint64_t align_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) & ~(to - 1);
}

#endif
