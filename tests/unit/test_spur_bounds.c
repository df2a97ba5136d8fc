/* Recordings that claim more than they have: memory and time stay in proportion to the file. */
#include "unit/spur_file.h"

#include <malloc.h>

/* Bytes of the heap that are in use. Sanitizers' heaps say 0. */
static size_t heap_used(void)
{
	const struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

/* Reads all rows. Returns how much larger the heap was with the trace open than before it. */
static size_t heap_read(size_t *rows)
{
	static const struct spur_options by_time = SPUR_OPTIONS();
	const size_t before = heap_used();
	const struct spur_event *batch;
	struct spur_trace *t;
	size_t n, most;

	t = file_open(&by_time);
	assert_non_null(t);
	*rows = 0;
	while (spur_next(t, &batch, &n) == SPUR_OK)
		*rows += n;
	most = heap_used();
	spur_close(t);
	return most > before ? most - before : 0;
}

/* Sites and functions have the largest numbers there are; two belong to one class. */
static void test_numbers(void **state)
{
	enum { MOST = (1 << 24) - 1 };
	size_t rows;

	(void)state;
	/* SPEC spur/site, SPEC spur/function */
	chunk(SPB_CHUNK_DESCRIPTORS, 0, PAIR_MONO);
	site(MOST, SPB_SITE_INSTANT, "last", "2", 0);
	site(MOST - 1, SPB_SITE_INSTANT, "near", "", 0);
	site(MOST, SPB_SITE_INSTANT, "not used", "", 0);
	site(1, SPB_SITE_INSTANT, "first", "", 0);
	site(0, SPB_SITE_INSTANT, "none", "", 0);
	site(MOST + 1, SPB_SITE_INSTANT, "too large", "", 0);
	function(MOST, 0x100, "far");
	function(2, 0x200, "close");
	records(1, PAIR_MONO);
	word(SPB_EVENT, 1, MOST, PAIR_MONO + 1);
	put(9, 8);
	word(SPB_EVENT, 0, MOST - 1, PAIR_MONO + 2);
	word(SPB_EVENT, 0, 1, PAIR_MONO + 3);
	word(SPB_EVENT, 0, MOST - 2, PAIR_MONO + 4);
	word(SPB_ENTER, 0, MOST, PAIR_MONO + 5);
	word(SPB_EXIT, 0, 2, PAIR_MONO + 6);
	expect("1 INSTANT last @71 a=9\n"
	       "2 INSTANT near @71\n"
	       "3 INSTANT first @71\n"
	       "4 NATIVE unknown record @71\n"
	       "5 BEGIN far @71\n"
	       "6 END close @71\n",
	       "spur/bad-descriptor 2 at 4320 lost 72\n"
	       "spur/unknown-record 1 at 12384\n");
	/* An array of all numbers would have 1 GiB. */
	assert_in_range(heap_read(&rows), 0, 4 << 20);
	assert_int_equal(rows, 6);
}

/*
 * Every 16th number, in descending order. An array of all numbers would have 16 times as many
 * sites, of 64 bytes each.
 */
static void test_sparse_numbers(void **state)
{
	enum { SITES = 3000, STEP = 16 };
	size_t rows;

	(void)state;
	for (uint32_t i = SITES; i > 0; i--) {
		if (!sequence || file.len + 64 > chunk_at + CHUNK ||
		    file.len % 4096 + 64 > 4096)
			chunk(SPB_CHUNK_DESCRIPTORS, 0, PAIR_MONO);
		site(i * STEP, SPB_SITE_INSTANT, "s", "", 0);
	}
	for (uint32_t i = 0; i < SITES; i++) {
		if (!i || file.len + 8 > chunk_at + CHUNK)
			records(1, PAIR_MONO);
		word(SPB_EVENT, 0, (i + 1) * STEP, PAIR_MONO + i);
	}
	assert_in_range(heap_read(&rows), 0, (size_t)SITES * STEP * 64 * 2 / 3);
	assert_int_equal(rows, SITES);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, file_begin, file_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_numbers),
		TEST(test_sparse_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
