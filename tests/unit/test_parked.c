/* Numbers of open calls by track and key: what is put is taken once, in tables and beside them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "pass/fold/parked.h"

static const uint32_t tracks[] = { 0, 1, PARKED_TRACKS - 1, PARKED_TRACKS, 100000, UINT32_MAX - 1 };
static const uint32_t keys[] = { 0, 7, PARKED_KEYS - 1, PARKED_KEYS, 200000 };

enum { TRACKS = sizeof(tracks) / sizeof(tracks[0]), KEYS = sizeof(keys) / sizeof(keys[0]) };

static uint32_t number(size_t track, size_t key)
{
	return (uint32_t)(1 + track * KEYS + key);
}

static void put_all(struct parked *p)
{
	for (size_t i = 0; i < TRACKS; i++)
		for (size_t k = 0; k < KEYS; k++)
			assert_true(parked_put(p, tracks[i], keys[k], number(i, k)));
}

static void test_put_and_take(void **state)
{
	struct parked p = { 0 };

	(void)state;
	for (int round = 0; round < 3; round++) {
		put_all(&p);
		for (size_t i = 0; i < TRACKS; i++)
			for (size_t k = 0; k < KEYS; k++) {
				assert_int_equal(parked_take(&p, tracks[i], keys[k]), number(i, k));
				assert_int_equal(parked_take(&p, tracks[i], keys[k]), 0);
			}
		assert_true(parked_trim(&p));
		assert_int_equal(p.others.count, 0);
	}
	parked_free(&p);
}

static void test_trim_keeps(void **state)
{
	struct parked p = { 0 };

	(void)state;
	put_all(&p);
	assert_int_equal(parked_take(&p, tracks[4], keys[0]), number(4, 0));
	assert_true(parked_trim(&p));
	assert_int_equal(parked_take(&p, tracks[4], keys[0]), 0);
	assert_int_equal(parked_take(&p, tracks[4], keys[1]), number(4, 1));
	assert_int_equal(parked_take(&p, tracks[0], keys[4]), number(0, 4));
	parked_free(&p);
	assert_int_equal(parked_take(&p, tracks[1], keys[1]), 0);
	assert_int_equal(parked_take(&p, tracks[5], keys[4]), 0);
}

/* What has no room in tables is by hash, and what has been put stays where it is. */
static void test_full(void **state)
{
	struct parked p = { 0 };
	uint32_t n = 0;

	(void)state;
	while (!p.full) {
		assert_true(n < 2 * PARKED_NUMBERS);
		assert_true(parked_put(&p, n % PARKED_TRACKS, n / PARKED_TRACKS, n + 1));
		n++;
	}
	assert_true(p.numbers > PARKED_NUMBERS / 2 && p.numbers <= PARKED_NUMBERS);
	assert_int_equal(p.others.count, 1);
	for (uint32_t i = n; i < n + 2000; i++)
		assert_true(parked_put(&p, i % PARKED_TRACKS, i / PARKED_TRACKS, i + 1));
	assert_true(parked_room(&p, 0, PARKED_KEYS - 1));
	assert_null(parked_at(&p, 0, PARKED_KEYS - 1));
	for (uint32_t i = 0; i < n + 2000; i++)
		assert_int_equal(parked_take(&p, i % PARKED_TRACKS, i / PARKED_TRACKS), i + 1);
	parked_free(&p);
	assert_false(p.full);
}

static void test_no_memory(void **state)
{
	struct parked p = { 0 };

	(void)state;
	mem_fail_at(1);
	assert_false(parked_put(&p, 1, 1, 5));
	mem_fail_at(1);
	assert_false(parked_put(&p, PARKED_TRACKS, 1, 5));
	mem_fail_at(0);
	assert_int_equal(parked_take(&p, 1, 1), 0);
	assert_int_equal(parked_take(&p, PARKED_TRACKS, 1), 0);
	assert_true(parked_put(&p, 1, 1, 5));
	assert_int_equal(parked_take(&p, 1, 1), 5);
	parked_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_put_and_take),
					    cmocka_unit_test(test_trim_keeps),
					    cmocka_unit_test(test_full),
					    cmocka_unit_test(test_no_memory) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
