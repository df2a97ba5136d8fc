/*
 * Whole CTF traces where memory runs out at the n-th allocation, from opening to closing: no crash,
 * no leak (sanitizers), and the library returns SPUR_FAIL or complete results. Names of functions,
 * overlapping files, archives, ring buffers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <spur.h>
#include <string.h>

#include "base/mem.h"
#include "base/out.h"

enum { TRIES = 1200 };

static const char *path;
static const char *symbols;

static bool read_all(struct out *sum)
{
	const struct spur_options opt = SPUR_OPTIONS(.threads = 1, .symbol_dirs = symbols);
	const struct spur_event *rows;
	struct spur_args args = { 0 };
	enum spur_status st, bad = SPUR_OK;
	struct spur_error err;
	struct spur_trace *t;
	size_t n;

	if (spur_open(&t, path, &opt, &err) == SPUR_FAIL) {
		assert_int_not_equal(err.code, SPUR_ERR_NONE);
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
	spur_args_free(&args);
	spur_close(t);
	return st == SPUR_END && bad == SPUR_OK;
}

/* The n-th allocation fails, and all after it, for up to TRIES of all n. */
static void try_all(const char *trace, const char *dirs)
{
	struct out want, got;
	uint64_t count, step;

	path = trace;
	symbols = dirs;
	out_to_memory(&want);
	out_to_memory(&got);
	assert_true(read_all(&want));
	assert_non_null(out_room(&got, want.len + 4096));
	mem_fail_at(UINT64_MAX);
	assert_true(read_all(&got));
	count = mem_count();
	mem_fail_at(0);
	assert_int_equal(got.len, want.len);
	assert_true(want.len > 0);
	step = count / TRIES + 1;
	for (uint64_t n = 1; n <= count; n += step) {
		bool ok;

		out_clear(&got);
		mem_fail_at(n);
		ok = read_all(&got);
		mem_fail_at(0);
		if (ok) {
			assert_int_equal(got.len, want.len);
			assert_memory_equal(got.buf, want.buf, want.len);
		}
	}
	out_free(&want);
	out_free(&got);
}

/* SPEC ctf/function-names */
static void test_functions(void **state)
{
	(void)state;
	try_all("tests/golden/ctf/lttng213-functions/in",
		"tests/golden/ctf/lttng213-functions/bin");
}

static void test_snapshots(void **state)
{
	(void)state;
	try_all("tests/golden/ctf/lttng213-snapshots/in", NULL);
}

static void test_archive(void **state)
{
	(void)state;
	try_all("tests/golden/ctf/lttng213-archive-odd/in", NULL);
}

static void test_ring_buffer(void **state)
{
	(void)state;
	try_all("tests/golden/ctf/lttng213-ring-buffer/in", NULL);
}

static void test_kernel(void **state)
{
	(void)state;
	try_all("tests/golden/ctf/kernel-threads/in", NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions), cmocka_unit_test(test_snapshots),
		cmocka_unit_test(test_archive),	  cmocka_unit_test(test_ring_buffer),
		cmocka_unit_test(test_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
