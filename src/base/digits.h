/*
 * Decimal digits without loops, for inner loops that write millions of numbers; elsewhere put_u64()
 * (out.h) does.
 */
#ifndef SPUR_BASE_DIGITS_H
#define SPUR_BASE_DIGITS_H

#include "base/out.h"

/* Eight digits of v < 10^8 as bytes from 0 to 9, the first digit in the lowest byte. */
static inline uint64_t digits_eight(uint32_t v)
{
	/* Halves of four digits, in 32 bits each; then pairs in 16 bits, then digits in 8. */
	const uint64_t high = v / 10000, low = v - high * 10000, both = high | low << 32;
	const uint64_t top = (both * 10486 >> 20) & 0x7F0000007F;
	const uint64_t pairs = top + ((both - 100 * top) << 16);
	const uint64_t tens = (pairs * 103 >> 10) & 0x000F000F000F000F;

	return tens + ((pairs - 10 * tens) << 8);
}

/* "0" to "999" and how long that is; and "000" to "999". */
extern const char digits_short[1000][4], digits_three[1000][4];
/* "00" to "ff". */
extern const char digits_hex[256][2];

/* Writes a number of at least 10^8 in decimal. Requires room for 24 bytes. */
char *put_decimal_long(char *w, uint64_t v);

/* Writes a decimal number. Requires room for 24 bytes, also where it is shorter. */
static inline char *put_decimal(char *w, uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	uint64_t d;
	unsigned zeros;

	if (v < 1000) {
		memcpy(w, digits_short[v], 4);
		return w + digits_short[v][3];
	}
	if (v < 1000000) {
		const uint32_t high = (uint32_t)v / 1000, low = (uint32_t)v % 1000;

		memcpy(w, digits_short[high], 4);
		w += digits_short[high][3];
		memcpy(w, digits_three[low], 4);
		return w + 3;
	}
	if (__builtin_expect(v >= 100000000, 0))
		return put_decimal_long(w, v);
	d = digits_eight((uint32_t)v);
	/* The last digit is always written. */
	zeros = (unsigned)__builtin_ctzll(d | (uint64_t)1 << 56) / 8;
	d = (d | 0x3030303030303030) >> 8 * zeros;
	memcpy(w, &d, sizeof(d));
	return w + sizeof(d) - zeros;
#else
	return put_u64(w, v);
#endif
}

/* Writes the eight digits that digits_eight() made, with leading zeros. */
static inline char *put_digits_eight(char *w, uint64_t digits)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	digits |= 0x3030303030303030;
	memcpy(w, &digits, sizeof(digits));
#else
	for (int i = 0; i < 8; i++)
		w[i] = (char)('0' + (digits >> 8 * i & 15));
#endif
	return w + 8;
}

/* How many of these digits are zeros at the end. */
static inline unsigned digits_zeros(uint64_t digits)
{
	return digits ? (unsigned)__builtin_clzll(digits) / 8 : 8;
}

/* Eight hexadecimal digits of `v` as bytes from 0 to 15, the first digit in the lowest byte. */
static inline uint64_t hex_eight(uint32_t v)
{
	/* Halves of four digits, in 32 bits each; then pairs in 16 bits, then digits in 8. */
	uint64_t d = (uint64_t)v >> 16 | (uint64_t)(v & 0xFFFF) << 32;

	d = (d >> 8 & 0x000000FF000000FF) | (d & 0x000000FF000000FF) << 16;
	return (d >> 4 & 0x000F000F000F000F) | (d & 0x000F000F000F000F) << 8;
}

/* The characters of digits from 0 to 15. */
static inline uint64_t hex_chars(uint64_t digits, bool upper)
{
	const uint64_t letters = (digits + 0x0606060606060606) >> 4 & 0x0101010101010101;

	return digits + 0x3030303030303030 + letters * (uint64_t)((upper ? 'A' : 'a') - '0' - 10);
}

/* Writes a hexadecimal number without leading zeros. Requires room for 24 bytes. */
static inline char *put_hex_digits(char *w, uint64_t v, bool upper)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	const uint64_t low = hex_eight((uint32_t)v), high = hex_eight((uint32_t)(v >> 32));
	const uint64_t first = v >> 32 ? high : low;
	/* The last digit is always written. */
	const unsigned zeros = (unsigned)__builtin_ctzll(first | (uint64_t)1 << 56) / 8;
	const uint64_t text = hex_chars(first, upper) >> 8 * zeros, rest = hex_chars(low, upper);

	memcpy(w, &text, sizeof(text));
	w += sizeof(text) - zeros;
	memcpy(w, &rest, sizeof(rest));
	return w + (v >> 32 ? sizeof(rest) : 0);
#else
	char *const end = put_hex(w, v);

	for (char *p = w; upper && p < end; p++)
		*p = (char)(*p >= 'a' ? *p - 'a' + 'A' : *p);
	return end;
#endif
}

/* Writes the eight digits of a hexadecimal number, with leading zeros. */
static inline char *put_hex_eight(char *w, uint32_t v)
{
	memcpy(w, digits_hex[v >> 24], 2);
	memcpy(w + 2, digits_hex[v >> 16 & 0xff], 2);
	memcpy(w + 4, digits_hex[v >> 8 & 0xff], 2);
	memcpy(w + 6, digits_hex[v & 0xff], 2);
	return w + 8;
}

/* Writes the nine digits of v < 10^9, with leading zeros. */
static inline char *put_nine_digits(char *w, uint32_t v)
{
	const uint32_t high = v / 1000, top = high / 1000;

	memcpy(w, digits_three[top], 4);
	memcpy(w + 3, digits_three[high - 1000 * top], 4);
	memcpy(w + 6, digits_three[v - 1000 * high], 3);
	return w + 9;
}

#endif
