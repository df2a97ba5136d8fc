/*
 * Decode programs: every kind of field at any bit, in both byte orders, and what cannot be decoded.
 */
#include "unit/ctf_decode.h"

static void test_integers(void **state)
{
	(void)state;
	/* SPEC ctf2/bits */
	check(M("a", UINT(8, LE)) "," M("b", UINT(16, LE)) "," M("c", UINT(32, BE)),
	      "\x01\x02\x03\x04\x05\x06\x07", "a@0+8=1 b@8+16=770 c@24+32=67438087");
	check(M("a", UINT(64, LE)) "," M("b", SINT(64, BE)),
	      "\xff\xff\xff\xff\xff\xff\xff\xff\x80\0\0\0\0\0\0\0",
	      "a@0+64=18446744073709551615 b@64+64=-9223372036854775808");
	check(M("a", SINT(8, LE)) "," M("b", SINT(24, LE)) "," M("c", SINT(24, BE)),
	      "\xff\x00\x00\x80\x80\x00\x01", "a@0+8=-1 b@8+24=-8388608 c@32+24=-8388607");
	/* Inside bytes: from the low bits, and from the high ones. */
	check(M("a", UINT(3, LE)) "," M("b", UINT(7, LE)) "," M("c", SINT(6, LE)), "\x2d\xfe",
	      "a@0+3=5 b@3+7=69 c@10+6=-1");
	check(M("a", UINT(3, BE)) "," M("b", UINT(7, BE)) "," M("c", SINT(6, BE)), "\xae\x7f",
	      "a@0+3=5 b@3+7=57 c@10+6=-1");
	/* 64 bits across nine bytes. */
	check(M("a", UINT(1, LE)) "," M("b", UINT(64, LE)), "\x03\x00\x00\x00\x00\x00\x00\x00\x01",
	      "a@0+1=1 b@1+64=9223372036854775809");
	check(M("a", UINT(1, BE)) "," M("b", UINT(64, BE)), "\xc0\x00\x00\x00\x00\x00\x00\x00\x80",
	      "a@0+1=1 b@1+64=9223372036854775809");
	/* SPEC ctf2/bits: alignment counts from the packet's begin */
	check(M("a", UINT(3, LE)) "," M("b", UINT(8, LE "," ALIGN(4))) "," M(
		      "c", UINT(8, LE "," ALIGN(32))),
	      "\x25\x01\x00\x00\x07", "a@0+3=5 b@4+8=18 c@32+8=7");
}

static void test_bit_order(void **state)
{
	(void)state;
	/* SPEC ctf2/bit-order */
	check(M("a", UINT(8, LE "," BACKWARD)) "," M("b", UINT(16, LE "," BACKWARD)),
	      "\x01\x01\x80", "a@0+8=128 b@8+16=32769");
	check(M("a", UINT(8, BE "," FORWARD)) "," M("b", UINT(16, BE "," FORWARD)), "\x01\x01\x80",
	      "a@0+8=128 b@8+16=384");
	check(M("a", UINT(3, BE "," FORWARD)) "," M("b", SINT(5, BE "," FORWARD)), "\xc1",
	      "a@0+3=3 b@3+5=-16");
	check(M("a", FIXED("bit-array", 72, LE "," BACKWARD)),
	      "\x01\x00\x00\x00\x00\x00\x00\x00\x80", "a@0+72=<800000000000000001>");
}

static void test_byte_orders(void **state)
{
	(void)state;
	/* SPEC ctf2/mixed-order */
	check(M("a", UINT(3, BE)) "," M("b", UINT(5, LE)), "\xff",
	      "a@0+3=7 ! b@3 the byte order of the bits before in the same byte, found the other "
	      "one");
	check(M("a", UINT(3, BE)) "," M("b", UINT(5, LE "," ALIGN(8))), "\xe0\x1f",
	      "a@0+3=7 b@8+5=31");
	check(M("a", UINT(8, BE)) "," M("b", UINT(5, LE)) "," M("c", UINT(3, LE)), "\x01\x41",
	      "a@0+8=1 b@8+5=1 c@13+3=2");
}

static void test_wide(void **state)
{
	(void)state;
	/* SPEC ctf2/wide: more than 64 bits are bytes, the most significant first */
	check(M("a", FIXED("bit-array", 72, LE)), "\x01\x02\x03\x04\x05\x06\x07\x08\x09",
	      "a@0+72=<090807060504030201>");
	check(M("a", FIXED("bit-array", 72, BE)), "\x01\x02\x03\x04\x05\x06\x07\x08\x09",
	      "a@0+72=<010203040506070809>");
	check(M("a", UINT(4, LE)) "," M("b", UINT(68, LE)), "\x1f\x00\x00\x00\x00\x00\x00\x00\x80",
	      "a@0+4=15 b@4+68=<080000000000000001>");
	check(M("a", UINT(4, BE)) "," M("b", UINT(68, BE)), "\xf8\x00\x00\x00\x00\x00\x00\x00\x01",
	      "a@0+4=15 b@4+68=<080000000000000001>");
	check(M("a", FIXED("boolean", 72, LE)) "," M("b", FIXED("boolean", 65, BE)),
	      "\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0", "a@0+72=true b@72+65=false");
}

static void test_floats(void **state)
{
	(void)state;
	/* SPEC ctf2/floats */
	check(M("a", FLOAT(32, LE)) "," M("b", FLOAT(64, BE)),
	      "\x00\x00\xc0\x3f\xbf\xc0\x00\x00\x00\x00\x00\x00", "a@0+32=1.5 b@32+64=-0.125");
	check(M("a", UINT(3, LE)) "," M("b", FLOAT(32, LE)), "\x05\x00\x00\xfe\x01",
	      "a@0+3=5 b@3+32=1.5");
	check(M("a", FLOAT(16, LE)) "," M("b", FLOAT(16, BE)) "," M("c", FLOAT(16, LE)) "," M(
		      "d", FLOAT(16, LE)) "," M("e", FLOAT(16, LE)),
	      "\x00\x3e\xc0\x00\x01\x00\x00\x7c\x00\x7e",
	      "a@0+16=1.5 b@16+16=-2 c@32+16=5.9604644775390625e-08 d@48+16=inf "
	      "e@64+16=nan");
	check(M("a", FLOAT(128, LE)) "," M("b", FLOAT(128, BE)),
	      "\0\0\0\0\0\0\0\0\0\0\0\0\0\x80\xff\x3f\xc0\x00\x40\0\0\0\0\0\0\0\0\0\0\0\0\0",
	      "a@0+128=1.5 b@128+128=-2.5");
	check(M("a", FLOAT(32, LE "," BACKWARD)), "\xfc\x03\x00\x00", "a@0+32=1.5");
	check(M("a", FLOAT(160, LE)), "\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x40",
	      "a@0+160=<4000000000000000000000000000000000000001>");
}

#define ULEB "{\"type\":\"variable-length-unsigned-integer\"}"
#define SLEB "{\"type\":\"variable-length-signed-integer\"}"

static void test_leb128(void **state)
{
	(void)state;
	/* SPEC ctf2/leb128 */
	check(M("a", ULEB) "," M("b", SLEB) "," M("c", SLEB), "\xb4\xc7\x72\x7f\xbf\x7f",
	      "a@0+24=1876916 b@24+8=-1 c@32+16=-65");
	check(M("p", UINT(3, LE)) "," M("a", ULEB), "\x05\x81\x01", "p@0+3=5 a@8+16=129");
	check(M("a", ULEB), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
	      "a@0+80=18446744073709551615");
	check(M("a", SLEB), "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f",
	      "a@0+80=-9223372036854775808");
	/* SPEC ctf2/leb128-limit: at most 64 bits and 10 bytes */
	check(M("a", ULEB), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
	      "! a@0 a variable-length integer of 64 bits at most, found a larger one");
	check(M("a", SLEB), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
	      "! a@0 a variable-length integer of 64 bits at most, found a larger one");
	check(M("a", ULEB), "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00",
	      "! a@0 a variable-length integer of 10 bytes at most, found a longer one");
	check(M("a", ULEB), "\x80\x80",
	      "! a@0 the end of a variable-length integer, found the end of the packet");
}

#define TEXT(encoding) "{\"type\":\"null-terminated-string\",\"encoding\":\"" encoding "\"}"
#define STATIC_TEXT(n, encoding) \
	"{\"type\":\"static-length-string\",\"length\":" #n ",\"encoding\":\"" encoding "\"}"
#define DYNAMIC_TEXT(path, encoding)                                           \
	"{\"type\":\"dynamic-length-string\",\"length-field-location\":" PATH( \
		path) ",\"encoding\":\"" encoding "\"}"

static void test_strings(void **state)
{
	(void)state;
	/* SPEC ctf2/strings */
	check(M("p", UINT(3, LE)) "," M("a", TEXT("utf-8")) "," M("b", U8), "\x01hi\0\x07",
	      "p@0+3=1 a@8+24=\"hi\" b@32+8=7");
	check(M("a", TEXT("utf-16le")) "," M("b", U8), "\xe9\0\x3d\xd8\x00\xde\0\0\x07",
	      "a@0+64=\"\u00e9\U0001F600\" b@64+8=7");
	check(M("a", TEXT("utf-16be")), "\0\xe9\xd8\x3d\xde\x00\0\0",
	      "a@0+64=\"\u00e9\U0001F600\"");
	check(M("a", TEXT("utf-32le")), "\xe9\0\0\0\x00\xf6\x01\0\0\0\0\0",
	      "a@0+96=\"\u00e9\U0001F600\"");
	check(M("a", TEXT("utf-32be")), "\0\0\0\xe9\0\x01\xf6\x00\0\0\0\0",
	      "a@0+96=\"\u00e9\U0001F600\"");
	/* Half a pair, and what is no character. */
	check(M("a", TEXT("utf-16le")), "\x3d\xd8\x41\0\0\0", "a@0+48=\"\ufffdA\"");
	check(M("a", TEXT("utf-32le")), "\x00\x00\x11\x00\0\0\0\0", "a@0+64=\"\ufffd\"");
	/* Zeros that are not one code unit do not end it. */
	check(M("a", TEXT("utf-16be")), "\x01\0\0\x41\0\0", "a@0+48=\"\u0100A\"");
	check(M("a", TEXT("utf-8")), "abc",
	      "! a@0 the NUL of a string, found the end of the packet");
	check(M("a", TEXT("utf-16le")), "a\0b\0\0",
	      "! a@0 the NUL of a string, found the end of the packet");
	/* SPEC ctf2/string-padding */
	check(M("a", STATIC_TEXT(6, "utf-8")) "," M("b", U8), "hi\0xyz\x07",
	      "a@0+48=\"hi\" b@48+8=7");
	check(M("a", STATIC_TEXT(0, "utf-8")) "," M("b", U8), "\x07", "a@0+0=\"\" b@0+8=7");
	check(M("n", U8) "," M("a", DYNAMIC_TEXT("\"n\"", "utf-16le")), "\x06h\0\0\0x\0",
	      "n@0+8=6 a@8+48=\"h\"");
	/* SPEC ctf2/text-units */
	check(M("n", U8) "," M("a", DYNAMIC_TEXT("\"n\"", "utf-16le")), "\x03h\0i",
	      "n@0+8=3 ! a@8 text of whole code units, found a part of one at its end");
	check(M("n", U8) "," M("a", DYNAMIC_TEXT("\"n\"", "utf-16le")) "," M("b", U8),
	      "\x03\0\0i\x07", "n@0+8=3 a@8+24=\"\" b@32+8=7");
	check(M("a", STATIC_TEXT(5, "utf-32be")), "\0\0\0a\0",
	      "! a@0 text of whole code units, found a part of one at its end");
	check(M("n", U8) "," M("a", DYNAMIC_TEXT("\"n\"", "utf-8")), "\x03hi",
	      "n@0+8=3 ! a@8 as many bytes as its length says, found the end of the packet");
}

#define STATIC_BLOB(n) "{\"type\":\"static-length-blob\",\"length\":" #n "}"
#define DYNAMIC_BLOB(path) \
	"{\"type\":\"dynamic-length-blob\",\"length-field-location\":" PATH(path) "}"

static void test_blobs(void **state)
{
	(void)state;
	/* SPEC ctf2/blobs */
	check(M("a", STATIC_BLOB(3)) "," M("n", U8) "," M("b", DYNAMIC_BLOB("\"n\"")),
	      "\x01\0\x02\x02\xff\0", "a@0+24=<010002> n@24+8=2 b@32+16=<ff00>");
	check(M("n", UINT(64, LE)) "," M("b", DYNAMIC_BLOB("\"n\"")),
	      "\xff\xff\xff\xff\xff\xff\xff\xff\x01",
	      "n@0+64=18446744073709551615 ! b@64 as many bytes as its length says, found the end "
	      "of the packet");
}

static void test_arrays(void **state)
{
	(void)state;
	/* SPEC ctf2/arrays */
	check(M("a", ARRAY(3, UINT(3, BE))) "," M("b", UINT(7, BE)), "\x29\xff",
	      "a[0]@0+3=1 a[1]@3+3=2 a[2]@6+3=3 b@9+7=127");
	check(M("n", U8) "," M("a", SEQUENCE("\"n\"", ARRAY(2, U8))) "," M("b", U8),
	      "\x02\x01\x02\x03\x04\x05",
	      "n@0+8=2 a[0][0]@8+8=1 a[0][1]@16+8=2 a[1][0]@24+8=3 a[1][1]@32+8=4 b@40+8=5");
	check(M("n", U8) "," M("a", SEQUENCE("\"n\"", TEXT("utf-8"))),
	      "\x02"
	      "a\0b\0",
	      "n@0+8=2 a[0]@8+16=\"a\" a[1]@24+16=\"b\"");
	check(M("n", U8) "," M("a", SEQUENCE("\"n\"", UINT(16, LE "," ALIGN(32)))) "," M("b", U8),
	      "\x00\x05", "n@0+8=0 ! a@8 a field, found the end of the packet");
	/* A struct with a length of its own in each element. */
	check(M("a", ARRAY(2, STRUCT(M("n", U8) "," M("v", SEQUENCE("\"n\"", U8))))),
	      "\x01\x0a\x02\x0b\x0c",
	      "a[0].n@0+8=1 a[0].v[0]@8+8=10 a[1].n@16+8=2 a[1].v[0]@24+8=11 a[1].v[1]@32+8=12");
	check(M("n", UINT(64, LE)) "," M("a", SEQUENCE("\"n\"", UINT(32, LE "," ALIGN(8)))),
	      "\x02\0\0\0\0\0\0\0\x01\0\0\0\x02\0\0",
	      "n@0+64=2 ! a@64 as many elements as its length says, found the end of the packet");
	check(M("n", U8) "," M("a", SEQUENCE("\"n\"", TEXT("utf-8"))),
	      "\x02"
	      "a\0b",
	      "n@0+8=2 a[0]@8+16=\"a\" ! a[1]@24 the NUL of a string, found the end of the packet");
}

static void test_no_bits(void **state)
{
	static char want[80000];
	size_t n = 0;

	(void)state;
	check(M("a", ARRAY(3, STRUCT(""))) "," M("b", U8), "\x07", "b@0+8=7");
	/* SPEC ctf/idle-elements */
	check(M("n", UINT(64, LE)) "," M("a", SEQUENCE("\"n\"", STRUCT(""))) "," M("b", U8),
	      "\xff\xff\xff\xff\xff\xff\xff\xff\x07", "n@0+64=18446744073709551615 b@64+8=7 ...");
	n += (size_t)snprintf(want, sizeof(want), "n@0+64=1099511627776");
	for (int i = 0; i < 4097; i++)
		n += (size_t)snprintf(want + n, sizeof(want) - n, " a[%d]@64+0=\"\"", i);
	snprintf(want + n, sizeof(want) - n, " b@64+8=7 ...");
	check(M("n", UINT(64, LE)) "," M("a", SEQUENCE("\"n\"", STATIC_TEXT(0, "utf-8"))) "," M("b",
												U8),
	      "\0\0\0\0\0\x01\0\0\x07", want);
}

#define OPTIONAL(path, more, class)                                           \
	"{\"type\":\"optional\",\"selector-field-location\":" PATH(path) more \
		",\"field-class\":" class "}"
#define RANGES(r) ",\"selector-field-ranges\":[" r "]"
#define BOOL8 FIXED("boolean", 8, LE)
#define OPTION(ranges, class) "{\"selector-field-ranges\":[" ranges "],\"field-class\":" class "}"
#define VARIANT(path, options)                                                                   \
	"{\"type\":\"variant\",\"selector-field-location\":" PATH(path) ",\"options\":[" options \
									"]}"

static void test_optionals(void **state)
{
	(void)state;
	/* SPEC ctf2/optional */
	check(M("s", BOOL8) "," M("a", OPTIONAL("\"s\"", "", U8)) "," M("b", U8), "\x02\x03\x04",
	      "s@0+8=true a@8+8=3 b@16+8=4");
	check(M("s", BOOL8) "," M("a", OPTIONAL("\"s\"", "", U8)) "," M("b", U8), "\0\x04",
	      "s@0+8=false b@8+8=4");
	/* SPEC ctf2/optional-boolean */
	check(M("s", BOOL8) "," M("a", OPTIONAL("\"s\"", RANGES("[7,7]"), U8)), "\x01\x04",
	      "s@0+8=true a@8+8=4");
	check(M("s", SINT(8, LE)) "," M("a", OPTIONAL("\"s\"", RANGES("[-3,-2],[4,9],[5,6]"), U8)),
	      "\xfe\x04", "s@0+8=-2 a@8+8=4");
	check(M("s", SINT(8, LE)) "," M("a", OPTIONAL("\"s\"", RANGES("[-3,-2],[4,9],[5,6]"), U8)),
	      "\x09\x04", "s@0+8=9 a@8+8=4");
	check(M("s", SINT(8, LE)) "," M("a", OPTIONAL("\"s\"", RANGES("[-3,-2],[4,9]"), U8)) "," M(
		      "b", U8),
	      "\xff\x04", "s@0+8=-1 b@8+8=4");
	/* SPEC ctf2/range-bounds: what the selector cannot be is cut off */
	check(M("s", U8) "," M("a", OPTIONAL("\"s\"", RANGES("[-3,2]"), U8)), "\x02\x04",
	      "s@0+8=2 a@8+8=4");
	check(M("s", UINT(64, LE)) "," M("a", OPTIONAL("\"s\"", RANGES("[-3,-1]"), U8)) "," M("b",
											      U8),
	      "\xff\xff\xff\xff\xff\xff\xff\xff\x04", "s@0+64=18446744073709551615 b@64+8=4");
	check(M("s", SINT(64, LE)) "," M("a", OPTIONAL("\"s\"", RANGES("[5,18446744073709551615]"),
						       U8)) "," M("b", U8),
	      "\xff\xff\xff\xff\xff\xff\xff\xff\x04", "s@0+64=-1 b@64+8=4");
	check(M("s", U8) "," M("a", OPTIONAL("\"s\"", RANGES("[5,99999999999999999999999]"), U8)),
	      "\xff\x04", "s@0+8=255 a@8+8=4");
}

static void test_variants(void **state)
{
#define TWO OPTION("[0,3],[7,7],[2,5]", U8) "," OPTION("[100,200]", TEXT("utf-8"))
	(void)state;
	/* SPEC ctf2/variant */
	check(M("s", U8) "," M("v", VARIANT("\"s\"", TWO)) "," M("b", U8), "\x05\x01\x02",
	      "s@0+8=5 v@8+8=1 b@16+8=2");
	check(M("s", U8) "," M("v", VARIANT("\"s\"", TWO)) "," M("b", U8), "\xc8x\0\x02",
	      "s@0+8=200 v@8+16=\"x\" b@24+8=2");
	check(M("s", U8) "," M("v", VARIANT("\"s\"", TWO)), "\x06\x01",
	      "s@0+8=6 ! v@8 a selector that one of the options is for, found another value");
	/* Its own alignment is that of what is chosen. */
	check(M("s", U8) "," M(
		      "v", VARIANT("\"s\"", OPTION("[0,0]", UINT(8, LE "," ALIGN(32))) "," OPTION(
						    "[1,1]", U8))),
	      "\x01\x09", "s@0+8=1 v@8+8=9");
	check(M("s", U8) "," M(
		      "v", VARIANT("\"s\"", OPTION("[0,0]", UINT(8, LE "," ALIGN(32))) "," OPTION(
						    "[1,1]", U8))),
	      "\x00\x09\0\0\x08", "s@0+8=0 v@32+8=8");
	/* SPEC ctf2/variant-ranges */
	assert_non_null(strstr(
		decode_once(M("s", U8) "," M("v", VARIANT("\"s\"", OPTION("[0,9]", U8) "," OPTION(
									   "[3,4]", U8))),
			    "", 0),
		"expected ranges apart from each other of the selector `s`, found two that meet"));
	assert_non_null(strstr(
		decode_once(M("s", U8) "," M(
				    "v", VARIANT("\"s\"",
						 OPTION("[0,9],[20,30]", U8) "," OPTION(
							 "[11,12]", U8) "," OPTION("[25,25]", U8))),
			    "", 0),
		"found two that meet"));
	/* A length that is an option. */
	check(M("s", U8) "," M(
		      "n", VARIANT("\"s\"", OPTION("[0,0]", U8) "," OPTION(
						    "[1,1]", UINT(16, LE)))) "," M("a",
										   SEQUENCE("\"n\"",
											    U8)),
	      "\x01\x02\x00\x0a\x0b", "s@0+8=1 n@8+16=2 a[0]@24+8=10 a[1]@32+8=11");
}

/* Ranges of CTF 1's enumerations may lie over each other: the option that comes first holds. */
static void test_overlap(void **state)
{
	static const char text[] =
		"/* CTF 1.8 */ trace{major=1;minor=8;byte_order=le;}; event{fields:=struct{"
		"enum:integer{size=8;}{a=0...100,b=5,c=50...200}t;"
		"variant<t>{integer{size=8;}a;integer{size=16;}b;integer{size=32;}c;}v;};};";
	struct decoder d;

	(void)state;
	assert_true(decoder_open(&d, text));
	/* SPEC ctf/option-overlap */
	assert_string_equal(decode(&d, "\x05\x01\x02\x03\x04", 40), "t@0+8=a|b:5 v@8+8=1");
	assert_string_equal(decode(&d, "\x63\x01\x02\x03\x04", 40), "t@0+8=a|c:99 v@8+8=1");
	assert_string_equal(decode(&d, "\x65\x01\x00\x00\x00", 40), "t@0+8=c:101 v@8+32=1");
	decoder_close(&d);
}

static void test_enums(void **state)
{
#define NAMES "\"mappings\":{\"low\":[[0,9]],\"five\":[[5,5]],\"max\":[[255,255]]}"
	(void)state;
	/* SPEC ctf2/mappings */
	check(M("a", UINT(8, LE "," NAMES)) "," M("b", UINT(8, LE "," NAMES)) "," M(
		      "c", UINT(8, LE "," NAMES)) "," M("d", UINT(8, LE "," NAMES)),
	      "\x03\x05\xff\x0a", "a@0+8=low:3 b@8+8=five|low:5 c@16+8=max:255 d@24+8=10");
	check(M("a", SINT(8, LE ",\"mappings\":{\"neg\":[[-5,-1]],\"pos\":[[0,9]]}")) "," M(
		      "b", SINT(8, LE ",\"mappings\":{\"neg\":[[-5,-1]]}")),
	      "\xfe\xfa", "a@0+8=neg:18446744073709551614 b@8+8=-6");
	/* SPEC ctf2/bit-map */
	check(M("a", FIXED("bit-map", 8,
			   LE ",\"flags\":{\"r\":[[0,0]],\"w\":[[1,2]],"
			      "\"x\":[[7,7]]}")),
	      "\x84", "a@0+8=w|x:132");
	check(M("a", FIXED("bit-map", 8, LE ",\"flags\":{\"r\":[[0,0]]}")), "\x80", "a@0+8=128");
	check(M("a", FIXED("bit-map", 64, LE ",\"flags\":{\"top\":[[63,63]],\"far\":[[64,99]]}")),
	      "\0\0\0\0\0\0\0\x80", "a@0+64=top:9223372036854775808");
}

/* Ends inside any field are found, and a field may end exactly at the packet's. */
static void test_cuts(void **state)
{
	static const char bytes[] = "\x02\x01\x02\x03hi\0\x01\x02\x03\x04\x05\x06\x07\x08\x09";
	static const char members[] = M("n", U8) "," M("a", SEQUENCE("\"n\"", U8)) "," M(
		"c", U8) "," M("t", TEXT("utf-8")) "," M("u", UINT(64, BE)) "," M("e", UINT(1, BE));
	struct decoder d;

	(void)state;
	assert_true(decoder_open(&d, metadata_of(members)));
	for (uint64_t bits = 0; bits <= 8 * (sizeof(bytes) - 1); bits++) {
		const char *got = decode(&d, bytes, bits);

		/* SPEC ctf2/content-end */
		assert_int_equal(strstr(got, "! ") != NULL, bits < 8 * 15 + 1);
	}
	decoder_close(&d);
}

static void test_limits(void **state)
{
	static char members[1 << 17];
	size_t n = 0;

	(void)state;
	/* A value that is kept too far behind for a run to reach it. */
	check(M("b", STATIC_BLOB(134217728)) "," M("n", UINT(64, LE)) "," M("a",
									    SEQUENCE("\"n\"", U8)),
	      "\x01", "! b@0 as many bytes as its length says, found the end of the packet");
	/* Structures inside each other. */
	for (int i = 0; i < 70; i++)
		n += (size_t)snprintf(members + n, sizeof(members) - n, "%s",
				      i ? "{\"name\":\"s\",\"field-class\":{\"type\":\"structure\","
					  "\"member-classes\":["
					: "{\"name\":\"s\",\"field-class\":{\"type\":\"structure\","
					  "\"member-classes\":[");
	for (int i = 0; i < 70; i++)
		n += (size_t)snprintf(members + n, sizeof(members) - n, "]}}");
	assert_non_null(strstr(decode_once(members, "", 0), "deep, found more"));
}

int main(void)
{
#define T(f) cmocka_unit_test_teardown(f, walked_free)
	static const struct CMUnitTest tests[] = {
		T(test_integers), T(test_bit_order), T(test_byte_orders), T(test_wide),
		T(test_floats),	  T(test_leb128),    T(test_strings),	  T(test_blobs),
		T(test_arrays),	  T(test_no_bits),   T(test_optionals),	  T(test_variants),
		T(test_overlap),  T(test_enums),     T(test_cuts),	  T(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
