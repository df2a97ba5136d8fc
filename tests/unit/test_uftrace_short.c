/*
 * Calls that -t drops need no rows (struct batch, short_ns): random recordings give the same with
 * the hint and without it, also where records are lost, out of order, of wrong depths or too deep.
 */
#include "unit/uftrace_random.h"

#include "flow/pipe.h"
#include "format/format.h"

enum { RUNS = 60 };

static struct spur_trace *open_dir(void)
{
	struct spur_trace *t;
	struct spur_error err;

	if (spur_open(&t, dir, NULL, &err) == SPUR_FAIL)
		fail_msg("%s", err.message);
	return t;
}

/* The rows that pass a filter as text, and the number of records read. */
static void filtered(const struct filter_spec *spec, struct out *o, uint64_t *records)
{
	struct spur_trace *t = open_dir();
	struct spur_event *rows;
	struct spur_error err;
	struct filter *f;
	size_t n;

	assert_int_equal(filter_new(&f, t, spec, &err), SPUR_OK);
	for (size_t i = 0; i < t->nfeeds; i++) {
		struct feed_reader *r = feed_reader_new(t, t->feeds[i], f, BATCH_ROWS);

		assert_non_null(r);
		while (feed_reader_next(r, &rows, &n) == SPUR_OK)
			for (size_t k = 0; k < n; k++)
				out_printf(o, "%zu %lld %u %s %u %u %llu\n", i,
					   (long long)rows[k].ts, rows[k].kind,
					   trace_string(t, rows[k].name, NULL), rows[k].depth,
					   rows[k].flags, (unsigned long long)rows[k].off);
		feed_reader_free(r);
	}
	*records = t->read.records;
	filter_free(f);
	spur_close(t);
}

static void same_with_hint(void **state)
{
	static const int64_t times[] = { 1, 50, 300, 2000, 100000 };
	const unsigned runs = getenv("SANITIZED") ? RUNS / 10 : RUNS;

	(void)state;
	put_basics("exename:/bin/prog\n");
	for (unsigned i = 0; i < runs; i++) {
		put_random("1.dat", i % 3 ? 40 * (i % 5) : 0, i % 7 ? 12 : 700);
		for (size_t k = 0; k < sizeof(times) / sizeof(times[0]); k++) {
			const struct filter_spec hint = { .min_ns = times[k] };
			/* A limit of the depth that nothing reaches: all rows are wanted. */
			const struct filter_spec none = { .min_ns = times[k],
							  .depth = INT32_MAX - 1 };
			struct out with, without;
			uint64_t nwith, nwithout;

			out_to_memory(&with);
			out_to_memory(&without);
			filtered(&hint, &with, &nwith);
			filtered(&none, &without, &nwithout);
			assert_int_equal(nwith, nwithout);
			assert_int_equal(with.len, without.len);
			if (with.len)
				assert_memory_equal(with.buf, without.buf, with.len);
			out_free(&with);
			out_free(&without);
		}
	}
}

/* Rows that the reader gives for calls of at least `ns`. */
static unsigned rows_for(int64_t ns)
{
	struct spur_trace *t = open_dir();
	struct spur_event rows[BATCH_ROWS];
	unsigned n = 0;

	for (;;) {
		struct batch b = { .rows = rows, .cap = BATCH_ROWS, .short_ns = ns };

		if (t->format->next(t, t->feeds[0], &b) != SPUR_OK)
			break;
		n += b.count;
	}
	spur_close(t);
	return n;
}

static void rows_left_out(void **state)
{
	(void)state;
	put_basics("exename:/bin/prog\n");
	put_random("1.dat", 0, 12);
	assert_int_equal(rows_for(0), RECORDS);
	assert_true(rows_for(100000) < RECORDS / 4);
	assert_int_equal(rows_for(1), RECORDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(same_with_hint, dir_make, dir_remove),
		cmocka_unit_test_setup_teardown(rows_left_out, dir_make, dir_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
