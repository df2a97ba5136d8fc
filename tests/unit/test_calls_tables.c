/*
 * Sums of calls are the same whether calls that are open are counted in tables by track and class
 * or in the stats of classes, or change from one to the other: on goldens, on damaged copies of
 * them, and on random calls of few and of many tracks and classes.
 */
#include "fake.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "pass/fold/calls.h"

enum { ROWS = 30000, FLIPS = 12, LARGEST = 1 << 20 };

static uint64_t rng = 1;

static uint32_t draw(uint32_t n)
{
	rng = rng * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(rng >> 33) % n;
}

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct call_stat));
}

/*
 * All sums of a trace, as text that is to be freed. Without their keys, in the order of their
 * numbers: which class has which key is different where several threads meet it first.
 */
static char *sums(struct spur_trace *t, unsigned threads, enum calls_by by, unsigned want)
{
	struct spur_error err = { 0 };
	struct pass_env env = { .trace = t, .pipe = { .threads = threads }, .err = &err };
	struct calls *workers;
	uint64_t rows = 0;
	struct out out;
	unsigned n;

	assert_int_equal(calls_run(&env, by, want, &workers, &n), SPUR_OK);
	for (unsigned i = 0; i < n; i++)
		rows += workers[i].rows;
	assert_true(calls_join(workers, n));
	for (size_t i = 0; i < workers->nstats; i++) {
		struct call_stat *s = &workers->stats[i];

		assert_int_equal(s->open, 0);
		s->track = s->spread = 0;
	}
	if (workers->nstats)
		qsort(workers->stats, workers->nstats, sizeof(struct call_stat), by_bytes);
	out_to_memory(&out);
	for (size_t i = 0; i < workers->nstats; i++) {
		const struct call_stat *s = &workers->stats[i];

		if (s->calls || s->unfinished || s->sum)
			out_printf(&out, "%llu %llu %llu %llu %llu %llu %u\n",
				   (unsigned long long)s->sum, (unsigned long long)s->inner,
				   (unsigned long long)s->self, (unsigned long long)s->calls,
				   (unsigned long long)s->least, (unsigned long long)s->most,
				   s->unfinished);
	}
	out_printf(&out, "%llu rows\n", (unsigned long long)rows);
	out_char(&out, '\0');
	assert_false(out.error);
	calls_free(workers, n);
	return out.buf;
}

/* --- files --- */

/* Sums of a file, or NULL if it is none that can be read. */
static char *file_sums(const char *path, size_t read_size, unsigned threads, enum calls_by by,
		       unsigned want)
{
	struct spur_options options = SPUR_OPTIONS(.symbol_dirs = "/nonexistent");
	struct spur_error err = { 0 };
	struct spur_trace *t;
	char *text;

	options.read_size = read_size;
	if (spur_open(&t, path, &options, &err) == SPUR_FAIL)
		return NULL;
	text = sums(t, threads, by, want);
	spur_close(t);
	return text;
}

static const struct {
	size_t size;
	unsigned threads;
	enum calls_by by;
} reads[] = {
	{ 0, 1, CALLS_BY_FUNCTION }, { 4096, 5, CALLS_BY_FUNCTION }, { 0, 2, CALLS_BY_FUNCTION },
	{ 0, 5, CALLS_BY_FUNCTION }, { 1, 1, CALLS_BY_FUNCTION },    { 7, 2, CALLS_BY_FUNCTION },
	{ 0, 1, CALLS_BY_TASK },     { 0, 2, CALLS_BY_SESSION },
};

/* By the first `n` ways to read. Returns false if the file is none that can be read. */
static bool compare_file(const char *path, size_t n)
{
	for (size_t r = 0; r < n; r++) {
		const unsigned more = draw(2) ? CALLS_SPREAD : 0;
		char *const want = file_sums(path, reads[r].size, reads[r].threads, reads[r].by,
					     CALLS_NO_TABLES | more);
		char *const got = file_sums(path, reads[r].size, reads[r].threads, reads[r].by,
					    CALLS_TABLES | more);

		if (!want)
			return false;
		if (!got || strcmp(got, want) != 0)
			fail_msg("%s, read size %zu: %s\nnot %s", path, reads[r].size,
				 got ? got : "-", want);
		free(want);
		free(got);
	}
	return true;
}

/* A copy of the file with some of its bits flipped. */
static void compare_damaged(const char *path)
{
	static unsigned char bytes[LARGEST];
	FILE *f = fopen(path, "rb");
	size_t n = f ? fread(bytes, 1, sizeof(bytes), f) : 0;

	if (f)
		fclose(f);
	if (n > 64) {
		char copy[] = "/tmp/test_calls_tables.XXXXXX";
		const int fd = mkstemp(copy);

		assert_true(fd >= 0);
		for (int k = 0; k < FLIPS; k++)
			bytes[32 + draw((uint32_t)n - 32)] ^= (unsigned char)(1 << draw(8));
		assert_int_equal(write(fd, bytes, n), n);
		close(fd);
		compare_file(copy, 2);
		unlink(copy);
	}
}

/* FXT and Heph mix threads in one feed, so all of these, and some of the others. */
static void files(void **state)
{
	static const char *const patterns[] = { "tests/golden/*/*/in", "tests/golden/*/*/in/*" };
	size_t count = 0;

	(void)state;
	for (size_t p = 0; p < 2; p++) {
		glob_t g;

		assert_int_equal(glob(patterns[p], 0, NULL, &g), 0);
		for (size_t i = 0; i < g.gl_pathc; i++) {
			const bool mixed =
				strstr(g.gl_pathv[i], "/fxt/") || strstr(g.gl_pathv[i], "/heph/");

			if ((!mixed && i % 5) ||
			    !compare_file(g.gl_pathv[i], sizeof(reads) / sizeof(*reads)))
				continue;
			count++;
			compare_damaged(g.gl_pathv[i]);
		}
		globfree(&g);
	}
	assert_true(count > 50);
}

/* --- random calls --- */

struct random_trace {
	uint32_t tracks, classes;
	uint32_t run; /* rows of a track until another comes, at most */
};

/* BEGINs, ENDs of what is open, or is not, SPANs inside each other and over ENDs. */
static void random_rows(struct spur_event *rows, const struct random_trace *r)
{
	enum { DEPTH = 40 };
	uint32_t(*open)[DEPTH] = calloc(r->tracks, sizeof(*open));
	uint32_t *depth = calloc(r->tracks, sizeof(*depth)), track = 0, left = 0;

	assert_true(open && depth);
	for (uint32_t i = 0; i < ROWS; i++, left--) {
		uint32_t cls = draw(r->classes), what = draw(100);

		if (!left) {
			track = draw(r->tracks);
			left = 1 + draw(r->run);
		}
		rows[i] = (struct spur_event){
			.kind = SPUR_BEGIN, .ts = i * INT64_C(10), .track = track, .dur = -1
		};
		if (what < 20) {
			rows[i].kind = SPUR_SPAN;
			rows[i].dur = draw(what < 3 ? 500 : 10);
		} else if (what < 25 || (what < 60 && depth[track])) {
			rows[i].kind = SPUR_END_SPAN;
			if (what >= 25)
				cls = open[track][--depth[track]];
		} else if (depth[track] < DEPTH) {
			open[track][depth[track]++] = cls;
		}
		rows[i].cls = 1 + cls;
	}
	free(open);
	free(depth);
}

static void random_calls(void **state)
{
	/* Few, and more than tables have room for: of tracks, of classes, of both together. */
	static const struct random_trace traces[] = {
		{ 1, 5, 1 },
		{ 2, 5, 1 },
		{ 8, 200, 15 },
		{ 300, 60, 3 },
		{ PARKED_TRACKS + 40, 20, 2 },
		{ 3, PARKED_KEYS + 200, 9 },
		{ 200, PARKED_KEYS - 1, 1 },
		{ 5000, 3000, 4 },
	};
	static const unsigned ways[] = { CALLS_NO_TABLES, CALLS_TABLES, 0 };
	static const uint32_t batches[] = { 0, 1, 7, 4096 };

	(void)state;
	for (size_t i = 0; i < sizeof(traces) / sizeof(*traces); i++) {
		struct spur_event *rows = calloc(ROWS, sizeof(*rows));
		struct spur_trace *t = fake_trace();
		struct fake_feed f;
		char name[32];

		assert_non_null(rows);
		for (uint32_t k = 0; k < traces[i].tracks; k++)
			fake_track(t, "x", 1, 1 + k);
		/* Every fourth one has the name of the one before: both are one function. */
		for (uint32_t k = 0; k < traces[i].classes; k++) {
			snprintf(name, sizeof(name), "f%u", k % 4 == 3 ? k - 1 : k);
			assert_int_equal(fake_class(t, name, ""), 1 + k);
		}
		random_rows(rows, &traces[i]);
		fake_feed(t, &f, rows, ROWS);
		for (unsigned k = 0; k < 2 * 3 * 4; k++) {
			const unsigned more = k & 1 ? CALLS_SPREAD : 0;
			char *want = NULL;

			f.batch = batches[k / 6];
			for (size_t way = 0; way < sizeof(ways) / sizeof(*ways); way++) {
				char *got;

				fake_rewind(t);
				got = sums(t, 1, k / 2 % 3, ways[way] | more);
				if (want)
					assert_string_equal(got, want);
				else
					want = strdup(got);
				free(got);
			}
			free(want);
		}
		free(rows);
		spur_close(t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(random_calls),
					    cmocka_unit_test(files) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
