/*
 * report --style=llvm-xray: what counts, ranks, seconds, names, order, and the tally that keeps
 * ranks exact.
 */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>

#include "model/symbol/demangle.h"
#include "pass/fold/calls.h"
#include "unit/any_options.h"

enum { HZ = 1000000 };

static struct spur_trace *ticks_trace(uint64_t hz)
{
	struct spur_trace *t = fake_trace();

	t->clock.hz = hz;
	t->clock.ticks = true;
	return t;
}

static enum spur_status account(struct spur_trace *t, struct any_options opt, unsigned threads,
				struct out *out, struct spur_error *err)
{
	struct pass_env env = {
		.trace = t, .pipe = { .threads = threads },
		ANY_OPTIONS(&opt, "report.llvm-xray"), .out = out, .err = err
	};
	enum spur_status st;

	out_to_memory(out);
	fake_rewind(t);
	st = pass_run(pass_find("report", "llvm-xray"), &env);
	out_char(out, '\0');
	return st;
}

static void expect(struct spur_trace *t, struct any_options opt, const char *text)
{
	for (unsigned threads = 1; threads <= 3; threads++) {
		struct spur_error err;
		struct out out;

		assert_int_equal(account(t, opt, threads, &out, &err), SPUR_OK);
		assert_string_equal(out.buf, text);
		out_free(&out);
	}
}

static struct spur_event call(unsigned kind, int64_t ts, uint32_t cls, uint32_t track)
{
	return (struct spur_event){
		.kind = (uint8_t)kind, .ts = ts, .cls = cls, .track = track, .id = 10 + cls
	};
}

#define B(t_, c_, k_) call(SPUR_BEGIN, t_, c_, k_)
#define E(t_, c_, k_) call(SPUR_END_SPAN, t_, c_, k_)
#define ROWS(a) (a), sizeof(a) / sizeof(*(a))
#define HEAD(n)                                                                                    \
	"Functions with latencies: " n "\n   funcid      count [      min,       med,       90p, " \
	"      99p,       max]       sum  function    \n"

/*
 * Tested: SPEC xray/account-calls, SPEC xray/account-text, SPEC xray/account-csv,
 * SPEC xray/account-seconds
 */
static void two_threads(void **state)
{
	struct spur_trace *t = ticks_trace(HZ);
	uint32_t k = fake_track(t, "a", 1, 1), k2 = fake_track(t, "b", 1, 2),
		 f = fake_class(t, "main", ""), g = fake_class(t, "_ZN2ns4workEiPKc", "");
	/* ns::work calls itself; main and the last call of the second thread never end. */
	struct spur_event one[] = { B(100, f, k),  B(1000, g, k),    B(1500, g, k),   E(1600, g, k),
				    E(4000, g, k), B(9000000, g, k), E(9000001, g, k) };
	struct spur_event two[] = { E(5, g, k2), B(10, g, k2), E(2000010, g, k2),
				    B(2000020, g, k2) };
	struct fake_feed feeds[2];

	(void)state;
	fake_feed(t, &feeds[0], ROWS(one));
	fake_feed(t, &feeds[1], ROWS(two));
	expect(t, (struct any_options){ 0 },
	       HEAD("1") "       12          4 [ 0.000001,  0.003000,  2.000000,  2.000000,  "
			 "2.000000]  2.003101  <invalid>:0:0: ns::work(int, char const*)\n");
	expect(t, (struct any_options){ .form = FORM_CSV, .demangle = DEMANGLE_NONE },
	       "funcid,count,min,median,90%ile,99%ile,max,sum,debug,function\n"
	       "12,4,1.000000e-06,3.000000e-03,2.000000e+00,2.000000e+00,2.000000e+00,2.003101e+00,"
	       "\"<invalid>:0:0\",\"_ZN2ns4workEiPKc\"\n");
	t->clock.hz = 0;
	expect(t, (struct any_options){ 0 },
	       HEAD("1") "       12          4 [ 1.000000, 3000.000000, 2000000.000000, "
			 "2000000.000000, "
			 "2000000.000000] 2003101.000000  <invalid>:0:0: ns::work(int, char "
			 "const*)\n");
	t->clock.hz = HZ;
	t->clock.ticks = false;
	expect(t, (struct any_options){ .form = FORM_CSV, .demangle = DEMANGLE_NONE },
	       "funcid,count,min,median,90%ile,99%ile,max,sum,debug,function\n"
	       "12,4,1.000000e-09,3.000000e-06,2.000000e-03,2.000000e-03,2.000000e-03,2.003101e-03,"
	       "\"<invalid>:0:0\",\"_ZN2ns4workEiPKc\"\n");
	spur_close(t);
}

/* An END below the top ends what is inside at its own time. */
static void implied_ends(void **state)
{
	struct spur_trace *t = ticks_trace(1);
	uint32_t k = fake_track(t, "a", 1, 1), f = fake_class(t, "f", ""),
		 g = fake_class(t, "g", "");
	struct spur_event rows[] = { FAKE_BD(1, f, k, 0), FAKE_BD(3, g, k, 1),
				     FAKE_ED(10, f, k, 0) };
	struct fake_feed feed;

	(void)state;
	fake_feed(t, &feed, ROWS(rows));
	expect(t, (struct any_options){ .sort = "-func" },
	       HEAD("2") "        0          1 [ 7.000000,  7.000000,  7.000000,  7.000000,  "
			 "7.000000]  "
			 "7.000000  <invalid>:0:0: g\n"
			 "        0          1 [ 9.000000,  9.000000,  9.000000,  9.000000,  "
			 "9.000000]  "
			 "9.000000  <invalid>:0:0: f\n");
	spur_close(t);
}

static uint32_t named(struct spur_trace *t, struct event_class c, const char *name,
		      const char *file)
{
	c.name = c.raw = trace_intern(t, name);
	c.file = trace_intern(t, file);
	return trace_add_class(t, &c);
}

static void names(void **state)
{
	struct spur_trace *t = ticks_trace(1);
	uint32_t k = fake_track(t, "a", 1, 1), cls[4];
	struct spur_event rows[8];
	struct fake_feed feed;

	(void)state;
	cls[0] = named(t, (struct event_class){ .line = 7 }, "oper\"\" \n", "src/a\"b.c");
	cls[1] = named(t,
		       (struct event_class){ .flags = CLASS_UNKNOWN, .addr = 0x401c, .module = 1 },
		       "x", "");
	cls[2] = named(t, (struct event_class){ .flags = CLASS_UNKNOWN, .addr = 13 }, "y", "");
	cls[3] = named(t, (struct event_class){ 0 }, "", "");
	for (unsigned i = 0; i < 4; i++) {
		rows[2 * i] = B(10 * i, cls[i], k);
		rows[2 * i + 1] = E(10 * i + 2 * i, cls[i], k);
	}
	fake_feed(t, &feed, ROWS(rows));
	expect(t, (struct any_options){ .limit = 3 },
	       HEAD("4") "       11          1 [ 0.000000,  0.000000,  0.000000,  0.000000,  "
			 "0.000000]  "
			 "0.000000  a\"b.c:7:0: oper\"\" \\n\n"
			 "       12          1 [ 2.000000,  2.000000,  2.000000,  2.000000,  "
			 "2.000000]  "
			 "2.000000  <invalid>:0:0: @(401c)\n"
			 "       13          1 [ 4.000000,  4.000000,  4.000000,  4.000000,  "
			 "4.000000]  "
			 "4.000000  (unknown): #13\n");
	expect(t, (struct any_options){ .form = FORM_CSV, .sort = "count,-sum", .limit = 2 },
	       "funcid,count,min,median,90%ile,99%ile,max,sum,debug,function\n"
	       "14,1,6.000000e+00,6.000000e+00,6.000000e+00,6.000000e+00,6.000000e+00,6.000000e+00,"
	       "\"<invalid>:0:0\",\"\"\n"
	       "13,1,4.000000e+00,4.000000e+00,4.000000e+00,4.000000e+00,4.000000e+00,4.000000e+00,"
	       "\"(unknown)\",\"#13\"\n");
	expect(t, (struct any_options){ .form = FORM_CSV, .sort = "min", .limit = 1 },
	       "funcid,count,min,median,90%ile,99%ile,max,sum,debug,function\n"
	       "11,1,0.000000e+00,0.000000e+00,0.000000e+00,0.000000e+00,0.000000e+00,0.000000e+00,"
	       "\"a\"\"b.c:7:0\",\"oper\"\"\"\" \n\"\n");
	spur_close(t);
}

static void refuses(void **state)
{
	static const struct any_options wrong[] = { { .by = "task" },
						     { .task = true },
						     { .form = FORM_JSON },
						     { .fields = "sum" },
						     { .sort = "total" } };
	struct spur_trace *t = ticks_trace(1);
	struct spur_error err;
	struct out out;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		assert_int_equal(account(t, wrong[i], 1, &out, &err), SPUR_FAIL);
		assert_int_equal(err.code, SPUR_ERR_USAGE);
		out_free(&out);
	}
	assert_int_equal(account(t, (struct any_options){ 0 }, 1, &out, &err), SPUR_WARN);
	assert_string_equal(out.buf, HEAD("0"));
	out_free(&out);
	spur_close(t);
}

static int u64_order(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

enum { RANK_CALLS = 90000, RANK_THREADS = 3, RANK_ALL = RANK_CALLS * RANK_THREADS };

static bool near(unsigned long long found, uint64_t exact)
{
	return (found > exact ? found - exact : exact - found) <= exact / 128;
}

static void check_ranks(const struct out *out, const uint64_t *l, bool exact)
{
	const char *line = strchr(strchr(out->buf, '\n') + 1, '\n') + 1;
	unsigned long long med, p90, p99;

	assert_int_equal(
		sscanf(line, "%*u 270000 [%*f, %llu.000000, %llu.000000, %llu.", &med, &p90, &p99),
		3);
	assert_true(near(med, l[RANK_ALL / 2]) && near(p90, l[243000]) && near(p99, l[267300]));
	if (exact)
		assert_true(med == l[RANK_ALL / 2] && p90 == l[243000] && p99 == l[267300]);
}

/* Durations below `below`, on threads of one call each time. */
static void ranks_below(uint64_t below, bool exact)
{
	static struct spur_event rows[RANK_THREADS][2 * RANK_CALLS];
	static uint64_t lengths[RANK_ALL];
	struct spur_trace *t = ticks_trace(1);
	uint32_t f = fake_class(t, "f", "");
	struct fake_feed feeds[RANK_THREADS];
	struct spur_error err;
	struct out out, first;
	size_t n = 0;

	for (unsigned k = 0; k < RANK_THREADS; k++) {
		const uint32_t track = fake_track(t, "", 1, k);
		int64_t now = 0;

		for (unsigned i = 0; i < RANK_CALLS; i++) {
			lengths[n] = ((n + 1) * 2654435761u >> 7) % below;
			rows[k][2 * i] = B(now, f, track);
			now += (int64_t)lengths[n++];
			rows[k][2 * i + 1] = E(now, f, track);
		}
		fake_feed(t, &feeds[k], ROWS(rows[k]));
	}
	qsort(lengths, n, sizeof(uint64_t), u64_order);
	account(t, (struct any_options){ 0 }, 1, &first, &err);
	check_ranks(&first, lengths, exact);
	for (unsigned threads = 2; threads <= RANK_THREADS; threads++) {
		account(t, (struct any_options){ 0 }, threads, &out, &err);
		assert_string_equal(out.buf, first.buf);
		out_free(&out);
	}
	out_free(&first);
	spur_close(t);
}

/*
 * Tested: SPEC xray/account-ranks, against the sorted list; beyond what the tally holds by the
 * histogram.
 */
static void ranks(void **state)
{
	(void)state;
	ranks_below(20011, true);
	ranks_below(1000003, false);
}

static bool add_up(void *self, uint64_t value, uint64_t times)
{
	uint64_t *sums = self;

	sums[0] += times;
	sums[1] += value * times;
	return true;
}

static void tally(void **state)
{
	struct tally t = { 0 };
	uint64_t sums[2] = { 0 }, times = 3 * tally_count_max + 5;

	(void)state;
	/* One value more often than a slot counts, then as many values as it holds. */
	assert_int_equal(tally_add(&t, 500, &times), TALLY_OK);
	assert_int_equal(times, 0);
	assert_int_equal(t.used, 4);
	for (uint64_t v = 0; t.used < TALLY_MOST; v++) {
		times = 1;
		assert_int_equal(tally_add(&t, v, &times), TALLY_OK);
	}
	times = 2;
	assert_int_equal(tally_add(&t, 1000000, &times), TALLY_FULL);
	assert_int_equal(times, 2);
	assert_int_equal(tally_add(&t, 500, &times), TALLY_OK);
	times = tally_count_max;
	assert_int_equal(tally_add(&t, 500, &times), TALLY_FULL);
	assert_int_equal(times, 8);
	times = 1;
	assert_int_equal(tally_add(&t, UINT64_C(1) << 40, &times), TALLY_FULL);
	assert_true(tally_each(&t, add_up, sums));
	assert_int_equal(sums[0], 4 * tally_count_max + 65532);
	assert_int_equal(tally_at(&t, 499), 499);
	assert_int_equal(tally_at(&t, 500), 500);
	assert_int_equal(tally_at(&t, 499 + 4 * tally_count_max), 500);
	assert_int_equal(tally_at(&t, 500 + 4 * tally_count_max), 501);
	assert_int_equal(tally_at(&t, 4 * tally_count_max + 65531), 65532);
	assert_int_equal(tally_at(&t, 4 * tally_count_max + 65532), 0);
	tally_free(&t);
	assert_int_equal(tally_at(&t, 0), 0);
	tally_free(&t);
}

/* Spreads of which one is beyond exactness, joined in both orders. */
static void joins(void **state)
{
	enum { PARTS = 4 };
	static const uint64_t sizes[PARTS] = { 10, 100, 1000, 100000 };

	(void)state;
	for (unsigned first = 0; first < PARTS; first++)
		for (unsigned second = 0; second < PARTS; second++) {
			struct spread a = { .exact = true }, b = a, both = a;

			for (uint64_t i = 0; i < sizes[first]; i++)
				assert_true(spread_add(&a, i * 7) && spread_add(&both, i * 7));
			for (uint64_t i = 0; i < sizes[second]; i++)
				assert_true(spread_add(&b, i * 11) && spread_add(&both, i * 11));
			assert_true(spread_join(&a, &b));
			assert_int_equal(a.exact, both.exact);
			assert_int_equal(a.exact, first < 3 && second < 3);
			for (uint64_t r = 0; r <= both.count; r += 1 + both.count / 100)
				assert_int_equal(spread_at(&a, r), spread_at(&both, r));
			spread_free(&a);
			spread_free(&b);
			spread_free(&both);
		}
}

/* Every allocation may fail. */
static void memory(void **state)
{
	struct spur_trace *t = ticks_trace(HZ);
	uint32_t f = fake_class(t, "f", ""), g = fake_class(t, "_Z1gv", "");
	static struct spur_event rows[2][400];
	struct fake_feed feeds[2];
	uint64_t allocations;
	struct spur_error err;
	struct out out;

	(void)state;
	for (uint32_t k = 0; k < 2; k++) {
		const uint32_t track = fake_track(t, "", 1, k);

		for (unsigned i = 0; i < 400; i += 2) {
			rows[k][i] = B(10 * i * i, i % 4 ? f : g, track);
			rows[k][i + 1] = E(10 * i * i + 3 * i, i % 4 ? f : g, track);
		}
		fake_feed(t, &feeds[k], ROWS(rows[k]));
	}
	mem_fail_at(UINT64_MAX);
	assert_int_equal(account(t, (struct any_options){ 0 }, 1, &out, &err), SPUR_OK);
	allocations = mem_count();
	out_free(&out);
	for (uint64_t n = 1; n < allocations; n++) {
		enum spur_status st;

		mem_fail_at(n);
		st = account(t, (struct any_options){ 0 }, 1, &out, &err);
		mem_fail_at(0);
		assert_int_equal(st, SPUR_FAIL);
		out_free(&out);
	}
	spur_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_threads), cmocka_unit_test(implied_ends),
		cmocka_unit_test(names),       cmocka_unit_test(refuses),
		cmocka_unit_test(ranks),       cmocka_unit_test(tally),
		cmocka_unit_test(joins),       cmocka_unit_test(memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
