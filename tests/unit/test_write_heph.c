/*
 * The writer of Heph traces. What is expected is made packet by packet from the format's text
 * (heph_file.h), never by the writer.
 */
#include "unit/heph_file.h"

#include "unit/given.h"

static struct convert last; /* of the latest conversion */

static enum spur_status convert_to(struct spur_trace *t, const char *settings, struct out *o)
{
	last = (struct convert){ .pipe = { .threads = 1 },
				 .zero = ZERO_EXACT,
				 .settings = settings };
	return convert_run(&last, t, writer_find("heph"), o);
}

/* The trace's conversion is what was made in `file`. */
static void expect_bytes(struct spur_trace *t, const char *settings)
{
	struct out o;

	out_to_memory(&o);
	assert_int_equal(convert_to(t, settings, &o), SPUR_OK);
	assert_int_equal(o.len, file.len);
	assert_memory_equal(o.buf, file.buf, o.len);
	out_free(&o);
}

static void mark(const char *name, const char *value)
{
	attr_string(name, value, strlen(value));
}

static void test_spans(void **state)
{
	struct spur_trace *t = fake_trace();
	const uint32_t a = fake_class(t, "a", ""), b = fake_class(t, "b", ""),
		       k = fake_track(t, "k", 10, 11), l = fake_track(t, "l", 10, 12);
	struct spur_event rows[] = { FAKE_B(100, a, k),	       FAKE_B(110, b, k),
				     FAKE_SPAN(115, 30, b, l), FAKE_SPAN(116, 4, a, l),
				     FAKE_E(120, b, k),	       FAKE_E(200, a, k) };
	struct fake_feed f;

	(void)state;
	fake_feed(t, &f, rows, 6);
	t->clock.epoch_known = true;
	t->clock.epoch_ns = 5000;
	/* SPEC heph/written: a span is written when it ends; SPEC heph/written-streams */
	epoch(5000);
	event_all(10, 0, 12, 116, 120, "a");
	event_all(10, 1, 11, 110, 120, "b");
	event_all(10, 2, 12, 115, 145, "b");
	event_all(10, 3, 11, 100, 200, "a");
	track_name(10, 4, 12, 200, "l", "THREAD");
	track_name(10, 5, 11, 200, "k", "THREAD");
	expect_bytes(t, NULL);
	assert_int_equal(loss_sum(&last.loss), 0);

	/* SPEC heph/old-layout */
	out_clear(&file);
	old_layout = true;
	fake_rewind(t);
	epoch(5000);
	event_all(10, 0, 12, 116, 120, "a");
	event_all(10, 1, 11, 110, 120, "b");
	event_all(10, 2, 12, 115, 145, "b");
	event_all(10, 3, 11, 100, 200, "a");
	expect_bytes(t, "layout=old");
	assert_int_equal(loss_of(&last, SPUR_SPAN, "no substreams"), 2);
	assert_int_equal(loss_of(&last, SPUR_BEGIN, "no substreams"), 2);
	spur_close(t);
}

static void test_kinds(void **state)
{
	struct spur_trace *t = fake_trace();
	const uint32_t a = fake_class(t, "a", ""), k = fake_track(t, "k", 1, 2);
	struct spur_event rows[] = {
		{ .kind = SPUR_INSTANT, .ts = 5, .cls = a, .track = k },
		{ .kind = SPUR_COUNTER, .ts = 6, .cls = a, .track = k, .id = 7, .nargs = 1 },
		{ .kind = SPUR_SWITCH,
		  .ts = 7,
		  .cls = a,
		  .track = k,
		  .flags = SPUR_F_OUT | SPUR_F_PREEMPTED },
		{ .kind = SPUR_SAMPLE, .ts = 8, .dur = 3, .cls = a, .track = k },
		{ .kind = SPUR_INSTANT, .ts = 20, .cls = a, .track = k, .id = 1 },
		{ .kind = SPUR_INSTANT, .ts = 20, .cls = a, .track = k, .id = 2 },
	};
	struct fake_feed f;

	(void)state;
	fake_feed(t, &f, rows, 6);
	rows[0].cat = trace_intern(t, "cat");
	rows[1].cpu = 3;
	/* SPEC heph/marks */
	event_all(1, 0, 2, 5, 5, "a");
	mark("spur.kind", "INSTANT");
	mark("spur.category", "cat");
	event_all(1, 1, 2, 6, 6, "a");
	mark("spur.kind", "COUNTER");
	attr_int("spur.id", 1, 7);
	attr_int("spur.cpu", 1, 3);
	attr_int("x", 1, 7);
	event_all(1, 2, 2, 7, 7, "a");
	mark("spur.kind", "SWITCH");
	mark("spur.flags", "out preempted");
	event_all(1, 3, 2, 8, 11, "a");
	mark("spur.kind", "SAMPLE");
	/* Of equal events the reader has the later one in front (SPEC heph/equal-spans). */
	event_all(1, 4, 2, 20, 20, "a");
	mark("spur.kind", "INSTANT");
	attr_int("spur.id", 1, 2);
	event_all(1, 5, 2, 20, 20, "a");
	mark("spur.kind", "INSTANT");
	attr_int("spur.id", 1, 1);
	track_name(1, 6, 2, 20, "k", "THREAD");
	expect_bytes(t, NULL);
	expect("5 INSTANT a @k\n6 COUNTER a @k x=7\n7 SWITCH a @k\n8 SAMPLE a @k\n"
	       "20 INSTANT a @k\n20 INSTANT a @k\n",
	       "");
	spur_close(t);
}

/* Marks that are not valid are attributes as any. */
static void test_odd_marks(void **state)
{
	(void)state;
	event(1, 2, 5, 6, "a");
	mark("spur.kind", "INSTANT");
	event(1, 2, 7, 7, "a");
	mark("spur.kind", "BEGIN");
	event(1, 2, 8, 8, "a");
	attr_int("spur.kind", 1, 3);
	event(1, 2, 9, 9, "a");
	attr_int("spur.cpu", 1, 65535);
	event(1, 2, 10, 10, "a");
	attr_int("spur.id", 1, 1);
	attr_int("spur.id", 1, 2);
	attr_int("spur.", 1, 3);
	event(1, 2, 11, 11, "a");
	mark("spur.flags", "in in");
	expect("5 +1 a @substream 2 spur.kind=\"INSTANT\"\n"
	       "7 +0 a @substream 2 spur.kind=\"BEGIN\"\n8 +0 a @substream 2 spur.kind=3\n"
	       "9 +0 a @substream 2 spur.cpu=65535\n"
	       "10 +0 a @substream 2 spur.id=2, spur.=3\n"
	       "11 +0 a @substream 2 spur.flags=\"in in\"\n",
	       "");
}

static struct spur_value items(struct spur_trace *t, const char *name, enum spur_type type,
			       const struct spur_value *v, size_t n)
{
	return (struct spur_value){ .type = (uint8_t)type,
				    .name = trace_intern(t, name),
				    .count = (uint32_t)n,
				    .items = v };
}

/* Eight values: u, i, f, l, which the format has, and m, s, e, n, which it has not. */
static void give_types(struct spur_trace *t)
{
	static struct spur_value list[2], mixed[2], members[2];

	list[0] = given_string(t, NULL, SPUR_STRING, "x", 1);
	list[1] = given_string(t, NULL, SPUR_STRING, "", 0);
	mixed[0] = given_number(t, "", SPUR_U64, 8, 9);
	mixed[1] = given_number(t, "", SPUR_I64, 8, UINT64_MAX);
	members[0] = given_number(t, "m", SPUR_BOOL, 8, 1);
	members[1] = given_string(t, "b", SPUR_BYTES, "\xab\x00", 2);
	given[0] = given_number(t, "u", SPUR_U64, 8, UINT64_MAX);
	given[1] = given_number(t, "i", SPUR_I64, 8, 5);
	given[2] = given_number(t, "f", SPUR_F64, 8, 0x3FF8000000000000);
	given[3] = items(t, "l", SPUR_ARRAY, list, 2);
	given[4] = items(t, "m", SPUR_ARRAY, mixed, 2);
	given[5] = items(t, "s", SPUR_STRUCT, members, 2);
	given[6] = given_number(t, "e", SPUR_ENUM, 8, 2);
	given[6].label = "two";
	given[7] = (struct spur_value){ .type = SPUR_NULL, .name = trace_intern(t, "n") };
}

static void test_types(void **state)
{
	struct spur_trace *t = given_trace();
	const uint32_t a = fake_class(t, "a", ""), k = fake_track(t, "k", 1, 2);
	struct spur_event rows[] = {
		{ .kind = SPUR_SPAN, .ts = 1, .dur = 1, .cls = a, .track = k, .nargs = 4 },
		{ .kind = SPUR_SPAN,
		  .ts = 3,
		  .dur = 1,
		  .cls = a,
		  .track = k,
		  .off = 4,
		  .nargs = 4 },
	};
	struct fake_feed f;

	(void)state;
	fake_feed(t, &f, rows, 2);
	give_types(t);
	/* SPEC heph/written-types */
	event_all(1, 0, 2, 1, 2, "a");
	attr_int("u", 1, UINT64_MAX);
	attr_int("i", 2, 5);
	attr_int("f", 3, 0x3FF8000000000000);
	attr("l", 0x84);
	put(2, 2);
	put_text("x", 1);
	put_text("", 0);
	packet_ends();
	event_all(1, 1, 2, 3, 4, "a");
	attr_int("m.0", 1, 9);
	attr_int("m.1", 2, UINT64_MAX);
	attr_int("s.m", 1, 1);
	mark("s.b", "ab00");
	attr_int("e", 2, 2);
	mark("e.label", "two");
	mark("n", "null");
	track_name(1, 2, 2, 4, "k", "THREAD");
	expect_bytes(t, NULL);
	assert_int_equal(loss_of(&last, SPUR_SPAN, "type is missing"), 1);
	assert_int_equal(loss_sum(&last.loss), 1);
	/* Damaged arguments are counted. */
	given_status = SPUR_WARN;
	fake_rewind(t);
	expect_bytes(t, NULL);
	assert_int_equal(loss_of(&last, SPUR_SPAN, "are damaged"), 2);
	spur_close(t);
}

/* Texts that are too long end before a character that would be cut in two. */
static void test_long_texts(void **state)
{
	struct spur_trace *t = given_trace();
	const uint32_t a = fake_class(t, "a", ""), k = fake_track(t, "k", 1, 2);
	struct spur_event rows[] = {
		{ .kind = SPUR_SPAN, .ts = 1, .dur = 1, .cls = a, .track = k, .nargs = 2 },
	};
	struct spur_value *many = mem_array(70000, sizeof(*many));
	struct fake_feed f;
	static char text[70000];

	(void)state;
	assert_non_null(many);
	fake_feed(t, &f, rows, 1);
	memset(text, 'x', sizeof(text));
	memcpy(text + 65533, "\xe2\x82\xac", 3);
	for (size_t i = 0; i < 70000; i++)
		many[i] = given_number(t, "", SPUR_U64, 8, i);
	given[0] = given_string(t, "s", SPUR_STRING, text, sizeof(text));
	given[1] = items(t, "m", SPUR_ARRAY, many, 70000);
	event_all(1, 0, 2, 1, 2, "a");
	attr_string("s", text, 65533);
	attr("m", 0x81);
	put(65535, 2);
	for (size_t i = 0; i < 65535; i++)
		put(i, 8);
	packet_ends();
	track_name(1, 1, 2, 2, "k", "THREAD");
	expect_bytes(t, NULL);
	assert_int_equal(loss_of(&last, SPUR_SPAN, "65,535"), 1);
	spur_close(t);
	mem_free(many);
}

/* Arguments of the begin and the end are one list. */
static void test_both_ends(void **state)
{
	struct spur_trace *t = given_trace();
	const uint32_t a = fake_class(t, "a", ""), k = fake_track(t, "k", 1, 2);
	struct spur_event rows[] = { FAKE_B(1, a, k), FAKE_E(2, a, k) };
	struct fake_feed f;

	(void)state;
	fake_feed(t, &f, rows, 2);
	rows[1].off = 2;
	rows[0].nargs = 2;
	rows[1].nargs = 3;
	given[0] = given_number(t, "u", SPUR_U64, 8, 1);
	given[1] = given_number(t, "v", SPUR_U64, 8, 2);
	given[2] = given_number(t, "u", SPUR_U64, 8, 1);
	given[3] = given_number(t, "v", SPUR_U64, 8, 3);
	given[4] = given_number(t, "w", SPUR_U64, 8, 4);
	event_all(1, 0, 2, 1, 2, "a");
	attr_int("u", 1, 1);
	attr_int("v", 1, 2);
	attr_int("v", 1, 3);
	attr_int("w", 1, 4);
	track_name(1, 1, 2, 2, "k", "THREAD");
	expect_bytes(t, NULL);
	assert_int_equal(loss_of(&last, SPUR_BEGIN, "differs between"), 1);
	spur_close(t);
}

static void test_ids(void **state)
{
	struct spur_trace *t = fake_trace();
	const uint32_t a = fake_class(t, "a", ""), wide = fake_track(t, "k", (int64_t)1 << 32, 2),
		       none = fake_track(t, "l", -1, 3), low = fake_track(t, "m", 5, 4),
		       same = fake_track(t, "n", 5, 4);
	struct spur_event rows[] = { FAKE_SPAN(1, 1, a, wide), FAKE_SPAN(3, 1, a, none),
				     FAKE_SPAN(5, 1, a, low), FAKE_SPAN(7, 1, a, same),
				     FAKE_SPAN(9, 1, a, wide) };
	struct fake_feed f;

	(void)state;
	fake_feed(t, &f, rows, 5);
	/* SPEC heph/written-streams: the highest free numbers stand for ids that do not fit */
	event_all(UINT32_MAX, 0, 2, 1, 2, "a");
	event_all(UINT32_MAX - 1, 0, 3, 3, 4, "a");
	event_all(5, 0, 4, 5, 6, "a");
	event_all(5, 1, UINT64_MAX, 7, 8, "a");
	event_all(UINT32_MAX, 1, 2, 9, 10, "a");
	track_name(UINT32_MAX, 2, 2, 10, "k", "THREAD");
	track_name(UINT32_MAX - 1, 1, 3, 10, "l", "THREAD");
	track_name(5, 2, 4, 10, "m", "THREAD");
	track_name(5, 3, UINT64_MAX, 10, "n", "THREAD");
	expect_bytes(t, NULL);
	assert_int_equal(loss_of(&last, SPUR_SPAN, "has no id"), 4);
	spur_close(t);
}

/* The file that is made, as a source. */
static struct spur_trace *source(void)
{
	static const struct spur_options plain = SPUR_OPTIONS();
	struct spur_trace *t = file_open(&plain);

	assert_non_null(t);
	return t;
}

/* Names that the reader gives by itself are not written; a thread without one has an empty name. */
static void test_names(void **state)
{
	struct spur_trace *t = fake_trace();
	const struct spur_track one = { .parent = SPUR_NONE,
					.name = trace_intern(t, "one"),
					.kind = SPUR_TRACK_PROCESS,
					.pid = 7,
					.tid = -1,
					.cpu = -1 };
	const uint32_t a = fake_class(t, "a", ""), process = trace_add_track(t, one);
	static const char *const names[] = { "main", "", "substream 3", "runtime", "substream 0" };
	struct spur_event rows[6];
	struct fake_feed f;

	(void)state;
	for (uint32_t i = 0; i < 5; i++) {
		struct spur_track k = { .parent = process,
					.name = names[i][0] ? trace_intern(t, names[i]) : 0,
					.kind = SPUR_TRACK_THREAD,
					.pid = 7,
					.tid = i < 3 ? 1 + i : i - 3,
					.cpu = -1 };
		k.parent = i < 4 ? process : SPUR_NONE;
		rows[i] = (struct spur_event)FAKE_SPAN(10 * i, 5, a, trace_add_track(t, k));
	}
	fake_feed(t, &f, rows, 5);
	event_all(7, 0, 1, 0, 5, "a");
	event_all(7, 1, 2, 10, 15, "a");
	event_all(7, 2, 3, 20, 25, "a");
	event_all(7, 3, 0, 30, 35, "a");
	/* No process is above it, so its stream is another one. */
	event_all(UINT32_MAX, 0, 1, 40, 45, "a");
	track_name(7, 4, 1, 45, "one", "PROCESS");
	track_name(7, 5, 1, 45, "main", "THREAD");
	track_name(7, 6, 2, 45, "", "THREAD");
	track_name(UINT32_MAX, 1, 1, 45, "substream 0", "THREAD");
	expect_bytes(t, NULL);
	expect("0 +5 a @main\n10 +5 a @\n20 +5 a @substream 3\n30 +5 a @runtime\n"
	       "40 +5 a @substream 0\n",
	       "");
	spur_close(t);
	/* What was written so comes out as it is. */
	t = source();
	expect_bytes(t, NULL);
	assert_int_equal(loss_sum(&last.loss), 0);
	spur_close(t);
}

/* Times before zero count from the first event, whose time the epoch then is. */
static void test_early(void **state)
{
	struct spur_trace *t = fake_trace();
	const uint32_t a = fake_class(t, "a", ""), k = fake_track(t, "k", 1, 2);
	struct spur_event rows[] = { FAKE_SPAN(-100, 30, a, k), FAKE_SPAN(7, 1, a, k) };
	struct fake_feed f;

	(void)state;
	fake_feed(t, &f, rows, 2);
	t->clock.epoch_known = true;
	t->clock.epoch_ns = 1000;
	epoch(900);
	event_all(1, 0, 2, 0, 30, "a");
	event_all(1, 1, 2, 107, 108, "a");
	track_name(1, 2, 2, 108, "k", "THREAD");
	expect_bytes(t, NULL);
	assert_int_equal(loss_sum(&last.loss), 0);
	/* If the user wants the clock's own zero, such times are lost. */
	out_clear(&file);
	fake_rewind(t);
	last = (struct convert){ .pipe = { .threads = 1 }, .zero = ZERO_CLOCK };
	epoch(1000);
	event_all(1, 0, 2, 0, 0, "a");
	event_all(1, 1, 2, 7, 8, "a");
	track_name(1, 2, 2, 8, "k", "THREAD");
	{
		struct out o;

		out_to_memory(&o);
		assert_int_equal(convert_run(&last, t, writer_find("heph"), &o), SPUR_OK);
		assert_int_equal(o.len, file.len);
		assert_memory_equal(o.buf, file.buf, o.len);
		out_free(&o);
	}
	assert_int_equal(loss_of(&last, SPUR_SPAN, "before the epoch"), 1);
	spur_close(t);
}

/* SPEC heph/written-again: what Heph wrote comes out as it is. */
static void test_again(void **state)
{
	struct spur_trace *t;

	(void)state;
	epoch(1234567);
	event_all(3, 0, 7, 20, 30, "inner");
	attr("empty", 0x84);
	put(0, 2);
	packet_ends();
	meta("unknown", "\x01\x02", 2);
	event_all(3, 1, 7, 10, 40, "outer");
	attr_int("x", 2, 1);
	attr_int("x", 2, 1);
	event_all(3, 4, 8, 41, 42, "after a gap"); /* SPEC heph/written-gap */
	event_all(0, 0, 0, 43, 43, "zero");
	attr("undecodable", 0x77);
	put(77, 3);
	packet_ends();
	/* What ends together stays in its order, and each id of a substream is possible. */
	event_all(9, 0, UINT64_MAX, 50, 60, "begins first");
	event_all(3, 5, 8, 55, 60, "begins last");
	event_all(3, 6, 8, 50, 60, "around it");
	meta("another", "", 0);
	event_all(9, 2, 1, 60, 60, "after a gap");
	event_all(0, 1, 0, 57, 60, "begins before it");
	t = source();
	expect_bytes(t, NULL);
	assert_int_equal(loss_sum(&last.loss), 0);
	spur_close(t);

	/* In the layout of the source, unless the user chooses. */
	out_clear(&file);
	old_layout = true;
	event_all(1, 0, 0, 1, 2, "a");
	attr_int("x", 1, 1);
	t = source();
	expect_bytes(t, NULL);
	spur_close(t);
	t = source();
	out_clear(&file);
	old_layout = false;
	event_all(1, 0, 0, 1, 2, "a");
	attr_int("x", 1, 1);
	expect_bytes(t, "layout=new");
	spur_close(t);
}

/* An end before the start stays one; a gap that no event follows is lost. */
static void test_odd_sources(void **state)
{
	struct spur_trace *t;

	(void)state;
	epoch(1000);
	event_all(3, 0, 7, 30, 20, "odd");
	event_all(3, 1, 7, UINT64_MAX - 1, UINT64_MAX, "far");
	t = source();
	expect_bytes(t, NULL);
	spur_close(t);

	/* Another epoch: times count from the first one, and its streams are others. */
	out_clear(&file);
	epoch(1000);
	event_all(3, 0, 7, 10, 20, "a");
	epoch(3000);
	event_all(3, 0, 7, 10, 5, "b");
	t = source();
	out_clear(&file);
	epoch(1000);
	event_all(3, 0, 7, 10, 20, "a");
	event_all(UINT32_MAX, 0, 7, 2010, 2005, "b");
	expect_bytes(t, NULL);
	assert_int_equal(loss_of(&last, SPUR_SPAN, "has no id"), 1);
	spur_close(t);
}

/* Every allocation may fail: the conversion fails, or its bytes are right. */
static void test_allocations(void **state)
{
	struct spur_trace *t = given_trace();
	const uint32_t a = fake_class(t, "a", ""), k = fake_track(t, "k", 1, 2);
	struct spur_event rows[200] = { FAKE_B(1, a, k) };
	struct fake_feed f;
	bool failed = true;

	(void)state;
	given[0] = given_string(t, "s", SPUR_STRING, "text", 4);
	for (size_t i = 0; i < 200; i++)
		rows[i] = (struct spur_event){ .kind = i % 3 ? SPUR_SPAN : SPUR_INSTANT,
					       .ts = (int64_t)i,
					       .dur = i % 3 ? 1000 - (int64_t)i : 0,
					       .cls = a,
					       .track = k,
					       .off = 0,
					       .nargs = 1 };
	fake_feed(t, &f, rows, 200);
	assert_int_equal(convert_to(t, NULL, &file), SPUR_OK);
	for (uint64_t n = 1; failed; n++) {
		enum spur_status st;
		struct out o;

		assert_true(n < 10000);
		fake_rewind(t);
		out_to_memory(&o);
		mem_fail_at(n);
		st = convert_to(t, NULL, &o);
		mem_fail_at(0);
		failed = st == SPUR_FAIL || o.error;
		if (!failed) {
			assert_int_equal(o.len, file.len);
			assert_memory_equal(o.buf, file.buf, o.len);
		}
		out_free(&o);
	}
	spur_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_spans, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_kinds, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_odd_marks, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_types, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_long_texts, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_both_ends, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_ids, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_names, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_early, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_again, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_odd_sources, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_allocations, file_begin, file_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
