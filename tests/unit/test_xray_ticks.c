/* Ticks to ns by one multiplication: as exact as 128-bit division. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/xray/ticks.h"

static uint64_t state64 = 88172645463325252;

static uint64_t any(void)
{
	state64 ^= state64 << 13;
	state64 ^= state64 >> 7;
	state64 ^= state64 << 17;
	return state64;
}

static const uint64_t frequencies[] = {
	1,	    3,		999999999,    1000000000,   1000000001,	  1000003,
	24000000,   19200000,	62500000,     2596142000,   2596148001,	  3294967291,
	4294967291, 4294967296, 100000000007, 1ull << 40,   UINT64_MAX,	  UINT64_MAX - 58,
	1ull << 63, 2500000000, 3000000000,   999999999999, 333333333333, 7
};

/* Near the origin, at its limit and around it, over all of 64 bits. */
static void test_exact(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(frequencies) / sizeof(frequencies[0]); i++) {
		struct scale exact;
		struct ticks k;

		assert_true(scale_from_hz(&exact, frequencies[i]));
		ticks_init(&k, frequencies[i], false);
		for (int n = 0; n < 20000; n++) {
			const uint64_t origin = any() >> (any() % 64);

			ticks_move(&k, origin);
			for (int m = 0; m < 4 && k.limit; m++) {
				const uint64_t d = m == 0   ? k.limit - 1
						   : m == 1 ? 0
							    : any() % k.limit;

				assert_int_equal(ticks_near(&k, d), scale_ns_u(&exact, origin + d));
			}
		}
	}
}

/* Step by step, as a trace goes. */
static void test_walk(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(frequencies) / sizeof(frequencies[0]); i++) {
		uint64_t tsc = any() >> 8;
		struct scale exact;
		struct ticks k;

		assert_true(scale_from_hz(&exact, frequencies[i]));
		ticks_init(&k, frequencies[i], false);
		for (int n = 0; n < 100000; n++) {
			tsc += any() >> (32 + any() % 32);
			assert_int_equal(ticks_ns(&k, tsc), scale_ns_u(&exact, tsc));
		}
	}
}

/* Raw, or of unknown frequency: a tick is a ns. */
static void test_raw(void **state)
{
	struct ticks k;

	(void)state;
	for (int raw = 0; raw < 2; raw++) {
		ticks_init(&k, raw ? 2596142000 : 0, raw);
		for (int n = 0; n < 1000; n++) {
			const uint64_t tsc = any() >> (any() % 64);

			assert_int_equal(ticks_ns(&k, tsc),
					 tsc > INT64_MAX ? INT64_MAX : (int64_t)tsc);
		}
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_walk),
		cmocka_unit_test(test_raw),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
