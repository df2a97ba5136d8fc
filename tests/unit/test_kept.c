/* model/kept.h and base/spool.h: sets of records, and many sequences that grow at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/out.h"
#include "base/spool.h"
#include "model/kept.h"

enum { SEQS = 50, STEPS = 20000, OFFSETS = 100000 };

static uint32_t draw(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33);
}

static void test_kept_edges(void **state)
{
	struct kept *k = kept_new();

	(void)state;
	assert_non_null(k);
	assert_int_equal(kept_count(k), 0);
	assert_false(kept_has(k, 0, 0));
	assert_int_equal(kept_next(k, 7, 0), UINT64_MAX);
	assert_true(kept_add(k, 3, 0));
	assert_true(kept_add(k, 3, 63));
	assert_true(kept_add(k, 3, 64));
	assert_true(kept_add(k, 3, 4095));
	assert_true(kept_add(k, 3, 4096));
	assert_true(kept_add(k, 3, 1 << 23));
	assert_true(kept_add(k, 3, 63));
	assert_int_equal(kept_count(k), 6);
	assert_int_equal(kept_next(k, 3, 0), 0);
	assert_int_equal(kept_next(k, 3, 1), 63);
	assert_int_equal(kept_next(k, 3, 65), 4095);
	assert_int_equal(kept_next(k, 3, 4097), 1 << 23);
	assert_int_equal(kept_next(k, 3, (1 << 23) + 1), UINT64_MAX);
	assert_int_equal(kept_next(k, 2, 0), UINT64_MAX);
	assert_false(kept_has(k, 3, 1));
	assert_false(kept_has(k, 2, 0));
	assert_false(kept_add(k, 3, UINT64_MAX));
	kept_free(k);
	kept_free(NULL);
}

/* Against a plain table; two sets joined are the union. */
static void test_kept_random(void **state)
{
	static uint8_t in[2][OFFSETS];
	struct kept *k[2] = { kept_new(), kept_new() };
	uint64_t seed = 1, count = 0;

	(void)state;
	for (int i = 0; i < STEPS; i++) {
		const uint32_t which = draw(&seed) % 2, off = draw(&seed) % OFFSETS;

		in[which][off] = 1;
		assert_true(kept_add(k[which], 1, off));
	}
	assert_true(kept_join(k[0], k[1]));
	for (uint32_t off = 0; off < OFFSETS; off++) {
		const bool has = in[0][off] || in[1][off];

		count += has;
		assert_int_equal(kept_has(k[0], 1, off), has);
		assert_int_equal(kept_has(k[1], 1, off), in[1][off]);
	}
	assert_int_equal(kept_count(k[0]), count);
	for (uint64_t off = kept_next(k[0], 1, 0); off != UINT64_MAX;
	     off = kept_next(k[0], 1, off + 1), count--)
		assert_true(in[0][off] || in[1][off]);
	assert_int_equal(count, 0);
	kept_free(k[0]);
	kept_free(k[1]);
}

static void test_kept_memory(void **state)
{
	(void)state;
	for (uint64_t n = 1; n < 6; n++) {
		struct kept *k;

		mem_fail_at(n);
		k = kept_new();
		if (k)
			for (uint64_t off = 0; off < 3 && kept_add(k, 9, off << 13); off++)
				assert_true(kept_has(k, 9, off << 13));
		mem_fail_at(0);
		kept_free(k);
	}
}

/* Pieces of all sizes to many sequences in turn; each reads back as it was written. */
static void test_spool_random(void **state)
{
	static struct spool_seq seqs[SEQS];
	static struct out want[SEQS];
	static char piece[70000];
	struct spool s;
	uint64_t seed = 2;

	(void)state;
	memset(seqs, 0, sizeof(seqs));
	spool_init(&s);
	for (int i = 0; i < SEQS; i++)
		out_to_memory(&want[i]);
	for (int i = 0; i < 2000; i++) {
		const uint32_t q = draw(&seed) % SEQS;
		const size_t n = draw(&seed) % (i % 100 ? 100 : sizeof(piece));

		memset(piece, (int)(draw(&seed) & 255), n);
		out_bytes(&want[q], piece, n);
		if (i % 3) {
			assert_true(spool_bytes(&s, &seqs[q], piece, n));
		} else {
			const size_t m = n < SPOOL_ROOM ? n : SPOOL_ROOM;
			char *to = spool_room(&s, &seqs[q], m);

			assert_non_null(to);
			memcpy(to, piece, m);
			spool_add(&seqs[q], m);
			assert_true(spool_bytes(&s, &seqs[q], piece + m, n - m));
		}
	}
	for (int i = 0; i < SEQS; i++) {
		struct out got;

		out_to_memory(&got);
		for (const struct spool_block *b = seqs[i].first; b; b = b->next)
			out_bytes(&got, b + 1, b->len);
		assert_int_equal(spool_len(&seqs[i]), want[i].len);
		assert_int_equal(got.len, want[i].len);
		assert_memory_equal(got.buf ? got.buf : "", want[i].buf ? want[i].buf : "",
				    got.len);
		out_free(&got);
		out_free(&want[i]);
	}
	spool_free(&s);
}

static void test_spool_memory(void **state)
{
	struct spool_seq q = { 0 };
	struct spool s;
	char byte = 'x';

	(void)state;
	spool_init(&s);
	assert_int_equal(spool_len(&q), 0);
	mem_fail_at(1);
	assert_false(spool_bytes(&s, &q, &byte, 1));
	mem_fail_at(0);
	assert_true(spool_bytes(&s, &q, &byte, 1));
	assert_int_equal(spool_len(&q), 1);
	spool_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept_edges),   cmocka_unit_test(test_kept_random),
		cmocka_unit_test(test_kept_memory),  cmocka_unit_test(test_spool_random),
		cmocka_unit_test(test_spool_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
