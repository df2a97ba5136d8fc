/*
 * Failure of every n-th allocation, from opening to closing: no crash, no leak (sanitizers), and
 * the library returns SPUR_FAIL or complete results.
 */
#include "unit/uftrace_dir.h"

#include "unit/try_pass.h"

/* Reads everything; false where a call said SPUR_FAIL. `sum` gets what came. */
static bool read_all(struct out *sum)
{
	const struct spur_options opt = SPUR_OPTIONS(.threads = 1, .symbol_dirs = "/nonexistent");
	const struct spur_event *rows;
	struct spur_args args = { 0 };
	enum spur_status st, bad = SPUR_OK;
	struct spur_error err;
	struct spur_damage d;
	struct spur_trace *t;
	size_t n;

	if (spur_open(&t, dir, &opt, &err) == SPUR_FAIL) {
		assert_int_not_equal(err.code, SPUR_ERR_NONE);
		assert_true(err.message[0]);
		return false;
	}
	while ((st = spur_next(t, &rows, &n)) == SPUR_OK)
		for (size_t i = 0; i < n; i++) {
			out_printf(sum, "%lld %s %s", (long long)rows[i].ts,
				   spur_kind_name(rows[i].kind),
				   spur_string(t, rows[i].name, NULL));
			if (spur_args(t, &rows[i], &args) == SPUR_FAIL)
				bad = SPUR_FAIL;
			out_printf(sum, " %zu\n", args.count);
		}
	for (size_t i = 0; i < spur_damage_count(t); i++)
		spur_damage(t, i, &d);
	spur_args_free(&args);
	spur_close(t);
	return st == SPUR_END && bad == SPUR_OK;
}

/* Fails the n-th allocation, and all after it, for every n until all succeed. */
static void try_all(void)
{
	struct out want, got;
	uint64_t count, complete = 0;

	out_to_memory(&want);
	assert_true(read_all(&want));
	/* The buffer of what came counts too, once it is large enough it allocates no more. */
	out_to_memory(&got);
	assert_non_null(out_room(&got, want.len + 4096));
	mem_fail_at(UINT64_MAX);
	assert_true(read_all(&got));
	count = mem_count();
	assert_int_equal(got.len, want.len);
	assert_true(count > 20);
	for (uint64_t n = 1; n <= count; n++) {
		bool ok;

		out_clear(&got);
		mem_fail_at(n);
		ok = read_all(&got);
		mem_fail_at(0);
		if (ok) {
			complete++;
			assert_int_equal(got.len, want.len);
			assert_memory_equal(got.buf, want.buf, want.len);
		}
	}
	/* Most of it cannot be done without. */
	assert_true(complete < count / 2);
	out_free(&want);
	out_free(&got);
}

static void test_calls_and_args(void **state)
{
	(void)state;
	put_basics("argspec:work@arg1/i32,arg2/s;leaf@arg1/e:color\nretspec:work@retval/p\n"
		   "enumauto:enum color {RED=1,GREEN}\ntaskinfo:tids=1,2,9\n");
	put_text("events.txt", "EVENT: 1000000 a:b\n");
	put_text("default.opts", "-t 1us\n");
	put_text("note.txt", "a note\n");
	put_text("extern.dat", "0.000000105 hello\n");
	put_text("prog.dbg",
		 "# path name: /bin/prog\nE: enum x {A}\nF: 1100 work\nL: 1 f.c\nA: @arg1\n");
	rec(100, ENTRY, 0, MAIN);
	rec_more(110, ENTRY, 1, WORK);
	raw_uint(1, 4);
	raw_string("text");
	raw_align(8);
	rec_more(120, ENTRY, 2, LEAF);
	raw_uint(3, 8);
	rec(121, EVENT, 0, 1000000);
	rec(0, LOST, 0, 5);
	rec_more(130, EXIT, 1, WORK);
	raw_uint(LEAF, 8);
	rec(131, ENTRY, 1, 0x700000);
	raw_text("torn");
	dat_write("1.dat");
	put_calls("2.dat");
	try_all();
}

static void test_sessions_and_perf(void **state)
{
	(void)state;
	put_basics("");
	put_text("task.txt",
		 "SESS timestamp=0.000000001 pid=1 sid=0123456789abcdef exename=\"/bin/prog\"\n"
		 "TASK timestamp=0.000000001 tid=1 pid=1\n"
		 "FORK timestamp=0.000000120 pid=2 ppid=1\nbad line\n"
		 "SESS timestamp=0.000000130 pid=2 sid=0123456789abcdef exename=\"/bin/prog\"\n"
		 "TASK timestamp=0.000000130 tid=2 pid=2\n"
		 "DLOP timestamp=0.000000140 tid=2 sid=0123456789abcdef base=7f0000000000 "
		 "libname=\"/lib/a.so\"\n");
	put_text("a.so.sym", "0000000000000000 00000010 T _ZN1a1bIiE1cEv\n");
	raw_uint(14, 4);
	raw_uint(0x2000, 2);
	raw_uint(24, 2);
	raw_uint(1, 4);
	raw_uint(3, 4);
	raw_uint(115, 8);
	dat_write("perf-cpu0.dat");
	put_calls("1.dat");
	rec(125, EXIT, 1, WORK);
	rec(145, ENTRY, 1, 0x7f0000000008);
	dat_write("2.dat");
	try_all();
}

static void test_passes(void **state)
{
	static const struct filter_item items[] = { { FILTER_TRIGGER, "work@depth=2" },
						    { FILTER_NOTRACE, "nobody" } };
	const struct tried tried = {
		.path = dir,
		.opt = { .threads = 1, .symbol_dirs = "/nonexistent" },
		.spec = { .items = items, .nitems = 2, .match = PATTERN_REGEX }
	};

	(void)state;
	put_basics("argspec:work@arg1/i32,arg2/s\n");
	rec(100, ENTRY, 0, MAIN);
	rec_more(110, ENTRY, 1, WORK);
	raw_uint(1, 4);
	raw_string("text");
	raw_align(8);
	rec(120, ENTRY, 2, LEAF);
	rec(125, EXIT, 2, LEAF);
	rec(0, LOST, 0, 5);
	rec(130, EXIT, 1, WORK);
	dat_write("1.dat");
	put_calls("2.dat");
	for (size_t i = 0; spur_passes[i]; i++)
		for (unsigned form = FORM_TEXT; form <= FORM_CSV; form++)
			try_pass(&tried, spur_passes[i], (enum output_form)form, false);
}

/* Real data: what is written here is smaller than a batch and one class page. */
static void test_recorded(void **state)
{
	static const char *const names[] = { "args-spec", "k-graph1", "dlop" };
	char own[sizeof(dir)];
	size_t done = 0;

	(void)state;
	strcpy(own, dir);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(dir, sizeof(dir), "tests/golden/uftrace/%s/in", names[i]);
		if (access(dir, R_OK) == 0) {
			try_all();
			done++;
		}
	}
	strcpy(dir, own);
	if (!done)
		skip();
}

/* --- one of several open traces runs out of memory --- */

static struct spur_trace *open_dir(void)
{
	const struct spur_options opt = SPUR_OPTIONS(.threads = 1, .symbol_dirs = "/nonexistent");
	struct spur_trace *t;
	struct spur_error err;

	assert_int_equal(spur_open(&t, dir, &opt, &err), SPUR_OK);
	return t;
}

static size_t count_rows(struct spur_trace *t)
{
	const struct spur_event *rows;
	enum spur_status st;
	size_t n, sum = 0;

	while ((st = spur_next(t, &rows, &n)) == SPUR_OK)
		sum += n;
	assert_int_equal(st, SPUR_END);
	return sum;
}

static void failures_of_another_trace(void **state)
{
	const struct spur_event *rows;
	struct spur_trace *whole, *short_of, *other;
	size_t n, want;

	(void)state;
	put_text("task.txt", "TASK timestamp=1.0 tid=7 pid=7\n");
	for (unsigned i = 0; i < 1000; i++) {
		rec_word(1000 + 2 * i, ENTRY, 0, 0, 0x1000);
		rec_word(1001 + 2 * i, EXIT, 0, 0, 0x1000);
	}
	dat_write("7.dat");
	whole = open_dir();
	want = count_rows(whole);
	assert_int_equal(want, 2000);
	spur_close(whole);

	short_of = open_dir();
	other = open_dir();
	assert_int_equal(spur_next(other, &rows, &n), SPUR_OK);
	want -= n;
	mem_fail_at(1);
	assert_int_equal(spur_next(short_of, &rows, &n), SPUR_FAIL);
	mem_fail_at(0);
	/* It stays so, without an end and without rows; the others know nothing of it. */
	assert_int_equal(spur_next(short_of, &rows, &n), SPUR_FAIL);
	assert_int_equal(n, 0);
	assert_int_equal(count_rows(other), want);
	spur_close(short_of);
	spur_close(other);
	whole = open_dir();
	assert_int_equal(count_rows(whole), 2000);
	spur_close(whole);
}

static void nothing_to_open(void **state)
{
	(void)state;
	/* Such builds abort instead: test_api.c. */
#if !defined(SPUR_ABORT_ON_MISUSE) || defined(NDEBUG)
	struct spur_trace *t = (struct spur_trace *)1;
	struct spur_error err;

	assert_int_equal(spur_open(&t, NULL, NULL, &err), SPUR_FAIL);
	assert_int_equal(err.code, SPUR_ERR_USAGE);
	assert_null(t);
	assert_int_equal(spur_open(NULL, dir, NULL, &err), SPUR_FAIL);
	assert_int_equal(err.code, SPUR_ERR_USAGE);
	assert_int_equal(spur_open(NULL, NULL, NULL, NULL), SPUR_FAIL);
#endif
	/* What frees takes NULL, as free() does. */
	spur_close(NULL);
	spur_args_free(NULL);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, dir_make, dir_remove)
	static const struct CMUnitTest tests[] = { T(test_calls_and_args),
						   T(test_sessions_and_perf), T(test_passes),
						   T(test_recorded),
						   T(failures_of_another_trace),
						   T(nothing_to_open) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
