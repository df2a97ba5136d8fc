/* Copies of Heph traces. Files and expected copies are made packet by packet. */
#include "unit/heph_file.h"

#include "format/format.h"
#include "model/kept.h"

enum { PARTS = 3 };

static struct spur_trace *traces[PARTS];
static struct copy_part parts[PARTS];
static struct copy copy;
static struct out copied, notes;

/* The file that was made is the next part; another is begun. */
static void part(void)
{
	static const struct spur_options plain = SPUR_OPTIONS();
	const size_t i = copy.count++;

	traces[i] = file_open(&plain);
	assert_non_null(traces[i]);
	parts[i] = (struct copy_part){ .trace = traces[i], .from = INT64_MIN, .until = INT64_MAX };
	out_clear(&file);
	memset(next_counter, 0, sizeof(next_counter));
	/* The file stays mapped, so the next one has another name. */
	unlink(file_path);
	strcpy(file_path, "/tmp/spur-heph-XXXXXX");
	close(mkstemp(file_path));
}

static int copy_begin(void **state)
{
	copy = (struct copy){ .parts = parts, .out = &copied, .notes = &notes };
	out_to_memory(&copied);
	out_to_memory(&notes);
	return file_begin(state);
}

static int copy_end(void **state)
{
	for (size_t i = 0; i < copy.count; i++) {
		kept_free((struct kept *)parts[i].kept);
		spur_close(traces[i]);
	}
	out_free(&copied);
	out_free(&notes);
	return file_end(state);
}

static void run_copy(void)
{
	struct spur_error err = { 0 };

	copy.err = &err;
	copy.records = copy.bytes_lost = 0;
	out_clear(&copied);
	out_clear(&notes);
	assert_int_equal(traces[0]->format->copy(&copy), SPUR_OK);
	out_char(&notes, '\0');
}

/* The copy is the file that was made now. */
static void expect_copy(uint64_t records, uint64_t bytes_lost, const char *told)
{
	run_copy();
	assert_int_equal(copied.len, file.len);
	assert_memory_equal(copied.buf, file.buf, file.len);
	assert_int_equal(copy.records, records);
	assert_int_equal(copy.bytes_lost, bytes_lost);
	assert_string_equal(notes.buf, told);
}

static void keep(size_t i, uint64_t off)
{
	if (!parts[i].kept)
		parts[i].kept = kept_new();
	assert_true(kept_add((struct kept *)parts[i].kept, 0, off));
}

static void three_events(void)
{
	epoch(1000);
	event_all(1, 0, 7, 10, 20, "a"); /* at 23, 43 bytes */
	event_all(1, 3, 7, 30, 40, "b"); /* at 66, after a gap of two */
	event_all(1, 4, 7, 50, 60, "c"); /* at 109 */
}

static void test_whole(void **state)
{
	(void)state;
	three_events();
	put(0, 5);
	part();
	three_events();
	put(0, 5);
	expect_copy(3, 0, "");
}

/* SPEC heph/copied: counters show the losses of the source, and no others */
static void test_kept(void **state)
{
	(void)state;
	three_events();
	part();
	keep(0, 109);
	epoch(1000);
	event_all(1, 2, 7, 50, 60, "c");
	expect_copy(1, 0, "");
	/* Losses before the time that is kept are not shown. */
	parts[0].from = 45;
	out_clear(&file);
	epoch(1000);
	event_all(1, 0, 7, 50, 60, "c");
	expect_copy(1, 0, "");
}

/* SPEC heph/track-names: those of streams without an event that is kept are left out */
static void test_kept_names(void **state)
{
	(void)state;
	event_all(1, 0, 7, 10, 20, "a");
	event_all(2, 0, 7, 10, 20, "b"); /* at 43 */
	event_all(1, 1, 7, 20, 30, "c");
	track_name(1, 2, 7, 30, "one", "PROCESS");
	track_name(2, 1, 7, 30, "two", "PROCESS");
	track_name(2, 2, 7, 30, "thread", "THREAD");
	part();
	keep(0, 43);
	event_all(2, 0, 7, 10, 20, "b");
	track_name(2, 1, 7, 30, "two", "PROCESS");
	track_name(2, 2, 7, 30, "thread", "THREAD");
	expect_copy(1, 0, "");
}

static void test_kept_end(void **state)
{
	(void)state;
	three_events();
	part();
	keep(0, 23);
	epoch(1000);
	event_all(1, 0, 7, 10, 20, "a");
	expect_copy(1, 0, "losses at the end of a stream, which its counters cannot show: 1\n");
}

static void test_damage(void **state)
{
	(void)state;
	epoch(1000);
	event(1, 7, 10, 20, "a");
	attr_int("x", 1, 5);
	attr("bad", 0);
	put(1, 3);
	packet_ends();
	put(0xDEADBEEF, 4);
	put(0xDEADBEEF, 4);
	event(1, 7, 30, 40, "b");
	event(1, 7, 50, 60, "cut");
	attr_int("y", 1, 6);
	attr_string("z", "text", 4);
	file.len -= 2;
	part();
	epoch(1000);
	event(1, 7, 10, 20, "a");
	attr_int("x", 1, 5);
	event(1, 7, 30, 40, "b");
	/* The attribute of 9 bytes, 8 bytes of garbage, and the cut event. */
	expect_copy(2, 9 + 8 + 45 + 12 + 8,
		    "damaged places without a packet, left out: 2\n"
		    "events ended in front of a damaged attribute: 1\n");
	/* Repair keeps the whole part of the cut event. */
	copy.repair = true;
	event(1, 7, 50, 60, "cut");
	attr_int("y", 1, 6);
	expect_copy(3, 9 + 8 + 8,
		    "damaged places without a packet, left out: 1\n"
		    "events without their end, ended after an attribute: 1\n"
		    "events ended in front of a damaged attribute: 1\n");
}

static void test_sorted(void **state)
{
	(void)state;
	event_all(1, 0, 7, 10, 90, "late");
	event_all(2, 0, 7, 10, 20, "early");
	event_all(1, 3, 7, 30, 40, "after a gap");
	epoch(1000);
	event_all(1, 4, 7, 10, 40, "same end");
	part();
	copy.sorted = true;
	/* The epoch of the whole trace stands in front. */
	epoch(1000);
	event_all(2, 0, 7, 10, 20, "early");
	event_all(1, 2, 7, 30, 40, "after a gap");
	event_all(1, 3, 7, 10, 40, "same end");
	event_all(1, 4, 7, 10, 90, "late");
	expect_copy(4, 0, "");
	/* What is sorted already is copied as it is. */
	part();
	parts[0] = parts[1];
	copy.count = 1;
	epoch(1000);
	event_all(2, 0, 7, 10, 20, "early");
	event_all(1, 2, 7, 30, 40, "after a gap");
	event_all(1, 3, 7, 10, 40, "same end");
	event_all(1, 4, 7, 10, 90, "late");
	expect_copy(4, 0, "");
	parts[0].trace = traces[0];
	copy.count = 2;
}

/* Streams that clash get another number; times count from the first part's epoch. */
static void test_joined(void **state)
{
	(void)state;
	epoch(1000);
	event_all(1, 0, 7, 10, 20, "a");
	event_all(1, 1, 7, 30, 40, "b");
	part();
	epoch(1500);
	event_all(1, 0, 7, 15, 25, "c");
	event_all(2, 5, 8, 26, 27, "d");
	attr_int("x", 1, 1);
	part();
	old_layout = true;
	event_all(1, 0, 0, 5, 33, "e");
	part();
	old_layout = false;
	parts[1].shift = 0;
	parts[2].shift = -105;
	/* 100 ns before the first part's epoch. */
	epoch(900);
	event_all(UINT32_MAX - 1, 0, 0, 0, 28, "e");
	event_all(1, 0, 7, 110, 120, "a");
	event_all(UINT32_MAX, 0, 7, 115, 125, "c");
	event_all(2, 5, 8, 126, 127, "d");
	attr_int("x", 1, 1);
	event_all(1, 1, 7, 130, 140, "b");
	expect_copy(5, 0, "streams that got another number: 2\n");
}

static void test_allocations(void **state)
{
	struct spur_error err = { 0 };
	bool failed = true;

	(void)state;
	three_events();
	part();
	three_events();
	part();
	keep(1, 66);
	run_copy();
	out_bytes(&file, copied.buf, copied.len);
	copy.err = &err;
	for (uint64_t n = 1; failed; n++) {
		enum spur_status st;

		assert_true(n < 1000);
		out_free(&copied);
		out_to_memory(&copied);
		mem_fail_at(n);
		st = traces[0]->format->copy(&copy);
		mem_fail_at(0);
		failed = st == SPUR_FAIL || copied.error || notes.error;
		out_clear(&notes);
	}
	assert_int_equal(copied.len, file.len);
	assert_memory_equal(copied.buf, file.buf, file.len);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_whole, copy_begin, copy_end),
		cmocka_unit_test_setup_teardown(test_kept, copy_begin, copy_end),
		cmocka_unit_test_setup_teardown(test_kept_names, copy_begin, copy_end),
		cmocka_unit_test_setup_teardown(test_kept_end, copy_begin, copy_end),
		cmocka_unit_test_setup_teardown(test_damage, copy_begin, copy_end),
		cmocka_unit_test_setup_teardown(test_sorted, copy_begin, copy_end),
		cmocka_unit_test_setup_teardown(test_joined, copy_begin, copy_end),
		cmocka_unit_test_setup_teardown(test_allocations, copy_begin, copy_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
