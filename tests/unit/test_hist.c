/* events and hist on hand-made rows: incomplete calls, bins, percentiles, keys, refused memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "unit/pass_run.h"

static void add(struct spur_trace *t, uint32_t feed, unsigned kind, int64_t ts, const char *name)
{
	struct spur_event *e = fake_row(t, feed, kind, ts);

	e->cls = fake_class(t, name, CLASS_FUNCTION);
	e->name = trace_class(t, e->cls)->name;
}

static void add_span(struct spur_trace *t, int64_t ts, int64_t dur)
{
	add(t, 0, SPUR_SPAN, ts, "f");
	((struct fake_feed *)t->feeds[0]->state)
		->rows[((struct fake_feed *)t->feeds[0]->state)->count - 1]
		.dur = dur;
}

/*
 * f: 10, 4 (inside), 200; one END without BEGIN, one BEGIN closed by its caller's END, one left
 * open.
 */
static struct spur_trace *calls(void)
{
	struct spur_trace *t = fake_trace_new();

	fake_feed_add(t, 100, "main");
	fake_feed_add(t, 101, "other");
	add(t, 0, SPUR_END_SPAN, 1, "f");
	add(t, 0, SPUR_BEGIN, 2, "f");
	add(t, 0, SPUR_BEGIN, 5, "f");
	add(t, 0, SPUR_END_SPAN, 9, "f");
	add(t, 0, SPUR_END_SPAN, 12, "f");
	add(t, 0, SPUR_BEGIN, 20, "g");
	add(t, 0, SPUR_BEGIN, 21, "f");
	add(t, 0, SPUR_END_SPAN, 30, "g");
	add(t, 1, SPUR_BEGIN, 3, "f");
	add(t, 1, SPUR_END_SPAN, 203, "f");
	add(t, 1, SPUR_BEGIN, 300, "f");
	return t;
}

static struct pass_run run(const char *pass, enum output_form form)
{
	return (struct pass_run){ .pass = pass,
				  .opt = { .form = form, .root = "f", .match = PATTERN_REGEX } };
}

static void test_incomplete(void **state)
{
	struct spur_trace *t = calls();
	struct pass_run r = run("hist", FORM_JSON);
	static const char want[] =
		"{\"schema\":1,\"spur\":\"hist\",\"function\":\"f\",\"calls\":3,\"incomplete\":3,"
		"\"min\":4,\"max\":200,\"avg\":71,\"stdev\":91,\"p50\":10,\"p90\":200,\"p99\":200,"
		"\"p99.9\":200,\"bins\":[\n";

	(void)state;
	for (r.threads = 1; r.threads <= 2; r.threads++) {
		char *text = pass_text(t, &r);

		assert_int_equal(r.st, SPUR_OK);
		assert_memory_equal(text, want, strlen(want));
		free(text);
	}
	fake_trace_free(t);
}

/* All bounds from 1 ns to hours, by decades: there are too many for a finer scale. */
static void test_bins(void **state)
{
	struct spur_trace *t = fake_trace_new();
	struct pass_run r = run("hist", FORM_CSV);

	(void)state;
	fake_feed_add(t, 100, "main");
	add_span(t, 0, 0);
	add_span(t, 1, 1);
	add_span(t, 10, 9);
	add_span(t, 20, 10);
	add_span(t, 40, 99);
	add_span(t, 1000, 999999);
	add_span(t, 2000000, 1000000);
	add_span(t, 5000000, INT64_C(9000000000000000000));
	pass_expect(t, r,
		    "from,to,calls\n0,1,1\n1,10,2\n10,100,2\n100,1000,0\n1000,10000,0\n"
		    "10000,100000,0\n100000,1000000,1\n1000000,10000000,1\n10000000,100000000,0\n"
		    "100000000,1000000000,0\n1000000000,10000000000,0\n"
		    "10000000000,100000000000,0\n100000000000,1000000000000,0\n"
		    "1000000000000,10000000000000,0\n10000000000000,100000000000000,0\n"
		    "100000000000000,1000000000000000,0\n"
		    "1000000000000000,10000000000000000,0\n"
		    "10000000000000000,100000000000000000,0\n"
		    "100000000000000000,1000000000000000000,0\n"
		    "1000000000000000000,10000000000000000000,1\n");
	fake_trace_free(t);
	t = fake_trace_new();
	fake_feed_add(t, 100, "main");
	add_span(t, 0, 100);
	add_span(t, 200, 149);
	add_span(t, 400, 150);
	add_span(t, 600, 304);
	pass_expect(t, r, "from,to,calls\n100,150,2\n150,200,1\n200,250,0\n250,300,0\n300,350,1\n");
	fake_trace_free(t);
}

static void test_unknown(void **state)
{
	struct spur_trace *t = calls();
	struct pass_run r = run("hist", FORM_CSV);
	char *text;

	(void)state;
	r.opt.root = "h";
	text = pass_text(t, &r);
	assert_int_equal(r.st, SPUR_WARN);
	assert_string_equal(text, "from,to,calls\n");
	free(text);
	r.opt.root = "(";
	pass_refused(t, r, "hist: expected a regular expression, found \"(\": Unmatched ( or \\(");
	r.pass = "events";
	r.opt.by = "nam";
	pass_refused(t, r, "--by: no column \"nam\"; did you mean \"name\"?");
	fake_trace_free(t);
}

static void test_events(void **state)
{
	struct spur_trace *t = calls();
	struct pass_run r = run("events", FORM_CSV);

	(void)state;
	pass_expect(t, r,
		    "name,events,rate,first,last\nf,9,26755852.842809364,1,300\n"
		    "g,2,100000000,20,30\n");
	r.opt.by = "thread,kind";
	pass_expect(t, r,
		    "pid,tid,thread,kind,events,rate,first,last\n"
		    "1,100,main,BEGIN,4,157894736.84210527,2,21\n"
		    "1,100,main,END,4,103448275.86206897,1,30\n"
		    "1,101,other,BEGIN,2,3367003.367003367,3,300\n"
		    "1,101,other,END,1,,203,203\n");
	r.opt.by = "kind,kind,-cpu";
	r.opt.sort = "first";
	pass_expect(t, r,
		    "kind,cpu,events,rate,first,last\nEND,,5,19801980.198019803,1,203\n"
		    "BEGIN,,6,16778523.489932887,2,300\n");
	fake_trace_free(t);
}

static void test_memory_failures(void **state)
{
	struct spur_trace *t = calls();
	struct pass_run r = run("events", FORM_JSON);

	(void)state;
	r.threads = 1;
	pass_starve(t, run("hist", FORM_TEXT));
	r.opt.by = "name,thread,kind";
	pass_starve(t, r);
	fake_trace_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_incomplete), cmocka_unit_test(test_bins),
		cmocka_unit_test(test_unknown),	   cmocka_unit_test(test_events),
		cmocka_unit_test(test_memory_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
