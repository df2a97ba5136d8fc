/* The symbol table of model/symbol.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "model/symbol/symbol.h"

static void add(struct symtab *t, uint64_t addr, uint64_t size, const char *name)
{
	assert_true(symtab_add(t, addr, size, 'T', name, strlen(name)));
}

static const char *name_at(const struct symtab *t, uint64_t addr)
{
	const struct symbol *s = symtab_find(t, addr);

	return s ? s->name : "-";
}

static void test_empty(void **state)
{
	struct symtab t;

	(void)state;
	symtab_init(&t);
	assert_null(symtab_find(&t, 0));
	symtab_sort(&t);
	assert_null(symtab_find(&t, 0));
	assert_null(symtab_find(&t, UINT64_MAX));
	symtab_free(&t);
}

static void test_ranges(void **state)
{
	struct symtab t;

	(void)state;
	symtab_init(&t);
	add(&t, 0x200, 0x10, "b");
	add(&t, 0x100, 0x20, "a");
	add(&t, 0x300, 0, "c");
	add(&t, 0x340, 0, "d");
	symtab_sort(&t);
	assert_int_equal(t.count, 4);
	assert_string_equal(name_at(&t, 0xff), "-");
	assert_string_equal(name_at(&t, 0x100), "a");
	assert_string_equal(name_at(&t, 0x11f), "a");
	assert_string_equal(name_at(&t, 0x120), "-");
	assert_string_equal(name_at(&t, 0x20f), "b");
	assert_string_equal(name_at(&t, 0x210), "-");
	/* Size 0: up to the next one; the last one has none. */
	assert_string_equal(name_at(&t, 0x33f), "c");
	assert_string_equal(name_at(&t, 0x340), "-");
	assert_int_equal(t.syms[2].size, 0x40);
	assert_int_equal(t.syms[3].size, 0);
	symtab_free(&t);
}

static void test_equal_addresses(void **state)
{
	struct symtab t;

	(void)state;
	symtab_init(&t);
	add(&t, 0x10, 0, "first");
	add(&t, 0x10, 0, "second");
	add(&t, 0x10, 4, "third");
	add(&t, 0x20, 1, "next");
	symtab_sort(&t);
	assert_string_equal(t.syms[0].name, "first");
	assert_string_equal(t.syms[1].name, "second");
	assert_string_equal(t.syms[2].name, "third");
	assert_int_equal(t.syms[0].size, 0x10);
	assert_int_equal(t.syms[1].size, 0x10);
	/* Of several the last; behind its end the one before. */
	assert_string_equal(name_at(&t, 0x13), "third");
	assert_string_equal(name_at(&t, 0x14), "second");
	symtab_free(&t);
}

static void test_nested(void **state)
{
	struct symtab t;
	char name[16];

	(void)state;
	symtab_init(&t);
	add(&t, 0x1000, 0x1000, "outer");
	for (uint64_t i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "in%u", (unsigned)i);
		add(&t, 0x1010 + i * 16, 8, name);
	}
	add(&t, 0x1900, 0x100, "mid");
	add(&t, 0x1910, 0x10, "deep");
	symtab_sort(&t);
	assert_string_equal(name_at(&t, 0x1008), "outer");
	assert_string_equal(name_at(&t, 0x1010 + 99 * 16), "in99");
	assert_string_equal(name_at(&t, 0x1018 + 99 * 16), "outer");
	assert_string_equal(name_at(&t, 0x1918), "deep");
	assert_string_equal(name_at(&t, 0x1920), "mid");
	assert_string_equal(name_at(&t, 0x1a00), "outer");
	assert_string_equal(name_at(&t, 0x2000), "-");
	symtab_free(&t);
}

static void test_ends_of_memory(void **state)
{
	struct symtab t;

	(void)state;
	symtab_init(&t);
	add(&t, 0, 1, "zero");
	add(&t, 0x1000, UINT64_MAX, "past the end");
	add(&t, 0x2000, 8, "inside");
	add(&t, UINT64_MAX, 1, "last");
	symtab_sort(&t);
	assert_string_equal(name_at(&t, 0), "zero");
	assert_string_equal(name_at(&t, 1), "-");
	assert_string_equal(name_at(&t, 0x2007), "inside");
	assert_string_equal(name_at(&t, 0x2008), "past the end");
	assert_string_equal(name_at(&t, UINT64_MAX - 1), "past the end");
	assert_string_equal(name_at(&t, UINT64_MAX), "last");
	symtab_free(&t);
}

/* Against a search through all: the last symbol that starts at or before and holds the address. */
static void test_all(void **state)
{
	uint32_t seed = 7;

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct symtab t;

		symtab_init(&t);
		for (int i = 0; i < 40; i++) {
			seed = seed * 1664525 + 1013904223;
			add(&t, seed >> 16 & 127, 1 + (seed >> 24 & 31), "s");
		}
		symtab_sort(&t);
		for (uint64_t addr = 0; addr < 170; addr++) {
			const struct symbol *want = NULL;

			for (size_t i = 0; i < t.count; i++)
				if (t.syms[i].addr <= addr &&
				    addr - t.syms[i].addr < t.syms[i].size)
					want = &t.syms[i];
			assert_ptr_equal(symtab_find(&t, addr), want);
		}
		symtab_free(&t);
	}
}

static void test_names_are_copied(void **state)
{
	struct symtab t;
	char name[] = "abcdef";

	(void)state;
	symtab_init(&t);
	assert_true(symtab_add(&t, 1, 1, 't', name, 3));
	memset(name, 'x', sizeof(name));
	symtab_sort(&t);
	assert_string_equal(t.syms[0].name, "abc");
	assert_int_equal(t.syms[0].type, 't');
	symtab_free(&t);
	symtab_free(&t);
}

static void test_no_memory(void **state)
{
	(void)state;
	for (uint64_t n = 1; n < 12; n++) {
		struct symtab t;
		size_t added = 0;

		symtab_init(&t);
		mem_fail_at(n);
		for (uint64_t i = 0; i < 3000; i++)
			added += symtab_add(&t, i * 16, 16, 'T', "some_name_that_is_long", 22);
		mem_fail_at(0);
		assert_int_equal(t.count, added);
		symtab_sort(&t);
		for (size_t i = 0; i < t.count; i++)
			assert_string_equal(t.syms[i].name, "some_name_that_is_long");
		symtab_free(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_equal_addresses),
		cmocka_unit_test(test_nested),
		cmocka_unit_test(test_ends_of_memory),
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_names_are_copied),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
