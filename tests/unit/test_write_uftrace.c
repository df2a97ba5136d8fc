/*
 * The writer of uftrace data. What is expected is made record by record and line by line from the
 * format's rules (uftrace_dir.h), never by the writer.
 */
#include "unit/uftrace_dir.h"

#include "unit/given.h"

enum { BASE = 0x10000000, FIRST = BASE + 64, SECOND = BASE + 128 };

static struct convert last; /* of the latest conversion */

static void out_path(char *path, size_t size)
{
	snprintf(path, size, "%s/out", dir);
}

static enum spur_status convert_to_dir(struct spur_trace *t)
{
	struct outdir d;
	struct out unused;
	char path[200];
	enum spur_status st;

	out_path(path, sizeof(path));
	if (outdir_open(&d, path, true, NULL) == SPUR_FAIL) {
		outdir_close(&d, false, NULL);
		return SPUR_FAIL;
	}
	out_to_memory(&unused);
	last = (struct convert){ .pipe = { .threads = 1 }, .dir = &d };
	st = convert_run(&last, t, writer_find("uftrace"), &unused);
	out_free(&unused);
	return outdir_close(&d, st != SPUR_FAIL, NULL) == SPUR_FAIL ? SPUR_FAIL : st;
}

/* A file of the output has these bytes. */
static void expect_file(const char *name, const void *bytes, size_t len)
{
	static char found[1 << 20];
	char path[300];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s/out/%s", dir, name);
	f = fopen(path, "rb");
	if (!f)
		fail_msg("%s is missing", name);
	n = fread(found, 1, sizeof(found), f);
	fclose(f);
	if (n != len || memcmp(found, bytes, len) != 0)
		fail_msg("%s: expected %zu bytes, found %zu others: %.*s", name, len, n,
			 n < 600 ? (int)n : 600, found);
}

static void expect_text(const char *name, const char *text)
{
	expect_file(name, text, strlen(text));
}

/* A file has the records that were put. */
static void expect_records(const char *name)
{
	expect_file(name, dat.buf, dat.len);
	out_clear(&dat);
}

static void expect_no_file(const char *name)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/out/%s", dir, name);
	assert_int_not_equal(access(path, F_OK), 0);
}

static int remove_all(void **state)
{
	char command[300];

	snprintf(command, sizeof(command), "rm -rf '%s/out'", dir);
	assert_int_equal(system(command), 0);
	return dir_remove(state);
}

/* SPEC uftrace/made-modules: functions by name, 64 bytes apart */
static void test_calls(void **state)
{
	struct spur_trace *t = fake_trace();
	const uint32_t b = fake_class(t, "b", ""), a = fake_class(t, "a", ""),
		       k = fake_track(t, "prog", 10, 11), l = fake_track(t, "prog", 10, 12);
	struct spur_event rows[] = {
		FAKE_B(100, b, k), FAKE_B(110, a, k),	     FAKE_E(120, a, k),
		FAKE_E(200, b, k), FAKE_SPAN(150, 30, a, l), FAKE_B(300, b, k)
	};
	struct fake_feed f;

	(void)state;
	fake_feed(t, &f, rows, 6);
	assert_int_equal(convert_to_dir(t), SPUR_OK);
	assert_int_equal(loss_sum(&last.loss), 0);
	rec(100, ENTRY, 0, SECOND);
	rec(110, ENTRY, 1, FIRST);
	rec(120, EXIT, 1, FIRST);
	rec(200, EXIT, 0, SECOND);
	rec(300, ENTRY, 0, SECOND); /* an open call stays open */
	expect_records("11.dat");
	rec(150, ENTRY, 0, FIRST);
	rec(180, EXIT, 0, FIRST);
	expect_records("12.dat");
	expect_text("functions.sym", "# symbols: 2\n# path name: /functions\n"
				     "0000000000000040 T a\n0000000000000080 T b\n"
				     "0000000000001000 ? __sym_end\n");
	expect_text("sid-5370757200000001.map",
		    "000010000000-000010001000 r-xp 00000000 00:00 0                          "
		    "/functions\n"
		    "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          "
		    "[stack]\n");
	expect_no_file("functions.dbg");
	expect_no_file("events.txt");
	spur_close(t);
}

/* SPEC uftrace/info-text, SPEC uftrace/session-choice */
static void test_info(void **state)
{
	struct spur_trace *t = fake_trace();
	const uint32_t a = fake_class(t, "a", ""), k = fake_track(t, "k", 10, 11);
	struct spur_event rows[] = { FAKE_B(1500000000, a, k), FAKE_E(2000000001, a, k) };
	struct fake_feed f;

	(void)state;
	fake_feed(t, &f, rows, 2);
	t->clock.name = "boottime";
	t->clock.epoch_known = true;
	t->clock.epoch_ns = 86400 * INT64_C(1000000000);
	assert_int_equal(convert_to_dir(t), SPUR_OK);
	raw_text("Ftrace!");
	raw_uint(0, 1);
	raw_uint(4, 4);
	raw_uint(40, 2);
	raw_uint(1, 1); /* little endian, 64 bit */
	raw_uint(2, 1);
	raw_uint(1 << 1 | 1 << 5 | 1 << 6, 8); /* TASK_SESSION, SYM_REL_ADDR, MAX_STACK */
	raw_uint(1 << 0 | 1 << 3 | 1 << 7 | 1 << 11 | 1 << 12 | 1 << 13 | 1 << 14, 8);
	raw_uint(1024, 2);
	raw_uint(0, 6);
	raw_text("exename:k\ncmdline:uftrace record --clock=boot\n"
		 "taskinfo:lines=2\ntaskinfo:nr_tid=1\ntaskinfo:tids=11\n"
		 "record_date:Fri Jan  2 00:00:02 1970\nelapsed_time:0.500000001 sec\n"
		 "pattern_type:regex\nuftrace_version:spur " SPUR_VERSION "\nutc_offset:86400\n");
	expect_records("info");
	expect_text("task.txt",
		    "SESS timestamp=1.500000000 pid=10 sid=5370757200000001 exename=\"k\"\n"
		    "TASK timestamp=1.500000000 tid=11 pid=10\n");
	spur_close(t);
}

/* SPEC uftrace/arg-spec, SPEC uftrace/string, SPEC uftrace/arg-names */
static void test_args(void **state)
{
	struct spur_trace *t = given_trace();
	const uint32_t a = fake_class(t, "a", ""), k = fake_track(t, "k", 10, 11);
	struct spur_event rows[] = { FAKE_B(100, a, k), FAKE_E(200, a, k) };
	struct spur_value inner[2];
	struct fake_feed f;
	double d = 1.5;
	unsigned n = 0;

	(void)state;
	given[n++] = given_number(t, "i", SPUR_I64, 4, (uint64_t)-3);
	given[n++] = given_number(t, "big", SPUR_I64, 1, 1000); /* its size does not hold it */
	given[n++] = given_number(t, "u,%", SPUR_U64, 8, UINT64_MAX);
	given[n] = given_number(t, "f", SPUR_F64, 4, 0);
	given[n++].f = d;
	given[n++] = given_string(t, "s", SPUR_STRING, "abc", 3);
	given[n++] = given_string(t, "z", SPUR_NULL, NULL, 0);
	given[n++] = given_number(t, "p", SPUR_POINTER, 8, 0x1234);
	given[n++] = given_number(t, "yes", SPUR_BOOL, 1, 1);
	given[n++] = given_string(t, "b", SPUR_BYTES, "\x01\xff", 2);
	inner[0] = given_number(t, "x", SPUR_I64, 8, 1);
	inner[1] = given_string(t, "y", SPUR_STRING, "q", 1);
	given[n] = given_string(t, "st", SPUR_STRUCT, NULL, 2);
	given[n++].items = inner;
	rows[0].nargs = (uint8_t)n;
	rows[1].nargs = 2;
	fake_feed(t, &f, rows, 2);
	assert_int_equal(convert_to_dir(t), SPUR_OK);
	rec_more(100, ENTRY, 0, FIRST);
	raw_uint((uint64_t)-3, 4);
	raw_uint(1000, 8);
	raw_uint(UINT64_MAX, 8);
	raw_uint(0x3FC00000, 4); /* 1.5f */
	raw_string("abc");
	raw_uint(4, 2);
	raw_uint(UINT32_MAX, 4);
	raw_align(4);
	raw_uint(0x1234, 8);
	raw_string("true");
	raw_string("01ff");
	raw_string("{x=1, y=q}");
	raw_align(8);
	rec_more(200, EXIT, 0, SECOND);
	raw_uint((uint64_t)-3, 4);
	raw_align(8);
	expect_records("11.dat");
	expect_text("functions.sym", "# symbols: 2\n# path name: /functions\n"
				     "0000000000000040 T a\n0000000000000080 T a\n"
				     "0000000000001000 ? __sym_end\n");
	expect_text("functions.dbg",
		    "# path name: /functions\nF: 40 a\n"
		    "A: @arg1/i32,arg2/i64,arg3/u64,arg4/f32,arg5/s,arg6/s,arg7/p,arg8/s,arg9/s,"
		    "arg10/s\n#A: i,big,u%2C%25,f,s,z,p,yes,b,st\n"
		    "F: 80 a\nR: @retval/i32\n#R: i\n");
	assert_int_equal(loss_of(&last, SPUR_BEGIN, "no such type"), 3);
	assert_int_equal(loss_of(&last, SPUR_END_SPAN, "several values"), 1);
	spur_close(t);
}

/* SPEC uftrace/arg-names: the reader calls arguments by the names of the comments */
static void test_names_back(void **state)
{
	struct spur_options opt = SPUR_OPTIONS(.format = "uftrace");
	struct spur_trace *t = given_trace(), *back;
	const uint32_t a = fake_class(t, "a", ""), k = fake_track(t, "k", 10, 11);
	struct spur_event rows[] = { FAKE_B(100, a, k), FAKE_E(200, a, k) };
	const struct spur_event *read;
	struct spur_args args = { 0 };
	struct fake_feed f;
	char path[200];
	size_t n;

	(void)state;
	given[0] = given_number(t, "first", SPUR_I64, 8, 7);
	given[1] = given_string(t, "a,b%", SPUR_STRING, "x", 1);
	rows[0].nargs = 2;
	rows[1].nargs = 1;
	fake_feed(t, &f, rows, 2);
	assert_int_equal(convert_to_dir(t), SPUR_OK);
	out_path(path, sizeof(path));
	assert_int_equal(spur_open(&back, path, &opt, NULL), SPUR_OK);
	assert_int_equal(spur_next(back, &read, &n), SPUR_OK);
	assert_int_equal(n, 2);
	assert_int_equal(spur_args(back, &read[0], &args), SPUR_OK);
	assert_int_equal(args.count, 2);
	assert_string_equal(spur_string(back, args.items[0].name, NULL), "first");
	assert_string_equal(spur_string(back, args.items[1].name, NULL), "a,b%");
	assert_int_equal(spur_args(back, &read[1], &args), SPUR_OK);
	assert_string_equal(spur_string(back, args.items[0].name, NULL), "first");
	spur_args_free(&args);
	spur_close(back);
	spur_close(t);
}

/* SPEC uftrace/made-depth: modulo 1,024, and what overflows is added to the address */
static void test_depth(void **state)
{
	enum { DEEP = 1030 };
	static struct spur_event rows[DEEP + 1];
	struct spur_trace *t = fake_trace();
	const uint32_t a = fake_class(t, "a", ""), k = fake_track(t, "k", 10, 11);
	const struct spur_event end = FAKE_E(5000, a, k);
	struct fake_feed f;

	(void)state;
	for (unsigned i = 0; i < DEEP; i++) {
		const struct spur_event begin = FAKE_B(100 + i, a, k);

		rows[i] = begin;
		rec(100 + i, ENTRY, i & 1023, FIRST + (i >> 10));
	}
	rows[DEEP] = end;
	rec(5000, EXIT, (DEEP - 1) & 1023, FIRST + 1);
	fake_feed(t, &f, rows, DEEP + 1);
	assert_int_equal(convert_to_dir(t), SPUR_OK);
	expect_records("11.dat");
	spur_close(t);
}

/* SPEC uftrace/made-events, SPEC uftrace/lost, SPEC uftrace/extern */
static void test_events(void **state)
{
	struct spur_trace *t = given_trace();
	const uint32_t a = fake_class(t, "b c:d", ""), s = fake_class(t, "a", ""),
		       k = fake_track(t, "k", 10, 11);
	struct spur_event rows[] = {
		{ .kind = SPUR_INSTANT, .ts = 100, .cls = a, .track = k, .nargs = 1 },
		{ .kind = SPUR_LOST, .ts = 110, .id = 7, .cls = a, .track = k },
		{ .kind = SPUR_ASYNC_END, .ts = 120, .cls = s, .track = k },
		{ .kind = SPUR_LOG, .ts = 1000000130, .cls = s, .track = k, .nargs = 1 },
		{ .kind = SPUR_COUNTER, .ts = 1000000140, .cls = s, .track = k, .nargs = 1 },
		{ .kind = SPUR_FLOW_STEP, .ts = 1000000150, .cls = s, .track = k },
		{ .kind = SPUR_OBJECT, .ts = 1000000160, .cls = s, .track = k },
		{ .kind = SPUR_BLOB, .ts = 1000000170, .cls = s, .track = k },
	};
	struct fake_feed f;

	(void)state;
	given[0] = given_string(t, "m", SPUR_STRING, "one\ntwo", 7);
	fake_feed(t, &f, rows, 8);
	assert_int_equal(convert_to_dir(t), SPUR_OK);
	rec(100, EVENT, 0, 1000003);
	rec(0, LOST, 0, 7);
	rec(120, EVENT, 0, 1000000);
	rec(1000000150, EVENT, 0, 1000001);
	rec(1000000160, EVENT, 0, 1000002);
	expect_records("11.dat");
	expect_text("events.txt", "EVENT: 1000000 event:a.end\nEVENT: 1000001 event:a.step\n"
				  "EVENT: 1000002 event:a\nEVENT: 1000003 event:b_c_d\n");
	expect_text("extern.dat", "1.000000130 one two\n1.000000140 a m=one two\n");
	assert_int_equal(loss_of(&last, SPUR_INSTANT, "no arguments"), 1);
	assert_int_equal(loss_of(&last, SPUR_OBJECT, "user event"), 1);
	assert_int_equal(loss_of(&last, SPUR_BLOB, "nothing like it"), 1);
	spur_close(t);
}

/* SPEC uftrace/perf-record, SPEC uftrace/made-names */
static void test_switches(void **state)
{
	struct spur_trace *t = fake_trace();
	const uint32_t a = fake_class(t, "a", "");
	const uint32_t p = trace_add_track(t, (struct spur_track){ .parent = SPUR_NONE,
								   .name = trace_intern(t, "prog"),
								   .kind = SPUR_TRACK_PROCESS,
								   .pid = 10,
								   .tid = -1,
								   .cpu = -1 });
	const uint32_t k = trace_add_track(
		t, (struct spur_track){ .parent = p,
					.name = trace_intern(t, "a name of 22 bytes ..."),
					.kind = SPUR_TRACK_THREAD,
					.pid = 10,
					.tid = 11,
					.cpu = -1 });
	struct spur_event rows[] = { FAKE_B(100, a, k), FAKE_OUT(110, a, k), FAKE_IN(120, a, k),
				     FAKE_E(200, a, k) };
	struct fake_feed f;

	(void)state;
	rows[1].flags |= SPUR_F_PREEMPTED;
	fake_feed(t, &f, rows, 4);
	assert_int_equal(convert_to_dir(t), SPUR_OK);
	raw_uint(3, 4); /* COMM */
	raw_uint(0, 2);
	raw_uint(48, 2);
	raw_uint(10, 4);
	raw_uint(11, 4);
	raw_text("a name of 22 by");
	raw_uint(0, 1);
	raw_uint(10, 4);
	raw_uint(11, 4);
	raw_uint(100, 8);
	for (unsigned i = 0; i < 2; i++) { /* SWITCH */
		raw_uint(14, 4);
		raw_uint(i ? 0 : 0x6000, 2);
		raw_uint(24, 2);
		raw_uint(10, 4);
		raw_uint(11, 4);
		raw_uint(i ? 120 : 110, 8);
	}
	expect_records("perf-cpu0.dat");
	spur_close(t);
}

/* Ids that are no numbers of their own, times before zero, names and texts that do not fit. */
static void test_limits(void **state)
{
	static char text[3000];
	struct spur_trace *t = given_trace();
	const uint32_t a = fake_class(t, "a\nb", ""), k = fake_track(t, "k", 10, 11),
		       l = fake_track(t, "l", 20, 11), m = fake_track(t, "m", 1, INT64_C(1) << 40);
	struct spur_event rows[] = { FAKE_B(-5, a, k), FAKE_E(20, a, k), FAKE_B(30, a, l),
				     FAKE_B(40, a, m) };
	struct fake_feed f;

	(void)state;
	memset(text, 'x', sizeof(text));
	memcpy(text + 1012, "\xe2\x82\xac", 3); /* across the cut */
	given[0] = given_string(t, "s", SPUR_STRING, text, sizeof(text));
	rows[2].nargs = 1;
	fake_feed(t, &f, rows, 4);
	assert_int_equal(convert_to_dir(t), SPUR_OK);
	rec(0, ENTRY, 0, FIRST);
	rec(20, EXIT, 0, FIRST);
	expect_records("11.dat");
	rec_more(30, ENTRY, 0, SECOND);
	raw_uint(1012, 2);
	out_bytes(&dat, text, 1012);
	raw_align(8);
	expect_records("20.dat"); /* the process's own id is free */
	rec(40, ENTRY, 0, FIRST);
	expect_records("1.dat");
	assert_int_equal(loss_of(&last, SPUR_BEGIN, "below 2^31"), 2);
	assert_int_equal(loss_of(&last, SPUR_BEGIN, "before its zero"), 1);
	assert_int_equal(loss_of(&last, SPUR_BEGIN, "control characters"), 3);
	assert_int_equal(loss_of(&last, SPUR_BEGIN, "1,016 bytes"), 1);
	spur_close(t);
}

/* SPEC uftrace/sym-size: names that end the symbol before them are no functions */
static void test_end_mark(void **state)
{
	struct spur_trace *t = given_trace();
	const uint32_t a = fake_class(t, "__sym_end", ""), k = fake_track(t, "k", 10, 11);
	struct spur_event rows[] = { FAKE_B(5, a, k), FAKE_E(20, a, k) };
	struct fake_feed f;

	(void)state;
	fake_feed(t, &f, rows, 2);
	assert_int_equal(convert_to_dir(t), SPUR_OK);
	expect_text("functions.sym", "# symbols: 1\n# path name: /functions\n"
				     "0000000000000040 T __sym_end_\n"
				     "0000000000001000 ? __sym_end\n");
	assert_int_equal(loss_of(&last, SPUR_BEGIN, "control characters"), 1);
	spur_close(t);
}

/* Without a record that uftrace reads nothing is written. */
static void test_empty(void **state)
{
	struct spur_trace *t = fake_trace();
	const uint32_t a = fake_class(t, "a", ""), k = fake_track(t, "k", 10, 11);
	struct spur_event rows[] = { { .kind = SPUR_LOG, .ts = 1, .cls = a, .track = k } };
	struct fake_feed f;

	(void)state;
	fake_feed(t, &f, rows, 1);
	assert_int_equal(convert_to_dir(t), SPUR_FAIL);
	assert_int_equal(last.error.code, SPUR_ERR_USAGE);
	spur_close(t);
}

/* A failed allocation is an error, and leaves no directory. */
static void test_memory(void **state)
{
	enum spur_status st = SPUR_FAIL;

	(void)state;
	for (uint64_t n = 1; st == SPUR_FAIL; n++) {
		struct spur_trace *t = given_trace();
		const uint32_t a = fake_class(t, "a", ""), k = fake_track(t, "k", 10, 11);
		struct spur_event rows[] = {
			FAKE_B(100, a, k),
			FAKE_OUT(110, a, k),
			FAKE_E(200, a, k),
			{ .kind = SPUR_LOG, .ts = 210, .cls = a, .track = k }
		};
		struct fake_feed f;
		char path[200];

		given[0] = given_number(t, "x", SPUR_U64, 8, 1);
		rows[0].nargs = 1;
		fake_feed(t, &f, rows, 4);
		mem_fail_at(n);
		st = convert_to_dir(t);
		mem_fail_at(0);
		out_path(path, sizeof(path));
		if (st == SPUR_FAIL)
			assert_int_not_equal(access(path, F_OK), 0);
		spur_close(t);
	}
	rec_more(100, ENTRY, 0, FIRST);
	raw_uint(1, 8);
	rec(200, EXIT, 0, FIRST);
	expect_records("11.dat");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, dir_make, remove_all)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_calls),    TEST(test_info),	TEST(test_args),     TEST(test_names_back),
		TEST(test_depth),    TEST(test_events), TEST(test_switches), TEST(test_limits),
		TEST(test_end_mark), TEST(test_empty),	TEST(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
