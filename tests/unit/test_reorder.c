/*
 * Rows by time out of records in nearly that order: every order of records gives the sorted one, in
 * both tie rules.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "model/reorder.h"

struct record {
	int64_t ts;
	uint64_t rank;
	uint64_t seq;
};

static bool later_first;

static int record_order(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->seq < y->seq) == later_first ? 1 : -1;
}

/* The two passes with items that say which record it is. False: no memory. */
static bool run_items(struct reorder *r, const struct record *in, size_t n, uint64_t *out)
{
	const uint64_t *item;
	size_t at = 0;

	for (size_t i = 0; i < n; i++)
		if (reorder_late(r, in[i].ts, in[i].rank) &&
		    !reorder_add(r, in[i].ts, in[i].rank, &in[i].seq))
			return false;
	if (!reorder_sort(r))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (reorder_late(r, in[i].ts, in[i].rank))
			continue;
		while ((item = reorder_next(r, in[i].ts, in[i].rank)))
			out[at++] = *item;
		out[at++] = in[i].seq;
	}
	while ((item = reorder_rest(r)))
		out[at++] = *item;
	assert_int_equal(at, n);
	return true;
}

/* The same with rows, in batches of `cap`. */
static void run_rows(struct reorder *r, const struct record *in, size_t n, uint32_t cap,
		     uint64_t *out)
{
	struct spur_event *rows = calloc(cap, sizeof(*rows));
	struct batch b = { .rows = rows, .cap = cap };
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		const struct spur_event row = { .ts = in[i].ts, .id = in[i].seq };

		if (reorder_late(r, in[i].ts, in[i].rank))
			assert_true(reorder_add(r, in[i].ts, in[i].rank, &row));
	}
	assert_true(reorder_sort(r));
	for (size_t i = 0; i <= n; i++) {
		const int64_t ts = i < n ? in[i].ts : INT64_MAX;
		const uint64_t rank = i < n ? in[i].rank : UINT64_MAX - 1;

		if (i < n && reorder_late(r, ts, rank))
			continue;
		while (!reorder_until(r, ts, rank, &b)) {
			assert_int_equal(b.count, cap);
			for (; b.count; b.count--)
				out[at++] = rows[cap - b.count].id;
		}
		if (i < n)
			rows[b.count++] = (struct spur_event){ .ts = ts, .id = in[i].seq };
	}
	for (uint32_t k = 0; k < b.count; k++)
		out[at++] = rows[k].id;
	assert_int_equal(at, n);
	free(rows);
}

static void expect(struct record *in, size_t n)
{
	struct record *want = calloc(n + 1, sizeof(*want));
	uint64_t *got = calloc(n + 1, sizeof(*got));
	struct reorder r;

	for (size_t i = 0; i < n; i++)
		in[i].seq = i;
	for (int mode = 0; mode < 4; mode++) {
		later_first = mode & 1;
		memcpy(want, in, n * sizeof(*want));
		if (n)
			qsort(want, n, sizeof(*want), record_order);
		memset(got, 0xff, n * sizeof(*got));
		if (mode < 2) {
			reorder_init(&r, sizeof(uint64_t), later_first);
			assert_true(run_items(&r, in, n, got));
		} else {
			reorder_init(&r, sizeof(struct spur_event), later_first);
			run_rows(&r, in, n, (uint32_t)(n % 7 + 1), got);
		}
		for (size_t i = 0; i < n; i++)
			assert_int_equal(got[i], want[i].seq);
		reorder_free(&r);
	}
	free(want);
	free(got);
}

static uint64_t rnd_state;

static uint64_t rnd(uint64_t below)
{
	rnd_state = rnd_state * 6364136223846793005u + 1442695040888963407u;
	return (rnd_state >> 33) % below;
}

enum { MANY = 20000 };
static struct record recs[MANY];

static void test_few(void **state)
{
	(void)state;
	expect(recs, 0);
	for (unsigned n = 1; n <= 5; n++) {
		unsigned all = 1;

		for (unsigned i = 0; i < n; i++)
			all *= 6;
		for (unsigned code = 0; code < all; code++) {
			unsigned c = code;

			for (unsigned i = 0; i < n; i++, c /= 6)
				recs[i] = (struct record){ .ts = c % 3, .rank = c % 6 / 3 };
			expect(recs, n);
		}
	}
}

static void test_in_order(void **state)
{
	struct reorder r;

	(void)state;
	for (size_t i = 0; i < MANY; i++)
		recs[i] = (struct record){ .ts = (int64_t)i / 2 };
	expect(recs, MANY);
	/* Records in order are never stored. */
	reorder_init(&r, 8, false);
	for (size_t i = 0; i < MANY; i++)
		assert_false(reorder_late(&r, recs[i].ts, recs[i].rank));
	reorder_free(&r);
}

/* All that comes too late for more runs than there are. */
static void test_backwards(void **state)
{
	(void)state;
	for (size_t i = 0; i < MANY; i++)
		recs[i] = (struct record){ .ts = -(int64_t)i };
	expect(recs, MANY);
	for (size_t i = 0; i < MANY; i++)
		recs[i] = (struct record){ .ts = -(int64_t)(i % 100) };
	expect(recs, MANY);
}

static void test_equal(void **state)
{
	(void)state;
	memset(recs, 0, sizeof(recs));
	expect(recs, MANY);
	for (size_t i = 0; i < MANY; i++)
		recs[i].rank = REORDER_SPAN(i % 3);
	expect(recs, MANY);
}

static void test_random(void **state)
{
	(void)state;
	rnd_state = 1;
	for (int round = 0; round < 40; round++) {
		const uint64_t range = (uint64_t)1 << round % 20;

		for (size_t i = 0; i < MANY / 10; i++)
			recs[i] = (struct record){ .ts = (int64_t)rnd(range) - 5,
						   .rank = REORDER_SPAN(rnd(3)) };
		expect(recs, MANY / 10);
	}
}

/* The order in which spans end: what is inside comes first. */
static void test_ends(void **state)
{
	int64_t starts[200], now = 0;
	size_t n = 0, depth = 0;

	(void)state;
	rnd_state = 2;
	while (n < MANY) {
		now += (int64_t)rnd(2);
		if (depth < 200 && rnd(2)) {
			starts[depth++] = now;
		} else if (depth) {
			const int64_t start = starts[--depth];

			recs[n++] =
				(struct record){ .ts = start, .rank = REORDER_SPAN(now - start) };
		}
	}
	expect(recs, MANY);
}

static void test_wild_first(void **state)
{
	(void)state;
	for (size_t i = 0; i < MANY; i++)
		recs[i] = (struct record){ .ts = i ? (int64_t)(i ^ 1) : INT64_MAX };
	recs[5].ts = INT64_MIN;
	recs[9].ts = INT64_MIN;
	expect(recs, MANY);
}

/* Items for no record: they need not be late. */
static void test_extra_items(void **state)
{
	struct reorder r;
	const uint64_t extra[] = { 100, 101, 102 };
	const uint64_t *item;

	(void)state;
	reorder_init(&r, 8, true);
	assert_false(reorder_late(&r, 5, REORDER_SPAN(1)));
	assert_true(reorder_add(&r, 7, 0, &extra[0]));
	assert_true(reorder_add(&r, 9, 0, &extra[1]));
	assert_true(reorder_add(&r, 5, 0, &extra[2]));
	assert_false(reorder_late(&r, 7, REORDER_SPAN(0)));
	assert_true(reorder_sort(&r));
	assert_false(reorder_late(&r, 5, REORDER_SPAN(1)));
	item = reorder_next(&r, 5, REORDER_SPAN(1));
	assert_true(item && *item == 102);
	assert_null(reorder_next(&r, 5, REORDER_SPAN(1)));
	assert_false(reorder_late(&r, 7, REORDER_SPAN(0)));
	item = reorder_next(&r, 7, REORDER_SPAN(0));
	assert_true(item && *item == 100);
	assert_null(reorder_next(&r, 7, REORDER_SPAN(0)));
	item = reorder_rest(&r);
	assert_true(item && *item == 101);
	assert_null(reorder_rest(&r));
	reorder_free(&r);
}

/*
 * Windows: what is late inside one is the reader's to sort; only what belongs before it is stored.
 */
static void expect_windows(size_t n)
{
	static struct record window[REORDER_WINDOW], want[MANY];
	struct reorder r;
	const uint64_t *item;
	size_t at = 0, i = 0;

	reorder_init(&r, 8, later_first);
	for (size_t k = 0; k < n; k++) {
		recs[k].seq = k;
		if (reorder_late_window(&r, recs[k].ts))
			assert_true(reorder_add(&r, recs[k].ts, recs[k].rank, &recs[k].seq));
	}
	assert_true(reorder_sort(&r));
	memcpy(want, recs, n * sizeof(*want));
	qsort(want, n, sizeof(*want), record_order);
	while (i < n) {
		size_t w = 0;

		do {
			window[w] = recs[i++];
			w += !reorder_late_window(&r, window[w].ts);
		} while (r.left && i < n);
		qsort(window, w, sizeof(*window), record_order);
		for (size_t k = 0; k < w; k++) {
			while ((item = reorder_next(&r, window[k].ts, window[k].rank)))
				assert_int_equal(*item, want[at++].seq);
			assert_int_equal(window[k].seq, want[at++].seq);
		}
	}
	while ((item = reorder_rest(&r)))
		assert_int_equal(*item, want[at++].seq);
	assert_int_equal(at, n);
	reorder_free(&r);
}

static void test_windows(void **state)
{
	(void)state;
	rnd_state = 3;
	for (int round = 0; round < 40; round++) {
		const uint64_t range = (uint64_t)1 << round % 20;

		later_first = round & 1;
		for (size_t i = 0; i < 3000; i++)
			recs[i] = (struct record){ .ts = (int64_t)(rnd(range) +
								   i * (size_t)(round % 3)),
						   .rank = REORDER_SPAN(rnd(3)) };
		recs[0].ts = round % 5 ? recs[0].ts : INT64_MIN;
		expect_windows(round < 4 ? (size_t)round * 256 : 3000);
	}
}

/* How many records the next window has, all in order of time but for the first, if `late`. */
static uint32_t window_size(struct reorder *r, int64_t *now, bool late)
{
	uint32_t n = 0;

	do
		assert_int_equal(reorder_late_window(r, late && !n ? 0 : ++*now), late && !n);
	while (n++, r->left);
	return n;
}

/* Windows are large while there are stragglers. */
static void test_window_sizes(void **state)
{
	struct reorder r;
	int64_t now = 0;

	(void)state;
	reorder_init(&r, 8, true);
	for (int pass = 0; pass < 2; pass++, now = 0) {
		assert_int_equal(window_size(&r, &now, false), REORDER_WINDOW_LEAST);
		assert_int_equal(window_size(&r, &now, true), REORDER_WINDOW_LEAST);
		assert_int_equal(window_size(&r, &now, true), REORDER_WINDOW);
		assert_int_equal(window_size(&r, &now, false), REORDER_WINDOW);
		assert_int_equal(window_size(&r, &now, true), REORDER_WINDOW_LEAST);
		assert_true(reorder_sort(&r));
	}
	reorder_free(&r);
}

static void test_no_memory(void **state)
{
	uint64_t out[1000], count;
	struct reorder r;

	(void)state;
	for (size_t i = 0; i < 1000; i++)
		recs[i] = (struct record){ .ts = -(int64_t)i, .seq = i };
	mem_fail_at(UINT64_MAX);
	reorder_init(&r, 8, false);
	assert_true(run_items(&r, recs, 1000, out));
	reorder_free(&r);
	count = mem_count();
	assert_true(count > 4);
	for (uint64_t n = 1; n <= count; n++) {
		reorder_init(&r, 8, false);
		mem_fail_at(n);
		assert_false(run_items(&r, recs, 1000, out));
		mem_fail_at(0);
		reorder_free(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few),	   cmocka_unit_test(test_in_order),
		cmocka_unit_test(test_backwards),  cmocka_unit_test(test_equal),
		cmocka_unit_test(test_random),	   cmocka_unit_test(test_ends),
		cmocka_unit_test(test_wild_first), cmocka_unit_test(test_extra_items),
		cmocka_unit_test(test_windows),	   cmocka_unit_test(test_window_sizes),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
