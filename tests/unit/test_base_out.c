/* base/out.h: numbers, escapes, the buffer, errors of the file below. */
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/out.h"

static struct out o;

/* What was written since the last call. */
static void expect(const char *want, size_t len)
{
	assert_int_equal(o.error, 0);
	assert_int_equal(o.len, len);
	assert_memory_equal(o.buf, want, len);
	out_clear(&o);
}

#define EXPECT(want) expect(want, sizeof(want) - 1)

static int memory_begin(void **state)
{
	(void)state;
	out_to_memory(&o);
	return 0;
}

static int memory_end(void **state)
{
	(void)state;
	out_free(&o);
	return 0;
}

static void check_number(uint64_t v)
{
	char want[128], got[128];
	char *end;

	snprintf(want, sizeof(want), "%" PRIu64, v);
	end = put_u64(got, v);
	*end = '\0';
	assert_string_equal(got, want);
	snprintf(want, sizeof(want), "%" PRId64, (int64_t)v);
	end = put_i64(got, (int64_t)v);
	*end = '\0';
	assert_string_equal(got, want);
	snprintf(want, sizeof(want), "%" PRIx64, v);
	end = put_hex(got, v);
	*end = '\0';
	assert_string_equal(got, want);
	for (int width = 0; width < 25; width += 3) {
		snprintf(want, sizeof(want), "%*" PRIu64, width, v);
		end = put_u64_w(got, v, (unsigned)width);
		*end = '\0';
		assert_string_equal(got, want);
		snprintf(want, sizeof(want), "%030" PRIu64, v);
		end = put_u64_0(got, v, (unsigned)width);
		*end = '\0';
		assert_string_equal(got, want + 30 - width);
	}
}

static void test_numbers(void **state)
{
	uint64_t power = 1;

	(void)state;
	for (unsigned i = 0; i < 20; i++, power *= 10) {
		check_number(power - 1);
		check_number(power);
		check_number(power + 1);
		check_number(0 - power);
	}
	for (unsigned i = 0; i < 64; i++) {
		check_number((uint64_t)1 << i);
		check_number(((uint64_t)1 << i) - 1);
		check_number(0x9E3779B97F4A7C15u >> i);
	}
	check_number(UINT64_MAX);
	for (uint64_t i = 0; i < 2000; i++)
		check_number(i);
	out_u64(&o, UINT64_MAX);
	out_char(&o, ' ');
	out_i64(&o, INT64_MIN);
	out_char(&o, ' ');
	out_hex(&o, 0xABCDEF);
	EXPECT("18446744073709551615 -9223372036854775808 abcdef");
}

static void test_seconds(void **state)
{
	(void)state;
	out_seconds(&o, 828215538322);
	EXPECT("828.215538322");
	out_seconds(&o, 0);
	EXPECT("0.000000000");
	out_seconds(&o, -1);
	EXPECT("-0.000000001");
	out_seconds(&o, INT64_MIN);
	EXPECT("-9223372036.854775808");
	out_seconds(&o, INT64_MAX);
	EXPECT("9223372036.854775807");
}

/* As JSON a double is never an integer. */
static void test_json_double(void **state)
{
	static const struct {
		double v;
		bool single;
		const char *want;
	} cases[] = {
		{ 1, false, "1.0" },
		{ -0.0, false, "-0.0" },
		{ 0, true, "0.0" },
		{ 123456789012345680.0, false, "1.2345678901234568e+17" },
		{ 1e15, false, "1e+15" },
		{ 9007199254740993.0, false, "9007199254740992.0" },
		{ -2.5, true, "-2.5" },
		{ 16777216, true, "16777216.0" },
		{ 1e22, false, "1e+22" },
		{ (double)NAN, false, "\"nan\"" },
		{ (double)-INFINITY, true, "\"-inf\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		out_json_double(&o, cases[i].v, cases[i].single);
		expect(cases[i].want, strlen(cases[i].want));
	}
}

static void test_double(void **state)
{
	const double values[] = { 0.1 + 0.2,	       1e300, DBL_MAX, DBL_MIN, 1e-310, M_PI,
				  123456789012345680.0 };

	(void)state;
	out_double(&o, 0.1);
	EXPECT("0.1");
	out_double(&o, 0.1 + 0.2);
	EXPECT("0.30000000000000004");
	out_double(&o, 1);
	EXPECT("1");
	out_double(&o, -0.0);
	EXPECT("-0");
	out_double(&o, 5e-324);
	EXPECT("5e-324");
	out_double(&o, 1e22);
	EXPECT("1e+22");
	out_double(&o, (double)NAN);
	EXPECT("nan");
	out_double(&o, (double)INFINITY);
	EXPECT("inf");
	out_double(&o, (double)-INFINITY);
	EXPECT("-inf");
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		out_double(&o, values[i]);
		out_char(&o, '\0');
		assert_true(strtod(o.buf, NULL) == values[i]);
		out_clear(&o);
	}
}

/* The fewest digits from six on that read back as the same float. */
static void f32_slowly(char *buf, size_t size, float v)
{
	int digits = 6;

	do
		snprintf(buf, size, "%.*g", digits, (double)v);
	while (digits++ < 9 && strtof(buf, NULL) != v);
}

static void expect_f32(float v)
{
	char want[40];

	f32_slowly(want, sizeof(want), v);
	out_f32(&o, v);
	expect(want, strlen(want));
}

static void test_f32(void **state)
{
	uint64_t x = 88172645463325252u;
	uint32_t bits;
	float v;

	(void)state;
	expect_f32(0.1f);
	expect_f32(-0.0f);
	expect_f32(16777216.0f);
	expect_f32(8589973504.0f);
	expect_f32(FLT_MIN);
	expect_f32(FLT_MAX);
	expect_f32(1e-45f);
	out_f32(&o, (float)NAN);
	EXPECT("nan");
	out_f32(&o, -(float)INFINITY);
	EXPECT("-inf");
	/* Of all sizes, and such as people write. */
	for (int i = 0; i < 200000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		bits = (uint32_t)x;
		memcpy(&v, &bits, sizeof(v));
		if (isfinite(v))
			expect_f32(v);
		expect_f32((float)((double)(int32_t)(x >> 40) / 1000));
	}
}

/* The fewest digits from 15 on that read back as the same double; and as printf's %g. */
static void expect_double(double v)
{
	char want[40];
	int digits = 15;

	do
		snprintf(want, sizeof(want), "%.*g", digits, v);
	while (digits++ < 17 && strtod(want, NULL) != v);
	out_double(&o, v);
	expect(want, strlen(want));
	snprintf(want, sizeof(want), "%g", v);
	out_to(&o, put_g(out_room(&o, PUT_G), v));
	expect(want, strlen(want));
}

static void test_digits(void **state)
{
	uint64_t x = 88172645463325252u;
	double tens = 1;

	(void)state;
	for (int i = 0; i < 20; i++, tens *= 10) {
		expect_double(tens);
		expect_double(-1 / tens);
		expect_double(123456789 / tens);
		expect_double(tens - 1);
		expect_double(1 + 1 / tens);
	}
	for (int i = 0; i < 40000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		expect_double((double)(int64_t)x / 1e15);
		expect_double((double)(int32_t)(x >> 40) / 1000);
		expect_double((double)(int32_t)x / (double)(1 << i % 30));
	}
}

static void test_json(void **state)
{
	(void)state;
	out_json(&o, "", 0);
	EXPECT("\"\"");
	out_json(&o, NULL, 0);
	EXPECT("\"\"");
	out_json(&o, "plain ASCII text, more than eight bytes", 39);
	EXPECT("\"plain ASCII text, more than eight bytes\"");
	out_json(&o, "a\"b\\c/d", 7);
	EXPECT("\"a\\\"b\\\\c/d\"");
	out_json(&o, "\n\t\r\b\f\0\x1f\x7f", 8);
	EXPECT("\"\\n\\t\\r\\b\\f\\u0000\\u001f\x7f\"");
	out_json(&o, "\xC3\xA9 \xE4\xB8\xAD \xF0\x9F\x98\x80", 11);
	EXPECT("\"\xC3\xA9 \xE4\xB8\xAD \xF0\x9F\x98\x80\"");
	out_json(&o, "a\xFF\x80z\xC3", 5);
	EXPECT("\"a\\udcff\\udc80z\\udcc3\"");
	out_json(&o, "\xED\xA0\x80", 3);
	EXPECT("\"\\udced\\udca0\\udc80\"");
}

/* Each byte value at each place of a word: the fast scan stops where the slow one would. */
static void test_json_places(void **state)
{
	(void)state;
	for (unsigned c = 0; c < 256; c++) {
		for (size_t at = 0; at < 17; at++) {
			char s[17], want[64] = "\"";
			size_t n = 1;

			memset(s, 'x', sizeof(s));
			s[at] = (char)c;
			memset(want + n, 'x', at);
			n += at;
			if (c == '"' || c == '\\')
				n += (size_t)sprintf(want + n, "\\%c", (char)c);
			else if (c < 0x20 && strchr("\n\t\r\b\f", (int)c) && c)
				n += (size_t)sprintf(want + n, "\\%c", "btn.fr"[c - 8]);
			else if (c < 0x20)
				n += (size_t)sprintf(want + n, "\\u%04x", c);
			else if (c >= 0x80)
				n += (size_t)sprintf(want + n, "\\udc%02x", c);
			else
				want[n++] = (char)c;
			memset(want + n, 'x', 16 - at);
			n += 16 - at;
			want[n++] = '"';
			out_json(&o, s, sizeof(s));
			expect(want, n);
		}
	}
}

static void test_json_long(void **state)
{
	enum { CHARS = 100000 };
	char *s = malloc(3 * CHARS);

	(void)state;
	/* Three-byte characters lie across every border between pieces. */
	for (size_t i = 0; i < CHARS; i++)
		memcpy(s + 3 * i, "\xE4\xB8\xAD", 3);
	for (size_t from = 0; from < 3; from++) {
		out_json(&o, s + from, 3 * CHARS - from);
		assert_int_equal(o.len,
				 from == 0 ? 3 * CHARS + 2 : 3 * (CHARS - 1) + 2 + 6 * (3 - from));
		assert_int_equal(o.buf[o.len - 1], '"');
		assert_memory_equal(o.buf + o.len - 4, "\xE4\xB8\xAD", 3);
		out_clear(&o);
	}
	memset(s, 0x01, 3 * CHARS);
	out_json(&o, s, 3 * CHARS);
	assert_int_equal(o.len, 18 * CHARS + 2);
	out_clear(&o);
	free(s);
}

static void test_safe(void **state)
{
	(void)state;
	out_safe(&o, "a\\b \"q\"\n\t\x1b[31m\x7f\0z", 17);
	EXPECT("a\\b \"q\"\\n\\t\\x1b[31m\\x7f\\x00z");
	out_safe(&o, "\xE4\xB8\xAD\xFF\xC2\x9B\xC2\xA0", 8);
	EXPECT("\xE4\xB8\xAD\\xff\\xc2\\x9b\xC2\xA0");
	/* U+2029 and U+202A, U+202E and U+202F, U+2065 and U+2066, U+2069 and U+206A. */
	out_safe(&o, "\xE2\x80\xA9\xE2\x80\xAA\xE2\x80\xAE\xE2\x80\xAF", 12);
	EXPECT("\xE2\x80\xA9\\xe2\\x80\\xaa\\xe2\\x80\\xae\xE2\x80\xAF");
	out_safe(&o, "\xE2\x81\xA5\xE2\x81\xA6\xE2\x81\xA9\xE2\x81\xAA", 12);
	EXPECT("\xE2\x81\xA5\\xe2\\x81\\xa6\\xe2\\x81\\xa9\xE2\x81\xAA");
}

static void test_csv(void **state)
{
	(void)state;
	out_csv(&o, "plain text", 10);
	out_char(&o, ',');
	out_csv(&o, "", 0);
	out_char(&o, ',');
	out_csv(&o, "a,b", 3);
	out_char(&o, ',');
	out_csv(&o, "say \"x\"", 7);
	out_char(&o, ',');
	out_csv(&o, "l1\r\nl2", 6);
	EXPECT("plain text,,\"a,b\",\"say \"\"x\"\"\",\"l1\r\nl2\"");
}

static void test_printf(void **state)
{
	char want[5001];

	(void)state;
	out_printf(&o, "%s-%d", "a", 5);
	EXPECT("a-5");
	for (size_t i = 250; i < 260; i++) {
		memset(want, '0', i);
		out_printf(&o, "%0*d", (int)i, 0);
		expect(want, i);
	}
	memset(want, '0', 5000);
	out_printf(&o, "%0*d", 5000, 0);
	expect(want, 5000);
	out_pad(&o, '0', 300);
	out_pad(&o, '0', 0);
	expect(want, 300);
}

static void test_memory_error(void **state)
{
	(void)state;
	out_str(&o, "kept");
	mem_fail_at(1);
	out_pad(&o, 'x', 1 << 20);
	assert_int_equal(o.error, ENOMEM);
	mem_fail_at(0);
	out_str(&o, "dropped");
	out_printf(&o, "%d", 1);
	out_json(&o, "a", 1);
	assert_null(out_room(&o, 1));
	assert_false(out_flush(&o));
	assert_int_equal(o.error, ENOMEM);
	/* Bytes that are gone cannot be taken back, which would make room. */
	out_cut(&o, 2);
	assert_int_equal(o.len, 0);
	assert_null(out_room(&o, 1));
	out_clear(&o);
	out_str(&o, "again");
	out_cut(&o, 2);
	EXPECT("ag");
}

static void test_fd(void **state)
{
	const int fd = temp_file_open();
	size_t total;
	char *back;
	struct out f;

	(void)state;
	out_to_fd(&f, fd);
	for (unsigned i = 0; i < 100000; i++) {
		out_u64(&f, i);
		out_char(&f, '\n');
	}
	back = malloc(1 << 20);
	memset(back, 'y', 1 << 20);
	out_bytes(&f, back, 1 << 20);
	out_pad(&f, 'p', 300000);
	assert_non_null(out_room(&f, 1 << 20));
	out_str(&f, "end");
	assert_true(out_flush(&f));
	assert_int_equal(f.flushed, lseek(fd, 0, SEEK_END));
	assert_int_equal(pread(fd, back, 12, 0), 12);
	assert_memory_equal(back, "0\n1\n2\n3\n4\n5\n", 12);
	total = (size_t)f.flushed;
	assert_int_equal(pread(fd, back, 5, (off_t)total - 5), 5);
	assert_memory_equal(back, "ppend", 5);
	assert_int_equal(pread(fd, back, 8, 588890), 8);
	assert_memory_equal(back, "yyyyyyyy", 8);
	assert_int_equal(pread(fd, back, 7, 588883), 7);
	assert_memory_equal(back, "\n99999\n", 7);
	assert_int_equal(total, 588890 + (1 << 20) + 300000 + 3);
	free(back);
	out_free(&f);
	close(fd);
}

static void test_fd_errors(void **state)
{
	int ends[2];
	struct out f;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(ends), 0);
	close(ends[0]);
	out_to_fd(&f, ends[1]);
	out_str(&f, "x");
	assert_int_equal(f.error, 0);
	assert_false(out_flush(&f));
	assert_int_equal(f.error, EPIPE);
	out_str(&f, "y");
	assert_null(out_room(&f, 1));
	assert_int_equal(f.flushed, 0);
	out_free(&f);
	close(ends[1]);
	out_to_fd(&f, open("/dev/full", O_WRONLY));
	out_pad(&f, 'x', 1 << 20);
	assert_int_equal(f.error, ENOSPC);
	close(f.fd);
	out_free(&f);
}

/* A lent buffer needs no memory, passes on what is longer than itself, and is not freed. */
static void test_fd_lent(void **state)
{
	static char room[OUT_LENT], text[3 * OUT_LENT + 5], got[5 * OUT_LENT];
	FILE *file = tmpfile();
	const uint64_t failed = mem_failures_all();
	struct out f;

	(void)state;
	assert_non_null(file);
	memset(text, 'x', sizeof(text));
	mem_fail_at(1);
	out_to_fd_lent(&f, fileno(file), room);
	out_str(&f, "head ");
	out_bytes(&f, text, sizeof(text));
	out_bytes(&f, text, OUT_LENT - 1);
	out_str(&f, " tail");
	assert_true(out_flush(&f));
	assert_int_equal(mem_failures_all(), failed);
	mem_fail_at(0);
	assert_int_equal(f.flushed, 5 + sizeof(text) + OUT_LENT - 1 + 5);
	assert_int_equal(pread(fileno(file), got, sizeof(got), 0),
			 -1 + 10 + sizeof(text) + OUT_LENT);
	assert_memory_equal(got, "head xxx", 8);
	assert_memory_equal(got + 5 + sizeof(text) + OUT_LENT - 1 - 2, "xx tail", 7);
	assert_null(out_room(&f, OUT_LENT + 1));
	assert_int_equal(f.error, ENOMEM);
	out_free(&f);
	fclose(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_numbers, memory_begin, memory_end),
		cmocka_unit_test_setup_teardown(test_seconds, memory_begin, memory_end),
		cmocka_unit_test_setup_teardown(test_json_double, memory_begin, memory_end),
		cmocka_unit_test_setup_teardown(test_double, memory_begin, memory_end),
		cmocka_unit_test_setup_teardown(test_f32, memory_begin, memory_end),
		cmocka_unit_test_setup_teardown(test_digits, memory_begin, memory_end),
		cmocka_unit_test_setup_teardown(test_json, memory_begin, memory_end),
		cmocka_unit_test_setup_teardown(test_json_places, memory_begin, memory_end),
		cmocka_unit_test_setup_teardown(test_json_long, memory_begin, memory_end),
		cmocka_unit_test_setup_teardown(test_safe, memory_begin, memory_end),
		cmocka_unit_test_setup_teardown(test_csv, memory_begin, memory_end),
		cmocka_unit_test_setup_teardown(test_printf, memory_begin, memory_end),
		cmocka_unit_test_setup_teardown(test_memory_error, memory_begin, memory_end),
		cmocka_unit_test(test_fd),
		cmocka_unit_test(test_fd_errors),
		cmocka_unit_test(test_fd_lent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
