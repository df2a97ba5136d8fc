/* FXT: threads, objects, scheduling, profiler records, blobs. */
#include "unit/fxt_file.h"

enum { PROCESS = 1, THREAD, CHANNEL = 4 };

static void kernel_object(unsigned type, uint64_t koid, const char *name, uint64_t process)
{
	head(FXT_KERNEL_OBJECT,
	     (uint64_t)type << 16 | in(name).bits << 24 | (uint64_t)(process > 0) << 40);
	w(koid);
	ref_text(in(name));
	if (process)
		arg_word(FXT_ARG_KOID, in("process"), process);
	done();
}

static void user_object(unsigned thread_ref, uint64_t pid, uint64_t pointer, const char *name)
{
	head(FXT_USER_OBJECT, (uint64_t)thread_ref << 16 | in(name).bits << 24);
	w(pointer);
	if (!thread_ref)
		w(pid);
	ref_text(in(name));
	done();
}

static void uses(uint64_t ts, uint64_t koid, uint64_t pointer)
{
	event(FXT_INSTANT, ts, 0, none, in("uses"), 2);
	arg_word(FXT_ARG_KOID, in("k"), koid);
	arg_word(FXT_ARG_POINTER, in("p"), pointer);
	done();
}

/* --- threads --- */

static const struct spur_track *track_of(struct spur_trace *t, uint64_t tid)
{
	for (uint32_t i = 0; i < t->ntracks; i++)
		if (spur_track(t, i)->kind == SPUR_TRACK_THREAD &&
		    (uint64_t)spur_track(t, i)->tid == tid)
			return spur_track(t, i);
	return NULL;
}

static void switch_to(uint64_t ts, unsigned cpu, unsigned state, uint64_t from, uint64_t to)
{
	head(FXT_SCHEDULING,
	     (uint64_t)cpu << 20 | (uint64_t)state << 36 | (uint64_t)FXT_SWITCH << 60);
	w(ts);
	w(from);
	w(to);
	done();
}

/* SPEC fxt/thread-process; SPEC fxt/thread-name; SPEC fxt/kernel-object; SPEC fxt/object-process */
static void test_tracks(void **state)
{
	const uint64_t large = (UINT64_C(1) << 63) + 77;
	struct spur_trace *t;

	(void)state;
	magic();
	switch_to(1, 0, 3, 11, large);
	switch_to(2, 0, 3, 5, 6);
	plain(FXT_INSTANT, 3, "a", 0);
	kernel_object(THREAD, 11, "worker", 10);
	kernel_object(PROCESS, 10, "program", 0);
	kernel_object(THREAD, 5, "by its object", 10);
	kernel_object(THREAD, large, "large", large - 1);
	thread(1, 10, 6);
	t = open_file(&(struct spur_options)SPUR_OPTIONS());
	assert_int_equal(t->ntracks, 6);
	for (int i = 0; i < 4; i++) {
		const uint64_t tids[] = { 11, 5, 6, large };
		const char *const names[] = { "worker", "by its object", "", "large" };
		const struct spur_track *k = track_of(t, tids[i]);

		assert_non_null(k);
		assert_int_equal(k->pid, i < 3 ? 10 : (int64_t)(large - 1));
		assert_string_equal(spur_string(t, k->name, NULL), names[i]);
		assert_int_equal(spur_track(t, k->parent)->kind, SPUR_TRACK_PROCESS);
		assert_int_equal(spur_track(t, k->parent)->pid, k->pid);
		if (i < 3)
			assert_string_equal(spur_string(t, spur_track(t, k->parent)->name, NULL),
					    "program");
	}
	spur_close(t);
}

/* Ids of 64 bits are never cut. */
static void test_large_koids(void **state)
{
	(void)state;
	magic();
	thread(1, 5, 9);
	thread(2, (UINT64_C(1) << 32) + 5, (UINT64_C(1) << 32) + 9);
	event(FXT_INSTANT, 1, 1, none, in("a"), 0);
	done();
	event(FXT_INSTANT, 2, 2, none, in("a"), 0);
	done();
	expect_rows("1 INSTANT a 5/9\n2 INSTANT a 4294967301/4294967305\n");
}

/* --- objects --- */

/* SPEC fxt/object-lookup; SPEC fxt/user-object */
static void test_labels(void **state)
{
	(void)state;
	magic();
	provider(1, "p");
	uses(1, 777, 0x10);
	kernel_object(CHANNEL, 777, "first", 0);
	user_object(0, 10, 0x10, "object");
	user_object(0, 99, 0x10, "of another process");
	uses(2, 777, 0x10);
	kernel_object(CHANNEL, 777, "second", 0);
	user_object(0, 10, 0x10, "in its place");
	uses(3, 777, 0x10);
	provider(2, "q");
	kernel_object(CHANNEL, 777, "as q knows it", 0);
	uses(4, 777, 0x10);
	section(1);
	uses(5, 777, 0x11);
	expect_rows("1 INSTANT uses 10/11 (k=777:as q knows it, p=*10)\n"
		    "1 OBJECT channel:first p #777 retimed (koid=777:first)\n"
		    "1 OBJECT userspace object:object 10/-1 #16 retimed (pointer=*10)\n"
		    "1 OBJECT userspace object:of another process 99/-1 #16 retimed (pointer=*10)\n"
		    "2 INSTANT uses 10/11 (k=777:first, p=*10:object)\n"
		    "2 OBJECT channel:second p #777 retimed (koid=777:second)\n"
		    "2 OBJECT userspace object:in its place 10/-1 #16 retimed (pointer=*10)\n"
		    "3 INSTANT uses 10/11 (k=777:second, p=*10:in its place)\n"
		    "3 OBJECT channel:as q knows it q #777 retimed (koid=777:as q knows it)\n"
		    "4 INSTANT uses 10/11 (k=777:as q knows it, p=*10)\n"
		    "5 INSTANT uses 10/11 (k=777:second, p=*11)\n");
}

static void test_objects(void **state)
{
	(void)state;
	basics();
	kernel_object(3, 1, "memory", 0);
	kernel_object(200, 2, "new kind", 0);
	user_object(1, 0, 0xfeed, "mine");
	plain(FXT_INSTANT, 9, "a", 0);
	expect_rows("9 OBJECT vmo:memory p #1 retimed (koid=1:memory)\n"
		    "9 OBJECT object type 200:new kind p #2 retimed (koid=2:new kind)\n"
		    "9 OBJECT userspace object:mine 10/-1 #65261 retimed (pointer=*feed)\n"
		    "9 INSTANT a 10/11\n");
}

/* --- scheduling --- */

/* SPEC fxt/scheduling-type; SPEC fxt/switch-tid; SPEC fxt/switch; SPEC fxt/cpu */
/* SPEC fxt/thread-state; SPEC fxt/preempted */
static void test_switches(void **state)
{
	(void)state;
	basics();
	head(FXT_SCHEDULING, (uint64_t)2 << 16 | (uint64_t)4096 << 20 | (uint64_t)3 << 36 |
				     (uint64_t)FXT_SWITCH << 60);
	w(10);
	w(11);
	w(12);
	arg_i32(in("incoming_weight"), 5);
	arg_i32(in("outgoing_weight"), 6);
	done();
	switch_to(20, 1, 1, 12, 11);
	head(FXT_SCHEDULING, (uint64_t)1 << 16 | (uint64_t)1 << 20 | (uint64_t)FXT_WAKEUP << 60);
	w(30);
	w(12);
	arg_word(FXT_ARG_KOID, in("waker"), 11);
	done();
	/* Legacy: processor 7, suspended, out thread 1, in inline, priorities. */
	head(FXT_SCHEDULING, (uint64_t)7 << 16 | (uint64_t)2 << 24 | (uint64_t)1 << 28 |
				     (uint64_t)20 << 44 | (uint64_t)21 << 52);
	w(40);
	w(10);
	w(12);
	done();
	switch_to(50, 65535, 15, 11, 12);
	expect_rows("10 SWITCH scheduling:context switch 10/11 @4096 out "
		    "(state=3:blocked, next=12, incoming_weight=5, outgoing_weight=6)\n"
		    "10 SWITCH scheduling:context switch 10/12 @4096 in "
		    "(prev=11, incoming_weight=5, outgoing_weight=6)\n"
		    "20 SWITCH scheduling:context switch 10/12 @1 out preempted (state=1:running, "
		    "next=11)\n"
		    "20 SWITCH scheduling:context switch 10/11 @1 in (prev=12)\n"
		    "30 WAKEUP scheduling:wakeup 10/12 @1 (waker=11)\n"
		    "40 SWITCH scheduling:context switch 10/11 @7 out "
		    "(state=2:suspended, next=12, priority=20)\n"
		    "40 SWITCH scheduling:context switch 10/12 @7 in (prev=11, priority=21)\n"
		    "50 SWITCH scheduling:context switch 10/11 out (state=15, next=12)\n"
		    "50 SWITCH scheduling:context switch 10/12 in (prev=11)\n");
}

/* SPEC fxt/idle */
static void test_idle(void **state)
{
	struct spur_trace *t;

	(void)state;
	magic();
	switch_to(1, 0, 0, 0, 11);
	head(FXT_SCHEDULING, (uint64_t)1 << 16 | (uint64_t)FXT_SWITCH << 60);
	w(2);
	w(11);
	w(500);
	arg_i32(in("incoming_weight"), INT32_MIN);
	done();
	kernel_object(THREAD, 11, "worker", 0);
	t = open_file(&(struct spur_options)SPUR_OPTIONS());
	assert_string_equal(spur_string(t, track_of(t, 0)->name, NULL), "idle");
	assert_string_equal(spur_string(t, track_of(t, 500)->name, NULL), "idle");
	assert_string_equal(spur_string(t, track_of(t, 11)->name, NULL), "worker");
	spur_close(t);
}

static void test_log(void **state)
{
	(void)state;
	basics();
	head(FXT_LOG, (uint64_t)11 << 16 | (uint64_t)1 << 32);
	w(10);
	bytes("hello world", 11);
	done();
	head(FXT_LOG, 0);
	w(20);
	w(5);
	w(6);
	done();
	expect_rows("10 LOG log 10/11 (message=\"hello world\")\n20 LOG log 5/6 (message=\"\")\n");
}

/* --- profiler --- */

static void module(uint64_t ts, unsigned id, const char *name, bool two_words)
{
	head(FXT_PROFILER, (uint64_t)FXT_MODULE << 16 | (uint64_t)id << 28 |
				   (uint64_t)strlen(name) << 44 | (uint64_t)3 << 52);
	w(ts);
	w(10);
	if (two_words)
		w(0);
	bytes(name, strlen(name));
	bytes("\1\2\3", 3);
	done();
}

static void mapping(uint64_t ts, unsigned id, uint64_t start, uint64_t range, uint64_t vaddr,
		    bool two_words)
{
	head(FXT_PROFILER, (uint64_t)FXT_MMAP << 16 | (uint64_t)id << 28 | (uint64_t)5 << 44);
	w(ts);
	w(10);
	if (two_words)
		w(0);
	w(start);
	w(range);
	w(vaddr);
	done();
}

static void backtrace(uint64_t ts, uint64_t a, uint64_t b)
{
	head(FXT_PROFILER, (uint64_t)FXT_BACKTRACE << 16 | (uint64_t)1 << 20 | (uint64_t)2 << 28);
	w(ts);
	w(a);
	w(b);
	done();
}

/* SPEC fxt/profiler-type; SPEC fxt/profiler-thread; SPEC fxt/modules; SPEC fxt/frame */
static void test_profiler(void **state)
{
	(void)state;
	basics();
	module(1, 5, "libfoo.so", false);
	module(2, 6, "libbar.so", true);
	mapping(3, 5, 0x1000, 0x2000, 0x300, true);
	mapping(4, 6, 0x8000, 0x1000, 0, false);
	backtrace(5, 0x1040, 0x8001);
	backtrace(6, 0x2fff, 0x3000);
	/* Unmapped and mapped anew: the newest that was there. */
	mapping(7, 6, 0x1000, 0x1000, 0x70, true);
	backtrace(8, 0x1040, 0x2040);
	mapping(9, 9, UINT64_MAX - 15, 16, 0, true);
	backtrace(10, UINT64_MAX, UINT64_MAX - 16);
	expect_rows("1 OBJECT module:libfoo.so 10/-1 #5 (module=5, build_id=010203)\n"
		    "2 OBJECT module:libbar.so 10/-1 #6 (module=6, build_id=010203)\n"
		    "3 OBJECT mapping:libfoo.so 10/-1 #4096 (module=5, flags=5, start=4096, "
		    "range=8192, vaddr=768)\n"
		    "4 OBJECT mapping:libbar.so 10/-1 #32768 (module=6, flags=5, start=32768, "
		    "range=4096, vaddr=0)\n"
		    "5 SAMPLE profiler:backtrace 10/11 (frames=[*1040:libfoo.so+0x340 "
		    "*8001:libbar.so+0x1])\n"
		    "6 SAMPLE profiler:backtrace 10/11 (frames=[*2fff:libfoo.so+0x22ff *3000])\n"
		    "7 OBJECT mapping:libbar.so 10/-1 #4096 (module=6, flags=5, start=4096, "
		    "range=4096, vaddr=112)\n"
		    "8 SAMPLE profiler:backtrace 10/11 (frames=[*1040:libbar.so+0xb0 "
		    "*2040:libfoo.so+0x1340])\n"
		    "9 OBJECT mapping: 10/-1 #18446744073709551600 "
		    "(module=9, flags=5, start=18446744073709551600, range=16, vaddr=0)\n"
		    "10 SAMPLE profiler:backtrace 10/11 (frames=[*ffffffffffffffff:?+0xf "
		    "*ffffffffffffffef])\n");
}

/* Many mappings, in any order of their addresses. */
static void test_many_mappings(void **state)
{
	const struct spur_event *rows;
	struct spur_args args = { 0 };
	struct spur_trace *t;
	char want[40];
	size_t n, seen_frames = 0;

	(void)state;
	basics();
	module(0, 1, "m", true);
	for (unsigned i = 0; i < 1000; i++)
		mapping(i, 1, (uint64_t)(i * 7919 % 1000) * 0x1000, 0x800, 0, true);
	for (unsigned i = 0; i < 1000; i++)
		backtrace(1000 + i, i * 0x1000 + i % 0x800, i * 0x1000 + 0x800);
	t = open_file(&(struct spur_options)SPUR_OPTIONS());
	while (spur_next(t, &rows, &n) == SPUR_OK)
		for (size_t i = 0; i < n; i++) {
			if (rows[i].kind != SPUR_SAMPLE)
				continue;
			assert_int_equal(spur_args(t, &rows[i], &args), SPUR_OK);
			snprintf(want, sizeof(want), "m+0x%zx", seen_frames % 0x800);
			assert_string_equal(args.items[0].items[0].label, want);
			assert_null(args.items[0].items[1].label);
			seen_frames++;
		}
	assert_int_equal(seen_frames, 1000);
	spur_args_free(&args);
	spur_close(t);
}

/* --- blobs --- */

static void blob(struct ref name, unsigned type, const char *data)
{
	head(FXT_BLOB, name.bits << 16 | (uint64_t)strlen(data) << 32 | (uint64_t)type << 48);
	ref_text(name);
	bytes(data, strlen(data));
	done();
}

/* SPEC fxt/placeholder; SPEC fxt/large-blob */
static void test_blobs(void **state)
{
	(void)state;
	basics();
	plain(FXT_INSTANT, 5, "a", 0);
	blob(in("b"), FXT_BLOB_DATA, "one");
	blob(none, FXT_BLOB_DATA, "filling");
	blob(in("b"), FXT_BLOB_PERFETTO, "");
	blob(none, 99, "x");
	head(FXT_LARGE, 0);
	w(in("lc").bits | (uint64_t)2 << 16 | (uint64_t)1 << 32 | (uint64_t)1 << 36);
	ref_text(in("lc"));
	w(77);
	arg_i32(in("n"), 1);
	w(3);
	bytes("abc", 3);
	done();
	expect_rows("5 INSTANT a 10/11\n5 BLOB b p retimed (data=6f6e65, type=1:data)\n"
		    "5 BLOB b p retimed (data=, type=3:perfetto)\n5 BLOB  p retimed (data=78, "
		    "type=99)\n"
		    "77 BLOB lc:name 10/11 #25 (data=616263, n=1)\n~ fxt/unknown-blob at 176\n");
	assert_non_null(strstr(read_file(&(struct spur_options)SPUR_OPTIONS(.as_stored = true)),
			       "5 NATIVE placeholder p retimed"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_tracks, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_large_koids, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_labels, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_objects, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_switches, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_idle, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_log, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_profiler, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_many_mappings, file_setup, file_teardown),
		cmocka_unit_test_setup_teardown(test_blobs, file_setup, file_teardown),
	};

	return cmocka_run_group_tests_name("fxt names", tests, NULL, NULL);
}
