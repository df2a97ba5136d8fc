/* The binary search of src/base against a slow counterpart, and what its hash must be good for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <stdbool.h>

#include <string.h>

#include "base/hash.h"
#include "base/search.h"

enum { MOST = 9, VALUES = 5 };

static size_t slow_first(const unsigned *v, size_t from, size_t to, unsigned key, bool behind)
{
	while (from < to && (v[from] < key || (behind && v[from] == key)))
		from++;
	return from;
}

/* All ascending arrays of up to nine elements with five values, all ranges of them, all keys. */
static void finds_both_bounds(void **state)
{
	unsigned v[MOST] = { 0 };
	unsigned long arrays = 0;

	(void)state;
	for (;;) {
		size_t i = MOST;

		for (size_t from = 0; from <= MOST; from++) {
			for (size_t to = from; to <= MOST; to++) {
				for (unsigned key = 0; key <= VALUES; key++) {
					size_t at;

					bisect(at, from, to, v[at] < key);
					assert_int_equal(at, slow_first(v, from, to, key, false));
					bisect(at, from, to, v[at] <= key);
					assert_int_equal(at, slow_first(v, from, to, key, true));
				}
			}
		}
		arrays++;
		while (i && v[i - 1] == VALUES - 1)
			i--;
		if (!i)
			break;
		v[i - 1]++;
		for (; i < MOST; i++)
			v[i] = v[i - 1];
	}
	/* Multisets of nine of five values: 13 over 4. */
	assert_int_equal(arrays, 715);
}

/* No sum of two indices overflows, and no more elements are looked at than halving needs. */
static void looks_at_few(void **state)
{
	unsigned looks = 0;
	uint32_t small;
	uint64_t at;

	(void)state;
	bisect(at, 0, UINT64_MAX, (looks++, at < UINT64_MAX - 7));
	assert_true(at == UINT64_MAX - 7);
	assert_in_range(looks, 63, 64);
	bisect(small, 0, UINT32_MAX, small < 0xFFFFFFF0u);
	assert_int_equal(small, 0xFFFFFFF0u);
}

static void empty_ranges_end_where_they_begin(void **state)
{
	size_t at;

	(void)state;
	bisect(at, 3, 3, (fail(), true));
	assert_int_equal(at, 3);
	bisect(at, 5, 3, (fail(), true));
	assert_int_equal(at, 5);
}

/* Bytes, their number and the seed count; nothing beside them does. */
static void hash_depends_on_all_bytes(void **state)
{
	char text[82];

	(void)state;
	for (size_t len = 0; len <= 80; len++) {
		const uint64_t h = (memset(text, 'a', sizeof(text)), hash_bytes(text + 1, len, 7));

		text[0] = text[len + 1] = 'b';
		assert_true(hash_bytes(text + 1, len, 7) == h);
		assert_true(hash_bytes(text + 1, len, 8) != h);
		assert_true(!len || hash_bytes(text + 1, len - 1, 7) != h);
		for (size_t i = 1; i <= len; i++) {
			text[i] ^= 1;
			assert_true(hash_bytes(text + 1, len, 7) != h);
			text[i] ^= 1;
		}
		text[len + 1] = '\0';
		assert_true(hash_str(text + 1, 7) == h);
	}
}

/*
 * Keys that differ in few bits, low or high, fill the slots of a table about evenly, by low and by
 * high bits.
 */
static void hash_spreads(void **state)
{
	enum { SLOTS = 256, KEYS = 64 * SLOTS };

	(void)state;
	for (unsigned shift = 0; shift <= 48; shift += 8) {
		unsigned low[SLOTS] = { 0 }, high[SLOTS] = { 0 }, text[SLOTS] = { 0 };

		for (uint64_t i = 0; i < KEYS; i++) {
			const uint64_t key = i << shift;

			low[hash64(key) % SLOTS]++;
			high[hash64(key) >> 56]++;
			text[hash_bytes(&key, sizeof(key), 0) % SLOTS]++;
		}
		for (unsigned s = 0; s < SLOTS; s++) {
			assert_in_range(low[s], 1, 4 * KEYS / SLOTS);
			assert_in_range(high[s], 1, 4 * KEYS / SLOTS);
			assert_in_range(text[s], 1, 4 * KEYS / SLOTS);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_both_bounds),
		cmocka_unit_test(looks_at_few),
		cmocka_unit_test(empty_ranges_end_where_they_begin),
		cmocka_unit_test(hash_depends_on_all_bytes),
		cmocka_unit_test(hash_spreads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
