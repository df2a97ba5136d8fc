/* Pages that are given back: what was read stays readable, whatever is mapped and unmapped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <stdio.h>
#include <sys/mman.h>

#include "base/resident.h"

enum { FILES = 5, SMALL = 100000, LARGE = 24 << 20, STEP = 1 << 20 };

static uint8_t byte_of(unsigned file, size_t at)
{
	return (uint8_t)(file * 31 + at / 4096);
}

/* Maps a file whose bytes are those of byte_of(). */
static uint8_t *map(unsigned file, size_t size)
{
	FILE *const f = tmpfile();
	uint8_t *p;

	assert_non_null(f);
	for (size_t at = 0; at < size; at++)
		putc_unlocked(byte_of(file, at), f);
	assert_int_equal(fflush(f), 0);
	p = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fileno(f), 0);
	assert_true(p != MAP_FAILED);
	fclose(f);
	return p;
}

static void read_all(unsigned file, const uint8_t *p, size_t size)
{
	for (size_t at = 0; at < size; at++)
		if (p[at] != byte_of(file, at))
			fail_msg("file %u: byte %zu is %u", file, at, p[at]);
}

/* Files that end in any order leave nothing behind of which a later one is taken for a part. */
static void test_small(void **state)
{
	(void)state;
	srand(1);
	for (int run = 0; run < 200; run++) {
		uint8_t *p[FILES];

		for (unsigned i = 0; i < FILES; i++) {
			p[i] = map(i, SMALL);
			resident_passed(p[i], SMALL, 0, 1 + (unsigned)rand() % SMALL);
		}
		for (unsigned n = FILES; n; n--) {
			const unsigned k = (unsigned)rand() % n;

			resident_unmap(p[k], SMALL);
			p[k] = p[n - 1];
			for (unsigned i = 0; i < n - 1 && rand() % 4 == 0; i++)
				resident_passed(p[i], SMALL, 0, SMALL);
		}
	}
}

static void test_large(void **state)
{
	uint8_t *const p = map(0, LARGE), *const q = map(1, SMALL);

	(void)state;
	for (size_t at = 0; at < LARGE; at += STEP) {
		resident_passed(p, LARGE, at, at + STEP);
		resident_passed(q, SMALL, 0, SMALL);
	}
	read_all(0, p, LARGE);
	read_all(1, q, SMALL);
	resident_unmap(p, LARGE);
	resident_passed(q, SMALL, 0, SMALL);
	resident_unmap(q, SMALL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
