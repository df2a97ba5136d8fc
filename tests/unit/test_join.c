/* Several traces as one: how clocks are related, and memory out at every allocation on the way. */
#include "unit/uftrace_dir.h"

#include "flow/join.h"
#include "flow/join_clock.h"
#include "format/format.h"

/* A trace with nothing but a clock. */
static struct spur_trace *clock_trace(const char *format, const char *name, uint64_t hz)
{
	struct spur_trace *t = trace_new("clock", NULL);

	assert_non_null(t);
	t->format = format_find(format);
	assert_non_null(t->format);
	t->clock.name = name;
	t->clock.hz = hz;
	return t;
}

static void epoch(struct spur_trace *t, int64_t ns, int64_t error)
{
	t->clock.epoch_known = true;
	t->clock.epoch_ns = ns;
	t->clock.epoch_error_ns = error;
}

/* `want` -1: the clocks cannot be related. */
static void expect_relation(struct spur_trace *a, struct spur_trace *b, int want,
			    int64_t want_shift)
{
	struct clock_relation how;
	int64_t shift;

	for (int turned = 0; turned < 2; turned++) {
		const bool known =
			turned ? join_relate(b, a, &how, &shift) : join_relate(a, b, &how, &shift);

		assert_int_equal(known, want >= 0);
		if (!known)
			continue;
		assert_int_equal(how.how, want);
		assert_true(shift == (turned ? -want_shift : want_shift));
		if (want == SPUR_RELATED_EPOCHS)
			assert_int_equal(how.error,
					 a->clock.epoch_error_ns + b->clock.epoch_error_ns);
		else
			assert_int_equal(how.error, want == SPUR_RELATED_ASSUMED ? -1 : 0);
	}
}

static void test_relations(void **state)
{
	struct spur_trace *x = clock_trace("xray", "tsc", 2000000000);
	struct spur_trace *y = clock_trace("xray", "tsc", 2000000000);
	struct spur_trace *u = clock_trace("uftrace", "monotonic", 1000000000);
	struct spur_trace *h = clock_trace("heph", "monotonic", 1000000000);

	(void)state;
	expect_relation(x, y, SPUR_RELATED_ASSUMED, 0);
	y->clock.hz = 2000000001;
	expect_relation(x, y, -1, 0);
	expect_relation(x, u, -1, 0);
	expect_relation(u, h, SPUR_RELATED_ASSUMED, 0);
	epoch(u, 1700000000000000000, 1000000000);
	expect_relation(u, h, SPUR_RELATED_ASSUMED, 0);
	epoch(h, 1700000000700000000, 0);
	expect_relation(u, h, SPUR_RELATED_SAME, 0);
	epoch(h, 1700000001000000001, 0);
	expect_relation(u, h, SPUR_RELATED_EPOCHS, 1000000001);
	epoch(x, 1699999999000000000, 0);
	expect_relation(h, x, SPUR_RELATED_EPOCHS, -2000000001);
	x->clock.ticks = true;
	expect_relation(h, x, -1, 0);
	x->clock.ticks = false;
	epoch(x, INT64_MIN, 0);
	expect_relation(h, x, -1, 0);
	x->clock.name = y->clock.name = "unknown";
	x->clock.epoch_known = false;
	y->clock.hz = x->clock.hz;
	expect_relation(x, y, -1, 0);
	trace_free(x);
	trace_free(y);
	trace_free(u);
	trace_free(h);
}

/* SPEC ctf/clock-boot: the kernel's clock of one boot is one, whatever the epochs. */
static void test_boots(void **state)
{
	struct spur_trace *a = clock_trace("ctf", "monotonic", 1000000000);
	struct spur_trace *b = clock_trace("ctf", "monotonic", 1000000000);

	(void)state;
	epoch(a, 1700000000000000000, 0);
	epoch(b, 1700000000000000005, 0);
	expect_relation(a, b, SPUR_RELATED_EPOCHS, 5);
	a->clock.identity = "6d01340b-da9f-4838-ab2f-9b81ddc1c839";
	expect_relation(a, b, SPUR_RELATED_EPOCHS, 5);
	b->clock.identity = "6d01340b-da9f-4838-ab2f-9b81ddc1c839";
	expect_relation(a, b, SPUR_RELATED_BOOT, 0);
	/* Another boot, and that is certain: not the same clock without epochs either. */
	b->clock.identity = "26759ca0-7bc9-411e-b35d-b25009d6179e";
	expect_relation(a, b, SPUR_RELATED_EPOCHS, 5);
	b->clock.epoch_known = false;
	expect_relation(a, b, -1, 0);
	b->clock.identity = a->clock.identity;
	expect_relation(a, b, SPUR_RELATED_BOOT, 0);
	/* A clock that is not the kernel's may be read by many programs, each from 0. */
	a->clock.name = b->clock.name = "default";
	expect_relation(a, b, SPUR_RELATED_ASSUMED, 0);
	epoch(b, 1700000000000000005, 0);
	expect_relation(a, b, SPUR_RELATED_EPOCHS, 5);
	trace_free(a);
	trace_free(b);
}

/* Reads the directory joined with itself; false where a call said SPUR_FAIL. */
static bool read_joined(struct out *sum)
{
	const struct spur_options opt = SPUR_OPTIONS(.threads = 1, .symbol_dirs = "/nonexistent");
	const char *const paths[] = { dir, dir };
	const struct spur_event *rows;
	struct spur_args args = { 0 };
	enum spur_status st, bad = SPUR_OK;
	struct spur_error err;
	struct spur_trace *t;
	size_t n;

	if (spur_open_several(&t, paths, 2, &opt, &err) == SPUR_FAIL) {
		assert_null(t);
		assert_int_not_equal(err.code, SPUR_ERR_NONE);
		return false;
	}
	while ((st = spur_next(t, &rows, &n)) == SPUR_OK)
		for (size_t i = 0; i < n; i++) {
			out_printf(sum, "%lld %s %u %u", (long long)rows[i].ts,
				   spur_string(t, rows[i].name, NULL), rows[i].track,
				   rows[i].stream);
			if (spur_args(t, &rows[i], &args) == SPUR_FAIL)
				bad = SPUR_FAIL;
			out_printf(sum, " %zu\n", args.count);
		}
	(void)spur_damage_count(t);
	spur_args_free(&args);
	spur_close(t);
	return st == SPUR_END && bad == SPUR_OK;
}

static void test_memory(void **state)
{
	struct out want, got;
	uint64_t count, lines = 0;

	(void)state;
	put_basics("argspec:work@arg1/i32,arg2/s\n");
	rec(100, ENTRY, 0, MAIN);
	rec_more(110, ENTRY, 1, WORK);
	raw_uint(1, 4);
	raw_string("text");
	raw_align(8);
	rec(130, EXIT, 1, WORK);
	rec(131, EXIT, 0, MAIN);
	dat_write("1.dat");
	out_to_memory(&want);
	assert_true(read_joined(&want));
	/* Four records, each twice. */
	for (size_t i = 0; i < want.len; i++)
		lines += want.buf[i] == '\n';
	assert_int_equal(lines, 8);
	out_to_memory(&got);
	assert_non_null(out_room(&got, want.len + 4096));
	mem_fail_at(UINT64_MAX);
	assert_true(read_joined(&got));
	count = mem_count();
	for (uint64_t n = 1; n <= count; n++) {
		bool ok;

		out_clear(&got);
		mem_fail_at(n);
		ok = read_joined(&got);
		mem_fail_at(0);
		if (ok)
			assert_memory_equal(got.buf, want.buf, want.len);
	}
	out_free(&want);
	out_free(&got);
}

/*
 * One of the two parts says of a row what the trace alone says, under the joined trace's numbers.
 */
static void expect_same(struct spur_trace *one, const struct spur_event *a, struct spur_trace *both,
			const struct spur_event *b)
{
	const struct spur_place want = format_place(one, a), got = format_place(both, b);
	const struct spur_schema *x = format_schema(one, a->cls), *y = format_schema(both, b->cls);
	const uint32_t part = b->stream / (uint32_t)spur_stream_count(one);
	const struct spur_origin *origin = &both->origins[got.origin];
	uint64_t before[2] = { 1, 2 }, after[2] = { 1, 2 };

	assert_int_equal(got.stream, want.stream + part * spur_stream_count(one));
	assert_int_equal(got.off, want.off);
	assert_int_equal(got.len, want.len);
	assert_int_equal(got.bits, want.bits);
	assert_int_equal(got.raw != NULL, want.raw != NULL);
	if (want.raw)
		assert_memory_equal(got.raw, want.raw, want.len);
	assert_int_equal(both->streams[got.stream].origin, got.origin);
	assert_int_equal(origin->hz, one->clock.hz);
	assert_int_equal(origin->clock_shared, part == 0);
	if (one->format->ticks)
		assert_int_equal(one->format->ticks(one, a, before),
				 both->format->ticks(both, b, after));
	assert_memory_equal(before, after, sizeof(before));
	assert_int_equal(y->nbegin, x->nbegin);
	assert_int_equal(y->nend, x->nend);
	for (uint32_t i = 0; i < x->nbegin; i++) {
		assert_int_equal(y->begin[i].type, x->begin[i].type);
		assert_string_equal(spur_string(both, y->begin[i].name, NULL),
				    spur_string(one, x->begin[i].name, NULL));
	}
}

/* Places, origins, ticks and schemas of a joined trace are those of its parts. */
static void test_records(void **state)
{
	const struct spur_options opt = SPUR_OPTIONS(.threads = 1, .symbol_dirs = "/nonexistent");
	const char *const paths[] = { dir, dir };
	const struct spur_event *a, *b;
	struct spur_trace *one, *both;
	struct spur_error err;
	size_t n, m = 0, k = 0, compared = 0;

	(void)state;
	put_basics("argspec:work@arg1/i32,arg2/s\n");
	rec(100, ENTRY, 0, MAIN);
	rec_more(110, ENTRY, 1, WORK);
	raw_uint(1, 4);
	raw_string("text");
	raw_align(8);
	rec(130, EXIT, 1, WORK);
	rec(131, EXIT, 0, MAIN);
	dat_write("1.dat");
	assert_int_not_equal(spur_open(&one, dir, &opt, &err), SPUR_FAIL);
	assert_int_not_equal(spur_open_several(&both, paths, 2, &opt, &err), SPUR_FAIL);
	assert_int_equal(both->norigins, 2 * (one->norigins ? one->norigins : 1));
	while (spur_next(one, &a, &n) == SPUR_OK)
		for (size_t i = 0; i < n; i++)
			for (int part = 0; part < 2; part++, k++, compared++) {
				if (k == m) {
					assert_int_equal(spur_next(both, &b, &m), SPUR_OK);
					k = 0;
				}
				expect_same(one, &a[i], both, &b[k]);
			}
	assert_int_equal(compared, 8);
	spur_close(one);
	spur_close(both);
}

/* 40 calls at times of no pattern, as the same program would have again. */
static void put_many_calls(void)
{
	static const unsigned gaps[] = { 7, 100, 31, 5, 260, 13, 77, 40, 3, 150, 19 };
	uint64_t time = 1000000;

	put_basics("");
	rec(time, ENTRY, 0, MAIN);
	for (unsigned i = 0; i < 40; i++) {
		time += 1000 * gaps[i * i % 11] + i;
		rec(time, ENTRY, 1, i % 3 ? WORK : LEAF);
		rec(time + 500, EXIT, 1, i % 3 ? WORK : LEAF);
	}
	rec(time + 1000, EXIT, 0, MAIN);
	dat_write("1.dat");
}

static void expect_spur_relation(const struct spur_options *opt, enum spur_related how,
				 int64_t offset, uint64_t events)
{
	const char *const paths[] = { dir, dir };
	struct spur_relation r;
	struct spur_error err;
	struct spur_trace *t;

	assert_int_not_equal(spur_open_several(&t, paths, 2, opt, &err), SPUR_FAIL);
	assert_int_equal(spur_part_count(t), 2);
	assert_true(spur_relation(t, 0, &r));
	assert_int_equal(r.how, SPUR_RELATED_FIRST);
	assert_string_equal(r.word, "first");
	assert_int_equal(r.offset_ns, 0);
	assert_true(spur_relation(t, 1, &r));
	assert_int_equal(r.how, how);
	assert_string_equal(r.path, dir);
	assert_string_equal(r.format, "uftrace");
	assert_string_equal(r.clock, "monotonic");
	assert_int_equal(r.offset_ns, offset);
	assert_int_equal(r.added_ns, offset);
	assert_true(r.drift_ppm == 0);
	assert_int_equal(r.events, events);
	assert_int_equal(r.error_known, events > 1);
	assert_false(spur_relation(t, 2, &r));
	assert_null(r.path);
	spur_close(t);
}

static void test_relation_call(void **state)
{
	const struct spur_offset offsets[] = { { 1, 5000 }, { 1, -1 }, { 1, 1001 } };
	const char *const named[] = { "main=main", NULL };
	const char *const automatic[] = { "2:auto", NULL };
	struct spur_relation r;
	struct spur_trace *t;

	(void)state;
	put_many_calls();
	expect_spur_relation(&(struct spur_options)SPUR_OPTIONS(.threads = 1), SPUR_RELATED_ASSUMED,
			     0, 0);
	expect_spur_relation(&(struct spur_options)SPUR_OPTIONS(.same_clock = true),
			     SPUR_RELATED_TOLD, 0, 0);
	expect_spur_relation(&(struct spur_options)SPUR_OPTIONS(.offsets = offsets, .noffsets = 3),
			     SPUR_RELATED_OFFSET, 6000, 0);
	expect_spur_relation(&(struct spur_options)SPUR_OPTIONS(.align = named),
			     SPUR_RELATED_EVENTS, 0, 1);
	expect_spur_relation(&(struct spur_options)SPUR_OPTIONS(.align = automatic,
								.offsets = offsets, .noffsets = 1),
			     SPUR_RELATED_AUTO, 5000, 41);
	assert_int_not_equal(spur_open(&t, dir, NULL, NULL), SPUR_FAIL);
	assert_int_equal(spur_part_count(t), 0);
	assert_false(spur_relation(t, 0, &r));
	spur_close(t);
}

/* Opens two traces that are related by events, with the n-th allocation failing. */
static void expect_align_fails_well(const char *const *align)
{
	const struct spur_options opt =
		SPUR_OPTIONS(.threads = 1, .symbol_dirs = "/nonexistent", .align = align);
	const char *const paths[] = { dir, dir };
	uint64_t count, failed = 0;
	struct spur_error err;
	struct spur_trace *t;

	mem_fail_at(UINT64_MAX);
	assert_int_not_equal(spur_open_several(&t, paths, 2, &opt, &err), SPUR_FAIL);
	count = mem_count();
	spur_close(t);
	for (uint64_t n = 1; n <= count; n++) {
		mem_fail_at(n);
		if (spur_open_several(&t, paths, 2, &opt, &err) == SPUR_FAIL) {
			assert_int_equal(err.code, SPUR_ERR_MEMORY);
			failed++;
		}
		mem_fail_at(0);
		spur_close(t);
	}
	/* Few allocations can be done without. */
	assert_true(failed > count / 2);
}

static void test_align_memory(void **state)
{
	(void)state;
	put_many_calls();
	expect_align_fails_well((const char *const[]){ "main=main", "work=work", NULL });
	expect_align_fails_well((const char *const[]){ "auto", NULL });
}

static void test_refusals(void **state)
{
	const struct spur_options follow = SPUR_OPTIONS(.follow = true);
	const char *const paths[] = { dir, dir };
	struct spur_error err;
	struct spur_trace *t;

	(void)state;
	assert_int_equal(spur_open_several(&t, paths, 0, NULL, &err), SPUR_FAIL);
	assert_int_equal(err.code, SPUR_ERR_USAGE);
	assert_int_equal(spur_open_several(&t, paths, 2, &follow, &err), SPUR_FAIL);
	assert_int_equal(err.code, SPUR_ERR_USAGE);
	assert_null(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_relations),
		cmocka_unit_test(test_boots),
		cmocka_unit_test_setup_teardown(test_records, dir_make, dir_remove),
		cmocka_unit_test_setup_teardown(test_memory, dir_make, dir_remove),
		cmocka_unit_test_setup_teardown(test_relation_call, dir_make, dir_remove),
		cmocka_unit_test_setup_teardown(test_align_memory, dir_make, dir_remove),
		cmocka_unit_test_setup_teardown(test_refusals, dir_make, dir_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
