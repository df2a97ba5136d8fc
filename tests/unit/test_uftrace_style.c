/*
 * The uftrace style: numbers, columns, whole outputs of a small recording; the same text whatever
 * the threads and the read size; and memory out at every n-th allocation. The recorded outputs of
 * uftrace itself are compared by tests/run style.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "style/uftrace/text/text.h"
#include "unit/any_options.h"

/* --- parts --- */

static void test_time_unit(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
		{ 0, "          " },
		{ 1, "  0.001 us" },
		{ 999999, "999.999 us" },
		{ 1000000, "  1.000 ms" },
		{ 59999000000, " 59.999  s" },
		{ 61000000000, "  1.001  m" }, /* behind the point are seconds, minutes for hours */
		{ 59 * UINT64_C(60000000000), " 59.000  m" },
		{ 90 * UINT64_C(60000000000), "  1.030  h" },
		{ 1000 * UINT64_C(3600000000000), "999.999  h" },
		{ (uint64_t)-1500, "  1.500 us" },
	};
	char buf[32];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		*put_time_unit(buf, cases[i].ns) = '\0';
		assert_string_equal(buf, cases[i].text);
	}
}

/* SPEC uftrace/cpu-list */
static void test_cpu_list(void **state)
{
	static const struct {
		uint64_t cpus;
		const char *text;
	} cases[] = {
		{ 0, "" },
		{ 1, "0" },
		{ 3, "0-1" },
		{ 5, "0,2" },
		{ 0x2f, "0-3,5" },
		{ UINT64_C(1) << 63, "63" },
		{ UINT64_MAX, "0-63" },
		{ UINT64_C(0x8000000000000006), "1-2,63" },
	};
	char buf[CPU_LIST + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		*put_cpu_list(buf, cases[i].cpus) = '\0';
		assert_string_equal(buf, cases[i].text);
	}
	/* The longest: 22 pairs of CPUs and one more. */
	assert_true(put_cpu_list(buf, UINT64_C(0xDB6DB6DB6DB6DB6D)) - buf <= CPU_LIST);
}

static void test_fields(void **state)
{
	static const struct style_field table[] = {
		{ "one", "1", "ONE", 3 },
		{ "two", NULL, "TWO", 3 },
		{ "three", NULL, "THREE", 5 },
	};
	static const uint8_t defaults[] = { 1 };
	struct spur_error err = { 0 };
	struct style_fields f;

	(void)state;
	assert_true(style_fields_parse(&f, table, 3, NULL, defaults, 1, &err));
	assert_int_equal(f.count, 1);
	assert_int_equal(f.ids[0], 1);
	/* In the order of the table, each once. */
	assert_true(style_fields_parse(&f, table, 3, "three,1,one", defaults, 1, &err));
	assert_int_equal(f.count, 2);
	assert_int_equal(f.ids[0], 0);
	assert_int_equal(f.ids[1], 2);
	assert_true(style_fields_parse(&f, table, 3, "+one", defaults, 1, &err));
	assert_int_equal(f.count, 2);
	assert_true(style_fields_parse(&f, table, 3, "all", defaults, 1, &err));
	assert_int_equal(f.count, 3);
	assert_true(style_fields_parse(&f, table, 3, "none", defaults, 1, &err));
	assert_int_equal(f.count, 0);
	assert_false(style_fields_parse(&f, table, 3, "one,four", defaults, 1, &err));
	assert_int_equal(err.code, SPUR_ERR_USAGE);
	assert_string_equal(err.message, "no field named \"four\"");
}

/* --- whole outputs --- */

struct run {
	const char *pass, *name; /* of the recording */
	struct any_options opt;
	struct spur_options open;
	struct filter_spec filter;
};

static bool recorded(const char *name, char *path, size_t size)
{
	return (size_t)snprintf(path, size, "tests/golden/uftrace/%s/in", name) < size &&
	       access(path, R_OK) == 0;
}

/* False: a call said SPUR_FAIL, as if out of memory. */
static bool run_pass(const struct run *r, struct out *o)
{
	struct spur_options open = r->open;
	struct spur_error err = { 0 };
	struct filter *f = NULL;
	struct spur_trace *t;
	enum spur_status st;
	char path[256];

	open.size = sizeof(open);
	recorded(r->name, path, sizeof(path));
	if (spur_open(&t, path, &open, &err) == SPUR_FAIL)
		return false;
	st = filter_new(&f, t, &r->filter, &err);
	if (st != SPUR_FAIL) {
		const struct spur_pass *pass = pass_find(r->pass, "uftrace");
		struct pass_env env = {
			.trace = t,
			.pipe = { .threads = r->open.threads, .filter = f },
			.filter = f,
			ANY_OPTIONS(&r->opt, pass->name),
			.out = o,
			.err = &err,
		};

		env.given = &r->filter;
		st = pass_run(pass, &env);
	}
	assert_true(st != SPUR_FAIL || err.code != SPUR_ERR_NONE);
	filter_free(f);
	spur_close(t);
	return st != SPUR_FAIL && !o->error;
}

static void expect(const struct run *r, const char *begin)
{
	struct out o;

	out_to_memory(&o);
	assert_true(run_pass(r, &o));
	out_char(&o, '\0');
	assert_true(o.len > strlen(begin));
	o.buf[strlen(begin)] = '\0';
	assert_string_equal(o.buf, begin);
	out_free(&o);
}

static void test_outputs(void **state)
{
	char path[256];

	(void)state;
	if (!recorded("abc", path, sizeof(path)))
		skip();
	expect(&(struct run){ .pass = "replay", .name = "abc" },
	       "# DURATION     TID      FUNCTION\n"
	       "   0.951 us [  31607] | __monstartup();\n"
	       "   0.831 us [  31607] | __cxa_atexit();\n"
	       "            [  31607] | main() {\n"
	       "            [  31607] |   a() {\n"
	       "            [  31607] |     b() {\n"
	       "            [  31607] |       c() {\n");
	expect(&(struct run){ .pass = "replay", .name = "abc", .opt.flat = true },
	       "\n[0] ==> 31607/0: ip (__monstartup), time (");
	expect(&(struct run){ .pass = "report", .name = "abc", .opt.sort = "call,func" },
	       "  Total time   Self time       Calls  Function\n"
	       "  ==========  ==========  ==========  ====================\n");
	expect(&(struct run){ .pass = "dump", .name = "abc" },
	       "uftrace file header: magic         = 4674726163652100\n"
	       "uftrace file header: version       = 4\n");
}

static void same_text(const struct run *r)
{
	static const unsigned threads[] = { 2, 3, 8 };
	static const size_t sizes[] = { 1, 7, 4096 };
	struct run other = *r;
	struct out want, got;

	out_to_memory(&want);
	out_to_memory(&got);
	other.open.threads = 1;
	assert_true(run_pass(&other, &want));
	for (size_t i = 0; i < 6; i++) {
		other.open.threads = i < 3 ? threads[i] : 1;
		other.open.read_size = i < 3 ? 0 : sizes[i - 3];
		out_clear(&got);
		assert_true(run_pass(&other, &got));
		assert_int_equal(got.len, want.len);
		assert_memory_equal(got.buf, want.buf, want.len);
	}
	out_free(&want);
	out_free(&got);
}

static const struct run runs[] = {
	{ .pass = "replay", .name = "args-spec" },
	{ .pass = "replay", .name = "forkexec", .opt = { .fields = "all", .task_newline = true } },
	{ .pass = "replay", .name = "ev-read", .opt.flat = true },
	{ .pass = "replay",
	  .name = "forkexec",
	  .filter = { .depth = 2, .no_sched = true },
	  .opt.column_view = true },
	{ .pass = "dump", .name = "forkexec", .opt.verbose = true },
	{ .pass = "dump", .name = "args-spec" },
	{ .pass = "dump", .name = "forkexec", .opt.format = "chrome" },
	{ .pass = "report", .name = "forkexec", .opt = { .fields = "all", .srcline = true } },
	{ .pass = "report", .name = "forkexec", .opt.task = true },
};

enum { RUNS = sizeof(runs) / sizeof(runs[0]), TRIES = 400 };

static void test_same_text(void **state)
{
	char path[256];

	(void)state;
	for (size_t i = 0; i < RUNS; i++)
		if (recorded(runs[i].name, path, sizeof(path)))
			same_text(&runs[i]);
}

/* Each allocation fails once, and all after it; of many, TRIES of them spread evenly. */
static void fail_each(const struct run *r)
{
	struct run one = *r;
	struct out want, got;
	uint64_t count, failed = 0;

	one.open.threads = 1;
	out_to_memory(&want);
	out_to_memory(&got);
	assert_true(run_pass(&one, &want));
	assert_non_null(out_room(&got, want.len + 65536));
	mem_fail_at(UINT64_MAX);
	assert_true(run_pass(&one, &got));
	count = mem_count();
	for (uint64_t n = 1; n <= count; n += 1 + count / TRIES) {
		bool good;

		/* The text's own buffer is not what is to fail. */
		out_clear(&got);
		assert_non_null(out_room(&got, want.len + 65536));
		mem_fail_at(n);
		good = run_pass(&one, &got);
		mem_fail_at(0);
		failed += !good;
		/* What is done without a failure is complete. */
		if (good) {
			assert_int_equal(got.len, want.len);
			assert_memory_equal(got.buf, want.buf, want.len);
		}
	}
	assert_true(failed > 0);
	out_free(&want);
	out_free(&got);
}

static void test_memory(void **state)
{
	char path[256];

	(void)state;
	for (size_t i = 0; i < RUNS; i++)
		if (recorded(runs[i].name, path, sizeof(path)))
			fail_each(&runs[i]);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_time_unit),
		cmocka_unit_test(test_cpu_list), cmocka_unit_test(test_fields),
		cmocka_unit_test(test_outputs),	  cmocka_unit_test(test_same_text),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
