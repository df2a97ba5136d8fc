/* XRay FDR logs: the rules of undamaged ones, and what their writers are known to do wrong. */
#include "unit/xray_file.h"

/*
 * SPEC xray/metadata-record, SPEC xray/function-record, SPEC xray/call-kinds, SPEC xray/ticks,
 * SPEC xray/function-id, SPEC xray/function-name
 */
static void test_calls(void **state)
{
	(void)state;
	for (int order = 0; order < 2; order++) {
		big = order;
		put_header(5, FDR, 2000000000, 4096);
		buffer_begin(5, 12, 5);
		cpu(3, 1000);
		fn(ENTER, 1, 0);
		fn(ENTER, 0x1234567, 40);
		fn(EXIT, 0x1234567, 0xffffffff);
		fn(EXIT, 1, 1);
		buffer_end();
		expect_rows("1000 BEGIN fn#1 12\n"
			    "1040 BEGIN fn#19088743 12\n"
			    "4294968335 END fn#19088743 12\n"
			    "4294968336 END fn#1 12\n");
	}
}

/* SPEC xray/tail: by the record before, whatever bookkeeping is between them */
static void test_tail(void **state)
{
	(void)state;
	put_header(5, FDR, 1000000000, 4096);
	buffer_begin(5, 12, 5);
	cpu(3, 1000);
	fn(ENTER, 1, 0);
	fn(TAIL, 1, 1);
	cpu(4, 1010);
	fn(ENTER, 2, 0);
	fn(ENTER, 3, 1);
	fn(EXIT, 3, 1);
	fn(TAIL, 2, 1);
	event(CUSTOM, 5, 1, -1, "x");
	fn(ENTER, 4, 1);
	fn(TAIL, 4, 1);
	fn(EXIT, 9, 1);
	fn(ENTER, 5, 1);
	buffer_end();
	expect_rows("1000 BEGIN fn#1 12\n"
		    "1001 END fn#1 12 tail\n"
		    "1010 BEGIN fn#2 12 tail\n"
		    "1011 BEGIN fn#3 12\n"
		    "1012 END fn#3 12\n"
		    "1013 END fn#2 12 tail\n"
		    "1014 INSTANT custom event 12 (data=\"x\")\n"
		    "1015 BEGIN fn#4 12\n"
		    "1016 END fn#4 12 tail\n"
		    "1017 END fn#9 12\n"
		    "1018 BEGIN fn#5 12\n");
}

/* SPEC xray/call-argument: with a record of kind 3, or of kind 0 as LLVM 6 and 7 write it */
static void test_arguments(void **state)
{
	(void)state;
	put_header(5, FDR, 1000000000, 4096);
	buffer_begin(5, 12, 5);
	cpu(3, 1000);
	fn(ENTER_ARG, 1, 0);
	meta_uint(ARG, 0xdeadbeefcafe, 8);
	fn(ENTER, 2, 1);
	for (uint64_t i = 1; i < 19; i++)
		meta_uint(ARG, i, 8);
	fn(ENTER_ARG, 3, 1);
	fn(EXIT, 3, 1);
	buffer_end();
	expect_rows("1000 BEGIN fn#1 12 (arg1=244837814094590)\n"
		    "1001 BEGIN fn#2 12 (arg1=1, arg2=2, arg3=3, arg4=4, arg5=5, arg6=6, arg7=7, "
		    "arg8=8, arg9=9, "
		    "arg10=10, arg11=11, arg12=12, arg13=13, arg14=14, arg15=15, arg16=16, "
		    "arg17=17, arg18=18)\n"
		    "1002 BEGIN fn#3 12\n"
		    "1003 END fn#3 12\n");
}

/* Batches may end anywhere: arguments stay with their call. */
static void test_batches(void **state)
{
	struct out want;

	(void)state;
	out_to_memory(&want);
	put_header(5, FDR, 1000000000, 1 << 20);
	buffer_begin(5, 12, 5);
	cpu(3, 0);
	for (uint32_t i = 1; i <= 3000; i++) {
		fn(i % 3 ? ENTER : ENTER_ARG, i, 1);
		out_printf(&want, "%u BEGIN fn#%u 12", i, i);
		if (i % 3 == 0 || i % 512 == 0) {
			meta_uint(ARG, i, 8);
			out_printf(&want, " (arg1=%u)", i);
		}
		out_str(&want, "\n");
	}
	buffer_end();
	out_char(&want, '\0');
	expect_rows(want.buf);
	out_free(&want);
}

/* SPEC xray/new-cpu, SPEC xray/tsc-wrap */
static void test_base(void **state)
{
	const struct spur_options opt = SPUR_OPTIONS(.threads = 1,
					  .symbol_dirs = "/nonexistent",
					  .raw_time = true);
	const struct spur_event *rows;
	struct spur_trace *t;
	size_t n;

	(void)state;
	put_header(5, FDR, 3000000000, 4096);
	buffer_begin(5, 12, 5);
	cpu(3, 1000);
	fn(ENTER, 1, 5);
	meta_uint(WRAP, 0x500000000, 8);
	fn(ENTER, 2, 5);
	cpu(255, 0x600000000);
	fn(ENTER, 3, 5);
	buffer_end();
	expect_rows("1005 BEGIN fn#1 12\n"
		    "21474836485 BEGIN fn#2 12\n"
		    "25769803781 BEGIN fn#3 12\n");
	assert_int_equal(spur_open(&t, path, &opt, NULL), SPUR_OK);
	assert_int_equal(spur_next(t, &rows, &n), SPUR_OK);
	assert_int_equal(n, 3);
	assert_int_equal(rows[0].cpu, 3);
	assert_int_equal(rows[1].cpu, 3);
	assert_int_equal(rows[2].cpu, 255);
	assert_int_equal(rows[2].id, 3);
	assert_int_equal(rows[2].off, made.len - 8);
	assert_int_equal(rows[2].len, 8);
	spur_close(t);
}

/* SPEC xray/custom-event, SPEC xray/typed-event, SPEC xray/typed-name */
#define TYPED_ROWS                                                          \
	"1000 BEGIN fn#1 12\n1007 INSTANT custom event 12 (data=\"one\")\n" \
	"1008 INSTANT typed event 77 12 (type=77, data=\"two\")\n1009 END fn#1 12\n"

static void test_events(void **state)
{
	static const char *const want[] = {
		"1000 BEGIN fn#1 12\n1007 INSTANT custom event 12 (data=\"one\")\n1009 END fn#1 "
		"12\n",
		TYPED_ROWS,
	};

	(void)state;
	for (unsigned version = 1; version <= 5; version++) {
		put_header(version, FDR, 1000000000, 4096);
		buffer_begin(version, 12, 5);
		cpu(3, 1000);
		fn(ENTER, 1, 0);
		event(CUSTOM, version, version < 5 ? 1007 : 7, version == 4 ? 3 : -1, "one");
		if (version > 2)
			event(TYPED, version, version < 5 ? 1008 : 1, 77, "two");
		fn(EXIT, 1, version < 5 ? 9 : 1);
		if (version > 1)
			buffer_end();
		else
			buffer_pad(4096);
		expect_rows(version < 4 ? want[version > 2]
					: TYPED_ROWS "~ typed-extents at 166 lost 16\n");
	}
}

/*
 * SPEC xray/event-order: events before version 5 have ticks of their own, calls behind them may be
 * older
 */
static void test_event_order(void **state)
{
	(void)state;
	put_header(4, FDR, 1000000000, 4096);
	buffer_begin(4, 12, 5);
	cpu(3, 1000);
	event(CUSTOM, 4, 1020, 3, "c");
	event(CUSTOM, 4, 1010, 3, "b");
	fn(ENTER, 1, 5);
	fn(ENTER, 2, 5);
	fn(ENTER, 3, 5);
	event(CUSTOM, 4, 1016, 3, "late");
	for (uint32_t i = 0; i < 20; i++)
		event(CUSTOM, 4, 1100 + i, 3, "many");
	fn(EXIT, 3, 80);
	fn(EXIT, 2, 100);
	event(CUSTOM, 4, 1190, 3, "older");
	event(CUSTOM, 4, 1300, 3, "last");
	buffer_end();
	expect_rows("1005 BEGIN fn#1 12\n"
		    "1010 INSTANT custom event 12 (data=\"b\")\n"
		    "1010 BEGIN fn#2 12\n"
		    "1015 BEGIN fn#3 12\n"
		    "1016 INSTANT custom event 12 (data=\"late\")\n"
		    "1020 INSTANT custom event 12 (data=\"c\")\n"
		    "1100 INSTANT custom event 12 (data=\"many\")\n"
		    "1101 INSTANT custom event 12 (data=\"many\")\n"
		    "1102 INSTANT custom event 12 (data=\"many\")\n"
		    "1103 INSTANT custom event 12 (data=\"many\")\n"
		    "1103 END fn#3 12 retimed back\n"
		    "1104 INSTANT custom event 12 (data=\"many\")\n"
		    "1105 INSTANT custom event 12 (data=\"many\")\n"
		    "1106 INSTANT custom event 12 (data=\"many\")\n"
		    "1107 INSTANT custom event 12 (data=\"many\")\n"
		    "1108 INSTANT custom event 12 (data=\"many\")\n"
		    "1109 INSTANT custom event 12 (data=\"many\")\n"
		    "1110 INSTANT custom event 12 (data=\"many\")\n"
		    "1111 INSTANT custom event 12 (data=\"many\")\n"
		    "1112 INSTANT custom event 12 (data=\"many\")\n"
		    "1113 INSTANT custom event 12 (data=\"many\")\n"
		    "1114 INSTANT custom event 12 (data=\"many\")\n"
		    "1115 INSTANT custom event 12 (data=\"many\")\n"
		    "1116 INSTANT custom event 12 (data=\"many\")\n"
		    "1117 INSTANT custom event 12 (data=\"many\")\n"
		    "1118 INSTANT custom event 12 (data=\"many\")\n"
		    "1119 INSTANT custom event 12 (data=\"many\")\n"
		    "1195 END fn#2 12\n"
		    "1195 INSTANT custom event 12 retimed back (data=\"older\")\n"
		    "1300 INSTANT custom event 12 (data=\"last\")\n"
		    "~ time-back at 590 x2\n");
}

/* SPEC xray/event-data */
static void test_event_data(void **state)
{
	(void)state;
	put_header(5, FDR, 1000000000, 4096);
	buffer_begin(5, 12, 5);
	cpu(3, 1000);
	event(CUSTOM, 5, 0, -1, "caf\303\251\t\n");
	event(CUSTOM, 5, 0, -1, "");
	event(CUSTOM, 5, 0, -1, "\033[1m");
	event(CUSTOM, 5, 0, -1, "\303(");
	event(CUSTOM, 5, 0, -1, "\177");
	buffer_end();
	expect_rows("1000 INSTANT custom event 12 (data=\"caf\303\251\\t\\n\")\n"
		    "1000 INSTANT custom event 12 (data=\"\")\n"
		    "1000 INSTANT custom event 12 (data=1b5b316d)\n"
		    "1000 INSTANT custom event 12 (data=c328)\n"
		    "1000 INSTANT custom event 12 (data=7f)\n");
}

/* SPEC xray/wall-time, SPEC xray/buffer-order: by wall time, then by ticks; the file is a ring */
static void test_ring(void **state)
{
	(void)state;
	put_header(5, FDR, 1000000000, 4096);
	buffer_simple(12, 30, 3000, 3);
	buffer_simple(12, 40, 4000, 4);
	buffer_simple(13, 35, 3500, 9);
	buffer_simple(12, 10, 1500, 2);
	buffer_simple(12, 10, 1000, 1);
	expect_rows("1000 BEGIN fn#1 12\n"
		    "1010 END fn#1 12\n"
		    "1500 BEGIN fn#2 12\n"
		    "1510 END fn#2 12\n"
		    "3000 BEGIN fn#3 12\n"
		    "3010 END fn#3 12\n"
		    "3500 BEGIN fn#9 13\n"
		    "3510 END fn#9 13\n"
		    "4000 BEGIN fn#4 12\n"
		    "4010 END fn#4 12\n");
	expect_stored("0 NATIVE file header -1 retimed\n"
		      "0 NATIVE buffer extents 12 retimed\n"
		      "0 NATIVE new buffer 12 retimed\n"
		      "0 NATIVE wall time 12 retimed\n"
		      "0 NATIVE pid 12 retimed\n"
		      "3000 NATIVE cpu 12\n"
		      "3000 BEGIN fn#3 12\n"
		      "3010 END fn#3 12\n"
		      "3010 NATIVE buffer extents 12 retimed\n"
		      "3010 NATIVE new buffer 12 retimed\n"
		      "3010 NATIVE wall time 12 retimed\n"
		      "3010 NATIVE pid 12 retimed\n"
		      "4000 NATIVE cpu 12\n"
		      "4000 BEGIN fn#4 12\n"
		      "4010 END fn#4 12\n"
		      "0 NATIVE buffer extents 13 retimed\n"
		      "0 NATIVE new buffer 13 retimed\n"
		      "0 NATIVE wall time 13 retimed\n"
		      "0 NATIVE pid 13 retimed\n"
		      "3500 NATIVE cpu 13\n"
		      "3500 BEGIN fn#9 13\n"
		      "3510 END fn#9 13\n"
		      "4010 NATIVE buffer extents 12 retimed\n"
		      "4010 NATIVE new buffer 12 retimed\n"
		      "4010 NATIVE wall time 12 retimed\n"
		      "4010 NATIVE pid 12 retimed\n"
		      "1500 NATIVE cpu 12\n"
		      "1500 BEGIN fn#2 12\n"
		      "1510 END fn#2 12\n"
		      "1510 NATIVE buffer extents 12 retimed\n"
		      "1510 NATIVE new buffer 12 retimed\n"
		      "1510 NATIVE wall time 12 retimed\n"
		      "1510 NATIVE pid 12 retimed\n"
		      "1000 NATIVE cpu 12\n"
		      "1000 BEGIN fn#1 12\n"
		      "1010 END fn#1 12\n");
}

static void see_tracks(void)
{
	const struct spur_options opt = SPUR_OPTIONS(.threads = 1, .symbol_dirs = "/nonexistent");
	struct spur_trace *t;

	file_write(made.buf, made.len);
	assert_int_equal(spur_open(&t, path, &opt, NULL), SPUR_OK);
	out_clear(&seen);
	for (uint32_t i = 0; i < spur_track_count(t); i++) {
		const struct spur_track *k = spur_track(t, i);

		out_printf(&seen, "%u %d %s %d %d\n", i, (int)k->parent,
			   spur_string(t, k->name, NULL), (int)k->pid, (int)k->tid);
	}
	out_char(&seen, '\0');
	spur_close(t);
}

/* SPEC xray/pid: none in version 1, the thread's own in version 2, in a record from version 3 on */
static void test_processes(void **state)
{
	(void)state;
	put_header(1, FDR, 1000000000, 128);
	for (uint32_t tid = 12; tid < 14; tid++) {
		buffer_begin(1, tid, 5);
		cpu(3, 1000);
		fn(ENTER, 1, 0);
		buffer_pad(128);
	}
	see_tracks();
	assert_string_equal(seen.buf,
			    "0 -1 process -1 -1\n1 0 thread 12 -1 12\n2 0 thread 13 -1 13\n");

	put_header(2, FDR, 1000000000, 4096);
	buffer_begin(2, 12, 5);
	cpu(3, 1000);
	fn(ENTER, 1, 0);
	buffer_end();
	see_tracks();
	assert_string_equal(seen.buf, "0 -1 process 12 12 -1\n1 0 thread 12 12 12\n");

	put_header(3, FDR, 1000000000, 4096);
	buffer_begin(3, 13, 5);
	cpu(3, 1000);
	fn(ENTER, 1, 0);
	buffer_end();
	buffer_begin(3, 12, 5);
	cpu(3, 1000);
	fn(ENTER, 1, 0);
	buffer_end();
	see_tracks();
	assert_string_equal(seen.buf,
			    "0 -1 process 1 1 -1\n1 0 thread 12 1 12\n2 0 thread 13 1 13\n");
}

/*
 * SPEC xray/carry-over: later buffers of a thread have no NewCPUId; SPEC xray/end-of-buffer,
 * SPEC xray/buffer-size
 */
static void test_version_1(void **state)
{
	(void)state;
	put_header(1, FDR, 1000000000, 128);
	buffer_begin(1, 12, 5);
	cpu(3, 1000);
	fn(ENTER, 1, 0);
	fn(ENTER, 2, 10);
	buffer_pad(128);
	buffer_begin(1, 13, 6);
	cpu(4, 500);
	fn(ENTER, 7, 0);
	buffer_pad(128);
	buffer_begin(1, 12, 9);
	fn(EXIT, 2, 5);
	buffer_pad(128);
	buffer_begin(1, 12, 19);
	fn(EXIT, 1, 7);
	buffer_pad(128);
	expect_rows("500 BEGIN fn#7 13\n"
		    "1000 BEGIN fn#1 12\n"
		    "1010 BEGIN fn#2 12\n"
		    "1015 END fn#2 12\n"
		    "1022 END fn#1 12\n");
}

/* SPEC xray/no-ticks: by the wall times of a buffer that has both clocks */
static void test_no_ticks(void **state)
{
	(void)state;
	put_header(1, FDR, 2000000000, 128);
	buffer_begin(1, 12, 1000);
	fn(EXIT, 2, 5);
	fn(EXIT, 1, 5);
	buffer_pad(128);
	buffer_begin(1, 13, 2000);
	cpu(4, 5000000);
	fn(ENTER, 7, 0);
	buffer_pad(128);
	expect_rows("3000005 END fn#2 12 retimed\n"
		    "3000010 END fn#1 12 retimed\n"
		    "5000000 BEGIN fn#7 13\n"
		    "~ no-ticks at 32\n");
}

/* SPEC xray/double-delta */
static void test_double_delta(void **state)
{
	(void)state;
	for (unsigned version = 2; version <= 4; version++) {
		put_header(version, FDR, 1000000000, 4096);
		buffer_begin(version, 12, 5);
		cpu(3, 1000);
		fn(ENTER, 1, 0);
		fn(ENTER, 2, 10);
		buffer_end();
		buffer_begin(version, 12, 9);
		cpu(3, 1050);
		fn(EXIT, 2, 40);
		fn(EXIT, 1, 40);
		buffer_end();
		buffer_begin(version, 12, 19);
		cpu(3, 1200);
		fn(ENTER, 3, 7);
		buffer_end();
		if (version < 4)
			expect_rows(version == 2 ? "1000 BEGIN fn#1 12\n"
						   "1010 BEGIN fn#2 12\n"
						   "1050 END fn#2 12\n"
						   "1090 END fn#1 12\n"
						   "1207 BEGIN fn#3 12\n"
						   "~ double-delta at 176\n"
						 : "1000 BEGIN fn#1 12\n"
						   "1010 BEGIN fn#2 12\n"
						   "1050 END fn#2 12\n"
						   "1090 END fn#1 12\n"
						   "1207 BEGIN fn#3 12\n"
						   "~ double-delta at 208\n");
		else
			expect_rows("1000 BEGIN fn#1 12\n"
				    "1010 BEGIN fn#2 12\n"
				    "1090 END fn#2 12\n"
				    "1130 END fn#1 12\n"
				    "1207 BEGIN fn#3 12\n");
	}
}

/* What LLVM 5 to 7 make of events: `last` is one of which the payload is left. */
static void put_overwritten(unsigned version, const char *last)
{
	put_header(version, FDR, 1000000000, 4096);
	buffer_begin(version, 12, 5);
	cpu(3, 1000);
	fn(ENTER, 1, 0);
	event(CUSTOM, version, 1007, -1, "0123456789");
	made.len -= 10;
	fn(ENTER, 2, 9);
	event(CUSTOM, version, 1012, -1, "abc");
	made.len -= 3;
	fn(EXIT, 2, 9);
	if (last)
		event(CUSTOM, version, 1020, -1, last);
}

/* SPEC xray/overwritten-payload */
static void test_overwritten(void **state)
{
	static const char *const rows = "1000 BEGIN fn#1 12\n"
					"1007 INSTANT custom event 12\n"
					"1009 BEGIN fn#2 12\n"
					"1012 INSTANT custom event 12\n"
					"1018 END fn#2 12\n";
	char want[400];

	(void)state;
	for (unsigned version = 2; version <= 3; version++) {
		put_overwritten(version, NULL);
		put_text("............."); /* room for both */
		buffer_end();
		snprintf(want, sizeof(want), "%s~ overwritten-payload at %d lost 13 x2\n", rows,
			 version == 2 ? 120 : 136);
		expect_rows(want);
		put_overwritten(version, "four");
		put_text(".............");
		buffer_end();
		snprintf(want, sizeof(want),
			 "%s1020 INSTANT custom event 12 (data=\"four\")\n~ overwritten-payload at "
			 "%d lost 13 x2\n",
			 rows, version == 2 ? 120 : 136);
		expect_rows(want);
	}
	put_overwritten(1, NULL);
	buffer_pad(4096);
	snprintf(want, sizeof(want), "%s~ overwritten-payload at 104 lost 13 x2\n", rows);
	expect_rows(want);
}

/* Payloads that are there, and could be records. */
static void test_not_overwritten(void **state)
{
	(void)state;
	put_header(2, FDR, 1000000000, 4096);
	buffer_begin(2, 12, 5);
	cpu(3, 1000);
	fn(ENTER, 1, 0);
	event(CUSTOM, 2, 1007, -1, "test1234");
	fn(ENTER, 2, 9);
	fn(EXIT, 2, 9);
	buffer_end();
	expect_rows("1000 BEGIN fn#1 12\n"
		    "1007 INSTANT custom event 12 (data=\"test1234\")\n"
		    "1009 BEGIN fn#2 12\n"
		    "1018 END fn#2 12\n");
	/* And records that could be a payload. */
	put_header(2, FDR, 1000000000, 4096);
	buffer_begin(2, 12, 5);
	cpu(3, 1000);
	fn(ENTER, 1, 0);
	event(CUSTOM, 2, 1007, -1, "12345678");
	made.len -= 8;
	fn(ENTER, 2, 9);
	fn(EXIT, 2, 1);
	fn(ENTER, 1, 1); /* stale */
	buffer_end();
	expect_rows("1000 BEGIN fn#1 12\n"
		    "1007 INSTANT custom event 12\n"
		    "1009 BEGIN fn#2 12\n"
		    "1010 END fn#2 12\n"
		    "~ overwritten-payload at 120 lost 8\n");
}

/* SPEC xray/typed-extents: the file goes on behind the extents */
static void test_typed_extents(void **state)
{
	(void)state;
	put_header(5, FDR, 1000000000, 4096);
	buffer_begin(5, 12, 5);
	cpu(3, 1000);
	event(TYPED, 5, 1, 7, "typed");
	fn(ENTER, 1, 1);
	event(CUSTOM, 5, 1, -1, "custom");
	made.len -= 16;
	buffer_end();
	buffer_simple(12, 6, 2000, 3);
	expect_rows("1001 INSTANT typed event 7 12 (type=7, data=\"typed\")\n"
		    "1002 BEGIN fn#1 12\n"
		    "2000 BEGIN fn#3 12\n"
		    "2010 END fn#3 12\n"
		    "~ typed-extents at 141 lost 22\n");
	/* The cut falls between two records, 8 bytes each: they are missing all the same. */
	put_header(5, FDR, 1000000000, 4096);
	buffer_begin(5, 12, 5);
	cpu(3, 1000);
	event(TYPED, 5, 1, 7, "typed");
	fn(ENTER, 1, 1);
	fn(ENTER, 2, 1);
	fn(EXIT, 2, 1);
	made.len -= 16;
	buffer_end();
	buffer_simple(12, 6, 2000, 3);
	expect_rows("1001 INSTANT typed event 7 12 (type=7, data=\"typed\")\n"
		    "1002 BEGIN fn#1 12\n"
		    "2000 BEGIN fn#3 12\n"
		    "2010 END fn#3 12\n"
		    "~ typed-extents at 141 lost 16\n");
}

/* SPEC xray/overwritten-payload: a size that the buffer cannot hold costs no more than there is */
static void test_overwritten_size(void **state)
{
	const uint32_t huge = 0x7fffffff;
	size_t at;

	(void)state;
	put_header(3, FDR, 1000000000, 4096);
	buffer_begin(3, 12, 5);
	cpu(3, 1000);
	fn(ENTER, 1, 0);
	at = made.len;
	event(CUSTOM, 3, 1007, -1, "");
	memcpy(made.buf + at + 1, &huge, sizeof(huge));
	fn(EXIT, 1, 9);
	buffer_end();
	/* Behind the event there are the 8 bytes of the exit. */
	expect_rows("1000 BEGIN fn#1 12\n"
		    "1007 INSTANT custom event 12\n"
		    "1009 END fn#1 12\n"
		    "~ overwritten-payload at 136 lost 8\n");
}

/* SPEC xray/time-back: the feed stays in order, the row says so */
static void test_time_back(void **state)
{
	(void)state;
	put_header(5, FDR, 1000000000, 4096);
	buffer_begin(5, 12, 5);
	cpu(3, 1000);
	fn(ENTER, 1, 0);
	cpu(4, 900);
	fn(ENTER, 2, 50);
	fn(EXIT, 2, 49);
	fn(EXIT, 1, 1);
	fn(ENTER, 3, 1);
	buffer_end();
	expect_rows("1000 BEGIN fn#1 12\n"
		    "1000 BEGIN fn#2 12 retimed back\n"
		    "1000 END fn#2 12 retimed back\n"
		    "1000 END fn#1 12\n"
		    "1001 BEGIN fn#3 12\n"
		    "~ time-back at 136 x2\n");
	expect_stored("0 NATIVE file header -1 retimed\n"
		      "0 NATIVE buffer extents 12 retimed\n"
		      "0 NATIVE new buffer 12 retimed\n"
		      "0 NATIVE wall time 12 retimed\n"
		      "0 NATIVE pid 12 retimed\n"
		      "1000 NATIVE cpu 12\n"
		      "1000 BEGIN fn#1 12\n"
		      "900 NATIVE cpu 12\n"
		      "950 BEGIN fn#2 12\n"
		      "999 END fn#2 12\n"
		      "1000 END fn#1 12\n"
		      "1001 BEGIN fn#3 12\n");
}

static int64_t last_ns(uint64_t hz, uint64_t tsc, bool raw, struct spur_damage *d)
{
	const struct spur_options opt = SPUR_OPTIONS(.threads = 1,
					  .symbol_dirs = "/nonexistent",
					  .raw_time = raw);
	const struct spur_event *rows;
	struct spur_trace *t;
	int64_t ts;
	size_t n;

	put_header(5, FDR, hz, 4096);
	buffer_simple(12, 5, tsc - 10, 1);
	file_write(made.buf, made.len);
	assert_int_equal(spur_open(&t, path, &opt, NULL), SPUR_OK);
	assert_int_equal(spur_next(t, &rows, &n), SPUR_OK);
	assert_int_equal(n, 2);
	ts = rows[1].ts;
	*d = (struct spur_damage){ 0 };
	for (size_t i = 0;
	     i < spur_damage_count(t) && (!d->code || strcmp(d->code, "xray/no-frequency") != 0);
	     i++)
		spur_damage(t, i, d);
	spur_close(t);
	return ts;
}

/* SPEC xray/no-frequency, SPEC xray/header */
static void test_frequency(void **state)
{
	struct spur_damage d;

	(void)state;
	assert_int_equal(last_ns(2596142000, 2596142000u * 3600ull, false, &d), 3600000000000);
	assert_int_equal(last_ns(2596142000, 2596142000u * 3600ull, true, &d),
			 2596142000u * 3600ull);
	assert_int_equal(last_ns(24000000, 24000001, false, &d), 1000000041);
	assert_int_equal(last_ns(0, 12345, false, &d), 12345);
	assert_non_null(d.code);
	assert_string_equal(d.code, "xray/no-frequency");
	assert_false(d.is_damage);
	assert_int_equal(last_ns(1, UINT64_MAX, false, &d), INT64_MAX);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, file_make, file_remove)
	static const struct CMUnitTest tests[] = {
		T(test_calls),
		T(test_tail),
		T(test_arguments),
		T(test_batches),
		T(test_base),
		T(test_events),
		T(test_event_order),
		T(test_event_data),
		T(test_ring),
		T(test_processes),
		T(test_version_1),
		T(test_no_ticks),
		T(test_double_delta),
		T(test_overwritten),
		T(test_not_overwritten),
		T(test_overwritten_size),
		T(test_typed_extents),
		T(test_time_back),
		T(test_frequency),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
