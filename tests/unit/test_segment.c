/*
 * Parts of one thread's log: sums of calls are the same whichever buffers threads begin with, also
 * where calls recurse over buffers, where ENDs and whole buffers are missing, and where the log is
 * damaged.
 */
#include <dirent.h>
#include <stdlib.h>

#include "unit/xray_file.h"

#include "unit/parts_count.h"
#include "unit/report_text.h"

enum { BUFFERS = 30, SEEDS = 60, FUNCTIONS = 6, DEPTH = 12, FLIPS = 4, COPIES = 4 };

static uint64_t rng;

static unsigned draw(unsigned n)
{
	rng = rng * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(rng >> 33) % n;
}

/* A thread of a random program. */
struct player {
	uint32_t open[DEPTH];
	unsigned depth;
	uint64_t tsc;
};

/* A call or two; `odd`: also ENDs that end nothing, tail calls, exceptions and events. */
static void put_step(struct player *p, bool odd)
{
	const uint32_t delta = draw(9), id = 1 + draw(FUNCTIONS);
	const unsigned what = odd ? draw(100) : 100;

	p->tsc += delta;
	if (what < 2) {
		fn(EXIT, id, delta);
	} else if (what < 4) {
		event(CUSTOM, 5, delta, -1, "text");
	} else if (what < 6 && p->depth > 3) {
		/* An exception: the calls inside the one that catches it have no END. */
		p->depth -= 2 + draw(2);
		fn(EXIT, p->open[p->depth], delta);
	} else if (p->depth == DEPTH || (p->depth && draw(2))) {
		fn(what < 12 ? TAIL : EXIT, p->open[--p->depth], delta);
	} else {
		fn(ENTER, id, delta);
		p->open[p->depth++] = id;
	}
}

/*
 * Buffers of few functions. Of four seeds the first is all nested calls of one thread; the others
 * have odd records, several threads that take turns, and buffers that were lost.
 */
static void put_random(uint64_t seed)
{
	const bool odd = seed & 1, lossy = seed & 2;
	const unsigned nthreads = seed % 3 ? 1 : 3;
	struct player players[3] = { { .tsc = 10000 }, { .tsc = 10000 }, { .tsc = 10000 } };

	rng = seed;
	put_header(5, FDR, 1000000000, 4096);
	for (unsigned i = 0; i < BUFFERS; i++) {
		const unsigned thread = draw(nthreads);
		struct player *p = &players[thread];
		const size_t from = made.len;

		buffer_begin(5, 7 + thread, i);
		cpu(1, odd && !draw(9) ? p->tsc - draw(40) : p->tsc);
		for (unsigned k = draw(30); k; k--)
			put_step(p, odd);
		buffer_end();
		p->tsc += draw(50);
		if (lossy && !draw(10))
			made.len = from;
	}
}

static const char fields[] = "total,self,calls,avg,min,max,p50,p90,stdev,unfinished,function";

/* All numbers of threads give the same. */
static void compare(const char *file, const char *style)
{
	report_compare(file, (struct report_way){ style, fields, 0, 1 });
}

/* Flips bits of what was made, but for the file's header. */
static void flip(void)
{
	for (unsigned i = 0; i < FLIPS; i++)
		made.buf[32 + draw((unsigned)made.len - 32)] ^= (char)(1u << draw(8));
}

static void test_random(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		put_random(seed);
		file_write(made.buf, made.len);
		compare(path, NULL);
		compare(path, "llvm-xray");
		flip();
		made.len -= draw(3) ? 0 : draw((unsigned)made.len / 4);
		file_write(made.buf, made.len);
		compare(path, NULL);
	}
}

/* A buffer begins a part if it is neither the first nor the last; rows alone are not divided. */
static void test_cuts(void **state)
{
	(void)state;
	put_random(4);
	file_write(made.buf, made.len);
	assert_int_equal(parts_count(path, PIPE_PARTS_CALLS, 1), BUFFERS - 1);
	assert_int_equal(parts_count(path, PIPE_PARTS, 1), 1);
}

static const struct report_way by_parts = { NULL, fields, 2, 1 };

/*
 * Eight buffers with calls of fn#2 inside three of fn#1, all of which return in the seventh one;
 * `odd`: the fifth has an END of that function, `bad`: the first has a record that is none.
 */
static void put_open(uint32_t odd, bool bad)
{
	put_header(5, FDR, 1000000000, 4096);
	for (unsigned i = 0; i < 8; i++) {
		buffer_begin(5, 7, i);
		cpu(1, 1000 + 100 * i);
		if (i < 3)
			fn(ENTER, 1, 10); /* at 1010, 1110, 1210 */
		fn(ENTER, 2, i < 3 ? 0 : 10);
		if (i == 4 && odd)
			fn(EXIT, odd, 0);
		fn(EXIT, 2, 5);
		if (i == 6)
			for (unsigned k = 0; k < 3; k++)
				fn(EXIT, 1, 20); /* at 1635, 1655, 1675 */
		if (!i && bad)
			fn(ENTER, 0, 0);
		buffer_end();
	}
	file_write(made.buf, made.len);
}

/* Recursion over many parts, and calls that all return in one: no part is read twice. */
static void test_open(void **state)
{
	char *got;

	(void)state;
	put_open(0, false);
	compare(path, NULL);
	got = report_text(path, &by_parts);
	/* The outermost call of fn#1 alone is the total: 1675 - 1010. */
	assert_non_null(strstr(got, "\"total\":665"));
	free(got);
	assert_int_equal(report_read_again(path, by_parts), 0);
}

/*
 * An END of a call that is not open in the part, while others are, depends on those before it: the
 * fifth part, of three records, is read twice. Then nothing is open any more, so the last part, of
 * seven, is read twice for its ENDs.
 */
static void test_odd(void **state)
{
	(void)state;
	put_open(1, false);
	compare(path, NULL);
	assert_int_equal(report_read_again(path, by_parts), 3 + 7);
}

/* Records that are missing make no part be read again whose ENDs all end calls. */
static void test_gap(void **state)
{
	(void)state;
	put_open(0, true);
	compare(path, NULL);
	assert_int_equal(report_read_again(path, by_parts), 0);
}

static void test_memory(void **state)
{
	(void)state;
	put_open(1, false);
	report_starve(path, by_parts);
}

/* The recorded logs as they are and with flipped bits. */
static void goldens_of(const char *root, unsigned *tried)
{
	const unsigned copies = getenv("SANITIZED") ? COPIES / 4 : COPIES;
	DIR *folder = opendir(root);
	struct dirent *d;

	assert_non_null(folder);
	while ((d = readdir(folder))) {
		char file[512];
		uint8_t buf[4096];
		size_t n;
		FILE *f;

		snprintf(file, sizeof(file), "%s/%s/in", root, d->d_name);
		f = d->d_name[0] == '.' ? NULL : fopen(file, "rb");
		if (!f)
			continue;
		out_clear(&made);
		while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
			out_bytes(&made, (const char *)buf, n);
		fclose(f);
		if (made.len < 64)
			continue;
		compare(file, NULL);
		for (unsigned i = 0; i < copies && made.len < 1 << 17; i++) {
			flip();
			file_write(made.buf, made.len);
			compare(path, i % 2 ? "llvm-xray" : NULL);
		}
		(*tried)++;
	}
	closedir(folder);
}

static void test_goldens(void **state)
{
	unsigned tried = 0;

	(void)state;
	rng = 1;
	goldens_of("tests/golden/xray", &tried);
	goldens_of("tests/bad/xray", &tried);
	assert_true(tried > 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_random, file_make, file_remove),
		cmocka_unit_test_setup_teardown(test_cuts, file_make, file_remove),
		cmocka_unit_test_setup_teardown(test_open, file_make, file_remove),
		cmocka_unit_test_setup_teardown(test_odd, file_make, file_remove),
		cmocka_unit_test_setup_teardown(test_gap, file_make, file_remove),
		cmocka_unit_test_setup_teardown(test_memory, file_make, file_remove),
		cmocka_unit_test_setup_teardown(test_goldens, file_make, file_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
