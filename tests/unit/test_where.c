/*
 * Expressions of --where: what they say of hand-made rows, and what is said of wrong ones. Values
 * of arguments and whole traces are compared in tests/cli/where-agrees.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "flow/pipe.h"
#include "unit/fake_trace.h"

/*
 * Rows of one feed: `name` begins a call, `/` ends the innermost, `.name` an instant, `=name` a
 * span of 5 ns, `+N` lets N ns pass. A row takes 1 ns; its only argument is its time.
 */
static struct spur_trace *play(const char *text)
{
	struct spur_trace *t = fake_trace_new();
	char *copy = strdup(text), *save = NULL;
	uint32_t open[64];
	size_t depth = 0;
	int64_t now = 0;

	fake_feed_add(t, 100, "main");
	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		const char *name = strchr("./=", w[0]) ? w + 1 : w;
		struct spur_event *e;

		if (w[0] == '+') {
			now += atoll(w + 1);
			continue;
		}
		e = fake_row(t, 0, SPUR_BEGIN, ++now);
		if (w[0] == '/') {
			e->kind = SPUR_END_SPAN;
			e->cls = open[--depth];
		} else {
			e->cls = fake_class(t, name, CLASS_FUNCTION);
		}
		if (w[0] == '.') {
			e->kind = SPUR_INSTANT;
		} else if (w[0] == '=') {
			e->kind = SPUR_SPAN;
			e->dur = 5;
		} else if (w[0] != '/') {
			open[depth++] = e->cls;
		}
		e->name = trace_class(t, e->cls)->name;
		e->nargs = 1;
		e->id = (uint64_t)now;
	}
	free(copy);
	return t;
}

struct text_out {
	struct spur_trace *t;
	char buf[4096];
	size_t len;
};

static bool collect(void *self, struct spur_event *rows, size_t n)
{
	struct text_out *o = self;

	for (size_t i = 0; i < n; i++)
		o->len += (size_t)snprintf(o->buf + o->len, sizeof(o->buf) - o->len, "%s%s%s",
					   o->len ? " " : "",
					   rows[i].kind == SPUR_END_SPAN ? "/" : "",
					   spur_string(o->t, rows[i].name, NULL));
	return true;
}

static void check_items(const char *script, const struct filter_item *items, size_t n,
			const char *want)
{
	static const size_t batches[] = { 0, 1, 3 };
	struct spur_trace *t = play(script);
	struct text_out *o = malloc(sizeof(*o));

	for (size_t i = 0; i < 3; i++) {
		const struct filter_spec spec = { .items = items,
						  .nitems = n,
						  .match = PATTERN_REGEX };
		struct pipe_options opt = { .threads = 1 };
		struct spur_error err = { 0 };

		fake_rewind(t);
		((struct fake_feed *)t->feeds[0]->state)->batch = batches[i];
		*o = (struct text_out){ .t = t };
		if (filter_new(&opt.filter, t, &spec, &err) != SPUR_OK)
			fail_msg("%s: %s", items[0].text, err.message);
		assert_int_equal(pipe_run_merged(t, &opt, collect, o), SPUR_OK);
		filter_free(opt.filter);
		assert_string_equal(o->buf, want);
	}
	free(o);
	fake_trace_free(t);
}

static void check(const char *script, const char *where, const char *want)
{
	check_items(script, &(struct filter_item){ FILTER_WHERE, where }, 1, want);
}

/* Times: m 1-53, a 12-24 (dur 12), b 13-23 (10), .i 34, =s 35, b 46-52 (6) */
static const char tree[] = "m +10 a b +9 / / +9 .i =s +10 b +5 / /";

static void test_fields(void **state)
{
	(void)state;
	check(tree, "name == \"b\"", "b /b b /b");
	check(tree, "name != 'b'", "m a /a i s /m");
	check(tree, "name =~ \"^[ab]$\"", "a b /b /a b /b");
	check(tree, "kind == instant || kind == \"Span\"", "i s");
	check(tree, "kind =~ \"^(END|INS)\"", "/b /a i /b /m");
	check(tree, "kind != BEGIN && kind != END", "i s");
	check(tree, "depth == 1", "a /a i s b /b");
	check(tree, "depth > 1", "b /b");
	check(tree, "tid == 100 && pid == 1 && thread == \"main\"",
	      "m a b /b /a i s b /b /m");
	check(tree, "tid != 0x64", "");
	check(tree, "cpu == 0", "");
	check(tree, "cpu != 0", "");
	check(tree, "!(cpu == 0) && name == \"i\"", "i");
	check(tree, "module == \"libc\"", "");
	check(tree, "ts >= 11ns && ts < 22ns", "a b");
}

/* Calls are selected whole; what they call is judged for itself. */
static void test_durations(void **state)
{
	(void)state;
	check(tree, "dur > 11ns", "m a /a /m");
	check(tree, "dur >= 10ns && dur <= 12ns", "a b /b /a");
	check(tree, "dur == 10ns", "b /b");
	check(tree, "10ns == dur", "b /b");
	check(tree, "dur < 7ns", "s b /b");
	check(tree, "0.005us >= dur", "s");
	check(tree, "!(dur < 7ns)", "m a b /b /a i /m");
	check(tree, "dur != 10ns", "m a /a s b /b /m");
	check(tree, "dur > 11ns && kind == END", "/a /m");
	/* A call that never ends lasts to the last event of its thread. */
	check("m +10 a +10 .i", "dur > 15ns", "m");
	check("m +10 a +10 .i", "dur < 15ns", "a");
	check("m +10 a +10 .i", "dur == 22ns", "m");
	check("m +10 a +10 .i", "dur == 11ns", "a");
}

/* Unnamed: arg1 of both, and of an END retval. Its value is the time. */
static void test_arguments(void **state)
{
	(void)state;
	check("f g / / .i", "arg.arg1 == 2", "g /g");
	check("f g / / .i", "arg.retval == 3", "g /g");
	check("f g / / .i", "arg.retval > 0", "f g /g /f");
	check("f g / / .i", "arg.retval != 3", "f /f");
	check("f g / / .i", "arg.arg1 == 5", "i");
	check("f g / / .i", "arg.arg2 == 5", "");
	check("f g / / .i", "arg.arg1 == 1.0 || arg.retval <= 3.5", "f g /g /f");
	check("f g / / .i", "arg.arg1 == \"5\"", "");
	check("f g / / .i", "arg.arg1 != null", "f g /g /f i");
	check("f g / / .i", "arg.arg1 == 1 && arg.retval == 4", "f /f");
	check("f g / / .i", "arg.arg1 == 1 && dur == 3ns && name == \"f\"", "f /f");
	/* END without END: BEGIN decides. */
	check("f g", "arg.retval == 3 || arg.arg1 == 2", "g");
}

static void test_operators(void **state)
{
	const char *s = ".a .b .c .d";

	(void)state;
	check(s, "name == \"a\" || name == \"b\" && name == \"c\"", "a");
	check(s, "(name == \"a\" || name == \"b\") && name != \"a\"", "b");
	check(s, "!name == \"a\"", "b c d");
	check(s, "!!(name == \"a\")", "a");
	check(s, "!(name == \"a\" || name == 'b') && !(name == \"\\x63\")", "d");
	check(s, "  name<\"c\"\t&&\n\"a\"!=name  ", "b");
	check_items(s,
		    (const struct filter_item[]){ { FILTER_WHERE, "name > \"a\"" },
						  { FILTER_WHERE, "name < \"d\"" } },
		    2, "b c");
}

static void test_names(void **state)
{
	const char *s = "main / .b =main ma /";

	(void)state;
	check_items(s, (const struct filter_item[]){ { FILTER_NAME, "main" } }, 1,
		    "main /main main");
	check_items(s, (const struct filter_item[]){ { FILTER_NAME, "^m" } }, 1,
		    "main /main main ma /ma");
	check_items(s, (const struct filter_item[]){ { FILTER_NAME, "b" }, { FILTER_NAME, "ma" } },
		    2, "b ma /ma");
	check_items(s,
		    (const struct filter_item[]){ { FILTER_NAME, "^m" },
						  { FILTER_WHERE, "kind == BEGIN" } },
		    2, "main ma");
}

static void test_errors(void **state)
{
	static const struct {
		const char *where, *say;
	} cases[] = {
		{ "", "column 1: expected ts, dur, name, cat, pid, tid, cpu, depth, kind, thread, "
		      "module or arg.NAME, found the end" },
		{ "dur > 5", "column 7: expected a time with its unit (5ns, 10us, 250ms, 1.5s, 2m, "
			     "1h), found 5" },
		{ "nmae == \"x\"", "column 1: expected name, or another field, found nmae" },
		{ "name == foo", "column 9: expected text in quotes (\"foo\"), found foo" },
		{ "name == 5", "column 9: expected text in quotes, found 5" },
		{ "pid == \"x\"", "column 8: expected a number, found \"x\"" },
		{ "pid = 3", "column 5: expected a comparison (== != < <= > >= =~), found =" },
		{ "pid =~ \"x\"", "column 8: expected text on the left of =~, found \"x\"" },
		{ "\"x\" =~ name", "column 1: expected a field on the left of =~, found \"x\"" },
		{ "(pid == 3", "column 10: expected &&, || or ), found the end" },
		{ "pid == 3)", "column 9: expected && or || or the end, found )" },
		{ "pid == 3 tid == 4", "column 10: expected && or || or the end, found tid" },
		{ "arg == 3", "column 4: expected arg.NAME, found  " },
		{ "arg. == 3",
		  "column 5: expected the name of an argument, in quotes if it has other "
		  "characters than letters, digits and _, found  " },
		{ "arg.a == x",
		  "column 10: expected a number, text in quotes, true, false or null, "
		  "found x" },
		{ "arg.a < null", "column 9: expected a number or text (null goes with == and !=), "
				  "found null" },
		{ "name == \"x", "column 11: expected \" that ends the string, found the end" },
		{ "name =~ \"(\"", "column 9: expected a regular expression, found \"(\": " },
		{ "kind == 3",
		  "column 9: expected a kind of event (BEGIN, END, SPAN, INSTANT ...), "
		  "found 3" },
		{ "kind < begin", "column 8: expected ==, != or =~ before a kind, found begin" },
		{ "\xc3\xa4 == 3", "column 1: expected ts, dur" },
		{ "name == \"\xc3\xa4\" && dur == 5", "column 23: expected a time with its unit" },
		{ "cpu == 1.5.2",
		  "column 8: expected a number (3, -3, 0x1f, 1.5, 10us), found 1.5.2" },
		{ "ts > 0.5 || pid == 3", "column 6: expected a unit behind \"0.5\"" },
		{ "ts > \"soon\"", "column 6: expected a time (1.5s" },
		{ "pid == 3 & tid == 4", "column 10: expected && or || or the end, found &" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct filter_item item = { FILTER_WHERE, cases[i].where };
		struct spur_trace *t = play("m /");
		struct spur_error err = { 0 };
		struct filter *f;
		char want[400];

		if (filter_new(&f, t, &(struct filter_spec){ .items = &item, .nitems = 1 },
			       &err) != SPUR_FAIL)
			fail_msg("%s: accepted", cases[i].where);
		snprintf(want, sizeof(want), "--where: %s", cases[i].say);
		if (err.code != SPUR_ERR_USAGE || strncmp(err.message, want, strlen(want)) != 0)
			fail_msg("%s: %s", cases[i].where, err.message);
		fake_trace_free(t);
	}
}

/* Whole numbers that could be a clock's, and limits. */
static void test_limits(void **state)
{
	struct spur_trace *t = play("m /");
	char *deep = malloc(8192), *wide = malloc(32768);
	struct filter_item item = { FILTER_WHERE, deep };
	const struct filter_spec spec = { .items = &item, .nitems = 1 };
	struct spur_error err = { 0 };
	struct filter *f;

	(void)state;
	memset(deep, '(', 4000);
	strcpy(deep + 4000, "pid == 3");
	assert_int_equal(filter_new(&f, t, &spec, &err), SPUR_FAIL);
	assert_string_equal(err.message,
			    "--where: column 65: expected at most 64 levels of ! and (, found (");
	strcpy(wide, "pid == 1");
	for (size_t i = 0; i < 2000; i++)
		strcpy(wide + 8 + 12 * i, " || pid == 2");
	item.text = wide;
	assert_int_equal(filter_new(&f, t, &spec, &err), SPUR_FAIL);
	assert_string_equal(err.message,
			    "--where: expected at most 1024 comparisons and operators");
	wide[8 + 12 * 200] = '\0';
	assert_int_equal(filter_new(&f, t, &spec, &err), SPUR_OK);
	filter_free(f);
	free(deep);
	free(wide);
	fake_trace_free(t);
}

static void expect_notes(const char *script, const struct filter_item *item, const char *want)
{
	struct spur_trace *t = play(script);
	const struct filter_spec spec = { .items = item, .nitems = 1 };
	struct pipe_options opt = { .threads = 1 };
	struct text_out *o = malloc(sizeof(*o));
	struct spur_error err;
	struct out notes;

	*o = (struct text_out){ .t = t };
	out_to_memory(&notes);
	assert_int_equal(filter_new(&opt.filter, t, &spec, &err), SPUR_OK);
	assert_int_equal(pipe_run_merged(t, &opt, collect, o), SPUR_OK);
	filter_where_notes(opt.filter, &notes);
	out_char(&notes, '\0');
	assert_string_equal(notes.buf, want);
	out_free(&notes);
	filter_free(opt.filter);
	free(o);
	fake_trace_free(t);
}

static void test_notes(void **state)
{
	(void)state;
	expect_notes("main /", &(struct filter_item){ FILTER_NAME, "mian" },
		     "spur: note: --name: no event is named mian; did you mean main?\n");
	expect_notes(
		"main /", &(struct filter_item){ FILTER_WHERE, "name == \"mian\"" },
		"spur: note: --where: true for no event: name == \"mian\"; did you mean main?\n");
	expect_notes("main /",
		     &(struct filter_item){ FILTER_WHERE, "name == \"main\" && arg.fd==3" },
		     "spur: note: --where: no event that it was asked of has the argument: "
		     "arg.fd==3\n");
	expect_notes("main /", &(struct filter_item){ FILTER_WHERE, "arg.arg1 > 9" },
		     "spur: note: --where: true for no event: arg.arg1 > 9\n");
	expect_notes("main /", &(struct filter_item){ FILTER_NAME, "main" }, "");
}

static void test_memory_failures(void **state)
{
	const struct filter_item items[] = { { FILTER_WHERE, "dur > 5ns && arg.retval > 3" },
					     { FILTER_NAME, "^[mab]" },
					     { FILTER_WHERE, "name =~ \"m|a|b\"" } };
	const struct filter_spec spec = { .items = items, .nitems = 3, .match = PATTERN_REGEX };
	struct text_out *o = malloc(sizeof(*o));
	struct spur_error err;
	uint64_t total = 0;

	(void)state;
	for (uint64_t n = 0; n <= total; n++) {
		struct spur_trace *t = play(tree);
		struct pipe_options opt = { .threads = 1 };
		enum spur_status st;

		*o = (struct text_out){ .t = t };
		mem_fail_at(n ? n : UINT64_MAX);
		st = filter_new(&opt.filter, t, &spec, &err);
		if (st == SPUR_OK)
			st = pipe_run_merged(t, &opt, collect, o);
		if (!n)
			total = mem_count();
		mem_fail_at(0);
		filter_free(opt.filter);
		if (!n)
			assert_string_equal(o->buf, "m a b /b /a b /b /m");
		else if (st == SPUR_OK)
			assert_true(mem_failures() != t->mem_failures);
		fake_trace_free(t);
	}
	assert_true(total > 20);
	free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),	  cmocka_unit_test(test_durations),
		cmocka_unit_test(test_arguments), cmocka_unit_test(test_operators),
		cmocka_unit_test(test_names),	  cmocka_unit_test(test_errors),
		cmocka_unit_test(test_limits),	  cmocka_unit_test(test_notes),
		cmocka_unit_test(test_memory_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
