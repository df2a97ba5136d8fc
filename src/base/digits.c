/* See digits.h. */
#include "base/digits.h"

/* Rows of the tables: ten of one, of two, and of three digits; hundred of three. */
#define ONE(o)             \
	{                  \
		o, 0, 0, 1 \
	}
#define TWO(t, o)          \
	{                  \
		t, o, 0, 2 \
	}
#define THREE(h, t, o)     \
	{                  \
		h, t, o, 3 \
	}
#define ONES                                                                                      \
	ONE('0'), ONE('1'), ONE('2'), ONE('3'), ONE('4'), ONE('5'), ONE('6'), ONE('7'), ONE('8'), \
		ONE('9')
#define TENS(t)                                                                                    \
	TWO(t, '0'), TWO(t, '1'), TWO(t, '2'), TWO(t, '3'), TWO(t, '4'), TWO(t, '5'), TWO(t, '6'), \
		TWO(t, '7'), TWO(t, '8'), TWO(t, '9')
#define THREES(h, t)                                                                              \
	THREE(h, t, '0'), THREE(h, t, '1'), THREE(h, t, '2'), THREE(h, t, '3'), THREE(h, t, '4'), \
		THREE(h, t, '5'), THREE(h, t, '6'), THREE(h, t, '7'), THREE(h, t, '8'),           \
		THREE(h, t, '9')
#define HUNDREDS(h)                                                                     \
	THREES(h, '0'), THREES(h, '1'), THREES(h, '2'), THREES(h, '3'), THREES(h, '4'), \
		THREES(h, '5'), THREES(h, '6'), THREES(h, '7'), THREES(h, '8'), THREES(h, '9')
#define FROM_HUNDRED                                                                              \
	HUNDREDS('1'), HUNDREDS('2'), HUNDREDS('3'), HUNDREDS('4'), HUNDREDS('5'), HUNDREDS('6'), \
		HUNDREDS('7'), HUNDREDS('8'), HUNDREDS('9')

const char digits_short[1000][4] = { ONES,	TENS('1'), TENS('2'),	TENS('3'),
				     TENS('4'), TENS('5'), TENS('6'),	TENS('7'),
				     TENS('8'), TENS('9'), FROM_HUNDRED };
const char digits_three[1000][4] = { HUNDREDS('0'), FROM_HUNDRED };

#define HEX_PAIR(h, l) \
	{              \
		h, l   \
	}
#define HEX_PAIRS(h)                                                                              \
	HEX_PAIR(h, '0'), HEX_PAIR(h, '1'), HEX_PAIR(h, '2'), HEX_PAIR(h, '3'), HEX_PAIR(h, '4'), \
		HEX_PAIR(h, '5'), HEX_PAIR(h, '6'), HEX_PAIR(h, '7'), HEX_PAIR(h, '8'),           \
		HEX_PAIR(h, '9'), HEX_PAIR(h, 'a'), HEX_PAIR(h, 'b'), HEX_PAIR(h, 'c'),           \
		HEX_PAIR(h, 'd'), HEX_PAIR(h, 'e'), HEX_PAIR(h, 'f')

const char digits_hex[256][2] = {
	HEX_PAIRS('0'), HEX_PAIRS('1'), HEX_PAIRS('2'), HEX_PAIRS('3'),
	HEX_PAIRS('4'), HEX_PAIRS('5'), HEX_PAIRS('6'), HEX_PAIRS('7'),
	HEX_PAIRS('8'), HEX_PAIRS('9'), HEX_PAIRS('a'), HEX_PAIRS('b'),
	HEX_PAIRS('c'), HEX_PAIRS('d'), HEX_PAIRS('e'), HEX_PAIRS('f'),
};

char *put_decimal_long(char *w, uint64_t v)
{
	const uint64_t high = v / 100000000;

	/* Two pieces of eight digits are all that a third one can stand before. */
	if (high >= 100000000)
		w = put_digits_eight(put_decimal(w, high / 100000000),
				     digits_eight((uint32_t)(high % 100000000)));
	else
		w = put_decimal(w, high);
	return put_digits_eight(w, digits_eight((uint32_t)(v - high * 100000000)));
}
