/* The merge of feeds: order, stability, batch sizes, failures, memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "flow/pipe.h"
#include "unit/fake_trace.h"

/* Feeds in bursts of random length; the order that must come out is found by sorting. */
static struct spur_trace *make_bursts(size_t feeds, size_t rows, uint64_t burst, uint64_t seed)
{
	struct spur_trace *t = fake_trace_new();
	int64_t ts = 1000;

	for (size_t i = 0; i < feeds; i++)
		fake_feed_add(t, (int64_t)i, "thread");
	for (size_t n = 0; n < rows;) {
		uint32_t f = (uint32_t)(fake_random(&seed) % feeds);
		uint64_t len = 1 + fake_random(&seed) % (2 * burst - 1);

		for (; len && n < rows; len--, n++) {
			fake_row(t, f, SPUR_INSTANT, ts);
			ts += (int64_t)(fake_random(&seed) % 3);
		}
	}
	return t;
}

static int by_time(const void *a, const void *b)
{
	const struct spur_event *x = a, *y = b;

	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return x->off < y->off ? -1 : x->off > y->off;
}

static struct spur_event *sorted_rows(struct spur_trace *t, size_t *count)
{
	struct spur_event *all;
	size_t n = 0;

	for (size_t i = 0; i < t->nfeeds; i++)
		n += ((struct fake_feed *)t->feeds[i]->state)->count;
	all = malloc((n + 1) * sizeof(*all));
	*count = 0;
	for (size_t i = 0; i < t->nfeeds; i++) {
		struct fake_feed *k = t->feeds[i]->state;

		if (k->count)
			memcpy(all + *count, k->rows, k->count * sizeof(*all));
		*count += k->count;
	}
	qsort(all, n, sizeof(*all), by_time);
	return all;
}

static void expect_sorted(struct spur_trace *t)
{
	size_t want, got = 0, n;
	struct spur_event *all = sorted_rows(t, &want), *rows;
	struct merge *m = merge_new(t, NULL);

	assert_non_null(m);
	while (merge_next(m, &rows, &n) == SPUR_OK) {
		assert_true(n > 0 && got + n <= want);
		assert_memory_equal(rows, all + got, n * sizeof(*rows));
		got += n;
		memset(rows, 0xee, n * sizeof(*rows));
	}
	assert_int_equal(got, want);
	assert_int_equal(merge_next(m, &rows, &n), SPUR_END);
	merge_free(m);
	free(all);
}

static void test_order(void **state)
{
	static const size_t feeds[] = { 1, 2, 3, 5, 8, 64, 100 };
	static const uint64_t bursts[] = { 1, 10, 100, 1000 };
	static const size_t batches[] = { 0, 1, 7 };

	(void)state;
	for (size_t i = 0; i < 7; i++)
		for (size_t k = 0; k < 4; k++)
			for (size_t b = 0; b < 3; b++) {
				struct spur_trace *t =
					make_bursts(feeds[i], 3000, bursts[k], i * 100 + k);

				for (size_t f = 0; f < t->nfeeds; f++)
					((struct fake_feed *)t->feeds[f]->state)->batch =
						batches[b];
				expect_sorted(t);
				fake_trace_free(t);
			}
}

static void test_ties_go_to_the_lower_feed(void **state)
{
	struct spur_trace *t = fake_trace_new();

	(void)state;
	for (int i = 0; i < 9; i++) {
		fake_feed_add(t, i, "x");
		for (int n = 0; n < 100; n++)
			fake_row(t, (uint32_t)i, SPUR_INSTANT, n / 10);
	}
	expect_sorted(t);
	fake_trace_free(t);
}

static void test_extreme_times(void **state)
{
	static const int64_t times[] = { INT64_MIN, INT64_MIN, INT64_MIN + 1, -1,
					 0,	    INT64_MAX, INT64_MAX };
	struct spur_trace *t = fake_trace_new();

	(void)state;
	for (uint32_t f = 0; f < 5; f++) {
		fake_feed_add(t, f, "x");
		for (size_t i = f; i < 7; i += f + 1)
			fake_row(t, f, SPUR_INSTANT, times[i]);
	}
	expect_sorted(t);
	fake_trace_free(t);
}

static void test_empty(void **state)
{
	struct spur_trace *t = fake_trace_new();

	(void)state;
	expect_sorted(t);
	for (int i = 0; i < 6; i++)
		fake_feed_add(t, i, "x");
	expect_sorted(t);
	fake_rewind(t);
	fake_row(t, 3, SPUR_INSTANT, 5);
	expect_sorted(t);
	fake_trace_free(t);
}

/*
 * A feed whose time goes back: the order is the same whatever the batches are, and nothing is lost.
 */
static void test_time_going_back(void **state)
{
	struct spur_event *first = NULL, *rows;
	size_t total = 0;

	(void)state;
	for (size_t batch = 0; batch < 40; batch++) {
		struct spur_trace *t = make_bursts(3, 2000, 5, 7);
		struct fake_feed *k = t->feeds[1]->state;
		struct merge *m;
		size_t n, got = 0;

		for (size_t i = 100; i + 50 < k->count; i += 97)
			k->rows[i].ts -= 200;
		for (size_t f = 0; f < 3; f++)
			((struct fake_feed *)t->feeds[f]->state)->batch = batch;
		m = merge_new(t, NULL);
		if (!first)
			first = malloc(2000 * sizeof(*first));
		while (merge_next(m, &rows, &n) == SPUR_OK) {
			if (!batch)
				memcpy(first + got, rows, n * sizeof(*rows));
			else
				assert_memory_equal(first + got, rows, n * sizeof(*rows));
			got += n;
		}
		if (!batch)
			total = got;
		assert_int_equal(got, total);
		merge_free(m);
		fake_trace_free(t);
	}
	assert_int_equal(total, 2000);
	free(first);
}

static void test_single_feed_is_lent(void **state)
{
	struct spur_trace *t = make_bursts(1, 1000, 10, 1);
	struct merge *m = merge_new(t, NULL);
	struct spur_event *a, *b;
	size_t n;

	(void)state;
	assert_int_equal(merge_next(m, &a, &n), SPUR_OK);
	assert_int_equal(n, BATCH_ROWS);
	assert_int_equal(merge_next(m, &b, &n), SPUR_OK);
	assert_int_equal(n, 1000 - BATCH_ROWS);
	assert_ptr_equal(a, b);
	merge_free(m);
	fake_trace_free(t);
}

/* What is there comes out before the next pull, which may wait on a pipe. */
static void test_no_wait_behind_rows(void **state)
{
	struct spur_trace *t = fake_trace_new();
	struct fake_feed *k = fake_feed_add(t, 1, "x");
	struct merge *m;
	struct spur_event *rows;
	size_t n;

	(void)state;
	for (int i = 0; i < 3; i++)
		fake_row(t, 0, SPUR_INSTANT, i);
	k->batch = 1;
	m = merge_new(t, NULL);
	for (size_t i = 1; i <= 3; i++) {
		assert_int_equal(merge_next(m, &rows, &n), SPUR_OK);
		assert_int_equal(n, 1);
		assert_int_equal(k->pos, i);
	}
	merge_free(m);
	fake_trace_free(t);
}

static void test_failures(void **state)
{
	struct spur_trace *t = make_bursts(4, 500, 3, 3);
	struct spur_event *rows;
	enum spur_status st;
	struct merge *m;
	size_t n;

	(void)state;
	((struct fake_feed *)t->feeds[2]->state)->fails = true;
	m = merge_new(t, NULL);
	while ((st = merge_next(m, &rows, &n)) == SPUR_OK)
		;
	assert_int_equal(st, SPUR_FAIL);
	merge_free(m);
	((struct fake_feed *)t->feeds[2]->state)->fails = false;
	for (uint64_t at = 1;; at++) {
		size_t got = 0;

		fake_rewind(t);
		mem_fail_at(at);
		m = merge_new(t, NULL);
		st = SPUR_FAIL;
		while (m && (st = merge_next(m, &rows, &n)) == SPUR_OK)
			got += n;
		mem_fail_at(0);
		merge_free(m);
		if (m && st == SPUR_END) {
			assert_int_equal(got, 500);
			break;
		}
		assert_true(at < 1000);
	}
	fake_trace_free(t);
}

static void test_many_feeds(void **state)
{
	struct spur_trace *t = fake_trace_new();
	struct spur_event *rows;
	struct merge *m;
	size_t n, got = 0;
	int64_t last = -1;

	(void)state;
	for (uint32_t f = 0; f < 10000; f++) {
		fake_feed_add(t, f, "x");
		for (int i = 0; i < 30; i++)
			fake_row(t, f, SPUR_INSTANT, i * 10000 + (int64_t)((f * 7919) % 10000));
	}
	m = merge_new(t, NULL);
	while (merge_next(m, &rows, &n) == SPUR_OK)
		for (size_t i = 0; i < n; i++, got++) {
			assert_true(rows[i].ts >= last);
			last = rows[i].ts;
		}
	assert_int_equal(got, 300000);
	merge_free(m);
	fake_trace_free(t);
}

/* Not a test: with SPUR_BENCH set, prints ns a row. */
static void bench(void **state)
{
	static const size_t feeds[] = { 1, 8, 64 };
	static const uint64_t bursts[] = { 1, 10, 100 };

	(void)state;
	if (!getenv("SPUR_BENCH"))
		skip();
	for (size_t i = 0; i < 3; i++)
		for (size_t k = 0; k < 3; k++) {
			struct spur_trace *t = make_bursts(feeds[i], 2000000, bursts[k], 5);
			double best = 1e9;

			for (int run = 0; run < 5; run++) {
				struct timespec a, b;
				struct spur_event *rows;
				struct merge *m;
				size_t n;
				int64_t sum = 0;

				fake_rewind(t);
				m = merge_new(t, NULL);
				clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
				while (merge_next(m, &rows, &n) == SPUR_OK)
					for (size_t r = 0; r < n; r++)
						sum += rows[r].ts;
				clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
				merge_free(m);
				assert_true(sum > 0);
				best = (double)(b.tv_sec - a.tv_sec) * 1e9 +
							       (double)(b.tv_nsec - a.tv_nsec) <
						       best
					       ? (double)(b.tv_sec - a.tv_sec) * 1e9 +
							 (double)(b.tv_nsec - a.tv_nsec)
					       : best;
			}
			print_message("feeds %zu burst %d: %.2f ns a row\n", feeds[i],
				      (int)bursts[k], best / 2e6);
			fake_trace_free(t);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_ties_go_to_the_lower_feed),
		cmocka_unit_test(test_extreme_times),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_time_going_back),
		cmocka_unit_test(test_single_feed_is_lent),
		cmocka_unit_test(test_no_wait_behind_rows),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_many_feeds),
		cmocka_unit_test(bench),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
