/*
 * CTF with failure of every n-th allocation, from opening to closing: no crash, no leak
 * (sanitizers), and the library returns SPUR_FAIL or complete results. And the same rows for any
 * number of threads and any size of pieces.
 */
#include "unit/ctf_dir.h"

#include "unit/try_pass.h"

static const char *const traces[] = {
	"golden/ctf/lttng-like",       "golden/ctf/ctf2-all-classes",
	"golden/ctf/v11-natural",      "golden/ctf/v11-schemes",
	"golden/ctf/several-classes",  "golden/ctf/user-spans",
	"golden/ctf/kernel",	       "golden/ctf/counters-wrap",
	"bad/ctf/metadata-one-of-two", "bad/ctf/cut-last-packet-index",
};
enum { TRACES = sizeof(traces) / sizeof(traces[0]) };

static void path_of(char *path, size_t size, size_t i)
{
	snprintf(path, size, "tests/%s/in", traces[i]);
}

/* Bytes of rows in a text: messages may be lost where memory is. */
static size_t rows_of(const struct out *o)
{
	size_t at = 0;

	while (at < o->len && o->buf[at] && o->buf[at] != '!' && o->buf[at] != '~')
		at = (size_t)(strchr(o->buf + at, '\n') - o->buf) + 1;
	return at;
}

/* Every n-th allocation fails, and all after it. */
static void test_memory(void **state)
{
	const struct spur_options opt = SPUR_OPTIONS(.threads = 1);
	struct out want;
	char path[100];

	(void)state;
	for (size_t i = 0; i < TRACES; i++) {
		uint64_t count, complete = 0;

		path_of(path, sizeof(path), i);
		out_to_memory(&want);
		assert_true(read_path(path, &opt));
		assert_null(strstr(seen.buf, "FAIL"));
		out_bytes(&want, seen.buf, seen.len);
		/* The buffer of what came allocates no more once it is large enough. */
		assert_non_null(out_room(&seen, want.len + 4096));
		mem_fail_at(UINT64_MAX);
		assert_true(read_path(path, &opt));
		count = mem_count();
		assert_true(count > 20);
		for (uint64_t n = 1; n <= count; n += 1 + n / 200) {
			bool good;

			mem_fail_at(n);
			good = read_path(path, &opt);
			mem_fail_at(0);
			if (!good)
				continue;
			complete++;
			if (rows_of(&seen) != rows_of(&want) ||
			    memcmp(seen.buf, want.buf, rows_of(&want)) != 0)
				fail_msg("%s: allocation %llu of %llu failed, and nothing is said: "
					 "%s",
					 path, (unsigned long long)n, (unsigned long long)count,
					 seen.buf);
		}
		assert_true(complete < count / 2);
		out_free(&want);
	}
}

static void test_passes(void **state)
{
	static const char *const names[] = { "lttng-like", "kernel", "user-spans" };
	char path[100];
	const struct tried tried = { .path = path,
				     .opt = { .threads = 1, .all_tracks = true },
				     .spec = { .match = PATTERN_REGEX } };

	(void)state;
	for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
		snprintf(path, sizeof(path), "tests/golden/ctf/%s/in", names[k]);
		for (size_t i = 0; spur_passes[i]; i++)
			for (unsigned form = FORM_TEXT; form <= FORM_CSV; form++)
				try_pass(&tried, spur_passes[i], (enum output_form)form, true);
	}
}

static void test_same_rows(void **state)
{
	static const size_t read_sizes[] = { 0, 1, 7, 13, 4096 };
	struct out want;
	char path[100];

	(void)state;
	for (size_t i = 0; i < TRACES; i++) {
		path_of(path, sizeof(path), i);
		out_to_memory(&want);
		assert_true(read_path(path, &(struct spur_options)SPUR_OPTIONS(.threads = 1)));
		out_bytes(&want, seen.buf, seen.len);
		for (size_t r = 0; r < sizeof(read_sizes) / sizeof(read_sizes[0]); r++)
			for (unsigned threads = 1; threads <= 4; threads *= 2) {
				const struct spur_options opt =
					SPUR_OPTIONS(.read_size = read_sizes[r],
						     .threads = threads);

				assert_true(read_path(path, &opt));
				assert_string_equal(seen.buf, want.buf);
			}
		out_free(&want);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, dir_make, dir_remove)
		TEST(test_memory),
		TEST(test_passes),
		TEST(test_same_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
