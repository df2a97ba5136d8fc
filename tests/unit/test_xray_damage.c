/* Damaged XRay logs: what is wrong is located and counted, the rest is read. */
#include "unit/xray_file.h"

/* What three buffers of version 5 hold, in order: threads 12, 13, 12 at 1000, 2000, 3000. */
enum { BUFFER = 16 + 64 + 16, BODY = 32 + 16 };

static void put_three(void)
{
	put_header(5, FDR, 1000000000, 4096);
	buffer_simple(12, 5, 1000, 1);
	buffer_simple(13, 6, 2000, 2);
	buffer_simple(12, 7, 3000, 3);
	assert_int_equal(made.len, 32 + 3 * BUFFER);
}

static void set(size_t off, int byte)
{
	made.buf[off] = (char)byte;
}

#define FIRST "1000 BEGIN fn#1 12\n1010 END fn#1 12\n"
#define SECOND "2000 BEGIN fn#2 13\n2010 END fn#2 13\n"
#define THIRD "3000 BEGIN fn#3 12\n3010 END fn#3 12\n"

static void test_header(void **state)
{
	(void)state;
	put_three();
	file_write(made.buf, 31);
	assert_string_equal(read_log(0, false), "FAIL expected a header of 32 bytes, found 31");
	set(0, 9);
	expect_rows(FIRST SECOND THIRD "~ unknown-version at 0\n");
	set(0, 0);
	file_write(made.buf, made.len);
	assert_string_equal(
		read_log(0, false),
		"FAIL expected a version from 1 on and a type of 0 or 1, found bytes 00 00 01 00");
	set(0, 5);
	set(2, 2);
	file_write(made.buf, made.len);
	assert_string_equal(read_log(0, false), "FAIL expected type 0 (basic) or 1 (FDR), found 2");
}

/* A log without data opens, and says what to look for. */
static void test_no_data(void **state)
{
	(void)state;
	for (unsigned type = BASIC; type <= FDR; type++) {
		put_header(3, type, 1000000000, 4096);
		expect_rows("~ no-data at 32\n");
		expect_stored("0 NATIVE file header -1 retimed\n~ no-data at 32\n");
	}
	put_header(5, FDR, 1000000000, 4096);
	meta_uint(EXTENTS, 0, 8);
	expect_rows("~ no-data at 32\n");
}

/* The file ends anywhere: rows are a prefix, what is missing is said once. */
static void test_truncated(void **state)
{
	(void)state;
	put_three();
	made.len = 32 + 2 * BUFFER + 16 + 64 + 8;
	expect_rows(FIRST SECOND "3000 BEGIN fn#3 12\n! truncated at 312\n");
	made.len -= 3;
	expect_rows(FIRST SECOND "! truncated at 304 lost 5\n");
	made.len = 32 + 2 * BUFFER + 16 + 20;
	expect_rows(FIRST SECOND "! truncated at 256 lost 4\n");
	made.len = 32 + 2 * BUFFER + 16 + 7;
	expect_rows(FIRST SECOND "! truncated at 240 lost 7\n");
	made.len = 32 + 2 * BUFFER + 9;
	expect_rows(FIRST SECOND "! no-buffer at 224 lost 9\n");
}

/* SPEC xray/extents: what lies is found out by what follows */
static void test_extents(void **state)
{
	(void)state;
	put_three();
	set(32 + 1, 72); /* shorter: inside a record */
	expect_rows(FIRST SECOND THIRD "! bad-extents at 32\n");
	put_three();
	set(32 + 1, 64 + 8);
	expect_rows(FIRST SECOND THIRD "! bad-extents at 32\n");
	put_three();
	set(32 + 1, 82); /* longer */
	expect_rows(FIRST SECOND THIRD "! bad-extents at 32\n");
	put_three();
	set(32 + 7, 1); /* absurd */
	expect_rows(FIRST SECOND THIRD "! bad-extents at 32\n");
	put_three();
	set(32 + 8, 0xff);
	expect_rows(FIRST SECOND THIRD "! bad-extents at 32\n");
	put_three();
	set(32 + 2 * BUFFER + 1, 40); /* of the last one */
	expect_rows(FIRST SECOND THIRD "! bad-extents at 224\n");
	put_three();
	set(32 + 1, 80 + BUFFER); /* two buffers, the second of another thread */
	expect_rows(FIRST THIRD "! bad-extents at 128 lost 96\n");
	expect_stored(
		"0 NATIVE file header -1 retimed\n"
		"0 NATIVE buffer extents 12 retimed\n0 NATIVE new buffer 12 retimed\n"
		"0 NATIVE wall time 12 retimed\n0 NATIVE pid 12 retimed\n1000 NATIVE cpu 12\n" FIRST
		"0 NATIVE buffer extents 13 retimed\n0 NATIVE new buffer 13 retimed\n"
		"0 NATIVE wall time 13 retimed\n0 NATIVE pid 13 retimed\n2000 NATIVE cpu "
		"13\n" SECOND
		"1010 NATIVE buffer extents 12 retimed\n1010 NATIVE new buffer 12 retimed\n"
		"1010 NATIVE wall time 12 retimed\n1010 NATIVE pid 12 retimed\n3000 NATIVE cpu "
		"12\n" THIRD "! bad-extents at 128\n");
	put_three();
	set(32 + 1, 16); /* all three: the third is of the first one's thread */
	set(32 + 2, 1);
	expect_rows(FIRST THIRD "! bad-extents at 128 lost 96 x2\n");
	put_three();
	set(32 + 1, 80 + BUFFER); /* and more than the header's buffer size */
	set(32 - 16 + 1, 0);
	set(32 - 16, 100);
	expect_rows(FIRST SECOND THIRD "! bad-extents at 32\n");
}

/* A record that should say where the next buffer is says nothing. */
static void test_no_extents(void **state)
{
	(void)state;
	put_three();
	set(32 + BUFFER, 0x44);
	expect_rows(FIRST SECOND THIRD "! bad-extents at 128 lost 16\n");
	put_three();
	set(32, 0x1f);
	expect_rows(FIRST SECOND THIRD "! bad-extents at 32 lost 16\n");
	/* Missing altogether. */
	put_header(5, FDR, 1000000000, 4096);
	buffer_begin(5, 12, 5);
	made.len = 32;
	meta_uint(NEW_BUFFER, 12, 4);
	wall(7, 5);
	cpu(1, 1000);
	fn(ENTER, 1, 0);
	fn(EXIT, 1, 10);
	buffer_simple(13, 6, 2000, 2);
	expect_rows(FIRST SECOND "! bad-extents at 32\n");
}

/* Bytes that belong to no buffer: at the front, between, at the end. */
static void test_garbage(void **state)
{
	(void)state;
	put_header(5, FDR, 1000000000, 4096);
	put_text("some text that is no record");
	buffer_simple(12, 5, 1000, 1);
	put_text("more of it, some text that is no record");
	buffer_simple(13, 6, 2000, 2);
	put_text("the end");
	expect_rows(FIRST SECOND "! no-buffer at 32 lost 73 x3\n");
}

/* Heads: what is missing is said, and does without. */
static void test_heads(void **state)
{
	(void)state;
	put_three();
	set(BODY + BUFFER, 0x81); /* NewBuffer of the second: whose it is, is unknown */
	expect_rows(FIRST "2000 BEGIN fn#2 -1\n2010 END fn#2 -1\n" THIRD
			  "! bad-head at 144\n! bad-record at 144 lost 16\n");
	put_three();
	set(BODY + BUFFER + 16, 0x81); /* its WallTime */
	expect_rows(FIRST SECOND THIRD "! bad-head at 144\n! bad-record at 160 lost 16\n");
	put_three();
	set(BODY + BUFFER + 32, 0x81); /* its Pid: another process, as far as can be told */
	expect_rows(FIRST SECOND THIRD "! bad-record at 176 lost 16\n");
	put_three();
	set(BODY + BUFFER + 48,
	    0x81); /* its NewCPUId: times by the wall clock, 1 us behind the first */
	expect_rows(FIRST "2000 BEGIN fn#2 13 retimed\n2010 END fn#2 13 retimed\n" THIRD
			  "! bad-record at 192 lost 16\n! no-ticks at 144\n");
}

/* SPEC xray/resync: a broken record costs itself */
static void test_bad_records(void **state)
{
	(void)state;
	put_header(5, FDR, 1000000000, 4096);
	buffer_begin(5, 12, 5);
	cpu(0, 1000);
	for (uint32_t i = 0; i < 12; i++)
		fn(i % 2 ? EXIT : ENTER, 1 + i / 4, 1);
	buffer_end();
	set(112 + 16, 0x18); /* kind 4 */
	expect_rows("1001 BEGIN fn#1 12\n1002 END fn#1 12\n"
		    "1003 END fn#1 12\n"
		    "1004 BEGIN fn#2 12\n1005 END fn#2 12\n1006 BEGIN fn#2 12\n1007 END fn#2 12\n"
		    "1008 BEGIN fn#3 12\n1009 END fn#3 12\n1010 BEGIN fn#3 12\n1011 END fn#3 12\n"
		    "! bad-record at 128 lost 8\n");
	for (size_t i = 0; i < 24; i++)
		set(112 + 16 + i, 0); /* zeros are no record */
	expect_rows("1001 BEGIN fn#1 12\n1002 END fn#1 12\n"
		    "1003 END fn#2 12\n1004 BEGIN fn#2 12\n1005 END fn#2 12\n"
		    "1006 BEGIN fn#3 12\n1007 END fn#3 12\n1008 BEGIN fn#3 12\n1009 END fn#3 12\n"
		    "! bad-record at 128 lost 24\n");
	memset(made.buf + 112 + 16, 0xff, 81); /* to the end but for less than a record */
	expect_rows("1001 BEGIN fn#1 12\n1002 END fn#1 12\n! bad-record at 128 lost 80\n");
}

/* Shifted bytes: found again behind them. */
static void test_shifted(void **state)
{
	(void)state;
	put_header(5, FDR, 1000000000, 4096);
	buffer_begin(5, 12, 5);
	cpu(0, 1000);
	fn(ENTER, 1, 1);
	fn(ENTER, 2, 1);
	put_text("\377\377\377");
	for (uint32_t i = 0; i < 4; i++)
		fn(EXIT, 2, 1);
	buffer_end();
	expect_rows("1001 BEGIN fn#1 12\n1002 BEGIN fn#2 12\n"
		    "1003 END fn#2 12\n1004 END fn#2 12\n1005 END fn#2 12\n1006 END fn#2 12\n"
		    "! bad-record at 128 lost 3\n");
}

/* SPEC xray/unknown-record: kept as it is, where records follow */
static void test_unknown(void **state)
{
	(void)state;
	put_header(5, FDR, 1000000000, 4096);
	buffer_begin(5, 12, 5);
	cpu(0, 1000);
	fn(ENTER, 1, 1);
	meta_uint(77, 5, 4);
	fn(EXIT, 1, 1);
	meta_uint(78, 5, 4);
	buffer_end();
	expect_rows("1001 BEGIN fn#1 12\n1001 NATIVE unknown record 12 retimed\n1002 END fn#1 12\n"
		    "1002 NATIVE unknown record 12 retimed\n! unknown-record at 120 x2\n");
	/* Typed events are of version 3. */
	put_header(2, FDR, 1000000000, 4096);
	buffer_begin(2, 12, 5);
	cpu(0, 1000);
	fn(ENTER, 1, 1);
	event(TYPED, 2, 5, 3, "");
	fn(EXIT, 1, 1);
	buffer_end();
	expect_rows("1001 BEGIN fn#1 12\n1001 NATIVE unknown record 12 retimed\n1002 END fn#1 12\n"
		    "! unknown-record at 104\n");
}

/* Records where they do not belong. */
static void test_unexpected(void **state)
{
	(void)state;
	put_header(5, FDR, 1000000000, 4096);
	buffer_begin(5, 12, 5);
	cpu(0, 1000);
	fn(ENTER, 1, 1);
	meta_uint(END_OF_BUFFER, 0, 0);
	fn(ENTER, 2, 1);
	meta_uint(PID, 1, 4);
	meta_uint(EXTENTS, 1, 8);
	fn(EXIT, 2, 1);
	meta_uint(ARG, 7, 8);
	meta_uint(NEW_BUFFER, 1, 4);
	fn(EXIT, 1, 1);
	buffer_end();
	expect_rows("1001 BEGIN fn#1 12\n1002 BEGIN fn#2 12\n1003 END fn#2 12\n"
		    "1003 NATIVE call argument 12 retimed\n1004 END fn#1 12\n"
		    "! stray-argument at 184\n! unexpected-record at 120 lost 64 x4\n");
}

/* SPEC xray/bad-ticks: one record must not spoil the rest of its thread */
static void test_bad_ticks(void **state)
{
	(void)state;
	put_header(5, FDR, 1000000000, 4096);
	buffer_begin(5, 12, 5);
	cpu(0, 0x500001000);
	fn(ENTER, 1, 1);
	meta_uint(WRAP, 0x900000000, 8);
	fn(ENTER, 2, 1);
	cpu(1, 4096);
	fn(EXIT, 2, 1);
	meta_uint(WRAP, 0x500001100, 8);
	fn(EXIT, 1, 0);
	buffer_end();
	buffer_simple(12, 6, 0x500002000, 3);
	buffer_begin(5, 13, 5);
	cpu(0, 1);
	meta_uint(WRAP, UINT64_C(1) << 63, 8);
	fn(ENTER, 1, 1);
	buffer_end();
	expect_rows("2 BEGIN fn#1 13\n"
		    "21474840577 BEGIN fn#1 12\n"
		    "21474840578 BEGIN fn#2 12\n"
		    "21474840579 END fn#2 12\n"
		    "21474840832 END fn#1 12\n"
		    "21474844672 BEGIN fn#3 12\n"
		    "21474844682 END fn#3 12\n"
		    "! bad-ticks at 120 x2\n"
		    "~ ticks-back at 144\n");
}

static void test_bad_event(void **state)
{
	(void)state;
	put_header(5, FDR, 1000000000, 4096);
	buffer_begin(5, 12, 5);
	cpu(0, 1000);
	fn(ENTER, 1, 1);
	event(CUSTOM, 5, 1, -1, "abc");
	for (uint32_t i = 0; i < 4; i++)
		fn(EXIT, 1, 1);
	buffer_end();
	set(120 + 3, 1); /* a size far beyond the end */
	expect_rows("1001 BEGIN fn#1 12\n1002 END fn#1 12\n1003 END fn#1 12\n1004 END fn#1 "
		    "12\n1005 END fn#1 12\n"
		    "! bad-record at 120 lost 19\n");
	set(120 + 4, 0xff); /* negative */
	expect_rows("1001 BEGIN fn#1 12\n1002 END fn#1 12\n1003 END fn#1 12\n1004 END fn#1 "
		    "12\n1005 END fn#1 12\n"
		    "! bad-record at 120 lost 19\n");
}

/* SPEC xray/buffer-size: wrong ones are found out */
static void test_buffer_size(void **state)
{
	static const char *const rows =
		"1000 BEGIN fn#1 12\n1001 BEGIN fn#2 12\n1002 BEGIN fn#3 12\n";
	char want[200];

	(void)state;
	put_header(1, FDR, 1000000000, 128);
	for (uint32_t i = 0; i < 3; i++) {
		buffer_begin(1, 12, 5 + i);
		if (!i)
			cpu(0, 1000);
		fn(ENTER, 1 + i, i ? 1 : 0);
		buffer_pad(128);
	}
	expect_rows(rows);
	set(16, 0);
	snprintf(want, sizeof(want), "%s! bad-buffer-size at 32 x3\n", rows);
	expect_rows(want);
	set(17, 1); /* 256: twice too large */
	snprintf(want, sizeof(want), "%s! bad-buffer-size at 32 x2\n", rows);
	expect_rows(want);
	set(23, 0x80); /* absurd */
	expect_rows(want);
	set(23, 0);
	set(17, 0);
	set(16, 96); /* too small: behind the first buffers' ends */
	snprintf(want, sizeof(want), "%s! bad-buffer-size at 32 x3\n", rows);
	expect_rows(want);
}

/*
 * SPEC xray/buffer-size: ids and deltas that look like the first records of a buffer, with thread
 * 2097152 and wall time 1778384896.0, where no record begins
 */
static void test_no_head(void **state)
{
	(void)state;
	put_header(1, FDR, 1000000000, 128);
	for (uint32_t i = 0; i < 2; i++) {
		buffer_begin(1, 12, 5 + i);
		if (!i)
			cpu(0, 1000);
		fn(ENTER, 2, 0x19b);
		fn(ENTER, 2, 0x19b);
		fn(ENTER, 2, 0x931);
		fn(ENTER, 0x6a0, 0);
		fn(ENTER, 0x1000, 0);
		buffer_pad(128);
	}
	expect_rows("1411 BEGIN fn#2 12\n1822 BEGIN fn#2 12\n4175 BEGIN fn#2 12\n"
		    "4175 BEGIN fn#1696 12\n4175 BEGIN fn#4096 12\n"
		    "4586 BEGIN fn#2 12\n4997 BEGIN fn#2 12\n7350 BEGIN fn#2 12\n"
		    "7350 BEGIN fn#1696 12\n7350 BEGIN fn#4096 12\n");
}

static void test_no_end(void **state)
{
	(void)state;
	put_header(1, FDR, 1000000000, 64);
	buffer_begin(1, 12, 5);
	cpu(0, 1000);
	fn(ENTER, 1, 1);
	fn(EXIT, 1, 1);
	expect_rows("1001 BEGIN fn#1 12\n1002 END fn#1 12\n~ no-end at 96\n");
	made.len -= 4;
	expect_rows("1001 BEGIN fn#1 12\n! truncated at 88 lost 4\n");
}

/*
 * Rows of every prefix are the first rows of the whole; of the last one arguments may be missing.
 */
static void test_prefixes(void **state)
{
	char *whole;

	(void)state;
	put_header(5, FDR, 1000000000, 4096);
	buffer_begin(5, 12, 5);
	cpu(3, 1000);
	fn(ENTER_ARG, 1, 0);
	meta_uint(ARG, 5, 8);
	event(CUSTOM, 5, 1, -1, "custom");
	event(TYPED, 5, 1, 3, "typed");
	fn(EXIT, 1, 3);
	buffer_end();
	buffer_simple(12, 6, 2000, 2);
	file_write(made.buf, made.len);
	whole = strdup(read_log(0, false));
	for (size_t len = 32; len < made.len; len++) {
		const char *end;

		file_write(made.buf, len);
		read_log(0, false);
		end = strpbrk(seen.buf, "!~");
		if (end)
			assert_memory_equal(seen.buf, whole,
					    end == seen.buf ? 0 : (size_t)(end - seen.buf - 1));
		else
			assert_true(len == 32 + 16 + 64 + 24 + 22 + 21 + 8);
	}
	free(whole);
}

/* The ENDs of the file that have SPUR_F_GAP, a bit each, the first row lowest. */
static uint64_t gaps(void)
{
	const struct spur_options opt = SPUR_OPTIONS(.threads = 1, .symbol_dirs = "/nonexistent");
	const struct spur_event *rows;
	struct spur_trace *t;
	uint64_t bits = 0;
	unsigned at = 0;
	size_t n;

	file_write(made.buf, made.len);
	assert_int_equal(spur_open(&t, path, &opt, NULL), SPUR_OK);
	while (spur_next(t, &rows, &n) == SPUR_OK)
		for (size_t i = 0; i < n; i++, at++)
			if (rows[i].kind == SPUR_END_SPAN && (rows[i].flags & SPUR_F_GAP))
				bits |= UINT64_C(1) << at;
	spur_close(t);
	return bits;
}

/* Behind lost records an END may have lost its BEGIN, in every later buffer of the thread. */
static void test_gaps(void **state)
{
	size_t at;

	(void)state;
	put_header(5, FDR, 1000000000, 4096);
	buffer_begin(5, 12, 5);
	cpu(3, 1000);
	for (int i = 0; i < 4; i++) {
		fn(ENTER, 1, 1);
		fn(EXIT, 1, 1);
	}
	at = made.len;
	for (int i = 0; i < 4; i++) {
		fn(ENTER, 1, 1);
		fn(EXIT, 1, 1);
	}
	buffer_end();
	buffer_simple(12, 6, 2000, 3);
	assert_int_equal(gaps(), 0);
	made.buf[at] = 8; /* no kind of call */
	/* 17 rows remain: ENDs at 1, 3, 5, 7 before, 8, 10, 12, 14, 16 behind. */
	assert_int_equal(gaps(), 0x15500);
	put_header(3, BASIC, 1000000000, 0);
	for (uint32_t i = 0; i < 8; i++)
		basic(i % 2 ? EXIT : ENTER, 1, 1000 + i, 12, 7);
	assert_int_equal(gaps(), 0);
	made.buf[32 + 2 * 32] = 2;
	/* Found before threads are read apart: 7 rows, ENDs at 1, 2, 4, 6. */
	assert_int_equal(gaps(), 0x56);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, file_make, file_remove)
	static const struct CMUnitTest tests[] = {
		T(test_header),	    T(test_no_data),	 T(test_truncated),  T(test_extents),
		T(test_no_extents), T(test_garbage),	 T(test_heads),	     T(test_bad_records),
		T(test_shifted),    T(test_unknown),	 T(test_unexpected), T(test_bad_event),
		T(test_bad_ticks),  T(test_buffer_size), T(test_no_head),    T(test_no_end),
		T(test_prefixes),   T(test_gaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
