/*
 * Payloads of uftrace function records: which specs apply, every format, and payloads that do not
 * fit.
 */
#include "unit/uftrace_dir.h"

/*
 * The whole directory: one ENTRY of work at 100 with what is in `payload` behind it, then an EXIT
 * of main.
 */
static void put_call(void)
{
	struct out payload = dat;

	out_to_memory(&dat);
	rec_more(100, ENTRY, 0, WORK);
	out_bytes(&dat, payload.buf, payload.len);
	raw_align(8);
	rec(200, EXIT, 0, MAIN);
	dat_write("1.dat");
	out_free(&payload);
}

/* One spec of work, and what its first row must look like. */
static void expect_arg(const char *spec, const char *value)
{
	char info[200], want[200];

	snprintf(info, sizeof(info), "argspec:work@%s\n", spec);
	put_basics(info);
	put_call();
	snprintf(want, sizeof(want), "100 BEGIN work 0 (%s)\n200 END main 0\n", value);
	expect_rows(want);
}

/* SPEC uftrace/arg-spec */
static void test_numbers(void **state)
{
	static const struct {
		const char *spec;
		uint64_t raw;
		size_t size;
		const char *value;
	} cases[] = {
		{ "arg1", (uint64_t)-3, 8, "arg1=-3" },
		{ "arg1/d", (uint64_t)-3, 8, "arg1=-3" },
		{ "arg1/i8", 0xFE, 1, "arg1=-2" },
		{ "arg1/i16", 0xFFFE, 2, "arg1=-2" },
		{ "arg1/i32", 0xFFFFFFFE, 4, "arg1=-2" },
		{ "arg1/i64", (uint64_t)INT64_MIN, 8, "arg1=-9223372036854775808" },
		{ "arg1/u8", 0xFE, 1, "arg1=254" },
		{ "arg1/u", UINT64_MAX, 8, "arg1=18446744073709551615" },
		{ "arg1/x32", 0xFFFFFFFE, 4, "arg1=4294967294" },
		{ "arg1/o", 8, 8, "arg1=8" },
		{ "arg1/c", 'A', 1, "arg1=65" },
		{ "arg1/p", LEAF, 8, "arg1=*401200:leaf" },
		{ "arg1/p", 0x10, 8, "arg1=*10" },
		{ "arg9/i32%stack+4", 7, 4, "arg9=7" },
		{ "arg1/i32%rdi", 7, 4, "arg1=7" },
		{ "fparg1", 0x3FF8000000000000, 8, "fparg1=1.5" },
		{ "fparg1/32", 0x3FC00000, 4, "fparg1=1.5" },
		{ "fparg1/f32", 0x3FC00000, 4, "fparg1=1.5" },
		{ "arg1/f64%xmm0", 0xBFF8000000000000, 8, "arg1=-1.5" },
	};

	(void)state;
	for (unsigned order = 0; order < 2; order++) {
		big = order;
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			raw_uint(cases[i].raw, cases[i].size);
			expect_arg(cases[i].spec, cases[i].value);
		}
	}
}

/* SPEC uftrace/float80: ten bytes, padded to twelve */
static void test_long_double(void **state)
{
	static const struct {
		uint64_t mant;
		unsigned exp;
		const char *value;
	} cases[] = {
		{ UINT64_C(0xC000000000000000), 0x3FFF, "fparg1=1.5, arg2=1" },
		{ UINT64_C(0xC000000000000000), 0xBFFF, "fparg1=-1.5, arg2=1" },
		{ 0, 0, "fparg1=0, arg2=1" },
		{ UINT64_C(0x8000000000000000), 0x7FFF, "fparg1=inf, arg2=1" },
		{ UINT64_C(0xC000000000000000), 0x7FFF, "fparg1=nan, arg2=1" },
		/* 2^4096, 2^-2000, 1 + 2^-63: the digits are those of exact arithmetic */
		{ UINT64_C(0x8000000000000000), 0x4FFF,
		  "fparg1=inf:1.0443888814131525067e+1233, arg2=1" },
		{ UINT64_C(0x8000000000000000), 0x382F,
		  "fparg1=0:8.709809816217216676e-603, arg2=1" },
		{ UINT64_C(0x8000000000000001), 0x3FFF,
		  "fparg1=1:1.0000000000000000001, arg2=1" },
		/* the least there is: 2^-16445 */
		{ 1, 0, "fparg1=0:4e-4951, arg2=1" },
		/* 0.1L: what is written is the same for both */
		{ UINT64_C(0xCCCCCCCCCCCCCCCD), 0x3FFB, "fparg1=0.1, arg2=1" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		raw_uint(cases[i].mant, 8);
		raw_uint(cases[i].exp, 2);
		raw_align(4);
		raw_uint(1, 4);
		expect_arg("fparg1/f80,arg2/i32", cases[i].value);
	}
}

/*
 * SPEC uftrace/string: u16 length; FF FF FF FF is a null pointer, the letters NULL are only letters
 */
static void test_strings(void **state)
{
	(void)state;
	raw_string("a");
	raw_string("");
	raw_string("bcd\xff\n");
	expect_arg("arg1/s,arg2/S,arg3/s", "arg1=\"a\", arg2=\"\", arg3=\"bcd\\udcff\\n\"");
	raw_string("\xff\xff\xff\xff");
	raw_string("NULL");
	expect_arg("arg1/s,arg2/s", "arg1=null, arg2=\"NULL\"");
	big = true;
	raw_string("\xff\xff\xff\xff");
	raw_string("xyz");
	expect_arg("arg1/s,arg2/s", "arg1=null, arg2=\"xyz\"");
}

/* SPEC uftrace/enum */
static void test_enums(void **state)
{
	static const char info[] =
		"argspec:work@arg1/e:color,arg2/e:other,arg3/e:none\n"
		"enumauto:enum color {RED=1,GREEN,BLUE=4,NEG=-1};enum other {A,B=0x10,C}\n";

	(void)state;
	put_basics(info);
	raw_uint(2, 8);
	raw_uint(17, 8);
	raw_uint(9, 8);
	put_call();
	expect_rows("100 BEGIN work 0 (arg1=2:GREEN, arg2=17:C, arg3=9)\n200 END main 0\n");
	raw_uint(13, 8);
	raw_uint(5, 8);
	raw_uint(0, 8);
	put_call();
	expect_rows(
		"100 BEGIN work 0 (arg1=13:BLUE|RED+0x8, arg2=5:0x5, arg3=0)\n200 END main 0\n");
	/*
	 * Four bytes of an enumeration with a negative value; the register's upper half is left
	 * over. One that no file defines is an int.
	 */
	raw_uint(0xFFFFFFFF, 8);
	raw_uint(UINT64_C(0xABCD000000000011), 8);
	raw_uint(UINT64_C(0xFFFFFFFF), 8);
	put_call();
	expect_rows("100 BEGIN work 0 (arg1=-1:NEG, arg2=17:C, arg3=-1)\n200 END main 0\n");
	raw_uint(0x7FFFFFFFFFFFFFFD, 8);
	raw_uint(0xFFFFFFFF, 8);
	raw_uint(0, 8);
	put_call();
	expect_rows("100 BEGIN work 0 (arg1=-3, arg2=4294967295:C+0xffffffee, arg3=0)\n"
		    "200 END main 0\n");
	put_info(4, 2, 1 << 5, "argspec:work@arg1/e:wide,arg2/e:uns\n"
			       "enumauto:enum wide {W=0x100000000,N=-1};enum uns {U=0xFFFFFFFF}\n");
	raw_uint(0xFFFFFFFF, 8);
	raw_uint(UINT64_MAX, 8);
	put_call();
	expect_rows("100 BEGIN work 0 (arg1=4294967295:0xffffffff, arg2=4294967295:U)\n"
		    "200 END main 0\n");
	put_basics(info);
	/* The module's own definitions come first. */
	put_text("prog.dbg", "# path name: /bin/prog\nE: enum color {OWN=2}\n");
	raw_uint(2, 8);
	raw_uint(0, 8);
	raw_uint((uint64_t)-1, 8);
	put_call();
	expect_rows("100 BEGIN work 0 (arg1=2:OWN, arg2=0:A, arg3=-1)\n200 END main 0\n");
}

/*
 * SPEC uftrace/struct: raw bytes; what was in SSE registers, and returned structs, are not reliable
 */
static void test_structs(void **state)
{
	(void)state;
	raw_uint(0x04030201, 4);
	raw_uint(0x05, 1);
	raw_align(4);
	raw_uint(6, 4);
	expect_arg("arg1/t5:pt,arg2/i32", "arg1=0102030405:pt, arg2=6");
	raw_uint(1, 8);
	expect_arg("arg1/t8:two%RDI+XMM0", "arg1=0100000000000000:two?");
	expect_arg("arg1/t0:none", "arg1=:none");
	/* Of a struct of 16 bytes in one register, or at no place, half is not what was passed. */
	raw_uint(1, 8);
	raw_uint(2, 8);
	expect_arg("arg1/t16:complex%RDI", "arg1=01000000000000000200000000000000:complex?");
	raw_uint(1, 8);
	raw_uint(2, 8);
	expect_arg("arg1/t16:nest", "arg1=01000000000000000200000000000000:nest?");
	raw_uint(1, 8);
	raw_uint(2, 8);
	expect_arg("arg1/t16:big%stack+1", "arg1=01000000000000000200000000000000:big");
	raw_uint(1, 8);
	raw_uint(2, 8);
	expect_arg("arg1/t16:ints%RDI+RSI", "arg1=01000000000000000200000000000000:ints");
	put_basics("argspec:work@arg1/t8:pt%RDI\nuftrace_version:v0.13 ( x86_64 )\n");
	raw_uint(1, 8);
	put_call();
	expect_rows("100 BEGIN work 0 (arg1=0100000000000000:pt?)\n200 END main 0\n");
	put_basics("argspec:work@arg1/t8:pt%RDI\nuftrace_version:v0.19 ( x86_64 )\n");
	raw_uint(1, 8);
	put_call();
	expect_rows("100 BEGIN work 0 (arg1=0100000000000000:pt)\n200 END main 0\n");
	put_basics("retspec:main@retval/t0:none\n");
	rec_more(100, EXIT, 0, MAIN);
	dat_write("1.dat");
	expect_rows("100 END main 0 (retval=:none)\n");
	put_basics("retspec:main@retval/t4:pt\n");
	rec_more(100, EXIT, 0, MAIN);
	raw_uint(7, 8);
	dat_write("1.dat");
	expect_rows("100 END main 0 (retval=07000000:pt?)\n");
}

/* --- which specs --- */

static void expect_first(const char *info, const char *row)
{
	char want[200];

	put_basics(info);
	raw_uint(1, 4);
	raw_uint(2, 4);
	put_call();
	snprintf(want, sizeof(want), "100 BEGIN work 0%s\n200 END main 0\n", row);
	expect_rows(want);
}

/* SPEC uftrace/spec-replace */
static void test_replacement(void **state)
{
	(void)state;
	expect_first("argspec:work@arg1/i32,arg2/i32\n", " (arg1=1, arg2=2)");
	expect_first("argspec:work@arg1/i64;work@arg1/i32,arg2/i32\n", " (arg1=1, arg2=2)");
	/* A pattern does not replace an exact name's, an exact name's replaces a pattern's. */
	expect_first("pattern_type:regex\nargspec:work@arg1/i32,arg2/i32;^w@arg1/i64\n",
		     " (arg1=1, arg2=2)");
	expect_first("pattern_type:regex\nargspec:^w@arg1/i64;work@arg1/i32,arg2/i32\n",
		     " (arg1=1, arg2=2)");
	expect_first("pattern_type:regex\nargspec:^w@arg1/i64;w.r@arg1/i32,arg2/i32\n",
		     " (arg1=1, arg2=2)");
	/* The key is the place, not the number. */
	expect_first("argspec:work@arg1/i32%rdi;work@arg2/i32%rdi,arg3/i32\n", " (arg2=1, arg3=2)");
	expect_first("argspec:work@arg1/i64%stack+1,arg2/i64;work@arg1/i32%stack+1,arg2/i32\n",
		     " (arg1=1, arg2=2)");
}

/* SPEC uftrace/pattern */
static void test_patterns(void **state)
{
	(void)state;
	expect_first("pattern_type:glob\nargspec:w*k@arg1\n", " (arg1=8589934593)");
	expect_first("pattern_type:simple\nargspec:work@arg1\n", " (arg1=8589934593)");
	expect_first("pattern_type:regex\nargspec:or@arg1;work@arg1/i32,arg2/i32\n",
		     " (arg1=1, arg2=2)");
	expect_first("pattern_type:regex\nargspec:(main|work)@arg1\n", " (arg1=8589934593)");
	/* A module behind the specs: its base name begins so. */
	expect_first("argspec:work@arg1,prog\n", " (arg1=8589934593)");
	expect_first("argspec:work@arg1,libother;work@arg1/i32,arg2/i32\n", " (arg1=1, arg2=2)");
	expect_first("argspec:work@arg1,PLT;work@arg1/i32,arg2/i32\n", " (arg1=1, arg2=2)");
	/* Old data has return values in the same line. */
	expect_first("argspec:work@retval/s,arg1\n", " (arg1=8589934593)");
}

/* SPEC uftrace/simple-name: specs match the simple form, whatever form is shown */
static void test_simple_name(void **state)
{
	static const char *const shown[] = { "tmpl<long, 7>", "tmpl", "void tmpl<long, 7>(long)",
					     "_Z4tmplIlLi7EEvT_" };
	struct spur_args args = { 0 };
	const struct spur_event *rows;
	struct spur_error err;
	struct spur_trace *t;
	size_t n;

	(void)state;
	put_basics("argspec:tmpl@arg1\n");
	put_text("prog.sym", "# path name: /bin/prog\n"
			     "0000000000001100 00000100 T _Z4tmplIlLi7EEvT_\n");
	raw_uint(5, 8);
	put_call();
	for (int how = 0; how < 4; how++) {
		const struct spur_options opt = SPUR_OPTIONS(.demangle = (enum spur_demangle)how);

		assert_int_equal(spur_open(&t, dir, &opt, &err), SPUR_OK);
		assert_int_equal(spur_next(t, &rows, &n), SPUR_OK);
		assert_string_equal(spur_string(t, rows[0].name, NULL), shown[how]);
		assert_int_equal(spur_args(t, &rows[0], &args), SPUR_OK);
		assert_int_equal(args.count, 1);
		assert_int_equal(args.items[0].i, 5);
		spur_close(t);
	}
	spur_args_free(&args);
}

/* SPEC uftrace/spec-choice */
static void test_choice(void **state)
{
	static const char auto_info[] =
		"argauto:work@arg3;puts@arg1/s\nretauto:main@retval\nauto-args:1\n";

	(void)state;
	expect_first(auto_info, " (arg3=8589934593)");
	put_text("prog.dbg", "# path name: /bin/prog\nF: 1100 work\nL: 12 prog.c\nA: "
			     "@arg1/i32,arg2/i32\nR: @retval/i32\n");
	expect_first(auto_info, " (arg1=1, arg2=2)");
	expect_first("argspec:work@arg7\nargauto:work@arg3\nauto-args:1\n", " (arg7=8589934593)");
	/* SPEC uftrace/dbg-conflict */
	put_text(
		"prog.dbg",
		"# path name: /bin/prog\nF: 1100 work\nA: @arg1/i32\nF: 1100 work\nA: @arg2/i32\n");
	expect_first(auto_info, " (arg3=8589934593)");
}

/* --- payloads that do not fit --- */

static void test_no_spec(void **state)
{
	(void)state;
	put_basics("");
	rec_more(100, ENTRY, 0, MAIN);
	raw_uint(0x6162636465666768, 8);
	raw_uint(0x6162636465666768, 8);
	rec(110, ENTRY, 1, WORK);
	rec(120, EXIT, 1, WORK);
	rec(130, EXIT, 0, MAIN);
	dat_write("1.dat");
	expect_rows("100 BEGIN main 0\n110 BEGIN work 1\n120 END work 1\n130 END main 0\n"
		    "! uftrace/unknown-payload 1.dat at 0 lost 16\n");
}

/* A spec that is none leaves the function without, since nothing tells which bytes are whose. */
static void test_bad_specs(void **state)
{
	static const char *const bad[] = {
		"work@arg1/q",
		"work@arg1/i32,arg2/i7",
		"work@retvalue,prog",
		"work@arg1/t70000:x",
		"(work@arg1/i32",
		"(w)\\1@arg1/i32",
		"w{1,99}{1,99}@arg1/i32",
		"work",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char info[200];

		snprintf(info, sizeof(info), "pattern_type:regex\nargspec:%s\n", bad[i]);
		put_basics(info);
		raw_uint(5, 8);
		put_call();
		expect_rows("100 BEGIN work 0\n200 END main 0\n! uftrace/bad-spec info at 67\n"
			    "! uftrace/unknown-payload 1.dat at 0 lost 8\n");
	}
}

static void test_cut_payload(void **state)
{
	(void)state;
	put_basics("argspec:work@arg1/s,arg2\n");
	rec_more(100, ENTRY, 0, WORK);
	raw_uint(10, 2);
	raw_text("abc");
	dat_write("1.dat");
	expect_rows("100 BEGIN work 0\n! uftrace/torn-record 1.dat at 0 lost 5\n");
	rec_more(100, ENTRY, 0, WORK);
	raw_string("abcdef");
	raw_uint(1, 4);
	dat_write("1.dat");
	expect_rows(
		"100 BEGIN work 0 (arg1=\"abcdef\")\n! uftrace/torn-record 1.dat at 0 lost 12\n");
	/* A length that no recorder writes. */
	rec_more(100, ENTRY, 0, WORK);
	raw_uint(5000, 2);
	raw_align(8);
	for (unsigned i = 0; i < 100; i++)
		rec(110 + i, i % 2 ? EXIT : ENTRY, 1, LEAF);
	dat_write("1.dat");
	assert_non_null(strstr(read_path("", 0),
			       "209 END leaf 1\n! uftrace/unknown-payload 1.dat at 0 lost 8\n"));
}

/* SPEC uftrace/size-class: 4 bytes where nothing else is said in 32-bit data */
static void test_32_bit(void **state)
{
	(void)state;
	put_basics("");
	put_info(4, 1, 1 << 5, "argspec:work@arg1,arg2/p\n");
	raw_uint(UINT32_MAX, 4);
	raw_uint(LEAF, 4);
	put_call();
	expect_rows("100 BEGIN work 0 (arg1=-1, arg2=*401200:leaf)\n200 END main 0\n");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, dir_make, dir_remove)
	static const struct CMUnitTest tests[] = {
		T(test_simple_name),
		T(test_numbers), T(test_long_double), T(test_strings),	   T(test_enums),
		T(test_structs), T(test_replacement), T(test_patterns),	   T(test_choice),
		T(test_no_spec), T(test_bad_specs),   T(test_cut_payload), T(test_32_bit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
