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

/* Begins another page or chunk of descriptors if this one has no room for `bytes`. */
static void room(size_t bytes)
{
	const size_t left = SPB_PAGE - file.len % SPB_PAGE;

	if (!sequence || (left < bytes && file.len + left >= chunk_at + CHUNK) ||
	    file.len >= chunk_at + CHUNK)
		chunk(SPB_CHUNK_DESCRIPTORS, 0, PAIR_MONO);
	else if (left < bytes)
		pad_to(file.len + left);
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
		room(64);
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

enum { MODULES = 300, CALLS = 900, SPACE = 4000 };

struct loaded {
	uint64_t begin, end, loaded;
	uint32_t number;
};

static uint32_t random_next(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % below;
}

static void module_put(const struct loaded *m, unsigned i)
{
	char path[16];

	snprintf(path, sizeof(path), "/no/%u", i);
	room(80);
	descriptor(SPB_MODULE);
	put(m->number, 8);
	put(m->begin, 8);
	put(m->end, 8);
	put(0, 8);
	put(m->loaded, 8);
	text("");
	text(path);
	descriptor_ends();
}

/* What spb_module_at() has to find, by its definition. Returns MODULES if nothing. */
static unsigned module_expected(const struct loaded *all, uint64_t addr, uint64_t ticks)
{
	unsigned last = MODULES, first = MODULES;

	for (unsigned i = 0; i < MODULES; i++) {
		if (addr < all[i].begin || addr >= all[i].end)
			continue;
		if (all[i].loaded <= ticks && (last == MODULES || all[i].loaded > all[last].loaded))
			last = i;
		if (first == MODULES || all[i].loaded < all[first].loaded)
			first = i;
	}
	return last < MODULES ? last : first;
}

static void row_check(struct spur_trace *t, const struct spur_event *row, const struct loaded *all,
		      uint64_t addr)
{
	const unsigned want = module_expected(all, addr, (uint64_t)row->ts);
	char path[16] = "";

	if (want < MODULES)
		snprintf(path, sizeof(path), "/no/%u", want);
	assert_string_equal(spur_string(t, trace_class(t, row->cls)->module, NULL), path);
}

/* Modules that overlap, loaded and unloaded in any order, against a search of all of them. */
static void test_module_search(void **state)
{
	static const struct spur_options by_time = SPUR_OPTIONS();
	struct loaded all[MODULES];
	uint64_t addrs[CALLS];
	const struct spur_event *rows;
	struct spur_trace *t;
	uint32_t seed = 1;
	size_t n, at = 0;

	(void)state;
	/* SPEC spur/module */
	for (unsigned i = 0; i < MODULES; i++) {
		all[i].begin = random_next(&seed, SPACE);
		all[i].end = all[i].begin + random_next(&seed, i % 2 ? SPACE / 100 : SPACE / 8);
		/* Times of loading differ, and are not in the order of the descriptors. */
		all[i].loaded = PAIR_MONO + i * 7 % MODULES * 3;
		all[i].number = i + 1;
		module_put(&all[i], i);
	}
	for (unsigned i = 0; i < MODULES; i += 3) {
		room(32);
		descriptor(SPB_UNLOAD);
		put(i + 1, 8);
		put(all[i].loaded + 50, 8);
		descriptor_ends();
	}
	for (unsigned i = 0; i < CALLS; i++) {
		if (!i || file.len + 16 > chunk_at + CHUNK)
			records(1, PAIR_MONO + i);
		addrs[i] = random_next(&seed, SPACE + SPACE / 8);
		word(SPB_ENTER, 1, 0, PAIR_MONO + i);
		put(addrs[i], 8);
	}
	t = file_open(&by_time);
	assert_non_null(t);
	while (spur_next(t, &rows, &n) == SPUR_OK)
		for (size_t i = 0; i < n; i++)
			row_check(t, &rows[i], all, addrs[at++]);
	assert_int_equal(at, CALLS);
	spur_close(t);
}

/* A function with a number is of the module that its descriptor names, whenever it is called. */
static void test_function_module(void **state)
{
	static const struct spur_options by_time = SPUR_OPTIONS();
	static const struct loaded all[] = { { 0x100, 0x200, PAIR_MONO, 1 },
					     { 0x100, 0x200, PAIR_MONO + 10, 2 },
					     { 0x300, 0x400, PAIR_MONO, 3 } };
	static const char *const want[] = { "/no/1", "/no/0", "/no/0", "/no/0", "/no/0", "" };
	const struct spur_event *rows;
	struct spur_trace *t;
	size_t n;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		module_put(&all[i], i);
	descriptor(SPB_UNLOAD);
	put(1, 8);
	put(PAIR_MONO + 5, 8);
	descriptor_ends();
	/* The module that the fourth names does not cover it, and none covers those behind it. */
	for (uint32_t i = 1; i <= 6; i++) {
		function(i, i >= 5 ? 0x500 : 0x180, "");
		set(descriptor_at + 12, (const uint32_t[]){ 2, 1, 0, 3, 1, 9 }[i - 1], 4);
	}
	records(1, PAIR_MONO);
	for (uint32_t i = 1; i <= 6; i++)
		word(SPB_ENTER, 0, i, PAIR_MONO + (i == 1 ? 2u : 20u + i));
	t = file_open(&by_time);
	assert_non_null(t);
	assert_int_equal(spur_next(t, &rows, &n), SPUR_OK);
	assert_int_equal(n, 6);
	for (size_t i = 0; i < n; i++)
		assert_string_equal(
			spur_string(t, trace_class(t, rows[i].cls)->module, NULL), want[i]);
	spur_close(t);
}

/* The heap that is in use once a function of each of the modules, all of one file, was called. */
static size_t images_heap(unsigned copies, const char *path)
{
	size_t rows, heap;

	for (unsigned i = 0; i < copies; i++) {
		room(80 + strlen(path));
		descriptor(SPB_MODULE);
		put(i + 1, 8);
		put((uint64_t)i << 32, 8);
		put((uint64_t)(i + 1) << 32, 8);
		put((uint64_t)i << 32, 8);
		put(PAIR_MONO, 8);
		text("");
		text(path);
		descriptor_ends();
	}
	for (unsigned i = 0; i < copies; i++) {
		if (!i || file.len + 16 > chunk_at + CHUNK)
			records(1, PAIR_MONO);
		word(SPB_ENTER, 1, 0, PAIR_MONO + i);
		put(((uint64_t)i << 32) + 16, 8);
	}
	heap = heap_read(&rows);
	assert_int_equal(rows, copies);
	return heap;
}

/* The symbols of a file are there once, however many modules were loaded from it. */
static void test_module_images(void **state)
{
	enum { COPIES = 400, EACH = 1024 };
	char path[4096];
	const ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	size_t one;

	/* SPEC spur/symbols */
	assert_true(len > 0);
	path[len] = '\0';
	one = images_heap(1, path);
	assert_int_equal(file_end(state), 0);
	assert_int_equal(file_begin(state), 0);
	assert_in_range(images_heap(COPIES, path), 0, one + (size_t)COPIES * EACH);
}

static void type(unsigned number, unsigned members)
{
	put(number, 1);
	text("");
	if (number == SPB_STRUCT)
		put(members, 2);
}

/* The descriptor of an instant with one argument, up to its type. */
static void instant(uint32_t id, const char *s)
{
	descriptor(SPB_SITE);
	put(id, 4);
	put(SPB_SITE_INSTANT, 1);
	put(1, 7);
	text("");
	text(s);
	text("");
}

static void empty_members(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		type(SPB_STRUCT, 0);
}

#define OPEN_10 "{{{{{{{{{{"
#define EMPTY_8 ", {}, {}, {}, {}, {}, {}, {}, {}"
#define EMPTY_64 EMPTY_8 EMPTY_8 EMPTY_8 EMPTY_8 EMPTY_8 EMPTY_8 EMPTY_8 EMPTY_8

/* Structures that have more values than the payload has bytes. */
static void test_values(void **state)
{
	(void)state;
	/* SPEC spur/values */
	chunk(SPB_CHUNK_DESCRIPTORS, 0, PAIR_MONO);
	instant(1, "wide");
	type(SPB_STRUCT, 200);
	for (unsigned i = 0; i < 200; i++)
		type(SPB_I64, 0);
	descriptor_ends();
	instant(2, "empty");
	type(SPB_STRUCT, 64);
	empty_members(64);
	descriptor_ends();
	instant(3, "not used");
	type(SPB_STRUCT, 65);
	empty_members(65);
	descriptor_ends();
	instant(4, "deep");
	type(SPB_ARRAY, 0);
	for (unsigned i = 0; i < 30; i++)
		type(SPB_STRUCT, i ? 1 : 65);
	type(SPB_I64, 0);
	empty_members(64);
	descriptor_ends();
	/* One word, and structures of 200. */
	records(1, PAIR_MONO);
	word(SPB_EVENT, 1, 1, PAIR_MONO + 1);
	put(7, 8);
	word(SPB_EVENT, 1, 3, PAIR_MONO + 2);
	put(7, 8);
	/* 900 elements of 95 values; then one of them. */
	word(SPB_EVENT, 15, 4, PAIR_MONO + 3);
	put((chunk_at + SPB_PAGE - file.len) / 8 - 1, 8);
	put(900, 8);
	pad_to(chunk_at + SPB_PAGE);
	word(SPB_MORE, 15, 0, PAIR_MONO + 3);
	put(SPB_PAGE / 8 - 2, 8);
	pad_to(chunk_at + CHUNK);
	records(1, PAIR_MONO + 3);
	word(SPB_EVENT, 2, 4, PAIR_MONO + 4);
	put(1, 8);
	put(5, 8);
	expect("1 INSTANT wide @71\n"
	       "2 NATIVE unknown record @71\n"
	       "3 INSTANT deep @71\n"
	       "4 INSTANT deep @71 [" OPEN_10 OPEN_10 OPEN_10
	       "5}}}}}}}}}}}}}}}}}}}}}}}}}}}}}" EMPTY_64 "}]\n",
	       "spur/bad-descriptor 1 at 5160 lost 360\nspur/unknown-record 1 at 12368\n");
}

/* Lengths have 63 bits, and sums of lost events end at 2^64 - 1. */
static void test_sums(void **state)
{
	static const struct spur_options by_time = SPUR_OPTIONS();
	static const int64_t want[] = { 5, INT64_MAX, INT64_MAX, INT64_MAX };
	const struct spur_event *rows;
	struct spur_trace *t;
	size_t n;

	(void)state;
	/* SPEC spur/site-has, SPEC spur/lost */
	set(SPB_LOST_AT, (uint64_t)1 << 63, 8);
	chunk(SPB_CHUNK_DESCRIPTORS, 0, PAIR_MONO);
	site(1, SPB_SITE_WHOLE, "whole", "", 0);
	set(descriptor_at + 15, 2, 1);
	records(1, PAIR_MONO);
	for (unsigned i = 0; i < 4; i++) {
		word(SPB_EVENT, 1, 1, PAIR_MONO + i);
		put((const uint64_t[]){ 5, INT64_MAX, (uint64_t)1 << 63, UINT64_MAX }[i], 8);
	}
	for (unsigned i = 0; i < 3; i++) {
		word(SPB_LOST, 1, 0, PAIR_MONO + 4 + i);
		put((uint64_t)1 << 63, 8);
	}
	t = file_open(&by_time);
	assert_non_null(t);
	while (spur_next(t, &rows, &n) == SPUR_OK)
		for (size_t i = 0; i < n; i++)
			if (rows[i].kind == SPUR_SPAN)
				assert_int_equal(rows[i].dur, want[rows[i].ts - PAIR_MONO]);
	assert_true(t->read.discarded == UINT64_MAX);
	spur_close(t);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, file_begin, file_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_numbers),
		TEST(test_sparse_numbers),
		TEST(test_module_search),
		TEST(test_function_module),
		TEST(test_module_images),
		TEST(test_values),
		TEST(test_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
