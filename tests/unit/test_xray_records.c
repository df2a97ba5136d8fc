/*
 * What writers need of XRay logs: places, ticks, schemas and bookkeeping records, of all logs in
 * tests/golden/xray and tests/bad/xray, and of those below SPUR_TRACES if they are here; and of
 * some made by hand.
 */
#include "unit/stream_laws.h"
#include "unit/xray_file.h"

#include "format/xray/wire.h"

static bool is_named(struct spur_trace *t, const struct spur_event *ev, const char *name)
{
	return strcmp(spur_string(t, ev->name, NULL), name) == 0;
}

/* SPEC xray/end-of-buffer: the rest of a buffer has no meaning */
static bool ends_buffer(struct spur_trace *t, const struct spur_event *ev)
{
	return ev->kind == SPUR_NATIVE && is_named(t, ev, "end of buffer");
}

static uint64_t rest_of_buffer(struct spur_trace *t, const struct law_place *before, uint64_t end)
{
	(void)t;
	return before->frames ? end - before->end : 0;
}

/* Of an overwritten payload, and of typed events, what the extents count and the file lacks. */
static bool leaves_gap(const struct spur_damage *d)
{
	return strcmp(d->code, "xray/overwritten-payload") != 0 &&
	       strcmp(d->code, "xray/typed-extents") != 0;
}

/* SPEC xray/raw-ticks */
static bool has_ticks(struct spur_trace *t, const struct spur_event *ev)
{
	if (ev->kind == SPUR_NATIVE)
		return is_named(t, ev, "cpu") || is_named(t, ev, "tsc wrap");
	return ev->kind != SPUR_SAMPLE &&
	       (ev->flags & (SPUR_F_RETIMED | SPUR_F_BACK)) != SPUR_F_RETIMED;
}

/* SPEC xray/forked-log: a call that begins again stands in the records that were left out */
static bool is_part(struct spur_trace *t, const struct spur_event *ev)
{
	return t->nparts && ev->kind == SPUR_BEGIN && (ev->flags & SPUR_F_RETIMED);
}

static const struct laws laws = {
	.framing = rest_of_buffer,
	.leaves_gap = leaves_gap,
	.has_ticks = has_ticks,
	.begins_frame = ends_buffer,
	.is_part = is_part,
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

/*
 * SPEC xray/raw-ticks, SPEC xray/schema, SPEC xray/book-time, SPEC xray/origin,
 * SPEC xray/bookkeeping: the laws, of each log of the goldens. A directory of several is a joined
 * trace, which is not XRay's.
 */
static void test_goldens(void **state)
{
	(void)state;
	assert_true(check_folder("tests/golden/xray", "/in") >= 40);
}

static void test_bad(void **state)
{
	(void)state;
	assert_true(check_folder("tests/bad/xray", "/in") >= 20);
}

static void test_traces(void **state)
{
	const char *traces = getenv("SPUR_TRACES");
	char name[4096];

	(void)state;
	snprintf(name, sizeof(name), "%s/xray", traces ? traces : "../shared/traces");
	if (access(name, R_OK) != 0) {
		print_message("no recorded traces at %s\n", name);
		skip();
	}
	assert_true(check_folder(name, "/trace.xray") >= 10);
}

/* --- by hand --- */

/* Each row as `OFF+LEN TS KIND NAME` with its ticks, by time and with bookkeeping records. */
static void expect_records(const char *expected)
{
	struct spur_trace *t;
	struct law_rows rows = { 0 };

	file_write(made.buf, made.len);
	t = law_open(path, true);
	assert_non_null(t);
	law_read(t, &rows);
	out_clear(&seen);
	for (size_t i = 0; i < rows.count; i++) {
		const struct spur_event *ev = &rows.list[i].ev;
		const struct spur_place p = format_place(t, ev);
		uint64_t ticks[2];

		out_printf(&seen, "%llu+%llu %lld %s %s", (unsigned long long)p.off,
			   (unsigned long long)p.len, (long long)ev->ts, spur_kind_name(ev->kind),
			   spur_string(t, ev->name, NULL));
		if (t->format->ticks(t, ev, ticks))
			out_printf(&seen, " %llu", (unsigned long long)ticks[0]);
		out_char(&seen, '\n');
	}
	out_char(&seen, '\0');
	assert_string_equal(seen.buf, expected);
	spur_close(t);
	free(rows.list);
}

/* SPEC xray/raw-ticks, SPEC xray/bookkeeping: three ticks are a ns */
static void test_fdr(void **state)
{
	(void)state;
	for (int order = 0; order < 2; order++) {
		big = order;
		put_header(5, FDR, 3000000000, 4096);
		buffer_begin(5, 12, 5);
		cpu(3, 3000);
		fn(ENTER, 1, 0);
		fn(ENTER, 2, 1);
		fn(EXIT, 2, 1);
		event(CUSTOM, 5, 1, -1, "abc");
		meta_uint(WRAP, 9001, 8);
		fn(EXIT, 1, 4);
		buffer_end();
		expect_records("0+32 1000 NATIVE file header\n"
			       "32+16 1000 NATIVE buffer extents\n"
			       "48+16 1000 NATIVE new buffer\n"
			       "64+16 1000 NATIVE wall time\n"
			       "80+16 1000 NATIVE pid\n"
			       "96+16 1000 NATIVE cpu 3000\n"
			       "112+8 1000 BEGIN fn#1 3000\n"
			       "120+8 1000 BEGIN fn#2 3001\n"
			       "128+8 1000 END fn#2 3002\n"
			       "136+19 1001 INSTANT custom event 3003\n"
			       "155+16 1001 NATIVE tsc wrap 9001\n"
			       "171+8 3001 END fn#1 9005\n");
		assert_true(law_check(path, &laws));
	}
}

/*
 * SPEC xray/double-delta: the ticks that are counted once; SPEC xray/carry-over: those of version 1
 */
static void test_old(void **state)
{
	(void)state;
	put_header(2, FDR, 3000000000, 4096);
	buffer_begin(2, 12, 5);
	cpu(3, 3000);
	fn(ENTER, 1, 5);
	buffer_end();
	buffer_begin(2, 12, 6);
	cpu(3, 3400);
	fn(EXIT, 1, 395);
	fn(ENTER, 2, 7);
	buffer_end();
	expect_records("0+32 1000 NATIVE file header\n"
		       "32+16 1000 NATIVE buffer extents\n"
		       "48+16 1000 NATIVE new buffer\n"
		       "64+16 1000 NATIVE wall time\n"
		       "80+16 1000 NATIVE cpu 3000\n"
		       "96+8 1001 BEGIN fn#1 3005\n"
		       "104+16 1001 NATIVE buffer extents\n"
		       "120+16 1001 NATIVE new buffer\n"
		       "136+16 1001 NATIVE wall time\n"
		       "152+16 1001 NATIVE cpu 3400\n"
		       "168+8 1133 END fn#1 3400\n"
		       "176+8 1135 BEGIN fn#2 3407\n");
	put_header(1, FDR, 3000000000, 96);
	buffer_begin(1, 12, 5);
	cpu(3, 3000);
	fn(ENTER, 1, 5);
	buffer_pad(96);
	buffer_begin(1, 12, 6);
	fn(EXIT, 1, 4);
	buffer_pad(96);
	expect_records("0+32 1000 NATIVE file header\n"
		       "32+16 1000 NATIVE new buffer\n"
		       "48+16 1000 NATIVE wall time\n"
		       "64+16 1000 NATIVE cpu 3000\n"
		       "80+8 1001 BEGIN fn#1 3005\n"
		       "88+16 1001 NATIVE end of buffer\n"
		       "128+16 1001 NATIVE new buffer\n"
		       "144+16 1001 NATIVE wall time\n"
		       "160+8 1003 END fn#1 3009\n"
		       "168+16 1003 NATIVE end of buffer\n");
	assert_true(law_check(path, &laws));
}

/* SPEC xray/basic-argument: one that follows another thread's records has a separate row */
static void test_basic(void **state)
{
	(void)state;
	put_header(3, BASIC, 3000000000, 0);
	basic(ENTER_ARG, 1, 3001, 12, 1);
	basic(ENTER_ARG, 2, 3002, 13, 1);
	basic_arg(2, 77, 13, 1);
	basic_arg(1, 78, 12, 1);
	basic(EXIT, 1, 3003, 12, 1);
	expect_records("0+32 1000 NATIVE file header\n"
		       "32+32 1000 BEGIN fn#1 3001\n"
		       "128+32 1000 NATIVE call argument\n"
		       "64+64 1000 BEGIN fn#2 3002\n"
		       "160+32 1001 END fn#1 3003\n");
	assert_true(law_check(path, &laws));
}

/* SPEC xray/repeated-buffer: the bytes that are left out are a row */
static void test_repeated(void **state)
{
	(void)state;
	put_header(5, FDR, 1000000000, 4096);
	buffer_simple(12, 5, 1000, 1);
	buffer_simple(12, 5, 1000, 1);
	expect_records("0+32 1000 NATIVE file header\n"
		       "128+96 1000 NATIVE repeated records\n"
		       "32+16 1000 NATIVE buffer extents\n"
		       "48+16 1000 NATIVE new buffer\n"
		       "64+16 1000 NATIVE wall time\n"
		       "80+16 1000 NATIVE pid\n"
		       "96+16 1000 NATIVE cpu 1000\n"
		       "112+8 1000 BEGIN fn#1 1000\n"
		       "120+8 1010 END fn#1 1010\n");
	assert_true(law_check(path, &laws));
}

/* SPEC xray/schema */
static void test_schemas(void **state)
{
	const struct spur_schema *s;
	struct law_rows rows = { 0 };
	struct spur_trace *t;

	(void)state;
	put_header(5, FDR, 1000000000, 4096);
	buffer_begin(5, 12, 5);
	cpu(3, 3000);
	fn(ENTER, 1, 0);
	event(TYPED, 5, 1, 300, "abc");
	buffer_end();
	file_write(made.buf, made.len);
	t = law_open(path, false);
	assert_non_null(t);
	law_read(t, &rows);
	assert_int_equal(rows.count, 2);
	s = format_schema(t, rows.list[0].ev.cls);
	assert_int_equal(s->nbegin, 1);
	assert_int_equal(s->nend, 0);
	assert_true(s->open && s->begin[0].optional);
	assert_string_equal(spur_string(t, s->begin[0].name, NULL), "arg1");
	assert_int_equal(s->begin[0].type, SPUR_U64);
	assert_int_equal(s->begin[0].bits, 64);
	s = format_schema(t, rows.list[1].ev.cls);
	assert_int_equal(s->nbegin, 2);
	assert_false(s->open);
	assert_string_equal(spur_string(t, s->begin[0].name, NULL), "type");
	assert_int_equal(s->begin[0].bits, 16);
	assert_string_equal(spur_string(t, s->begin[1].name, NULL), "data");
	assert_int_equal(s->begin[1].type, SPUR_NULL);
	assert_int_equal(t->origins[0].hz, 1000000000);
	assert_int_equal(t->origins[0].byte_order, 'l');
	spur_close(t);
	free(rows.list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_goldens),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_traces),
		cmocka_unit_test_setup_teardown(test_fdr, file_make, file_remove),
		cmocka_unit_test_setup_teardown(test_old, file_make, file_remove),
		cmocka_unit_test_setup_teardown(test_basic, file_make, file_remove),
		cmocka_unit_test_setup_teardown(test_repeated, file_make, file_remove),
		cmocka_unit_test_setup_teardown(test_schemas, file_make, file_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
