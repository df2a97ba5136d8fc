/* counters: whose series it is, exact sums, NaN, forms, all samples, limits. */
#include "unit/fake_args.h"
#include "unit/pass_run.h"

#include <math.h>

static struct spur_value u(struct spur_trace *t, const char *name, uint64_t v)
{
	struct spur_value out = sample_value(t, name, SPUR_U64);

	out.u = v;
	return out;
}

static struct spur_value i(struct spur_trace *t, const char *name, int64_t v)
{
	struct spur_value out = sample_value(t, name, SPUR_I64);

	out.i = v;
	return out;
}

static struct spur_value f(struct spur_trace *t, const char *name, double v)
{
	struct spur_value out = sample_value(t, name, SPUR_F64);

	out.f = v;
	return out;
}

static void add(struct spur_trace *t, uint32_t feed, int64_t ts, const char *name, uint64_t id,
		struct spur_value a, struct spur_value b)
{
	sample_add(t, feed, SPUR_COUNTER, ts, name, a, b)->id = id;
}

static const struct spur_value none;

static struct pass_run run(enum output_form form, const char *fields)
{
	return (struct pass_run){ .pass = "counters", .opt = { .form = form, .fields = fields } };
}

/*
 * One series for a process's threads, whatever comes between; another id, argument or process is
 * another.
 */
static void series(void **state)
{
	struct spur_trace *t = sample_trace();
	struct pass_run by_track = run(FORM_CSV, "tid,series,samples,last");

	(void)state;
	add(t, 0, 10, "heap", 0, u(t, "used", 5), u(t, "free", 95));
	add(t, 1, 20, "heap", 0, u(t, "used", 7), u(t, "free", 93));
	add(t, 0, 30, "heap", 0, u(t, "used", 6), none);
	add(t, 0, 30, "heap", 4, u(t, "used", 1), none);
	add(t, 2, 5, "heap", 0, u(t, "used", 2), none);
	fake_row(t, 2, SPUR_INSTANT, 99);
	pass_expect(t, run(FORM_CSV, NULL),
		    "pid,process,name,id,argument,samples,nan,min,max,mean,last,start,end\n"
		    "7,game,heap,,free,2,0,93,95,94,93,10,20\n"
		    "7,game,heap,,used,3,0,5,7,6,6,10,30\n"
		    "7,game,heap,4,used,1,0,1,1,1,1,30,30\n"
		    "8,other,heap,,used,1,0,2,2,2,2,5,5\n");
	by_track.opt.by = "track";
	pass_expect(t, by_track,
		    "tid,series,samples,last\n70,heap.free,1,95\n70,heap.used,2,6\n"
		    "70,heap#4.used,1,1\n71,heap.free,1,93\n71,heap.used,1,7\n72,heap.used,1,2\n");
	pass_expect(t, run(FORM_TEXT, NULL),
		    "samples  min  max  mean  last  pid  series\n"
		    "      2   93   95    94    93    7  heap.free\n"
		    "      3    5    7     6     6    7  heap.used\n"
		    "      1    1    1     1     1    7  heap#4.used\n"
		    "      1    2    2     2     2    8  heap.used\n");
	pass_starve(t, run(FORM_CSV, NULL));
	fake_trace_free(t);
}

/*
 * 64-bit integers come out as they went in; means are the nearest double where they are not whole.
 */
static void exact(void **state)
{
	struct spur_trace *t = sample_trace();

	(void)state;
	add(t, 0, 1, "a", 0, u(t, "", UINT64_MAX), none);
	add(t, 0, 2, "a", 0, u(t, "", UINT64_MAX), none);
	add(t, 0, 3, "a", 0, u(t, "", UINT64_MAX - 3), none);
	add(t, 0, 1, "b", 0, i(t, "", INT64_MIN), none);
	add(t, 0, 2, "b", 0, u(t, "", UINT64_MAX), none);
	add(t, 0, 1, "c", 0, i(t, "", -1), none);
	add(t, 0, 2, "c", 0, i(t, "", -2), none);
	/* 2^63 + 1 is no double: an exact comparison knows that it is more. */
	add(t, 0, 1, "d", 0, f(t, "", 9223372036854775808.0), none);
	add(t, 0, 2, "d", 0, u(t, "", 9223372036854775809u), none);
	add(t, 0, 1, "e", 0, f(t, "", -0.5), none);
	add(t, 0, 2, "e", 0, i(t, "", -1), none);
	add(t, 0, 3, "e", 0, i(t, "", 0), none);
	pass_expect(t, run(FORM_CSV, "name,min,max,mean"),
		    "name,min,max,mean\n"
		    "a,18446744073709551612,18446744073709551615,18446744073709551614\n"
		    "b,-9223372036854775808,18446744073709551615,4.611686018427388e+18\n"
		    "c,-2,-1,-1.5\n"
		    "d,9.223372036854776e+18,9223372036854775809,9.223372036854776e+18\n"
		    "e,-1,0,-0.5\n");
	fake_trace_free(t);
}

static void floats(void **state)
{
	struct spur_trace *t = sample_trace();

	(void)state;
	/* What a plain sum loses: 1 is below the rounding of 1e20. */
	add(t, 0, 1, "lost", 0, f(t, "", 1e20), none);
	add(t, 0, 2, "lost", 0, f(t, "", 1), none);
	add(t, 0, 3, "lost", 0, f(t, "", -1e20), none);
	add(t, 0, 4, "lost", 0, f(t, "", 1), none);
	add(t, 0, 1, "huge", 0, f(t, "", 1.5e308), none);
	add(t, 0, 2, "huge", 0, f(t, "", 1.5e308), none);
	add(t, 0, 1, "nan", 0, f(t, "", 4), none);
	add(t, 0, 2, "nan", 0, f(t, "", (double)NAN), none);
	add(t, 0, 3, "nan", 0, i(t, "", -2), none);
	add(t, 0, 4, "nan", 0, f(t, "", (double)NAN), none);
	add(t, 0, 1, "only", 0, f(t, "", (double)NAN), none);
	add(t, 0, 1, "inf", 0, f(t, "", (double)INFINITY), none);
	add(t, 0, 2, "inf", 0, f(t, "", 1), none);
	pass_expect(t, run(FORM_CSV, "name,samples,nan,min,max,mean,last"),
		    "name,samples,nan,min,max,mean,last\n"
		    "huge,2,0,1.5e+308,1.5e+308,1.5e+308,1.5e+308\n"
		    "inf,2,0,1,inf,inf,1\n"
		    "lost,4,0,-1e+20,1e+20,0.5,1\n"
		    "nan,4,2,-2,4,1,nan\n"
		    "only,1,1,,,,nan\n");
	pass_expect(t, run(FORM_JSONL, "name,min,last"),
		    "{\"name\":\"huge\",\"min\":1.5e+308,\"last\":1.5e+308}\n"
		    "{\"name\":\"inf\",\"min\":1.0,\"last\":1.0}\n"
		    "{\"name\":\"lost\",\"min\":-1e+20,\"last\":1.0}\n"
		    "{\"name\":\"nan\",\"min\":-2,\"last\":\"nan\"}\n"
		    "{\"name\":\"only\",\"min\":null,\"last\":\"nan\"}\n");
	fake_trace_free(t);
}

/* Text, pointers and what is nested are no samples. */
static void others(void **state)
{
	struct spur_trace *t = sample_trace();
	struct spur_value yes = sample_value(t, "on", SPUR_BOOL),
			  text = sample_value(t, "why", SPUR_STRING),
			  at = sample_value(t, "at", SPUR_POINTER),
			  in = sample_value(t, "in", SPUR_STRUCT);
	struct pass_run r = run(FORM_CSV, "series,samples,mean");
	struct pass_env env = { .trace = t, ANY_OPTIONS(&r.opt, "counters") };
	struct out out, notes;

	(void)state;
	yes.u = 1;
	text.text = "x";
	text.count = 1;
	add(t, 0, 1, "c", 0, yes, text);
	add(t, 0, 2, "c", 0, text, at);
	add(t, 0, 3, "c", 0, in, none);
	add(t, 0, 4, "", 0, u(t, "", 3), u(t, "", 4));
	pass_expect(t, r, "series,samples,mean\n,2,3.5\nc.on,1,1\n");
	fake_rewind(t);
	out_to_memory(&out);
	out_to_memory(&notes);
	env.out = &out;
	env.notes = &notes;
	assert_int_equal(pass_find("counters", NULL)->run(&env), SPUR_OK);
	out_char(&notes, '\0');
	assert_string_equal(notes.buf, "spur: note: counter events without a number: 2\n");
	out_free(&out);
	out_free(&notes);
	fake_trace_free(t);
}

static void values(void **state)
{
	static const struct filter_spec late = { .from = "@0.000000020" };
	struct spur_trace *t = sample_trace();
	struct pass_run r = run(FORM_CSV, NULL);

	(void)state;
	add(t, 0, 10, "heap", 0, u(t, "used", UINT64_MAX), i(t, "free", -95));
	add(t, 0, 20, "a,b", 3, f(t, "x", 0.25), none);
	add(t, 2, 15, "heap", 0, f(t, "used", (double)NAN), none);
	r.opt.values = true;
	pass_expect(t, r,
		    "time,series,value\n10,7/heap.used,18446744073709551615\n10,7/heap.free,-95\n"
		    "15,8/heap.used,nan\n20,\"7/a,b#3.x\",0.25\n");
	r.opt.by = "track";
	r.opt.limit = 1;
	pass_expect(t, r, "time,series,value\n10,7/70/heap.used,18446744073709551615\n");
	r.opt.limit = 0;
	r.opt.form = FORM_JSONL;
	r.filter = &late;
	pass_expect(t, r,
		    "{\"ts\":20,\"pid\":7,\"tid\":70,\"name\":\"a,b\",\"id\":3,\"argument\":\"x\","
		    "\"value\":0.25}\n");
	r.filter = NULL;
	pass_starve(t, r);
	r.opt.form = FORM_JSON;
	pass_refused(t, r, "--values: expected --csv or --jsonl with it, found --json");
	fake_trace_free(t);
}

static void shown(void **state)
{
	struct spur_trace *t = sample_trace();
	struct pass_run r = run(FORM_TEXT, "mean,start,series");

	(void)state;
	add(t, 0, 1000, "third", 0, i(t, "", 1), none);
	add(t, 0, 2000, "third", 0, i(t, "", 1), none);
	add(t, 0, 3000, "third", 0, i(t, "", -3), none);
	add(t, 0, 4000, "tiny", 0, f(t, "", 0.0625), none);
	add(t, 0, 4001, "half", 0, f(t, "", -1234.5), none);
	r.opt.sort = "-series";
	pass_expect(t, r,
		    "     mean        start  series\n"
		    "   0.0625  0.000003000  tiny\n"
		    "   -0.333  0.000000000  third\n"
		    "-1234.500  0.000003001  half\n");
	r.opt.sort = "mean";
	r.opt.raw = true;
	r.opt.limit = 2;
	r.opt.time = TIME_RAW;
	pass_expect(t, r,
		    "               mean  start  series\n"
		    "             0.0625   4000  tiny\n"
		    "-0.3333333333333333   1000  third\n"
		    "\n1 more lines are not shown.\n");
	r = run(FORM_JSON, "series,pid,id");
	pass_expect(t, r,
		    "{\"schema\":1,\"spur\":\"counters\",\"by\":\"process\",\"rows\":[\n"
		    "{\"series\":\"half\",\"pid\":7,\"id\":null},\n"
		    "{\"series\":\"third\",\"pid\":7,\"id\":null},\n"
		    "{\"series\":\"tiny\",\"pid\":7,\"id\":null}\n]}\n");
	r.opt.by = "thread";
	pass_refused(t, r, "--by: expected process or track, found \"thread\"");
	fake_trace_free(t);
	t = sample_trace();
	fake_row(t, 0, SPUR_INSTANT, 1);
	r = run(FORM_TEXT, NULL);
	free(pass_text(t, &r));
	assert_int_equal(r.st, SPUR_WARN);
	fake_trace_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(series), cmocka_unit_test(exact),  cmocka_unit_test(floats),
		cmocka_unit_test(others), cmocka_unit_test(values), cmocka_unit_test(shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
