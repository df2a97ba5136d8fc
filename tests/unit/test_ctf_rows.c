/* CTF events to rows: times, what events mean beside their fields, losses, tracks. */
#include "unit/ctf_small.h"

/* --- times --- */

/* SPEC ctf/clock-origin */
static void test_clock_origin(void **state)
{
	struct spur_options ticks = SPUR_OPTIONS(.raw_time = true);

	(void)state;
	put_text("metadata", SMALL("", "freq = 1000; offset_s = 100; offset = 500;", ""));
	packet(3, 99, 0);
	event(7, 1);
	packet_end(0);
	put_bytes("a");
	/* Rows count from the clock's zero; cycles are milliseconds. */
	expect("7000000 INSTANT e cpu 1 (v=1)\n");
	expect_opt(ticks, "7 INSTANT e cpu 1 (v=1)\n");
	/* Another trace whose clock begins two seconds later, both since 1970. */
	put_text("b/metadata", SMALL_UUID("le", "99112233-4455-6677-8899-aabbccddeeff", "",
					  "freq = 1000000; offset_s = 102; offset = 500000;", ""));
	packet(3, 99, 0);
	head(AT_UUID, 0x33221199, 4);
	event(8, 2);
	packet_end(0);
	put_bytes("b/a");
	expect("7000000 INSTANT e cpu 1 (v=1)\n2000008000 INSTANT e cpu 1 (v=2)\n");
}

/* 16 bits of time wrap, begin at the packet's begin, and go on to its end. */
static void test_wraps(void **state)
{
	(void)state;
	put_text("metadata", PLAIN);
	packet(0x1FFF0, 0x30005, 0);
	event(0xFFF8, 1);
	event(2, 2);
	event(1, 3);
	packet_end(0);
	put_bytes("s");
	expect("131064 INSTANT e cpu 1 (v=1)\n131074 INSTANT e cpu 1 (v=2)\n196609 INSTANT e cpu 1 "
	       "(v=3)\n");
}

/* SPEC ctf/late-event, SPEC ctf/loose-packets */
static void test_late(void **state)
{
	static const char *const tracers[] = {
		"env { tracer_name = \"lttng-ust\"; tracer_major = 2; tracer_minor = 11; };",
		"env { tracer_name = \"lttng-ust\"; tracer_major = 2; tracer_minor = 10; };",
		"env { tracer_name = \"lttng-modules\"; tracer_major = 2; tracer_minor = 10; "
		"tracer_patchlevel = 9; };",
		"env { tracer_name = \"lttng-modules\"; tracer_major = 2; tracer_minor = 10; "
		"tracer_patchlevel = 10; };",
		"env { tracer_name = \"lttng-modules\"; tracer_major = 2; tracer_minor = 9; "
		"tracer_patchlevel = 12; };",
		"env { tracer_name = \"other\"; tracer_major = 1; tracer_minor = 0; };",
	};
	static const bool loose[] = { false, true, true, false, true, false };
	static const char *const rows = "10 INSTANT e cpu 1 (v=1)\n25 INSTANT e cpu 1 (v=2)\n";
	char text[4000], want[300];

	(void)state;
	packet(5, 20, 0);
	event(10, 1);
	event(25, 2);
	packet_end(0);
	put_bytes("s");
	for (size_t i = 0; i < sizeof(tracers) / sizeof(tracers[0]); i++) {
		snprintf(text, sizeof(text), "%s%s", PLAIN, tracers[i]);
		put_text("metadata", text);
		snprintf(want, sizeof(want), "%s%s", rows,
			 loose[i] ? "" : "~ ctf/late-event s at 0\n");
		expect(want);
	}
}

/* SPEC ctf/time-back */
static void test_time_back(void **state)
{
	(void)state;
	put_text("metadata", PLAIN);
	packet(100, 199, 0);
	event(110, 1);
	packet_end(0);
	packet(50, 99, 1);
	event(60, 2);
	packet_end(0);
	put_bytes("s");
	expect("110 INSTANT e cpu 1 (v=1)\n60 INSTANT e cpu 1 back (v=2)\n~ ctf/time-back s at "
	       "60\n");
}

/* SPEC ctf/no-time, SPEC ctf/event-id */
static void test_no_time(void **state)
{
	(void)state;
	put_text("metadata",
		 "/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; };\n"
		 "clock { name = c; };\n"
		 "stream { packet.context := struct { integer { size = 64; align = 8; map = "
		 "clock.c.value; } timestamp_begin; integer { size = 32; align = 8; } "
		 "packet_size; }; };\n"
		 "event { name = e; fields := struct { integer { size = 8; } v; }; };\n");
	for (unsigned i = 0; i < 2; i++) {
		u64(1000 + i);
		u32(14 * 8);
		u8(1 + i);
		u8(3 + i);
	}
	put_bytes("s");
	expect("1000 INSTANT e retimed (v=1)\n1000 INSTANT e retimed (v=3)\n"
	       "1001 INSTANT e retimed (v=2)\n1001 INSTANT e retimed (v=4)\n");
}

/* --- losses --- */

static void lossy(unsigned i, unsigned sequence, unsigned discarded)
{
	packet(100 * i, 100 * i + 50, sequence);
	head(AT_DISCARDED, discarded, 1);
	event(100 * i + 20, i);
	packet_end(0);
}

/* SPEC ctf/discarded, SPEC ctf/counter-wrap: between the ends of packets; counters of 8 bits */
static void test_losses(void **state)
{
	(void)state;
	put_text("metadata", PLAIN);
	lossy(0, 254, 250);
	lossy(1, 255, 4);
	lossy(2, 2, 4);
	lossy(3, 2, 3);
	put_bytes("s");
	expect("20 INSTANT e cpu 1 (v=0)\n"
	       "50 LOST discarded events for 100 cpu 1 (count=10)\n"
	       "120 INSTANT e cpu 1 (v=1)\n"
	       "150 LOST lost packets for 50 cpu 1 (packets=2)\n"
	       "220 INSTANT e cpu 1 (v=2)\n"
	       "320 INSTANT e cpu 1 (v=3)\n"
	       "~ ctf/discarded s at 60\n~ ctf/lost-packets s at 120\n");
}

/* Over two files of one stream, as recorders that keep files small write them. */
static void test_losses_between_files(void **state)
{
	(void)state;
	put_text("metadata", PLAIN);
	lossy(1, 5, 7);
	put_bytes("s_0_1");
	lossy(0, 1, 2);
	put_bytes("s_0_2");
	expect("20 INSTANT e cpu 1 (v=0)\n"
	       "50 LOST discarded events for 100 cpu 1 (count=5)\n"
	       "50 LOST lost packets for 50 cpu 1 (packets=3)\n"
	       "120 INSTANT e cpu 1 (v=1)\n"
	       "~ ctf/discarded s_0_1 at 0\n~ ctf/lost-packets s_0_1 at 0\n");
}

/* --- damage --- */

/* SPEC ctf/event-damage */
static void test_event_damage(void **state)
{
	(void)state;
	put_text("metadata", PLAIN);
	packet(0, 99, 0);
	event(1, 1);
	u8(9); /* no class */
	u16(2);
	u8(77);
	event(3, 3);
	event(4, 4);
	packet_end(0);
	packet(100, 199, 1);
	event(101, 5);
	u8(9);
	raw("\xEE\xEE\xEE\xEE\xEE", 5);
	packet_end(0);
	packet(200, 299, 2);
	event(201, 6);
	packet_end(0);
	put_bytes("s");
	expect("1 INSTANT e cpu 1 (v=1)\n3 INSTANT e cpu 1 (v=3)\n4 INSTANT e cpu 1 (v=4)\n"
	       "101 INSTANT e cpu 1 (v=5)\n201 INSTANT e cpu 1 (v=6)\n"
	       "! ctf/unknown-event s at 60 lost 10 x2\n");
}

#define LARGE                                                                                    \
	"/* CTF 1.8 */ typealias integer { size = 8; align = 8; } := u8; typealias integer { "   \
	"size = 32; align = 8; } := u32;\n"                                                      \
	"trace { major = 1; minor = 8; byte_order = le; }; clock { name = c; };\n"               \
	"typealias integer { size = 64; align = 8; map = clock.c.value; } := time;\n"            \
	"stream { packet.context := struct { time timestamp_begin; time timestamp_end; u32 "     \
	"content_size; u32 packet_size; }; event.header := struct { enum : integer { size = "    \
	"16; align = 8; } { compact = 0 ... 65534, extended = 65535 } id; variant <id> { "       \
	"struct { integer { size = 32; align = 8; map = clock.c.value; } timestamp; } compact; " \
	"struct { u32 id; time timestamp; } extended; } v; } align(8); };\n"                     \
	"event { name = e; id = 0; fields := struct { u32 v; u8 w; }; };\n"

static void large(unsigned id, unsigned time, unsigned v)
{
	u16(id);
	u32(time);
	u32(v);
	u8(0);
}

/*
 * SPEC ctf/unknown-between, SPEC ctf/event-place: the metadata lacks a class (it was cut), and its
 * events stand everywhere; what stands before the others is zero, so the bytes before them look
 * like them as well
 */
static void test_lost_class(void **state)
{
	const unsigned begin = 0x50000000;
	char want[4000];
	size_t n = 0;

	(void)state;
	put_text("metadata", LARGE);
	u64(begin);
	u64(begin + 1000000);
	u32(0);
	u32(0);
	for (unsigned i = 0; i < 40; i++) {
		large(i % 3 ? 0 : 7, begin + 1000 * i + 256, i);
		if (i % 3)
			n += (size_t)snprintf(want + n, sizeof(want) - n,
					      "%u INSTANT e (v=%u w=0)\n", begin + 1000 * i + 256,
					      i);
	}
	set(16, 8 * bytes.len, 4);
	set(20, 8 * bytes.len, 4);
	put_bytes("s");
	snprintf(want + n, sizeof(want) - n, "! ctf/unknown-event s at 24 lost 154 x14\n");
	expect(want);
}

/* --- what events mean --- */

#define HEAD18                                                                                  \
	"/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; };\n"                     \
	"typealias integer { size = 8; } := u8; typealias integer { size = 32; align = 8; "     \
	"signed = true; } := i32; typealias integer { size = 64; align = 8; } := u64;\n"        \
	"clock { name = c; };\n"                                                                \
	"stream { event.header := struct { u8 id; integer { size = 8; map = clock.c.value; } t" \
	"imestamp; }; event.context := struct { i32 _vpid; i32 _vtid; }; };\n"

static void ctx(unsigned id, unsigned time, unsigned pid, unsigned tid)
{
	u8(id);
	u8(time);
	u32(pid);
	u32(tid);
}

/* SPEC ctf/rules: X_entry and X_exit where both are there; and none where the caller wants none */
static void test_spans(void **state)
{
	struct spur_options plain = SPUR_OPTIONS(.no_spans = true);

	(void)state;
	put_text("metadata",
		 HEAD18 "event { name = other; id = 9; };\n"
			"event { name = \"p:work_entry\"; id = 0; fields := struct { u8 n; }; };\n"
			"event { name = \"p:work_exit\"; id = 1; };\n"
			"event { name = \"p:half_entry\"; id = 2; };\n"
			"event { name = \"_exit\"; id = 3; };\n"
			"event { name = \"syscall_entry_read\"; id = 4; };\n"
			"event { name = \"compat_syscall_exit_read\"; id = 5; };\n");
	ctx(0, 1, 10, 11);
	u8(5);
	ctx(2, 2, 10, 12);
	ctx(3, 3, 10, 12);
	ctx(1, 4, 10, 11);
	ctx(4, 5, 10, 11);
	ctx(5, 6, 10, 11);
	put_bytes("s");
	expect("1 BEGIN p:work 10/11 (vpid=10 vtid=11 n=5)\n"
	       "2 INSTANT p:half_entry 10/12 (vpid=10 vtid=12)\n"
	       "3 INSTANT _exit 10/12 (vpid=10 vtid=12)\n"
	       "4 END p:work 10/11 (vpid=10 vtid=11)\n"
	       "5 BEGIN read 10/11 (vpid=10 vtid=11)\n"
	       "6 END compat_read 10/11 (vpid=10 vtid=11)\n");
	expect_opt(plain, "1 INSTANT p:work_entry 10/11 (vpid=10 vtid=11 n=5)\n"
			  "2 INSTANT p:half_entry 10/12 (vpid=10 vtid=12)\n"
			  "3 INSTANT _exit 10/12 (vpid=10 vtid=12)\n"
			  "4 INSTANT p:work_exit 10/11 (vpid=10 vtid=11)\n"
			  "5 INSTANT syscall_entry_read 10/11 (vpid=10 vtid=11)\n"
			  "6 INSTANT compat_syscall_exit_read 10/11 (vpid=10 vtid=11)\n");
}

/* SPEC ctf/rules: functions by address; an exit without one ends whatever is open; logs */
static void test_functions(void **state)
{
	(void)state;
	put_text("metadata", HEAD18
		 "event { name = \"lttng_ust_cyg_profile:func_entry\"; id = 0; fields := "
		 "struct { u64 _addr; }; };\n"
		 "event { name = \"lttng_ust_cyg_profile_fast:func_exit\"; id = 1; };\n"
		 "event { name = \"lttng_ust_cyg_profile:func_exit\"; id = 2; fields := "
		 "struct { u64 _addr; }; };\n"
		 "event { name = \"lttng_ust_cyg_profile_fast:func_entry\"; id = 3; };\n"
		 "event { name = \"lttng_ust_tracelog:TRACE_ERR\"; id = 4; fields := struct { "
		 "string msg; }; };\n");
	ctx(0, 1, 1, 1);
	u64(0x4000);
	ctx(0, 2, 1, 1);
	u64(0x5000);
	ctx(1, 3, 1, 1);
	ctx(2, 4, 1, 1);
	u64(0x4000);
	ctx(3, 5, 1, 1); /* without its address it is no call */
	ctx(4, 6, 1, 1);
	raw("oh", 3);
	put_bytes("s");
	expect("1 BEGIN 0x4000 1/1 (vpid=1 vtid=1 addr=16384)\n"
	       "2 BEGIN 0x5000 1/1 (vpid=1 vtid=1 addr=20480)\n"
	       "3 END lttng_ust_cyg_profile_fast:func_exit 1/1 any (vpid=1 vtid=1)\n"
	       "4 END 0x4000 1/1 (vpid=1 vtid=1 addr=16384)\n"
	       "5 INSTANT lttng_ust_cyg_profile_fast:func_entry 1/1 (vpid=1 vtid=1)\n"
	       "6 LOG lttng_ust_tracelog:TRACE_ERR 1/1 (vpid=1 vtid=1 msg=\"oh\")\n");
}

#define SWITCH                                                                           \
	"event { name = sched_switch; id = 0; fields := struct { i32 _prev_tid; %s i32 " \
	"_next_tid; }; };\n"

/* SPEC ctf/rules: two rows for each switch; prev_state tells whether the thread could go on */
static void test_switches(void **state)
{
	char text[2000];

	(void)state;
	snprintf(text, sizeof(text),
		 "/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; };\n"
		 "typealias integer { size = 32; align = 8; signed = true; } := i32;\n"
		 "stream { event.header := struct { integer { size = 8; } id; }; };\n" SWITCH
		 "event { name = sched_waking; id = 1; fields := struct { i32 _tid; }; };\n"
		 "event { name = sched_wakeup_new; id = 2; };\n"
		 "event { name = sched_wakeup; id = 3; fields := struct { i32 _tid; }; };\n",
		 "i32 _prev_state;");
	put_text("metadata", text);
	u8(0);
	u32(7);
	u32(0);
	u32(8);
	u8(0);
	u32(8);
	u32(0x101);
	u32(7);
	u8(1);
	u32(8);
	u8(2); /* without a thread it is an event as others */
	u8(3); /* the wake-up is sched_waking's already */
	u32(8);
	put_bytes("s");
	expect("0 SWITCH sched_switch -1/7 out pre (prev_tid=7 prev_state=0 next_tid=8)\n"
	       "0 SWITCH sched_switch -1/8 in (prev_tid=7 prev_state=0 next_tid=8)\n"
	       "0 SWITCH sched_switch -1/8 out (prev_tid=8 prev_state=257 next_tid=7)\n"
	       "0 SWITCH sched_switch -1/7 in (prev_tid=8 prev_state=257 next_tid=7)\n"
	       "0 WAKEUP sched_waking -1/8 (tid=8)\n"
	       "0 INSTANT sched_wakeup_new -1/7 ()\n"
	       "0 INSTANT sched_wakeup -1/7 (tid=8)\n");
}

/* --- tracks --- */

/*
 * SPEC ctf/track-names: the first name of the stream that comes first; ids of 64 bits are not cut
 */
static void test_track_names(void **state)
{
	struct spur_options opt = SPUR_OPTIONS(.threads = 1);
	struct spur_error err;
	struct spur_trace *t;
	const struct spur_event *rows;
	unsigned found = 0;
	size_t n;

	(void)state;
	put_text("metadata",
		 "/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; };\n"
		 "typealias integer { size = 64; align = 8; } := u64;\n"
		 "stream { event.context := struct { u64 pid; u64 tid; integer { size = 8; "
		 "encoding = ASCII; } procname[4]; }; };\nevent { name = e; };\n");
	u64(5);
	u64(6);
	raw("old", 4);
	u64(5);
	u64(6);
	raw("new", 4);
	u64(1ull << 40);
	u64((1ull << 40) + 1);
	raw("far!", 4);
	put_bytes("s");
	for (opt.threads = 1; opt.threads <= 4; opt.threads *= 2) {
		assert_int_equal(spur_open(&t, dir, &opt, &err), SPUR_OK);
		while (spur_next(t, &rows, &n) == SPUR_OK)
			;
		for (uint32_t i = 0; i < spur_track_count(t); i++) {
			const struct spur_track *track = spur_track(t, i);
			const char *name = spur_string(t, track->name, NULL);

			if (track->kind != SPUR_TRACK_THREAD)
				continue;
			found++;
			assert_string_equal(name, track->tid == 6 ? "new" : "far!");
			assert_true(track->tid == 6 || track->tid == (1ll << 40) + 1);
		}
		spur_close(t);
	}
	assert_int_equal(found, 6);
}

static void comm(const char *name)
{
	char text[16] = "";

	snprintf(text, sizeof(text), "%s", name);
	raw(text, sizeof(text));
}

/*
 * SPEC ctf/thread-process: a switch tells threads without their process; names come from where it
 * says them
 */
static void test_thread_process(void **state)
{
	struct spur_options opt = SPUR_OPTIONS(.threads = 1);
	struct spur_error err;
	struct spur_trace *t;
	const struct spur_event *rows;
	unsigned found = 0;
	size_t n;

	(void)state;
	put_text("metadata", "/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; };\n"
			     "typealias integer { size = 32; align = 8; signed = true; } := i32;\n"
			     "typealias integer { size = 8; align = 8; encoding = UTF8; } := c8;\n"
			     "stream { event.header := struct { integer { size = 8; } id; };\n"
			     "event.context := struct { i32 _pid; i32 _tid; }; };\n"
			     "event { name = sched_switch; id = 0; fields := struct { c8 "
			     "_prev_comm[16]; i32 _prev_tid; "
			     "i32 _prev_state; c8 _next_comm[16]; i32 _next_tid; }; };\n"
			     "event { name = tick; id = 1; };\n");
	/* Thread 11 of process 10 gives way to thread 7, whose process the other stream knows. */
	u8(0);
	u32(10);
	u32(11);
	comm("first");
	u32(11);
	u32(0);
	comm("second");
	u32(7);
	put_bytes("a");
	out_clear(&bytes);
	u8(1);
	u32(6);
	u32(7);
	put_bytes("b");
	expect("0 SWITCH sched_switch 10/11 out pre (pid=10 tid=11 prev_comm=\"first\" prev_tid=11 "
	       "prev_state=0 next_comm=\"second\" next_tid=7)\n"
	       "0 SWITCH sched_switch 6/7 in (pid=10 tid=11 prev_comm=\"first\" prev_tid=11 "
	       "prev_state=0 next_comm=\"second\" next_tid=7)\n"
	       "0 INSTANT tick 6/7 (pid=6 tid=7)\n");
	assert_int_equal(spur_open(&t, dir, &opt, &err), SPUR_OK);
	while (spur_next(t, &rows, &n) == SPUR_OK)
		;
	for (uint32_t i = 0; i < spur_track_count(t); i++) {
		const struct spur_track *track = spur_track(t, i);

		if (track->kind != SPUR_TRACK_THREAD)
			continue;
		found++;
		assert_string_equal(spur_string(t, track->name, NULL),
				    track->tid == 11 ? "first" : "second");
	}
	assert_int_equal(found, 2);
	spur_close(t);
	/* Without the rules there is no switch. */
	opt.no_spans = true;
	expect_opt(opt,
		   "0 INSTANT sched_switch 10/11 (pid=10 tid=11 prev_comm=\"first\" prev_tid=11 "
		   "prev_state=0 next_comm=\"second\" next_tid=7)\n"
		   "0 INSTANT tick 6/7 (pid=6 tid=7)\n");
}

/* SPEC ctf/row-place: bits where events may begin inside bytes */
static void test_row_place(void **state)
{
	const struct spur_options opt = SPUR_OPTIONS(.threads = 1);
	const struct spur_event *rows;
	struct spur_error err;
	struct spur_trace *t;
	size_t n, i = 0;

	(void)state;
	put_text("metadata",
		 "/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = be; };\n"
		 "event { name = e; fields := struct { integer { size = 3; align = 1; } v; }; };");
	raw("\x29\xCB\xB8", 3); /* 001 010 011 100 101 110 111 000 */
	put_bytes("s");
	assert_int_equal(spur_open(&t, dir, &opt, &err), SPUR_OK);
	while (spur_next(t, &rows, &n) == SPUR_OK)
		for (size_t k = 0; k < n; k++, i++) {
			assert_int_equal(rows[k].off, 3 * i);
			assert_int_equal(rows[k].len, 3);
		}
	assert_int_equal(i, 8);
	spur_close(t);
	expect("0 INSTANT e (v=1)\n0 INSTANT e (v=2)\n0 INSTANT e (v=3)\n0 INSTANT e (v=4)\n"
	       "0 INSTANT e (v=5)\n0 INSTANT e (v=6)\n0 INSTANT e (v=7)\n0 INSTANT e (v=0)\n");
}

/* SPEC ctf/several-classes */
static void test_several_classes(void **state)
{
	(void)state;
	put_text("metadata",
		 SMALL("", "",
		       "stream { id = 4; packet.context := struct { time timestamp_begin; time "
		       "timestamp_end; u32 content_size; u32 packet_size; }; };\n"
		       "event { name = other; stream_id = 4; fields := struct { u16 w; }; };\n"));
	packet(1, 9, 0);
	event(2, 1);
	packet_end(0);
	packet(10, 19, 0);
	bytes.len -= 4; /* a shorter head */
	head(AT_CLASS, 4, 4);
	u16(0x1234);
	packet_end(0);
	packet(20, 29, 1);
	event(21, 2);
	packet_end(0);
	put_bytes("s");
	expect("2 INSTANT e cpu 1 (v=1)\n10 INSTANT other retimed (w=4660)\n21 INSTANT e cpu 1 "
	       "(v=2)\n");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, dir_make, dir_remove)
		TEST(test_clock_origin),
		TEST(test_wraps),
		TEST(test_late),
		TEST(test_time_back),
		TEST(test_no_time),
		TEST(test_losses),
		TEST(test_losses_between_files),
		TEST(test_event_damage),
		TEST(test_lost_class),
		TEST(test_spans),
		TEST(test_functions),
		TEST(test_switches),
		TEST(test_track_names),
		TEST(test_thread_process),
		TEST(test_row_place),
		TEST(test_several_classes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
