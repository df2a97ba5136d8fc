/* Maps between clocks, and lines fitted to events: model/relation.h, flow/align_fit.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "flow/align.h"
#include "flow/align_fit.h"

typedef __int128 i128;

static uint64_t seed;

static uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static uint64_t below(uint64_t n)
{
	return any() % n;
}

/* --- maps --- */

/* t + shift + floor((t - pivot) * drift / 2^60 + 1/2), by division. */
static i128 mapped(const struct clock_map *m, i128 t)
{
	const i128 n = (t - m->pivot) * m->drift * 2 + CLOCK_DRIFT_ONE,
		   d = 2 * (i128)CLOCK_DRIFT_ONE;

	return t + m->shift + n / d - (n % d < 0);
}

static int64_t clamped(i128 t)
{
	return t > INT64_MAX ? INT64_MAX : t < INT64_MIN ? INT64_MIN : (int64_t)t;
}

static void expect_map(const struct clock_map *m, int64_t t)
{
	const int64_t to = clock_map_ts(m, t), back = clock_map_back(m, to);

	assert_true(to == clamped(mapped(m, t)));
	if (t < INT64_MAX)
		assert_true(clock_map_ts(m, t + 1) >= to);
	if (to == INT64_MAX || to == INT64_MIN)
		return;
	/* The least time that is mapped there. */
	assert_true(back <= t);
	assert_true(clock_map_ts(m, back) == to);
	assert_true(mapped(m, (i128)back - 1) < to || back == INT64_MIN);
	if (m->drift >= 0)
		assert_true(back == t);
}

static void test_map(void **state)
{
	static const int64_t drifts[] = {
		0, 1, -1, 57646075230342, -57646075230342, CLOCK_DRIFT_MAX, -CLOCK_DRIFT_MAX
	};
	static const int64_t times[] = { INT64_MIN, -1, 0, 1, 999999999, INT64_MAX - 1, INT64_MAX };

	(void)state;
	seed = 7;
	for (size_t d = 0; d < sizeof(drifts) / sizeof(drifts[0]); d++)
		for (int k = 0; k < 300; k++) {
			const struct clock_map m = {
				.shift = k % 3 ? (int64_t)any() >> (k % 60) : k - 100,
				.pivot = (int64_t)any() >> (k % 50),
				.drift = drifts[d],
			};

			for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
				expect_map(&m, times[i]);
			for (int i = 0; i < 20; i++)
				expect_map(&m, m.pivot / 2 + (int64_t)any() / 4 % 1000000007);
		}
}

static void test_map_numbers(void **state)
{
	/* 50 ppm: 50 ns are added for every millisecond from the pivot on. */
	const struct clock_map m = { .shift = -7, .pivot = 1000, .drift = 57646075230343 };
	const struct clock_map flat = { .shift = 5 };

	(void)state;
	assert_int_equal(clock_map_ts(&m, 1000), 993);
	assert_int_equal(clock_map_ts(&m, 1001000), 1000993 + 50);
	assert_int_equal(clock_map_ts(&m, 1000000001000), 1000000000993 + 50000000);
	assert_int_equal(clock_map_dur(&m, 1000, 1000000), 1000050);
	assert_int_equal(clock_map_dur(&flat, 1000, 1000000), 1000000);
	assert_int_equal(clock_map_back(&flat, 5), 0);
	assert_int_equal(clock_drift_trillionths(m.drift), 50000000);
	assert_int_equal(clock_drift_trillionths(-m.drift), -50000000);
	assert_int_equal(clock_drift_trillionths(0), 0);
}

/* --- lines --- */

enum { MOST = 160000 };

static struct align_event left[MOST], right[MOST];
static size_t nleft, nright;

static int by_time(const void *a, const void *b)
{
	const struct align_event *x = a, *y = b;

	return (x->ts > y->ts) - (x->ts < y->ts);
}

/* How the two traces of one run differ. */
struct scene {
	int events;
	uint32_t names;
	uint64_t gap; /* ns between events: up to twice this */
	int drop; /* percent of the events that each trace lacks, on its own */
	int extra; /* percent of events that only one has */
	uint64_t noise; /* ns that a time may be off, in either trace */
	int64_t offset; /* ns that the right clock is ahead */
	int64_t drift; /* ppm that it is faster */
	int from, to; /* percent of the run that the right trace has */
};

static void put(const struct scene *s, bool right_one, int64_t ts, uint32_t name)
{
	struct align_event e = { .ts = ts, .name = name };

	if (right_one)
		e.ts += s->offset + (int64_t)((i128)ts * s->drift / 1000000);
	if (s->noise)
		e.ts += (int64_t)below(2 * s->noise) - (int64_t)s->noise;
	*(right_one ? &right[nright++] : &left[nleft++]) = e;
}

static void play(const struct scene *s)
{
	int64_t ts = 0;

	seed = 42;
	nleft = nright = 0;
	for (int i = 0; i < s->events; i++) {
		const uint32_t name = (uint32_t)below(s->names);
		const int at = (int)((int64_t)i * 100 / s->events);

		ts += 1 + (int64_t)below(2 * s->gap);
		if (!s->drop || below(100) >= (uint64_t)s->drop)
			put(s, false, ts, name);
		if (at >= s->from && at < (s->to ? s->to : 100) &&
		    (!s->drop || below(100) >= (uint64_t)s->drop))
			put(s, true, ts, name);
	}
	for (int i = 0; i < s->events * s->extra / 100; i++) {
		put(s, false, (int64_t)below((uint64_t)ts), (uint32_t)below(s->names));
		put(s, true, (int64_t)below((uint64_t)ts), (uint32_t)below(s->names));
	}
	qsort(left, nleft, sizeof(*left), by_time);
	qsort(right, nright, sizeof(*right), by_time);
}

static enum align_verdict find(const struct scene *s, struct align_fit *fit)
{
	const struct align_input in = {
		.a = left, .b = right, .na = nleft, .nb = nright, .names = s->names
	};

	return align_find(&in, fit);
}

/*
 * The line that was found maps the right trace's times to within `near` ns of the left one's, all
 * over the run. right = t + offset + t * ppm / 10^6.
 */
static void expect_line(const struct scene *s, int64_t near)
{
	struct align_fit fit;
	int64_t end;

	play(s);
	end = left[nleft - 1].ts;
	assert_int_equal(find(s, &fit), ALIGN_CERTAIN);
	for (int i = s->from; i <= (s->to ? s->to : 100); i += 10) {
		const int64_t t = end / 100 * i;
		const int64_t own = t + s->offset + (int64_t)((i128)t * s->drift / 1000000);
		const int64_t apart = clock_map_ts(&fit.map, own) - t;

		if (apart > near || apart < -near)
			fail_msg("at %d %%: off by %lld ns", i, (long long)apart);
	}
	assert_true(fit.events >= 5);
	assert_true(fit.residual <= (int64_t)(2 * s->noise + 2));
	assert_true(fit.error >= fit.residual);
}

static void test_exact(void **state)
{
	const struct scene s = {
		.events = 100000, .names = 20, .gap = 10000, .offset = 123456789, .drift = 50
	};
	struct align_fit fit;
	int64_t trillionths;

	(void)state;
	expect_line(&s, 2);
	find(&s, &fit);
	/* The left clock is slower by 50 ppm of the right one's rate, to 1 ns a second. */
	trillionths = clock_drift_trillionths(fit.map.drift);
	assert_in_range(-trillionths, 49997500 - 1000, 49997500 + 1000);
	assert_int_equal(fit.events, 100000);
	assert_int_equal(fit.rejected, 0);
}

static void test_noise(void **state)
{
	(void)state;
	/* No drift is made of noise: 2 ms are too short to see 0 ppm or 40. */
	expect_line(&(struct scene){ .events = 200,
				     .names = 5,
				     .gap = 10000,
				     .noise = 1000,
				     .offset = -1000000 },
		    600);
	expect_line(&(struct scene){ .events = 20000,
				     .names = 20,
				     .gap = 10000,
				     .noise = 1000,
				     .offset = -123456789,
				     .drift = -50 },
		    60);
	expect_line(&(struct scene){ .events = 20000,
				     .names = 20,
				     .gap = 100000,
				     .noise = 500,
				     .offset = 1,
				     .drift = 5000 },
		    60);
}

static void test_missing(void **state)
{
	(void)state;
	expect_line(&(struct scene){ .events = 30000,
				     .names = 20,
				     .gap = 10000,
				     .noise = 500,
				     .drop = 30,
				     .offset = 5000000000,
				     .drift = 50 },
		    60);
	expect_line(&(struct scene){ .events = 30000,
				     .names = 20,
				     .gap = 10000,
				     .noise = 500,
				     .drop = 30,
				     .extra = 50,
				     .offset = 5000000000,
				     .drift = 50 },
		    100);
	/* One name, as often as a few times the noise. */
	expect_line(&(struct scene){ .events = 30000,
				     .names = 1,
				     .gap = 10000,
				     .noise = 1000,
				     .drop = 30,
				     .offset = 5000000000,
				     .drift = 50 },
		    200);
	/* The right trace has only a part of the run. */
	expect_line(&(struct scene){ .events = 30000,
				     .names = 20,
				     .gap = 10000,
				     .noise = 500,
				     .offset = -77,
				     .from = 90 },
		    100);
	expect_line(&(struct scene){ .events = 30000,
				     .names = 20,
				     .gap = 10000,
				     .noise = 500,
				     .drop = 10,
				     .offset = -77,
				     .from = 40,
				     .to = 60 },
		    100);
}

static void test_few(void **state)
{
	static const int64_t times[] = { 0, 100000000, 200000000, 350000000, 500000000 };
	struct align_input in = { .a = left, .b = right, .names = 5 };
	struct align_fit fit;

	(void)state;
	for (uint32_t i = 0; i < 5; i++) {
		left[i] = (struct align_event){ .ts = times[i], .name = i };
		right[i] = (struct align_event){ .ts = times[i] - 777, .name = i };
	}
	in.na = in.nb = 5;
	assert_int_equal(align_find(&in, &fit), ALIGN_CERTAIN);
	assert_int_equal(fit.map.shift, 777);
	assert_int_equal(fit.map.drift, 0);
	assert_int_equal(fit.events, 5);
	/* Three could agree by chance; none does if all times are moved. */
	in.na = in.nb = 3;
	assert_int_equal(align_find(&in, &fit), ALIGN_UNCERTAIN);
	in.na = in.nb = 5;
	right[1].ts += 40000000;
	right[2].ts -= 30000000;
	right[3].ts -= 90000000;
	assert_int_equal(align_find(&in, &fit), ALIGN_UNCERTAIN);
	in.nb = 0;
	assert_int_equal(align_find(&in, &fit), ALIGN_UNCERTAIN);
}

static void test_uncertain(void **state)
{
	struct scene s = { .events = 5000, .names = 4, .gap = 10000 };
	struct align_fit fit;

	(void)state;
	/* Two runs that have nothing in common but the names. */
	play(&s);
	for (size_t i = 0; i < nright; i++)
		right[i].ts = (int64_t)below(100000000);
	qsort(right, nright, sizeof(*right), by_time);
	assert_int_equal(find(&s, &fit), ALIGN_UNCERTAIN);
	/* A beat without a mark: each shift by a period is about as good. */
	for (size_t i = 0; i < 1000; i++) {
		left[i] = (struct align_event){ .ts = (int64_t)i * 1000000 };
		right[i] = (struct align_event){ .ts = (int64_t)i * 1000000 + 555 };
	}
	nleft = nright = 1000;
	assert_int_equal(find(&s, &fit), ALIGN_AMBIGUOUS);
	/* All at one time. */
	for (size_t i = 0; i < 1000; i++)
		left[i].ts = right[i].ts = 5;
	assert_int_equal(find(&s, &fit), ALIGN_UNCERTAIN);
}

/*
 * A long beat, in which no slice tells one shift by a period from another: whatever shift is found,
 * the next one is as good, also if `marks` events of other names are on one shift only.
 */
static void expect_beat(size_t beats, uint32_t names, uint32_t marks)
{
	const struct align_input in = { .a = left,
					.b = right,
					.na = beats + marks,
					.nb = beats + marks,
					.names = names + marks };
	struct align_fit fit;

	seed = 11;
	for (size_t i = 0; i < beats; i++)
		left[i] = (struct align_event){ .ts = (int64_t)i * 1000,
						.name = (uint32_t)(i % names) };
	for (uint32_t i = 0; i < marks; i++)
		left[beats + i] = (struct align_event){ .ts = (int64_t)below(beats * 1000),
							.name = names + i };
	qsort(left, beats + marks, sizeof(*left), by_time);
	for (size_t i = 0; i < beats + marks; i++) {
		right[i] = left[i];
		right[i].ts += 777;
	}
	if (align_find(&in, &fit) == ALIGN_CERTAIN)
		fail_msg("%zu beats of %u names, %u marks: certain of %lld", beats, names, marks,
			 (long long)fit.map.shift);
}

static void test_beat(void **state)
{
	(void)state;
	expect_beat(5000, 1, 0);
	expect_beat(5000, 7, 0);
	expect_beat(30000, 1, 0);
	expect_beat(30000, 300, 0);
	expect_beat(5000, 1, 1);
	expect_beat(5000, 1, 5);
	expect_beat(5000, 1, 8);
}

/* Whatever the events are, the answer is one of three, and a certain line is a valid one. */
static void test_any(void **state)
{
	(void)state;
	seed = 3;
	for (int k = 0; k < 150; k++) {
		const uint64_t span = (uint64_t)1 << below(61);
		const struct scene s = { .names = 1 + (uint32_t)below(9) };
		struct align_fit fit;

		nleft = 1 + below(200);
		nright = 1 + below(200);
		for (size_t i = 0; i < nleft; i++)
			left[i] = (struct align_event){ (int64_t)below(span),
							(uint32_t)below(s.names) };
		for (size_t i = 0; i < nright; i++) {
			right[i] = (struct align_event){ (int64_t)below(span),
							 (uint32_t)below(s.names) };
			/* Half of the tries have something in common. */
			if (k % 2 && i < nleft)
				right[i] = (struct align_event){ left[i].ts / 3 * 3, left[i].name };
		}
		qsort(left, nleft, sizeof(*left), by_time);
		qsort(right, nright, sizeof(*right), by_time);
		if (find(&s, &fit) != ALIGN_CERTAIN)
			continue;
		assert_true(k % 2);
		assert_in_range(fit.events, 5, nleft);
		assert_true(fit.map.drift <= CLOCK_DRIFT_ONE / 100);
		assert_true(fit.map.drift >= -CLOCK_DRIFT_ONE / 100);
	}
}

/* --- named pairs --- */

static void test_pairs(void **state)
{
	const int64_t second = 1000000000;
	const int64_t b[] = { 0, second, 2 * second, 3 * second };
	int64_t a[] = { 100, second + 50100, 2 * second + 100100, 3 * second + 150100 };
	struct align_fit fit;

	(void)state;
	assert_int_equal(align_pairs(a, b, 1, &fit), ALIGN_CERTAIN);
	assert_int_equal(fit.map.shift, 100);
	assert_int_equal(fit.map.drift, 0);
	assert_int_equal(align_pairs(a, b, 2, &fit), ALIGN_CERTAIN);
	assert_int_equal(clock_map_ts(&fit.map, 0), 100);
	assert_int_equal(clock_map_ts(&fit.map, second), second + 50100);
	assert_int_equal(clock_drift_trillionths(fit.map.drift), 50000000);
	/*
	 * Least squares of y = 0, 50, 100, 250 us (+ 0.1) at x = -1.5, -0.5, 0.5, 1.5 s: the mean
	 * is 100 us, the slope (-1.5 * 0 - 0.5 * 50 + 0.5 * 100 + 1.5 * 250) / 5 = 80 us a second.
	 * The line is off by -20, 10, 40 and -30 us.
	 */
	a[3] += 100000;
	assert_int_equal(align_pairs(a, b, 4, &fit), ALIGN_CERTAIN);
	assert_int_equal(clock_drift_trillionths(fit.map.drift), 80000000);
	assert_int_equal(fit.map.pivot, 3 * second / 2);
	assert_int_equal(fit.map.shift, 100100);
	assert_in_range(fit.error, 39999, 40001);
	assert_in_range(fit.residual, 19999, 20001);
	assert_int_equal(fit.events, 4);
}

static void test_pairs_near(void **state)
{
	/* 7 ns within a microsecond are noise, not 0.7 %. */
	const int64_t a[] = { 1000, 2007 }, b[] = { 0, 1000 }, far[] = { 1000, 2000001000 };
	const int64_t seconds[] = { 0, 1000000000 }, early[] = { INT64_MIN, 0 };
	const int64_t ages[] = { INT64_MIN + 1000, INT64_MAX };
	struct align_fit fit;

	(void)state;
	assert_int_equal(align_pairs(a, b, 2, &fit), ALIGN_CERTAIN);
	assert_int_equal(fit.map.drift, 0);
	assert_in_range(fit.map.shift, 1003, 1004);
	/* Twice as fast: these are not the same events. */
	assert_int_equal(align_pairs(far, seconds, 2, &fit), ALIGN_UNCERTAIN);
	assert_int_equal(align_pairs(far, early, 1, &fit), ALIGN_UNCERTAIN);
	assert_int_equal(align_pairs(ages, ages, 2, &fit), ALIGN_UNCERTAIN);
	assert_int_equal(align_pairs(ages, ages, 1, &fit), ALIGN_CERTAIN);
	assert_int_equal(fit.map.shift, 0);
}

/* --- memory, words --- */

static void test_memory(void **state)
{
	const struct scene s = { .events = 100, .names = 5, .gap = 10000 };
	struct align_fit fit;

	(void)state;
	play(&s);
	for (uint64_t n = 1; n <= 6; n++) {
		mem_fail_at(n);
		assert_int_equal(find(&s, &fit), ALIGN_NO_MEMORY);
		mem_fail_at(0);
	}
	for (uint64_t n = 1; n <= 3; n++) {
		const int64_t times[] = { 1, 2 };

		mem_fail_at(n);
		assert_int_equal(align_pairs(times, times, 2, &fit), ALIGN_NO_MEMORY);
		mem_fail_at(0);
	}
	assert_int_equal(find(&s, &fit), ALIGN_CERTAIN);
}

static void test_items(void **state)
{
	size_t trace;

	(void)state;
	assert_string_equal(align_item("a=b", &trace), "a=b");
	assert_true(trace == SIZE_MAX);
	assert_string_equal(align_item("3:a=b", &trace), "a=b");
	assert_int_equal(trace, 2);
	assert_string_equal(align_item("2:auto", &trace), "auto");
	assert_int_equal(trace, 1);
	assert_string_equal(align_item("0:a=b", &trace), "0:a=b");
	assert_true(trace == SIZE_MAX);
	assert_string_equal(align_item("std::x=y", &trace), "std::x=y");
	assert_string_equal(align_item("99999999999999999999:a=b", &trace),
			    "99999999999999999999:a=b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_map),	   cmocka_unit_test(test_map_numbers),
		cmocka_unit_test(test_exact),	   cmocka_unit_test(test_noise),
		cmocka_unit_test(test_missing),	   cmocka_unit_test(test_few),
		cmocka_unit_test(test_uncertain),  cmocka_unit_test(test_beat),
		cmocka_unit_test(test_any),	   cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_pairs_near), cmocka_unit_test(test_memory),
		cmocka_unit_test(test_items),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
