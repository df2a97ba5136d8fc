/*
 * Metadata of CTF 2: the JSON sequence, fragments, field classes, locations, and what is wrong with
 * them.
 */
#include "unit/ctf_text.h"

/* What comes out of the text is in `seen`. */
static const char *read_bytes(const char *text, size_t len)
{
	struct ctf_meta *m;
	struct spur_error err = { 0 };
	struct diag_log log;

	diag_init(&log);
	out_free(&seen);
	out_to_memory(&seen);
	if (meta_read(&m, "metadata", (const uint8_t *)text, len, &log, &err) == SPUR_FAIL)
		out_printf(&seen, "ERROR %s\n", err.message);
	else
		meta_print(m, &seen);
	say_messages(&log);
	out_char(&seen, '\0');
	diag_free(&log);
	meta_free(m);
	return seen.buf;
}

static const char *read_plain(const char *text)
{
	return read_bytes(text, strlen(text));
}

static void put_fragments(struct out *text, const char *const *fragments, size_t n)
{
	out_to_memory(text);
	for (size_t i = 0; i < n; i++)
		out_printf(text, "\x1e%s\n", fragments[i]);
}

static const char *read_fragments(const char *const *fragments, size_t n)
{
	struct out text;

	put_fragments(&text, fragments, n);
	read_bytes(text.buf, text.len);
	out_free(&text);
	return seen.buf;
}

#define PREAMBLE "{\"type\":\"preamble\",\"version\":2}"
#define STREAM "{\"type\":\"data-stream-class\"}"
#define EVENT_OF(class) "{\"type\":\"event-record-class\",\"payload-field-class\":" class "}"
#define MEMBER(class) \
	"{\"type\":\"structure\",\"member-classes\":[{\"name\":\"a\",\"field-class\":" class "}]}"
#define UINT(more)                                                                          \
	"{\"type\":\"fixed-length-unsigned-integer\",\"length\":8,\"byte-order\":\"little-" \
	"endian\"" more "}"
#define ALIAS(name, class) \
	"{\"type\":\"field-class-alias\",\"name\":\"" name "\",\"field-class\":" class "}"
#define TEXT_BY(location) \
	"{\"type\":\"dynamic-length-string\",\"length-field-location\":" location "}"
#define LIST(...)             \
	(const char *const[]) \
	{                     \
		__VA_ARGS__   \
	}
#define fragments(...) read_fragments(LIST(__VA_ARGS__), sizeof(LIST(__VA_ARGS__)) / sizeof(char *))
/* What comes out has this in it. */
#define gives(want, ...) check_gives(want, fragments(__VA_ARGS__), __FILE__, __LINE__)
#define plain_gives(want, text) check_gives(want, read_plain(text), __FILE__, __LINE__)
/* The class of a field of an event. */
#define class_gives(want, class) gives(want, PREAMBLE, STREAM, EVENT_OF(MEMBER(class)))

static void check_gives(const char *want, const char *got, const char *file, int line)
{
	if (strstr(got, want))
		return;
	print_error("%s:%d: expected to find\n%s\nin\n%s\n", file, line, want, got);
	fail();
}

static void test_sequence(void **state)
{
	(void)state;
	gives("trace CTF 2, le, slots 0\nstream 0\n", PREAMBLE, STREAM);
	/* SPEC ctf2/separators */
	plain_gives("slots 0\nstream 0\n? ctf/json-separator ", "  " PREAMBLE "\n" STREAM);
	plain_gives("stream 0\n? ctf/json-separator ", "[" PREAMBLE "," STREAM "]");
	plain_gives("stream 0\n? ctf/json-separator ", PREAMBLE "\x1e" STREAM);
	plain_gives("ERROR metadata: fragment 2 (byte 0): line 1, column 1 of it: expected JSON, "
		    "found none",
		    PREAMBLE "5");
	/* Commas before closing brackets. */
	gives("? ctf/json-comma fragment 2: expected an element behind each comma, found a closing "
	      "bracket behind 1",
	      PREAMBLE, "{\"type\":\"data-stream-class\" , \n}");
	/* SPEC ctf2/cut */
	gives("stream 0\n! ctf/metadata-cut fragment 3: expected the whole of it, found the end",
	      PREAMBLE, STREAM, "{\"type\":\"event-record-class\",\"na");
	gives("expected JSON, found none", "{\"type\"");
	gives("expected an object, found an array", PREAMBLE, "[]");
	gives("`type`: expected one of \"preamble\"", PREAMBLE, "{\"type\":\"x\"}");
	gives("duplicate object key", PREAMBLE, "{\"type\":\"x\",\"type\":\"y\"}");
}

static void test_order(void **state)
{
	(void)state;
	/* SPEC ctf2/preamble */
	gives("expected a preamble first, found a `data-stream-class`", STREAM, PREAMBLE);
	gives("expected one preamble, found another", PREAMBLE, PREAMBLE, STREAM);
	gives("`version`: expected 2, found 3", "{\"type\":\"preamble\",\"version\":3}");
	gives("`uuid`: expected 16 integers, found 1",
	      "{\"type\":\"preamble\",\"version\":2,\"uuid\":[1]}");
	/* SPEC ctf2/stream-class */
	gives("expected at least one `data-stream-class`, found none", PREAMBLE);
	/* SPEC ctf2/order */
	gives("expected the `trace-class` before any `data-stream-class`, found it behind",
	      PREAMBLE, STREAM, "{\"type\":\"trace-class\"}");
	gives("`id`: expected a new one, found 0 again", PREAMBLE, STREAM, STREAM);
	gives("`data-stream-class-id`: expected the id of a data stream class before, found 1",
	      PREAMBLE, STREAM, "{\"type\":\"event-record-class\",\"data-stream-class-id\":1}");
}

static void test_extensions(void **state)
{
	(void)state;
	/* SPEC ctf2/extensions */
	gives("`extensions`: expected none, found `y` of `x`",
	      "{\"type\":\"preamble\",\"version\":2,\"extensions\":{\"x\":{\"y\":null}}}", STREAM);
	gives("`extensions`: expected none, found `y` of `x`", PREAMBLE, STREAM,
	      EVENT_OF(MEMBER(UINT(",\"attributes\":{\"z\":1},\"extensions\":{\"x\":{\"y\":1}}"))));
	gives("`attributes`: expected an object, found an integer", PREAMBLE, STREAM,
	      EVENT_OF(MEMBER(UINT(",\"attributes\":1"))));
	/* SPEC ctf2/unknown-property */
	class_gives("? ctf/unknown-property fragment 3, "
		    "payload-field-class.member-classes[0].field-class: expected a property of the "
		    "specification, found `color`: ignored",
		    UINT(",\"color\":1"));
}

static void test_clocks(void **state)
{
#define CLOCK(more) "{\"type\":\"clock-class\",\"id\":\"c\"," more "}"
	(void)state;
	gives("clock c: 1000 Hz, offset -5 s 999 cycles, from 1970, precision 3, accuracy 4, "
	      "namespace \"s\", uid \"u\", \"words\"\nstream 0, clock c\n",
	      PREAMBLE,
	      CLOCK("\"frequency\":1000,\"origin\":\"unix-epoch\",\"offset-from-origin\":{"
		    "\"seconds\""
		    ":-5,\"cycles\":999},\"precision\":3,\"accuracy\":4,\"namespace\":\"s\","
		    "\"uid\":"
		    "\"u\",\"description\":\"words\""),
	      "{\"type\":\"data-stream-class\",\"default-clock-class-id\":\"c\"}");
	gives("`frequency`: expected more than 0, found 0", PREAMBLE, CLOCK("\"frequency\":0"));
	gives("`cycles`: expected less than the frequency (5), found 5", PREAMBLE,
	      CLOCK("\"frequency\":5,\"offset-from-origin\":{\"cycles\":5}"));
	/* SPEC ctf2/clock-id */
	gives("`id`: expected a new one, found \"c\" again", PREAMBLE, CLOCK("\"frequency\":5"),
	      CLOCK("\"frequency\":5"));
	gives("expected the id of a clock class before, found \"d\"", PREAMBLE,
	      CLOCK("\"frequency\":5"),
	      "{\"type\":\"data-stream-class\",\"default-clock-class-id\":\"d\"}");
}

static void test_aliases(void **state)
{
	(void)state;
	/* SPEC ctf2/alias */
	gives("a: uint 8, le, base 10", PREAMBLE, ALIAS("x", UINT("")), ALIAS("y", "\"x\""), STREAM,
	      EVENT_OF(MEMBER("\"y\"")));
	gives("expected a field class or the name of an alias before, found \"x\"", PREAMBLE,
	      STREAM, EVENT_OF(MEMBER("\"x\"")), ALIAS("x", UINT("")));
	gives("`name`: expected a new name, found \"x\" again", PREAMBLE, ALIAS("x", UINT("")),
	      ALIAS("x", UINT("")));
	gives("expected a structure, found a fixed-length-unsigned-integer", PREAMBLE,
	      ALIAS("x", UINT("")), STREAM, EVENT_OF("\"x\""));
}

static void test_classes(void **state)
{
	(void)state;
	/* SPEC ctf2/bits */
	class_gives("a: uint 8, le, reversed bits, align 16, base 16\n",
		    UINT(",\"bit-order\":\"last-to-first\",\"alignment\":16,"
			 "\"preferred-display-base\":16"));
	class_gives("`alignment`: expected a power of two to 16777216, found 3",
		    UINT(",\"alignment\":3"));
	class_gives("`preferred-display-base`: expected 2, 8, 10 or 16, found 7",
		    UINT(",\"preferred-display-base\":7"));
	class_gives("`length`: expected 16, 32, 64, 128 or a larger multiple of 32, found 48",
		    "{\"type\":\"fixed-length-floating-point-number\",\"length\":48,\"byte-order\":"
		    "\"big-endian\"}");
	class_gives("`encoding`: expected one of \"utf-8\"",
		    "{\"type\":\"null-terminated-string\",\"encoding\":\"latin-1\"}");
	/* SPEC ctf2/repeated-name */
	gives("? ctf/repeated-name fragment 3, payload-field-class: expected names that differ, "
	      "found "
	      "\"a\" again",
	      PREAMBLE, STREAM,
	      EVENT_OF("{\"type\":\"structure\",\"member-classes\":[{\"name\":\"a\",\"field-"
		       "class\":" UINT("") "},{\"name\":\"a\",\"field-class\":" UINT("") "}]}"));
}

static void test_ranges(void **state)
{
	(void)state;
	/* SPEC ctf2/range-bounds */
	class_gives("\"x\" = 5, 7...9", UINT(",\"mappings\":{\"x\":[[5,5],[7,9]]}"));
	class_gives("\"x\" = 0...2", UINT(",\"mappings\":{\"x\":[[-9,2]]}"));
	class_gives("\"x\" = 7...18446744073709551615",
		    UINT(",\"mappings\":{\"x\":[[7,18446744073709551616]]}"));
	class_gives("expected a range whose first bound is not above its second",
		    UINT(",\"mappings\":{\"x\":[[18446744073709551617,18446744073709551616]]}"));
	class_gives("mappings.x: expected an array of ranges, found none",
		    UINT(",\"mappings\":{\"x\":[]}"));
	class_gives("mappings.x[0]: expected two integers, found a string",
		    UINT(",\"mappings\":{\"x\":[[1,\"2\"]]}"));
	/* SPEC ctf2/mapping-order */
	fragments(PREAMBLE, STREAM,
		  EVENT_OF(MEMBER(UINT(",\"mappings\":{\"b\":[[1,1]],\"a\":[[2,2]]}"))));
	assert_true(strstr(seen.buf, "\"a\" = 2") < strstr(seen.buf, "\"b\" = 1"));
}

static void test_roles(void **state)
{
#define HEADER(class) "{\"type\":\"trace-class\",\"packet-header-field-class\":" MEMBER(class) "}"
	(void)state;
	gives("role stream class id + stream id", PREAMBLE,
	      HEADER(UINT(",\"roles\":[\"data-stream-id\",\"data-stream-class-id\"]")), STREAM);
	/* SPEC ctf2/role-class */
	gives("found \"metadata-stream-uuid\": ignored", PREAMBLE,
	      HEADER("{\"type\":\"static-length-blob\",\"length\":15,\"roles\":"
		     "[\"metadata-stream-uuid\"]}"),
	      STREAM);
	gives("found \"packet-magic-number\": ignored", PREAMBLE,
	      HEADER(UINT(",\"roles\":[\"packet-magic-number\"]")), STREAM);
	gives("found \"speed\": ignored", PREAMBLE, HEADER(UINT(",\"roles\":[\"speed\"]")), STREAM);
	/* SPEC ctf2/cpu: by its name, and of its member alone */
	gives("cpu_id: uint 8, le, base 10, role cpu\n    other: uint 8, le, base 10\n", PREAMBLE,
	      "{\"type\":\"field-class-alias\",\"name\":\"u8\",\"field-class\":" UINT("") "}",
	      "{\"type\":\"data-stream-class\",\"packet-context-field-class\":{\"type\":"
	      "\"structure\",\"member-classes\":[{\"name\":\"cpu_id\",\"field-class\":\"u8\"},"
	      "{\"name\":\"other\",\"field-class\":\"u8\"}]}}");
}

static void test_locations(void **state)
{
	(void)state;
	/* SPEC ctf2/location */
	class_gives("`path`: expected names, and one at the end, found none",
		    TEXT_BY("{\"path\":[]}"));
	class_gives("`path`: expected names, and one at the end, found null",
		    TEXT_BY("{\"path\":[\"x\",null]}"));
	class_gives("expected a field before this, `x`, found none", TEXT_BY("{\"path\":[\"x\"]}"));
	class_gives("expected a field before this, `a`, found one that is not decoded yet",
		    TEXT_BY("{\"origin\":\"event-record-payload\",\"path\":[\"a\"]}"));
}

/* Nesting, and aliases of aliases, end in an error. */
static void test_deep(void **state)
{
	struct out text;

	(void)state;
	out_to_memory(&text);
	out_printf(&text, "\x1e" PREAMBLE "\n\x1e%s\n", ALIAS("c0", UINT("")));
	for (int i = 1; i < 60; i++)
		out_printf(&text,
			   "\x1e{\"type\":\"field-class-alias\",\"name\":\"c%d\",\"field-class\":"
			   "{\"type\":\"structure\",\"member-classes\":[{\"name\":\"a\",\"field-"
			   "class\":"
			   "\"c%d\"},{\"name\":\"b\",\"field-class\":\"c%d\"}]}}\n",
			   i, i - 1, i - 1);
	out_printf(&text, "\x1e" STREAM "\n\x1e%s\n", EVENT_OF("\"c59\""));
	read_bytes(text.buf, text.len);
	check_gives("expected at most 4194304 field classes", seen.buf, __FILE__, __LINE__);
	out_free(&text);
}

static const char *const whole[] = {
	"{\"type\":\"preamble\",\"version\":2,\"uuid\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}",
	"{\"type\":\"trace-class\",\"uid\":\"u\",\"environment\":{\"a\":\"x\"}}",
	"{\"type\":\"clock-class\",\"id\":\"c\",\"frequency\":1000,\"attributes\":{\"x\":"
	"12345678901234567890}}",
	ALIAS("x", UINT(",\"mappings\":{\"x\":[[5,18446744073709551615]]}")),
	"{\"type\":\"data-stream-class\",\"default-clock-class-id\":\"c\","
	"\"packet-context-field-class\":" MEMBER("\"x\"") "}",
	EVENT_OF("{\"type\":\"structure\",\"member-classes\":[{\"name\":\"n\",\"field-class\":"
		 "\"x\"},"
		 "{\"name\":\"t\",\"field-class\":" TEXT_BY("{\"path\":[\"n\"]}") "}]}"),
};

enum { WHOLE = sizeof(whole) / sizeof(whole[0]) };

/* Every prefix ends in a meta or an error. */
static void test_prefixes(void **state)
{
	struct out text;

	(void)state;
	put_fragments(&text, whole, WHOLE);
	for (size_t n = 0; n <= text.len; n++) {
		read_bytes(text.buf, n);
		assert_true(strncmp(seen.buf, "trace CTF 2", 11) == 0 ||
			    strncmp(seen.buf, "ERROR metadata", 14) == 0);
	}
	out_free(&text);
}

static void test_memory(void **state)
{
	struct out text;
	struct ctf_meta *m;
	struct spur_error err;
	struct diag_log log;
	uint64_t count = 1;

	(void)state;
	put_fragments(&text, whole, WHOLE);
	for (uint64_t n = 0; n <= count; n++) {
		enum spur_status st;

		diag_init(&log);
		mem_fail_at(n ? n : UINT64_MAX);
		st = meta_read(&m, "metadata", (const uint8_t *)text.buf, text.len, &log, &err);
		count = n ? count : mem_count();
		mem_fail_at(0);
		assert_true(n ? log.overflow || (st == SPUR_FAIL && err.code == SPUR_ERR_MEMORY)
			      : st == SPUR_OK);
		meta_free(m);
		diag_free(&log);
	}
	assert_true(count > 10);
	out_free(&text);
}

int main(void)
{
#define T(f) cmocka_unit_test_teardown(f, seen_free)
	static const struct CMUnitTest tests[] = {
		T(test_sequence),  T(test_order),   T(test_extensions), T(test_clocks),
		T(test_aliases),   T(test_classes), T(test_ranges),	T(test_roles),
		T(test_locations), T(test_deep),    T(test_prefixes),	T(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
