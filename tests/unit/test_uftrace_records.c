/*
 * What writers need of uftrace data: places, ticks, schemas and bookkeeping records, of all traces
 * in tests/golden/uftrace and tests/bad/uftrace, and of those below SPUR_TRACES if they are here;
 * and of some made by hand.
 */
#include "unit/stream_laws.h"
#include "unit/uftrace_dir.h"

#include "format/uftrace/wire.h"

static bool is_named(struct spur_trace *t, const struct spur_event *ev, const char *name)
{
	return strcmp(spur_string(t, ev->name, NULL), name) == 0;
}

/* SPEC uftrace/framing: between the records of a kernel page are its head, times and padding */
static uint64_t framing(struct spur_trace *t, const struct law_place *before, uint64_t end)
{
	return strncmp(spur_stream(t, before->stream)->path, "kernel-cpu", 10) == 0
		       ? end - before->end
		       : 0;
}

static bool leaves_gap(const struct spur_damage *d)
{
	return strcmp(d->code, "uftrace/torn-page") != 0 &&
	       strcmp(d->code, "uftrace/bad-kernel-record") != 0 &&
	       strcmp(d->code, "uftrace/torn-record") != 0;
}

/* SPEC uftrace/raw-ticks */
static bool has_ticks(struct spur_trace *t, const struct spur_event *ev)
{
	return ev->kind != SPUR_LOST &&
	       !(ev->kind == SPUR_NATIVE && (ev->flags & SPUR_F_RETIMED) &&
		 (is_named(t, ev, "perf record") || is_named(t, ev, "line")));
}

static const struct laws laws = {
	.framing = framing,
	.leaves_gap = leaves_gap,
	.has_ticks = has_ticks,
};

static int check_folder(const char *folder, const char *below)
{
	DIR *d = opendir(folder);
	const struct dirent *e;
	int count = 0;

	while (d && (e = readdir(d))) {
		char name[4400];

		if (e->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s%s", folder, e->d_name, below);
		count += law_check(name, &laws);
	}
	if (d)
		closedir(d);
	return count;
}

/* SPEC uftrace/schema, SPEC uftrace/origin, SPEC uftrace/bookkeeping, SPEC uftrace/book-time */
static void test_goldens(void **state)
{
	(void)state;
	assert_true(check_folder("tests/golden/uftrace", "/in") >= 40);
}

static void test_bad(void **state)
{
	(void)state;
	assert_true(check_folder("tests/bad/uftrace", "/in") >= 40);
}

static void test_traces(void **state)
{
	const char *traces = getenv("SPUR_TRACES");
	char name[4096];

	(void)state;
	snprintf(name, sizeof(name), "%s/uftrace", traces ? traces : "../shared/traces");
	if (access(name, R_OK) != 0) {
		print_message("no recorded traces at %s\n", name);
		skip();
	}
	assert_true(check_folder(name, "") >= 30);
}

/* --- by hand --- */

static void perf_head(unsigned type, unsigned misc, size_t size)
{
	raw_uint(type, 4);
	raw_uint(misc, 2);
	raw_uint(size, 2);
}

static void perf_trailer(uint64_t time)
{
	raw_uint(1, 4);
	raw_uint(1, 4);
	raw_uint(time, 8);
}

/* Each row as `FILE OFF+LEN TS KIND NAME` with its ticks. */
static void expect_records(bool bookkeeping, const char *expected)
{
	struct spur_trace *t = law_open(dir, bookkeeping);
	struct law_rows rows = { 0 };

	assert_non_null(t);
	law_read(t, &rows);
	out_clear(&seen);
	for (size_t i = 0; i < rows.count; i++) {
		const struct spur_event *ev = &rows.list[i].ev;
		const struct spur_place p = format_place(t, ev);
		uint64_t ticks[2];

		out_printf(&seen, "%s %llu+%llu %lld %s %s", spur_stream(t, p.stream)->path,
			   (unsigned long long)p.off, (unsigned long long)p.len, (long long)ev->ts,
			   spur_kind_name(ev->kind), spur_string(t, ev->name, NULL));
		if (t->format->ticks(t, ev, ticks))
			out_printf(&seen, " %llu", (unsigned long long)ticks[0]);
		out_char(&seen, '\n');
	}
	out_char(&seen, '\0');
	assert_string_equal(seen.buf, expected);
	assert_int_equal(t->origins[0].hz, 1000000000);
	assert_int_equal(t->origins[0].byte_order, big ? 'b' : 'l');
	spur_close(t);
	free(rows.list);
}

/* SPEC uftrace/bookkeeping, SPEC uftrace/book-time, SPEC uftrace/raw-ticks, SPEC uftrace/origin */
static void test_books(void **state)
{
	(void)state;
	for (int order = 0; order < 2; order++) {
		big = order;
		put_basics("");
		put_calls("1.dat");
		perf_head(PERF_LOST, 0, 40);
		raw_uint(7, 8);
		raw_uint(5, 8);
		perf_trailer(105);
		perf_head(PERF_SWITCH, PERF_SWITCH_OUT, 24);
		perf_trailer(120);
		perf_head(PERF_SAMPLE, 0, 16);
		raw_uint(0, 8);
		perf_head(PERF_SWITCH, 0, 24);
		perf_trailer(125);
		dat_write("perf-cpu0.dat");
		put_text("extern.dat", "# note\n0.000000115 hello\n\n");
		expect_records(false, "1.dat 0+16 100 BEGIN main 100\n"
				      "1.dat 16+16 110 BEGIN work 110\n"
				      "extern.dat 7+18 115 LOG external-data 115\n"
				      "perf-cpu0.dat 40+24 120 SWITCH linux:sched-out 120\n"
				      "perf-cpu0.dat 80+24 125 SWITCH linux:sched-in 125\n"
				      "1.dat 32+16 130 END work 130\n"
				      "1.dat 48+16 150 END main 150\n");
		expect_records(true, "1.dat 0+16 100 BEGIN main 100\n"
				     "1.dat 16+16 110 BEGIN work 110\n"
				     "extern.dat 0+7 115 NATIVE line\n"
				     "extern.dat 7+18 115 LOG external-data 115\n"
				     "extern.dat 25+1 115 NATIVE line\n"
				     "perf-cpu0.dat 0+40 120 NATIVE perf record\n"
				     "perf-cpu0.dat 64+16 120 NATIVE perf record\n"
				     "perf-cpu0.dat 40+24 120 SWITCH linux:sched-out 120\n"
				     "perf-cpu0.dat 80+24 125 SWITCH linux:sched-in 125\n"
				     "1.dat 32+16 130 END work 130\n"
				     "1.dat 48+16 150 END main 150\n");
		assert_true(law_check(dir, &laws));
	}
}

/* SPEC uftrace/schema: of a function by its specifications, of an event by its number */
static void test_schemas(void **state)
{
	struct spur_args args = { 0 };
	const struct spur_schema *s;
	struct law_rows rows = { 0 };
	struct spur_trace *t;

	(void)state;
	put_basics("argspec:work@arg1/i32,arg2/s\nretspec:work@retval/x64\n");
	rec_more(100, ENTRY, 0, WORK);
	raw_uint(5, 4);
	raw_string("ab");
	raw_align(8);
	rec_more(110, EXIT, 0, WORK);
	raw_uint(9, 8);
	/* A call whose records have no payload. */
	rec(120, ENTRY, 0, WORK);
	rec(130, EXIT, 0, WORK);
	dat_write("1.dat");
	t = law_open(dir, false);
	assert_non_null(t);
	law_read(t, &rows);
	assert_int_equal(rows.count, 4);
	assert_int_equal(rows.list[2].ev.cls, rows.list[0].ev.cls);
	assert_int_equal(spur_args(t, &rows.list[0].ev, &args), SPUR_OK);
	assert_int_equal(args.count, 2);
	for (size_t i = 2; i < 4; i++) {
		assert_int_equal(spur_args(t, &rows.list[i].ev, &args), SPUR_OK);
		assert_int_equal(args.count, 0);
	}
	s = format_schema(t, rows.list[0].ev.cls);
	assert_false(s->open);
	assert_int_equal(s->nbegin, 2);
	assert_int_equal(s->begin[0].type, SPUR_I64);
	assert_int_equal(s->begin[0].bits, 32);
	assert_string_equal(spur_string(t, s->begin[0].name, NULL), "arg1");
	assert_int_equal(s->begin[1].type, SPUR_STRING);
	assert_int_equal(s->nend, 1);
	assert_int_equal(s->end[0].type, SPUR_U64);
	assert_int_equal(s->end[0].bits, 64);
	assert_int_equal(s->end[0].show, SPUR_SHOW_HEX);
	assert_true(s->begin[0].optional && s->begin[1].optional && s->end[0].optional);
	spur_args_free(&args);
	spur_close(t);
	free(rows.list);
	assert_true(law_check(dir, &laws));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_books, dir_make, dir_remove),
		cmocka_unit_test_setup_teardown(test_schemas, dir_make, dir_remove),
		cmocka_unit_test(test_goldens),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_traces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
