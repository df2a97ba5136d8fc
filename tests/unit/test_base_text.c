/* base/text.h: cutting, numbers, UTF-8, patterns, suggestions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text.h"

static void test_cut(void **state)
{
	struct text t = text_of("info: a=b, c"), piece;

	(void)state;
	assert_true(text_starts(t, "info"));
	assert_true(text_starts(t, ""));
	assert_false(text_starts(t, "info: a=b, c "));
	assert_false(text_skip(&t, "Info"));
	assert_true(text_skip(&t, "info:"));
	assert_int_equal(t.len, 7);
	assert_int_equal(text_find(t, '='), 2);
	assert_int_equal(text_rfind(t, ' '), 5);
	assert_int_equal(text_find(t, '!'), -1);
	assert_int_equal(text_search(t, "b, "), 3);
	assert_int_equal(text_search(t, "b,x"), -1);
	assert_int_equal(text_search(t, ""), 0);
	assert_true(text_is(text_trim(text_of(" \t\r\n a b\r\n")), "a b"));
	assert_true(text_is(text_trim(text_of(" \n")), ""));
	assert_false(text_is(text_of("ab"), "abc"));
	t = text_of("x,,y,");
	assert_true(text_split(&t, ',', &piece) && text_is(piece, "x"));
	assert_true(text_split(&t, ',', &piece) && text_is(piece, ""));
	assert_true(text_split(&t, ',', &piece) && text_is(piece, "y"));
	assert_false(text_split(&t, ',', &piece));
	t = text_make("a\n\nb", 4);
	assert_true(text_line(&t, &piece) && text_is(piece, "a"));
	assert_true(text_line(&t, &piece) && text_is(piece, ""));
	assert_true(text_line(&t, &piece) && text_is(piece, "b"));
	assert_false(text_line(&t, &piece));
	t = text_make(NULL, 0);
	assert_false(text_line(&t, &piece));
	assert_int_equal(text_find(t, 'a'), -1);
	assert_int_equal(text_rfind(t, 'a'), -1);
	assert_int_equal(text_search(t, "a"), -1);
	assert_true(text_is(text_trim(t), ""));
	assert_false(text_skip(&t, "a"));
}

static void check_u64(const char *s, unsigned base, bool good, uint64_t want, const char *rest)
{
	struct text t = text_of(s);
	uint64_t v = 777;

	assert_int_equal(text_u64(&t, base, &v), good);
	assert_true(v == (good ? want : 777));
	assert_true(text_is(t, rest));
}

static void test_u64(void **state)
{
	(void)state;
	check_u64("0", 10, true, 0, "");
	check_u64("18446744073709551615,", 10, true, UINT64_MAX, ",");
	check_u64("18446744073709551616", 10, false, 0, "18446744073709551616");
	check_u64("99999999999999999999999", 10, false, 0, "99999999999999999999999");
	check_u64("12ab", 10, true, 12, "ab");
	check_u64("12aB.", 16, true, 0x12AB, ".");
	check_u64("ffffffffffffffff", 16, true, UINT64_MAX, "");
	check_u64("10000000000000000", 16, false, 0, "10000000000000000");
	check_u64("0x12", 16, true, 0, "x12");
	check_u64("789", 8, true, 7, "89");
	check_u64("", 10, false, 0, "");
	check_u64("-1", 10, false, 0, "-1");
	check_u64(" 1", 10, false, 0, " 1");
}

static void check_i64(const char *s, bool good, int64_t want, const char *rest)
{
	struct text t = text_of(s);
	int64_t v = 777;

	assert_int_equal(text_i64(&t, &v), good);
	assert_true(v == (good ? want : 777));
	assert_true(text_is(t, rest));
}

static void test_i64(void **state)
{
	(void)state;
	check_i64("-9223372036854775808", true, INT64_MIN, "");
	check_i64("9223372036854775807", true, INT64_MAX, "");
	check_i64("-9223372036854775809", false, 0, "-9223372036854775809");
	check_i64("9223372036854775808", false, 0, "9223372036854775808");
	check_i64("+5 ", true, 5, " ");
	check_i64("-0", true, 0, "");
	check_i64("-+5", false, 0, "-+5");
	check_i64("-", false, 0, "-");
}

static void check_seconds(const char *s, bool good, uint64_t want, const char *rest)
{
	struct text t = text_of(s);
	uint64_t v = 777;

	assert_int_equal(text_seconds(&t, &v), good);
	assert_true(v == (good ? want : 777));
	assert_true(text_is(t, rest));
}

static void test_seconds(void **state)
{
	(void)state;
	check_seconds("828.215538322 x", true, 828215538322, " x");
	check_seconds("0.5", true, 500000000, "");
	check_seconds("1.0000000019", true, 1000000001, "");
	check_seconds("1.00000000000000000000000000000000001", true, 1000000000, "");
	check_seconds("18446744073.709551615", true, UINT64_MAX, "");
	check_seconds("18446744073.709551616", false, 0, "18446744073.709551616");
	check_seconds("18446744074.0", false, 0, "18446744074.0");
	check_seconds("12", false, 0, "12");
	check_seconds("12.", false, 0, "12.");
	check_seconds(".5", false, 0, ".5");
}

static void check_duration(const char *s, int64_t want)
{
	int64_t v = -777;

	assert_int_equal(text_duration(s, 1000, &v), want != -777);
	assert_true(v == want);
}

static void test_duration(void **state)
{
	(void)state;
	check_duration("1.5s", 1500000000);
	check_duration("250ms", 250000000);
	check_duration("10us", 10000);
	check_duration("3ns", 3);
	check_duration("2m", 120000000000);
	check_duration("1h", 3600000000000);
	check_duration("0.000000001h", 3600);
	check_duration("7", 7000);
	check_duration("7.5", 7500);
	check_duration("0", 0);
	check_duration("9223372036854775807ns", INT64_MAX);
	check_duration("9223372036854775808ns", -777);
	check_duration("9223372036.854775807s", INT64_MAX);
	check_duration("18446744073709551615h", -777);
	check_duration("", -777);
	check_duration("s", -777);
	check_duration("1.s", -777);
	check_duration("-1s", -777);
	check_duration("1 s", -777);
	check_duration("1sec", -777);
	check_duration("1s ", -777);
}

/* Where a unit is required only 0 may lack it. */
static void test_duration_units(void **state)
{
	int64_t v = -777;

	(void)state;
	assert_false(text_duration("7", 0, &v));
	assert_false(text_duration("0.5", 0, &v));
	assert_true(text_duration("0", 0, &v) && v == 0);
	assert_true(text_duration("7ns", 0, &v) && v == 7);
}

static void test_utf8(void **state)
{
	static const struct {
		const char *s;
		size_t valid, width;
	} cases[] = {
		{ "a", 1, 1 },
		{ "\xC3\xA9", 2, 1 },
		{ "\xE4\xB8\xAD", 3, 2 }, /* CJK */
		{ "\xEA\xB0\x80", 3, 2 }, /* Hangul */
		{ "\xEF\xBC\xA1", 3, 2 }, /* full-width A */
		{ "\xF0\x9F\x98\x80", 4, 2 }, /* a face */
		{ "\xCC\x81", 2, 0 }, /* combining acute */
		{ "\xE2\x80\x8D", 3, 0 }, /* zero-width joiner */
		{ "\xEF\xB8\x8F", 3, 0 }, /* variation selector */
		{ "\xF4\x8F\xBF\xBF", 4, 1 },
		{ "\xCE\xA9", 2, 1 },
	};
	static const char *const bad[] = {
		"\x80",
		"\xC0\x80",
		"\xC1\xBF",
		"\xC3",
		"\xC3(",
		"\xE0\x9F\xBF",
		"\xED\xA0\x80",
		"\xE4\xB8",
		"\xE4(\xAD",
		"\xF0\x8F\xBF\xBF",
		"\xF4\x90\x80\x80",
		"\xF5\x80\x80\x80",
		"\xF0\x9F\x98",
		"\xFF",
		"",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(utf8_valid(cases[i].s, strlen(cases[i].s)), cases[i].valid);
		assert_int_equal(utf8_width(cases[i].s, strlen(cases[i].s)), cases[i].width);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(utf8_valid(bad[i], strlen(bad[i])), 0);
	assert_true(utf8_all_valid("plain ASCII \xE4\xB8\xAD and more", 24));
	assert_false(utf8_all_valid("plain ASCII \xE4\xB8 and more", 23));
	assert_false(utf8_all_valid("plain ASCII, eight\xE4", 19));
	assert_true(utf8_all_valid("", 0));
	assert_int_equal(utf8_width("ab\xE4\xB8\xAD\x65\xCC\x81", 8), 5);
}

static struct pattern *pattern_make(enum pattern_kind kind, const char *s)
{
	struct pattern *p = pattern_new(kind, s, NULL, NULL);

	assert_non_null(p);
	return p;
}

static void test_pattern(void **state)
{
	static const struct {
		enum pattern_kind kind;
		const char *pattern, *s;
		bool want;
	} cases[] = {
		{ PATTERN_EXACT, "a.c", "a.c", true },
		{ PATTERN_EXACT, "a.c", "abc", false },
		{ PATTERN_REGEX, "b+", "abbc", true },
		{ PATTERN_REGEX, "^b+$", "abbc", false },
		{ PATTERN_REGEX, "^(x|ab)", "abbc", true },
		{ PATTERN_GLOB, "a*c", "abbc", true },
		{ PATTERN_GLOB, "a?c", "abbc", false },
		{ PATTERN_GLOB, "std::*", "std::a/b", true },
		{ PATTERN_GLOB, "[ab]x", "bx", true },
	};
	struct spur_error err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pattern *p = pattern_make(cases[i].kind, cases[i].pattern);

		assert_int_equal(pattern_match(p, cases[i].s), cases[i].want);
		pattern_free(p);
	}
	assert_null(pattern_new(PATTERN_REGEX, "a(b", "-F", &err));
	assert_int_equal(err.code, SPUR_ERR_USAGE);
	assert_non_null(strstr(err.message, "-F: expected a regular expression, found \"a(b\": "));
	mem_fail_at(1);
	assert_null(pattern_new(PATTERN_EXACT, "a", NULL, &err));
	mem_fail_at(0);
	assert_int_equal(err.code, SPUR_ERR_MEMORY);
	pattern_free(NULL);
}

static void check_suggest(const char *s, const char *want)
{
	static const char *const words[] = { "report", "replay", "record", "graph",
					     "dump",   "tid",	 NULL };
	const char *got = text_suggest(s, words);

	if (want)
		assert_string_equal(got ? got : "(none)", want);
	else
		assert_null(got);
}

static void test_suggest(void **state)
{
	(void)state;
	check_suggest("reprot", "report");
	check_suggest("replya", "replay");
	check_suggest("repla", "replay");
	check_suggest("grap", "graph");
	check_suggest("rec", "record");
	check_suggest("dmup", "dump");
	check_suggest("dump", "dump");
	check_suggest("xyzzy", NULL);
	check_suggest("", NULL);
	check_suggest("r", NULL);
	check_suggest("a-very-long-word-that-is-no-command-at-all-whatever", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut),	 cmocka_unit_test(test_u64),
		cmocka_unit_test(test_i64),	 cmocka_unit_test(test_seconds),
		cmocka_unit_test(test_duration),
		cmocka_unit_test(test_duration_units), cmocka_unit_test(test_utf8),
		cmocka_unit_test(test_pattern),	 cmocka_unit_test(test_suggest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
