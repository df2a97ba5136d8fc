/* TSDL, the language of CTF 1.8's metadata: words, types, scopes, blocks. */
#include "unit/ctf_text.h"

/* ---- words */

static void test_integers(void **state)
{
	(void)state;
	/* SPEC ctf-tsdl/integer-constant */
	field("u8 a[0x1F];", "a: array of 31,");
	field("u8 a[017];", "a: array of 15,");
	field("u8 a[0b101];", "a: array of 5,");
	field("u8 a[0XfUL];", "a: array of 15,");
	field("u8 a[18446744073709551615ull];", "a: array of 18446744073709551615,");
	field("u8 a[3LLU], b[0], c[00u];", "c: array of 0,");
	field("u8 a[+5], b[(((7)))], c[- -2];", "c: array of 2,");
	bad(HEAD U8 EVENT "u8 a[`18446744073709551616];",
	    "expected a number of at most 64 bits, found `18446744073709551616`");
	bad(HEAD U8 EVENT "u8 a[`1x];", "expected a number, found `1x`");
	bad(HEAD U8 EVENT "u8 a[`08];", "expected a number, found `08`");
	bad(HEAD U8 EVENT "u8 a[`0x];", "expected a number, found `0x`");
	bad(HEAD U8 EVENT "u8 a[`1ull1];", "expected a number, found `1ull1`");
	bad(HEAD U8 EVENT "u8 a[`-1];", "expected a length not below 0, found `-1`");
	bad(HEAD U8 EVENT "u8 a[-`x];", "expected a number behind the sign, found `x`");
}

static void test_characters(void **state)
{
	(void)state;
	/* SPEC ctf-tsdl/char-constant */
	field("u8 a['A'], b['\\n'], c[L'\\x10'], d['ab'];", "d: array of 24930,");
	field("enum : u8 { a = 'a' ... 'z' } e;", "\"a\" = 97...122");
	bad(HEAD U8 EVENT "u8 a[`''];", "expected 1 to 8 bytes in '', found 0");
	bad(HEAD U8 EVENT "u8 a['`\n'];", "expected `'`, found the end of the line");
}

static void test_strings(void **state)
{
	(void)state;
	/* SPEC ctf-tsdl/escapes */
	has(HEAD "env{a=\"\\'\\\"\\?\\\\\\a\\b\\f\\n\\r\\t\\v\";};",
	    "env a = \"'\\\"?\\\\\\u0007\\b\\f\\n\\r\\t\\u000b\"\n");
	has(HEAD "env{a=\"\\101\\60x\\x41g\\u00e9\\U0001F600\";};",
	    "env a = \"A0xAg\u00e9\U0001F600\"\n");
	has(HEAD "env{a=\"\\q\\u12 \\u\";};", "env a = \"qu12 u\"\n");
	has(HEAD "env{a=L\"wide\";};", "env a = \"wide\"\n");
	has(HEAD "env{a=\"x\\0y\";};", "env a = \"x\"\n");
	has(HEAD "env{a=\"x\\0y\";};", "? ctf/nul-in-string 1:");
	has(HEAD "env{a=\"x\ny\";};", "env a = \"x\\ny\"\n");
	has(HEAD "env{a=\"x\ny\";};", "? ctf/line-in-string 1:");
	bad(HEAD "env{a=\"b\" `\"c\";};", "expected `;`, found `\"c\"`");
	assert_string_equal(read_text_n(HEAD "env{a=\"x\0y\";};", sizeof(HEAD) - 1 + 16),
			    "ERROR metadata:1:47: expected a character, found a NUL byte\n");
}

static void test_names(void **state)
{
	(void)state;
	field("u8 \xC3\xA9_1;", "\n      \xC3\xA9_1: uint 8");
	field("u8 a\\u00e9b;", "\n      a\xC3\xA9"
			       "b: uint 8");
	/* SPEC ctf-tsdl/underscore */
	field("u8 _a, __b, _;",
	      "\n      a: uint 8, le, align 8\n      _b: uint 8, le, align 8\n      _: ");
	/* SPEC ctf-tsdl/unique-names */
	field("u8 a, _a;", "\n      a: uint 8, le, align 8\n      a: uint 8");
	bad(HEAD U8 EVENT "u8 a; u8 `a;", "expected a new name of a field, found `a` again");
	bad(HEAD U8 EVENT "enum:u8{a}t; variant<t>{u8 a; u8 `a;}v;",
	    "expected a new name of a field, found `a` again");
	/* SPEC ctf-tsdl/keyword-name */
	field("u8 event; integer{size=3;} int[2], string;", "\n      int: array of 2");
	field("u8 `event;",
	      "? ctf/keyword-name @: expected a name that is no keyword, found `event`");
	bad(HEAD "typedef string `stream;", "expected a name for the type, found `stream`");
}

static void test_blanks(void **state)
{
	static const char nul[] = HEAD "\0\0env{a=1;};\0";

	(void)state;
	has("/*x*/\r\n//y\n\f\v" HEAD "/**/;;//", "trace CTF 1.8");
	has("trace{;;major=1;;minor=8;;byte_order=le;;;};;", "trace CTF 1.8");
	assert_non_null(strstr(read_text_n(nul, sizeof(nul) - 1), "env a = 1\n"));
	assert_non_null(strstr(seen.buf, "? ctf/metadata-nul 1:39: "));
	bad("trace{major=1;`/*", "expected `*/` behind this comment, found the end");
	bad("`@", "expected a word, a number, a string or punctuation, found `@`");
	bad("`5;", "expected a block or a declaration, found `5`");
	bad("`", "expected a `trace` block, found none");
}

/* Members beyond what is searched one by one. */
static void test_many_names(void **state)
{
	struct out o;

	(void)state;
	out_to_memory(&o);
	out_str(&o, HEAD U8 EVENT "enum:u8{");
	for (int i = 0; i < 100; i++)
		out_printf(&o, "m%d,", i);
	out_str(&o, "m3,}t; variant<t>{");
	for (int i = 0; i < 100; i++)
		out_printf(&o, "u8 m%d;", i);
	out_str(&o, "}v;");
	for (int i = 0; i < 100; i++)
		out_printf(&o, "u8 n%d,s%d[n%d];", i, i, i);
	out_str(&o, END);
	out_char(&o, '\0');
	has(o.buf, "\"m3\" = 3, 100\n");
	has(o.buf, "m3 [ 3, 100 ]: uint 8");
	has(o.buf, "n99: uint 8, le, align 8, saved in slot 100\n      s99: sequence by slot 100,");
	o.len -= sizeof(END);
	out_str(&o, "u8 n77;" END);
	out_char(&o, '\0');
	has(o.buf, "expected a new name of a field, found `n77` again");
	out_free(&o);
}

/* ---- types */

static void test_integer(void **state)
{
	(void)state;
	field("integer{size=32;} a;", "a: uint 32, le, align 8\n");
	/* SPEC ctf-tsdl/default-align */
	field("integer{size=12;} a;", "a: uint 12, le\n");
	/* SPEC ctf-tsdl/byte-order */
	field("integer{size=9;byte_order=be;} a;", "a: uint 9, be\n");
	field("integer{size=9;byte_order=network;} a;", "a: uint 9, be\n");
	has("trace{byte_order=be;major=1;minor=8;};" EVENT
	    "integer{size=9;byte_order=native;}a;integer{size=9;byte_order=le;}b;" END,
	    "a: uint 9, be\n      b: uint 9, le\n");
	/* Before the trace says it. */
	has("typealias integer{size=9;}:=t;trace{byte_order=be;major=1;minor=8;};" EVENT "t a;" END,
	    "a: uint 9, be\n");
	/* SPEC ctf-tsdl/boolean */
	field("integer{size=9;signed=TRUE;} a;", "a: sint 9");
	field("integer{size=9;signed=true;} a;", "a: sint 9");
	field("integer{size=9;signed=1;} a;", "a: sint 9");
	field("integer{size=9;signed=FALSE;} a; integer{size=9;signed=0;} b;", "b: uint 9");
	bad(HEAD "typealias integer{signed=`False;",
	    "expected true, TRUE, 1, false, FALSE or 0 for `signed`, found `False`");
	/* SPEC ctf-tsdl/align */
	field("integer{size=8;align=64;} a;", "a: uint 8, le, align 64\n");
	bad(HEAD "typealias integer{align=`3;",
	    "expected a power of two below 2^32 for `align`, found `3`");
	bad(HEAD "typealias integer{align=`-8;",
	    "expected a number not below 0 for `align`, found `-8`");
	bad(HEAD "typealias integer{align=`0x100000000;",
	    "expected a power of two below 2^32 for `align`, found `0x100000000`");
	/* SPEC ctf-tsdl/integer-size */
	field("integer{size=1;}a; integer{size=64;}b; integer{size=128;}c;",
	      "c: bits 128, le, align 8\n");
	bad(HEAD "typealias integer{size=`0;",
	    "expected 1 to 64 bits, or a multiple of 8, for `size`, found `0`");
	bad(HEAD "typealias integer{size=`65;",
	    "expected 1 to 64 bits, or a multiple of 8, for `size`, found `65`");
	bad(HEAD "typealias `integer{size=72;align=4;}:=t;",
	    "expected an alignment of bytes for 72 bits, found `align` 4");
	bad(HEAD "typealias `integer{}:=t;", "expected `size` in the integer, found none");
	/* SPEC ctf-tsdl/attribute-once */
	bad(HEAD "typealias integer{size=8;align=8;`size=8;",
	    "expected `size` once, found it again");
	/* SPEC ctf-tsdl/unknown-attribute */
	has(HEAD "typealias integer{size=8;zz=aa;y=struct;x:=struct{};}:=t;",
	    "? ctf/unknown-attribute 1:64: expected an attribute of integer, found `zz`; "
	    "ignored\n");
}

static void test_base(void **state)
{
	static const struct {
		const char *name;
		unsigned base;
	} bases[] = {
		{ "decimal", 10 }, { "dec", 10 },	  { "d", 10 },	  { "i", 10 },	{ "u", 10 },
		{ "10", 10 },	   { "hexadecimal", 16 }, { "hex", 16 },  { "x", 16 },	{ "X", 16 },
		{ "p", 16 },	   { "16", 16 },	  { "octal", 8 }, { "oct", 8 }, { "o", 8 },
		{ "8", 8 },	   { "binary", 2 },	  { "bin", 2 },	  { "b", 2 },	{ "2", 2 }
	};
	char text[200], want[40];

	(void)state;
	/* SPEC ctf-tsdl/base */
	for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++) {
		snprintf(text, sizeof(text), "%sinteger{size=8;base=%s;}a;%s", HEAD EVENT,
			 bases[i].name, END);
		snprintf(want, sizeof(want), "a: uint 8, le, align 8, base %u\n", bases[i].base);
		has(text, want);
	}
	bad(HEAD "typealias integer{base=`9;",
	    "expected 2, 8, 10, 16 or a name of these for `base`, found `9`");
	bad(HEAD "typealias integer{base=`\"x\";",
	    "expected 2, 8, 10, 16 or a name of these for `base`, found `\"x\"`");
}

static void test_text(void **state)
{
	(void)state;
	/* SPEC ctf-tsdl/encoding */
	field("integer{size=8;encoding=ASCII;}a;", "a: uint 8, le, align 8, ascii\n");
	field("integer{size=8;encoding=none;}a;", "a: uint 8, le, align 8\n");
	bad(HEAD "typealias integer{encoding=`\"UTF8\";",
	    "expected none, UTF8 or ASCII for `encoding`, found `\"UTF8\"`");
	/* SPEC ctf-tsdl/string */
	field("string a; string{} b; string{encoding=ASCII;} c;",
	      "a: string, align 8, utf-8\n      b: string, align 8, utf-8\n      c: string, align "
	      "8, ascii\n");
	/* SPEC ctf-tsdl/text-array */
	field("integer{size=8;signed=1;encoding=UTF8;} a[16];",
	      "a: string of 16, align 8, utf-8\n");
	field("u8 n; integer{size=8;encoding=ascii;} a[n];",
	      "a: string by slot 0, align 8, ascii\n");
	field("integer{size=8;encoding=utf8;} a[2][16];",
	      "a: array of 2, align 8\n        element: string of 16, align 8, utf-8\n");
	field("integer{size=8;align=4;encoding=utf8;} a[2];",
	      "a: array of 2, align 4\n        element: uint 8, le, align 4, utf-8\n");
	field("integer{size=16;encoding=utf8;} a[2];",
	      "a: array of 2, align 8\n        element: uint 16");
	field("enum:integer{size=8;encoding=utf8;}{x} a[2];",
	      "a: array of 2, align 8\n        element: uint 8, enum");
}

static void test_float(void **state)
{
	(void)state;
	/* SPEC ctf-tsdl/float */
	field("floating_point{exp_dig=8;mant_dig=24;}a;", "a: float 32, le, align 8\n");
	field("floating_point{exp_dig=11;mant_dig=53;align=1;byte_order=be;}a;",
	      "a: float 64, be\n");
	field("floating_point{exp_dig=5;mant_dig=11;}a;", "a: float 16,");
	field("floating_point{exp_dig=15;mant_dig=113;align=32;}a;",
	      "a: float 128, le, align 32\n");
	bad(HEAD "typealias `floating_point{exp_dig=7;mant_dig=24;}:=t;",
	    "expected `exp_dig` and `mant_dig` 5/11, 8/24, 11/53 or 15/113, found 7/24");
	bad(HEAD "typealias `floating_point{exp_dig=8;}:=t;",
	    "expected `mant_dig` in the floating_point, found none");
	bad(HEAD "typealias floating_point{mant_dig=`0x1ffffffff;",
	    "expected a number below 2^32 for `mant_dig`, found `0x1ffffffff`");
}

static void test_struct(void **state)
{
	(void)state;
	/* SPEC ctf-tsdl/compound-align */
	field("struct{u8 a; integer{size=8;align=32;} b[2];} s;", "s: struct, align 32\n");
	field("enum:u8{a}t; struct{u8 a; variant<t>{integer{size=8;align=32;}a;}v;} s;",
	      "s: struct, align 8\n");
	/* SPEC ctf-tsdl/struct-align */
	field("struct{u8 a;}align(64) s; struct{u8 a;}align(2) t;",
	      "s: struct, align 64\n        a: uint 8, le, align 8\n      t: struct, align 8\n");
	has(HEAD U8 "struct n{u8 a;}; struct n align(16); " EVENT
		    "struct n align(32) s; struct n t;" END,
	    "s: struct, align 32\n        a: uint 8, le, align 8\n      t: struct, align 8\n");
	bad(HEAD "struct n{}align(`3);",
	    "expected a power of two below 2^32 for `align`, found `3`");
	field("u8 x; struct{} e;", "e: struct\n");
	field("struct{struct{u8 a;}b, c;} s, t;", "t: struct, align 8\n        b: struct");
	bad(HEAD "struct`;", "expected a name or `{` behind `struct`, found `;`");
	bad(HEAD EVENT "`struct n s;", "expected a type that is known here, found `struct n`");
	bad(HEAD "struct n{`struct n s;};", "expected a type that is known here, found `struct n`");
	bad(HEAD EVENT "string{} `;", "expected the name of a field, found `;`");
	has(HEAD EVENT "string a", "! ctf/metadata-cut 1:39: ");
}

static void test_bit_fields(void **state)
{
	(void)state;
	/* SPEC ctf-tsdl/bit-field */
	has(HEAD "typealias integer{size=16;align=16;signed=1;}:=short;" EVENT
		 "short a:12; short b:5, :3, :0; short c;" END,
	    "fields: struct, align 16\n"
	    "      a: sint 12, le, in units of 16\n"
	    "      b: sint 5, le, in units of 16\n"
	    "      : sint 3, le, in units of 16\n"
	    "      : struct, align 16\n"
	    "      c: sint 16, le, align 16\n");
	bad(HEAD U8 EVENT "u8 `a:9;", "expected 1 to 8 bits, found 9");
	bad(HEAD U8 EVENT "u8 `a:0;", "expected 1 to 8 bits, found 0");
	bad(HEAD U8 EVENT "string `a:3;",
	    "expected an integer for a bit field, found another type");
}

static void test_enum(void **state)
{
	(void)state;
	/* SPEC ctf-tsdl/enum-value */
	field("enum:u8{a, b=4, c, d=10...12, e, \"f g\"=0x20,}x;",
	      "x: uint 8, enum, le, align 8\n"
	      "        \"a\" = 0\n        \"b\" = 4\n        \"c\" = 5\n        \"d\" = 10...12\n"
	      "        \"e\" = 13\n        \"f g\" = 32\n");
	field("enum:integer{size=8;signed=1;}{a=-3...-1, b, c=-128}x;",
	      "\"a\" = -3...-1\n        \"b\" = 0\n        \"c\" = -128\n");
	field("enum:integer{size=64;}{a=18446744073709551615, b=0}x;",
	      "\"a\" = 18446744073709551615\n");
	field("enum:integer{size=64;signed=1;}{a=-9223372036854775808}x;",
	      "\"a\" = -9223372036854775808\n");
	/* Ranges may overlap. */
	field("enum:u8{a=0...9,b=5...20}x;", "\"b\" = 5...20\n");
	bad(HEAD U8 EVENT "enum:u8{`a=5...4}x;",
	    "expected a range that rises, found one that falls");
	bad(HEAD U8 EVENT "enum:u8{a=`b}x;", "expected a number in the enumeration, found `b`");
	/* SPEC ctf-tsdl/enum-repeat */
	field("enum:u8{a=1,b=2,a=7...9}x;", "\"a\" = 1, 7...9\n        \"b\" = 2\n");
	/* SPEC ctf-tsdl/enum-entries */
	bad(HEAD U8 EVENT "enum:u8{`}x;",
	    "expected a name or a string in the enumeration, found `}`");
	bad(HEAD U8 EVENT "enum:u8{a `b}x;", "expected `,` or `}`, found `b`");
	/* SPEC ctf-tsdl/enum-int */
	has(HEAD "typealias integer{size=7;}:=int;" EVENT "enum{a,b}x; enum n{c}y; enum n z;" END,
	    "z: uint 7, enum, le\n        \"c\" = 0\n");
	bad(HEAD EVENT "`enum{a}x;", "expected a type that is known here, found `int`");
	bad(HEAD "typealias string:=int;" EVENT "`enum{a}x;",
	    "expected an integer of at most 64 bits below the enumeration, found another type");
	bad(HEAD U8 EVENT "enum:u8 `x;", "expected `{`, found `x`");
}

static void test_enum_range(void **state)
{
	(void)state;
	/* SPEC ctf-tsdl/enum-range */
	field("enum:u8{a=-1,b=-128...-127}x;", "\"a\" = 255\n        \"b\" = 128...129\n");
	field("enum:u8{`a=-1}x;", "? ctf/enum-range @: expected a value that an unsigned "
				  "integer of 8 bits holds, found another\n");
	field("enum:integer{size=8;signed=1;}{a=255,b=200...300,c=1000}x;",
	      "\"a\" = -1\n        \"b\" =\n        \"c\" =\n");
	field("enum:u8{a=250...300,b=1000,c=3}x;",
	      "\"a\" = 250...255\n        \"b\" =\n        \"c\" = 3\n");
	field("enum:integer{size=64;}{a=18446744073709551615,b,c=-18446744073709551615}x;",
	      "\"a\" = 18446744073709551615\n        \"b\" =\n        \"c\" =\n");
}

static void test_arrays(void **state)
{
	(void)state;
	/* SPEC ctf-tsdl/dimensions */
	field("u8 a[2][3];", "a: array of 2, align 8\n        element: array of 3, align 8\n       "
			     "   element: uint 8");
	field("typedef u8 t[3]; t a[2];",
	      "a: array of 2, align 8\n        element: array of 3, align 8\n");
	field("u8 n; u8 (a)[n], ((b)[2])[n];",
	      "b: array of 2, align 8\n        element: sequence by slot 0, align 8\n");
	field("u8 x; string a[0]; struct{} b[5];", "b: array of 5\n        element: struct\n");
	bad(HEAD U8 EVENT "u8 a[`];", "expected a length, found `]`");
	bad(HEAD U8 EVENT "u8 a[`\"x\"];", "expected the name of a field, found `\"x\"`");
	bad(HEAD U8 EVENT "u8 a[`int];", "expected the name of a field, found `int`");
	bad(HEAD U8 EVENT "u8 (a`;", "expected `)`, found `;`");
	/* SPEC ctf-tsdl/env-length: env may come later. */
	has(HEAD U8 EVENT "u8 a[env.n];integer{size=8;encoding=utf8;}b[env.n];" END "env{n=7;};",
	    "a: array of 7, align 8\n        element: uint 8, le, align 8\n      b: string of 7,");
	bad(HEAD U8 EVENT "u8 a[`env.n];" END,
	    "expected a number not below 0 as `env.n`, found none");
	bad(HEAD U8 EVENT "u8 a[`env.n];" END "env{n=-1;};",
	    "expected a number not below 0 as `env.n`, found a negative one");
	bad(HEAD U8 EVENT "u8 a[`env.n];" END "env{n=\"1\";};",
	    "expected a number not below 0 as `env.n`, found a string");
	bad(HEAD U8 EVENT "u8 a[`env];" END,
	    "expected `env.` and the name of an entry, found `env`");
}

/* ---- names of types */

static void test_type_names(void **state)
{
	(void)state;
	/* SPEC ctf-tsdl/type-name */
	has(HEAD "typealias integer{size=7;}:=unsigned long int;" EVENT
		 "unsigned long int a; const unsigned long int b; unsigned const long int c;" END,
	    "c: uint 7");
	bad(HEAD "typealias integer{size=7;}:=unsigned long;" EVENT "`long unsigned a;",
	    "expected a type that is known here, found `long unsigned`");
	has(HEAD "typealias integer{size=7;}:=char;typealias integer{size=6;}:=const char;" EVENT
		 "char a; const char b; char const c;" END,
	    "a: uint 7, le\n      b: uint 6, le\n      c: uint 7, le\n");
	/* SPEC ctf-tsdl/pointer */
	has(HEAD
	    "typealias integer{size=7;}:=void *;typealias integer{size=6;}:=struct page * const *;"
	    "typealias integer{size=5;}:=const char *;" EVENT
	    "void *a, *b[2]; struct page * const *c; const char *d; const void *e;" END,
	    "a: uint 7, le\n      b: array of 2\n        element: uint 7, le\n      c: uint 6, le\n"
	    "      d: uint 5, le\n      e: uint 7, le\n");
	bad(HEAD U8 EVENT "`u8 *a;", "expected a type that is known here, found `u8 *`");
	/* SPEC ctf-tsdl/alias-name */
	has(HEAD U8 "typealias u8:=t[3],v;typealias t[2]:=w;" EVENT "w a; v b;" END,
	    "a: array of 2, align 8\n        element: array of 3, align 8\n          element: uint "
	    "8, le, align 8\n"
	    "      b: uint 8");
	has(HEAD U8 "typealias u8:=int; typedef const u8 t, *const u; typealias u8 *:=x;" EVENT
		    "int a;" END,
	    "expected a type that is known here, found `const u8 * const`\n");
	bad(HEAD U8 "typealias u8:=`trace;", "expected a name for the type, found `trace`");
	bad(HEAD U8 "typealias u8:=struct`;", "expected a name for the type, found `;`");
	bad(HEAD U8 "typealias u8:=`5;", "expected a name for the type, found `5`");
	bad(HEAD U8 "typealias u8 `x:=y;", "expected `:=`, found another name");
	bad(HEAD U8 "typealias u8 `= y;", "expected `:=`, found `=`");
	has(HEAD U8 "u8 typedef a, b[3]; int typedef const c;", "found `int");
	has(HEAD U8 "u8 typedef a, b[3];" EVENT "b x;" END, "x: array of 3");
	bad(HEAD U8 "typedef u8`;", "expected a name for the type, found `;`");
	bad(HEAD U8 "const u8 `x;", "expected `typedef`, found `x`");
}

static void test_scopes(void **state)
{
	(void)state;
	/* SPEC ctf-tsdl/lexical-scope */
	has(U8
	    "typedef u8 A;trace{typedef A B;byte_order=le;major=1;minor=8;"
	    "packet.header:=struct{typedef B C;A a;B b;C c;struct{typedef string A;A a;}d;A e;};};"
	    "stream{typedef string B;event.context:=struct{B x;};};" EVENT "A y;" END,
	    "a: uint 8, le, align 8\n  b: uint 8, le, align 8\n  c: uint 8, le, align 8\n"
	    "  d: struct, align 8\n    a: string, align 8, utf-8\n  e: uint 8, le, align 8\n"
	    "stream 0\n  event context: struct, align 8\n    x: string");
	bad(HEAD "event{typedef string t;};event{fields:=struct{`t a;};};",
	    "expected a type that is known here, found `t`");
	bad(HEAD EVENT "struct{typedef string t;t a;}a; `t b;",
	    "expected a type that is known here, found `t`");
	/* SPEC ctf-tsdl/redefinition */
	bad(HEAD U8 "typedef u8 a; typedef string `a;",
	    "expected a new name of a type, found `a` again");
	bad(HEAD "struct a{};variant a{string x;};`struct a{};",
	    "expected a new name of a type, found `struct a` again");
	has(HEAD "enum e:integer{size=8;}{x};struct e{enum e{y:3};};", "ERROR");
}

/* ---- blocks */

static void test_trace(void **state)
{
	(void)state;
	has("/* CTF 1.8 */ "
	    "trace{major=1;minor=8;byte_order=be;uuid=\"2a6422d0-6CEE-11e0-8c08-cb07d7b3a564\";};",
	    "trace CTF 1.8, be, uuid 2a6422d0-6cee-11e0-8c08-cb07d7b3a564, slots 0\n");
	/* SPEC ctf-tsdl/version */
	bad("trace{major=`2;", "expected 1 for `major`, found `2`");
	bad("trace{minor=`7;", "expected 8 for `minor`, found `7`");
	/* SPEC ctf-tsdl/trace-block */
	bad("`trace{major=1;minor=8;};", "expected `byte_order` in the `trace` block, found none");
	bad("`trace{minor=8;byte_order=le;};", "expected `major` in the `trace` block, found none");
	bad(HEAD "`" HEAD, "expected one `trace` block, found another");
	bad("`stream{};", "expected a `trace` block, found none");
	bad("trace{byte_order=`native;", "expected be or le for `byte_order`, found `native`");
	/* SPEC ctf-tsdl/uuid */
	bad("trace{uuid=`\"salut\";",
	    "expected a string of 36 characters for `uuid`, found `\"salut\"`");
	bad("trace{uuid=`\"2a6422d0-6cee-11e0-8c08-cb07d7b3a56g\";",
	    "expected hexadecimal digits and `-`, 8-4-4-4-12, for `uuid`, found "
	    "`\"2a6422d0-6cee-11e0-8c08-cb07d7b3a56g\"`");
	/* SPEC ctf-tsdl/scope-struct */
	bad(HEAD "stream{event.header:=`string;};",
	    "expected a structure for `event.header`, found another type");
	bad("trace{packet.header`=5;", "expected `:=`, found `=`");
	bad("trace{major`:=5;", "expected `=`, found `:=`");
	bad("trace{major `5;", "expected `=`, found `5`");
	bad("trace{`=5;", "expected an attribute or `}`, found `=`");
	bad("trace{`\"a\"=5;", "expected a name, found `\"a\"`");
}

static void test_blocks(void **state)
{
	(void)state;
	/* SPEC ctf-tsdl/blocks: in any order. */
	has("event{id=3;stream_id=2;fields:=struct{string a;};};stream{id=2;};" HEAD "env{a=1;};",
	    "env a = 1\nstream 2\n  event 3\n");
	/* SPEC ctf-tsdl/unknown-block */
	has(HEAD "foo { a = { \"}\" } { /* } */ } ; } ;" EVENT "string a;" END,
	    "? ctf/unknown-block 1:39: expected a block that is known, found `foo`; ignored\n");
	bad("foo { }`", "expected `;` behind the block, found the end");
	bad("foo { {`", "expected `}`, found the end");
	bad("`foo bar { };", "expected a block or a declaration, found `foo`");
	/* SPEC ctf-tsdl/callsite */
	lacks(HEAD "callsite{name=\"e\";func=f;line=39;ip=0x40;other.thing=-3;};", "?");
	/* SPEC ctf-tsdl/env */
	has(HEAD "env{int=-5;s=\"x\";m=-9223372036854775808;};",
	    "env int = -5\nenv s = \"x\"\nenv m = -9223372036854775808\n");
	has(HEAD "env{a=b;c=18446744073709551615;};",
	    "env a = \"b\"\nenv c = \"18446744073709551615\"\n? ctf/env-value 1:45: ");
	bad(HEAD "env{a=1;a=`2;};", "expected a new name in `env`, found `a` again");
	bad(HEAD "env{};`env{};", "expected one `env` block, found another");
}

static void test_clock(void **state)
{
	(void)state;
	/* SPEC ctf-tsdl/clock */
	has(HEAD "clock{name=c;};", "clock c: 1000000000 Hz, offset 0 s 0 cycles, from 1970\n");
	has(HEAD "clock{name=\"c "
		 "d\";freq=5;offset_s=-3;offset=4;precision=6;absolute=TRUE;description=\"x\";"
		 "uuid=\"00000000-0000-0000-0000-000000000001\";};",
	    "clock c d: 5 Hz, offset -3 s 4 cycles, from 1970, precision 6, absolute, "
	    "uuid 00000000-0000-0000-0000-000000000001, \"x\"\n");
	bad(HEAD "`clock{freq=1;};", "expected `name` in the `clock` block, found none");
	bad(HEAD "clock{freq=`0;};", "expected a number above 0 for `freq`, found `0`");
	bad(HEAD "clock{name=c;};`clock{name=\"c\";};", "expected a new clock, found `c` again");
	bad(HEAD "clock{offset_s=`\"x\";", "expected a number for `offset_s`, found `\"x\"`");
	bad(HEAD "clock{offset_s=`9223372036854775808;",
	    "expected a signed number of 64 bits for `offset_s`, found `9223372036854775808`");
	bad(HEAD "clock{description=`x;", "expected a string for `description`, found `x`");
	/* SPEC ctf-tsdl/clock-map: the clock may come later. */
	has(HEAD EVENT "integer{size=8;map=clock.c.value;} a;" END "clock{name=c;};",
	    "a: uint 8, le, align 8, clock c\n");
	bad(HEAD EVENT "`integer{size=8;map=clock.d.value;} a;" END "clock{name=c;};",
	    "expected a clock that is there, found `d`");
	bad(HEAD "typealias integer{map=`clock.value;",
	    "expected `clock.`, a name and `.value` for `map`, found `clock.value`");
}

static void test_events(void **state)
{
	(void)state;
	/* SPEC ctf-tsdl/event */
	has(HEAD "event{name=\"a:b\";id=4;loglevel=13;model.emf.uri=\"u\";context:=struct{string "
		 "c;};fields:=struct{string f;};};",
	    "  event 4 \"a:b\", log level 13, emf \"u\"\n    context: struct, align 8\n      c: "
	    "string, align 8, utf-8\n"
	    "    fields: struct, align 8\n      f: string, align 8, utf-8\n");
	/* SPEC ctf-tsdl/loglevel */
	has(HEAD "event{loglevel=-1;fields:=struct{string f;};};", "? ctf/loglevel 1:54: ");
	/* SPEC ctf-tsdl/implicit-stream */
	has(HEAD "event{name=string;stream_id=7;fields:=struct{string f;};};",
	    "stream 7\n  event 0 \"string\"\n");
	/* SPEC ctf-tsdl/event-stream */
	has(HEAD "stream{id=7;};event{fields:=struct{string f;};};", "stream 7\n  event 0\n");
	bad(HEAD "stream{id=7;};`event{stream_id=6;fields:=struct{string f;};};",
	    "expected an event of a stream that is there, found stream 6");
	/* SPEC ctf-tsdl/event-ids */
	bad(HEAD "stream{event.header:=struct{integer{size=8;}id;};};event{id=1;};event{id=0;};"
		 "`event{id=1;};",
	    "expected a new id of an event in its stream, found 1 again");
	/* SPEC ctf-tsdl/stream-ids */
	bad(HEAD "stream{};stream{id=1;};`stream{};",
	    "expected a new id of a stream, found 0 again");
	/* SPEC ctf-tsdl/stream */
	has("trace{major=1;minor=8;byte_order=le;packet.header:=struct{integer{size=8;}stream_id;};"
	    "};"
	    "stream{id=3;};stream{id=1;packet.context:=struct{string "
	    "c;};event.header:=struct{string h;};event.context:=struct{string x;};};",
	    "stream 1\n  packet context: struct, align 8\n    c: string, align 8, utf-8\n  event "
	    "header: struct, align 8\n"
	    "    h: string, align 8, utf-8\n  event context: struct, align 8\n    x: string, align "
	    "8, utf-8\nstream 3\n");
	/* SPEC ctf-tsdl/empty-event */
	bad(HEAD "`event{fields:=struct{string a[0];struct{}b[7];};};",
	    "expected an event with at least one bit, found one that is always empty");
	has(HEAD "event{fields:=struct{integer{size=1;}a;};};", "event 0\n");
}

static void test_cut(void **state)
{
	(void)state;
	/* SPEC ctf-tsdl/cut */
	has(HEAD EVENT "string a;" END "`event{id=1;fields:=struct{str",
	    "  event 0\n    fields: struct, align 8\n      a: string, align 8, utf-8\n"
	    "! ctf/metadata-cut @: expected the whole of what begins here, found the end; "
	    "ignored\n");
	has(HEAD "event{name=\"x", "! ctf/metadata-cut 1:39: ");
	has(HEAD "/* x", "! ctf/metadata-cut");
	/* Not where it began before. */
	bad("trace{major=1;minor=8;byte_order=le;`", "expected an attribute or `}`, found the end");
	bad(HEAD "event{`]", "expected an attribute or `}`, found `]`");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_integers, seen_free),
		cmocka_unit_test_teardown(test_characters, seen_free),
		cmocka_unit_test_teardown(test_strings, seen_free),
		cmocka_unit_test_teardown(test_names, seen_free),
		cmocka_unit_test_teardown(test_blanks, seen_free),
		cmocka_unit_test_teardown(test_many_names, seen_free),
		cmocka_unit_test_teardown(test_integer, seen_free),
		cmocka_unit_test_teardown(test_base, seen_free),
		cmocka_unit_test_teardown(test_text, seen_free),
		cmocka_unit_test_teardown(test_float, seen_free),
		cmocka_unit_test_teardown(test_struct, seen_free),
		cmocka_unit_test_teardown(test_bit_fields, seen_free),
		cmocka_unit_test_teardown(test_enum, seen_free),
		cmocka_unit_test_teardown(test_enum_range, seen_free),
		cmocka_unit_test_teardown(test_arrays, seen_free),
		cmocka_unit_test_teardown(test_type_names, seen_free),
		cmocka_unit_test_teardown(test_scopes, seen_free),
		cmocka_unit_test_teardown(test_trace, seen_free),
		cmocka_unit_test_teardown(test_blocks, seen_free),
		cmocka_unit_test_teardown(test_clock, seen_free),
		cmocka_unit_test_teardown(test_events, seen_free),
		cmocka_unit_test_teardown(test_cut, seen_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
