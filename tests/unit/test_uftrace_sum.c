/*
 * Calls that the reader sums itself (model/sink.h): random recordings give the same sums as by
 * rows, also where records are lost, out of order, of wrong depths or too deep, and where classes
 * share a head.
 */
#include "unit/uftrace_random.h"

#include "format/format.h"
#include "model/sink.h"
#include "pass/fold/calls.h"

enum { RUNS = 120 };

static struct spur_trace *open_dir(uint64_t read_size)
{
	struct spur_options options = SPUR_OPTIONS();
	struct spur_trace *t;
	struct spur_error err;

	options.read_size = read_size;
	if (spur_open(&t, dir, &options, &err) == SPUR_FAIL)
		fail_msg("%s", err.message);
	return t;
}

/* The sums of all calls. The single durations, if they are wanted, keep the reader from summing. */
static struct calls *sums_of(struct spur_trace *t, unsigned want)
{
	struct spur_error err = { 0 };
	struct pass_env env = { .trace = t, .pipe = { .threads = 1 }, .err = &err };
	struct calls *w;
	unsigned n;

	assert_int_equal(calls_run(&env, CALLS_BY_FUNCTION, want, &w, &n), SPUR_OK);
	assert_int_equal(n, 1);
	assert_true(calls_join(w, n));
	return w;
}

static void assert_same(const struct calls *a, const struct calls *b)
{
	const size_t n = a->nstats > b->nstats ? a->nstats : b->nstats;

	assert_int_equal(a->rows, b->rows);
	assert_int_equal(a->nopens, b->nopens);
	for (size_t i = 0; i < n; i++) {
		static const struct call_stat none;
		struct call_stat x = i < a->nstats ? a->stats[i] : none;
		struct call_stat y = i < b->nstats ? b->stats[i] : none;

		x.track = y.track = x.spread = y.spread = x.open = y.open = 0;
		assert_memory_equal(&x, &y, sizeof(x));
	}
	for (size_t i = 0; i < a->nopens; i++) {
		struct call_open x = a->opens[i], y = b->opens[i];

		x.spread = y.spread = 0;
		assert_memory_equal(&x, &y, sizeof(x));
	}
}

static void put_overloads(void)
{
	put_basics("exename:/bin/prog\n");
	put_text("prog.sym",
		 "# symbols: 4\n# path name: /bin/prog\n"
		 "0000000000001000 00000100 T main\n0000000000001100 00000100 T _Z4worki\n"
		 "0000000000001200 00000100 T _Z4workc\n0000000000001300 00000010 P free\n");
}

static void same_as_by_rows(void **state)
{
	static const uint64_t sizes[] = { 0, 0, 1, 7, 4096 };
	const unsigned runs = getenv("SANITIZED") ? RUNS / 10 : RUNS;

	(void)state;
	put_overloads();
	for (unsigned i = 0; i < runs; i++) {
		const uint64_t size = sizes[i % (sizeof(sizes) / sizeof(sizes[0]))];
		struct spur_trace *by_sums, *by_rows;
		struct calls *sums, *rows;

		put_random("1.dat", i % 4 ? 40 * (i % 6) : 0, i % 7 ? 12 : 700);
		by_sums = open_dir(size);
		by_rows = open_dir(size);
		sums = sums_of(by_sums, 0);
		rows = sums_of(by_rows, CALLS_SPREAD);
		assert_same(sums, rows);
		assert_int_equal(by_sums->read.records, by_rows->read.records);
		assert_int_equal(by_sums->read.discarded, by_rows->read.discarded);
		calls_free(sums, 1);
		calls_free(rows, 1);
		spur_close(by_sums);
		spur_close(by_rows);
	}
}

/* Records of the file that become rows if there is a sink. */
static unsigned rows_with_sink(void)
{
	struct spur_trace *t = open_dir(0);
	struct call_sink *sink = mem_alloc(sizeof(*sink));
	struct spur_event rows[BATCH_ROWS];
	unsigned n = 0;
	uint64_t summed = 0;

	for (;;) {
		struct batch b = { .rows = rows, .cap = BATCH_ROWS };

		/* The first record is a row; nothing is open in the sink before it. */
		b.sink = n ? sink : NULL;
		b.cap = n ? BATCH_ROWS : 1;
		if (t->format->next(t, t->feeds[0], &b) != SPUR_OK)
			break;
		if (!n) {
			assert_true(sink_room(sink, t, rows[0].cls));
			sink_push(sink, rows[0].cls, rows[0].ts, 0);
		}
		n += b.count;
		summed += b.summed;
	}
	assert_false(sink_room(sink, t, SINK_CLASSES));
	assert_int_equal(sink->rows, summed);
	assert_int_equal(n + summed, RECORDS);
	assert_int_equal(t->read.records, RECORDS);
	sink_clear(sink);
	for (size_t i = 0; i < sink->nclasses; i++)
		assert_int_equal(sink->open[i], 0);
	for (size_t i = 0; i <= SINK_DEPTH; i++)
		assert_int_equal(sink->child[i], 0);
	sink_free(sink);
	spur_close(t);
	return n;
}

static void regular_records_make_no_rows(void **state)
{
	(void)state;
	put_overloads();
	put_random("1.dat", 0, 12);
	assert_int_equal(rows_with_sink(), 1);
}

/* work(int) calls work(char): recursion of what tables show as one function. */
static void heads_are_shared(void **state)
{
	struct spur_trace *t;
	struct calls *w;
	uint64_t inner = 0;

	(void)state;
	put_overloads();
	rec(100, ENTRY, 0, MAIN + 4);
	for (unsigned i = 1; i <= 100; i++) {
		rec(i * 1000, ENTRY, 1, WORK + 4);
		rec(i * 1000 + 10, ENTRY, 2, LEAF + 4);
		rec(i * 1000 + 15, EXIT, 2, LEAF + 4);
		rec(i * 1000 + 20, EXIT, 1, WORK + 4);
	}
	rec(200000, EXIT, 0, MAIN + 4);
	dat_write("1.dat");
	t = open_dir(0);
	w = sums_of(t, 0);
	for (size_t i = 0; i < w->nstats; i++)
		inner += w->stats[i].inner;
	assert_int_equal(inner, 500);
	calls_free(w, 1);
	spur_close(t);
}

/* Allocations that fail, and all after them: the sums are complete, or it is known. */
static void failures_are_known(void **state)
{
	struct spur_trace *whole;
	struct calls *want;
	bool good = false;

	(void)state;
	put_overloads();
	put_random("1.dat", 60, 12);
	whole = open_dir(0);
	want = sums_of(whole, 0);
	for (uint64_t n = 1; !good && n < 1000; n++) {
		struct spur_trace *t = open_dir(0);
		struct spur_error err = { 0 };
		struct pass_env env = { .trace = t, .pipe = { .threads = 1 }, .err = &err };
		const uint64_t failures = mem_failures();
		struct calls *w = NULL;
		unsigned workers = 0;

		mem_fail_at(n);
		good = calls_run(&env, CALLS_BY_FUNCTION, 0, &w, &workers) == SPUR_OK &&
		       calls_join(w, workers) && mem_failures() == failures;
		mem_fail_at(0);
		if (good)
			assert_same(w, want);
		calls_free(w, workers);
		spur_close(t);
	}
	assert_true(good);
	calls_free(want, 1);
	spur_close(whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(same_as_by_rows, dir_make, dir_remove),
		cmocka_unit_test_setup_teardown(regular_records_make_no_rows, dir_make, dir_remove),
		cmocka_unit_test_setup_teardown(heads_are_shared, dir_make, dir_remove),
		cmocka_unit_test_setup_teardown(failures_are_known, dir_make, dir_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
