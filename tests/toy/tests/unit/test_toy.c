/* Toys are found by their first bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/format.h"

/* SPEC toy/torn: the golden `three` ends inside a record; here the head alone decides. */
static void test_probe(void **state)
{
	const struct probe p = { .path = "a", .head = (const uint8_t *)"TOY1", .len = 4 };
	struct spur_error err;

	(void)state;
	assert_string_equal(format_probe(&p, &err)->name, "toy");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_probe) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
