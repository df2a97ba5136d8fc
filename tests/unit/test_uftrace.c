/*
 * The uftrace reader: records, sessions, symbols, missing and damaged files, on small directories
 * made here.
 */
#include "unit/uftrace_dir.h"

#include "format/uftrace/reader.h"
#include "model/trace.h"

#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define CALLS "100 BEGIN main 0\n110 BEGIN work 1\n130 END work 1\n150 END main 0\n"

/* --- the header: versions, classes, byte orders --- */

/* SPEC uftrace/record: versions 3 and 4 are the same bits */
static void test_versions(void **state)
{
	(void)state;
	put_basics("");
	put_calls("1.dat");
	expect_rows(CALLS);
	put_info(3, 2, 1 << 5, "");
	expect_rows(CALLS);
	put_info(4, 1, 1 << 5, "");
	expect_rows(CALLS);
	put_info(2, 2, 1 << 5, "");
	expect_rows(CALLS "! uftrace/bad-info info at 8\n");
}

/* SPEC uftrace/byte-order: all integers, event payloads and their lengths too */
static void test_big_endian(void **state)
{
	(void)state;
	big = true;
	put_basics("argspec:work@arg1/i32,arg2/s\n");
	rec(100, ENTRY, 0, MAIN);
	rec_more(110, ENTRY, 1, WORK);
	raw_uint((uint32_t)-5, 4);
	raw_string("hi");
	raw_align(8);
	rec_more(120, EVENT, 0, 100011);
	raw_uint(4, 2);
	raw_uint(3, 4);
	raw_align(8);
	rec(130, EXIT, 1, WORK);
	dat_write("1.dat");
	expect_rows("100 BEGIN main 0\n110 BEGIN work 1 (arg1=-5, arg2=\"hi\")\n120 INSTANT "
		    "watch:cpu 2 (cpu=3)\n"
		    "130 END work 1\n");
	/* Without info the order is seen in the records. */
	remove_file("info");
	put_calls("1.dat");
	expect_rows(CALLS "~ uftrace/no-info info\n");
}

/* SPEC uftrace/info-text: behind header_size bytes, whatever they are */
static void test_info_size(void **state)
{
	static const char text[] =
		"Ftrace!\0\4\0\0\0\60\0\1\2\40\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\4\0\0\0\0\0\0"
		"\n\nxxxxxxargspec:work@arg1/i32\n";

	(void)state;
	put_basics("");
	put_file("info", text, sizeof(text) - 1);
	rec_more(100, ENTRY, 0, WORK);
	raw_uint(5, 8);
	dat_write("1.dat");
	expect_rows("100 BEGIN work 0 (arg1=5)\n");
	put_calls("1.dat");
	put_file("info", text, 39);
	expect_rows(CALLS "! uftrace/bad-info info at 0\n");
	put_text("info", "");
	expect_rows(CALLS "! uftrace/bad-info info at 0\n");
	put_file("info", "Ftrace?\0\4\0\0\0\50\0\1\2 and 24 more bytes ......", 40);
	expect_rows(CALLS "! uftrace/bad-info info at 0\n");
}

/* --- records --- */

/* SPEC uftrace/lost */
static void test_lost(void **state)
{
	(void)state;
	put_basics("");
	rec(0, LOST, 2, 7);
	rec(0, LOST, 2, 8);
	rec(100, ENTRY, 0, MAIN);
	rec(110, ENTRY, 1, WORK);
	rec(0, LOST, 9, 1000000);
	rec(150, EXIT, 0, MAIN);
	dat_write("1.dat");
	expect_rows("100 LOST LOST 0 retimed 7\n100 LOST LOST 0 retimed 8\n100 BEGIN main 0\n110 "
		    "BEGIN work 1\n110 LOST LOST "
		    "2 retimed 1000000\n"
		    "150 END main 0\n~ uftrace/lost 1.dat at 0 ...\n");
	rec(0, LOST, 2, 7);
	dat_write("1.dat");
	expect_rows("0 LOST LOST 0 retimed 7\n~ uftrace/lost 1.dat at 0\n");
}

/* SPEC uftrace/depth: modulo 1024, the overflow is added to the address */
static void test_deep(void **state)
{
	const unsigned depth = 2500;
	struct out want;

	(void)state;
	put_basics("");
	out_to_memory(&want);
	for (unsigned i = 0; i < depth; i++) {
		rec(100 + i, ENTRY, i, LEAF + 0x80 + (i >> 10));
		out_printf(&want, "%u BEGIN leaf %u\n", 100 + i, i);
	}
	for (unsigned i = depth; i-- > 0;) {
		rec(100 + 2 * depth - i, EXIT, i, LEAF + 0x80 + (i >> 10));
		out_printf(&want, "%u END leaf %u\n", 100 + 2 * depth - i, i);
	}
	out_char(&want, '\0');
	dat_write("1.dat");
	assert_string_equal(read_path("", 0), want.buf);
	assert_string_equal(read_path("", 4096), want.buf);
	out_free(&want);
}

/*
 * A fork's child begins with the EXIT of fork at its parent's depth; frames may be missing
 * anywhere.
 */
static void test_missing_ends(void **state)
{
	(void)state;
	put_basics("");
	rec(100, EXIT, 3, LEAF);
	rec(110, EXIT, 2, WORK);
	rec(120, ENTRY, 0, MAIN);
	rec(130, ENTRY, 1, WORK);
	rec(140, ENTRY, 0, MAIN);
	dat_write("1.dat");
	expect_rows("100 END leaf 3\n110 END work 2\n120 BEGIN main 0\n130 BEGIN work 1\n140 BEGIN "
		    "main 0\n");
}

/* SPEC uftrace/estimate: with -e the EXIT times are invented */
static void test_estimated(void **state)
{
	(void)state;
	put_basics("");
	put_info(4, 2, 1 << 5 | 1 << 11, "");
	put_calls("1.dat");
	expect_rows("100 BEGIN main 0\n110 BEGIN work 1\n130 END work 1 estimated\n150 END main 0 "
		    "estimated\n");
}

/* SPEC uftrace/qemu-depth */
static void test_qemu_depth(void **state)
{
	(void)state;
	put_basics("exename:\n");
	rec(100, ENTRY, 1, MAIN);
	rec(110, ENTRY, 2, WORK);
	rec(130, EXIT, 1, WORK);
	rec(150, EXIT, 0, MAIN);
	dat_write("1.dat");
	expect_rows(CALLS);
	/* Others' depths are as they are, and so are those of a later plugin. */
	put_basics("exename:/bin/prog\n");
	expect_rows("100 BEGIN main 1\n110 BEGIN work 2\n130 END work 1\n150 END main 0\n");
	put_basics("exename:\n");
	put_calls("1.dat");
	expect_rows(CALLS);
}

/* --- events --- */

static void event(uint64_t time, uint64_t id, unsigned count, uint64_t first, size_t size)
{
	rec_more(time, EVENT, 0, id);
	raw_uint(count * size, 2);
	for (unsigned i = 0; i < count; i++)
		raw_uint(first + i, size);
	raw_align(8);
}

/* SPEC uftrace/event-ids */
static void test_events(void **state)
{
	(void)state;
	put_basics("");
	put_text("events.txt", "EVENT: 1000000 prov:probe one\n");
	event(1, 100001, 3, 10, 8);
	event(2, 100002, 2, 10, 8);
	event(3, 100003, 3, (uint64_t)-2, 8);
	event(4, 100004, 2, 10, 8);
	event(5, 100005, 2, 10, 8);
	event(6, 100006, 2, 10, 8);
	event(7, 100007, 2, 10, 8);
	event(8, 100008, 2, 10, 8);
	event(9, 100009, 2, 10, 8);
	event(10, 100010, 2, 10, 8);
	event(11, 100011, 1, (uint64_t)-1, 4);
	event(12, 100013, 1, 0x401234, 8);
	rec(13, EVENT, 0, 1000000);
	rec(14, EVENT, 0, 1000001);
	event(15, 4711, 1, 0x0201, 2);
	rec(16, EVENT, 0, 1234);
	dat_write("1.dat");
	expect_rows(
		"1 COUNTER read:proc/statm 0 (vmsize=10, vmrss=11, shared=12)\n2 COUNTER "
		"read:page-fault 0 (major=10, minor=11)\n"
		"3 COUNTER diff:proc/statm 0 (vmsize=-2, vmrss=-1, shared=0)\n4 COUNTER "
		"diff:page-fault 0 (major=10, minor=11)\n"
		"5 COUNTER read:pmu-cycle 0 (cycles=10, instructions=11)\n6 COUNTER "
		"diff:pmu-cycle 0 (cycles=10, instructions=11)\n"
		"7 COUNTER read:pmu-cache 0 (refers=10, misses=11)\n8 COUNTER diff:pmu-cache 0 "
		"(refers=10, misses=11)\n"
		"9 COUNTER read:pmu-branch 0 (branch=10, misses=11)\n10 COUNTER "
		"diff:pmu-branch 0 (branch=10, misses=11)\n"
		"11 INSTANT watch:cpu 0 (cpu=-1)\n12 INSTANT callsite 0 (from=\"leaf+0x34\")\n13 "
		"INSTANT prov:probe one 0\n"
		"14 INSTANT user_event:1000001 0\n15 INSTANT event:4711 0 (data=0102)\n16 "
		"INSTANT event:1234 0\n");
}

static void put_watch(uint64_t time, uint64_t addr, uint64_t value, size_t size)
{
	rec_more(time, EVENT, 0, 100012);
	raw_uint(8 + size, 2);
	raw_uint(addr, 8);
	raw_uint(value, size);
	raw_align(8);
}

/*
 * SPEC uftrace/watch-var: variables by name; SPEC uftrace/callsite: and calls by where they are
 * made
 */
static void test_named_places(void **state)
{
	(void)state;
	put_basics("");
	put_text("prog.sym", "# path name: /bin/prog\n0000000000001000 00000100 T main\n"
			     "0000000000002000 00000004 D gvar\n0000000000002010 00000010 B arr\n"
			     "0000000000002020 00000004 D _ZN2ns5innerE\n");
	put_watch(10, 0x402000, 3, 4);
	put_watch(11, 0x402014, 7, 2);
	put_watch(12, 0x402020, 9, 8);
	put_watch(13, 0x403000, 1, 1);
	rec_more(14, EVENT, 0, 100013);
	raw_uint(8, 2);
	raw_uint(0x401020, 8);
	raw_align(8);
	rec_more(15, EVENT, 0, 100013);
	raw_uint(8, 2);
	raw_uint(0x10, 8);
	raw_align(8);
	dat_write("1.dat");
	expect_rows("10 INSTANT watch:var 0 (gvar=3)\n11 INSTANT watch:var 0 (arr+0x4=7)\n"
		    "12 INSTANT watch:var 0 (ns::inner=9)\n"
		    "13 INSTANT watch:var 0 (address=4206592, value=1)\n"
		    "14 INSTANT callsite 0 (from=\"main+0x20\")\n"
		    "15 INSTANT callsite 0 (address=16)\n");
}

/* SPEC uftrace/watch-var */
static void test_watch_var(void **state)
{
	static const size_t words[] = { 8, 4 };
	char want[200];

	(void)state;
	put_basics("");
	for (unsigned k = 0; k < 2; k++) {
		put_info(4, 2 - k, 1 << 5, "");
		for (unsigned size = 1; size <= 8; size *= 2) {
			rec_more(100, EVENT, 0, 100012);
			raw_uint(words[k] + size, 2);
			raw_uint(0x1000, words[k]);
			raw_uint(200 + size, size);
			raw_align(8);
			dat_write("1.dat");
			snprintf(want, sizeof(want),
				 "100 INSTANT watch:var 0 (address=4096, value=%u)\n", 200 + size);
			expect_rows(want);
		}
	}
}

static void test_event_damage(void **state)
{
	(void)state;
	put_basics("");
	/* A length beyond what the recorder writes: the next records are found again. */
	rec_more(100, EVENT, 0, 100011);
	raw_uint(0xFFF0, 2);
	raw_align(8);
	put_calls("1.dat");
	expect_rows("100 INSTANT watch:cpu 0\n" CALLS "! uftrace/bad-payload 1.dat at 0 lost 8\n");
	/* Cut inside the payload, and inside its length. */
	rec_more(100, EVENT, 0, 100011);
	raw_uint(4, 2);
	raw_uint(1, 1);
	dat_write("1.dat");
	expect_rows("100 INSTANT watch:cpu 0 (data=01)\n! uftrace/torn-record 1.dat at 0 lost 3\n");
	rec_more(100, EVENT, 0, 100011);
	raw_uint(4, 1);
	dat_write("1.dat");
	expect_rows("100 INSTANT watch:cpu 0\n! uftrace/torn-record 1.dat at 0 lost 1\n");
}

/* --- damage in records --- */

/* SPEC uftrace/resync */
static void test_resync(void **state)
{
	(void)state;
	put_basics("");
	rec(90, ENTRY, 0, MAIN);
	raw_text("no record, it has 32 bytes......");
	put_calls("1.dat");
	expect_rows("90 BEGIN main 0\n" CALLS "! uftrace/bad-magic 1.dat at 16 lost 32\n");
	/* Nothing plausible follows. */
	rec(90, ENTRY, 0, MAIN);
	raw_text("no record, it has 32 bytes......");
	dat_write("1.dat");
	expect_rows("90 BEGIN main 0\n! uftrace/bad-magic 1.dat at 16 lost 32\n");
	/* A time that no row can have. */
	rec(90, ENTRY, 0, MAIN);
	rec(UINT64_MAX - 5, ENTRY, 1, WORK);
	put_calls("1.dat");
	expect_rows("90 BEGIN main 0\n" CALLS "! uftrace/bad-time 1.dat at 16 lost 16\n");
}

static void test_torn(void **state)
{
	(void)state;
	put_basics("");
	rec(100, ENTRY, 0, MAIN);
	raw_text("123456789012345");
	dat_write("1.dat");
	expect_rows("100 BEGIN main 0\n! uftrace/torn-record 1.dat at 16 lost 15\n");
	raw_text("1");
	dat_write("1.dat");
	expect_rows("! uftrace/torn-record 1.dat at 0 lost 1\n");
	put_text("1.dat", "");
	expect_rows("");
}

static void test_time_back(void **state)
{
	(void)state;
	put_basics("");
	rec(100, ENTRY, 0, MAIN);
	rec(90, ENTRY, 1, WORK);
	rec(95, EXIT, 1, WORK);
	dat_write("1.dat");
	expect_rows("100 BEGIN main 0\n90 BEGIN work 1 back\n95 END work 1\n~ uftrace/time-back "
		    "1.dat at 16\n");
}

/* --- files --- */

static void test_missing_files(void **state)
{
	(void)state;
	put_basics("");
	put_calls("1.dat");
	remove_file("prog.sym");
	expect_rows("100 BEGIN <401004> 0\n110 BEGIN <401104> 1\n130 END <401104> 1\n150 END "
		    "<401004> 0\n"
		    "~ uftrace/no-symbols /bin/prog\n");
	remove_file("sid-0123456789abcdef.map");
	expect_rows("100 BEGIN <401004> 0\n110 BEGIN <401104> 1\n130 END <401104> 1\n150 END "
		    "<401004> 0\n"
		    "~ uftrace/no-map sid-0123456789abcdef.map\n");
	remove_file("task.txt");
	expect_rows("100 BEGIN <401004> 0\n110 BEGIN <401104> 1\n130 END <401104> 1\n150 END "
		    "<401004> 0\n"
		    "~ uftrace/no-task task.txt\n");
	remove_file("info");
	expect_rows("100 BEGIN <401004> 0\n110 BEGIN <401104> 1\n130 END <401104> 1\n150 END "
		    "<401004> 0\n"
		    "~ uftrace/no-info info\n~ uftrace/no-task task.txt\n");
	remove_file("1.dat");
	expect_rows("FAIL 4 ");
	put_basics("taskinfo:tids=1,2,3\n");
	put_calls("2.dat");
	assert_non_null(strstr(read_path("", 0), "~ uftrace/missing-dat info\n"));
}

/* SPEC uftrace/default-opts */
static void test_default_opts(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
	} cases[] = { { "-t 1us\n", 1000 }, { "-t5", 5 }, { "", 0 }, { " \n", 0 } };
	struct spur_error err;
	struct spur_trace *t;

	(void)state;
	put_basics("");
	put_calls("1.dat");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put_text("default.opts", cases[i].text);
		assert_int_equal(spur_open(&t, dir, NULL, &err), SPUR_OK);
		assert_int_equal(t->default_min_ns, cases[i].ns);
		spur_close(t);
	}
	put_text("default.opts", "-F main\n");
	expect_rows(CALLS "~ uftrace/bad-default-opts default.opts at 0\n");
}

static void test_single_dat(void **state)
{
	(void)state;
	put_basics("");
	put_calls("1.dat");
	assert_string_equal(read_path("1.dat", 0), CALLS);
	assert_string_equal(read_path("1.dat", 1), CALLS);
}

static void pack(const char *tool, const char *name)
{
	char path[256];
	pid_t child;
	int status;

	path_of(path, sizeof(path), name);
	child = fork();
	if (child == 0) {
		execlp(tool, tool, "-q", path, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void test_packed(void **state)
{
	(void)state;
	put_basics("");
	put_calls("1.dat");
	pack("gzip", "1.dat");
	pack("gzip", "task.txt");
	expect_rows(CALLS);
	remove_file("1.dat.gz");
	put_calls("1.dat");
	pack("zstd", "1.dat");
	remove_file("1.dat");
	expect_rows(CALLS);
}

/* Writes a record at a time, so that the reader meets an open pipe with little in it. */
static void *feed_fifo(void *path)
{
	int fd = open(path, O_WRONLY);

	for (size_t i = 0; i < dat.len; i += 8)
		if (write(fd, dat.buf + i, 8) != 8)
			break;
	close(fd);
	return NULL;
}

static void test_fifo(void **state)
{
	char path[256];
	pthread_t writer;

	(void)state;
	put_basics("");
	put_calls("2.dat");
	rec(105, ENTRY, 0, MAIN);
	rec(110, EXIT, 0, MAIN);
	path_of(path, sizeof(path), "1.dat");
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(pthread_create(&writer, NULL, feed_fifo, path), 0);
	assert_string_equal(read_path("", 0),
			    "100 BEGIN main 0\n105 BEGIN main 0\n110 END main 0\n110 BEGIN work 1\n"
			    "130 END work 1\n150 END main 0\n");
	pthread_join(writer, NULL);
}

/* SPEC uftrace/extern */
static void test_extern(void **state)
{
	(void)state;
	put_basics("");
	put_calls("1.dat");
	put_text("extern.dat",
		 "# comment\n\n0.000000120 hello world\n0.000000125\nnonsense\n0.000000140 last");
	expect_rows("100 BEGIN main 0\n110 BEGIN work 1\n120 LOG external-data 0 (msg=\"hello "
		    "world\")\n130 END work 1\n"
		    "140 LOG external-data 0 (msg=\"last\")\n150 END main 0\n~ "
		    "uftrace/bad-extern-line extern.dat at 35 ...\n");
}

/* SPEC uftrace/exit-status */
static void test_exit_status(void **state)
{
	static const struct {
		const char *status, *text;
	} cases[] = {
		{ "0", "exited with code 0" },
		{ "256", "exited with code 1" },
		{ "65280", "exited with code 255" },
		{ "11", "ended by signal 11 (SIGSEGV)" },
		{ "139", "ended by signal 11 (SIGSEGV), core dumped" },
		{ "34", "ended by signal 34" },
		{ "65536", "ended by a finish trigger" },
		{ "127", "unknown (127)" },
		{ "4294967296", "unknown (4294967296)" },
		{ "x", "x" },
	};
	char buf[UFTRACE_EXIT_TEXT];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct text t = uftrace_exit_text(text_of(cases[i].status), buf);

		assert_int_equal(t.len, strlen(cases[i].text));
		assert_memory_equal(t.p, cases[i].text, t.len);
	}
	assert_int_equal(uftrace_exit_text(text_of(""), buf).len, 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, dir_make, dir_remove)
	static const struct CMUnitTest tests[] = {
		T(test_exit_status), T(test_named_places),
		T(test_versions),   T(test_big_endian),	  T(test_info_size),
		T(test_lost),	    T(test_deep),	  T(test_missing_ends),
		T(test_estimated),  T(test_qemu_depth),	  T(test_events),
		T(test_watch_var),  T(test_event_damage), T(test_resync),
		T(test_torn),	    T(test_time_back),	  T(test_missing_files),
		T(test_single_dat), T(test_default_opts), T(test_packed),
		T(test_fifo),	    T(test_extern),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
