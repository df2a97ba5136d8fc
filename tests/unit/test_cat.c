/* cat and chrome: every kind of event, names that need escaping, ends that the data lacks, forms
 * and threads. */
#include "fake.h"

#include "pass/pass.h"
#include "unit/any_options.h"

static void expect(struct spur_trace *t, const char *pass, struct any_options opt,
		   const char *text, const char *notes)
{
	for (unsigned threads = 1; threads <= 2; threads++) {
		struct out o, n;
		struct spur_error err;
		struct pass_env env = { .trace = t,
					.pipe = { .threads = threads },
					ANY_OPTIONS(&opt, pass),
					.out = &o,
					.notes = &n,
					.err = &err };

		out_to_memory(&o);
		out_to_memory(&n);
		fake_rewind(t);
		assert_int_equal(pass_find(pass, NULL)->run(&env), SPUR_OK);
		out_char(&o, '\0');
		out_char(&n, '\0');
		assert_string_equal(o.buf, text);
		if (notes)
			assert_string_equal(n.buf, notes);
		out_free(&o);
		out_free(&n);
	}
}

#define ROWS(a) (a), sizeof(a) / sizeof(*(a))

/* Two threads; a name with a quote, a control byte and a byte that is no UTF-8; a class with a
 * category. */
static struct spur_trace *kinds_trace(struct fake_feed *f, struct fake_feed *g)
{
	static struct spur_event rows[9], others[2];
	struct spur_trace *t = fake_trace();
	const uint32_t k = fake_track(t, "abc", 1, 2), m = fake_track(t, "", 1, 3);
	const uint32_t a = fake_class(t, "a\"\x1b\xff", ""), b = fake_class(t, "b", "");
	const uint32_t cat = trace_intern(t, "net");

	memcpy(rows,
	       (const struct spur_event[]){
		       FAKE_B(1000, a, k),
		       { .kind = SPUR_INSTANT, .ts = 1001, .cls = b, .track = k, .cat = cat },
		       { .kind = SPUR_COUNTER,
			 .ts = 1002,
			 .cls = b,
			 .track = k,
			 .nargs = 1,
			 .id = 9 },
		       { .kind = SPUR_SPAN, .ts = 1003, .dur = 1500, .cls = b, .track = k },
		       { .kind = SPUR_ASYNC_BEGIN, .ts = 1004, .id = 255, .cls = b, .track = k },
		       { .kind = SPUR_FLOW_END, .ts = 1005, .id = 255, .cls = b, .track = k },
		       { .kind = SPUR_LOST,
			 .ts = 1006,
			 .id = 77,
			 .cls = b,
			 .track = k,
			 .flags = SPUR_F_RETIMED },
		       { .kind = SPUR_END_SPAN,
			 .ts = 1007,
			 .cls = a,
			 .track = k,
			 .nargs = 1,
			 .id = 4096 },
		       { .kind = SPUR_END_SPAN, .ts = 1008, .cls = a, .track = k },
	       },
	       sizeof(rows));
	memcpy(others, (const struct spur_event[]){ FAKE_OUT(1002, b, m), FAKE_IN(1010, b, m) },
	       sizeof(others));
	fake_feed(t, f, ROWS(rows));
	fake_feed(t, g, ROWS(others));
	others[0].cpu = 3;
	return t;
}

static void json_lines(void **state)
{
	struct fake_feed f, g;
	struct spur_trace *t = kinds_trace(&f, &g);

	(void)state;
	trace_add_stream(t, "x \"y\".dat", 100);
	expect(t, "cat", (struct any_options){ .form = FORM_JSONL },
#define TRACK "\"pid\":1,\"tid\":2"
#define STREAM "\"stream\":\"x \\\"y\\\".dat\",\"off\":0}\n"
	       "{\"ts\":1000,\"kind\":\"BEGIN\",\"name\":\"a\\\"\\u001b\\udcff\",\"cat\":"
	       "\"\"," TRACK ",\"args\":{}," STREAM
	       "{\"ts\":1001,\"kind\":\"INSTANT\",\"name\":\"b\",\"cat\":\"net\"," TRACK
	       ",\"args\":{}," STREAM
	       "{\"ts\":1002,\"kind\":\"COUNTER\",\"name\":\"b\",\"cat\":\"\"," TRACK
	       ",\"id\":9,\"args\":{\"x\":9}," STREAM
	       "{\"ts\":1002,\"kind\":\"SWITCH\",\"name\":\"b\",\"cat\":\"\",\"pid\":1,\"tid\":3,"
	       "\"cpu\":3,\"args\":{},\"flags\":[\"out\"]," STREAM
	       "{\"ts\":1003,\"kind\":\"SPAN\",\"name\":\"b\",\"cat\":\"\"," TRACK
	       ",\"dur\":1500,\"args\":{}," STREAM
	       "{\"ts\":1004,\"kind\":\"ASYNC_BEGIN\",\"name\":\"b\",\"cat\":\"\"," TRACK
	       ",\"id\":255,\"args\":{}," STREAM
	       "{\"ts\":1005,\"kind\":\"FLOW_END\",\"name\":\"b\",\"cat\":\"\"," TRACK
	       ",\"id\":255,\"args\":{}," STREAM
	       "{\"ts\":1006,\"kind\":\"LOST\",\"name\":\"b\",\"cat\":\"\"," TRACK
	       ",\"id\":77,\"args\":{},\"flags\":[\"retimed\"]," STREAM
	       "{\"ts\":1007,\"kind\":\"END\",\"name\":\"a\\\"\\u001b\\udcff\",\"cat\":\"\"," TRACK
	       ",\"id\":4096,\"args\":{\"x\":4096}," STREAM
	       "{\"ts\":1008,\"kind\":\"END\",\"name\":\"a\\\"\\u001b\\udcff\",\"cat\":\"\"," TRACK
	       ",\"args\":{}," STREAM
	       "{\"ts\":1010,\"kind\":\"SWITCH\",\"name\":\"b\",\"cat\":\"\",\"pid\":1,\"tid\":3,"
	       "\"args\":{},\"flags\":[\"in\"]," STREAM,
	       "");
	expect(t, "cat", (struct any_options){ .form = FORM_JSONL, .limit = 1 },
	       "{\"ts\":1000,\"kind\":\"BEGIN\",\"name\":\"a\\\"\\u001b\\udcff\",\"cat\":"
	       "\"\"," TRACK ",\"args\":{}," STREAM,
	       "");
#undef TRACK
#undef STREAM
	spur_close(t);
}

static void text(void **state)
{
	struct fake_feed f, g;
	struct spur_trace *t = kinds_trace(&f, &g);

	(void)state;
	expect(t, "cat", (struct any_options){ 0 },
	       "   0.000000000        2    -  BEGIN         a\"\\x1b\\xff\n"
	       "   0.000000001        2    -  INSTANT       b\n"
	       "   0.000000002        2    -  COUNTER       b(x=9)\n"
	       "   0.000000002        3    3  SWITCH        b [out]\n"
	       "   0.000000003        2    -  SPAN          b 1500 ns\n"
	       "   0.000000004        2    -  ASYNC_BEGIN   b #255\n"
	       "   0.000000005        2    -  FLOW_END      b #255\n"
	       "   0.000000006        2    -  LOST          b 77 [retimed]\n"
	       "   0.000000007        2    -  END           a\"\\x1b\\xff = x=4096\n"
	       "   0.000000008        2    -  END           a\"\\x1b\\xff\n"
	       "   0.000000010        3    -  SWITCH        b [in]\n",
	       "");
	expect(t, "cat", (struct any_options){ .form = FORM_CSV, .limit = 3, .no_args = true },
	       "ts,kind,name,cat,pid,tid,cpu,dur,id,args,flags,stream,off\n"
	       "1000,BEGIN,\"a\"\"\\u001b\\udcff\",,1,2,,,,,,,0\n"
	       "1001,INSTANT,b,net,1,2,,,,,,,0\n"
	       "1002,COUNTER,b,,1,2,,,9,,,,0\n",
	       "");
	spur_close(t);
}

/* How an END closes, and what a sample sums up. */
static void calls_and_samples(void **state)
{
	struct spur_trace *t = fake_trace();
	const uint32_t k = fake_track(t, "x", 1, 2), a = fake_class(t, "a", "");
	struct spur_event rows[] = {
		{ .kind = SPUR_END_SPAN, .ts = 1, .cls = a, .track = k, .flags = SPUR_F_TAIL },
		{ .kind = SPUR_BEGIN, .ts = 2, .cls = a, .track = k, .flags = SPUR_F_TAIL },
		{ .kind = SPUR_END_SPAN,
		  .ts = 3,
		  .cls = a,
		  .track = k,
		  .flags = SPUR_F_ANY | SPUR_F_ORPHAN },
		{ .kind = SPUR_SAMPLE, .ts = 4, .cls = a, .track = k, .dur = 70, .id = 3 },
		{ .kind = SPUR_SAMPLE, .ts = 5, .cls = a, .track = k },
	};
	struct fake_feed f;

	(void)state;
	trace_add_stream(t, "s", 100);
	fake_feed(t, &f, ROWS(rows));
	expect(t, "cat", (struct any_options){ .form = FORM_JSONL },
#define START(ts, kind) \
	"{\"ts\":" ts ",\"kind\":\"" kind "\",\"name\":\"a\",\"cat\":\"\",\"pid\":1,\"tid\":2"
#define STREAM ",\"stream\":\"s\",\"off\":0}\n"
	       START("1", "END") ",\"args\":{},\"flags\":[\"tail\"]" STREAM
		       START("2", "BEGIN") ",\"args\":{},\"flags\":[\"tail\"]" STREAM START(
			       "3", "END") ",\"args\":{},\"flags\":[\"orphan\",\"any\"]" STREAM
			       START("4", "SAMPLE") ",\"dur\":70,\"id\":3,\"args\":{}" STREAM START(
				       "5", "SAMPLE") ",\"args\":{}" STREAM,
	       "");
#undef START
#undef STREAM
	expect(t, "cat", (struct any_options){ .limit = 4 },
	       "   0.000000000        2    -  END           a [tail]\n"
	       "   0.000000001        2    -  BEGIN         a [tail]\n"
	       "   0.000000002        2    -  END           a [orphan any]\n"
	       "   0.000000003        2    -  SAMPLE        a 70 ns\n",
	       "");
	spur_close(t);
}

#define CHROME_HEAD                                                                           \
	"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"                                     \
	"{\"ph\":\"M\",\"pid\":0,\"tid\":0,\"name\":\"process_sort_index\",\"args\":{\"sort_" \
	"index\":0}}"
#define CHROME_TAIL(start)                                                                   \
	"\n],\"otherData\":{\"format\":\"fake\",\"clock\":\"unknown\",\"start_ns\":\"" start \
	"\",\"writer\":\"spur " SPUR_VERSION "\"}}\n"

static void chrome_kinds(void **state)
{
	struct fake_feed f, g;
	struct spur_trace *t = kinds_trace(&f, &g);

	(void)state;
	expect(t, "convert", (struct any_options){ .to = "chrome", .time = TIME_RAW },
	       CHROME_HEAD
	       ",\n{\"ph\":\"M\",\"pid\":1,\"tid\":2,\"name\":\"thread_name\",\"args\":{\"name\":"
	       "\"abc\"}}"
	       ",\n{\"ph\":\"B\",\"ts\":1.000,\"pid\":1,\"tid\":2,\"name\":\"a\\\"\\u001b\\udcff\"}"
	       ",\n{\"ph\":\"i\",\"ts\":1.001,\"pid\":1,\"tid\":2,\"name\":\"b\",\"cat\":\"net\","
	       "\"s\":\"t\"}"
	       ",\n{\"ph\":\"C\",\"ts\":1.002,\"pid\":1,\"tid\":2,\"name\":\"b\",\"id\":\"0x9\","
	       "\"args\":{\"x\":9}"
	       "}"
	       ",\n{\"ph\":\"X\",\"ts\":1.003,\"pid\":1,\"tid\":2,\"name\":\"b\",\"dur\":1.500}"
	       ",\n{\"ph\":\"b\",\"ts\":1.004,\"pid\":1,\"tid\":2,\"name\":\"b\",\"id2\":{"
	       "\"local\":\"0xff\"}}"
	       ",\n{\"ph\":\"f\",\"ts\":1.005,\"pid\":1,\"tid\":2,\"name\":\"b\",\"id\":\"0xff\","
	       "\"bp\":\"e\"}"
	       ",\n{\"ph\":\"i\",\"ts\":1.006,\"pid\":1,\"tid\":2,\"name\":\"b\",\"s\":\"t\","
	       "\"args\":{\"lost\":77}}"
	       ",\n{\"ph\":\"E\",\"ts\":1.007,\"pid\":1,\"tid\":2,"
	       "\"name\":\"a\\\"\\u001b\\udcff\",\"args\":{\"x\":4096}}"
	       ",\n{\"ph\":\"B\",\"ts\":1.002,\"pid\":1,\"tid\":3,\"name\":\"off "
	       "CPU\",\"cat\":\"sched\",\"args\":{\"preempted\":false,\"cpu\":3}}"
	       ",\n{\"ph\":\"E\",\"ts\":1.010,\"pid\":1,\"tid\":3,\"name\":\"off "
	       "CPU\"}" CHROME_TAIL("0"),
	       "spur: chrome: 2 events are not carried whole:\n"
	       "               1  END           dropped   an end whose begin is not in the data\n"
	       "               1  LOST          degraded  the format has no such kind: written as "
	       "an instant event\n");
	spur_close(t);
}

/* Depths tell that ends are lacking; frames that the data never began are not closed. */
static void chrome_pairs(void **state)
{
	struct spur_trace *t = fake_trace();
	const uint32_t k = fake_track(t, "", 5, 5), a = fake_class(t, "a", ""),
		       b = fake_class(t, "b", "");
	struct spur_event rows[] = {
		FAKE_ED(5, b, k, 2), /* began before the data */
		FAKE_BD(10, a, k, 1), FAKE_BD(20, b, k, 2), FAKE_OUT(25, b, k),
		FAKE_BD(30, a, k, 1), /* so b and the time off the CPU are over */
		FAKE_ED(40, a, k, 1), FAKE_ED(50, a, k, 0), FAKE_BD(60, b, k, 0),
	};
	struct fake_feed f;

	(void)state;
	fake_feed(t, &f, ROWS(rows));
	expect(t, "convert",
	       (struct any_options){ .to = "chrome", .time = TIME_REL, .form = FORM_JSON },
	       CHROME_HEAD
	       ",\n{\"ph\":\"B\",\"ts\":0.005,\"pid\":5,\"tid\":5,\"name\":\"a\"}"
	       ",\n{\"ph\":\"B\",\"ts\":0.015,\"pid\":5,\"tid\":5,\"name\":\"b\"}"
	       ",\n{\"ph\":\"B\",\"ts\":0.020,\"pid\":5,\"tid\":5,\"name\":\"off "
	       "CPU\",\"cat\":\"sched\",\"args\":{\"preempted\":false}}"
	       ",\n{\"ph\":\"E\",\"ts\":0.025,\"pid\":5,\"tid\":5,\"name\":\"off CPU\"}"
	       ",\n{\"ph\":\"E\",\"ts\":0.025,\"pid\":5,\"tid\":5,\"name\":\"b\"}"
	       ",\n{\"ph\":\"E\",\"ts\":0.025,\"pid\":5,\"tid\":5,\"name\":\"a\"}"
	       ",\n{\"ph\":\"B\",\"ts\":0.025,\"pid\":5,\"tid\":5,\"name\":\"a\"}"
	       ",\n{\"ph\":\"E\",\"ts\":0.035,\"pid\":5,\"tid\":5,\"name\":\"a\"}"
	       ",\n{\"ph\":\"B\",\"ts\":0.055,\"pid\":5,\"tid\":5,\"name\":\"b\"}"
	       /* open when the data ends */
	       ",\n{\"ph\":\"E\",\"ts\":0.055,\"pid\":5,\"tid\":5,\"name\":\"b\"}" CHROME_TAIL("5"),
	       "{\"schema\":1,\"spur\":\"convert\",\"to\":\"chrome\","
	       "\"lost\":2,\"losses\":[{\"kind\":\"END\",\"count\":2,\"what\":"
	       "\"dropped\","
	       "\"why\":\"an end whose begin is not in the data\"}]}\n");
	spur_close(t);
}

/* ENDs that name their function close what is inside it too; those of nothing are left out. */
static void chrome_by_class(void **state)
{
	struct spur_trace *t = fake_trace();
	const uint32_t k = fake_track(t, "", 5, 5), a = fake_class(t, "a", ""),
		       b = fake_class(t, "b", ""), c = fake_class(t, "c", "");
	struct spur_event rows[] = {
		FAKE_E(5, c, k),
		FAKE_B(10, a, k),
		FAKE_B(20, b, k),
		{ .kind = SPUR_END_SPAN, .ts = 25, .cls = c, .track = k, .flags = SPUR_F_GAP },
		FAKE_E(30, a, k),
		FAKE_B(31, a, k),
		FAKE_SPAN(32, 2, b, k),
		FAKE_E(33, c, k), /* inside the span: ends nothing */
		FAKE_E(35, c, k), /* outside of a */
		{ .kind = SPUR_BEGIN, .ts = 40, .cls = b, .track = k, .flags = SPUR_F_TAIL },
		FAKE_ANY(50, c, k)
	};
	struct fake_feed f;

	(void)state;
	fake_feed(t, &f, ROWS(rows));
	expect(t, "convert",
	       (struct any_options){ .to = "chrome", .time = TIME_RAW, .form = FORM_JSON },
	       CHROME_HEAD
	       ",\n{\"ph\":\"B\",\"ts\":0.010,\"pid\":5,\"tid\":5,\"name\":\"a\"}"
	       ",\n{\"ph\":\"B\",\"ts\":0.020,\"pid\":5,\"tid\":5,\"name\":\"b\"}"
	       ",\n{\"ph\":\"E\",\"ts\":0.030,\"pid\":5,\"tid\":5,\"name\":\"b\"}"
	       ",\n{\"ph\":\"E\",\"ts\":0.030,\"pid\":5,\"tid\":5,\"name\":\"a\"}"
	       ",\n{\"ph\":\"B\",\"ts\":0.031,\"pid\":5,\"tid\":5,\"name\":\"a\"}"
	       ",\n{\"ph\":\"X\",\"ts\":0.032,\"pid\":5,\"tid\":5,\"name\":\"b\","
	       "\"dur\":0.002}"
	       ",\n{\"ph\":\"E\",\"ts\":0.035,\"pid\":5,\"tid\":5,\"name\":\"a\"}"
	       ",\n{\"ph\":\"B\",\"ts\":0.040,\"pid\":5,\"tid\":5,\"name\":\"b\"}"
	       ",\n{\"ph\":\"E\",\"ts\":0.050,\"pid\":5,\"tid\":5,\"name\":\"b\"}" CHROME_TAIL("0"),
	       "{\"schema\":1,\"spur\":\"convert\",\"to\":\"chrome\","
	       "\"lost\":4,\"losses\":[{\"kind\":\"END\",\"count\":4,\"what\":"
	       "\"dropped\","
	       "\"why\":\"an end whose begin is not in the data\"}]}\n");
	spur_close(t);
}

/* The calls of a thread that exits end with it, also where only its last SWITCH says so. */
static void chrome_exit(void **state)
{
	struct spur_trace *t = fake_trace();
	const uint32_t k = fake_track(t, "", 5, 5), other = fake_track(t, "", 5, 6),
		       a = fake_class(t, "a", ""), b = fake_class(t, "b", "");
	struct spur_event rows[] = {
		FAKE_B(10, a, k),
		FAKE_B(15, b, k),
		{ .kind = SPUR_SWITCH,
		  .ts = 20,
		  .cls = b,
		  .track = k,
		  .cpu = SPUR_NO_CPU,
		  .flags = SPUR_F_OUT | SPUR_F_EXIT },
		FAKE_B(30, b, other),
		FAKE_E(40, b, other),
	};
	struct fake_feed f;

	(void)state;
	fake_feed(t, &f, ROWS(rows));
	expect(t, "convert", (struct any_options){ .to = "chrome", .time = TIME_RAW },
	       CHROME_HEAD ",\n{\"ph\":\"B\",\"ts\":0.010,\"pid\":5,\"tid\":5,\"name\":\"a\"}"
			   ",\n{\"ph\":\"B\",\"ts\":0.015,\"pid\":5,\"tid\":5,\"name\":\"b\"}"
			   ",\n{\"ph\":\"E\",\"ts\":0.020,\"pid\":5,\"tid\":5,\"name\":\"b\"}"
			   ",\n{\"ph\":\"E\",\"ts\":0.020,\"pid\":5,\"tid\":5,\"name\":\"a\"}"
			   ",\n{\"ph\":\"B\",\"ts\":0.030,\"pid\":5,\"tid\":6,\"name\":\"b\"}"
			   ",\n{\"ph\":\"E\",\"ts\":0.040,\"pid\":5,\"tid\":6,\"name\":"
			   "\"b\"}" CHROME_TAIL("0"),
	       "");
	spur_close(t);
}

/* Nothing in it: still valid. */
static void empty(void **state)
{
	struct spur_trace *t = fake_trace();
	struct fake_feed f;

	(void)state;
	fake_feed(t, &f, NULL, 0);
	expect(t, "convert", (struct any_options){ .to = "chrome", .time = TIME_RAW },
	       CHROME_HEAD CHROME_TAIL("0"), "");
	expect(t, "cat", (struct any_options){ 0 }, "", "");
	expect(t, "dump", (struct any_options){ 0 }, "", "");
	spur_close(t);
}

/* Memory out at every n-th allocation: it fails, or the output is whole. */
static void no_memory(void **state)
{
	static const struct {
		const char *pass;
		enum output_form form;
	} runs[] = { { "cat", FORM_TEXT },    { "cat", FORM_JSONL },  { "cat", FORM_CSV },
		     { "convert", FORM_TEXT }, { "dump", FORM_JSONL }, { "info", FORM_JSON },
		     { "info", FORM_TEXT },   { "stats", FORM_TEXT }, { "stats", FORM_JSON },
		     { "stats", FORM_CSV },   { "check", FORM_TEXT }, { "check", FORM_JSON } };

	(void)state;
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		const struct any_options opt = { .form = runs[i].form, .to = "chrome" };
		size_t whole = 0;

		for (uint64_t n = 0, count = 1; n <= count; n++) {
			struct fake_feed f, g;
			struct spur_trace *t = kinds_trace(&f, &g);
			struct spur_error err = { 0 };
			struct out o;
			struct pass_env env = { .trace = t,
						.pipe = { .threads = 1 },
						ANY_OPTIONS(&opt, runs[i].pass),
						.out = &o,
						.err = &err };
			enum spur_status st;

			out_to_memory(&o);
			out_room(&o, 65536);
			mem_fail_at(n ? n : UINT64_MAX);
			st = pass_find(runs[i].pass, NULL)->run(&env);
			count = n ? count : mem_count();
			mem_fail_at(0);
			if (!n) {
				assert_int_equal(st, SPUR_OK);
				assert_true(count > 2);
				whole = o.len;
			} else if (st == SPUR_FAIL) {
				assert_int_equal(err.code, SPUR_ERR_MEMORY);
			} else if (!o.error) {
				assert_int_equal(o.len, whole);
			}
			out_free(&o);
			spur_close(t);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_lines),
		cmocka_unit_test(text),
		cmocka_unit_test(calls_and_samples),
		cmocka_unit_test(chrome_by_class),
		cmocka_unit_test(chrome_exit),
		cmocka_unit_test(chrome_kinds),
		cmocka_unit_test(chrome_pairs),
		cmocka_unit_test(empty),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
