/* The option parser: every way to write an option, and what it says of wrong ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../src/cli/opt.c"
#include "../../src/cli/options.c"
#include "../../src/cli/options_uftrace.c"

static bool call_text;

static bool take(struct values *v, const char *text)
{
	(void)v;
	call_text = text && strcmp(text, "good") == 0;
	return call_text;
}

struct test_own {
	bool verbose;
};

static const struct opt own[] = {
	{ .name = "verbose",
	  .letter = 'v',
	  .type = OPT_FLAG,
	  OPT_OWN(struct test_own, verbose),
	  .help = "more" },
	{ .name = "fields",
	  .letter = 'f',
	  .type = OPT_STRING,
	  OPT_COMMON(render.fields),
	  .arg = "LIST",
	  .help = "columns" },
	{ .name = "call", .type = OPT_CALL, .call = take, .arg = "good", .help = "a call" },
	{ 0 }
};

static const struct spur_cmd command = { .name = "test",
					 .usage = "",
					 .opts = own,
					 .own_size = sizeof(struct test_own),
					 .takes = TAKES_TRACE | TAKES_FILTERS | TAKES_JSON |
						  TAKES_TIME };

enum { ARGS = 32 };

/* Parses words (NULL-ended) into a fresh `v`. */
static bool parse(struct values *v, const char *const *words)
{
	char *argv[ARGS];
	int n = 0;

	values_init(v);
	for (; words[n]; n++)
		argv[n] = (char *)(uintptr_t)words[n];
	return opt_parse(&command, v, n, argv);
}

#define WORDS_OF(...) ((const char *const[]){ __VA_ARGS__, NULL })

static bool verbose(const struct values *v)
{
	const struct test_own *o = v->own;

	return o->verbose;
}

static void expect_error(const char *message, const char *const *words)
{
	struct values v;

	assert_false(parse(&v, words));
	assert_int_equal(v.err.code, SPUR_ERR_USAGE);
	assert_string_equal(v.err.message, message);
	values_free(&v);
}

static void ways_to_write(void **state)
{
	struct values v;

	(void)state;
	assert_true(parse(&v, WORDS_OF("-v", "--depth", "3", "--time-filter=1.5us", "-fa,b", "-Z2k",
				       "--json", "trace")));
	assert_true(verbose(&v));
	assert_int_equal(v.filter.depth, 3);
	assert_int_equal(v.filter.min_ns, 1500);
	assert_string_equal(v.render.fields, "a,b");
	assert_int_equal(v.filter.min_size, 2048);
	assert_true(v.json);
	assert_int_equal(v.noperands, 1);
	assert_string_equal(v.operands[0], "trace");
	values_free(&v);
	assert_true(parse(&v, WORDS_OF("-vyqf", "x", "-D", "4")));
	assert_true(verbose(&v) && v.force && v.quiet);
	assert_string_equal(v.render.fields, "x");
	assert_int_equal(v.filter.depth, 4);
	values_free(&v);
	assert_true(parse(&v, WORDS_OF("--fields=", "-f", "-v")));
	assert_string_equal(v.render.fields, "-v");
	assert_false(verbose(&v));
	values_free(&v);
}

static void operands(void **state)
{
	struct values v;

	(void)state;
	assert_true(parse(&v, WORDS_OF("-", "--", "-v", "--json", "--")));
	assert_int_equal(v.noperands, 4);
	assert_string_equal(v.operands[0], "-");
	assert_string_equal(v.operands[1], "-v");
	assert_string_equal(v.operands[3], "--");
	assert_false(v.json || verbose(&v));
	values_free(&v);
	assert_true(parse(&v, (const char *const[]){ NULL }));
	assert_int_equal(v.noperands, 0);
	assert_int_equal(v.time, NOT_GIVEN);
	values_free(&v);
}

/* Filters keep their order and may come again; lists join; of others the last one counts. */
static void repeated(void **state)
{
	static const enum filter_what kinds[] = { FILTER_FUNC,	  FILTER_NOTRACE, FILTER_FUNC,
						  FILTER_CALLER,  FILTER_HIDE,	  FILTER_LOCATION,
						  FILTER_TRIGGER, FILTER_LIBRARY };
	struct values v;

	(void)state;
	assert_true(parse(&v, WORDS_OF("-F", "a", "-N", "b", "--filter=c", "-C", "d", "-H", "e",
				       "-L", "f", "-T", "g@depth=1", "--lib", "h", "--tid", "1,2",
				       "--tid=5", "--time", "abs", "--time=raw", "-D1", "-D2")));
	assert_int_equal(v.nitems, 8);
	for (size_t i = 0; i < v.nitems; i++)
		assert_int_equal(v.items[i].what, kinds[i]);
	assert_string_equal(v.items[2].text, "c");
	assert_string_equal(v.items[6].text, "g@depth=1");
	assert_string_equal(v.filter.tids, "1,2,5");
	assert_int_equal(v.time, TIME_RAW);
	assert_int_equal(v.filter.depth, 2);
	values_free(&v);
}

static void wrong(void **state)
{
	(void)state;
	expect_error("unknown option --dpeth; did you mean --depth?", WORDS_OF("--dpeth=3"));
	expect_error("unknown option --zzzzzz; see spur test -h", WORDS_OF("--zzzzzz"));
	expect_error("unknown option -x; see spur test -h", WORDS_OF("-vx"));
	expect_error("--depth: expected N after it", WORDS_OF("--depth"));
	expect_error("--fields: expected LIST after it", WORDS_OF("-f"));
	expect_error("--depth: expected a number, found \"two\"", WORDS_OF("-D", "two"));
	expect_error("--depth: expected a number, found \"99999999999\"",
		     WORDS_OF("-D", "99999999999"));
	expect_error("--depth: expected a number, found \"-1\"", WORDS_OF("-D-1"));
	expect_error(
		"--size-filter: expected a number, with k, m or g behind it at most, found \"3x\"",
		WORDS_OF("-Z3x"));
	expect_error("--size-filter: expected a number, with k, m or g behind it at most, found "
		     "\"18446744073709551615k\"",
		     WORDS_OF("-Z", "18446744073709551615k"));
	expect_error("--time-filter: expected a time like 1.5s, 250ms or 10us, found \"fast\"",
		     WORDS_OF("-t", "fast"));
	expect_error("--time: expected rel, abs, raw, found \"now\"", WORDS_OF("--time=now"));
	expect_error("--json: expected no value, found \"yes\"", WORDS_OF("--json=yes"));
	expect_error("--call: expected good, found \"bad\"", WORDS_OF("--call=bad"));
	expect_error("unknown option --csv; see spur test -h",
		     WORDS_OF("--csv")); /* the command does not take it */
}

static void calls(void **state)
{
	struct values v;

	(void)state;
	assert_true(parse(&v, WORDS_OF("--call", "good", "--no-pager")));
	assert_true(call_text);
	values_free(&v);
}

/* Help and completion rely on it: names are unique within a command, flags have no argument, others
 * have one. */
static bool check_option(void *self, const char *title, const struct opt *o)
{
	const struct opt **seen = self;
	size_t n = 0;

	assert_non_null(title);
	assert_non_null(o->help);
	assert_true(o->type == OPT_CALL || (o->type == OPT_FLAG) == !o->arg);
	assert_true(o->type != OPT_CHOICE || o->choices);
	assert_true(!o->choices || o->arg);
	for (; seen[n]; n++) {
		assert_string_not_equal(seen[n]->name, o->name);
		assert_true(!o->letter || seen[n]->letter != o->letter);
	}
	seen[n] = o;
	return true;
}

static void tables(void **state)
{
	const struct spur_cmd all = { .name = "all", .takes = ~0u };
	const struct opt *seen[WORDS] = { NULL };

	(void)state;
	opt_each(&all, check_option, seen);
	assert_non_null(seen[30]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ways_to_write), cmocka_unit_test(operands),
		cmocka_unit_test(repeated),	 cmocka_unit_test(wrong),
		cmocka_unit_test(calls),	 cmocka_unit_test(tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
