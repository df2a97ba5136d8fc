/*
 * diff: the rank test against all ways to deal durations out and against counted pairs, durations
 * from spreads, the pairing of functions, and saved reports.
 */
#include "fake.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "pass/diff/join.h"

enum { MANY = 400 };

/* --- durations */

static struct dist *dist_of(struct arena *a, const uint64_t *values, size_t n)
{
	struct spread s = { 0 };
	struct dist *d;

	for (size_t i = 0; i < n; i++)
		assert_true(spread_add(&s, values[i]));
	d = dist_new(a, &s);
	assert_non_null(d);
	assert_int_equal(d->count, n);
	spread_free(&s);
	return d;
}

/* Twice the rank of values[i] among all n: values below it count twice, equal ones once. */
static int rank2(const uint64_t *values, size_t n, size_t i)
{
	int rank = 1;

	for (size_t k = 0; k < n; k++)
		rank += values[k] < values[i] ? 2 : values[k] == values[i];
	return rank;
}

/* The share of all choices of `na` of the n values that are as far from the mean, one by one. */
static double p_of_all_choices(const uint64_t *values, size_t n, size_t na)
{
	const int middle = (int)(na * (n + 1));
	unsigned all = 0, beyond = 0;
	int seen = 0;

	for (size_t i = 0; i < na; i++)
		seen += rank2(values, n, i);
	for (unsigned mask = 0; mask < 1u << n; mask++) {
		int sum = 0;

		if ((size_t)__builtin_popcount(mask) != na)
			continue;
		for (size_t i = 0; i < n; i++)
			sum += mask >> i & 1 ? rank2(values, n, i) : 0;
		all++;
		beyond += abs(sum - middle) >= abs(seen - middle);
	}
	return (double)beyond / all;
}

static void few_durations(void **state)
{
	struct arena a;

	(void)state;
	arena_init(&a);
	srand(7);
	for (int round = 0; round < 60; round++) {
		const size_t n = 2 + (size_t)rand() % 9, na = 1 + (size_t)rand() % (n - 1);
		const unsigned range = round % 2 ? 4 : 1000;
		uint64_t values[10];
		struct dist_change c;

		for (size_t i = 0; i < n; i++)
			values[i] = (uint64_t)rand() % range;
		c = dist_compare(dist_of(&a, values, na), dist_of(&a, values + na, n - na));
		assert_true(fabs(c.p - p_of_all_choices(values, n, na)) < 1e-12);
	}
	arena_free(&a);
}

/* Hollander and Wolfe's permeability constants, whose one-sided p is 0.1272 and W 35. */
static void published(void **state)
{
	static const uint64_t x[] = { 80, 83, 189, 104, 145, 138, 191, 164, 73, 146 },
			      y[] = { 115, 88, 90, 74, 121 };
	struct dist_change c;
	struct arena a;

	(void)state;
	arena_init(&a);
	c = dist_compare(dist_of(&a, x, 10), dist_of(&a, y, 5));
	assert_true(fabs(c.p - 0.2544) < 0.0001);
	assert_int_equal(c.sign, -1);
	c = dist_compare(dist_of(&a, y, 5), dist_of(&a, x, 10));
	assert_true(fabs(c.p - 0.2544) < 0.0001);
	assert_int_equal(c.sign, 1);
	arena_free(&a);
}

/* The normal approximation from pairs that are counted one by one; values as they are compared. */
static double p_of_pairs(const uint64_t *x, size_t n, const uint64_t *y, size_t m, int *sign)
{
	double u = 0, ties = 0, variance, z;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < m; k++)
			u += y[k] > x[i] ? 1 : y[k] == x[i] ? 0.5 : 0;
	/* Each value of a tie of t adds t^2 - 1, which makes t^3 - t. */
	for (size_t i = 0; i < n + m; i++) {
		const uint64_t v = i < n ? x[i] : y[i - n];
		double t = 0;

		for (size_t k = 0; k < n + m; k++)
			t += (k < n ? x[k] : y[k - n]) == v;
		ties += t * t - 1;
	}
	variance = (double)(n * m) / 12 *
		   ((double)(n + m + 1) - ties / ((double)(n + m) * (double)(n + m - 1)));
	*sign = u > (double)(n * m) / 2 ? 1 : u < (double)(n * m) / 2 ? -1 : 0;
	z = (fabs(u - (double)(n * m) / 2) - 0.5) / sqrt(variance);
	return z > 0 && variance > 0 ? erfc(z / sqrt(2)) : 1;
}

/* Up to 64 durations are exact; with one more the steps of a histogram count on both sides. */
static void many_durations(void **state)
{
	static const size_t sizes[][2] = { { 10, 11 }, { 64, 64 },     { 65, 3 },
					   { 3, 65 },  { MANY, MANY }, { 1, MANY } };
	uint64_t x[MANY], y[MANY];
	struct arena a;

	(void)state;
	arena_init(&a);
	srand(11);
	for (size_t round = 0; round < 36; round++) {
		const size_t n = sizes[round % 6][0], m = sizes[round % 6][1];
		const uint64_t range = round % 4 ? 5000 : 5, shift = round % 3 * range / 8;
		struct dist_change c;
		int sign;

		for (size_t i = 0; i < n; i++)
			x[i] = (uint64_t)rand() % range;
		for (size_t i = 0; i < m; i++)
			y[i] = (uint64_t)rand() % range + shift;
		c = dist_compare(dist_of(&a, x, n), dist_of(&a, y, m));
		for (size_t i = 0; i < n && (n > 64 || m > 64); i++)
			x[i] = spread_bin(x[i]);
		for (size_t i = 0; i < m && (n > 64 || m > 64); i++)
			y[i] = spread_bin(y[i]);
		assert_true(fabs(c.p - p_of_pairs(x, n, y, m, &sign)) < 1e-9);
		assert_int_equal(c.sign, sign);
	}
	arena_free(&a);
}

static void equal_durations(void **state)
{
	uint64_t same[MANY];
	struct dist_change c;
	struct arena a;

	(void)state;
	arena_init(&a);
	for (size_t i = 0; i < MANY; i++)
		same[i] = 7;
	c = dist_compare(dist_of(&a, same, MANY), dist_of(&a, same, 3));
	assert_true(c.p == 1 && c.sign == 0);
	c = dist_compare(dist_of(&a, same, 1), dist_of(&a, same, 1));
	assert_true(c.p == 1 && c.sign == 0);
	arena_free(&a);
}

struct listed {
	uint64_t values[MANY], times[MANY];
	size_t n;
};

static bool list_value(void *self, uint64_t value, uint64_t times)
{
	struct listed *l = self;

	l->values[l->n] = value;
	l->times[l->n++] = times;
	return true;
}

/* Steps are 1/64 of an octave wide and stand for their middle. */
static void spread_in_order(void **state)
{
	struct spread few = { 0 }, many = { 0 };
	struct listed l = { .n = 0 };

	(void)state;
	for (uint64_t i = 0; i < 64; i++)
		assert_true(spread_add(&few, (63 - i) / 2 * 1000003));
	assert_true(spread_each(&few, list_value, &l));
	assert_int_equal(l.n, 32);
	for (size_t i = 0; i < 32; i++)
		assert_true(l.values[i] == i * 1000003 && l.times[i] == 2);
	l.n = 0;
	for (uint64_t i = 0; i < 1000; i++)
		assert_true(spread_add(&many, i < 500 ? 127 : i < 900 ? 128 + i % 2 : 4096));
	assert_true(spread_each(&many, list_value, &l));
	assert_int_equal(l.n, 3);
	assert_true(l.values[0] == 127 && l.times[0] == 500);
	assert_true(l.values[1] == 129 && l.times[1] == 400);
	assert_true(l.values[2] == 4096 + 32 && l.times[2] == 100);
	assert_int_equal(spread_bin(127), 127);
	assert_int_equal(spread_bin(128), 129);
	assert_int_equal(spread_bin(4159), 4096 + 32);
	spread_free(&few);
	spread_free(&many);
}

/* --- functions */

static void add(struct diff_side *s, const char *name, const char *module, const char *cat,
		uint64_t calls)
{
	const struct group g = { .name = name,
				 .name_len = strlen(name),
				 .module = module,
				 .module_len = strlen(module),
				 .cat = cat,
				 .cat_len = strlen(cat) };
	struct diff_line *line = diff_side_add(s, &g);

	assert_non_null(line);
	diff_value_set(&line->values, DIFF_CALLS, calls);
}

/* The rows as "name/module/cat:A-B ", numbers of calls, 0 if the input lacks the function. */
static void expect_pairs(const struct diff_side *sides, const char *text)
{
	struct diff_join j = { 0 };
	struct out o;

	out_to_memory(&o);
	assert_true(diff_join_functions(&j, sides));
	for (size_t i = 0; i < j.n; i++) {
		const struct group *g = &j.groups.items[j.rows[i].func];
		const struct diff_values *const *of = j.rows[i].of;

		out_printf(&o, "%s/%s/%s%s:%llu-%llu ", g->name, g->module, g->cat,
			   g->shared_name ? "*" : "",
			   (unsigned long long)(of[0] ? of[0]->of[DIFF_CALLS] : 0),
			   (unsigned long long)(of[1] ? of[1]->of[DIFF_CALLS] : 0));
	}
	out_char(&o, '\0');
	assert_string_equal(o.buf, text);
	out_free(&o);
	diff_join_free(&j);
}

static void pairs(void **state)
{
	struct diff_side s[2] = { 0 };

	(void)state;
	diff_side_init(&s[0]);
	diff_side_init(&s[1]);
	/* Another name of the program; a directory that moved. */
	add(&s[0], "main", "/old/prog-1", "", 1);
	add(&s[1], "main", "/new/prog-2", "", 2);
	add(&s[0], "init", "/old/liba.so", "", 3);
	add(&s[0], "init", "/old/prog-1", "", 4);
	add(&s[1], "init", "/new/prog-2", "", 5);
	add(&s[1], "init", "/new/liba.so", "", 6);
	/* Two are left on one side: which of them is meant is open. */
	add(&s[0], "run", "x", "", 7);
	add(&s[1], "run", "y", "", 8);
	add(&s[1], "run", "z", "", 9);
	/* Categories. */
	add(&s[1], "tick", "", "net", 10);
	add(&s[0], "tick", "", "disk", 11);
	add(&s[1], "tick", "", "disk", 12);
	add(&s[0], "only", "", "", 13);
	expect_pairs(s, "init//new/liba.so/*:3-6 init//new/prog-2/*:4-5 main//new/prog-2/:1-2 "
			"only//:13-0 run/x/*:7-0 run/y/*:0-8 run/z/*:0-9 tick//disk*:11-12 "
			"tick//net*:0-10 ");
	diff_side_free(&s[0]);
	diff_side_free(&s[1]);
}

static void nothing(void **state)
{
	struct diff_side s[2] = { 0 };

	(void)state;
	diff_side_init(&s[0]);
	diff_side_init(&s[1]);
	expect_pairs(s, "");
	add(&s[1], "f", "", "", 1);
	expect_pairs(s, "f//:0-1 ");
	diff_side_free(&s[0]);
	diff_side_free(&s[1]);
}

/* --- saved reports */

static enum spur_status read_saved(struct diff_side *s, const char *text, size_t len,
				   struct spur_error *err)
{
	const struct source_options so = { 0 };
	struct source *source;
	enum spur_status st;

	diff_side_init(s);
	assert_int_equal(source_memory(&source, "a.json", text, len, &so, err), SPUR_OK);
	st = diff_side_saved(s, source, err);
	source_close(source);
	return st;
}

static const char saved_text[] =
	"{\"schema\":1,\"spur\":\"report\",\"by\":\"function\",\"more\":[1,{\"a\":\"]\"}],\n"
	" \"rows\":[\n{\"function\":\"a\\\"\\u00e9\\ud83d\\ude00\\udcff\\n\",\"calls\":3,"
	"\"total\":18446744073709551615,\"self\":5, \"share\":12.5,\"p50\":null},\n"
	"{\"calls\":1,\"function\":\"\",\"module\":\"/m\",\"category\":\"c\",\"avg\":-1}\n]}\n";

static void saved(void **state)
{
	const size_t len = strlen(saved_text);
	struct spur_error err = { 0 };
	struct diff_side s = { 0 };

	(void)state;
	assert_true(diff_saved_is((const uint8_t *)saved_text, len));
	assert_int_equal(read_saved(&s, saved_text, len, &err), SPUR_OK);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.self, 5);
	assert_int_equal(s.lines[0].group.name_len, 10);
	assert_memory_equal(s.lines[0].group.name, "a\"\xc3\xa9\xf0\x9f\x98\x80\xff\n", 10);
	assert_int_equal(s.lines[0].values.known,
			 1 << DIFF_CALLS | 1 << DIFF_TOTAL | 1 << DIFF_SELF);
	assert_true(s.lines[0].values.of[DIFF_TOTAL] == UINT64_MAX);
	assert_string_equal(s.lines[1].group.module, "/m");
	assert_string_equal(s.lines[1].group.cat, "c");
	assert_int_equal(s.lines[1].values.known, 1 << DIFF_CALLS);
	diff_side_free(&s);
}

/* Every cut is an error that names the file and the place. */
static void saved_cut(void **state)
{
	(void)state;
	for (size_t len = 0; len + 2 < strlen(saved_text); len++) {
		char *copy = malloc(len + 1);
		struct spur_error err = { 0 };
		struct diff_side s = { 0 };

		assert_non_null(copy);
		memcpy(copy, saved_text, len);
		assert_int_equal(read_saved(&s, copy, len, &err), SPUR_FAIL);
		assert_int_equal(err.code, SPUR_ERR_FORMAT);
		assert_memory_equal(err.message, "a.json:0x", 9);
		diff_side_free(&s);
		free(copy);
	}
}

static void saved_wrong(void **state)
{
	static const char *const texts[][2] = {
		{ "{\"schema\":1,\"spur\":\"stats\"}", "another command's" },
		{ "{\"schema\":1,\"spur\":\"report\",\"by\":\"task\",\"rows\":[]}", "by function" },
		{ "{\"schema\":1,\"spur\":\"report\"}", "\"rows\"" },
		{ "{\"schema\":1,\"rows\":[{\"calls\":1}]}", "\"function\"" },
		{ "{\"schema\":1,\"rows\":[{\"function\":\"\\x\"}]}", "an escape" },
		{ "{\"schema\":1,\"rows\":[{\"function\":\"\\ud800x\"}]}", "surrogate" },
		{ "{\"schema\":1,\"rows\":[{\"function\":1}]}", "a string" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct spur_error err = { 0 };
		struct diff_side s = { 0 };

		assert_int_equal(read_saved(&s, texts[i][0], strlen(texts[i][0]), &err), SPUR_FAIL);
		assert_non_null(strstr(err.message, texts[i][1]));
		diff_side_free(&s);
	}
	assert_false(diff_saved_is((const uint8_t *)"{\"a\":1}", 7));
	assert_false(diff_saved_is((const uint8_t *)"", 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_durations),   cmocka_unit_test(published),
		cmocka_unit_test(many_durations),  cmocka_unit_test(equal_durations),
		cmocka_unit_test(spread_in_order), cmocka_unit_test(pairs),
		cmocka_unit_test(nothing),	   cmocka_unit_test(saved),
		cmocka_unit_test(saved_cut),	   cmocka_unit_test(saved_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
