/* base/map64.h, base/key_index.h, base/scale.h, base/work.h, base/cursor.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdatomic.h>
#include <string.h>

#include <cmocka.h>

#include "base/cursor.h"
#include "base/key_index.h"
#include "base/map64.h"
#include "base/mem.h"
#include "base/scale.h"
#include "base/work.h"

/* Keys of patterns that real tables see: dense, page-aligned, with a tag in the top bits. */
static uint64_t key_of(unsigned pattern, uint64_t i)
{
	return pattern == 0 ? i :
	       pattern == 1 ? i << 12 :
	       pattern == 2 ? i << 48 :
			      i * 0x9E3779B97F4A7C15u;
}

static void test_map64(void **state)
{
	(void)state;
	for (unsigned pattern = 0; pattern < 4; pattern++) {
		struct map64 m = { 0 };
		const struct map64_slot *each;
		uint64_t sum = 0;
		size_t at = 0, used = 0;

		assert_null(map64_find(&m, 0));
		for (uint64_t i = 0; i < 60000; i++) {
			struct map64_slot *s = map64_put(&m, key_of(pattern, i));

			assert_non_null(s);
			assert_int_equal(s->value, 0);
			s->value = i + 1;
		}
		assert_int_equal(m.count, 60000);
		for (uint64_t i = 0; i < 60000; i++) {
			const struct map64_slot *s = map64_find(&m, key_of(pattern, i));

			assert_non_null(s);
			assert_int_equal(s->value, i + 1);
			assert_ptr_equal(s, map64_put(&m, key_of(pattern, i)));
		}
		while ((each = map64_next(&m, &at))) {
			assert_int_equal(each->key, key_of(pattern, each->value - 1));
			sum += each->value;
			used++;
		}
		assert_int_equal(used, 60000);
		assert_int_equal(sum, UINT64_C(60000) * 60001 / 2);
		assert_null(map64_find(&m, 0x7777777777777777u));
		map64_free(&m);
		assert_int_equal(m.cap, 0);
	}
}

/* The key that hash64() maps to `hash` in its low 16 bits, from `from` on. */
static uint64_t key_with(uint64_t hash, uint64_t from)
{
	while ((hash64(from) & 0xFFFF) != hash)
		from++;
	return from;
}

static void test_map64_collisions(void **state)
{
	struct map64 m = { 0 };
	uint64_t keys[2000], key = 0;

	(void)state;
	for (size_t i = 0; i < 2000; i++) {
		keys[i] = key = key_with(0x1234, key + 1);
		assert_non_null(map64_put(&m, key));
		map64_find(&m, key)->value = i;
	}
	assert_true(m.reseeds > 0 && m.reseeds < 4);
	assert_int_equal(m.count, 2000);
	for (size_t i = 0; i < 2000; i++)
		assert_int_equal(map64_find(&m, keys[i])->value, i);
	map64_free(&m);
}

/* Key 0 has a slot of its own, whenever it comes. */
static void test_map64_zero(void **state)
{
	struct map64 m = { 0 };
	size_t at = 0;

	(void)state;
	assert_null(map64_next(&m, &at));
	assert_non_null(map64_put(&m, 7));
	assert_null(map64_find(&m, 0));
	assert_int_equal(map64_put(&m, 0)->value, 0);
	map64_find(&m, 0)->value = 42;
	assert_int_equal(m.count, 2);
	assert_int_equal(map64_put(&m, 0)->value, 42);
	assert_int_equal(m.count, 2);
	for (uint64_t i = 100; i < 1000; i++)
		assert_non_null(map64_put(&m, i));
	assert_int_equal(map64_find(&m, 0)->value, 42);
	assert_int_equal(m.count, 902);
	assert_int_equal(sizeof(struct map64_slot), 16);
	map64_free(&m);
	assert_null(map64_find(&m, 0));
	assert_int_equal(map64_put(&m, 0)->value, 0);
	at = 0;
	assert_int_equal(map64_next(&m, &at)->key, 0);
	assert_null(map64_next(&m, &at));
	map64_free(&m);
}

static uint64_t key_in(const void *list, uint32_t number)
{
	return ((const uint64_t *)list)[number];
}

static void test_key_index(void **state)
{
	static uint64_t keys[60000];

	(void)state;
	for (unsigned pattern = 0; pattern < 4; pattern++) {
		struct key_index x = { 0 };

		assert_int_equal(key_index_find(&x, 0, key_in, keys), KEY_INDEX_NONE);
		for (uint32_t i = 0; i < 60000; i++) {
			keys[i] = key_of(pattern, i);
			assert_int_equal(key_index_find(&x, keys[i], key_in, keys), KEY_INDEX_NONE);
			assert_true(key_index_add(&x, i, key_in, keys));
			assert_int_equal(key_index_find(&x, keys[i], key_in, keys), i);
		}
		for (uint32_t i = 0; i < 60000; i++)
			assert_int_equal(key_index_find(&x, keys[i], key_in, keys), i);
		assert_int_equal(key_index_find(&x, 0x7777777777777777u, key_in, keys),
				 KEY_INDEX_NONE);
		assert_int_equal(x.count, 60000);
		assert_int_equal(x.cap, 131072);
		key_index_free(&x);
		assert_int_equal(x.cap, 0);
	}
}

static void test_key_index_collisions(void **state)
{
	struct key_index x = { 0 };
	uint64_t keys[2000], key = 0;

	(void)state;
	for (uint32_t i = 0; i < 2000; i++) {
		keys[i] = key = key_with(0x1234, key + 1);
		assert_true(key_index_add(&x, i, key_in, keys));
	}
	assert_true(x.reseeds > 0 && x.reseeds < 4);
	for (uint32_t i = 0; i < 2000; i++)
		assert_int_equal(key_index_find(&x, keys[i], key_in, keys), i);
	key_index_free(&x);
}

static void test_key_index_nomem(void **state)
{
	uint64_t keys[1000];
	struct key_index x = { 0 };
	uint32_t n = 0;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		keys[i] = i;
	mem_fail_at(3);
	while (key_index_add(&x, n, key_in, keys))
		n++;
	mem_fail_at(0);
	assert_int_equal(n, x.count);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(key_index_find(&x, i, key_in, keys), i);
	assert_int_equal(key_index_find(&x, n, key_in, keys), KEY_INDEX_NONE);
	assert_true(key_index_add(&x, n, key_in, keys));
	key_index_free(&x);
}

static void test_map64_nomem(void **state)
{
	struct map64 m = { 0 };
	uint64_t i = 0;

	(void)state;
	mem_fail_at(4);
	while (map64_put(&m, i))
		i++;
	mem_fail_at(0);
	assert_int_equal(i, m.count);
	for (uint64_t k = 0; k < i; k++)
		assert_non_null(map64_find(&m, k));
	assert_null(map64_find(&m, i));
	assert_non_null(map64_put(&m, i));
	map64_free(&m);
}

static void test_scale(void **state)
{
	struct scale s;

	(void)state;
	assert_false(scale_from_hz(&s, 0));
	assert_true(scale_from_hz(&s, 1000000000));
	assert_int_equal(s.num, 1);
	assert_int_equal(s.den, 1);
	assert_true(scale_ns(&s, INT64_MIN) == INT64_MIN);
	assert_true(scale_ns(&s, INT64_MAX) == INT64_MAX);
	assert_true(scale_ns_u(&s, UINT64_MAX) == INT64_MAX);
	assert_true(scale_from_hz(&s, 3000000000u));
	assert_int_equal(s.num, 1);
	assert_int_equal(s.den, 3);
	assert_int_equal(scale_ns(&s, 0), 0);
	assert_int_equal(scale_ns(&s, 2), 0);
	assert_int_equal(scale_ns(&s, 3), 1);
	assert_int_equal(scale_ns(&s, -1), -1);
	assert_int_equal(scale_ns(&s, -3), -1);
	assert_int_equal(scale_ns(&s, -4), -2);
	assert_true(scale_ns_u(&s, UINT64_MAX) == INT64_C(6148914691236517205));
	assert_true(scale_from_hz(&s, 2593907463u));
	/* floor(2^62 * 10^9 / 2593907463) */
	assert_true(scale_ns(&s, INT64_C(1) << 62) == INT64_C(1777891495440517148));
	assert_true(scale_ns(&s, -(INT64_C(1) << 62)) == -INT64_C(1777891495440517149));
	assert_true(scale_from_hz(&s, 1));
	assert_true(scale_ns(&s, INT64_MAX) == INT64_MAX);
	assert_true(scale_ns(&s, INT64_MIN) == INT64_MIN);
	assert_true(scale_ns(&s, -5) == -INT64_C(5000000000));
}

struct jobs {
	_Atomic unsigned done[1000];
	_Atomic unsigned bad;
	unsigned threads;
	size_t order[1000], nordered;
};

static void job_mark(void *arg, size_t job, unsigned worker)
{
	struct jobs *j = arg;

	atomic_fetch_add(&j->done[job], 1);
	if (worker >= j->threads)
		atomic_fetch_add(&j->bad, 1);
	if (j->threads == 1)
		j->order[j->nordered++] = job;
}

static void test_work(void **state)
{
	const unsigned threads[] = { 1, 2, 5, 300 };

	(void)state;
	assert_true(work_cpus() >= 1);
	for (size_t i = 0; i < 4; i++) {
		static struct jobs j;

		memset(&j, 0, sizeof(j));
		j.threads = threads[i];
		work_run(threads[i], 1000, job_mark, &j);
		for (size_t k = 0; k < 1000; k++)
			assert_int_equal(j.done[k], 1);
		assert_int_equal(j.bad, 0);
		for (size_t k = 0; k < j.nordered; k++)
			assert_int_equal(j.order[k], k);
		assert_int_equal(j.nordered, threads[i] == 1 ? 1000 : 0);
		work_run(threads[i], 0, job_mark, &j);
	}
	{
		static struct jobs j = { .threads = 1 };

		work_run(0, 3, job_mark, &j);
		assert_int_equal(j.nordered, 3);
	}
}

static void test_cursor(void **state)
{
	const uint8_t data[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
	struct cursor c = cursor_make(data, sizeof(data), order_swaps(true));

	(void)state;
	assert_int_equal(cursor_u8(&c), 1);
	assert_int_equal(cursor_u16(&c), 0x0203);
	assert_int_equal(cursor_u32(&c), 0x04050607);
	assert_true(cursor_u64(&c) == 0x08090A0B0C0D0E0Fu);
	assert_int_equal(cursor_left(&c), 1);
	assert_false(c.bad);
	assert_int_equal(cursor_u16(&c), 0);
	assert_true(c.bad);
	assert_int_equal(cursor_pos(&c), 15);
	assert_int_equal(cursor_u8(&c), 16);
	assert_int_equal(align_up(17, 8), 24);
	assert_int_equal(align_up(16, 8), 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_map64),	    cmocka_unit_test(test_map64_collisions),
		cmocka_unit_test(test_map64_nomem), cmocka_unit_test(test_scale),
		cmocka_unit_test(test_map64_zero),  cmocka_unit_test(test_key_index),
		cmocka_unit_test(test_key_index_collisions),
		cmocka_unit_test(test_key_index_nomem),
		cmocka_unit_test(test_work),	    cmocka_unit_test(test_cursor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
