/* Holes of files: what is taken for one reads as zero; they are exact if the system says them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/holes.h"
#include "base/os.h"

enum { SIZE = 4 << 20, PIECE = 256 << 10 };

/* A file without a name that has a byte at each of some offsets. */
static int file_make(const uint64_t *at, size_t n)
{
	char path[] = "holes-XXXXXX";
	const int fd = mkstemp(path);

	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(ftruncate(fd, SIZE), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(pwrite(fd, "x", 1, (off_t)at[i]), 1);
	return fd;
}

static bool system_says(int fd)
{
	return lseek(fd, 0, SEEK_HOLE) < SIZE;
}

/* Nothing behind the end of the data is other than zero, whatever the range. */
static void check_zero(const struct holes *h, int fd)
{
	static char bytes[SIZE], zeros[SIZE];

	assert_int_equal(pread(fd, bytes, SIZE, 0), SIZE);
	for (uint64_t begin = 0; begin < SIZE; begin += PIECE / 3)
		for (uint64_t end = begin + 1; end <= SIZE; end += PIECE / 2) {
			const uint64_t at = holes_data_end(h, begin, end);

			assert_in_range(at, begin, end);
			assert_int_equal(memcmp(bytes + at, zeros, end - at), 0);
		}
}

static void test_pieces(void **state)
{
	/* The first and the last byte, one in the middle, and two chunks whose tails are empty. */
	static const uint64_t at[] = { 0, 4 * PIECE, 5 * PIECE + 5000, 8 * PIECE + 7, SIZE - 1 };
	const int fd = file_make(at, sizeof(at) / sizeof(at[0]));
	struct holes *h;

	(void)state;
	lseek(fd, 17, SEEK_SET);
	h = holes_find(fd, SIZE);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
	check_zero(h, fd);
	if (system_says(fd)) {
		/* Blocks are of 64 KiB at most. */
		assert_in_range(holes_data_end(h, 4 * PIECE, 5 * PIECE), 4 * PIECE + 1,
				4 * PIECE + (64 << 10));
		assert_in_range(holes_data_end(h, 5 * PIECE, 6 * PIECE), 5 * PIECE + 5001,
				5 * PIECE + (128 << 10));
		assert_int_equal(holes_data_end(h, 6 * PIECE, 7 * PIECE), 6 * PIECE);
		assert_int_equal(holes_data_end(h, SIZE - PIECE, SIZE), SIZE);
		assert_int_equal(holes_advice(h, SIZE), MADV_RANDOM);
	}
	holes_free(h);
	close(fd);
}

static void test_none(void **state)
{
	const int fd = file_make(NULL, 0);
	static char bytes[SIZE];

	(void)state;
	memset(bytes, 1, sizeof(bytes));
	assert_int_equal(pwrite(fd, bytes, SIZE, 0), SIZE);
	assert_null(holes_find(fd, SIZE));
	assert_null(holes_find(fd, 0));
	assert_null(holes_find(-1, SIZE));
	assert_int_equal(holes_data_end(NULL, 5, 100), 100);
	assert_int_equal(holes_advice(NULL, SIZE), MADV_SEQUENTIAL);
	holes_free(NULL);
	close(fd);
}

/* A file that is all hole, and one whose size is less than it was said to be. */
static void test_all(void **state)
{
	const int fd = file_make(NULL, 0);
	struct holes *h = holes_find(fd, SIZE);

	(void)state;
	check_zero(h, fd);
	if (system_says(fd))
		assert_int_equal(holes_data_end(h, PIECE, SIZE), PIECE);
	holes_free(h);
	assert_int_equal(ftruncate(fd, PIECE), 0);
	h = holes_find(fd, SIZE);
	assert_in_range(holes_data_end(h, 0, SIZE), 0, SIZE);
	holes_free(h);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
