/*
 * Overlapping spans to tracks beside: on each track spans nest, lanes are used again, BEGINs count.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/fake_trace.h"

#include "model/lane.h"

static struct spur_trace *trace;
static struct lanes *lanes;
static uint32_t base;

static int start(void **state)
{
	(void)state;
	trace = fake_trace_new();
	base = trace_add_track(trace, (struct spur_track){ .parent = SPUR_NONE,
							   .name = trace_intern_n(trace, "a\0b", 3),
							   .kind = SPUR_TRACK_THREAD,
							   .pid = 7,
							   .tid = -1,
							   .cpu = 3 });
	lanes = lanes_new(trace);
	return !trace || !lanes || base != 0;
}

static int stop(void **state)
{
	(void)state;
	lanes_free(lanes);
	fake_trace_free(trace);
	return 0;
}

static void test_nested(void **state)
{
	(void)state;
	assert_int_equal(lanes_span(lanes, base, 0, 100), base);
	assert_int_equal(lanes_span(lanes, base, 0, 100), base);
	assert_int_equal(lanes_span(lanes, base, 10, 20), base);
	assert_int_equal(lanes_span(lanes, base, 10, 0), base);
	assert_int_equal(lanes_span(lanes, base, 12, 18), base);
	assert_int_equal(lanes_span(lanes, base, 30, 70), base);
	assert_int_equal(lanes_span(lanes, base, 100, 5), base);
	for (int64_t i = 0; i < 1000; i++)
		assert_int_equal(lanes_span(lanes, base, 200 + i, 2000 - 2 * i), base);
	assert_int_equal(lanes_moved(lanes), 0);
	assert_int_equal(trace->ntracks, 1);
}

static void test_beside(void **state)
{
	const struct spur_track *k;
	size_t len;

	(void)state;
	assert_int_equal(lanes_span(lanes, base, 0, 10), base);
	assert_int_equal(lanes_span(lanes, base, 5, 10), base + 1);
	assert_int_equal(lanes_span(lanes, base, 7, 10), base + 2);
	assert_int_equal(lanes_span(lanes, base, 8, 2), base);
	assert_int_equal(lanes_span(lanes, base, 8, 4), base + 1);
	assert_int_equal(lanes_span(lanes, base, 10, 5), base);
	assert_int_equal(lanes_span(lanes, base, 12, 5), base + 2);
	assert_int_equal(lanes_moved(lanes), 4);
	assert_int_equal(trace->ntracks, 3);
	k = spur_track(trace, base + 1);
	assert_int_equal(k->parent, base);
	assert_int_equal(k->kind, SPUR_TRACK_LANE);
	assert_int_equal(trace_track_kind(trace, base + 1), SPUR_TRACK_THREAD);
	assert_int_equal(k->pid, 7);
	assert_int_equal(k->tid, -1);
	assert_int_equal(k->cpu, 3);
	assert_memory_equal(spur_string(trace, k->name, &len), "a\0b (2)", 7);
	assert_int_equal(len, 7);
	assert_memory_equal(spur_string(trace, spur_track(trace, base + 2)->name, &len), "a\0b (3)",
			    7);
}

/* No track is lost, none is made without end. */
static void test_limit(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < LANES + 10; i++)
		assert_int_equal(lanes_span(lanes, base, i, 100000),
				 i < LANES ? base + i : base + LANES - 1);
	assert_int_equal(trace->ntracks, LANES);
	/* When all is over they are free again. */
	assert_int_equal(lanes_span(lanes, base, 200000, 10), base);
	assert_int_equal(lanes_span(lanes, base, 200001, 10), base + 1);
}

static void test_begins(void **state)
{
	(void)state;
	lanes_end(lanes, base);
	assert_int_equal(lanes_span(lanes, base, 0, 20), base);
	assert_true(lanes_begin(lanes, base)); /* 5 */
	assert_int_equal(lanes_span(lanes, base, 6, 50), base);
	assert_true(lanes_begin(lanes, base)); /* 7 */
	lanes_end(lanes, base); /* 8 */
	lanes_end(lanes, base); /* 30: the span that began at 6 is still open */
	assert_int_equal(lanes_span(lanes, base, 31, 40), base + 1);
	assert_int_equal(lanes_span(lanes, base, 32, 10), base);
	/* At 60 all is over but the lane. */
	assert_int_equal(lanes_span(lanes, base, 60, 100), base);
	lanes_end(lanes, base);
	assert_int_equal(lanes_span(lanes, base, 61, 10), base);
	assert_true(lanes_begin(lanes, base)); /* 62 */
	assert_int_equal(lanes_span(lanes, base, 65, 1000), base);
}

/* The ends of time, backward spans. */
static void test_extremes(void **state)
{
	(void)state;
	assert_int_equal(lanes_span(lanes, base, INT64_MIN, INT64_MAX), base);
	assert_int_equal(lanes_span(lanes, base, 5, -3), base);
	assert_true(lanes_begin(lanes, base));
	assert_int_equal(lanes_span(lanes, base, INT64_MAX, 0), base);
	assert_int_equal(lanes_span(lanes, base, INT64_MAX, INT64_MAX), base);
	lanes_end(lanes, base);
	lanes_end(lanes, base);
	assert_int_equal(lanes_span(lanes, base, INT64_MAX, 1), base);
	assert_int_equal(trace->ntracks, 1);
}

/* Any spans, by start and then the longer first: those of one track nest. */
static void test_random(void **state)
{
	enum { SPANS = 5000 };
	static struct {
		int64_t ts, end;
		uint32_t track;
	} all[SPANS];
	uint64_t x = 3;
	int64_t now = 0;

	(void)state;
	for (size_t i = 0; i < SPANS; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		now += 1 + (int64_t)(x >> 40) % 20;
		all[i].ts = now;
		all[i].end = now + (int64_t)(x >> 50) % 300;
		all[i].track = lanes_span(lanes, base, now, all[i].end - now);
		for (size_t k = i; k-- > 0 && now - all[k].ts < 300;)
			assert_true(all[k].track != all[i].track || all[k].end <= now ||
				    all[k].end >= all[i].end);
	}
	assert_true(trace->ntracks > 3 && trace->ntracks < 40);
}

static void test_no_memory(void **state)
{
	uint64_t count;

	(void)state;
	for (uint64_t n = 1;; n++) {
		uint32_t got[6];
		size_t ok = 0;

		stop(state);
		start(state);
		mem_fail_at(n);
		for (uint32_t i = 0; i < 6; i++) {
			got[i] = lanes_span(lanes, base, i, 100 + (i == 5 ? 0 : 100 * i));
			ok += got[i] != SPUR_NONE && (i % 2 || lanes_begin(lanes, base));
		}
		count = mem_count();
		mem_fail_at(0);
		if (count < n) {
			assert_int_equal(ok, 6);
			break;
		}
		assert_true(ok < 6);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nested, start, stop),
		cmocka_unit_test_setup_teardown(test_beside, start, stop),
		cmocka_unit_test_setup_teardown(test_limit, start, stop),
		cmocka_unit_test_setup_teardown(test_begins, start, stop),
		cmocka_unit_test_setup_teardown(test_extremes, start, stop),
		cmocka_unit_test_setup_teardown(test_random, start, stop),
		cmocka_unit_test_setup_teardown(test_no_memory, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
