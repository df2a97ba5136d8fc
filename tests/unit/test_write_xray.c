/*
 * The writer of XRay logs while allocations fail: an error, or the same bytes, of the log as well
 * as of the file of names. What the bytes should be is tested by tests/harness/xray.py.
 */
#include "unit/xray_file.h"

#include "base/mem.h"
#include "flow/convert.h"
#include "unit/fake.h"

enum { ROWS = 300, SETTINGS = 7 };

static const char *const settings[SETTINGS] = {
	NULL,		"buffer-size=1024,names=yaml",
	"version=1",	"version=3,byte-order=big",
	"type=basic",	"type=yaml",
	"type=profile",
};

static struct out log_bytes, name_bytes;

static enum spur_status convert_to(struct spur_trace *t, const char *how)
{
	struct convert c = {
		.pipe = { .threads = 1 }, .zero = ZERO_EXACT, .settings = how, .side = &name_bytes
	};
	uint64_t *const charged = mem_charge(&t->mem_failures);
	enum spur_status st = convert_run(&c, t, writer_find("xray"), &log_bytes);

	assert_int_equal(st == SPUR_FAIL, c.error.code != 0);
	mem_charge(charged);
	return st == SPUR_FAIL || log_bytes.error || name_bytes.error ? SPUR_FAIL : SPUR_OK;
}

/* Converts a trace that `make` opens anew each time, while every allocation fails in turn. */
static void expect_all_or_nothing(struct spur_trace *(*make)(void), const char *how)
{
	struct out want_log, want_names;
	uint64_t n = 0;
	enum spur_status st;

	out_to_memory(&want_log);
	out_to_memory(&want_names);
	do {
		struct spur_trace *t = make();

		out_to_memory(&log_bytes);
		out_to_memory(&name_bytes);
		mem_fail_at(n);
		st = convert_to(t, how);
		mem_fail_at(0);
		spur_close(t);
		if (!n) {
			assert_int_equal(st, SPUR_OK);
			want_log = log_bytes;
			want_names = name_bytes;
			st = SPUR_FAIL;
			continue;
		}
		if (st != SPUR_FAIL) {
			assert_int_equal(log_bytes.len, want_log.len);
			assert_memory_equal(log_bytes.buf, want_log.buf, want_log.len);
			assert_int_equal(name_bytes.len, want_names.len);
			if (want_names.len)
				assert_memory_equal(name_bytes.buf, want_names.buf, want_names.len);
		}
		out_free(&log_bytes);
		out_free(&name_bytes);
		assert_true(n < 10000);
	} while (n++, st == SPUR_FAIL);
	assert_true(n > 10);
	assert_true(want_log.len > 32);
	out_free(&want_log);
	out_free(&want_names);
}

/* --- rows of another format --- */

/* Calls with an argument, events of all kinds, on two threads and a track that is none. */
static struct spur_trace *trace_make(void)
{
	static struct spur_event rows[ROWS];
	static struct fake_feed f;
	struct spur_trace *t = fake_trace();
	const uint32_t cls[] = { fake_class(t, "a", ""), fake_class(t, "_Z1bv", "m"),
				 fake_class(t, "", "") };
	const uint32_t tracks[] = { fake_track(t, "k", 1, 2), fake_track(t, "l", 1, 3),
				    fake_track(t, "m", -1, INT64_MAX) };

	for (uint32_t i = 0; i < ROWS; i++)
		rows[i] = (struct spur_event){ .kind = (uint8_t)(i % 4 < 2 ? i % 4
									   : i / 4 % SPUR_KINDS),
					       .ts = (int64_t)i * 1000,
					       .cls = cls[i / 4 % 3],
					       .track = tracks[i / 64 % 3],
					       .id = i,
					       .nargs = i % 4 != 1 };
	fake_feed(t, &f, rows, ROWS);
	return t;
}

static void test_other_format(void **state)
{
	(void)state;
	for (unsigned i = 0; i < SETTINGS; i++)
		expect_all_or_nothing(trace_make, settings[i]);
}

/* --- an XRay log --- */

static struct spur_trace *log_open(void)
{
	const struct spur_options opt =
		SPUR_OPTIONS(.format = "xray", .threads = 1, .symbol_dirs = "/nonexistent");
	struct spur_error err;
	struct spur_trace *t;

	assert_int_not_equal(spur_open(&t, path, &opt, &err), SPUR_FAIL);
	return t;
}

static void test_log(void **state)
{
	(void)state;
	put_header(3, FDR, 3000000000, 4096);
	for (uint32_t tid = 5; tid < 8; tid++) {
		buffer_begin(3, tid, tid);
		cpu(0, 1000 * (uint64_t)tid);
		for (uint32_t i = 0; i < 100; i++) {
			fn(i % 2 ? EXIT : ENTER, i / 2 % 7 + 1, 10);
			if (i % 2 == 0)
				meta_uint(ARG, i, 8);
		}
		event(TYPED, 3, 1000 * tid + 2000, 7, "payload");
		buffer_end();
	}
	file_write(made.buf, made.len);
	for (unsigned i = 0; i < SETTINGS; i++)
		expect_all_or_nothing(log_open, settings[i]);
}

/* SPEC xray/exact-mark: a basic log may begin at the clock's zero */
static void test_zero_ticks(void **state)
{
	struct spur_trace *t = fake_trace();
	const uint32_t a = fake_class(t, "a", ""), k = fake_track(t, "k", 1, 2);
	struct spur_event rows[] = { FAKE_B(0, a, k), FAKE_E(7, a, k) };
	struct fake_feed f;

	(void)state;
	fake_feed(t, &f, rows, 2);
	for (unsigned i = 0; i < 2; i++) {
		fake_rewind(t);
		out_to_memory(&log_bytes);
		assert_int_equal(
			convert_to(t, i ? "type=basic,version=1,byte-order=big" : "type=basic"),
			SPUR_OK);
		file_write(log_bytes.buf, log_bytes.len);
		out_free(&log_bytes);
		out_free(&name_bytes);
		assert_string_equal(read_log(0, false), "0 BEGIN fn#1 2\n7 END fn#1 2\n");
	}
	spur_close(t);
}

/* SPEC xray/written-times: hundreds of buffers, in versions that may count ticks twice */
static void test_many_buffers(void **state)
{
	enum { CALLS = 30000 };
	static struct spur_event rows[2 * CALLS];
	struct spur_trace *t = fake_trace();
	const uint32_t a = fake_class(t, "a", ""), k = fake_track(t, "k", 1, 2);
	struct out want;
	struct fake_feed f;

	(void)state;
	out_to_memory(&want);
	for (int64_t i = 0; i < CALLS; i++) {
		rows[2 * i] = (struct spur_event)FAKE_B(i * i, a, k);
		rows[2 * i + 1] = (struct spur_event)FAKE_E(i * i + i, a, k);
		out_printf(&want, "%lld BEGIN fn#1 2\n%lld END fn#1 2\n", (long long)(i * i),
			   (long long)(i * i + i));
	}
	out_char(&want, '\0');
	fake_feed(t, &f, rows, 2 * CALLS);
	for (unsigned version = 2; version < 4; version++) {
		fake_rewind(t);
		out_to_memory(&log_bytes);
		assert_int_equal(convert_to(t, version == 2 ? "version=2,buffer-size=1024"
							    : "version=3,buffer-size=1024"),
				 SPUR_OK);
		/* 1,024 bytes have 128 calls at most. */
		assert_true(log_bytes.len > (size_t)2 * CALLS * 8 + (size_t)2 * CALLS / 128 * 64);
		file_write(log_bytes.buf, log_bytes.len);
		out_free(&log_bytes);
		out_free(&name_bytes);
		assert_string_equal(read_log(0, false), want.buf);
	}
	out_free(&want);
	spur_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_other_format, file_make, file_remove),
		cmocka_unit_test_setup_teardown(test_zero_ticks, file_make, file_remove),
		cmocka_unit_test_setup_teardown(test_many_buffers, file_make, file_remove),
		cmocka_unit_test_setup_teardown(test_log, file_make, file_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
