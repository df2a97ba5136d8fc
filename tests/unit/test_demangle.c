/* model/demangle.h against tests/golden/demangle, and against names made to hurt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/mem.h"
#include "model/symbol/demangle.h"

enum { LINES = 2000, FORMS = 4 };

struct line {
	char *raw, *simple, *full;
};

static struct line lines[LINES];
static size_t nlines;

static int load(void **state)
{
	FILE *f = fopen("tests/golden/demangle/simple.txt", "r");
	char *text = NULL;
	size_t cap = 0;
	ssize_t n;

	(void)state;
	assert_non_null(f);
	while ((n = getline(&text, &cap, f)) > 0) {
		char *tab, *tab2;

		if (text[0] == '#')
			continue;
		assert_true(nlines < LINES && text[n - 1] == '\n');
		text[n - 1] = 0;
		tab = strchr(text, '\t');
		assert_non_null(tab);
		tab2 = strchr(tab + 1, '\t');
		assert_non_null(tab2);
		*tab = *tab2 = 0;
		lines[nlines++] = (struct line){ strdup(text), strdup(tab + 1), strdup(tab2 + 1) };
	}
	free(text);
	return fclose(f);
}

static int unload(void **state)
{
	(void)state;
	for (size_t i = 0; i < nlines; i++) {
		free(lines[i].raw);
		free(lines[i].simple);
		free(lines[i].full);
	}
	return 0;
}

static void expect(const char *raw, enum demangle_form form, const char *shown)
{
	struct out o;

	out_to_memory(&o);
	out_str(&o, "x");
	demangle(&o, raw, strlen(raw), form);
	out_char(&o, 0);
	assert_string_equal(o.buf + 1, shown);
	out_free(&o);
}

/* Template arguments without parameters: the names are those of c++filt -p. */
static void test_names(void **state)
{
	static const char *const cases[][2] = {
		{ "_Zli3_mse", "operator\"\" _ms" },
		{ "_Z4tmplIlLi7EEvT_", "tmpl<long, 7>" },
		{ "_Z4tmplIcLi34EEvT_", "tmpl<char, 34>" },
		{ "_ZlsILi3EEvv", "operator<< <3>" },
		{ "_ZN1AC1Ei", "A::A" },
		{ "_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()" },
		{ "_ZN5OuterIiE5InnerIdE1fEi", "Outer<int>::Inner<double>::f" },
		{ "_ZNK3Foo3barEv", "Foo::bar" },
		{ "_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)::foo" },
		{ "_Z1fIPFviEEvT_", "f<void (*)(int)>" },
		{ "_ZN3fooB5cxx11Ev", "foo[abi:cxx11]" },
		{ "_ZN1AcviEv", "A::operator int" },
		{ "_ZZN3fooIiE3barEiEN5Local3runEv", "foo<int>::bar(int)::Local::run" },
		{ "_Znwm@GLIBCXX_3.4", "operator new@GLIBCXX_3.4" },
		/* What c++filt leaves out or as it is. */
		{ "_ZN1A1fEv.cold", "A::f [clone .cold]" },
		{ "_GLOBAL__sub_I__Z3foov", "_GLOBAL__sub_I_foo" },
		/* Rust: hashes are not names. */
		{ "_RNvCs1234_7mycrate3foo", "mycrate::foo" },
		{ "_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>" },
		{ "_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write" },
		/* No mangled names. */
		{ "main", "main" },
		{ "_Z", "_Z" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect(cases[i][0], DEMANGLE_NAME, cases[i][1]);
}

/* The name is a part of the full form: what else that has stands around it. */
static void test_name_in_full(void **state)
{
	size_t found = 0;

	(void)state;
	for (size_t i = 0; i < nlines; i++) {
		struct out name, full;

		if (strpbrk(lines[i].raw, ".@") || strncmp(lines[i].raw, "_Z", 2) != 0)
			continue;
		out_to_memory(&name);
		out_to_memory(&full);
		demangle(&name, lines[i].raw, strlen(lines[i].raw), DEMANGLE_NAME);
		demangle(&full, lines[i].raw, strlen(lines[i].raw), DEMANGLE_FULL);
		out_char(&name, 0);
		out_char(&full, 0);
		if (strcmp(full.buf, lines[i].raw) != 0) {
			/* libiberty leaves it there in the name of a default argument's lambda. */
			if (name.len > 7 && strcmp(name.buf + name.len - 7, " const") == 0)
				name.buf[name.len - 7] = 0;
			if (!strstr(full.buf, name.buf))
				fail_msg("%s is not in %s", name.buf, full.buf);
			found++;
		}
		out_free(&name);
		out_free(&full);
	}
	assert_true(found > 200);
}

static void test_golden(void **state)
{
	(void)state;
	assert_true(nlines > 400);
	for (size_t i = 0; i < nlines; i++) {
		expect(lines[i].raw, DEMANGLE_SIMPLE, lines[i].simple);
		expect(lines[i].raw, DEMANGLE_NONE, lines[i].raw);
		if (strcmp(lines[i].full, "-"))
			expect(lines[i].raw, DEMANGLE_FULL, lines[i].full);
	}
}

static void test_versions(void **state)
{
	(void)state;
	expect("_Znwm@GLIBCXX_3.4", DEMANGLE_FULL, "operator new(unsigned long)@GLIBCXX_3.4");
	expect("_ZN3app3runEi@@APP_1", DEMANGLE_FULL, "app::run(int)@@APP_1");
	expect("_ZN3app3runEi@@APP_1", DEMANGLE_SIMPLE, "app::run");
	expect("memcpy@GLIBC_2.14", DEMANGLE_FULL, "memcpy@GLIBC_2.14");
}

/* Any name, in each form, shows something: at most so much. `name` need not end in NUL. */
static void survive(const char *name, size_t len)
{
	char *copy =
		malloc(len ? len : 1); /* exactly as long, so that reads past its end are found */
	struct out o;

	assert_non_null(copy);
	memcpy(copy, name, len);
	out_to_memory(&o);
	for (int form = 0; form < FORMS; form++) {
		out_clear(&o);
		demangle(&o, copy, len, (enum demangle_form)form);
		assert_int_equal(o.error, 0);
		assert_true(o.len > 0 || len == 0);
		assert_true(o.len <= 64 * len + (1 << 17));
		if (form == DEMANGLE_NONE)
			assert_true(o.len == len && (len == 0 || !memcmp(o.buf, name, len)));
	}
	out_free(&o);
	free(copy);
}

static void test_prefixes(void **state)
{
	(void)state;
	for (size_t i = 0; i < nlines; i++)
		for (size_t n = 0; n <= strlen(lines[i].raw); n++)
			survive(lines[i].raw, n);
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* clang-format off */
static const char *const pieces[] = {
	"E", "I", "N", "S_", "S0_", "St", "T_", "C1", "D0", "CI2", "L_Z", "Lj0E", "X", "J", "Dt",
	"DT", "K", "P", "F", "v", "3foo", "B1a", "Ut_", "Ul", "Z", "Es", "Ed_", "_", "cv", "li",
	"gs", "sr", "on", "dn", "tl", "fp_", "TV", "TC", "GR", "Th8_", ".", "@", "$LT$", "$C",
	"..", "$u20$as$u20$", "17h0123456789abcdef", "U1a", "A_", "Dv4_", "Dv_", "D", "n", "0",
	"0x", "99999999999999999999", "4294967297", "R", "M", "Y", "B_", "B1_", "Bz_", "Kj1_",
	"G_", "L_", "W", "O", "u", "p", "s_", "\x01", "\xff",
};
/* clang-format on */

static void test_mutations(void **state)
{
	char name[1024];
	uint32_t seed = 1;

	(void)state;
	for (size_t i = 0; i < nlines * 60; i++) {
		size_t len = strlen(lines[i % nlines].raw);

		len = len < 700 ? len : 700;
		memcpy(name, lines[i % nlines].raw, len);
		for (uint32_t k = next_random(&seed) % 4 + 1; k; k--) {
			const char *piece =
				pieces[next_random(&seed) % (sizeof(pieces) / sizeof(pieces[0]))];
			size_t n = strlen(piece),
			       at = 2 + next_random(&seed) % (len > 2 ? len - 1 : 1);
			size_t drop = next_random(&seed) % 4;

			at = at < len ? at : len;
			drop = drop < len - at ? drop : len - at;
			memmove(name + at + n, name + at + drop, len - at - drop);
			memcpy(name + at, piece, n);
			len = len - drop + n;
		}
		survive(name, len);
	}
}

/*
 * `unit` over and over behind `head`, long enough for quadratic time to be felt and for the stack
 * to run out.
 */
static void repeated(const char *head, const char *unit, size_t total)
{
	char *name = malloc(total);
	size_t n = strlen(head);

	assert_non_null(name);
	memcpy(name, head, n);
	for (size_t i = n; i < total; i++)
		name[i] = unit[(i - n) % strlen(unit)];
	survive(name, total);
	free(name);
}

/* clang-format off */
static const char *const heads[] = {
	"_Z1f", "_Z", "_ZN", "_ZZ", "_R", "_RINvC1a1b", "_RNvXC1a", "_ZTV", "_Z1fIX",
};
static const char *const units[] = {
	"P", "F", "FR", "N", "I", "Z", "J", "X", "L_Z", "A_", "AX", "M", "Dv_", "Dp", "DT", "Dw",
	"DO", "S", "St", "T", "TpTp", "TtTt", "Ul", "UlTt", "C1", "CI1", "cv", "li", "gs", "cl",
	"sr", "srN", "pp_", "qu", "U1aI", "1aI", "1a", "1aB", "TW", "ZvE", "ZvEd_", "GTt", "Tc",
	"\xff", "0", "9", "n", "$", "N1aI", "1$", "4..$$", "3$C$", "S_", "K", "R", "Sh", "B_",
	"B1_", "NvB_", "NC", "M", "X", "Y", "YW", "INvC1a1b", "TB_", "D", "DNv", "Fu", "Kp",
	"KB_", "KTlE", "FK", "RL_", "WR", "WO",
};
/* clang-format on */

static void test_deep(void **state)
{
	const clock_t start = clock();

	(void)state;
	for (size_t h = 0; h < sizeof(heads) / sizeof(heads[0]); h++)
		for (size_t u = 0; u < sizeof(units) / sizeof(units[0]); u++) {
			repeated(heads[h], units[u], 3000);
			repeated(heads[h], units[u], 60000);
		}
	repeated("_Z1f", "P", 1 << 20);
	/*
	 * Some 1,300 names of 60,000 bytes: seconds if time is linear, under sanitizers too; hours
	 * if it is not.
	 */
	assert_true((clock() - start) / CLOCKS_PER_SEC < 120);
}

static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/* Each substitution stands for two of the one before: 60 of them would show 2^60 names. */
static void test_doubling(void **state)
{
	const clock_t start = clock();
	char name[4000];
	size_t n = 0, at[50];

	(void)state;
	n = (size_t)snprintf(name, sizeof(name), "_Z1fSt4pairIiiE");
	for (int i = 0; i < 34; i++) {
		char id = (char)(i < 10 ? '0' + i : 'A' + i - 10);

		n += (size_t)snprintf(name + n, sizeof(name) - n, "S_IS%c_S%c_E", id, id);
	}
	survive(name, n);

	n = (size_t)snprintf(name, sizeof(name), "_RINvC1a1b");
	for (size_t i = 0; i < 50; i++) {
		size_t v = i ? at[i - 1] - 1 : 0;

		at[i] = n - 2;
		n += i ? (size_t)snprintf(name + n, sizeof(name) - n, "TB%c%c_B%c%c_E",
					  digits[v / 62], digits[v % 62], digits[v / 62],
					  digits[v % 62])
		       : (size_t)snprintf(name + n, sizeof(name) - n, "TNvC1c1dNvC1c1eE");
	}
	survive(name, n);

	/* The same with paths, which the simple form follows. */
	n = (size_t)snprintf(name, sizeof(name), "_RINvC1a1b");
	for (size_t i = 0; i < 50; i++) {
		size_t v = i ? at[i - 1] - 1 : 0;

		at[i] = n - 2;
		n += i ? (size_t)snprintf(name + n, sizeof(name) - n, "INvC1a1bB%c%c_B%c%c_E",
					  digits[v / 62], digits[v % 62], digits[v / 62],
					  digits[v % 62])
		       : (size_t)snprintf(name + n, sizeof(name) - n, "INvC1a1biE");
	}
	survive(name, n);
	assert_true((clock() - start) / CLOCKS_PER_SEC < 20);
}

static void test_nul_and_empty(void **state)
{
	struct out o;

	(void)state;
	survive("", 0);
	survive("_ZN3a\0bE", 8);
	out_to_memory(&o);
	demangle(&o, "_Z1f\0v", 6, DEMANGLE_SIMPLE);
	assert_true(o.len == 6 && !memcmp(o.buf, "_Z1f\0v", 6));
	out_free(&o);
}

/* Memory that runs out leaves an error, or the name. */
static void test_no_memory(void **state)
{
	char name[6000];
	size_t n = (size_t)snprintf(name, sizeof(name), "_ZN3app4ToolC1E");

	(void)state;
	memset(name + n, 'i', sizeof(name) - n);
	for (int form = 0; form < FORMS; form++) {
		for (uint64_t k = 1; k < 8; k++) {
			struct out o;

			out_to_memory(&o);
			mem_fail_at(k);
			demangle(&o, name, sizeof(name), (enum demangle_form)form);
			mem_fail_at(0);
			assert_true(o.error || o.len == sizeof(name) ||
				    o.len == strlen("app::Tool::Tool"));
			out_free(&o);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),	      cmocka_unit_test(test_name_in_full),
		cmocka_unit_test(test_golden),	      cmocka_unit_test(test_versions),
		cmocka_unit_test(test_prefixes),      cmocka_unit_test(test_mutations),
		cmocka_unit_test(test_deep),	      cmocka_unit_test(test_doubling),
		cmocka_unit_test(test_nul_and_empty), cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
