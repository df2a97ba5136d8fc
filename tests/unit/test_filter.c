/*
 * The filter on hand-made rows: what each option lets pass, in any batch size, and that failures
 * are passed on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/filter_play.h"

static void check_items(const char *script, const struct filter_item *items, size_t n, int depth,
			const char *want)
{
	struct filter_spec spec = {
		.items = items, .nitems = n, .match = PATTERN_REGEX, .depth = depth
	};

	check(script, &spec, want);
}

#define ITEMS(...)                                   \
	(const struct filter_item[]){ __VA_ARGS__ }, \
		sizeof((const struct filter_item[]){ __VA_ARGS__ }) / sizeof(struct filter_item)

static const char tree[] = "main a b / c b / / / d b / / /";
static const char tree_all[] = "main a b /b c b /b /c /a d b /b /d /main";

static void test_functions(void **state)
{
	(void)state;
	check_items(tree, ITEMS({ FILTER_FUNC, "a" }), 0, "a b /b c b /b /c /a");
	check_items(tree, ITEMS({ FILTER_FUNC, "c;d" }), 0, "c b /b /c d b /b /d");
	check_items(tree, ITEMS({ FILTER_NOTRACE, "a" }), 0, "main d b /b /d /main");
	check_items(tree, ITEMS({ FILTER_FUNC, "a" }, { FILTER_NOTRACE, "c" }), 0, "a b /b /a");
	check_items(tree, ITEMS({ FILTER_FUNC, "!a" }), 0, "main d b /b /d /main");
	check_items(tree, ITEMS({ FILTER_FUNC, "^[cd]$" }), 0, "c b /b /c d b /b /d");
	check_items(tree, ITEMS({ FILTER_HIDE, "a" }), 0, "main b /b c b /b /c d b /b /d /main");
	check_items(tree, ITEMS({ FILTER_CALLER, "c" }), 0, "main a c /c /a /main");
	check_items(tree, ITEMS({ FILTER_CALLER, "b" }), 0,
		    "main a b /b c b /b /c /a d b /b /d /main");
	check_items(tree, ITEMS({ FILTER_FUNC, "nothing" }), 0, "");
	check_items(tree, ITEMS({ FILTER_FUNC, "a@notthere.so" }), 0, "");
	check_items(tree, ITEMS({ FILTER_FUNC, "a@kernel" }), 0, "");
}

/* The same function inside itself; the count must come back to zero at the outer end. */
static void test_nesting(void **state)
{
	(void)state;
	check_items("m f g f / / / h / /", ITEMS({ FILTER_FUNC, "f" }), 0, "f g f /f /g /f");
	check_items("m f g f / / h / / h / /", ITEMS({ FILTER_NOTRACE, "f" }), 0, "m h /h /m");
	check_items("m n f / / f n f / / / /", ITEMS({ FILTER_FUNC, "f" }, { FILTER_NOTRACE, "n" }),
		    0, "f /f");
}

/* SPEC uftrace/filter-depth */
static void test_depth(void **state)
{
	(void)state;
	check_items(tree, NULL, 0, 1, "main /main");
	check_items(tree, NULL, 0, 2, "main a /a d /d /main");
	check_items(tree, ITEMS({ FILTER_FUNC, "a" }), 2, "a b /b c /c /a");
	check_items(tree, ITEMS({ FILTER_FUNC, "a" }, { FILTER_FUNC, "c" }), 2,
		    "a b /b c b /b /c /a");
	check_items(tree, ITEMS({ FILTER_HIDE, "a" }), 2, "main b /b c /c d /d /main");
	check_items(tree, ITEMS({ FILTER_FUNC, "main@depth=2" }), 0, "main a /a d /d /main");
	check_items(tree, ITEMS({ FILTER_TRIGGER, "a@depth=1" }), 0, "main a /a d b /b /d /main");
	check_items(tree, ITEMS({ FILTER_TRIGGER, "a@depth=2" }), 2,
		    "main a b /b c /c /a d /d /main");
}

static void check_class(const char *script, const struct filter_item *items, size_t n, int depth,
			int64_t min_ns, const char *want)
{
	const struct filter_spec spec = { .items = items,
					  .nitems = n,
					  .match = PATTERN_REGEX,
					  .depth = depth,
					  .min_ns = min_ns };

	check_as(script, false, &spec, want);
}

/* ENDs that name their function: it ends, and what is inside it, without a row of its own. */
static void test_ends_by_class(void **state)
{
	static const char thrown[] = "m a b c +200 /a d /d /m n /n";

	(void)state;
	check_class(thrown, ITEMS({ FILTER_FUNC, "b" }), 0, 0, "b c");
	check_class(thrown, ITEMS({ FILTER_FUNC, "a" }), 0, 0, "a b c /a");
	check_class(thrown, ITEMS({ FILTER_FUNC, "b" }, { FILTER_FUNC, "d" }), 0, 0, "b c d /d");
	check_class(thrown, ITEMS({ FILTER_NOTRACE, "b" }), 0, 0, "m a /a d /d /m n /n");
	check_class(thrown, ITEMS({ FILTER_CALLER, "c" }), 0, 0, "m a b c /a /m");
	check_class(thrown, ITEMS({ FILTER_HIDE, "a" }), 0, 0, "m b c d /d /m n /n");
	check_class(thrown, NULL, 0, 2, 0, "m a /a d /d /m n /n");
	check_class(thrown, NULL, 0, 0, 100, "m a b c /a /m");
	check_class("m a b c +50 /a d +100 /d /m", NULL, 0, 0, 100, "m d /d /m");
	check_class("m a f b f c /f g /f h /a /m", ITEMS({ FILTER_FUNC, "b" }), 0, 0, "b f c /f g");
	check_class("m a > /m n /n", NULL, 0, 0, 1, "m a > /m n /n");
}

/*
 * SPEC uftrace/orphan-exit, also where the END names a function that is not open and whose BEGIN
 * may be lost: it changes nothing.
 */
static void test_orphan_ends(void **state)
{
	(void)state;
	check_class("/x m f ~y / / /z", ITEMS({ FILTER_FUNC, "f" }), 0, 0, "/x f /y /f /z");
	check_class("/x m f ~y g / / / /z", ITEMS({ FILTER_NOTRACE, "f" }), 0, 0, "/x m /m /z");
	check_class("/x m f ~y g / / / /z", NULL, 0, 2, 0, "/x m f /y /f /m /z");
	check_class("/x m f ~y / +200 / /z", NULL, 0, 0, 100, "/x m /m /z");
	check_class("/x m f ~y +200 / / /z", NULL, 0, 0, 100, "/x m f /y /f /m /z");
}

/* Functions whose BEGINs are not in the data lie between others, and have no rows but ENDs. */
static void test_missing_begins(void **state)
{
	const struct filter_item f = { FILTER_FUNC, "f" }, g = { FILTER_FUNC, "g" };
	const struct filter_spec only_f = { .items = &f, .nitems = 1, .match = PATTERN_REGEX },
				 only_g = { .items = &g, .nitems = 1, .match = PATTERN_REGEX },
				 t100 = { .min_ns = 100 }, d1 = { .depth = 1 }, d2 = { .depth = 2 };

	(void)state;
	check("^2 m f / g +200 / / /", &t100, "m g /g /m /?");
	check("^2 m f / g / / /", &only_g, "g /g /?");
	check_as("m ^3 f / / / +200 /", true, &t100, "m /? /? /m");
	check_as("m ^3 f +200 / / / /", true, &t100, "m f /f /? /? /m");
	check_as("m ^3 f +50 / / / /", true, &t100, "");
	check_as("m ^3 f / / / /", true, &only_f, "f /f /? /?");
	check_as("m ^3 f / / / /", true, &d1, "m /? /? /m");
	check_as("m ^3 f / / / /", true, &d2, "m f /f /? /? /m");
	/* g implies that f and what lay between ended. */
	check_as("m ^3 f ^1 g / /", true, &d2, "m f g /g /m");
	check_as("m ^3 f ^1 g h / / /", true, &d2, "m f g /g /m");
	check_as("m ^3 f ^1 g +200 / /", true, &t100, "m g /g /m");
	check_as("m +200 ^3 f > +10 < ^1 g +200 / /", true, &t100, "m g /g /m");
}

/*
 * An END of a function that was open before the data begins: what is open lies inside it, and ends
 * with it.
 */
static void test_outer_ends(void **state)
{
	(void)state;
	/* f throws, y catches; g is called by what called y. */
	check_class("f g / /y h / /z", ITEMS({ FILTER_FUNC, "f" }), 0, 0, "f g /g /y /z");
	check_class("f /y g h / / /z", ITEMS({ FILTER_NOTRACE, "f" }), 0, 0, "/y g h /h /g /z");
	check_class("f /y g h / / /z", NULL, 0, 1, 0, "f /y g /g /z");
	check_class("f +10 /y g +200 / /z", NULL, 0, 0, 100, "/y g /g /z");
	check_class("f +200 /y g +20 / /z", NULL, 0, 0, 100, "f /y /z");
}

static struct marked_rows marked(struct spur_event *rows, size_t n)
{
	return (struct marked_rows){ .rows = rows, .n = n };
}

/* What is decided does not wait: a frame that was implied ended is not waited for. */
static void test_nothing_is_stuck(void **state)
{
	static const struct {
		const char *script;
		size_t shown; /* by then */
	} cases[] = { { "m a b +500 /a", 4 },
		      { "m a b +10 /a +300 /m", 2 },
		      { "m a b c +10 /a d /d +300 /m", 2 },
		      { "m a b +10 /m n +200 /n", 2 },
		      { "m a > +10 /m", 1 },
		      { "m a ~z +10 /m", 0 },
		      { "m a /z +10 /m", 2 } };
	const struct filter_spec t100 = { .min_ns = 100 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct spur_trace *t = play_as(cases[i].script, false);
		struct fake_feed *k = t->feeds[0]->state;
		struct spur_error err;
		struct marked_rows out;
		struct filter *f;
		struct filter_run *r;

		assert_int_equal(filter_new(&f, t, &t100, &err), SPUR_OK);
		r = filter_run_new(f, FILTER_ALL);
		assert_int_equal(filter_rows(r, marked(k->rows, k->count), &out), SPUR_OK);
		assert_int_equal(out.n, cases[i].shown);
		assert_int_equal(filter_rows(r, (struct marked_rows){ 0 }, &out), SPUR_OK);
		assert_int_equal(out.n, 0);
		filter_run_free(r);
		filter_free(f);
		fake_trace_free(t);
	}
}

/* A million ENDs of what is not open, a million deep. */
static void test_hostile_ends(void **state)
{
	enum { MANY = 1000000 };
	const struct filter_item item = { FILTER_FUNC, "m" };
	const struct filter_spec specs[] = { { .min_ns = 100 }, { .items = &item, .nitems = 1 } };
	const clock_t start = clock();

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct spur_trace *t = play("m");
		struct spur_event row = { .cls = fake_class(t, "m", CLASS_FUNCTION) };
		struct marked_rows out;
		struct spur_error err;
		struct filter *f;
		struct filter_run *r;
		size_t total = 0;

		assert_int_equal(filter_new(&f, t, &specs[i], &err), SPUR_OK);
		r = filter_run_new(f, FILTER_ALL);
		for (int k = 0; k < 3 * MANY; k++) {
			if (k == MANY)
				row = (struct spur_event){ .kind = SPUR_END_SPAN,
							   .flags = SPUR_F_GAP,
							   .cls = fake_class(t, "x",
									     CLASS_FUNCTION) };
			if (k == 2 * MANY)
				row.cls = fake_class(t, "m", CLASS_FUNCTION);
			row.ts = k;
			assert_int_equal(filter_rows(r, marked(&row, 1), &out), SPUR_OK);
			total += out.n;
		}
		assert_int_equal(filter_rows(r, (struct marked_rows){ 0 }, &out), SPUR_OK);
		assert_int_equal(total + out.n, 3 * MANY);
		filter_run_free(r);
		filter_free(f);
		fake_trace_free(t);
	}
	assert_true(clock() - start < 30 * CLOCKS_PER_SEC);
}

static void test_events_follow_the_function(void **state)
{
	(void)state;
	check_items(".x m .y f .z / .w / .v", ITEMS({ FILTER_FUNC, "f" }), 0, "f .z /f");
	check_items(".x m .y f .z / .w / .v", ITEMS({ FILTER_NOTRACE, "f" }), 0,
		    ".x m .y .w /m .v");
	check_items(".x m .y f > < / .w /", NULL, 0, 1, ".x m /m");
	check_items("m f ! / /", ITEMS({ FILTER_FUNC, "g" }), 0, "!");
}

/* SPEC uftrace/trace-off */
static void test_trace_on_off(void **state)
{
	(void)state;
	check_items(tree, ITEMS({ FILTER_TRIGGER, "c@trace_off" }), 0, "main a b /b");
	check_items(tree, ITEMS({ FILTER_TRIGGER, "c@traceoff;d@trace_on" }), 0,
		    "main a b /b d b /b /d /main");
	/* All threads see it. */
	check_items("m @1 w @0 stop @1 x / / @0 go @1 y /",
		    ITEMS({ FILTER_TRIGGER, "stop@trace-off" }, { FILTER_TRIGGER, "go@trace-on" }),
		    0, "m w go y /y");
}

/* SPEC uftrace/time-filter */
static void test_time(void **state)
{
	const struct filter_spec t100 = { .min_ns = 100 };

	(void)state;
	check("m f / g +200 / /", &t100, "m g /g /m");
	check("m f g h +99 / / / /", &t100, "m f g h /h /g /f /m");
	check("m f g h +98 / / / /", &t100, "m f g /g /f /m");
	check("m f / / n /", &t100, "");
	check("m f g", &t100, "m f g");
	check("m f .x / .y g +200 / .z /", &t100, "m .x .y g /g .z /m");
	check("m f ! / /", &t100, "m f ! /f /m");
	check("m > < / n > +150 < /", &t100, "n > < /n");
	check("m f > +150 / /", &t100, "m f > /f /m");
}

static void test_time_triggers(void **state)
{
	const struct filter_item up[] = { { FILTER_TRIGGER, "a@time=500ns" } },
				 down[] = { { FILTER_TRIGGER, "b@time=0" } },
				 always[] = { { FILTER_TRIGGER, "f@trace" } };
	const struct filter_spec t_up = { .min_ns = 100, .items = up, .nitems = 1 };
	const struct filter_spec t_down = { .min_ns = 100, .items = down, .nitems = 1 };
	const struct filter_spec t_always = { .min_ns = 100, .items = always, .nitems = 1 };

	(void)state;
	check("m a +200 b +150 / / c +120 / /", &t_up, "m c /c /m");
	check("m a b / / c / /", &t_down, "m a b /b /a /m");
	check("m a / f / / n f / /", &t_always, "m f /f /m n f /f /n");
}

/*
 * What uftrace's recorder reads at a function's ends falls with it; markers of the user are shown
 * with what is around them.
 */
static void test_events_of_uftrace(void **state)
{
	struct spur_trace *t = play("m f .read / .read g .sdt / / n .read / ");
	struct filter_spec t100 = { .min_ns = 100 };
	struct text_out *o = malloc(sizeof(*o));
	struct spur_error err;

	(void)state;
	t->classes[0][fake_class(t, "read", 0)].flags |= CLASS_INSIDE;
	t->classes[0][fake_class(t, "sdt", 0)].flags |= CLASS_MARKER;
	assert_int_equal(run(t, &t100, o, &err), SPUR_OK);
	assert_string_equal(o->buf, "m .read g .sdt /g /m");
	free(o);
	fake_trace_free(t);
}

static void test_limits_of_waiting(void **state)
{
	struct filter_spec t100 = { .min_ns = 1000000000 };
	struct spur_trace *t = play("m");
	struct spur_error err;
	struct text_out *o = malloc(sizeof(*o));
	struct filter *f;
	struct filter_run *r;
	struct marked_rows out;
	size_t total = 0;

	(void)state;
	assert_int_equal(filter_new(&f, t, &t100, &err), SPUR_OK);
	r = filter_run_new(f, FILTER_ALL);
	for (int i = 0; i < 600000; i++) {
		struct spur_event e = ((struct fake_feed *)t->feeds[0]->state)->rows[0];

		e.ts = i;
		if (i) {
			e.kind = SPUR_INSTANT;
			e.cls = fake_class(t, "x", CLASS_EVENT);
		}
		assert_int_equal(filter_rows(r, marked(&e, 1), &out), SPUR_OK);
		do
			total += out.n;
		while (filter_rest(r, &out));
	}
	assert_true(total > 300000);
	assert_int_equal(filter_rows(r, (struct marked_rows){ 0 }, &out), SPUR_OK);
	do {
		assert_true(out.n <= 4096);
		total += out.n;
	} while (filter_rest(r, &out));
	assert_int_equal(total, 600000);
	filter_run_free(r);
	filter_free(f);
	free(o);
	fake_trace_free(t);
}

/*
 * Several tracks in one feed: what waits of one holds back the others, so that time never goes
 * back.
 */
static void test_tracks_in_one_feed(void **state)
{
	struct spur_trace *t = fake_trace_new();
	struct filter_spec t100 = { .min_ns = 100 };
	struct text_out *o = malloc(sizeof(*o));
	struct spur_error err;
	static const struct {
		unsigned kind;
		uint32_t track;
		int64_t ts;
		const char *name;
	} rows[] = {
		{ SPUR_BEGIN, 0, 1, "a" },	{ SPUR_BEGIN, 1, 2, "b" },
		{ SPUR_BEGIN, 1, 3, "c" },	{ SPUR_END_SPAN, 1, 4, "c" },
		{ SPUR_BEGIN, 0, 90, "d" },	{ SPUR_END_SPAN, 1, 150, "b" },
		{ SPUR_END_SPAN, 0, 160, "d" }, { SPUR_END_SPAN, 0, 170, "a" },
		{ SPUR_BEGIN, 2, 180, "e" },	{ SPUR_BEGIN, 0, 190, "f" },
		{ SPUR_END_SPAN, 2, 200, "e" }, { SPUR_END_SPAN, 0, 210, "f" },
	};

	(void)state;
	fake_feed_add(t, 1, "x");
	fake_feed_add(t, 2, "y");
	fake_feed_add(t, 3, "z");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct spur_event *e = fake_row(t, 0, rows[i].kind, rows[i].ts);

		e->track = rows[i].track;
		e->cls = fake_class(t, rows[i].name, 0);
		e->name = trace_class(t, e->cls)->name;
	}
	assert_int_equal(run(t, &t100, o, &err), SPUR_OK);
	assert_string_equal(o->buf, "a b /b /a");
	free(o);
	fake_trace_free(t);
}

static void test_size(void **state)
{
	struct spur_trace *t = play(tree);
	struct filter_spec spec = { .min_size = 50 };
	struct text_out *o = malloc(sizeof(*o));
	struct spur_error err;

	(void)state;
	for (uint32_t i = 1; i < trace_class_count(t); i++) {
		struct event_class *c = &t->classes[0][i];

		c->size = strchr("ac", spur_string(t, c->name, NULL)[0]) ? 60 : 40;
	}
	assert_int_equal(run(t, &spec, o, &err), SPUR_OK);
	assert_string_equal(o->buf, "a c /c /a");
	free(o);
	fake_trace_free(t);
}

static void test_places_and_modules(void **state)
{
	struct spur_trace *t = play(tree);
	struct text_out *o = malloc(sizeof(*o));
	struct spur_error err;
	static const struct {
		struct filter_item item;
		const char *want;
	} cases[] = {
		{ { FILTER_LOCATION, "util" }, "a /a" },
		{ { FILTER_LOCATION, "c.c" }, "c /c" },
		{ { FILTER_LOCATION, "!util" }, "main b /b c b /b /c d b /b /d /main" },
		{ { FILTER_LOCATION, "util@hide" }, "main b /b c b /b /c d b /b /d /main" },
		{ { FILTER_LIBRARY, "libx.so" }, "c /c" },
		{ { FILTER_LIBRARY, "/lib/libx.so" }, "c /c" },
		{ { FILTER_FUNC, "c@libx" }, "c b /b /c" },
		{ { FILTER_FUNC, "c@liby" }, "" },
		{ { FILTER_FUNC, "d@plt" }, "d b /b /d" },
	};

	(void)state;
	for (uint32_t i = 1; i < trace_class_count(t); i++) {
		struct event_class *c = &t->classes[0][i];

		if (spur_string(t, c->name, NULL)[0] == 'a')
			c->file = trace_intern(t, "src/util/a.h");
		if (spur_string(t, c->name, NULL)[0] == 'c') {
			c->file = trace_intern(t, "src/c.c");
			c->module = trace_intern(t, "/lib/libx.so");
		}
		if (spur_string(t, c->name, NULL)[0] == 'd')
			c->flags |= CLASS_LIBRARY;
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct filter_spec spec = { .items = &cases[i].item,
					    .nitems = 1,
					    .match = PATTERN_REGEX };

		fake_rewind(t);
		assert_int_equal(run(t, &spec, o, &err), SPUR_OK);
		assert_string_equal(o->buf, cases[i].want);
	}
	free(o);
	fake_trace_free(t);
}

static void test_conditions(void **state)
{
	(void)state;
	/* A function's argument is the time at which it opens. */
	check_items("f / f / f /", ITEMS({ FILTER_FUNC, "f@if:arg1==3" }), 0, "f /f");
	check_items("f / f / f /", ITEMS({ FILTER_FUNC, "f@if:arg1>=3" }), 0, "f /f f /f");
	check_items("f / f / f /", ITEMS({ FILTER_FUNC, "f@if:arg1 < 0x5" }), 0, "f /f f /f");
	check_items("f / f / f /", ITEMS({ FILTER_NOTRACE, "f@if:arg1!=3" }), 0, "f /f");
	check_items("f / f / f /", ITEMS({ FILTER_FUNC, "f@if:arg2==3" }), 0, "");
}

/* SPEC uftrace/no-sched-preempt */
static void test_rows(void **state)
{
	const char *script = "m > < >p < .x / @1 w .y / @2 v /";

	(void)state;
	check(script, &(struct filter_spec){ .no_sched = true }, "m .x /m w .y /w v /v");
	check(script, &(struct filter_spec){ .no_sched_preempt = true },
	      "m > < .x /m w .y /w v /v");
	check(script, &(struct filter_spec){ .no_event = true }, "m /m w /w v /v");
	check(script, &(struct filter_spec){ .kinds = "begin,INSTANT" }, "m .x w .y v");
	check(script, &(struct filter_spec){ .tids = "101" }, "w .y /w");
	check(script, &(struct filter_spec){ .tids = "101-102" }, "w .y /w v /v");
	check(script, &(struct filter_spec){ .tids = "7:100,9" }, "m > < > < .x /m");
	check(script, &(struct filter_spec){ .pids = "1", .tids = "102" }, "v /v");
	check(script, &(struct filter_spec){ .pids = "2" }, "");
	check(script, &(struct filter_spec){ .threads = "worker-1", .match = PATTERN_EXACT },
	      "w .y /w");
	check(script, &(struct filter_spec){ .threads = "worker-*", .match = PATTERN_GLOB },
	      "w .y /w v /v");
	check(script, &(struct filter_spec){ .cpus = "0" }, "");
}

static void flag_class(struct spur_trace *t, char name, uint32_t flags)
{
	for (uint32_t i = 1; i < trace_class_count(t); i++)
		if (spur_string(t, t->classes[0][i].name, NULL)[0] == name)
			t->classes[0][i].flags |= flags;
}

/* Library calls, the kernel's functions, and tracing that is off from the start. */
static void test_origins(void **state)
{
	static const struct filter_item on[] = { { FILTER_TRIGGER, "u@trace_on" } };
	static const struct {
		struct filter_spec spec;
		const char *want;
	} cases[] = {
		{ { .no_libcall = true }, "m k /k u /u /m" },
		{ { .no_libcall = true, .depth = 2 }, "m u /u /m" },
		{ { .kernel_only = true }, "k /k" },
		{ { .trace_off = true }, "" },
		{ { .trace_off = true, .items = on, .nitems = 1 }, "u d /d /u /m" },
	};
	struct spur_trace *t = play("m d k / / u d / / /");
	struct text_out *o = malloc(sizeof(*o));
	struct spur_error err;

	(void)state;
	flag_class(t, 'd', CLASS_LIBRARY);
	flag_class(t, 'k', CLASS_KERNEL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake_rewind(t);
		assert_int_equal(run(t, &cases[i].spec, o, &err), SPUR_OK);
		assert_string_equal(o->buf, cases[i].want);
	}
	free(o);
	fake_trace_free(t);
}

/* SPEC uftrace/clear */
static void test_clear(void **state)
{
	(void)state;
	check_items(tree, ITEMS({ FILTER_FUNC, "a" }, { FILTER_FUNC, "a@clear" }), 0, tree_all);
	check_items(tree, ITEMS({ FILTER_FUNC, "a;c" }, { FILTER_FUNC, "a@clear" }), 0,
		    "c b /b /c");
	check_items(tree, ITEMS({ FILTER_NOTRACE, "a;c" }, { FILTER_TRIGGER, "a@clear=notrace" }),
		    0, "main a b /b /a d b /b /d /main");
	check_items(tree, ITEMS({ FILTER_NOTRACE, "a" }, { FILTER_TRIGGER, "a@clear=depth" }), 0,
		    "main d b /b /d /main");
	check_items(tree,
		    ITEMS({ FILTER_TRIGGER, "a@depth=1" }, { FILTER_TRIGGER, "a@clear,hide" }), 0,
		    "main b /b c b /b /c d b /b /d /main");
}

/* What no function, thread, process, CPU or kind answers to is told at the end. */
static void test_notes(void **state)
{
	static const struct filter_item items[] = {
		{ FILTER_HIDE, "nosuch,a" },  { FILTER_NOTRACE, "b" }, { FILTER_LOCATION, "!x.c" },
		{ FILTER_TRIGGER, "c@hide" },
	};
	const struct filter_spec spec = { .items = items,
					  .nitems = 4,
					  .match = PATTERN_REGEX,
					  .tids = "100,7-9",
					  .pids = "1,3",
					  .cpus = "5",
					  .threads = "main,nobody",
					  .kinds = "begin,counter" };
	struct spur_trace *t = play(tree);
	struct pipe_options opt = { .threads = 1 };
	struct text_out *o = calloc(1, sizeof(*o));
	struct spur_error err;
	struct out notes;

	(void)state;
	o->t = t;
	out_to_memory(&notes);
	assert_int_equal(filter_new(&opt.filter, t, &spec, &err), SPUR_OK);
	assert_int_not_equal(pipe_run_merged(t, &opt, collect, o), SPUR_FAIL);
	filter_note_unmatched(opt.filter, &notes);
	out_char(&notes, '\0');
	assert_string_equal(
		notes.buf,
		"spur: note: -H nosuch,a: no function of that name was read (a semicolon "
		"separates names)\n"
		"spur: note: -L !x.c: no function of that source file was read\n"
		"spur: note: --tid=7-9: no thread of that number was read\n"
		"spur: note: --pid=3: no process of that number was read\n"
		"spur: note: --thread=nobody: no thread of that name was read\n"
		"spur: note: --cpu=5: no event of that CPU is among those that pass otherwise\n"
		"spur: note: --kind=COUNTER: no event of that kind is among those that pass "
		"otherwise\n");
	out_free(&notes);
	filter_free(opt.filter);
	free(o);
	fake_trace_free(t);
}

/* For passes that account what they do not show: nothing but the marks is different. */
static void test_unseen_rows(void **state)
{
	static const struct filter_item items[] = { { FILTER_NOTRACE, "f" },
						    { FILTER_TRIGGER, "off@trace_off" } };
	const struct filter_spec spec = { .items = items, .nitems = 2, .no_sched = true };
	struct pipe_options opt = { .threads = 1 };
	struct spur_trace *t = play("m > < f .x / g / off g / / /");
	static const uint32_t off = ROW_MUTED | ROW_TRACE_OFF;
	const uint32_t want[] = { 0, ROW_MUTED, ROW_MUTED, 1, 1, 1, 0,
				  0, off,	ROW_MUTED, 1, 1, 1 };
	const unsigned facts = SPUR_F_DEPTH | SPUR_F_OUT | SPUR_F_IN | SPUR_F_GAP;
	struct marked_rows rows;
	struct spur_error err;
	struct merge *m;
	size_t seen = 0;

	(void)state;
	assert_int_equal(filter_new(&opt.filter, t, &spec, &err), SPUR_OK);
	filter_keep_unseen(opt.filter);
	m = merge_new(t, opt.filter);
	while (merge_marked(m, &rows) == SPUR_OK)
		for (size_t i = 0; i < rows.n; i++, seen++) {
			const unsigned marks = row_marks(rows.marks, i);

			assert_in_range(seen, 0, 12);
			assert_int_equal((marks & ROW_UNSEEN) != 0, want[seen] != 0);
			assert_int_equal(marks & (ROW_MUTED | ROW_TRACE_OFF), want[seen] & ~1u);
			/* Flags are facts of the data, which a filter does not change. */
			assert_int_equal(rows.rows[i].flags & ~facts, 0);
		}
	assert_int_equal(seen, 13);
	merge_free(m);
	filter_free(opt.filter);
	fake_trace_free(t);
}

/* A function that lacks its END, and ENDs that lack their BEGIN. SPEC uftrace/orphan-exit */
static void test_damaged_stacks(void **state)
{
	static const struct {
		unsigned kind;
		uint16_t depth;
		int64_t ts;
		const char *name;
	} rows[] = {
		{ SPUR_END_SPAN, 3, 1, "x" },	{ SPUR_BEGIN, 0, 2, "m" },
		{ SPUR_BEGIN, 1, 3, "f" },	{ SPUR_BEGIN, 2, 4, "g" },
		{ SPUR_BEGIN, 1, 300, "h" },	{ SPUR_END_SPAN, 1, 301, "h" },
		{ SPUR_END_SPAN, 4, 302, "y" }, { SPUR_END_SPAN, 0, 303, "m" },
	};
	static const struct {
		struct filter_item item;
		int64_t min_ns;
		const char *want;
	} cases[] = {
		{ { FILTER_FUNC, "f" }, 0, "/x f g /y" },
		{ { FILTER_NOTRACE, "f" }, 0, "/x m h /h /y /m" },
		{ { FILTER_HIDE, "none" }, 100, "/x m f g /y /m" },
	};
	struct spur_trace *t = fake_trace_new();
	struct text_out *o = malloc(sizeof(*o));
	struct spur_error err;

	(void)state;
	fake_feed_add(t, 1, "x");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct spur_event *e = fake_row(t, 0, rows[i].kind, rows[i].ts);

		e->depth = rows[i].depth;
		e->flags = SPUR_F_DEPTH;
		e->cls = fake_class(t, rows[i].name, 0);
		e->name = trace_class(t, e->cls)->name;
	}
	for (size_t i = 0; i < 3; i++) {
		struct filter_spec spec = { .items = &cases[i].item,
					    .nitems = 1,
					    .min_ns = cases[i].min_ns };

		fake_rewind(t);
		assert_int_equal(run(t, &spec, o, &err), SPUR_OK);
		assert_string_equal(o->buf, cases[i].want);
	}
	free(o);
	fake_trace_free(t);
}

static void expect_usage(const struct filter_spec *spec, const char *say)
{
	struct spur_trace *t = play("m /");
	struct spur_error err = { 0 };
	struct filter *f;

	assert_int_equal(filter_new(&f, t, spec, &err), SPUR_FAIL);
	assert_int_equal(err.code, SPUR_ERR_USAGE);
	assert_string_equal(err.message, say);
	assert_null(f);
	fake_trace_free(t);
}

#define MODULES "; modules are PLT, kernel, and the programs and libraries of the trace"
#define TRIGGERS                                                                                  \
	"; actions are filter, notrace, depth=N, time=TIME, size=BYTES, caller, hide, trace, "     \
	"trace_on, trace_off, backtrace, color=NAME, clear[=ACTION+...], if:argN OP VALUE, and "   \
	"those of recorders"

static void test_usage_errors(void **state)
{
	static const struct {
		struct filter_item item;
		const char *say;
	} cases[] = {
		{ { FILTER_TRIGGER, "f@bactrace" },
		  "-T: expected an action or a module, found \"bactrace\"; did you mean "
		  "\"backtrace\"?" TRIGGERS MODULES },
		{ { FILTER_TRIGGER, "f@speed=3" },
		  "-T: expected an action or a module, found \"speed=3\"" TRIGGERS MODULES },
		{ { FILTER_TRIGGER, "f@bogus" },
		  "-T: expected an action or a module, found \"bogus\"" TRIGGERS MODULES },
		{ { FILTER_FUNC, "f@bogus" },
		  "-F: expected an action or a module, found \"bogus\"; actions are depth=N, "
		  "time=TIME, size=BYTES, caller, hide, clear, if:argN OP VALUE" MODULES },
		{ { FILTER_HIDE, "f@bogus" },
		  "-H: expected a module, found \"bogus\"" MODULES },
		{ { FILTER_TRIGGER, "f@clear=depth+bogus" },
		  "-T: expected a value after \"clear\", found \"=depth+bogus\"" },
		{ { FILTER_TRIGGER, "f@depth=x" },
		  "-T: expected a value after \"depth=\", found \"x\"" },
		{ { FILTER_TRIGGER, "f@time=5parsec" },
		  "-T: expected a time (5ns, 10us, 1.5s) after \"time=\", found \"5parsec\"" },
		{ { FILTER_TRIGGER, "f@if:arg0>1" },
		  "-T: expected a value after \"if:\", found \"arg0>1\"" },
		{ { FILTER_TRIGGER, "f@a.so,b.so" },
		  "-T: expected one module, found another: \"b.so\"" },
		{ { FILTER_FUNC, "f@trace_off" }, "-F: action \"trace_off\" belongs to -T" },
		{ { FILTER_FUNC, "" }, "-F: expected a name, found nothing" },
		{ { FILTER_CALLER, "@x" }, "-C: expected a name, found \"@x\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_usage(&(struct filter_spec){ .items = &cases[i].item,
						    .nitems = 1,
						    .match = PATTERN_REGEX },
			     cases[i].say);
	expect_usage(&(struct filter_spec){ .tids = "1,x" },
		     "--tid: expected a number or a range A-B, found \"x\"");
	expect_usage(&(struct filter_spec){ .cpus = "3-1" },
		     "--cpu: expected a number or a range A-B, found \"3-1\"");
	expect_usage(&(struct filter_spec){ .kinds = "begin,bogus" },
		     "--kind: expected a kind of event (BEGIN, END, INSTANT ...), found \"bogus\"");
	expect_usage(&(struct filter_spec){ .range = "5us" },
		     "-r: expected FROM~TO, found \"5us\"");
	expect_usage(&(struct filter_spec){ .from = "soon" },
		     "--from: expected a time (1.5s, +1ms, -1s, 50%, 10:21:03.5, "
		     "2026-11-22T10:21:03.5Z, @828.215538), found \"soon\"");
	expect_usage(&(struct filter_spec){ .items = &(struct filter_item){ FILTER_TRIGGER,
									    "f@time=5" },
					    .nitems = 1,
					    .match = PATTERN_REGEX },
		     "-T: expected a time (5ns, 10us, 1.5s) after \"time=\", found \"5\"");
	expect_usage(&(struct filter_spec){ .depth = -1 },
		     "-D: expected a number from 0, found -1");
}

static void test_marks(void **state)
{
	struct spur_trace *t = play("f / g /");
	const struct filter_item item = { FILTER_TRIGGER,
					  "f@backtrace,color=red,arg1/s,read=proc/statm" };
	const struct filter_spec spec = { .items = &item, .nitems = 1 };
	struct spur_error err;
	struct filter *f;

	(void)state;
	assert_int_equal(filter_new(&f, t, &spec, &err), SPUR_OK);
	assert_int_equal(filter_marks(f, fake_class(t, "f", 0)),
			 FILTER_MARK_BACKTRACE | FILTER_RED << FILTER_MARK_COLOR);
	assert_int_equal(filter_marks(f, fake_class(t, "g", 0)), 0);
	filter_free(f);
	assert_int_equal(filter_new(&f, t, &(struct filter_spec){ 0 }, &err), SPUR_OK);
	assert_null(f);
	assert_int_equal(filter_new(&f, t, &(struct filter_spec){ .no_args = true }, &err),
			 SPUR_OK);
	assert_int_equal(filter_marks(f, fake_class(t, "g", 0)), FILTER_MARK_NOARGS);
	filter_free(f);
	fake_trace_free(t);
}

/* A time from the end: the trace is read once more. */
static void test_from_the_end(void **state)
{
	const char *traces = getenv("SPUR_TRACES");
	char path[4096];
	struct spur_trace *t;
	struct spur_error err;
	struct filter *f;
	int64_t from, to, last = INT64_MIN;
	const struct spur_event *rows;
	size_t n;

	(void)state;
	snprintf(path, sizeof(path), "%s/uftrace/abc", traces ? traces : "../shared/traces");
	if (access(path, R_OK) != 0) {
		print_message("no traces at %s\n", path);
		skip();
	}
	assert_int_equal(spur_open(&t, path, NULL, &err), SPUR_OK);
	assert_int_equal(filter_new(&f, t, &(struct filter_spec){ .from = "-10us" }, &err),
			 SPUR_OK);
	filter_span(f, &from, &to);
	filter_free(f);
	while (spur_next(t, &rows, &n) == SPUR_OK)
		last = rows[n - 1].ts;
	assert_int_equal(from, last - 10000);
	assert_int_equal(to, INT64_MAX);
	spur_close(t);
}

static void test_memory_failures(void **state)
{
	const struct filter_item items[] = { { FILTER_FUNC, "a;d@depth=3" },
					     { FILTER_TRIGGER, "c@if:arg1>0,time=1ns" },
					     { FILTER_LOCATION, "!x" } };
	const struct filter_spec spec = { .items = items,
					  .nitems = 3,
					  .match = PATTERN_REGEX,
					  .min_ns = 2,
					  .tids = "100",
					  .threads = "main",
					  .range = "1ns~" };
	struct text_out *o = malloc(sizeof(*o));
	char want[256];
	struct spur_error err;

	(void)state;
	for (uint64_t at = 0;; at++) {
		struct spur_trace *t = play(tree);
		enum spur_status st;

		mem_fail_at(at);
		st = run(t, &spec, o, &err);
		mem_fail_at(0);
		fake_trace_free(t);
		if (!at)
			strcpy(want, o->buf);
		if (at && st == SPUR_OK) {
			assert_string_equal(o->buf, want);
			break;
		}
		assert_true(at < 1000);
	}
	assert_true(want[0]);
	free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_nesting),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_ends_by_class),
		cmocka_unit_test(test_orphan_ends),
		cmocka_unit_test(test_missing_begins),
		cmocka_unit_test(test_outer_ends),
		cmocka_unit_test(test_nothing_is_stuck),
		cmocka_unit_test(test_hostile_ends),
		cmocka_unit_test(test_events_follow_the_function),
		cmocka_unit_test(test_trace_on_off),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_time_triggers),
		cmocka_unit_test(test_events_of_uftrace),
		cmocka_unit_test(test_limits_of_waiting),
		cmocka_unit_test(test_tracks_in_one_feed),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_places_and_modules),
		cmocka_unit_test(test_conditions),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_origins),
		cmocka_unit_test(test_clear),
		cmocka_unit_test(test_notes),
		cmocka_unit_test(test_unseen_rows),
		cmocka_unit_test(test_damaged_stacks),
		cmocka_unit_test(test_usage_errors),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_from_the_end),
		cmocka_unit_test(test_memory_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
