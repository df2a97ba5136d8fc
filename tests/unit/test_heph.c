/* Heph: each rule of docs/formats/heph.md on the smallest file that shows it. */
#include "unit/heph_file.h"

#include "format/heph/name.h"
#include "format/heph/packet.h"
#include "format/heph/track.h"
#include "model/reorder.h"

static void test_packets(void **state)
{
	(void)state;
	/* SPEC heph/packet, SPEC heph/metadata, SPEC heph/event, SPEC heph/attribute */
	epoch(1000);
	event(1, 2, 100, 200, "My event");
	attr_int("u", 1, UINT64_MAX);
	attr_int("i", 2, (uint64_t)INT64_MIN);
	attr_int("f", 3, 0x3FF8000000000000);
	attr_string("s", "text", 4);
	event(1, 2, 300, 300, "");
	expect("100 +100 My event @substream 2 u=18446744073709551615, i=-9223372036854775808, "
	       "f=1.5, s=\"text\"\n"
	       "300 +0  @substream 2\n",
	       "");
	/* SPEC heph/stored: metadata too */
	expect_stored("0 NATIVE epoch @metadata value={00 00 00 00 00 00 03 e8}\n"
		      "100 +100 My event @substream 2 u=18446744073709551615, "
		      "i=-9223372036854775808, f=1.5, "
		      "s=\"text\"\n"
		      "300 +0  @substream 2\n",
		      "");
}

static void test_arrays(void **state)
{
	(void)state;
	/* SPEC heph/array */
	event(1, 1, 1, 2, "a");
	attr("u", 0x81);
	put(2, 2);
	put(7, 8);
	put(8, 8);
	attr("none", 0x83);
	put(0, 2);
	attr("s", 0x84);
	put(3, 2);
	put_text("x", 1);
	put_text("", 0);
	put_text("yz", 2);
	packet_ends();
	attr_int("behind", 1, 5);
	expect("1 +1 a @substream 1 u=[7, 8], none=[], s=[\"x\", \"\", \"yz\"], behind=5\n", "");
}

static void test_any_bytes(void **state)
{
	(void)state;
	/* SPEC heph/any-bytes, SPEC heph/same-name */
	event(1, 1, 1, 2, "\xff\x01\xc3");
	attr_string("n\xe9", "a\0b", 3);
	attr_int("x", 1, 1);
	attr_int("x", 1, 2);
	attr_string("", "", 0);
	expect("1 +1 \\xff\\x01\\xc3 @substream 1 n\\xe9=\"a\\x00b\", x=1, x=2, \"\"\n", "");
}

/* Names of all lengths, told apart by each of their bytes. */
static void test_names(void **state)
{
	struct spur_trace *t = trace_new("x", NULL);
	struct heph_names *n = mem_alloc(sizeof(*n));
	uint8_t text[80] = { 0 };

	(void)state;
	assert_true(t && n && heph_names_init(n, t, CLASS_FUNCTION, "c"));
	for (size_t len = 0; len <= 64; len++)
		for (size_t k = 0; k <= len; k++) {
			const struct heph_name *e;

			memset(text, 'a', sizeof(text));
			text[8 + k] = 'b';
			e = heph_name_get(n, text + 8, len);
			assert_int_equal(e->len, len);
			assert_memory_equal(e->text, text + 8, len);
			assert_int_equal(trace_class(t, e->cls)->name, e->id);
			assert_ptr_equal(heph_name_get(n, text + 8, len), e);
			/* What stands in front plays no part. */
			text[7] = 'c';
			assert_ptr_equal(heph_name_get(n, text + 8, len), e);
		}
	/* SPEC heph/name-limit */
	n->count = HEPH_NAMES + 1; /* with `other` */
	assert_ptr_equal(heph_name_get(n, (const uint8_t *)"01234567new" + 8, 3), n->other);
	assert_ptr_not_equal(heph_name_get(n, text + 8, 5), n->other);
	heph_names_free(n);
	mem_free(n);
	trace_free(t);
}

static void test_old_layout(void **state)
{
	(void)state;
	/* SPEC heph/old-layout */
	old_layout = true;
	epoch(5);
	event(3, 0, 10, 20, "inner");
	attr_int("i", 1, 7);
	event(3, 0, 5, 30, "");
	event(3, 0, 40, (uint64_t)1 << 60, "x");
	expect("5 +25  @runtime\n10 +10 inner @runtime i=7\n40 +1152921504606846936 x @runtime\n",
	       "");
	expect_stored(
		"0 NATIVE epoch @metadata value={00 00 00 00 00 00 00 05}\n"
		"10 +10 inner @runtime i=7\n5 +25  @runtime\n40 +1152921504606846936 x @runtime\n",
		"");
}

static void expect_epoch(uint64_t want)
{
	struct spur_trace *t = file_open(&(struct spur_options)SPUR_OPTIONS());

	assert_non_null(t);
	assert_int_equal(t->clock.epoch_known, want != 0);
	assert_int_equal(t->clock.epoch_ns, want);
	assert_int_equal(t->clock.hz, 1000000000);
	spur_close(t);
}

static void test_epoch(void **state)
{
	(void)state;
	event(1, 1, 1, 2, "a");
	expect_epoch(0);
	/* SPEC heph/epoch: at the end too; the same once more changes nothing */
	epoch(77);
	epoch(77);
	expect_epoch(77);
	expect("1 +1 a @substream 1\n", "");
}

static void test_second_epoch(void **state)
{
	(void)state;
	/* SPEC heph/second-epoch */
	epoch(1000);
	event(1, 1, 10, 20, "a");
	event_all(1, 3, 1, 30, 40, "b");
	epoch(5000);
	event_all(1, 0, 1, 10, 20, "c");
	epoch(500);
	event_all(1, 0, 1, 10, 20, "d");
	expect("-490 +10 d @substream 1 (segment 3)\n"
	       "10 +10 a @substream 1\n"
	       "30 LOST lost events 2 @stream 1\n"
	       "30 +10 b @substream 1\n"
	       "4010 +10 c @substream 1 (segment 2)\n",
	       "heph/lost-events 1 at 66\nheph/second-epoch 2 at 109\n");
	expect_epoch(1000);
}

static void test_far(void **state)
{
	(void)state;
	/* SPEC heph/far-epoch, SPEC heph/far-time, SPEC heph/end-before-start */
	epoch(UINT64_MAX);
	event(1, 1, UINT64_MAX - 1, UINT64_MAX, "far");
	event(1, 1, 5, UINT64_MAX, "long");
	event(1, 1, 200, 100, "back");
	expect("5 +9223372036854775802 long @substream 1\n"
	       "200 +0 back @substream 1 ?\n"
	       "9223372036854775807 +0 far @substream 1\n",
	       "heph/end-before-start 1 at 114\nheph/far-epoch 1\nheph/far-time 1 at 23\n");
	expect_epoch(0);
}

static void test_tracks(void **state)
{
	struct spur_trace *t;
	const struct spur_track *k;

	(void)state;
	event(7, UINT64_MAX - 1, 1, 2, "a");
	event(7, 0, 3, 4, "b");
	t = file_open(&(struct spur_options)SPUR_OPTIONS());
	assert_non_null(t);
	/* SPEC heph/stream-track */
	k = spur_track(t, 0);
	assert_int_equal(k->kind, SPUR_TRACK_PROCESS);
	assert_int_equal(k->pid, 7);
	assert_string_equal(spur_string(t, k->name, NULL), "stream 7");
	/* SPEC heph/substream-track */
	k = spur_track(t, 1);
	assert_int_equal(k->kind, SPUR_TRACK_THREAD);
	assert_int_equal(k->parent, 0);
	assert_true((uint64_t)k->tid == UINT64_MAX - 1);
	assert_string_equal(spur_string(t, k->name, NULL), "substream 18446744073709551614");
	assert_string_equal(spur_string(t, spur_track(t, 2)->name, NULL), "runtime");
	spur_close(t);
}

/* SPEC heph/track-limit */
static void test_track_limit(void **state)
{
	struct spur_trace *t = trace_new("x", NULL);
	struct heph_tracks *k = mem_alloc(sizeof(*k));
	uint32_t track;

	(void)state;
	assert_true(t && k);
	heph_tracks_init(k, t, &t->diag, "x");
	track = heph_track_get(k, 1, 5)->track;
	k->made = HEPH_TRACKS;
	assert_int_equal(heph_track_get(k, 1, 5)->track, track);
	/* A substream shares its stream's track, streams have one for all. */
	assert_int_equal(heph_track_get(k, 1, 6)->track, k->streams[0]->track);
	assert_int_equal(heph_track_get(k, 2, 5)->track, 2);
	assert_int_equal(heph_track_get(k, 2, 9)->track, 2);
	assert_int_equal(heph_track_get(k, 3, 1)->track, 2);
	assert_int_equal(spur_track_count(t), 3);
	assert_string_equal(spur_string(t, spur_track(t, 2)->name, NULL), "other streams");
	assert_true(diag_count(&t->diag, DIAG_WARN) > 0);
	heph_tracks_free(k);
	mem_free(k);
	trace_free(t);
}

static void test_nesting(void **state)
{
	(void)state;
	/* SPEC heph/nesting: within a substream; SPEC heph/equal-spans */
	event(1, 1, 10, 20, "inner");
	event(1, 1, 10, 20, "middle, written later");
	event(1, 1, 10, 25, "outer");
	event(1, 2, 15, 40, "elsewhere");
	event(1, 1, 25, 25, "nothing");
	expect("10 +15 outer @substream 1\n"
	       "10 +10 middle, written later @substream 1\n"
	       "10 +10 inner @substream 1\n"
	       "15 +25 elsewhere @substream 2\n"
	       "25 +0 nothing @substream 1\n",
	       "");
}

static void test_overlap(void **state)
{
	(void)state;
	/* SPEC heph/overlap */
	event(1, 1, 25, 35, "b");
	event(1, 1, 30, 40, "a");
	event(1, 1, 40, 50, "c");
	expect("25 +10 b @substream 1\n30 +10 a @substream 1 (2)\n40 +10 c @substream 1\n",
	       "heph/overlap 1\n");
	expect_stored("25 +10 b @substream 1\n30 +10 a @substream 1\n40 +10 c @substream 1\n", "");
}

static uint64_t discarded(void)
{
	struct spur_trace *t = file_open(&(struct spur_options)SPUR_OPTIONS());
	uint64_t n;

	assert_non_null(t);
	n = t->read.discarded;
	spur_close(t);
	return n;
}

static void test_loss(void **state)
{
	(void)state;
	/* SPEC heph/counter-loss */
	event_all(1, 2, 1, 10, 11, "a");
	event_all(2, 0, 1, 20, 21, "b");
	event_all(1, 3, 1, 30, 31, "c");
	event_all(1, 7, 1, 40, 41, "d");
	expect("10 LOST lost events 2 @stream 1\n10 +1 a @substream 1\n20 +1 b @substream 1\n30 +1 "
	       "c @substream 1\n"
	       "40 LOST lost events 3 @stream 1\n40 +1 d @substream 1\n",
	       "heph/lost-events 2 at 0\n");
	assert_int_equal(discarded(), 5);
	/* They are certain at the end only. */
	expect_stored("10 +1 a @substream 1\n20 +1 b @substream 1\n30 +1 c @substream 1\n40 +1 d "
		      "@substream 1\n"
		      "10 LOST lost events 2 @stream 1\n40 LOST lost events 3 @stream 1\n",
		      "heph/lost-events 2 at 0\n");
}

static void test_late(void **state)
{
	static const uint32_t counters[] = { 0, 4, 2, 1, 5, 3, 3, 8 };

	(void)state;
	/* SPEC heph/counter-window */
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		event_all(0, counters[i], 1, i, i, "x");
	expect("0 +0 x @substream 1\n1 +0 x @substream 1\n2 +0 x @substream 1\n3 +0 x @substream "
	       "1\n"
	       "4 +0 x @substream 1\n5 +0 x @substream 1\n6 +0 x @substream 1\n7 LOST lost events "
	       "2 @stream 0\n"
	       "7 +0 x @substream 1\n",
	       "heph/late-event 3 at 86\nheph/lost-events 1 at 301\nheph/repeated-counter 1 at "
	       "258\n");
	assert_int_equal(discarded(), 2);
}

static void test_window_ends(void **state)
{
	(void)state;
	/* Counter 1 comes 1,024 events late, 2 one more. */
	event_all(0, 0, 1, 1, 1, "x");
	for (uint32_t c = 3; c <= HEPH_WINDOW; c++)
		event_all(0, c, 1, 1, 1, "x");
	event_all(0, 1, 1, 1, 1, "late");
	assert_int_equal(discarded(), 1);
	event_all(0, HEPH_WINDOW + 1, 1, 1, 1, "x");
	event_all(0, HEPH_WINDOW + 2, 1, 1, 1, "x");
	event_all(0, 2, 1, 1, 1, "too late");
	assert_int_equal(discarded(), 1);
}

/* A gap of many counters: what belongs into it comes late, twice, and nothing begins anew. */
static void test_late_in_large_gap(void **state)
{
	static const uint32_t counters[] = { 0, 1, 2, 5000, 5001, 3, 5002, 4999, 9000, 8000, 9001 };
	uint32_t missing = 9000 - 3;

	(void)state;
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		event_all(0, counters[i], 1, i, i, "x");
	missing -= 3 + 3; /* 5000 to 5002; 3, 4999 and 8000 */
	assert_int_equal(discarded(), missing);
	expect("0 +0 x @substream 1\n1 +0 x @substream 1\n2 +0 x @substream 1\n"
	       "3 LOST lost events 4995 @stream 0\n3 +0 x @substream 1\n4 +0 x @substream 1\n"
	       "5 +0 x @substream 1\n6 +0 x @substream 1\n7 +0 x @substream 1\n"
	       "8 LOST lost events 999 @stream 0\n8 LOST lost events 2997 @stream 0\n"
	       "8 +0 x @substream 1\n9 +0 x @substream 1\n10 +0 x @substream 1\n",
	       "heph/late-event 3 at 215\nheph/lost-events 3 at 129\n");
}

/* SPEC heph/counter-restart, SPEC heph/counter-wrap */
static void test_restart(void **state)
{
	(void)state;
	event_all(1, 0, 1, 1, 2, "a");
	event_all(1, 1, 1, 3, 4, "b");
	event_all(1, 0, 1, 5, 6, "c");
	event_all(1, 1, 1, 7, 8, "d");
	event_all(2, UINT32_MAX - 1, 1, 9, 10, "e");
	event_all(2, UINT32_MAX, 1, 11, 12, "f");
	event_all(2, 0, 1, 13, 14, "g");
	event_all(2, 2, 1, 15, 16, "h");
	expect("1 +1 a @substream 1\n3 +1 b @substream 1\n5 +1 c @substream 1\n7 +1 d @substream "
	       "1\n"
	       "9 +1 e @substream 1\n11 +1 f @substream 1\n13 +1 g @substream 1\n15 LOST lost "
	       "events 1 @stream 2\n"
	       "15 +1 h @substream 1\n",
	       "heph/counter-restart 2 at 86\nheph/lost-events 1 at 301\n");
}

static void test_options(void **state)
{
	(void)state;
	/* SPEC heph/unknown-option */
	meta("first", "\1\2", 2);
	event(1, 1, 50, 60, "a");
	event(1, 1, 20, 70, "b");
	meta("", "", 0);
	meta("epoch", "\0\0\0\1", 4);
	meta("epoch", "\0\0\0\0\0\0\0\1xy", 10);
	expect("20 NATIVE first @metadata value={01 02}\n"
	       "20 +50 b @substream 1\n"
	       "20 NATIVE  @metadata value={}\n"
	       "20 NATIVE epoch @metadata value={00 00 00 01}\n"
	       "50 +10 a @substream 1\n",
	       "heph/epoch-length 1 at 113\nheph/trailing-bytes 1 at 155\nheph/unknown-option 2 at "
	       "0\n");
	expect_epoch(1);
}

/* SPEC heph/track-names: events that name streams and substreams are no rows, but are counted. */
static void test_track_names(void **state)
{
	static const struct spur_options books = SPUR_OPTIONS(.bookkeeping = true);

	(void)state;
	event_all(1, 0, 1, 10, 20, "a");
	track_name(1, 1, 1, 99, "first", "THREAD");
	track_name(1, 2, 1, 99, "second", "THREAD");
	track_name(1, 3, 2, 99, "process", "PROCESS");
	event_all(1, 4, 2, 30, 40, "b");
	track_name(1, 6, 2, 99, "", "THREAD");
	/* Not these: it lasts, has more attributes, another word, another type. */
	event_all(1, 7, 1, 50, 51, "c");
	attr_string("spur.kind", "THREAD", 6);
	track_name(1, 8, 1, 60, "d", "THREAD");
	attr_int("x", 1, 1);
	track_name(1, 9, 1, 70, "e", "THREADS");
	event_all(1, 10, 1, 80, 80, "f");
	attr_int("spur.kind", 1, 1);
	expect("10 +10 a @second\n30 +10 b @\n"
	       "50 +1 c @second spur.kind=\"THREAD\"\n"
	       "60 +0 d @second spur.kind=\"THREAD\", x=1\n"
	       "70 +0 e @second spur.kind=\"THREADS\"\n"
	       "80 +0 f @second spur.kind=1\n"
	       "99 LOST lost events 1 @process\n",
	       "heph/lost-events 1 at 291\n");
	/* With bookkeeping they are rows. */
	out_clear(&file);
	event_all(1, 0, 1, 10, 20, "a");
	track_name(1, 1, 1, 20, "first", "THREAD");
	expect_with(&books, "10 +10 a @first\n20 NATIVE first @first spur.kind=\"THREAD\"\n", "");
	expect_stored("10 +10 a @substream 1\n20 NATIVE first @substream 1 spur.kind=\"THREAD\"\n",
		      "");
	/* A name holds for its segment. */
	out_clear(&file);
	epoch(1);
	event_all(1, 0, 1, 10, 20, "a");
	epoch(2);
	track_name(1, 0, 1, 20, "later", "THREAD");
	event_all(1, 1, 1, 21, 22, "b");
	expect("10 +10 a @substream 1\n22 +1 b @later\n", "heph/second-epoch 1 at 66\n");
}

static void test_attribute_faults(void **state)
{
	(void)state;
	/* SPEC heph/unknown-type, SPEC heph/rest-kept */
	event(1, 1, 1, 1, "a");
	attr_int("x", 1, 1);
	attr_int("y", 5, 2);
	event(1, 1, 2, 2, "b");
	attr_int("y", 0x80, 2);
	event(1, 1, 3, 3, "c");
	put(9, 2);
	packet_ends();
	event(1, 1, 4, 4, "d");
	attr("s", 4);
	put(3, 2);
	put(0x6162, 2);
	packet_ends();
	expect("1 +0 a @substream 1 x=1, undecoded={00 01 79 05 00 00 00 00 00 00 00 02}\n"
	       "2 +0 b @substream 1 undecoded={00 01 79 80 00 00 00 00 00 00 00 02}\n"
	       "3 +0 c @substream 1 undecoded={00 09}\n"
	       "4 +0 d @substream 1 undecoded={00 01 73 04 00 03 61 62}\n",
	       "heph/invalid-type 1 at 110\nheph/torn-attribute 1 at 210\nheph/trailing-bytes 1 at "
	       "165\n"
	       "heph/unknown-type 1 at 55\n");
}

static void test_resync(void **state)
{
	(void)state;
	/* SPEC heph/resync */
	out_bytes(&file, "garbage", 7);
	event(1, 1, 1, 2, "a");
	put(0xC1FC1FB7, 4);
	put(41, 4);
	event(1, 1, 3, 4, "b");
	put(0x75D11D4D, 4);
	event(1, 1, 5, 6, "c");
	event(1, 1, 7, 8, "d");
	packet = file.len;
	put(0xC1FC1FB7, 4);
	put(0, 4);
	expect("1 +1 a @substream 1\n3 +1 b @substream 1\n5 +1 c @substream 1\n7 +1 d @substream "
	       "1\n",
	       "heph/bad-magic 1 at 0 lost 7\nheph/packet-size 2 at 50 lost 16\nheph/torn-packet 1 "
	       "at 101 lost 4\n");
}

/* A name that is too long, with and without a packet at the end. */
static void test_name_length(void **state)
{
	(void)state;
	event(1, 1, 1, 2, "a");
	file.buf[packet + 41] = 2;
	event(1, 1, 3, 4, "b");
	meta("xy", "", 0);
	file.buf[packet + 9] = 3;
	out_str(&file, "zz");
	event(1, 1, 5, 6, "c");
	expect("3 LOST lost events 1 @stream 1\n3 +1 b @substream 1\n5 +1 c @substream 1\n",
	       "heph/lost-events 1 at 43\nheph/name-length 2 at 0 lost 57\n");
}

static void test_cut_packet(void **state)
{
	(void)state;
	/* SPEC heph/cut-packet */
	event(1, 1, 1, 2, "a");
	attr_string("s", "0123456789", 10);
	event(1, 1, 3, 4, "cut");
	attr_string("s", "0123456789", 10);
	file.len -= 9;
	event_all(1, 2, 1, 5, 6, "b");
	attr_int("n", 1, 1);
	event_all(1, 3, 1, 7, 8, "c");
	file.len -= 2;
	event_all(1, 4, 1, 9, 10, "d");
	expect("1 +1 a @substream 1 s=\"0123456789\"\n"
	       "5 LOST lost events 1 @stream 1\n"
	       "5 +1 b @substream 1 n=1\n"
	       "9 LOST lost events 1 @stream 1\n"
	       "9 +1 d @substream 1\n",
	       "heph/lost-events 2 at 111\nheph/name-length 1 at 166 lost 41\nheph/torn-packet 1 "
	       "at 59 lost 52\n");
}

/* SPEC heph/cut-tail: a text that holds a packet, whose own packet is cut anywhere */
static void test_cut_text(void **state)
{
	char text[64];
	size_t whole, len;

	(void)state;
	event(1, 2, 3, 4, "inner");
	len = file.len;
	memcpy(text, file.buf, len);
	out_clear(&file);
	event_all(1, 0, 1, 1, 2, "a");
	whole = file.len;
	event_all(1, 1, 1, 1, 9, "outer");
	attr_string("text", text, len);
	attr_string("more", "0123456789", 10);
	while (--file.len > whole) {
		char want[80];

		snprintf(want, sizeof(want), "heph/torn-%s 1 at %zu lost %zu\n",
			 file.len < whole + 8 ? "header" : "packet", whole, file.len - whole);
		expect("1 +1 a @substream 1\n", want);
	}
}

static void test_cut_tail(void **state)
{
	(void)state;
	event(1, 1, 1, 2, "a");
	event(1, 1, 3, 4, "b");
	file.len--;
	expect("1 +1 a @substream 1\n", "heph/torn-packet 1 at 43 lost 42\n");
	file.len = 50;
	expect("1 +1 a @substream 1\n", "heph/torn-header 1 at 43 lost 7\n");
	/* SPEC heph/zero-padding */
	memset(file.buf + 43, 0, 7);
	expect("1 +1 a @substream 1\n", "heph/zero-padding 1 at 43\n");
	out_pad(&file, '\0', 3000);
	expect("1 +1 a @substream 1\n", "heph/zero-padding 1 at 43\n");
	out_char(&file, 'x');
	expect("1 +1 a @substream 1\n", "heph/bad-magic 1 at 43 lost 3008\n");
}

static void expect_once(const char *rows, const char *diags)
{
	struct spur_trace *t = file_open(&(struct spur_options)SPUR_OPTIONS());
	struct out o;

	assert_non_null(t);
	out_to_memory(&o);
	assert_true(rows_text(t, &o));
	diags_text(t, &o);
	out_char(&o, '\0');
	assert_memory_equal(o.buf, rows, strlen(rows));
	assert_string_equal(o.buf + strlen(rows), diags);
	out_free(&o);
	spur_close(t);
}

static void test_huge(void **state)
{
	(void)state;
	/* SPEC heph/huge-packet */
	event(1, 1, 1, 2, "a");
	attr("n", 0x84);
	put(UINT16_MAX, 2);
	for (unsigned i = 0; i < UINT16_MAX; i++) {
		put(300, 2);
		out_pad(&file, '\0', 300);
	}
	packet_ends();
	event(1, 1, 3, 4, "b");
	{
		struct spur_trace *t = file_open(&(struct spur_options)SPUR_OPTIONS());
		const struct spur_event *rows;
		struct spur_args args = { 0 };
		size_t n;

		assert_non_null(t);
		assert_int_equal(spur_next(t, &rows, &n), SPUR_OK);
		assert_int_equal(rows[0].nargs, 1);
		assert_int_equal(spur_args(t, &rows[0], &args), SPUR_OK);
		assert_int_equal(args.items[0].count, UINT16_MAX);
		spur_args_free(&args);
		spur_close(t);
	}
	/* It is written only if a packet follows. */
	file.buf[packet] = 0;
	expect_once("", "heph/huge-packet 1 at 0 lost 19791662\n");
}

/* Too many for memory stay bytes. */
static void test_many_values(void **state)
{
	struct spur_trace *t;
	const struct spur_event *rows;
	struct spur_args args = { 0 };
	size_t n;

	(void)state;
	event(1, 1, 1, 2, "a");
	for (unsigned i = 0; i < 17; i++) {
		attr("n", 0x81);
		put(UINT16_MAX, 2);
		out_pad(&file, '\1', 8 * UINT16_MAX);
	}
	packet_ends();
	t = file_open(&(struct spur_options)SPUR_OPTIONS());
	assert_non_null(t);
	assert_int_equal(spur_next(t, &rows, &n), SPUR_OK);
	assert_int_equal(rows[0].nargs, 17);
	assert_int_equal(spur_args(t, &rows[0], &args), SPUR_WARN);
	assert_int_equal(args.count, 16);
	assert_int_equal(args.items[14].type, SPUR_ARRAY);
	assert_int_equal(args.items[15].type, SPUR_BYTES);
	assert_int_equal(args.items[15].count, 2 * (2 + 1 + 1 + 2 + 8 * UINT16_MAX));
	spur_args_free(&args);
	spur_close(t);
}

/* The order of many: windows, stragglers from far behind, equal times. */
struct want {
	int64_t ts, dur;
	uint64_t off;
};

static int want_order(const void *a, const void *b)
{
	const struct want *x = a, *y = b;

	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	if (x->dur != y->dur)
		return x->dur > y->dur ? -1 : 1;
	return x->off > y->off ? -1 : 1;
}

static void expect_order(struct want *want, size_t n)
{
	struct spur_trace *t = file_open(&(struct spur_options)SPUR_OPTIONS());
	const struct spur_event *rows;
	size_t got, at = 0;

	qsort(want, n, sizeof(*want), want_order);
	assert_non_null(t);
	while (spur_next(t, &rows, &got) == SPUR_OK)
		for (size_t i = 0; i < got; i++, at++) {
			assert_true(at < n);
			assert_int_equal(rows[i].ts, want[at].ts);
			assert_int_equal(rows[i].dur, want[at].dur);
			assert_int_equal(rows[i].off, want[at].off);
		}
	assert_int_equal(at, n);
	spur_close(t);
}

static void test_order(void **state)
{
	enum { EVENTS = 3000 };
	static struct want want[EVENTS];
	uint64_t x = 1;

	(void)state;
	for (int round = 0; round < 12; round++) {
		const uint64_t range = (uint64_t)1 << (round * 5), wide = round % 3 ? 50 : 20000;

		out_clear(&file);
		next_counter[1] = 0;
		for (size_t i = 0; i < EVENTS; i++) {
			uint64_t start, dur;

			x = x * 6364136223846793005u + 1442695040888963407u;
			dur = (x >> 33) % wide;
			start = round == 11 ? 5 : i * 3 + (x >> 20) % range;
			want[i] = (struct want){ (int64_t)start, (int64_t)dur, file.len };
			event(1, 1, start, start + dur, "x");
		}
		if (round == 10) {
			/* One wild time at the start. */
			want[0] = (struct want){ INT64_MAX - 9, 9, 0 };
			memset(file.buf + 24, 0xff, 16);
			file.buf[24] = file.buf[32] = 0x7f;
			file.buf[31] = (char)0xf6;
		}
		expect_order(want, EVENTS);
	}
}

/* A file that ends anywhere says what it says up to there. */
static void test_prefixes(void **state)
{
	size_t whole[4];

	(void)state;
	epoch(1);
	whole[0] = file.len;
	event(1, 1, 1, 2, "a");
	attr_int("n", 1, 1);
	whole[1] = file.len;
	event(1, 2, 3, 4, "bb");
	whole[2] = file.len;
	meta("o", "v", 1);
	whole[3] = file.len;
	for (size_t n = 0; n <= whole[3]; n++) {
		size_t rows = 0;

		while (rows < 4 && n >= whole[rows])
			rows++;

		for (int mode = 0; mode < 4; mode++) {
			const struct spur_options opt =
				SPUR_OPTIONS(.as_stored = mode & 1, .read_size = mode & 2 ? 3 : 0);
			const struct spur_event *r;
			struct spur_trace *t;
			size_t found = 0, got;

			file.len = n;
			t = file_open(&opt);
			assert_non_null(t);
			while (spur_next(t, &r, &got) == SPUR_OK)
				found += got;
			/* By time, the epoch is no row. */
			assert_int_equal(found, rows - (rows && !opt.as_stored));
			spur_close(t);
		}
	}
}

static void test_probe(void **state)
{
	(void)state;
	epoch(1);
	event(1, 1, 1, 2, "a");
	assert_int_equal(heph_probe((const uint8_t *)file.buf, file.len), 100);
	assert_int_equal(heph_probe((const uint8_t *)file.buf, 23), 100);
	assert_in_range(heph_probe((const uint8_t *)file.buf, 22), 50, 99);
	assert_in_range(heph_probe((const uint8_t *)file.buf + 1, file.len - 1), 1, 49);
	assert_int_equal(heph_probe((const uint8_t *)file.buf, 7), 0);
	assert_int_equal(heph_probe((const uint8_t *)"no packet at all", 16), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_packets, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_arrays, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_any_bytes, file_begin, file_end),
		cmocka_unit_test(test_names),
		cmocka_unit_test_setup_teardown(test_old_layout, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_epoch, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_second_epoch, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_far, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_tracks, file_begin, file_end),
		cmocka_unit_test(test_track_limit),
		cmocka_unit_test_setup_teardown(test_nesting, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_overlap, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_loss, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_late, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_window_ends, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_late_in_large_gap, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_restart, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_options, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_track_names, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_attribute_faults, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_resync, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_name_length, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_cut_packet, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_cut_tail, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_cut_text, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_huge, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_many_values, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_order, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_prefixes, file_begin, file_end),
		cmocka_unit_test_setup_teardown(test_probe, file_begin, file_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
