/*
 * Parts of one TID.dat: sums of calls are the same wherever threads begin to read, also where
 * records are lost, out of order, of wrong depths or too deep, where they have payloads that look
 * like records, and where tasks are switched between them.
 */
#include "unit/uftrace_random.h"

#include "unit/parts_count.h"
#include "unit/report_text.h"

enum { RUNS = 60, FLIPS = 3, SWITCHES = 300, SWITCH_OUT = 0x2000, PREEMPTED = 0x4000 };

static const char sums[] = "total,self,calls,avg,min,max,unfinished,function";
/* Single durations keep the reader from summing. */
static const char by_rows[] = "total,self,calls,avg,min,max,p50,p90,unfinished,function";

static void compare(uint64_t read_size)
{
	report_compare(dir, (struct report_way){ NULL, sums, 0, read_size });
	report_compare(dir, (struct report_way){ NULL, by_rows, 0, read_size });
}

/* Switches of task 1 on CPU 0. */
static void put_switches(uint64_t step)
{
	uint64_t t = 900;

	for (unsigned i = 0; i < SWITCHES; i++) {
		raw_uint(14, 4);
		raw_uint(i % 2 && below(50) ? 0
			 : below(3)	    ? SWITCH_OUT
					    : SWITCH_OUT | PREEMPTED,
			 2);
		raw_uint(24, 2);
		raw_uint(1, 4);
		raw_uint(1, 4);
		raw_uint(t, 8);
		t += below(step);
	}
	dat_write("perf-cpu0.dat");
}

/* Calls of work have a string, which may look like a record, and a number. */
static void put_payloads(void)
{
	uint64_t t = 1000;

	put_info(4, 2, 1 << 5 | 1 << 6,
		 "exename:/bin/prog\nargspec:lines=1\nargspec:work@arg1/s,arg2/i32\n");
	rec(t, ENTRY, 0, MAIN + 4);
	for (unsigned i = 0; i < RECORDS; i += 2) {
		char text[96];
		const size_t len = below(sizeof(text));
		const uint64_t words[] = { t, 5 << 3 | (uint64_t)(LEAF + 4) << 16 };

		t += below(100);
		memset(text, 'x', len);
		if (len >= 2 + sizeof(words) && below(2))
			memcpy(text + 2, words, sizeof(words));
		rec_more(t, ENTRY, 1, WORK + 4);
		raw_uint(len, 2);
		out_bytes(&dat, text, len);
		raw_align(4);
		raw_uint(below(100), 4);
		raw_align(8);
		rec(t + below(9), EXIT, 1, WORK + 4);
		t += 9;
	}
	rec(t, EXIT, 0, MAIN + 4);
	dat_write("1.dat");
}

static void random_recordings(void **state)
{
	static const uint64_t sizes[] = { 1, 700, 7, 4096 };
	const unsigned runs = getenv("SANITIZED") ? RUNS / 10 : RUNS;

	(void)state;
	put_basics("exename:/bin/prog\n");
	for (unsigned i = 0; i < runs; i++) {
		put_random("1.dat", i % 4 ? 40 * (i % 6) : 0, i % 7 ? 12 : i % 2 ? 700 : 1500);
		if (i % 3)
			put_switches(i % 3 == 1 ? 400 : 9000);
		else
			put_file("perf-cpu0.dat", "", 0);
		compare(sizes[i % 4]);
	}
}

static void payloads(void **state)
{
	(void)state;
	put_basics("");
	for (unsigned i = 0; i < RUNS / 6; i++) {
		put_payloads();
		compare(1 + i * 300);
	}
}

/* Flipped bits in the records, and a record that is torn. */
static void damaged(void **state)
{
	(void)state;
	put_basics("exename:/bin/prog\n");
	for (unsigned i = 0; i < RUNS / 3; i++) {
		char *copy;
		size_t len;

		put_random("1.dat", 0, i % 4 ? 12 : 600);
		{
			char path[256];
			FILE *f;

			path_of(path, sizeof(path), "1.dat");
			f = fopen(path, "rb");
			assert_non_null(f);
			copy = malloc(RECORDS * 32);
			len = fread(copy, 1, RECORDS * 32, f);
			fclose(f);
		}
		for (unsigned k = 0; k < FLIPS; k++)
			copy[below(len)] ^= (char)(1u << below(8));
		put_file("1.dat", copy, i % 3 ? len : len - below(len / 4));
		free(copy);
		compare(500);
	}
}

/*
 * Of a recording of ordinary calls all parts are joined: no record is read twice. A part begins
 * eight records behind the place that is asked for, and has at least 100.
 */
static void parts_are_joined(void **state)
{
	(void)state;
	put_basics("exename:/bin/prog\n");
	put_random("1.dat", 0, 12);
	assert_int_equal(parts_count(dir, PIPE_PARTS_CALLS, 1600), (RECORDS - 100) / 108 + 1);
	assert_int_equal(parts_count(dir, PIPE_PARTS, 1600), 1);
	assert_int_equal(report_read_again(dir, (struct report_way){ NULL, by_rows, 2, 1600 }), 0);
}

/* A part that begins with another depth than the one before it has left is read twice. */
static void other_depths(void **state)
{
	const struct report_way way = { NULL, sums, 2, 1600 };
	char *got;

	(void)state;
	put_basics("exename:/bin/prog\n");
	rec(1000, ENTRY, 0, MAIN + 4);
	for (unsigned i = 0; i < 400; i++) {
		/* From the 251st call on, two more are open than seen. */
		rec(2000 + 10 * i, ENTRY, 1 + 2 * (i >= 250), WORK + 4);
		rec(2005 + 10 * i, EXIT, 1 + 2 * (i >= 250), WORK + 4);
	}
	rec(9000, EXIT, 0, MAIN + 4);
	dat_write("1.dat");
	compare(way.read_size);
	got = report_text(dir, &way);
	assert_non_null(strstr(got, "\"total\":8000"));
	assert_non_null(strstr(got, "\"total\":2000"));
	free(got);
}

static void failures_are_known(void **state)
{
	(void)state;
	put_basics("exename:/bin/prog\n");
	/* Recursion over many parts. */
	for (unsigned i = 0; i < 60; i++) {
		rec(1000 + 10 * i, ENTRY, i < 30 ? i : 59 - i + 1, WORK + 4);
		rec(1002 + 10 * i, ENTRY, i < 30 ? i + 1 : 59 - i + 2, LEAF + 4);
		rec(1005 + 10 * i, EXIT, i < 30 ? i + 1 : 59 - i + 2, LEAF + 4);
		if (i < 30)
			continue;
		rec(1006 + 10 * i, EXIT, 59 - i + 1, WORK + 4);
		rec(1007 + 10 * i, EXIT, 59 - i, WORK + 4);
	}
	dat_write("1.dat");
	report_starve(dir, (struct report_way){ NULL, sums, 2, 400 });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(random_recordings, dir_make, dir_remove),
		cmocka_unit_test_setup_teardown(payloads, dir_make, dir_remove),
		cmocka_unit_test_setup_teardown(damaged, dir_make, dir_remove),
		cmocka_unit_test_setup_teardown(parts_are_joined, dir_make, dir_remove),
		cmocka_unit_test_setup_teardown(other_depths, dir_make, dir_remove),
		cmocka_unit_test_setup_teardown(failures_are_known, dir_make, dir_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
