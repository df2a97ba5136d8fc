/* --from, --to and -r: every way to write a time, on hand-made rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "unit/filter_play.h"

/* SPEC uftrace/range-start */
static void test_times(void **state)
{
	const char *script = "> < +100 m +10 a / +10 b / /"; /* 1 2 103 114 115 126 127 128 */

	(void)state;
	check(script, &(struct filter_spec){ .range = "10ns~" }, "a /a b /b /m");
	check(script, &(struct filter_spec){ .range = "~12ns" }, "> < m a /a");
	check(script, &(struct filter_spec){ .range = "11ns~12nsec" }, "a /a");
	check(script, &(struct filter_spec){ .range = "0.000000115~0.000000126" }, "/a b");
	check(script, &(struct filter_spec){ .range = "~" }, "> < m a /a b /b /m");
	/* Shown times count from the first event of all, at 1. */
	check(script, &(struct filter_spec){ .from = "113ns", .to = "114ns" }, "a");
	check(script, &(struct filter_spec){ .from = "0.000000113", .to = "+1ns" }, "a");
	check(script, &(struct filter_spec){ .from = "113ns", .to = "+12ns" }, "a /a");
	check(script, &(struct filter_spec){ .from = "+125ns" }, "b /b /m");
	check(script, &(struct filter_spec){ .to = "+102ns" }, "> <");
	check(script, &(struct filter_spec){ .from = "@0.000000127" }, "/b /m");
	check(script, &(struct filter_spec){ .from = "@127ns" }, "/b /m");
	check(script, &(struct filter_spec){ .from = "1us" }, "");
	check(script, &(struct filter_spec){ .from = "0" }, "> < m a /a b /b /m");
	check(script, &(struct filter_spec){ .from = "127", .numbers = MOMENT_TS }, "/b /m");
	check(script, &(struct filter_spec){ .from = "0.000000126", .numbers = MOMENT_CLOCK },
	      "b /b /m");
	check(script, &(struct filter_spec){ .range = "10ns~+2ns" }, "a /a");
	check(script, &(struct filter_spec){ .range = "11ns~+1ns" }, "a /a");
}

/* Numbers that lack a unit say which there are. */
static void test_bare_times(void **state)
{
	static const struct {
		struct filter_spec spec;
		const char *say;
	} cases[] = {
		{ { .from = "5" },
		  "--from: expected a unit behind \"5\": ns, us, ms, s, m or h (of a "
		  "ts of the trace's clock: @5ns)" },
		{ { .from = "+5" },
		  "--from: expected a unit behind \"5\": ns, us, ms, s, m or h (of "
		  "a ts of the trace's clock: @5ns)" },
		{ { .to = "1.5" },
		  "--until: expected a unit behind \"1.5\": ns, us, ms, s, m or h (of "
		  "a ts of the trace's clock: @1.5ns)" },
		{ { .to = "0", .from = "0", .numbers = MOMENT_TS }, NULL },
		{ { .from = "101%" }, "--from: expected 0% to 100% of the trace, found \"101%\"" },
		{ { .from = "x%" }, "--from: expected 0% to 100% of the trace, found \"x%\"" },
		{ { .from = "12:00" },
		  "--from: the trace does not say when it was made; dates cannot "
		  "be used" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct spur_trace *t = play("m /");
		struct spur_error err = { 0 };
		struct filter *f;

		assert_int_equal(filter_new(&f, t, &cases[i].spec, &err),
				 cases[i].say ? SPUR_FAIL : SPUR_OK);
		if (cases[i].say)
			assert_string_equal(err.message, cases[i].say);
		else
			filter_free(f);
		fake_trace_free(t);
	}
}

/* A clock that started long before the trace: a whole number can only be a ts. */
static void test_copied_ts(void **state)
{
	const char *script = "+5000000000 m a / /";

	(void)state;
	check(script, &(struct filter_spec){ .from = "5000000002" }, "a /a /m");
	check(script, &(struct filter_spec){ .to = "5000000002" }, "m");
	check(script, &(struct filter_spec){ .from = "@5.000000003" }, "/a /m");
	check(script, &(struct filter_spec){ .from = "@5000000003ns" }, "/a /m");
}

static void check_date(struct spur_trace *t, const char *from, const char *want)
{
	struct text_out *o = malloc(sizeof(*o));
	struct spur_error err;

	fake_rewind(t);
	assert_int_equal(run(t, &(struct filter_spec){ .from = from }, o, &err), SPUR_OK);
	assert_string_equal(o->buf, want);
	free(o);
}

static void expect_no_date(struct spur_trace *t, const char *from)
{
	struct spur_error err;
	struct filter *f;

	assert_int_equal(filter_new(&f, t, &(struct filter_spec){ .from = from }, &err), SPUR_FAIL);
	assert_int_equal(err.code, SPUR_ERR_USAGE);
}

static void set_zone(const char *zone)
{
	setenv("TZ", zone, 1);
	tzset();
}

static void test_dates(void **state)
{
	struct spur_trace *t = play("m +1000000000 a / /");

	(void)state;
	expect_no_date(t, "@2024-02-29T12:00:00.5Z");
	t->clock.epoch_known = true;
	t->clock.epoch_ns = 1709208000000000000; /* that day, 12:00 */
	check_date(t, "@2024-02-29T12:00:00.5Z", "a /a /m");
	check_date(t, "2024-02-29T12:00:00.5Z", "a /a /m");
	check_date(t, "2024-02-29T12:00:01.000000003Z", "/a /m");
	check_date(t, "2024-02-29T13:00:00.5+01:00", "a /a /m");
	check_date(t, "2024-02-29T13:00:00.5+01", "a /a /m");
	check_date(t, "2024-02-29T06:30:00.5-0530", "a /a /m");
	/* Five hours west of Greenwich, and UTC. */
	set_zone("EST5");
	check_date(t, "2024-02-29T07:00:00.5", "a /a /m");
	check_date(t, "2024-02-29 07:00", "m a /a /m");
	check_date(t, "2024-02-29", "m a /a /m");
	check_date(t, "07:00:00.5", "a /a /m");
	check_date(t, "06:59", "m a /a /m");
	check_date(t, "07:00:02", "");
	set_zone("UTC0");
	check_date(t, "@2024-02-29 12:00:02", "");
	check_date(t, "12:00:00.5", "a /a /m");
	expect_no_date(t, "2023-02-29");
	expect_no_date(t, "2024-13-01");
	expect_no_date(t, "2024-02-29T24:00");
	expect_no_date(t, "24:00");
	/* A trace that begins 90 minutes before midnight goes on behind it. */
	t->clock.epoch_ns += INT64_C(3600) * 1000000000 * 10 + INT64_C(1800) * 1000000000;
	check_date(t, "00:00", "");
	check_date(t, "22:30:00.5", "a /a /m");
	unsetenv("TZ");
	fake_trace_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_bare_times),
		cmocka_unit_test(test_copied_ts),
		cmocka_unit_test(test_dates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
