/* format/uftrace/tracefmt.h: formats, print formats, fields, function_graph. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/uftrace/kernhdr.h"
#include "model/args.h"
#include "unit/tracefmt_cases.h"

enum { CASES = sizeof(tracefmt_cases) / sizeof(*tracefmt_cases) };

static struct trace_abi abi_of(unsigned long_size, bool big)
{
	return (struct trace_abi){ .long_size = (uint8_t)long_size,
				   .big_endian = big,
				   .swap = order_swaps(big) };
}

/* The text of a record, in a buffer that the next call takes. */
static const char *text_of_record(const struct tracefmt *f, const uint8_t *rec, uint32_t len,
				  const struct trace_names *names)
{
	static char text[1 << 17];
	struct out out;
	size_t n;

	out_to_memory(&out);
	tracefmt_text(f, rec, len, names, &out);
	n = out.len < sizeof(text) ? out.len : sizeof(text) - 1;
	if (n)
		memcpy(text, out.buf, n);
	text[n] = '\0';
	assert_int_equal(out.error, 0);
	out_free(&out);
	return text;
}

static void check_case(const struct tracefmt_case *c, bool big)
{
	struct spur_error err = { 0 };
	struct tracefmt_made m;
	struct tracefmt f;
	struct arena a;

	arena_init(&a);
	case_make(c, big, &m);
	assert_int_equal(tracefmt_parse(&f, &a, text_of(m.format), "test", abi_of(8, big), &err),
			 SPUR_OK);
	assert_string_equal(text_of_record(&f, m.rec, m.len, NULL), c->text);
	arena_free(&a);
}

/* SPEC uftrace/print-flags */
/* SPEC uftrace/print-flags, SPEC uftrace/print-pointer, SPEC uftrace/data-loc */
static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < CASES; i++) {
		check_case(&tracefmt_cases[i], false);
		check_case(&tracefmt_cases[i], true);
	}
}

/* Parses a case made on the spot and gives its text. */
static const char *run_print(const char *fields, const char *print, const char *values,
			     unsigned long_size, const struct trace_names *names)
{
	const struct tracefmt_case c = { "", fields, print, values, "" };
	struct spur_error err = { 0 };
	struct tracefmt_made m;
	struct tracefmt f;
	struct arena a;
	const char *text;

	arena_init(&a);
	case_make(&c, false, &m);
	assert_int_not_equal(
		tracefmt_parse(&f, &a, text_of(m.format), "test", abi_of(long_size, false), &err),
		SPUR_FAIL);
	text = text_of_record(&f, m.rec, m.len, names);
	arena_free(&a);
	return text;
}

static bool find_name(void *ctx, uint64_t addr, const char **name, uint64_t *delta)
{
	if (addr < 0x1000)
		return false;
	*name = ctx;
	*delta = addr - 0x1000;
	return true;
}

/* SPEC uftrace/print-pointer */
static void test_names(void **state)
{
	static char name[] = "do_thing";
	const struct trace_names names = { find_name, name };

	(void)state;
	assert_string_equal(run_print("void * f:8:8:0;void * g:16:8:0",
				      "\"%ps %pS %pB %p %pS %-12ps|\", REC->f, REC->f, REC->f, "
				      "REC->f, REC->g, REC->f",
				      "0x1010 0x10", 8, &names),
			    "do_thing do_thing+0x10 do_thing+0x10 0x1010 0x10 do_thing    |");
}

static void test_long_of_4(void **state)
{
	(void)state;
	assert_string_equal(
		run_print("long a:8:4:1;unsigned long b:12:4:0;void * p:16:4:0;long long c:24:8:1",
			  "\"%ld %lx %p %lld %lu %lx\", REC->a, REC->b, REC->p, REC->c, "
			  "sizeof(long), ~0UL",
			  "-3 0xfffffff0 0xc0001000 -4", 4, NULL),
		"-3 fffffff0 0xc0001000 -4 4 ffffffff");
	assert_string_equal(run_print("__data_loc unsigned long[] m:8:4:0",
				      "\"%s\", __get_cpumask(m)", "[3]", 4, NULL),
			    "0-1");
}

/* What is wrong with an argument stays with it. */
static void test_not_understood(void **state)
{
	(void)state;
	assert_string_equal(run_print("int a:8:4:1", "\"a=%d\"", "1", 8, NULL), "a=%d");
	assert_string_equal(run_print("int a:8:4:1", "\"a=%d b=%d\", REC->b, REC->a", "1", 8, NULL),
			    "a=REC->b b=1");
	assert_string_equal(run_print("int a:8:4:1",
				      "\"%d %d %d\", ({ int x = (1, 2); x; }), REC->a +, REC->a",
				      "1", 8, NULL),
			    "({ int x = (1, 2); x; }) REC->a + 1");
	assert_string_equal(run_print("int a:8:4:1", "\"%y %\", REC->a", "1", 8, NULL), "%y %");
	assert_string_equal(run_print("int a:8:4:1",
				      "\"%pM %pI4 %s\", REC->a, REC->a, __print_hex(REC->a, 3)",
				      "1", 8, NULL),
			    "REC->a REC->a __print_hex(REC->a, 3)");
	assert_string_equal(
		run_print("u8 m[2]:8:2:0", "\"%pM %u\", REC->m, REC->m[2]", "[1 2]", 8, NULL),
		"REC->m REC->m[2]");
	/* No print fmt that is one: the fields. */
	assert_string_equal(run_print("int a:8:4:1;u8 m[2]:12:2:0;char s[4]:16:4:0;void * p:24:8:0",
				      "nothing", "-1 [1 2] 'ab' 0x10", 8, NULL),
			    "a=-1 m=[1, 2] s=ab p=0x10");
}

static void test_bounds(void **state)
{
	char *print = malloc(400000), shown[64];
	size_t n;

	(void)state;
	assert_int_equal(
		strlen(run_print("int a:8:4:1", "\"%999999999999d%.999999999d\", REC->a, REC->a",
				 "1", 8, NULL)),
		2048);
	assert_int_equal(
		strlen(run_print("int a:8:4:1", "\"%*d\", REC->a, 5", "0x7fffffff", 8, NULL)),
		1024);
	assert_int_equal(
		strlen(run_print("int a:8:4:1", "\"%*d\", REC->a, 5", "0x80000000", 8, NULL)),
		1024);
	/* Deep nests and long chains: no more of the stack than a bound. */
	for (int kind = 0; kind < 5; kind++) {
		n = (size_t)sprintf(print, "\"%%d\", ");
		for (int i = 0; i < 3000; i++)
			n += (size_t)sprintf(
				print + n, "%s",
				((const char *[]){ "(", "-", "1?", "REC->a+", "(int)" })[kind]);
		sprintf(print + n, "REC->a");
		snprintf(shown, sizeof(shown), "%.48s...", print + 6);
		assert_string_equal(run_print("int a:8:4:1", print, "1", 8, NULL), shown);
	}
	free(print);
}

static void test_format(void **state)
{
	static const char text[] =
		"name: ev\nID: 9\nformat:\n\tfield:unsigned short "
		"common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\tfield:__data_loc char[] "
		"s;\toffset:24;\tsize:4;\tsigned:1;\n"
		"\tfield:const struct foo * p;\toffset:32;\tsize:8;\tsigned:0;\n\tfield:bool "
		"b;\toffset:40;\tsize:1;\tsigned:0;\n"
		"\tfield:unsigned long "
		"args[6];\toffset:48;\tsize:48;\tsigned:0;\n\tfield:nonsense\n"
		"\tfield:unsigned long tail[];\toffset:96;\tsize:0;\tsigned:0;\n\tfield:short int "
		"x;\toffset:42;\tsize:2;\n";
	struct spur_error err = { 0 };
	struct tracefmt f;
	struct arena a;

	(void)state;
	arena_init(&a);
	assert_int_equal(tracefmt_parse(&f, &a, text_of(text), "sys", abi_of(8, false), &err),
			 SPUR_WARN);
	assert_non_null(strstr(err.message, "found `field:nonsense`"));
	assert_int_equal(f.nfields, 8);
	assert_string_equal(f.system, "sys");
	assert_string_equal(f.name, "ev");
	assert_int_equal(f.id, 9);
	assert_null(f.plan);
	assert_int_equal(tracefmt_field(&f, "common_type")->flags, FIELD_COMMON);
	assert_int_equal(tracefmt_field(&f, "comm")->flags, FIELD_ARRAY | FIELD_STRING);
	assert_string_equal(tracefmt_field(&f, "comm")->type, "char[16]");
	assert_int_equal(tracefmt_field(&f, "s")->flags,
			 FIELD_ARRAY | FIELD_STRING | FIELD_DYNAMIC | FIELD_SIGNED);
	assert_int_equal(tracefmt_field(&f, "p")->flags, FIELD_POINTER);
	assert_int_equal(tracefmt_field(&f, "b")->flags, FIELD_BOOL);
	assert_int_equal(tracefmt_field(&f, "args")->elem, 8);
	assert_int_equal(tracefmt_field(&f, "tail")->elem, 8);
	assert_int_equal(tracefmt_field(&f, "x")->flags, FIELD_SIGNED);
	assert_null(tracefmt_field(&f, "y"));
	assert_int_equal(tracefmt_ref(&f, "args").size, 0);
	assert_int_equal(tracefmt_ref(&f, "y").size, 0);
	assert_int_equal(tracefmt_ref(&f, "x").off, 42);
	assert_int_equal(tracefmt_parse(&f, &a, text_of("ID: 3\n"), "s", abi_of(8, false), &err),
			 SPUR_FAIL);
	assert_int_equal(tracefmt_parse(&f, &a, text_of("name: x\nID: 70000\n"), "s",
					abi_of(8, false), &err),
			 SPUR_FAIL);
	assert_int_equal(
		tracefmt_parse(&f, &a, text_of("name: x\nID: 3\n"), "s", abi_of(8, false), NULL),
		SPUR_OK);
	arena_free(&a);
}

/* SPEC uftrace/data-loc */
static void test_args(void **state)
{
	static const struct tracefmt_case c = { "",
						"int a:8:4:1;void * p:16:8:0;char s[8]:24:8:0;u32 "
						"b[2]:32:8:0;__data_loc char[] d:40:4:1;bool "
						"t:44:1:0;u8 mac[6]:45:6:0;"
						"struct x y:52:12:0",
						"\"\"",
						"-2 0x10 'abc' [5 6] 'dyn' 1 [1 2 3 4 5 6] [1 2 3]",
						"" };
	for (int big = 0; big < 2; big++) {
		struct spur_args args = { 0 };
		const struct spur_value *v;
		struct spur_error err;
		struct tracefmt_made m;
		struct tracefmt f;
		struct arena a;

		(void)state;
		arena_init(&a);
		case_make(&c, big, &m);
		assert_int_equal(
			tracefmt_parse(&f, &a, text_of(m.format), "t", abi_of(8, big), &err),
			SPUR_OK);
		f.fields[4].id = 77;
		assert_int_equal(tracefmt_args(&f, m.rec, m.len, false, &args), SPUR_OK);
		assert_int_equal(args.count, 8);
		v = args.items;
		assert_true(v[0].type == SPUR_I64 && v[0].i == -2 && v[0].name == 77);
		assert_true(v[1].type == SPUR_POINTER && v[1].u == 16);
		assert_true(v[2].type == SPUR_STRING && v[2].count == 3 &&
			    memcmp(v[2].text, "abc", 3) == 0);
		assert_true(v[3].type == SPUR_ARRAY && v[3].count == 2 && v[3].items[1].u == 6);
		assert_true(v[4].type == SPUR_STRING && v[4].count == 3 &&
			    memcmp(v[4].text, "dyn", 3) == 0);
		assert_true(v[5].type == SPUR_BOOL && v[5].u == 1);
		assert_true(v[6].type == SPUR_ARRAY && v[6].count == 6 && v[6].items[5].u == 6);
		assert_true(v[7].type == SPUR_BYTES && v[7].count == 12);
		args_reset(&args);
		assert_int_equal(tracefmt_args(&f, m.rec, m.len, true, &args), SPUR_OK);
		assert_int_equal(args.count, 12);
		assert_true(args.items[0].u == 7 && args.items[3].i == 4711);
		for (uint32_t n = 0; n < 64; n++) {
			args_reset(&args);
			assert_int_equal(tracefmt_args(&f, m.rec, n, false, &args), SPUR_WARN);
		}
		spur_args_free(&args);
		arena_free(&a);
	}
}

/* ---- function_graph */

static void make_graph(struct funcgraph *g, struct arena *a, const char *name, const char *fields,
		       bool big)
{
	const struct tracefmt_case c = { "", fields, "\"\"", "", "" };
	struct tracefmt_made m;
	struct tracefmt *f = arena_alloc(a, sizeof(*f));
	char *text;

	case_make(&c, big, &m);
	text = arena_printf(a, "name: %s%s", name, strchr(m.format, '\n'));
	assert_int_equal(tracefmt_parse(f, a, text_of(text), "ftrace", abi_of(8, big), NULL),
			 SPUR_OK);
	assert_true(funcgraph_compile(g, f));
}

static void test_funcgraph(void **state)
{
	struct funcgraph_record r;
	struct funcgraph g;
	uint8_t rec[64];
	struct arena a;

	(void)state;
	for (int big = 0; big < 2; big++) {
		arena_init(&a);
		memset(rec, 0, sizeof(rec));
		/* 6.18's entry; before that there were no arguments. */
		make_graph(&g, &a, "funcgraph_entry",
			   "unsigned long func:8:8:0;unsigned int depth:16:4:0;unsigned long "
			   "args[]:24:0:0",
			   big);
		case_put(rec + 8, 0xffffffff81000000, 8, big);
		case_put(rec + 16, 3, 4, big);
		case_put(rec + 24, 11, 8, big);
		case_put(rec + 32, 22, 8, big);
		assert_false(g.is_exit);
		assert_true(funcgraph_read(&g, rec, 40, &r));
		assert_true(r.func == 0xffffffff81000000 && r.depth == 3 && r.nargs == 2);
		assert_true(funcgraph_arg(&g, &r, 0) == 11 && funcgraph_arg(&g, &r, 1) == 22);
		assert_true(funcgraph_arg(&g, &r, 2) == 0);
		assert_true(funcgraph_read(&g, rec, 20, &r) && r.nargs == 0);
		assert_false(funcgraph_read(&g, rec, 19, &r));
		/* Exits: the old order, and the one with a return value. */
		make_graph(&g, &a, "funcgraph_exit",
			   "unsigned long func:8:8:0;unsigned long long calltime:16:8:0;unsigned "
			   "long long "
			   "rettime:24:8:0;unsigned long overrun:32:8:0;int depth:40:4:1",
			   big);
		case_put(rec + 16, 1000, 8, big);
		case_put(rec + 24, 1500, 8, big);
		case_put(rec + 32, 9, 8, big);
		case_put(rec + 40, 4, 4, big);
		assert_true(g.is_exit && funcgraph_read(&g, rec, 44, &r));
		assert_true(r.depth == 4 && r.calltime == 1000 && r.rettime == 1500 &&
			    r.overrun == 9 && r.retval == 0);
		make_graph(&g, &a, "funcgraph_exit",
			   "unsigned long func:8:8:0;unsigned long retval:16:8:0;int "
			   "depth:24:4:1;unsigned int "
			   "overrun:28:4:0",
			   big);
		case_put(rec + 24, 5, 4, big);
		assert_true(funcgraph_read(&g, rec, 32, &r) && r.retval == 1000 && r.depth == 5);
		arena_free(&a);
	}
}

static void test_not_funcgraph(void **state)
{
	static const char *const texts[] = {
		"name: funcgraph_entry\nID: 1\n",
		"name: other\nID: 1\n\tfield:unsigned long func;\toffset:8;\tsize:8;\n"
	};
	struct funcgraph g;
	struct tracefmt f;
	struct arena a;

	(void)state;
	arena_init(&a);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(
			tracefmt_parse(&f, &a, text_of(texts[i]), "ftrace", abi_of(8, false), NULL),
			SPUR_OK);
		assert_false(funcgraph_compile(&g, &f));
	}
	arena_free(&a);
}

/* ---- bad input */

/* A format from a copy of exactly its bytes, run over a record of exactly its bytes. */
static void try_both(const char *text, size_t size, const uint8_t *rec, uint32_t len, bool big)
{
	char *copy = mem_alloc(size ? size : 1);
	uint8_t *bytes = mem_alloc(len ? len : 1);
	struct spur_args args = { 0 };
	struct funcgraph g;
	struct tracefmt f;
	struct arena a;

	arena_init(&a);
	memcpy(copy, text, size);
	memcpy(bytes, rec, len);
	if (tracefmt_parse(&f, &a, text_make(copy, size), "t", abi_of(8, big), NULL) != SPUR_FAIL) {
		text_of_record(&f, bytes, len, NULL);
		assert_int_not_equal(tracefmt_args(&f, bytes, len, true, &args), SPUR_FAIL);
		funcgraph_compile(&g, &f);
	}
	spur_args_free(&args);
	arena_free(&a);
	mem_free(bytes);
	mem_free(copy);
}

static void test_truncated(void **state)
{
	struct tracefmt_made m;

	(void)state;
	for (size_t i = 0; i < CASES; i++) {
		case_make(&tracefmt_cases[i], i & 1, &m);
		for (uint32_t n = 0; n <= m.len; n++)
			try_both(m.format, strlen(m.format), m.rec, n, i & 1);
		for (size_t n = 0; n < strlen(m.format); n += 1 + n % 3)
			try_both(m.format, n, m.rec, m.len, i & 1);
	}
}

static void test_mutated(void **state)
{
	static const char signs[] = "(){}[]\",;:*%&|<>!?~-+0 9zR.'\\\n";
	struct tracefmt_made m;
	uint32_t seed = 1;

	(void)state;
	for (size_t i = 0; i < CASES * 60; i++) {
		case_make(&tracefmt_cases[i % CASES], i & 1, &m);
		for (int k = 0; k < 3; k++) {
			seed = seed * 1664525 + 1013904223;
			m.format[(seed >> 8) % strlen(m.format)] =
				signs[(seed >> 3) % (sizeof(signs) - 1)];
			m.rec[(seed >> 16) % m.len] ^= (uint8_t)(seed >> 24);
		}
		try_both(m.format, strlen(m.format), m.rec, m.len, i & 1);
	}
}

static void test_no_memory(void **state)
{
	struct spur_error err;
	struct tracefmt_made m;
	struct tracefmt f;
	struct arena a;

	(void)state;
	for (size_t i = 0; i < CASES; i++) {
		enum spur_status s;
		uint64_t n = 0, used;

		case_make(&tracefmt_cases[i], false, &m);
		do {
			arena_init(&a);
			mem_fail_at(++n);
			s = tracefmt_parse(&f, &a, text_of(m.format), "t", abi_of(8, false), &err);
			used = mem_count();
			mem_fail_at(0);
			assert_int_equal(s, used < n ? SPUR_OK : SPUR_FAIL);
			arena_free(&a);
		} while (s != SPUR_OK);
		assert_true(n > 1);
	}
}

/* ---- recorded data */

static char *load(const char *path, const char *name, size_t *size)
{
	char full[4096], *data = NULL;
	FILE *file;
	long n;

	snprintf(full, sizeof(full), "%s/%s", path, name);
	file = fopen(full, "rb");
	if (!file)
		return NULL;
	if (fseek(file, 0, SEEK_END) == 0 && (n = ftell(file)) > 0) {
		rewind(file);
		data = malloc((size_t)n + 1);
		*size = fread(data, 1, (size_t)n, file);
		data[*size] = '\0';
	}
	fclose(file);
	return data;
}

/*
 * Each record of one CPU must have its line, in order, in uftrace's own dump. Returns the records.
 */
static size_t compare_cpu(const struct kernhdr *h, const char *dir, const char *name,
			  const char *dump)
{
	size_t size = 0, count = 0;
	char *data = load(dir, name, &size);
	const char *line = strstr(dump, name);
	struct diag_log log;
	struct source *src;
	struct ring_record rec;
	struct ring ring;

	assert_true(data && line);
	diag_init(&log);
	assert_int_equal(source_memory(&src, name, data, size, NULL, NULL), SPUR_OK);
	for (ring_init(&ring, &h->layout, src, name, &log); ring_next(&ring, &rec); count++) {
		const struct tracefmt *f =
			kernhdr_format(h, field_u64(h->type, rec.data, rec.size));
		char want[300], got[4096];
		const char *end;

		assert_non_null(f);
		snprintf(want, sizeof(want), "\n%llu.%09llu ",
			 (unsigned long long)rec.time / 1000000000,
			 (unsigned long long)rec.time % 1000000000);
		line = strstr(line, want);
		assert_non_null(line);
		line++;
		end = strchr(line, '\n');
		snprintf(want, sizeof(want), "[event] %s:%s(%u) ", f->system, f->name, f->id);
		line = strstr(line, want);
		assert_true(line && line < end);
		line += strlen(want);
		snprintf(got, sizeof(got), "%.*s", (int)(end - line), line);
		assert_string_equal(text_of_record(f, rec.data, rec.size, NULL), got);
		line = end;
	}
	assert_int_equal(diag_count(&log, DIAG_DAMAGE), 0);
	diag_free(&log);
	source_close(src);
	free(data);
	return count;
}

static void test_recorded(void **state)
{
	const char *traces = getenv("SPUR_TRACES");
	char dir[4096], out[4096], *header, *dump;
	size_t size = 0, dump_size = 0;
	struct diag_log log;
	struct kernhdr h;
	struct arena a;

	(void)state;
	if (!traces)
		traces = "../shared/traces";
	snprintf(dir, sizeof(dir), "%s/uftrace/ev-kernel", traces);
	snprintf(out, sizeof(out), "%s/uftrace/ev-kernel.out", traces);
	header = load(dir, "kernel_header", &size);
	dump = load(out, "dump-v.txt", &dump_size);
	if (!header || !dump) {
		free(header);
		free(dump);
		print_message("no recorded outputs: set SPUR_TRACES\n");
		skip();
	}
	diag_init(&log);
	arena_init(&a);
	assert_true(kernhdr_parse(&h, &a, text_make(header, size), "kernel_header", &log));
	assert_int_equal(diag_count(&log, DIAG_DAMAGE) + diag_count(&log, DIAG_WARN), 0);
	assert_int_equal(h.nformats, 8);
	assert_int_equal(compare_cpu(&h, dir, "kernel-cpu0.dat", dump) +
				 compare_cpu(&h, dir, "kernel-cpu1.dat", dump),
			 877);
	kernhdr_free(&h);
	arena_free(&a);
	diag_free(&log);
	free(header);
	free(dump);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),	      cmocka_unit_test(test_names),
		cmocka_unit_test(test_long_of_4),     cmocka_unit_test(test_not_understood),
		cmocka_unit_test(test_bounds),	      cmocka_unit_test(test_format),
		cmocka_unit_test(test_args),	      cmocka_unit_test(test_funcgraph),
		cmocka_unit_test(test_not_funcgraph), cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_mutated),	      cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
