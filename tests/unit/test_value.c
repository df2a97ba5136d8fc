/* Values and times as text and JSON; numbers written by the fast writers. */
#include "fake.h"

#include <math.h>
#include <stdio.h>

#include "render/frag.h"
#include "format/loss.h"
#include "render/value.h"
#include "render/when.h"

static struct spur_trace *trace;
static struct value_writer as_text, as_json;

static void expect(const struct spur_value *v, const char *text, const char *json)
{
	struct out o;

	out_to_memory(&o);
	value_text(&as_text, v, &o);
	out_char(&o, '\0');
	assert_string_equal(o.buf, text);
	out_clear(&o);
	value_json(&as_json, v, &o);
	out_char(&o, '\0');
	assert_string_equal(o.buf, json);
	out_free(&o);
}

#define VALUE(...) (&(const struct spur_value){ __VA_ARGS__ })

static void numbers(void **state)
{
	(void)state;
	expect(VALUE(.type = SPUR_I64, .i = INT64_MIN), "-9223372036854775808",
	       "-9223372036854775808");
	expect(VALUE(.type = SPUR_U64, .u = UINT64_MAX), "18446744073709551615",
	       "18446744073709551615");
	expect(VALUE(.type = SPUR_I64, .i = -1, .size = 4, .show = SPUR_SHOW_HEX), "0xffffffff",
	       "-1");
	expect(VALUE(.type = SPUR_I64, .i = 99999, .show = SPUR_SHOW_AUTO), "99999", "99999");
	expect(VALUE(.type = SPUR_I64, .i = 100000, .show = SPUR_SHOW_AUTO), "0x186a0", "100000");
	expect(VALUE(.type = SPUR_U64, .u = 420, .show = SPUR_SHOW_OCTAL), "0644", "420");
	expect(VALUE(.type = SPUR_U64, .u = 0, .show = SPUR_SHOW_OCTAL), "0", "0");
	expect(VALUE(.type = SPUR_I64, .i = 'x', .show = SPUR_SHOW_CHAR), "'x'", "120");
	expect(VALUE(.type = SPUR_I64, .i = '\'', .show = SPUR_SHOW_CHAR), "'\\''", "39");
	expect(VALUE(.type = SPUR_I64, .i = 0, .show = SPUR_SHOW_CHAR), "'\\0'", "0");
	expect(VALUE(.type = SPUR_I64, .i = -1, .size = 1, .show = SPUR_SHOW_CHAR), "'\\xff'",
	       "-1");
	expect(VALUE(.type = SPUR_F64, .f = 0.1, .size = 8), "0.1", "0.1");
	expect(VALUE(.type = SPUR_F64, .f = (double)3.14f, .size = 4), "3.14", "3.14");
	expect(VALUE(.type = SPUR_F64, .f = (double)16777217.0, .size = 4), "16777217",
	       "16777217.0");
	expect(VALUE(.type = SPUR_F64, .f = NAN), "nan", "\"nan\"");
	expect(VALUE(.type = SPUR_F64, .f = -INFINITY, .size = 4), "-inf", "\"-inf\"");
	expect(VALUE(.type = SPUR_BOOL, .u = 1), "true", "true");
	expect(VALUE(.type = SPUR_KOID, .u = 7), "7", "7");
}

static void texts(void **state)
{
	(void)state;
	expect(VALUE(.type = SPUR_NULL), "NULL", "null");
	expect(VALUE(.type = SPUR_STRING, .text = "a\"\\\n\x1b\xff", .count = 6),
	       "\"a\\\"\\\\\\n\\x1b\\xff\"", "\"a\\\"\\\\\\n\\u001b\\udcff\"");
	expect(VALUE(.type = SPUR_STRING, .text = "", .count = 0), "\"\"", "\"\"");
	expect(VALUE(.type = SPUR_BYTES, .text = "\x0a\xff", .count = 2, .label = "point"),
	       "point{0a ff}", "\"0aff\"");
	expect(VALUE(.type = SPUR_BYTES, .text = "", .count = 0), "{}", "\"\"");
	expect(VALUE(.type = SPUR_POINTER, .u = 0x1234), "0x1234", "4660");
	expect(VALUE(.type = SPUR_POINTER, .u = 0x1234, .label = "main"), "&main", "4660");
	expect(VALUE(.type = SPUR_ENUM, .i = 2, .label = "RED|BLUE"), "RED|BLUE", "\"RED|BLUE\"");
	expect(VALUE(.type = SPUR_ENUM, .i = -2), "-2", "-2");
	expect(VALUE(.type = SPUR_U64, .u = 5, .unreliable = 1), "5?", "5");
}

static void nested(void **state)
{
	const uint32_t x = trace_intern(trace, "x"), y = trace_intern(trace, "y\n");
	const struct spur_value inner[] = { { .type = SPUR_I64, .name = x, .i = 1 },
					    { .type = SPUR_I64, .name = y, .i = 2 },
					    { .type = SPUR_I64, .name = x, .i = 3 } };
	struct spur_value deep[100];

	(void)state;
	expect(VALUE(.type = SPUR_STRUCT, .items = inner, .count = 3), "{x=1, y\\n=2, x=3}",
	       "{\"x\":[1,3],\"y\\n\":2}");
	expect(VALUE(.type = SPUR_ARRAY, .items = inner, .count = 2), "[x=1, y\\n=2]", "[1,2]");
	expect(VALUE(.type = SPUR_ARRAY, .count = 0), "[]", "[]");
	for (size_t i = 0; i < 100; i++)
		deep[i] = (struct spur_value){ .type = SPUR_ARRAY,
					       .count = i < 99,
					       .items = &deep[i + 1] };
	{
		struct out o;

		out_to_memory(&o);
		value_text(&as_text, deep, &o);
		assert_int_equal(o.len, 65 + 3 + 65);
		out_clear(&o);
		value_json(&as_json, deep, &o);
		assert_int_equal(o.len, 64 + 5 + 64);
		out_free(&o);
	}
}

static void expect_args(const struct spur_value *items, size_t n, bool is_end, const char *json)
{
	const struct spur_args args = { .items = items, .count = n };
	struct out o;

	out_to_memory(&o);
	args_json(&as_json, &args, is_end, &o);
	out_char(&o, '\0');
	assert_string_equal(o.buf, json);
	out_free(&o);
}

static void arguments(void **state)
{
	const uint32_t x = trace_intern(trace, "x");
	struct spur_value items[300] = { 0 };
	struct out many;

	(void)state;
	expect_args(items, 0, false, "{}");
	for (size_t i = 0; i < 300; i++)
		items[i] = (struct spur_value){ .type = SPUR_U64, .u = i };
	expect_args(items, 2, false, "{\"arg1\":0,\"arg2\":1}");
	expect_args(items, 1, true, "{\"retval\":0}");
	expect_args(items, 2, true, "{\"arg1\":0,\"arg2\":1}");
	items[0].name = items[2].name = items[3].name = x;
	expect_args(items, 5, false, "{\"x\":[0,2,3],\"arg2\":1,\"arg5\":4}");
	/* More than a few names: the same result. */
	out_to_memory(&many);
	out_str(&many, "{\"x\":[0,2,3],\"arg2\":1");
	for (unsigned i = 4; i < 300; i++)
		out_printf(&many, ",\"arg%u\":%u", i + 1, i);
	out_str(&many, "}");
	out_char(&many, '\0');
	expect_args(items, 300, false, many.buf);
	out_free(&many);
}

static void expect_when(enum time_form how, int64_t ts, unsigned width, const char *text)
{
	char buf[64];
	struct when w;

	assert_int_equal(when_init(&w, trace, how, NULL), SPUR_OK);
	*put_when(buf, &w, ts, width) = '\0';
	assert_string_equal(buf, text);
}

static void times(void **state)
{
	(void)state;
	expect_when(TIME_RAW, -5, 0, "-5");
	expect_when(TIME_RAW, INT64_MAX, 0, "9223372036854775807");
	expect_when(TIME_REL, 1500000001, 14, "   1.500000001");
	expect_when(TIME_REL, -1, 0, "-0.000000001");
	expect_when(TIME_ABS, 5, 0, "0.000000005"); /* no epoch known */
	trace->clock.epoch_known = true;
	expect_when(TIME_ABS, 0, 0, "1970-01-01T00:00:00.000000000Z");
	expect_when(TIME_ABS, 951827696000000007, 32, "  2000-02-29T12:34:56.000000007Z");
	expect_when(TIME_ABS, -1, 0, "1969-12-31T23:59:59.999999999Z");
	trace->clock.epoch_ns = 1763730480000000000;
	expect_when(TIME_ABS, 123, 0, "2025-11-21T13:08:00.000000123Z");
	expect_when(TIME_ABS, INT64_MAX, 0, "2262-04-11T23:47:16.854775807Z"); /* clamped */
	trace->clock = (struct clock_info){ 0 };
}

/* The fast writers against the plain ones, over numbers of every length and in an order that moves
 * the base. */
static void fast_numbers(void **state)
{
	struct number d, u;
	uint64_t v = 1;

	(void)state;
	number_init(&d);
	number_init(&u);
	for (unsigned i = 0; i < 20000; i++) {
		char fast[64], plain[64];
		int64_t n = (int64_t)(v >> (i % 64));

		if (i % 7 == 0)
			n = -n;
		*put_number(fast, &d, n) = '\0';
		snprintf(plain, sizeof(plain), "%lld", (long long)n);
		assert_string_equal(fast, plain);
		*put_us(fast, &u, n) = '\0';
		snprintf(plain, sizeof(plain), "%s%llu.%03llu", n < 0 ? "-" : "",
			 (unsigned long long)(n < 0 ? 0 - (uint64_t)n : (uint64_t)n) / 1000,
			 (unsigned long long)(n < 0 ? 0 - (uint64_t)n : (uint64_t)n) % 1000);
		assert_string_equal(fast, plain);
		v = v * 6364136223846793005u + 1442695040888963407u;
	}
}

static void losses(void **state)
{
	static const struct loss_reason reasons[] = { { LOSS_DROPPED, "no room" },
						      { LOSS_DEGRADED, "an instant" } };
	struct loss_table t = { .reasons = reasons, .count = 2 };
	struct out o;

	(void)state;
	out_to_memory(&o);
	loss_text(&t, "chrome", &o);
	assert_int_equal(o.len, 0);
	loss_add(&t, 1, SPUR_LOG);
	loss_add(&t, 0, SPUR_END_SPAN);
	loss_add(&t, 0, SPUR_END_SPAN);
	assert_int_equal(loss_sum(&t), 3);
	loss_text(&t, "chrome", &o);
	out_char(&o, '\0');
	assert_string_equal(o.buf, "spur: chrome: 3 events are not carried whole:\n"
				   "               2  END           dropped   no room\n"
				   "               1  LOG           degraded  an instant\n");
	out_clear(&o);
	loss_json(&t, "chrome", &o);
	out_char(&o, '\0');
	assert_string_equal(
		o.buf,
		"{\"schema\":1,\"spur\":\"convert\",\"to\":\"chrome\",\"lost\":3,\"losses\":["
		"{\"kind\":\"END\",\"count\":2,\"what\":\"dropped\",\"why\":\"no room\"},"
		"{\"kind\":\"LOG\",\"count\":1,\"what\":\"degraded\",\"why\":\"an instant\"}]}\n");
	out_free(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers), cmocka_unit_test(texts),
		cmocka_unit_test(nested),  cmocka_unit_test(arguments),
		cmocka_unit_test(times),   cmocka_unit_test(fast_numbers),
		cmocka_unit_test(losses),
	};
	int failed;

	trace = fake_trace();
	value_writer_open(&as_text, trace, VALUE_TEXT);
	value_writer_open(&as_json, trace, VALUE_JSON);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	value_writer_close(&as_text);
	value_writer_close(&as_json);
	spur_close(trace);
	return failed;
}
