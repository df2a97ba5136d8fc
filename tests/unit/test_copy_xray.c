/*
 * Copies of XRay logs whose buffers are written anew: the order in which they are read back, and
 * copies while allocations fail.
 */
#include "unit/xray_file.h"

#include "base/mem.h"
#include "flow/cut.h"

static struct out copied, notes;
static uint64_t lost; /* bytes of the latest copy */

static int copy_make(void **state)
{
	out_to_memory(&copied);
	out_to_memory(&notes);
	return file_make(state);
}

static int copy_remove(void **state)
{
	out_free(&copied);
	out_free(&notes);
	return file_remove(state);
}

static struct spur_trace *log_open(void)
{
	const struct spur_options opt =
		SPUR_OPTIONS(.format = "xray", .threads = 1, .symbol_dirs = "/nonexistent");
	struct spur_error err;
	struct spur_trace *t;

	assert_int_not_equal(spur_open(&t, path, &opt, &err), SPUR_FAIL);
	return t;
}

/* Copies the log at `path` to `copied`. Returns SPUR_FAIL if that fails. */
static enum spur_status copy_log(bool repair, uint64_t limit, uint64_t fail_at)
{
	struct cut c = { .repair = repair, .out = &copied, .notes = &notes };
	struct spur_trace *t = log_open();
	uint64_t *const charged = mem_charge(&t->mem_failures);
	enum spur_status st;

	c.pipe.threads = 1;
	c.pipe.limit = limit;
	out_clear(&copied);
	out_clear(&notes);
	mem_fail_at(fail_at);
	st = cut_run(&c, t);
	mem_fail_at(0);
	lost = c.copy.bytes_lost;
	assert_int_equal(st == SPUR_FAIL, c.error.code != 0);
	mem_charge(charged);
	spur_close(t);
	return st == SPUR_FAIL || copied.error || notes.error ? SPUR_FAIL : SPUR_OK;
}

/* --- order --- */

/* Calls of functions 1, 2, ... one tick apart from `ticks` on. */
static void calls(unsigned n, uint64_t ticks)
{
	for (unsigned i = 0; i < n; i++)
		out_printf(&seen, "%llu BEGIN fn#%u 5\n", (unsigned long long)ticks + i, i + 1);
}

static void put_calls(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		fn(ENTER, i + 1, i ? 1 : 0);
}

/* What is read of the copy, without damage, is what calls() made. */
static void expect_copy(void)
{
	struct out want;

	out_to_memory(&want);
	out_bytes(&want, seen.buf, seen.len + 1);
	assert_int_equal(copy_log(false, 0, 0), SPUR_OK);
	file_write(copied.buf, copied.len);
	assert_string_equal(read_log(0, false), want.buf);
	out_free(&want);
}

/*
 * SPEC xray/copied-walls: the header's size of buffers is wrong, so that the first buffer becomes
 * two. The second begins at the same wall time, while the first goes on: its rows get the time of
 * the last of these.
 */
static void test_equal_walls(void **state)
{
	(void)state;
	put_header(1, FDR, 1000000000, 256);
	buffer_begin(1, 5, 3);
	cpu(0, 1000);
	put_calls(40);
	buffer_pad(512);
	buffer_begin(1, 5, 3);
	cpu(0, 1005);
	put_calls(2);
	buffer_pad(512);
	file_write(made.buf, made.len);
	out_clear(&seen);
	calls(40, 1000);
	out_str(&seen, "1039 BEGIN fn#1 5\n1039 BEGIN fn#2 5\n");
	out_char(&seen, '\0');
	seen.len--;
	expect_copy();
}

/* The same where wall times differ by less than the parts would. */
static void test_near_walls(void **state)
{
	(void)state;
	put_header(1, FDR, 1000000000, 256);
	buffer_begin(1, 5, 3);
	cpu(0, 1000);
	put_calls(100);
	buffer_pad(1024);
	buffer_begin(1, 5, 4);
	cpu(0, 1005);
	put_calls(1);
	buffer_pad(1024);
	file_write(made.buf, made.len);
	out_clear(&seen);
	calls(100, 1000);
	out_str(&seen, "1099 BEGIN fn#1 5\n");
	out_char(&seen, '\0');
	seen.len--;
	expect_copy();
}

/* In later versions a buffer without wall times for its parts is not divided. */
static void test_undivided(void **state)
{
	(void)state;
	put_header(5, FDR, 1000000000, 256);
	for (unsigned i = 0; i < 2; i++) {
		buffer_begin(5, 5, 3);
		cpu(0, 1000 + 5 * i);
		put_calls(40);
		if (!i)
			meta_uint(EXTENTS, 0, 8);
		buffer_end();
	}
	file_write(made.buf, made.len);
	out_clear(&seen);
	calls(40, 1000);
	for (unsigned i = 0; i < 40; i++)
		out_printf(&seen, "%u BEGIN fn#%u 5\n", i < 34 ? 1039 : 1005 + i, i + 1);
	out_char(&seen, '\0');
	seen.len--;
	expect_copy();
}

/*
 * SPEC xray/copied-buffers: a damaged buffer stands in the file twice, the longer one last. It is
 * written anew, so the shorter one is left out. Its damage is counted once.
 */
static void test_damage_twice(void **state)
{
	(void)state;
	put_header(4, FDR, 1000000000, 512);
	for (unsigned i = 0; i < 2; i++) {
		buffer_begin(4, 5, 3);
		cpu(0, 1000);
		put_calls(3);
		fn(7, 1, 0);
		for (unsigned k = 0; k < 5 + i; k++)
			fn(EXIT, 3, 10);
		buffer_end();
	}
	file_write(made.buf, made.len);
	out_clear(&seen);
	calls(3, 1000);
	for (unsigned k = 0; k < 6; k++)
		out_printf(&seen, "%u END fn#3 5\n", 1012 + 10 * k);
	out_char(&seen, '\0');
	seen.len--;
	expect_copy();
	assert_int_equal(lost, 8);
}

/*
 * SPEC xray/copied-walls, SPEC xray/double-delta: a ring of 300 buffers that wrapped, in which the
 * first call of each buffer counts the ticks since the one before, and events without payload.
 */
static void test_long_ring(void **state)
{
	enum { BUFFERS = 300, FIRST = 200 };

	(void)state;
	put_header(3, FDR, 1000000000, 512);
	for (unsigned k = 0; k < BUFFERS; k++) {
		const unsigned i = (k + FIRST) % BUFFERS;

		buffer_begin(3, 5, 10 * i);
		cpu(0, 1000 + 100 * i);
		fn(ENTER, 1, i ? 70 : 0);
		fn(EXIT, 1, 30);
		event(CUSTOM, 3, 1000 + 100 * i + 40, -1, "");
		buffer_end();
	}
	file_write(made.buf, made.len);
	out_clear(&seen);
	for (unsigned i = 0; i < BUFFERS; i++)
		out_printf(
			&seen,
			"%u BEGIN fn#1 5\n%u END fn#1 5\n%u INSTANT custom event 5 (data=\"\")\n",
			1000 + 100 * i, 1030 + 100 * i, 1040 + 100 * i);
	out_char(&seen, '\0');
	seen.len--;
	assert_int_equal(copy_log(true, 0, 0), SPUR_OK);
	file_write(copied.buf, copied.len);
	expect_copy();
}

/* --- failing allocations --- */

/* A log of that version with three threads and damage; from version 3 on with events. */
static void damaged_log(unsigned version)
{
	put_header(version, FDR, 1000000000, 512);
	for (uint32_t tid = 5; tid < 8; tid++) {
		buffer_begin(version, tid, tid);
		cpu(0, 1000 * (uint64_t)tid);
		put_calls(20);
		if (version > 2)
			event(CUSTOM, version, 30, -1, "");
		if (tid == 6)
			fn(7, 1, 0);
		put_calls(3);
		meta_uint(ARG, 4, 8);
		if (version > 1)
			buffer_end();
		else
			buffer_pad(512);
	}
}

static void basic_log(void)
{
	put_header(3, BASIC, 1000000000, 0);
	for (uint32_t i = 0; i < 40; i++) {
		basic(i % 2 ? EXIT : ENTER_ARG, i / 4 + 1, 100 + i, i & 2 ? 5 : 6, 1);
		if (i % 2 == 0)
			basic_arg(i / 4 + 1, i, i & 2 ? 5 : 6, 1);
	}
	out_pad(&made, '\xff', 32);
	basic(ENTER, 1, 900, 5, 1);
}

static void profile_log(void)
{
	out_clear(&made);
	put_uint(UINT64_C(0x7872617970726f66), 8);
	put_uint(0x20180424, 8);
	put_uint(5, 8);
	put_uint(1, 8);
	for (uint32_t tid = 5; tid < 8; tid++) {
		put_uint(16 + 28, 4);
		put_uint(tid, 4);
		put_uint(tid, 8);
		put_uint(2, 4);
		put_uint(1, 4);
		put_uint(0, 4);
		put_uint(3, 8);
		put_uint(4, 8);
	}
	put_uint(99, 4);
}

/* Copies what was made while every allocation fails in turn: none is a short one. */
static void expect_all_or_nothing(bool repair, uint64_t limit)
{
	struct out want;
	uint64_t n = 1;

	file_write(made.buf, made.len);
	assert_int_equal(copy_log(repair, limit, 0), SPUR_OK);
	out_to_memory(&want);
	out_bytes(&want, copied.buf, copied.len);
	assert_true(want.len > 32);
	while (copy_log(repair, limit, n) == SPUR_FAIL)
		assert_true(++n < 10000);
	/* Some did fail. */
	assert_true(n > 2);
	assert_int_equal(copied.len, want.len);
	assert_memory_equal(copied.buf, want.buf, want.len);
	out_free(&want);
}

static void test_allocations(void **state)
{
	static const unsigned versions[] = { 1, 2, 3, 5 };

	(void)state;
	for (size_t i = 0; i < 4; i++)
		for (uint64_t limit = 0; limit < 20; limit += 11) {
			damaged_log(versions[i]);
			expect_all_or_nothing(false, limit);
			expect_all_or_nothing(true, limit);
		}
	basic_log();
	expect_all_or_nothing(false, 0);
	expect_all_or_nothing(true, 9);
	profile_log();
	expect_all_or_nothing(false, 0);
	expect_all_or_nothing(false, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_equal_walls, copy_make, copy_remove),
		cmocka_unit_test_setup_teardown(test_near_walls, copy_make, copy_remove),
		cmocka_unit_test_setup_teardown(test_undivided, copy_make, copy_remove),
		cmocka_unit_test_setup_teardown(test_damage_twice, copy_make, copy_remove),
		cmocka_unit_test_setup_teardown(test_long_ring, copy_make, copy_remove),
		cmocka_unit_test_setup_teardown(test_allocations, copy_make, copy_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
