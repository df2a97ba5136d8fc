/*
 * SPEC uftrace/seek: rows of a time range are the same whether the reader goes to its start or
 * reads all that comes before; and little is read.
 */
#include "format/format.h"
#include "format/uftrace/reader.h"
#include "model/trace.h"
#include "unit/uftrace_dir.h"

enum { RECORDS = 30000, RANGES = 150, DEEP = 900, HOLE = 100, MOST_ROWS = 4 * RECORDS };

static unsigned seed;

static unsigned dice(unsigned sides)
{
	return (unsigned)rand_r(&seed) / 16 % sides;
}

/* What a test varies. */
struct made {
	bool payloads, odd, holes;
};

/* Payload of work: a string, of which some look like records, and a number. */
static void put_payload(uint64_t time)
{
	char text[96];
	const size_t len = dice(sizeof(text));

	memset(text, 'x', len);
	if (dice(3) == 0 && len >= 34) {
		const uint64_t record[] = { time, 5 << 3 | (uint64_t)(LEAF + 4) << 16, time,
					    5 << 3 | 1 | (uint64_t)(LEAF + 4) << 16 };

		memcpy(text + 2, record, sizeof(record));
	}
	raw_uint(len, 2);
	out_bytes(&dat, text, len);
	raw_align(4);
	raw_uint(dice(100), 4);
	raw_align(8);
}

/* Records that are no calls. */
static void put_odd(uint64_t time)
{
	switch (dice(3)) {
	case 0:
		rec(0, LOST, 0, 1 + dice(9));
		break;
	case 1:
		rec(time, EVENT, 0, 1000000 + dice(3));
		break;
	default:
		rec_more(time, EVENT, 0, UFTRACE_EV_WATCH_CPU);
		raw_uint(4, 2);
		raw_uint(dice(8), 4);
		raw_align(8);
	}
}

/* One task that goes deep and comes back, by steps, or at once as by longjmp(). */
static void put_task(const char *name, const struct made *m)
{
	static const uint64_t addrs[] = { MAIN + 4, WORK + 4, LEAF + 4, FREE };
	static uint64_t stack[DEEP + 1];
	uint64_t time = 1000;
	unsigned depth = 0;

	for (int i = 0; i < RECORDS; i++) {
		const bool down = depth < DEEP && (!depth || dice(100) < (i / 2000 % 2 ? 60 : 40));

		time += dice(4) ? dice(50) : 0;
		if (m->odd && dice(20) == 0)
			put_odd(time);
		if (m->holes && dice(2000) == 0)
			for (unsigned k = dice(HOLE); k > 0; k--)
				raw_uint(0, 8);
		if (down) {
			stack[depth] = addrs[dice(4)];
			if (m->payloads && stack[depth] == WORK + 4) {
				rec_more(time, ENTRY, depth, stack[depth]);
				put_payload(time);
			} else {
				rec(time, ENTRY, depth, stack[depth]);
			}
			depth++;
		} else {
			depth--;
			if (m->odd && dice(500) == 0)
				depth = dice(depth + 1);
			rec(time, EXIT, depth, stack[depth]);
		}
	}
	dat_write(name);
}

/* Switches of task 1 on CPU 0. */
static void put_switches(void)
{
	for (unsigned i = 0; i < 1000; i++) {
		raw_uint(14, 4);
		raw_uint(i % 2 ? 0 : 0x2000, 2);
		raw_uint(24, 2);
		raw_uint(1, 4);
		raw_uint(1, 4);
		raw_uint(1000 + (uint64_t)i * 400, 8);
	}
	dat_write("perf-cpu0.dat");
}

static void put_directory(const struct made *m)
{
	static const char two[] =
		"SESS timestamp=0.000000001 pid=1 sid=0123456789abcdef exename=\"/bin/prog\"\n"
		"TASK timestamp=0.000000001 tid=1 pid=1\nTASK timestamp=0.000000002 tid=2 pid=1\n";

	put_basics("");
	put_info(4, 2, 1 << 5 | 1 << 6,
		 "exename:x\nargspec:lines=1\nargspec:work@arg1/s,arg2/i32\n");
	put_text("task.txt", two);
	put_task("1.dat", m);
	put_task("2.dat", m);
	put_switches();
}

/* The rows from `from` to before `until`; reads only these if `seeks`. Returns their number. */
static size_t read_rows(struct spur_event *rows, int64_t from, int64_t until, bool seeks,
			uint64_t *records)
{
	const struct spur_event *got;
	struct spur_error err;
	struct spur_trace *t;
	size_t n, count = 0;

	assert_int_equal(spur_open(&t, dir, NULL, &err), SPUR_OK);
	if (seeks)
		trace_want(t, from, until);
	while (spur_next(t, &got, &n) == SPUR_OK)
		for (size_t i = 0; i < n; i++) {
			if (got[i].ts < from || got[i].ts >= until)
				continue;
			assert_true(count < MOST_ROWS);
			rows[count] = got[i];
			/* Numbers of classes and strings depend on what was read. */
			rows[count].cls = rows[count].cat = 0;
			rows[count++].name = (uint32_t)(got[i].cls
								? trace_class(t, got[i].cls)->addr
								: 0);
		}
	*records = t->read.records;
	spur_close(t);
	return count;
}

static void same_rows(const struct made *m)
{
	struct spur_event *all = calloc(MOST_ROWS, sizeof(*all)),
			  *part = calloc(MOST_ROWS, sizeof(*part));
	uint64_t records, most = 0;
	size_t n;

	assert_true(all && part);
	put_directory(m);
	n = read_rows(all, INT64_MIN, INT64_MAX, false, &records);
	assert_true(n > 2 * RECORDS);
	for (int i = 0; i < RANGES; i++) {
		/* Often at the very time of a row. */
		const int64_t from = all[dice((unsigned)n)].ts + (int64_t)dice(3) - 1,
			      until = from + (i % 10 ? (int64_t)dice(5000) : INT32_MAX);
		size_t first = 0, last, count;

		while (first < n && all[first].ts < from)
			first++;
		for (last = first; last < n && all[last].ts < until; last++)
			;
		count = read_rows(part, from, until, true, &records);
		assert_int_equal(count, last - first);
		assert_memory_equal(part, all + first, count * sizeof(*part));
		if (i % 10 && records - count > most)
			most = records - count;
	}
	/* Beside the range, at either end: 64 KiB of each task, and what fills a batch. */
	assert_true(m->holes || most < 2 * 2 * ((1 << 16) / RECORD + 600));
	free(all);
	free(part);
}

static void test_plain(void **state)
{
	(void)state;
	for (seed = 1; seed < 4; seed++)
		same_rows(&(struct made){ 0 });
}

static void test_payloads(void **state)
{
	(void)state;
	for (unsigned order = 0; order < 2; order++) {
		big = order;
		seed = 11 + order;
		same_rows(&(struct made){ .payloads = true });
	}
}

static void test_odd(void **state)
{
	(void)state;
	seed = 21;
	same_rows(&(struct made){ .payloads = true, .odd = true });
}

static void test_holes(void **state)
{
	(void)state;
	seed = 31;
	same_rows(&(struct made){ .payloads = true, .odd = true, .holes = true });
}

/* Deeper than records can say: the reader must have counted. */
static void test_deep(void **state)
{
	const struct made m = { 0 };
	uint64_t records;
	struct spur_event *rows = calloc(MOST_ROWS, sizeof(*rows));

	(void)state;
	assert_non_null(rows);
	seed = 41;
	put_directory(&m);
	put_info(4, 2, 1 << 5, "exename:x\n");
	read_rows(rows, 200000, 200100, true, &records);
	assert_true(records > 2 * RECORDS);
	free(rows);
}

/* The latest row's time is found from the end. */
static void test_last(void **state)
{
	static const struct made kinds[] = { { 0 }, { .payloads = true, .odd = true } };
	struct spur_event *rows = calloc(MOST_ROWS, sizeof(*rows));
	struct spur_error err;
	struct spur_trace *t;
	uint64_t records;
	int64_t last, most;
	size_t n;

	(void)state;
	assert_non_null(rows);
	for (int i = 0; i < 2; i++) {
		seed = 51;
		put_directory(&kinds[i]);
		n = read_rows(rows, INT64_MIN, INT64_MAX, false, &records);
		most = 0;
		for (size_t k = 0; k < n; k++)
			most = rows[k].ts > most ? rows[k].ts : most;
		assert_int_equal(spur_open(&t, dir, NULL, &err), SPUR_OK);
		assert_true(t->format->last(t, &last));
		assert_int_equal(last, most);
		spur_close(t);
	}
	free(rows);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, dir_make, dir_remove)
	static const struct CMUnitTest tests[] = {
		T(test_plain), T(test_payloads), T(test_odd),
		T(test_holes), T(test_deep), T(test_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
