/*
 * Where the RFC v1.1 puts things: event headers, contexts, bit fields, sequences; packed and in
 * natural alignment.
 */
#include "unit/ctf_decode.h"

#define TYPES(a16, a32, a64)                                                                      \
	"type uint8_t { parent = integer; size = 8; }\n"                                          \
	"type uint16_t { parent = integer; size = 16; align = " #a16 "; }\n"                      \
	"type uint32_t { parent = integer; size = 32; align = " #a32 "; }\n"                      \
	"type uint64_t { parent = integer; size = 64; align = " #a64 "; }\n"                      \
	"type both { parent = struct; fields = { { uint8_t, pid }, { uint8_t, tid } }; }\n"       \
	"type s12 { parent = gcc_bitfield; unit_size = 16; size = 12; signed = true; align = 1; " \
	"}\n"                                                                                     \
	"type u5 { parent = gcc_bitfield; unit_size = 16; size = 5; align = 1; }\n"
#define PACKED TYPES(8, 8, 8)
#define NATURAL TYPES(16, 32, 64)
#define NATURAL_32 TYPES(16, 32, 32)
#define SECTION(type, context) \
	"section { name = s; event { header_type = " type "; context { " context " } } }\n"
#define EVENT(fields) \
	"event { name = e; id = 7; fields = type { parent = struct; fields = {" fields "}; }; }\n"

/* Event header, context and payload of the only event class. */
static const char *event_of(const char *metadata, bool big, const void *data, size_t bytes)
{
	struct decoder d = { .t = trace_new("test", NULL) };
	struct ctf_scope_fields scopes[3];
	struct spur_error err = { 0 };
	struct diag_log log;

	diag_init(&log);
	assert_non_null(d.t);
	if (meta_read_as(&d.m, "metadata", (const uint8_t *)metadata, strlen(metadata), big, &log,
			 &err) == SPUR_FAIL)
		fail_msg("%s", err.message);
	scopes[0] =
		(struct ctf_scope_fields){ CTF_SCOPE_EVENT_HEADER, d.m->streams[0]->event_header };
	scopes[1] =
		(struct ctf_scope_fields){ CTF_SCOPE_EVENT_COMMON, d.m->streams[0]->event_common };
	scopes[2] =
		(struct ctf_scope_fields){ CTF_SCOPE_PAYLOAD, d.m->streams[0]->events[0]->payload };
	assert_int_equal(plan_compile(&d.program, d.t, d.m, &d.t->arena, scopes, 3, &err), SPUR_OK);
	d.slots = calloc(CTF_SLOTS_FIXED + d.m->nslots + 1, sizeof(*d.slots));
	assert_non_null(d.slots);
	decode(&d, data, 8 * (uint64_t)bytes);
	decoder_close(&d);
	diag_free(&log);
	return walked.buf;
}

#define event_is(metadata, big, bytes, want) \
	assert_string_equal(event_of(metadata, big, bytes, sizeof(bytes) - 1), want)

/* What is said of the metadata; its error where it is refused. */
static const char *compiled(const char *metadata)
{
	struct spur_error err = { 0 };
	struct ctf_meta *m = NULL;
	struct diag_log log;

	diag_init(&log);
	out_free(&walked);
	out_to_memory(&walked);
	if (meta_read(&m, "metadata", (const uint8_t *)metadata, strlen(metadata), &log, &err) ==
	    SPUR_FAIL)
		out_str(&walked, err.message);
	else
		meta_print(m, &walked);
	out_char(&walked, '\0');
	meta_free(m);
	diag_free(&log);
	return walked.buf;
}

#define says(metadata, want) assert_non_null(strstr(compiled(metadata), want))

/* SPEC ctf-v11/header1 */
static void test_header1(void **state)
{
	static const char *const text = PACKED SECTION("type1", "") EVENT("{ uint64_t, x }");
	static const char *const natural = NATURAL SECTION("type1", "") EVENT("{ uint8_t, x }");
	static const char *const natural_32 =
		NATURAL_32 SECTION("type1", "") EVENT("{ uint8_t, x }");

	(void)state;
	event_is(text, false, "\x27\0\0\x80\x09\0\0\0\0\0\0\0",
		 "event.header.id@0+5=7 event.header.timestamp@5+27=67108865 x@32+64=9");
	event_is(text, true, "\x38\0\0\x01\0\0\0\0\0\0\0\x09",
		 "event.header.id@0+5=7 event.header.timestamp@5+27=1 x@32+64=9");
	/* The long form follows at once, and only its end is aligned. */
	event_is(text, false, "\x1f\0\0\0\x07\0\0\0\x02\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0",
		 "event.header.id@0+5=31 event.header.timestamp@5+27=0 "
		 "event.header.extended.id@32+32=7 event.header.extended.timestamp@64+64=2 "
		 "x@128+64=9");
#define LONG "\x1f\0\0\0\x07\0\0\0\x02\0\0\0\0\0\0\0"
	event_is(natural, false, LONG "\x09",
		 "event.header.id@0+5=31 event.header.timestamp@5+27=0 "
		 "event.header.extended.id@32+32=7 event.header.extended.timestamp@64+64=2 "
		 "x@128+8=9");
	event_is(natural_32, false, LONG "\x09",
		 "event.header.id@0+5=31 event.header.timestamp@5+27=0 "
		 "event.header.extended.id@32+32=7 event.header.extended.timestamp@64+64=2 "
		 "x@128+8=9");
}

/* SPEC ctf-v11/packed: by the alignment of the two types, whose default is 8. */
static void test_packed(void **state)
{
#define U32(align) "type uint32_t { parent = integer; size = 32; " align " }\n"
#define U64(align) "type uint64_t { parent = integer; size = 64; " align " }\n"
#define ALIGNED(n) "u64 aligned to " #n ","
	(void)state;
	says(SECTION("type1", "") "type x { parent = string; }", ALIGNED(8));
	says(SECTION("type1", "") U32("align = 32;"), ALIGNED(64));
	says(SECTION("type1", "") U32(""), ALIGNED(8));
	says(SECTION("type1", "") U64("align = 64;"), ALIGNED(64));
	says(SECTION("type1", "") U64("align = 32;") U32(""), ALIGNED(32));
	says(SECTION("type1", "") U64("") U32("align = 32;"), ALIGNED(8));
}

/* SPEC ctf-v11/header2 */
static void test_header2(void **state)
{
	static const char *const text = PACKED SECTION("type2", "") EVENT("{ uint8_t, x }");
	static const char *const natural = NATURAL SECTION("type2", "") EVENT("{ uint8_t, x }");
	static const char *const natural_32 =
		NATURAL_32 SECTION("type2", "") EVENT("{ uint8_t, x }");

	(void)state;
	event_is(text, false, "\x01\0\0\0\x07\0\x09",
		 "event.header.timestamp@0+32=1 event.header.id@32+16=7 x@48+8=9");
	event_is(text, true, "\0\0\0\x01\xff\xff\0\0\0\0\0\0\0\x02\0\0\0\x07\x09",
		 "event.header.timestamp@0+32=1 event.header.id@32+16=65535 "
		 "event.header.extended.timestamp@48+64=2 event.header.extended.id@112+32=7 "
		 "x@144+8=9");
	event_is(natural, false, "\x01\0\0\0\xff\xff\0\0\x02\0\0\0\0\0\0\0\x07\0\0\0\x09",
		 "event.header.timestamp@0+32=1 event.header.id@32+16=65535 "
		 "event.header.extended.timestamp@64+64=2 event.header.extended.id@128+32=7 "
		 "x@160+8=9");
	event_is(natural_32, false, "\x01\0\0\0\xff\xff\0\0\x02\0\0\0\0\0\0\0\x07\0\0\0\x09",
		 "event.header.timestamp@0+32=1 event.header.id@32+16=65535 "
		 "event.header.extended.timestamp@64+64=2 event.header.extended.id@128+32=7 "
		 "x@160+8=9");
}

/*
 * SPEC ctf-v11/event-size SPEC ctf-v11/context: a named type does not get the size where it is used
 * elsewhere.
 */
static void test_context(void **state)
{
	(void)state;
	event_is(PACKED SECTION("type2", "event_size = true;") EVENT("{ uint8_t, x }"), false,
		 "\x01\0\0\0\x07\0\x01\0\x09",
		 "event.header.timestamp@0+32=1 event.header.id@32+16=7 "
		 "event.common.payload_size@48+16=1 x@64+8=9");
	event_is(PACKED SECTION("type2", "fields = both; event_size = true;") EVENT("{ both, x }"),
		 false, "\x01\0\0\0\x07\0\x03\x04\x02\0\x05\x06",
		 "event.header.timestamp@0+32=1 event.header.id@32+16=7 "
		 "event.common.pid@48+8=3 event.common.tid@56+8=4 "
		 "event.common.payload_size@64+16=2 x.pid@80+8=5 x.tid@88+8=6");
}

#define ONE "\x01\0\0\0\x07\0\0\0"
#define ONE_IS "event.header.timestamp@0+32=1 event.header.id@32+16=7 "

/* SPEC ctf-v11/align SPEC ctf-v11/bit-field SPEC ctf-v11/struct-align */
static void test_bit_fields(void **state)
{
	(void)state;
	/* The structure begins where a unit does, the second field in the next unit. */
	event_is(PACKED SECTION("type2",
				"fields = type { parent = struct; fields = { { uint8_t, c } }; };")
			 EVENT("{ s12, a }, { u5, b }, { uint8_t, x }"),
		 false, "\x01\0\0\0\x07\0\x03\0\xfb\x0f\x09\x05",
		 ONE_IS "event.common.c@48+8=3 a@64+12=-5 b@80+5=9 x@88+8=5");
	event_is(PACKED SECTION("type2", "") EVENT("{ type { parent = integer; size = 3; }, a }, "
						   "{ type { parent = integer; size = 9; }, b }"),
		 false, "\x01\0\0\0\x07\0\x2d\x0f", ONE_IS "a@48+3=5 b@51+9=485");
}

/* SPEC ctf-v11/sequence */
static void test_sequences(void **state)
{
	(void)state;
	event_is(NATURAL SECTION("type2", "")
			 EVENT("{ type { parent = sequence; length_type = uint8_t; "
			       "elem_type = uint16_t; }, x }"),
		 false, "\x01\0\0\0\x07\0\x02\0\x0a\0\x0b\0", ONE_IS "x[0]@64+16=10 x[1]@80+16=11");
	/* Aligned for its elements before the length, and behind it. */
	event_is(NATURAL SECTION("type2", "")
			 EVENT("{ uint8_t, a }, { type { parent = sequence; length_type = uint8_t; "
			       "elem_type = uint32_t; }, x }"),
		 false, ONE "\x05\0\0\0\x01\0\0\0\x0a\0\0\0", ONE_IS "a@64+8=5 x[0]@128+32=10");
}

/* SPEC ctf-v11/inherit SPEC ctf-v11/enum SPEC ctf-v11/float SPEC ctf-v11/align */
static void test_types(void **state)
{
	(void)state;
	says(PACKED SECTION(
		     "type1",
		     "") "abstract_type word { parent = integer; size = 16; signed = true; }\n"
			 "type near { parent = word; byte_order = be; align = 32; }\n" EVENT(
				 "{ near, a }, { type { parent = near; size = 5; }, b }, "
				 "{ type { parent = integer; size = 5; }, c }"),
	     "a: sint 16, be, align 32, base 10\n      b: sint 5, be, align 32, base 10\n"
	     "      c: uint 5, le, base 10\n");
	says(PACKED SECTION("type1", "") EVENT("{ type { parent = enum; size = 8; map = { { 1, "
					       "\"one\" }, { { 2, 5 }, more } }; }, a }, "
					       "{ type { parent = floating_point; size = 64; "
					       "exp_dig = 11; mant_dig = 53; }, f }"),
	     "a: uint 8, enum, le, align 8, base 10\n        \"one\" = 1\n        \"more\" = "
	     "2...5\n"
	     "      f: float 64, le, align 8");
	says(PACKED SECTION("type1", "") EVENT("{ type { parent = struct; fields = { { loop, x } "
					       "}; }, a }") "type loop { parent = array; length = "
							    "1; elem_type = loop; }",
	     "expected a type that does not contain itself, found \"loop\"");
	says(PACKED SECTION("type1", "") EVENT("{ type { parent = integer; size = 65; }, a }"),
	     "`size`: expected 1 to 64 bits, found 65");
}

/* SPEC ctf-v11/slips SPEC ctf-v11/text SPEC ctf-v11/section SPEC ctf-v11/forward */
static void test_language(void **state)
{
	(void)state;
	says("event { name = \"a\\tb\\q\"; id = 0x10; fields = type { parent = struct; "
	     "fields = { [ unsigned char, x }, { unsigned char, y, } { unsigned char, z } ... }; "
	     "}; } // no end\n"
	     "stream { .name = s; event { context { fields = type { parent = struct; "
	     "fields = { unsigned char pid; }; }; } } };;\n"
	     "type unsigned char { .parent = integer; size = 010; /* octal */ }",
	     "  event context: struct, align 8\n    pid: uint 8, le, align 8, base 10\n"
	     "  event 16 \"a\\tbq\"\n    fields: struct, align 8\n"
	     "      x: uint 8, le, align 8, base 10\n"
	     "      y: uint 8, le, align 8, base 10\n      z: uint 8, le, align 8, base 10\n");
	says("type a { parent = integer; size = 8; }", "expected at least one section, found none");
	says("section { name = a; } section { name = a; }", "found section \"a\" again");
	says("section { name = a; } event { name = \"e",
	     "expected the end of a string on its line");
}

int main(void)
{
#define T(f) cmocka_unit_test_teardown(f, walked_free)
	static const struct CMUnitTest tests[] = {
		T(test_header1),   T(test_header2), T(test_context), T(test_bit_fields),
		T(test_sequences), T(test_types),   T(test_packed),  T(test_language),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
