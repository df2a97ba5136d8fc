/* XRay logs of basic mode, profiles, and which file is taken for one. */
#include "unit/xray_file.h"

#include "format/format.h"

/*
 * SPEC xray/byte-order, SPEC xray/basic-record: threads in chunks, each chunk in order; the pid
 * from version 3 on
 */
static void test_records(void **state)
{
	(void)state;
	for (unsigned version = 1; version <= 4; version++)
		for (int order = 0; order < 2; order++) {
			big = order;
			put_header(version, BASIC, 1000000000, 0x123456789);
			basic(ENTER, 1, 1000, 12, 7);
			basic(ENTER, 2, 1100, 12, 7);
			basic(ENTER, 1, 1050, 13, 7);
			basic(EXIT, 1, 1250, 13, 7);
			basic(TAIL, 2, 1200, 12, 7);
			basic(ENTER, 0xf2345678, 1300, 12, 7);
			expect_rows(version < 4 ? "1000 BEGIN fn#1 12\n"
						  "1050 BEGIN fn#1 13\n"
						  "1100 BEGIN fn#2 12\n"
						  "1200 END fn#2 12 tail\n"
						  "1250 END fn#1 13\n"
						  "1300 BEGIN fn#4063516280 12 tail\n"
						: "1000 BEGIN fn#1 12\n"
						  "1050 BEGIN fn#1 13\n"
						  "1100 BEGIN fn#2 12\n"
						  "1200 END fn#2 12 tail\n"
						  "1250 END fn#1 13\n"
						  "1300 BEGIN fn#4063516280 12 tail\n"
						  "~ unknown-version at 0\n");
		}
}

/* SPEC xray/basic-argument: behind their call in its thread, which may be in another chunk */
static void test_arguments(void **state)
{
	(void)state;
	put_header(3, BASIC, 1000000000, 0);
	basic(ENTER_ARG, 1, 1000, 12, 7);
	basic_arg(1, 0xdeadbeefcafe, 12, 7);
	basic(ENTER_ARG, 2, 1001, 12, 7);
	basic(ENTER_ARG, 3, 1002, 13, 7);
	basic_arg(2, 21, 12, 7);
	basic_arg(2, 22, 12, 7);
	basic(EXIT, 2, 1003, 12, 7);
	basic_arg(3, 31, 13, 7);
	expect_rows("1000 BEGIN fn#1 12 (arg1=244837814094590)\n"
		    "1001 BEGIN fn#2 12 (arg1=21)\n"
		    "1001 NATIVE call argument 12 retimed\n"
		    "1002 BEGIN fn#3 13 (arg1=31)\n"
		    "1003 END fn#2 12\n"
		    "~ deep-argument at 192\n");
	memcpy(made.buf + 24, "Spur\0\0\0\1", 8);
	expect_rows("1000 BEGIN fn#1 12 (arg1=244837814094590)\n"
		    "1001 BEGIN fn#2 12 (arg1=21, arg2=22)\n"
		    "1002 BEGIN fn#3 13 (arg1=31)\n"
		    "1003 END fn#2 12\n");
	memset(made.buf + 24, 0, 8);
	expect_stored("0 NATIVE file header -1 retimed\n"
		      "1000 BEGIN fn#1 12 (arg1=244837814094590)\n"
		      "1001 BEGIN fn#2 12\n"
		      "1002 BEGIN fn#3 13\n"
		      "1001 NATIVE call argument 12 retimed\n"
		      "1001 NATIVE call argument 12 retimed\n"
		      "1003 END fn#2 12\n"
		      "1002 NATIVE call argument 13 retimed\n"
		      "! stray-argument at 160 x3\n");
}

static void test_strays(void **state)
{
	(void)state;
	put_header(3, BASIC, 1000000000, 0);
	basic_arg(1, 1, 12, 7);
	basic(ENTER, 1, 1000, 12, 7);
	basic_arg(2, 2, 12, 7);
	basic(EXIT, 1, 1001, 12, 7);
	basic_arg(1, 3, 12, 7);
	expect_rows("0 NATIVE call argument 12 retimed\n"
		    "1000 BEGIN fn#1 12\n"
		    "1000 NATIVE call argument 12 retimed\n"
		    "1001 END fn#1 12\n"
		    "1001 NATIVE call argument 12 retimed\n"
		    "~ deep-argument at 96 x2\n! stray-argument at 32\n");
}

/*
 * SPEC xray/deep-argument: the runtime writes an argument behind its entry, and those of calls
 * below that are too deep. One without its entry's own argument, or behind damage, has lost a call.
 */
static void test_deep(void **state)
{
	(void)state;
	put_header(3, BASIC, 1000000000, 0);
	basic(ENTER_ARG, 1, 1000, 12, 7);
	basic_arg(1, 3, 12, 7);
	basic_arg(1, 2, 12, 7);
	basic_arg(2, 1, 12, 7);
	basic(EXIT, 1, 1001, 12, 7);
	expect_rows("1000 BEGIN fn#1 12 (arg1=3)\n"
		    "1000 NATIVE call argument 12 retimed\n"
		    "1000 NATIVE call argument 12 retimed\n"
		    "1001 END fn#1 12\n"
		    "~ deep-argument at 96 x2\n");
	expect_stored("0 NATIVE file header -1 retimed\n"
		      "1000 BEGIN fn#1 12 (arg1=3)\n"
		      "1000 NATIVE call argument 12 retimed\n"
		      "1000 NATIVE call argument 12 retimed\n"
		      "1001 END fn#1 12\n"
		      "~ deep-argument at 96 x2\n");
	basic(ENTER_ARG, 2, 1002, 12, 7);
	basic_arg(1, 1, 12, 7);
	basic(EXIT, 2, 1003, 12, 7);
	expect_rows("1000 BEGIN fn#1 12 (arg1=3)\n"
		    "1000 NATIVE call argument 12 retimed\n"
		    "1000 NATIVE call argument 12 retimed\n"
		    "1001 END fn#1 12\n"
		    "1002 BEGIN fn#2 12\n"
		    "1002 NATIVE call argument 12 retimed\n"
		    "1003 END fn#2 12\n"
		    "~ deep-argument at 96 x2\n! stray-argument at 224\n");
}

/* SPEC xray/basic-resync, SPEC xray/time-back */
static void test_damage(void **state)
{
	(void)state;
	put_header(3, BASIC, 1000000000, 0);
	for (uint32_t i = 0; i < 8; i++)
		basic(i % 2 ? EXIT : ENTER, 1, 1000 + i, 12, 7);
	made.buf[32 + 2 * 32] = 2; /* no type of record */
	made.buf[32 + 4 * 32 + 3] = 4; /* no kind of call */
	expect_rows("1000 BEGIN fn#1 12\n1001 END fn#1 12\n1003 END fn#1 12\n1005 END fn#1 12\n"
		    "1006 BEGIN fn#1 12\n1007 END fn#1 12\n! bad-record at 96 lost 64 x2\n");
	made.len -= 5;
	expect_rows("1000 BEGIN fn#1 12\n1001 END fn#1 12\n1003 END fn#1 12\n1005 END fn#1 12\n"
		    "1006 BEGIN fn#1 12\n! bad-record at 96 lost 64 x2\n! torn-record at 256 lost "
		    "27\n");

	put_header(3, BASIC, 1000000000, 0);
	basic(ENTER, 1, 1000, 12, 7);
	put_text("three"); /* shifted */
	for (uint32_t i = 0; i < 3; i++)
		basic(EXIT, 1, 990 + 10 * i, 12, 7);
	expect_rows("1000 BEGIN fn#1 12\n1000 END fn#1 12 retimed back\n1000 END fn#1 12\n1010 END "
		    "fn#1 12\n"
		    "! bad-record at 64 lost 5\n~ time-back at 69\n");
}

/* SPEC xray/raw-log: basic records behind the header of an FDR log */
static void test_raw_log(void **state)
{
	(void)state;
	put_header(5, FDR, 1000000000, 0);
	basic(ENTER, 1, 1000, 12, 7);
	basic(EXIT, 1, 1001, 12, 7);
	expect_rows("1000 BEGIN fn#1 12\n1001 END fn#1 12\n~ raw-log at 2\n");
}

/*
 * SPEC xray/forked-copy: process 8 is forked from process 7, whose buffer has four records by then.
 * It writes them first, then its own; process 7 writes them again, with what follows.
 */
static void test_forked_copy(void **state)
{
	(void)state;
	put_header(3, BASIC, 1000000000, 0);
	for (int writer = 0; writer < 2; writer++) {
		basic(ENTER, 1, 1000, 7, 7);
		basic(ENTER_ARG, 2, 1001, 7, 7);
		basic_arg(2, 99, 7, 7);
		basic(EXIT, 2, 1002, 7, 7);
		if (writer)
			break;
		basic(ENTER, 3, 1003, 8, 8);
		basic(EXIT, 3, 1004, 8, 8);
	}
	basic(EXIT, 1, 1005, 7, 7);
	expect_rows("1000 BEGIN fn#1 7\n1001 BEGIN fn#2 7 (arg1=99)\n1002 END fn#2 7\n"
		    "1003 BEGIN fn#3 8\n1004 END fn#3 8\n1005 END fn#1 7\n"
		    "~ forked-copy at 224\n");
	/* A record that differs in one byte is none. */
	made.buf[made.len - 2 * 32 + 2] ^= 1;
	expect_rows("1000 BEGIN fn#1 7\n1001 BEGIN fn#2 7 (arg1=99)\n1002 END fn#2 7\n"
		    "1002 END fn#2 7\n1003 BEGIN fn#3 8\n1004 END fn#3 8\n1005 END fn#1 7\n"
		    "~ forked-copy at 224\n");
}

/* The same where the parent had no file yet: the child's file is its own, but for the copy. */
static void test_forked_file(void **state)
{
	(void)state;
	for (int other = 0; other < 2; other++) {
		put_header(3, BASIC, 1000000000, 0);
		basic(ENTER, 1, 1000, 7, 7);
		basic(ENTER, 2, 1001, 7, 7);
		basic(ENTER, 3, 1003, 8, 8);
		/* With another thread of process 7 the file is that process's too. */
		if (other)
			basic(ENTER, 3, 1003, 9, 7);
		basic(EXIT, 3, 1004, 8, 8);
		basic(EXIT, 2, 1005, 8, 8);
		expect_rows(other ? "1000 BEGIN fn#1 7\n1001 BEGIN fn#2 7\n1003 BEGIN fn#3 9\n"
				    "1003 BEGIN fn#3 8\n1004 END fn#3 8\n1005 END fn#2 8\n"
				  : "1003 BEGIN fn#3 8\n1004 END fn#3 8\n1005 END fn#2 8\n"
				    "~ forked-copy at 32\n");
	}
}

static void put_profile(uint64_t version)
{
	out_clear(&made);
	put_uint(0x7872617970726f66, 8);
	put_uint(version, 8);
	put_uint(1700000000000000000, 8);
	put_uint(7, 8);
}

static void put_block(uint32_t size, uint32_t number, uint64_t tid)
{
	put_uint(size, 4);
	put_uint(number, 4);
	put_uint(tid, 8);
}

/* Leaf first. */
static void put_stack(const char *functions, uint64_t calls, uint64_t ticks)
{
	for (const char *f = functions; *f; f++)
		put_uint((unsigned char)*f, 4);
	put_uint(0, 4);
	put_uint(calls, 8);
	put_uint(ticks, 8);
}

/* SPEC xray/profile-header, SPEC xray/profile-block, SPEC xray/profile-record */
static void test_profile(void **state)
{
	(void)state;
	for (int order = 0; order < 2; order++) {
		big = order;
		put_profile(0x20180424);
		put_block(16 + 24 + 28, 0, 12);
		put_stack("\001", 3, 100);
		put_stack("\002\001", 5, 70);
		put_block(16 + 24, 1, 0x10000000c);
		put_stack("\003", 1, 9);
		put_block(16 + 24, 2, 12);
		put_stack("\004", 1, 1);
		expect_rows(
			"1700000000000000000 SAMPLE fn#1 12 (calls=3, ticks=100, stack=fn#1)\n"
			"1700000000000000000 SAMPLE fn#2 12 (calls=5, ticks=70, stack=fn#1>fn#2)\n"
			"1700000000000000000 SAMPLE fn#4 12 (calls=1, ticks=1, stack=fn#4)\n"
			"1700000000000000000 SAMPLE fn#3 12 (calls=1, ticks=9, stack=fn#3)\n");
	}
	expect_stored("1700000000000000000 NATIVE file header -1 retimed\n"
		      "1700000000000000000 NATIVE profile block 12 retimed\n"
		      "1700000000000000000 SAMPLE fn#1 12 (calls=3, ticks=100, stack=fn#1)\n"
		      "1700000000000000000 SAMPLE fn#2 12 (calls=5, ticks=70, stack=fn#1>fn#2)\n"
		      "1700000000000000000 NATIVE profile block 12 retimed\n"
		      "1700000000000000000 SAMPLE fn#3 12 (calls=1, ticks=9, stack=fn#3)\n"
		      "1700000000000000000 NATIVE profile block 12 retimed\n"
		      "1700000000000000000 SAMPLE fn#4 12 (calls=1, ticks=1, stack=fn#4)\n");
}

/* The first `count` rows of the file have these durations and flags. */
static void expect_durations(const int64_t *durations, const uint16_t *flags, size_t count)
{
	const struct spur_options opt = SPUR_OPTIONS(.threads = 1, .symbol_dirs = "/nonexistent");
	const struct spur_event *rows;
	struct spur_trace *t;
	size_t n;

	file_write(made.buf, made.len);
	assert_int_equal(spur_open(&t, path, &opt, NULL), SPUR_OK);
	assert_int_equal(spur_next(t, &rows, &n), SPUR_OK);
	assert_int_equal(n, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(rows[i].dur, durations[i]);
		assert_int_equal(rows[i].flags, flags[i]);
	}
	spur_close(t);
}

/*
 * SPEC xray/profile-ticks: f1 calls f2 and f3, f2 calls f3. What a row has is what the functions
 * called do not have, whatever comes first; other blocks have calls of their own.
 */
static void test_profile_ticks(void **state)
{
	(void)state;
	for (int order = 0; order < 2; order++) {
		big = order;
		put_profile(0x20180424);
		put_block(16 + 28 + 32 + 28 + 24, 0, 12);
		put_stack("\002\001", 5, 70);
		put_stack("\003\002\001", 5, 40);
		put_stack("\003\001", 2, 25);
		put_stack("\001", 1, 100);
		put_block(16 + 24, 1, 12);
		put_stack("\001", 1, 11);
		expect_durations((const int64_t[]){ 30, 40, 25, 5, 11 }, (const uint16_t[5]){ 0 },
				 5);
	}
}

/*
 * SPEC xray/negative-ticks: f3 throws, f1 catches; of f2 and f1 f3's ticks were taken away once
 * more each
 */
static void test_negative_ticks(void **state)
{
	(void)state;
	put_profile(0x20180424);
	put_block(16 + 24 + 28 + 32 + 28, 0, 12);
	put_stack("\001", 1, (uint64_t)-20);
	put_stack("\002\001", 1, 5);
	put_stack("\003\002\001", 1, 30);
	put_stack("\004\001", 1, 3);
	expect_rows("1700000000000000000 SAMPLE fn#1 12 (calls=1, ticks=-20, stack=fn#1)\n"
		    "1700000000000000000 SAMPLE fn#2 12 (calls=1, ticks=5, stack=fn#1>fn#2)\n"
		    "1700000000000000000 SAMPLE fn#3 12 (calls=1, ticks=30, "
		    "stack=fn#1>fn#2>fn#3)\n"
		    "1700000000000000000 SAMPLE fn#4 12 (calls=1, ticks=3, stack=fn#1>fn#4)\n"
		    "~ negative-ticks at 64 x2\n");
	expect_durations((const int64_t[]){ 0, 0, 30, 3 },
			 (const uint16_t[]){ SPUR_F_UNRELIABLE, SPUR_F_UNRELIABLE, 0, 0 }, 4);
	/* The caller of what was negative: nothing tells how much of its ticks is its own. */
	put_profile(0x20180424);
	put_block(16 + 24 + 28, 0, 12);
	put_stack("\001", 1, 100);
	put_stack("\002\001", 1, (uint64_t)-1);
	expect_durations((const int64_t[]){ 100, 0 },
			 (const uint16_t[]){ SPUR_F_UNRELIABLE, SPUR_F_UNRELIABLE }, 2);
}

static void test_profile_rows(void **state)
{
	const struct spur_options opt = SPUR_OPTIONS(.threads = 1, .symbol_dirs = "/nonexistent");
	const struct spur_event *rows;
	struct spur_trace *t;
	uint32_t cls[2];
	size_t n;

	(void)state;
	put_profile(0x20180424);
	put_block(16 + 28, 0, 12);
	put_stack("\002\001", 5, 70);
	file_write(made.buf, made.len);
	assert_int_equal(spur_open(&t, path, &opt, NULL), SPUR_OK);
	assert_int_equal(spur_next(t, &rows, &n), SPUR_OK);
	assert_int_equal(n, 1);
	assert_int_equal(rows[0].dur, 70);
	assert_int_equal(rows[0].id, 5);
	assert_int_equal(t->format->stack(t, &rows[0], cls, 2), 2);
	assert_int_equal(cls[1], rows[0].cls);
	assert_string_equal(spur_string(t, trace_class(t, cls[0])->name, NULL), "fn#1");
	assert_int_equal(t->format->stack(t, &rows[0], NULL, 0), 2);
	spur_close(t);
}

static void test_profile_damage(void **state)
{
	(void)state;
	put_profile(0x20190101);
	put_block(16 + 24 + 20 + 4, 0, 12);
	put_stack("\001", 3, 100);
	put_stack("", 3, 100);
	put_text("rest");
	put_block(9, 1, 13);
	put_stack("\003", 1, 9);
	expect_rows("1700000000000000000 SAMPLE fn#1 12 (calls=3, ticks=100, stack=fn#1)\n"
		    "1700000000000000000 SAMPLE fn#3 13 (calls=1, ticks=9, stack=fn#3)\n"
		    "! bad-block at 96\n"
		    "! bad-stack at 72 lost 24 x2\n"
		    "~ unknown-version at 8\n");
	put_profile(0x20180424);
	put_block(99, 1, 13);
	put_stack("\003", 1, 9);
	put_uint(1, 4);
	put_text("xx");
	expect_rows("1700000000000000000 SAMPLE fn#3 13 (calls=1, ticks=9, stack=fn#3)\n"
		    "! truncated at 72 lost 6\n");
	put_profile(0x20180424);
	expect_rows("~ no-data at 32\n");
	put_text("short");
	expect_rows("! torn-record at 32 lost 5\n");
}

static int score(void)
{
	const struct probe p = { .path = "x", .head = (const uint8_t *)made.buf, .len = made.len };

	return format_find("xray")->probe(&p);
}

/* SPEC xray/probe: by the bytes, not by the name; small numbers alone are no header */
static void test_probe(void **state)
{
	const uint64_t hz = 2000000000, size = 4096;

	(void)state;
	for (int order = 0; order < 2; order++) {
		big = order;
		put_header(5, FDR, hz, size);
		assert_int_equal(score(), 60);
		buffer_simple(12, 5, 1000, 1);
		assert_int_equal(score(), 100);
		put_header(1, FDR, hz, size);
		buffer_begin(1, 12, 5);
		assert_int_equal(score(), 100);
		put_header(3, BASIC, hz, size);
		basic(ENTER, 1, 1, 1, 1);
		assert_int_equal(score(), 100);
		put_header(7, BASIC, hz, 0);
		assert_int_equal(score(), 30);
		put_header(3, 2, hz, size);
		assert_int_equal(score(), 0);
		put_header(99, FDR, hz, size);
		assert_int_equal(score(), 0);
		put_header(5, FDR, 1, 1);
		assert_int_equal(score(), 0);
		put_profile(1);
		assert_int_equal(score(), 100);
		made.len = 31;
		assert_int_equal(score(), 0);
	}
	out_clear(&made);
	out_pad(&made, '\0', 64);
	assert_int_equal(score(), 0);
}

/* SPEC xray/flags, SPEC xray/emulated */
/*
 * SPEC xray/ring-wrapped: by the order of one thread's buffers, which those of another do not
 * change
 */
static void test_info_ring(void **state)
{
	const struct spur_options opt = SPUR_OPTIONS(.threads = 1, .symbol_dirs = "/nonexistent");

	(void)state;
	for (int wrapped = 0; wrapped < 2; wrapped++) {
		struct spur_trace *t;
		bool said = false;

		put_header(5, FDR, 1000000000, 4096);
		buffer_simple(12, wrapped ? 40 : 10, wrapped ? 4000 : 1000, 1);
		buffer_simple(13, 5, 500, 1);
		buffer_simple(12, 20, 2000, 1);
		file_write(made.buf, made.len);
		assert_int_equal(spur_open(&t, path, &opt, NULL), SPUR_OK);
		for (size_t k = 0; k < t->ninfo; k++)
			said |= strcmp(t->info[k].key, "ring") == 0;
		assert_int_equal(said, wrapped);
		spur_close(t);
	}
}

static void test_info(void **state)
{
	const struct spur_options opt = SPUR_OPTIONS(.threads = 1, .symbol_dirs = "/nonexistent");
	static const char *const want[] = {
		"type=basic;written by=LLVM 6;cycle frequency=1000000000;constant tsc=yes;"
		"nonstop tsc=no;",
		"type=flight data recorder;written by=LLVM 8 or later;"
		"cycle frequency=2500000000;constant tsc=no;nonstop tsc=yes;"
		"buffer size=4096;buffers=1;"
	};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct spur_trace *t;

		big = i;
		put_header(i ? 5 : 2, i ? FDR : BASIC, i ? 2500000000 : 1000000000, 4096);
		if (i)
			buffer_simple(12, 5, 1000, 1);
		else
			basic(ENTER, 1, 1700000000000000000, 1, 1);
		made.buf[i ? 4 : 5] = i ? 0x40 : 0x7f; /* junk beside the bits */
		made.buf[i ? 7 : 4] = 1;
		file_write(made.buf, made.len);
		assert_int_equal(spur_open(&t, path, &opt, NULL), SPUR_OK);
		out_clear(&seen);
		for (size_t k = 0; k < t->ninfo; k++)
			out_printf(&seen, "%s=%s;", t->info[k].key, t->info[k].value);
		out_char(&seen, '\0');
		assert_string_equal(seen.buf, want[i]);
		assert_string_equal(t->version, i ? "FDR 5" : "basic 2");
		assert_string_equal(t->byte_order, i ? "big" : "little");
		assert_string_equal(t->clock.name, i ? "tsc" : "realtime");
		assert_int_equal(t->clock.epoch_known, !i);
		spur_close(t);
	}
}

/* What has been written comes out before more is, and before the end. */
static void test_follow(void **state)
{
	struct spur_options opt = SPUR_OPTIONS(.format = "xray",
				    .symbol_dirs = "/nonexistent",
				    .follow = true);
	struct spur_event rows[32];

	(void)state;
	for (int type = BASIC; type <= FDR + 1; type++) {
		struct batch b = { .rows = rows, .cap = 32 };
		struct spur_error err;
		struct spur_trace *t;
		uint32_t count = 0;
		int fds[2];

		put_header(type > FDR ? 1 : type ? 5 : 3, type ? FDR : BASIC, 1000000000, 128);
		if (type > FDR) {
			buffer_begin(1, 12, 5);
			cpu(0, 1);
			fn(ENTER, 1, 1);
			fn(EXIT, 1, 1);
			buffer_pad(128);
		} else if (type) {
			buffer_simple(12, 5, 1000, 1);
		} else {
			basic(ENTER, 1, 1000, 12, 7);
			basic(ENTER, 2, 1001, 12, 7);
		}
		assert_int_equal(pipe(fds), 0);
		assert_int_equal(write(fds[1], made.buf, made.len), made.len);
		snprintf(path, sizeof(path), "/dev/fd/%d", fds[0]);
		alarm(20); /* it must not wait */
		assert_int_equal(spur_open(&t, path, &opt, &err), SPUR_OK);
		while (count < (type > FDR ? 7u
				: type	   ? 8u
					   : 3u) &&
		       t->format->next(t, t->feeds[0], &b) == SPUR_OK)
			count += b.count;
		alarm(0);
		assert_int_equal(b.rows[b.count - 1].kind, type > FDR ? SPUR_NATIVE
							   : type     ? SPUR_END_SPAN
								      : SPUR_BEGIN);
		close(fds[1]);
		assert_int_equal(t->format->next(t, t->feeds[0], &b), SPUR_END);
		spur_close(t);
		close(fds[0]);
	}
	snprintf(path, sizeof(path), "%s/t", dir);
}

static void test_directory(void **state)
{
	const struct spur_options opt = SPUR_OPTIONS(.format = "xray");
	struct spur_error err;
	struct spur_trace *t;

	(void)state;
	file_write("", 0);
	assert_int_equal(spur_open(&t, dir, &opt, &err), SPUR_FAIL);
	assert_non_null(strstr(err.message, "expected files xray-log.*, found none"));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, file_make, file_remove)
	static const struct CMUnitTest tests[] = {
		T(test_records),	T(test_arguments),	T(test_strays),
		T(test_deep),
		T(test_damage),		T(test_raw_log),	T(test_profile),
		T(test_profile_rows),	T(test_profile_damage), T(test_profile_ticks),
		T(test_negative_ticks), T(test_forked_copy),	T(test_forked_file),
		T(test_probe),		T(test_info),		T(test_info_ring),
		T(test_directory),	T(test_follow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
