/*
 * From addresses to names in uftrace data: sessions, maps, dlopen, .sym files; and what per-CPU
 * files add to a task.
 */
#include "model/trace.h"
#include "unit/uftrace_dir.h"

static void call(uint64_t time, uint64_t addr)
{
	rec(time, ENTRY, 0, addr);
	rec(time + 1, EXIT, 0, addr);
}

/* --- sessions --- */

#define SID1 "1111111111111111"
#define SID2 "2222222222222222"

static void put_two_programs(void)
{
	put_info(4, 2, 1 << 5, "");
	put_text("sid-" SID1 ".map", "00400000-00500000 r-xp 00000000 00:00 0 /bin/one\n");
	put_text("sid-" SID2 ".map", "00400000-00500000 r-xp 00000000 00:00 0 /bin/two\n");
	put_text("one.sym", "# path name: /bin/one\n0000000000001000 00000100 T one_main\n");
	put_text("two.sym", "# path name: /bin/two\n0000000000001000 00000100 T two_main\n");
}

/* SPEC uftrace/session-choice: exec opens a new session of the same pid */
static void test_exec(void **state)
{
	(void)state;
	put_two_programs();
	put_text("task.txt", "SESS timestamp=0.000000010 pid=1 sid=" SID1 " exename=\"/bin/one\"\n"
			     "TASK timestamp=0.000000010 tid=1 pid=1\n"
			     "SESS timestamp=0.000000100 pid=1 sid=" SID2 " exename=\"/bin/two\"\n"
			     "TASK timestamp=0.000000100 tid=1 pid=1\n");
	call(50, MAIN);
	call(99, MAIN);
	call(101, MAIN);
	dat_write("1.dat");
	expect_rows(
		"50 BEGIN one_main 0\n51 END one_main 0\n99 BEGIN one_main 0\n100 END two_main 0\n"
		"101 BEGIN two_main 0\n102 END two_main 0\n");
	/* Lines stand in order of arrival, not of time. */
	put_text("task.txt",
		 "TASK timestamp=0.000000010 tid=1 pid=1\n"
		 "TASK timestamp=0.000000100 tid=1 pid=1\n"
		 "SESS timestamp=0.000000100 pid=1 sid=" SID2 " exename=\"/bin/two\"\n"
		 "SESS timestamp=0.000000010 pid=1 sid=" SID1 " exename=\"/bin/one\"\n");
	expect_rows(
		"50 BEGIN one_main 0\n51 END one_main 0\n99 BEGIN one_main 0\n100 END two_main 0\n"
		"101 BEGIN two_main 0\n102 END two_main 0\n");
}

/*
 * SPEC uftrace/session-choice: a forked child has its parent's session until it execs, a thread its
 * leader's
 */
static void test_fork(void **state)
{
	(void)state;
	put_two_programs();
	put_text("task.txt", "SESS timestamp=0.000000010 pid=1 sid=" SID1 " exename=\"/bin/one\"\n"
			     "TASK timestamp=0.000000010 tid=1 pid=1\n"
			     "FORK timestamp=0.000000020 pid=2 ppid=1\n"
			     "TASK timestamp=0.000000020 tid=3 pid=1\n"
			     "SESS timestamp=0.000000040 pid=2 sid=" SID2 " exename=\"/bin/two\"\n"
			     "TASK timestamp=0.000000040 tid=2 pid=2\n");
	call(30, MAIN);
	call(50, MAIN);
	dat_write("2.dat");
	call(60, MAIN);
	dat_write("3.dat");
	expect_rows(
		"30 BEGIN one_main 0\n31 END one_main 0\n50 BEGIN two_main 0\n51 END two_main 0\n"
		"60 BEGIN one_main 0\n61 END one_main 0\n");
}

/* A task whose first session begins after its first line, and one with three sessions. */
static void test_late_sessions(void **state)
{
	(void)state;
	put_two_programs();
	put_text("task.txt", "FORK timestamp=0.000000020 pid=2 ppid=9\n"
			     "SESS timestamp=0.000000030 pid=1 sid=" SID1 " exename=\"/bin/one\"\n"
			     "TASK timestamp=0.000000030 tid=1 pid=1\n"
			     "SESS timestamp=0.000000040 pid=2 sid=" SID2 " exename=\"/bin/two\"\n"
			     "TASK timestamp=0.000000040 tid=2 pid=2\n"
			     "SESS timestamp=0.000000060 pid=1 sid=" SID2 " exename=\"/bin/two\"\n"
			     "TASK timestamp=0.000000060 tid=1 pid=1\n"
			     "SESS timestamp=0.000000080 pid=1 sid=" SID1 " exename=\"/bin/one\"\n"
			     "TASK timestamp=0.000000080 tid=1 pid=1\n");
	call(35, MAIN);
	call(65, MAIN);
	call(85, MAIN);
	dat_write("1.dat");
	call(50, MAIN);
	dat_write("2.dat");
	expect_rows(
		"35 BEGIN one_main 0\n36 END one_main 0\n50 BEGIN two_main 0\n51 END two_main 0\n"
		"65 BEGIN two_main 0\n66 END two_main 0\n85 BEGIN one_main 0\n86 END one_main 0\n");
}

/* SPEC uftrace/task-path, SPEC uftrace/sess-id, SPEC uftrace/task-name */
static void test_task_lines(void **state)
{
	struct spur_error err;
	struct spur_trace *t;
	bool found = false;

	(void)state;
	put_two_programs();
	put_text("task.txt", "# a comment\n\n"
			     "SESS timestamp=0.000000010 tid=1 sid=" SID1
			     " exename=\"/bin/o \"ne\" x, longer\"\n"
			     "TASK timestamp=0.000000010 tid=1 pid=1\n"
			     "WHAT timestamp=0.000000010 tid=1 pid=1\n"
			     "TASK tid=1 pid=1\n");
	call(50, MAIN);
	dat_write("1.dat");
	expect_rows("50 BEGIN one_main 0\n51 END one_main 0\n! uftrace/bad-task-line task.txt at "
		    "138 ...\n");
	assert_int_equal(spur_open(&t, dir, NULL, &err), SPUR_OK);
	for (uint32_t i = 0; i < spur_track_count(t); i++) {
		const struct spur_track *track = spur_track(t, i);

		found |= track->kind == SPUR_TRACK_THREAD && track->tid == 1 && track->pid == 1 &&
			 strcmp(spur_string(t, track->name, NULL), "o \"ne\" x, longe") == 0;
	}
	assert_true(found);
	spur_close(t);
}

static void message(unsigned type, uint64_t time, unsigned pid, unsigned tid, const char *sid,
		    const char *path)
{
	size_t name = sid ? align_up(strlen(path), 8) : 0;

	raw_uint(0xface, 2);
	raw_uint(type, 2);
	raw_uint(16 + (sid ? 24 + name : 0), 4);
	raw_uint(time, 8);
	raw_uint(pid, 4);
	raw_uint(tid, 4);
	if (!sid)
		return;
	raw_text(sid);
	raw_uint(0, 4);
	raw_uint(strlen(path), 4);
	raw_text(path);
	raw_align(8);
}

/* SPEC uftrace/binary-task */
static void test_binary_task(void **state)
{
	(void)state;
	for (unsigned order = 0; order < 2; order++) {
		big = order;
		put_two_programs();
		message(7, 10, 1, 1, SID1, "/bin/one");
		message(3, 10, 1, 1, NULL, NULL);
		message(5, 15, 1, 1, NULL, NULL);
		message(6, 20, 1, 2, NULL, NULL);
		dat_write("task");
		call(30, MAIN);
		dat_write("2.dat");
		expect_rows("30 BEGIN one_main 0\n31 END one_main 0\n");
	}
	message(7, 10, 1, 1, SID1, "/bin/one");
	raw_text("garbage!");
	dat_write("task");
	expect_rows("30 BEGIN one_main 0\n31 END one_main 0\n! uftrace/bad-task-message task at 56 "
		    "lost 8\n");
}

/* --- maps --- */

/* SPEC uftrace/map-lines: plain copies of /proc/PID/maps have several lines a module */
static void test_maps(void **state)
{
	(void)state;
	put_basics("");
	put_text("sid-0123456789abcdef.map",
		 "# comment\n"
		 "00400000-00401000 r--p 00000000 08:01 12 /bin/prog\n"
		 "00401000-00402000 r-xp 00001000 08:01 12 /bin/prog build-id:0011\n"
		 "00600000-00601000 rw-p 00000000 00:00 0 \n"
		 "00700000-00701000 rw-p 00000000 00:00 0 [heap]\n"
		 "00800000-00900000 r-xp 00000000 08:01 13 /lib/with space.so\n"
		 "nonsense\n");
	put_text("with space.so.sym",
		 "# path name: /lib/with space.so\n0000000000000010 00000010 T in_lib\n");
	call(10, MAIN);
	call(20, 0x800015);
	call(30, 0x600010);
	dat_write("1.dat");
	expect_rows("10 BEGIN main 0\n11 END main 0\n20 BEGIN in_lib 0\n21 END in_lib 0\n30 BEGIN "
		    "<600010> 0\n"
		    "31 END <600010> 0\n! uftrace/bad-map-line sid-0123456789abcdef.map at 274\n");
}

/* SPEC uftrace/sym-relative: without the feature bit .sym has absolute addresses */
static void test_absolute(void **state)
{
	(void)state;
	put_basics("");
	put_info(4, 2, 0, "");
	put_text(
		"prog.sym",
		"0000000000401000 T main\n0000000000401100 T work\n0000000000401200 ? __sym_end\n");
	call(10, WORK + 0xff);
	call(20, WORK + 0x100);
	dat_write("1.dat");
	expect_rows("10 BEGIN work 0\n11 END work 0\n20 BEGIN <401200> 0\n21 END <401200> 0\n");
}

/* SPEC uftrace/dlopen-newest: one base address, two libraries one after the other */
static void test_dlopen(void **state)
{
	(void)state;
	put_basics("");
	put_text("task.txt",
		 "DLOP timestamp=0.000000100 tid=1 sid=0123456789abcdef base=7f0000000000 "
		 "libname=\"/lib/a.so\"\n"
		 "SESS timestamp=0.000000001 pid=1 sid=0123456789abcdef exename=\"/bin/prog\"\n"
		 "TASK timestamp=0.000000001 tid=1 pid=1\n"
		 "DLOP timestamp=0.000000200 tid=1 sid=0123456789abcdef base=7f0000000000 "
		 "libname=\"/lib/b.so\"\n"
		 "DLOP timestamp=0.000000200 tid=1 sid=nobody base=7f0000000000 "
		 "libname=\"/lib/b.so\"\n");
	put_text("a.so.sym", "0000000000000100 00000010 T in_a\n");
	put_text("b.so.sym", "0000000000000100 00000010 T in_b\n");
	call(50, 0x7f0000000108);
	call(150, 0x7f0000000108);
	call(250, 0x7f0000000108);
	dat_write("1.dat");
	expect_rows("50 BEGIN <7f0000000108> 0\n51 END <7f0000000108> 0\n150 BEGIN in_a 0\n151 END "
		    "in_a 0\n"
		    "250 BEGIN in_b 0\n251 END in_b 0\n! uftrace/bad-task-line task.txt\n");
}

/*
 * SPEC uftrace/dlopen-newest: where the newest library has no symbol, an older one at the same base
 * may
 */
static void test_dlopen_again(void **state)
{
	(void)state;
	put_basics("");
	put_text("task.txt",
		 "SESS timestamp=0.000000001 pid=1 sid=0123456789abcdef exename=\"/bin/prog\"\n"
		 "TASK timestamp=0.000000001 tid=1 pid=1\n"
		 "DLOP timestamp=0.000000100 tid=1 sid=0123456789abcdef base=7f0000000000 "
		 "libname=\"/lib/a.so\"\n"
		 "DLOP timestamp=0.000000200 tid=1 sid=0123456789abcdef base=7f0000000000 "
		 "libname=\"/lib/b.so\"\n"
		 "DLOP timestamp=0.000000300 tid=1 sid=0123456789abcdef base=7f0000000000 "
		 "libname=\"/lib/c.so\"\n");
	put_text("a.so.sym",
		 "0000000000000100 00000010 T in_a\n0000000000000200 00000010 T a_end\n");
	put_text("b.so.sym",
		 "0000000000000120 00000010 T in_b\n0000000000000300 00000010 T b_end\n");
	put_text("c.so.sym",
		 "0000000000000140 00000010 T in_c\n0000000000000150 00000010 T c_end\n");
	call(310, 0x7f0000000108);
	call(320, 0x7f0000000128);
	call(330, 0x7f0000000148);
	call(340, 0x7f0000000208);
	call(350, 0x7f0000000308);
	call(360, 0x7f0000000138);
	dat_write("1.dat");
	expect_rows("310 BEGIN in_a 0\n311 END in_a 0\n320 BEGIN in_b 0\n321 END in_b 0\n"
		    "330 BEGIN in_c 0\n331 END in_c 0\n340 BEGIN a_end 0\n341 END a_end 0\n"
		    "350 BEGIN b_end 0\n351 END b_end 0\n"
		    "360 BEGIN <7f0000000138> 0\n361 END <7f0000000138> 0\n");
}

/* --- symbols --- */

/*
 * SPEC uftrace/sym-size, SPEC uftrace/sym-repeat: with and without the size column, `?` and end
 * marks
 */
static void test_sym_lines(void **state)
{
	(void)state;
	put_basics("");
	put_text("prog.sym", "# symbols: 9\n"
			     "0000000000001000 00000080 T sized\n"
			     "0000000000001100 t unsized\n"
			     "0000000000001180 T first\n"
			     "0000000000001180 T second\n"
			     "0000000000001200 w weak\tdropped\n"
			     "0000000000001280 T __sym_end\n"
			     "0000000000001300 P puts\n"
			     "0000000000001310 ? __dynsym_end\n"
			     "0000000000001400 x strange\n"
			     "not a symbol\n"
			     "0000000000001500 T _ZN2ns3fooIiE3barEv\n"
			     "0000000000001600 T __func_end\n");
	call(1, 0x40107f);
	call(2, 0x401080);
	call(3, 0x40117f);
	call(4, 0x401180);
	call(5, 0x40127f);
	call(6, 0x401280);
	call(7, 0x401308);
	call(8, 0x401400);
	call(9, 0x401500);
	dat_write("1.dat");
	assert_string_equal(read_path("", 0), "1 BEGIN sized 0\n2 END sized 0\n2 BEGIN <401080> 0\n"
					      "3 END <401080> 0\n3 BEGIN unsized 0\n4 END unsized "
					      "0\n4 BEGIN first 0\n5 END first 0\n"
					      "5 BEGIN weak 0\n6 END weak 0\n6 BEGIN <401280> 0\n7 "
					      "END <401280> 0\n7 BEGIN puts 0\n8 END puts 0\n"
					      "8 BEGIN <401400> 0\n9 END <401400> 0\n9 BEGIN "
					      "ns::foo<int>::bar 0\n10 END ns::foo<int>::bar 0\n"
					      "! uftrace/bad-sym-line prog.sym at 269\n");
}

/* SPEC uftrace/sym-name-clash */
static void test_name_clash(void **state)
{
	(void)state;
	put_basics("");
	put_text("sid-0123456789abcdef.map", "00100000-00200000 r-xp 00000000 00:00 0 /a/lib.so "
					     "build-id:aaaa000000000000000000000000000000000000\n"
					     "00200000-00300000 r-xp 00000000 00:00 0 /b/lib.so "
					     "build-id:bbbb000000000000000000000000000000000000\n"
					     "00300000-00400000 r-xp 00000000 00:00 0 /c/lib.so\n"
					     "00500000-00600000 r-xp 00000000 00:00 0 /a/lib.so "
					     "build-id:cccc000000000000000000000000000000000000\n");
	put_text("lib.so.sym",
		 "# path name: /a/lib.so\n# build-id: aaaa000000000000000000000000000000000000\n"
		 "0000000000000000 00001000 T in_a\n");
	put_text("lib.so-bbbb.sym", "# path name: /b/lib.so\n0000000000000000 00001000 T in_b\n");
	/* the sum of the bytes of the path */
	put_text("lib.so-0308.sym", "# path name: /c/lib.so\n0000000000000000 00001000 T in_c\n");
	put_text("lib.so-cccc.sym",
		 "# path name: /a/lib.so\n0000000000000000 00001000 T in_a_again\n");
	call(10, 0x100010);
	call(20, 0x200010);
	call(30, 0x300010);
	call(40, 0x500010);
	dat_write("1.dat");
	expect_rows("10 BEGIN in_a 0\n11 END in_a 0\n20 BEGIN in_b 0\n21 END in_b 0\n30 BEGIN in_c "
		    "0\n31 END in_c 0\n"
		    "40 BEGIN in_a_again 0\n41 END in_a_again 0\n");
}

#define ID_A "aaaa000000000000000000000000000000000000"
#define ID_B "bbbb000000000000000000000000000000000000"

static void call_with_arg(uint64_t time, uint64_t addr, uint64_t arg)
{
	rec_more(time, ENTRY, 0, addr);
	raw_uint(arg, 8);
	rec(time + 1, EXIT, 0, addr);
}

/*
 * SPEC uftrace/sym-owner: task.txt and .sym have the path that dlopen() was given, .dbg the
 * absolute one; the build-id says that they are of one library, and without it the end of the path.
 */
static void test_relative_path(void **state)
{
	static const char *const expected =
		"10 BEGIN in_a 0 (arg1=7)\n11 END in_a 0\n20 BEGIN in_b 0 (arg1=8)\n21 END in_b 0\n"
		"30 BEGIN in_c 0 (arg1=9)\n31 END in_c 0\n";

	(void)state;
	put_basics("");
	put_info(4, 2, 1 << 5 | 1 << 9 | 1 << 10, "exename:x\nauto-args:1\n");
	put_text("task.txt",
		 "SESS timestamp=0.000000001 pid=1 sid=0123456789abcdef exename=\"./prog\"\n"
		 "TASK timestamp=0.000000001 tid=1 pid=1\n"
		 "DLOP timestamp=0.000000002 tid=1 sid=0123456789abcdef base=7f0000000000 "
		 "libname=\"./lib.so\"\n"
		 "DLOP timestamp=0.000000003 tid=1 sid=0123456789abcdef base=7f0000010000 "
		 "libname=\"../b/lib.so\"\n"
		 "DLOP timestamp=0.000000004 tid=1 sid=0123456789abcdef base=7f0000020000 "
		 "libname=\"x/other.so\"\n");
	put_text("lib.so.sym", "# path name: ../b/lib.so\n# build-id: " ID_B "\n"
			       "0000000000000100 00000010 T in_b\n");
	put_text("lib.so-aaaa.sym", "# path name: ./lib.so\n# build-id: " ID_A "\n"
				    "0000000000000100 00000010 T in_a\n");
	put_text("other.so.sym", "# path name: x/other.so\n0000000000000100 00000010 T in_c\n");
	put_text("lib.so.dbg", "# path name: /home/u/a/lib.so\n# build-id: " ID_A "\n"
			       "F: 100 in_a\nA: @arg1\n");
	put_text("lib.so-bbbb.dbg", "# path name: /home/u/b/lib.so\n# build-id: " ID_B "\n"
				    "F: 100 in_b\nA: @arg1\n");
	put_text("other.so.dbg", "# path name: /home/u/x/other.so\nF: 100 in_c\nA: @arg1\n");
	call_with_arg(10, 0x7f0000000104, 7);
	call_with_arg(20, 0x7f0000010104, 8);
	call_with_arg(30, 0x7f0000020104, 9);
	dat_write("1.dat");
	expect_rows(expected);
}

/* SPEC uftrace/python: addresses are the numbers of lines */
static void test_python(void **state)
{
	(void)state;
	put_basics("");
	put_text("python.fake.sym", "# symbols: 2\n0000000000000001 T m.<module>\n0000000000000002 "
				    "P builtins.print\n#      \n");
	call(10, 1);
	call(20, 2);
	call(30, 3);
	call(40, MAIN);
	dat_write("1.dat");
	expect_rows("10 BEGIN m.<module> 0\n11 END m.<module> 0\n20 BEGIN builtins.print 0\n21 END "
		    "builtins.print 0\n"
		    "30 BEGIN <3> 0\n31 END <3> 0\n40 BEGIN main 0\n41 END main 0\n");
}

/*
 * SPEC uftrace/kernel-base: in 32-bit data the stack's place says where the kernel begins.
 * SPEC uftrace/kallsyms-alias: the first name of a type, but for system calls the native one; of
 * several types the last
 */
static void test_kernel_addresses(void **state)
{
	static const char *const maps[] = {
		"00400000-00500000 r-xp 0 00:00 0 /bin/prog\n7fff0000-80000000 rw-p 0 00:00 0 "
		"[stack]\n",
		"00400000-00500000 r-xp 0 00:00 0 /bin/prog\nbfff0000-c0000000 rw-p 0 00:00 0 "
		"[stack]\n",
	};

	(void)state;
	put_basics("");
	put_text("kernel-cpu0.dat", "");
	put_text("kernel_header",
		 "PAGE_SIZE: 4096\nLONG_SIZE: 8\nENDIAN: LE\nTRACEFS: events/header_page: 154\n"
		 "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
		 "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
		 "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n");
	put_text("kallsyms",
		 "0000000090000000 T at_2g\n00000000c0000000 T at_3g\n"
		 "ffff800000001000 T first\nffff800000001000 T second\n"
		 "ffff800000002000 T __ia32_sys_read\nffff800000002000 T __x64_sys_read\n"
		 "ffff800000002800 t __do_sys_getpid\nffff800000002800 T __ia32_sys_getpid\n"
		 "ffff800000002800 T __x64_sys_getpid\n"
		 "ffff800000002900 T __ia32_sys_read\nffff800000002900 T __x64_sys_write\n"
		 "ffff800000003000 t end\n");
	/* 64 bit: 48 bits are kept, the upper ones follow. */
	call(10, 0x800000001008);
	call(20, 0x800000002008);
	call(30, 0x800000002808);
	call(40, 0x800000002908);
	dat_write("1.dat");
	expect_rows("10 BEGIN first 0\n11 END first 0\n20 BEGIN __x64_sys_read 0\n"
		    "21 END __x64_sys_read 0\n30 BEGIN __x64_sys_getpid 0\n"
		    "31 END __x64_sys_getpid 0\n40 BEGIN __ia32_sys_read 0\n"
		    "41 END __ia32_sys_read 0\n");
	put_info(4, 1, 1 << 5, "");
	call(10, 0x90000010);
	call(20, 0xc0000010);
	dat_write("1.dat");
	put_text("sid-0123456789abcdef.map", maps[0]);
	expect_rows("10 BEGIN at_2g 0\n11 END at_2g 0\n20 BEGIN at_3g 0\n21 END at_3g 0\n");
	put_text("sid-0123456789abcdef.map", maps[1]);
	expect_rows(
		"10 BEGIN <90000010> 0\n11 END <90000010> 0\n20 BEGIN at_3g 0\n21 END at_3g 0\n");
}

/* --- per-CPU files --- */

static void perf(unsigned type, unsigned misc, size_t body)
{
	raw_uint(type, 4);
	raw_uint(misc, 2);
	raw_uint(8 + body + 16, 2);
}

static void trailer(unsigned tid, uint64_t time)
{
	raw_uint(1, 4);
	raw_uint(tid, 4);
	raw_uint(time, 8);
}

/* SPEC uftrace/perf-record and SPEC uftrace/cpu-files */
static void test_perf(void **state)
{
	(void)state;
	for (unsigned order = 0; order < 2; order++) {
		big = order;
		put_basics("");
		perf(14, 0x2000, 0);
		trailer(1, 115);
		perf(9, 0, 8);
		raw_uint(0, 8);
		trailer(1, 116);
		perf(14, 0, 0);
		trailer(1, 120);
		perf(14, 0x6000, 0);
		trailer(1, 150);
		perf(3, 0, 16);
		raw_uint(1, 4);
		raw_uint(1, 4);
		raw_text("newname");
		raw_align(8);
		trailer(1, 160);
		dat_write("perf-cpu10.dat");
		perf(7, 0, 24);
		raw_uint(1, 4);
		raw_uint(1, 4);
		raw_uint(5, 4);
		raw_uint(1, 4);
		raw_uint(105, 8);
		trailer(1, 105);
		perf(2, 0, 16);
		raw_uint(0, 8);
		raw_uint(3, 8);
		trailer(1, 106);
		dat_write("perf-cpu2.dat");
		put_calls("1.dat");
		expect_rows("100 BEGIN main 0\n105 OBJECT linux:task-new 0 (pid=1, ppid=1)\n110 "
			    "BEGIN work 1\n"
			    "115 SWITCH linux:sched-out 2 out\n120 SWITCH linux:sched-in 2 in\n130 "
			    "END work 1\n150 END main 0\n"
			    "150 SWITCH linux:sched-out (pre-empted) 0 out preempted\n160 OBJECT "
			    "linux:task-name 0 (comm=\"newname\")\n"
			    "~ uftrace/perf-lost perf-cpu2.dat at 48\n~ uftrace/perf-type "
			    "perf-cpu10.dat at 24\n");
	}
}

static void test_perf_damage(void **state)
{
	(void)state;
	put_basics("");
	perf(14, 0x2000, 0);
	trailer(1, 115);
	raw_uint(14, 4);
	raw_uint(0, 2);
	raw_uint(4, 2);
	perf(14, 0, 0);
	trailer(1, 120);
	perf(14, 0x2000, 0);
	trailer(1, 125);
	perf(14, 0, 0);
	trailer(1, UINT64_MAX);
	raw_uint(14, 4);
	raw_uint(0, 2);
	raw_uint(24, 2);
	dat_write("perf-cpu0.dat");
	put_calls("1.dat");
	expect_rows(
		"100 BEGIN main 0\n110 BEGIN work 1\n115 SWITCH linux:sched-out 2 out\n"
		"120 SWITCH linux:sched-in 2 in\n125 SWITCH linux:sched-out 2 out\n130 END work 1\n"
		"150 END main 0\n! uftrace/bad-perf-record perf-cpu0.dat at 24 lost 16 ...\n"
		"! uftrace/bad-time perf-cpu0.dat at 80 lost 24\n");
}

/* --- the traced binary itself: this program --- */

extern const char __executable_start[];

static __attribute__((noinline)) int a_function_of_this_program(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

static void put_self(const char *build_id)
{
	char exe[4096], map[5000];
	uintptr_t start = (uintptr_t)__executable_start;
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	assert_true(n > 0);
	exe[n] = '\0';
	put_info(4, 2, 1 << 5, "exename:x\n");
	put_text("task.txt", "SESS timestamp=0.000000001 pid=1 sid=0123456789abcdef exename=\"x\"\n"
			     "TASK timestamp=0.000000001 tid=1 pid=1\n");
	snprintf(map, sizeof(map), "%lx-%lx r-xp 00000000 00:00 0 %s%s\n", (unsigned long)start,
		 (unsigned long)start + (1ul << 28), exe, build_id);
	put_text("sid-0123456789abcdef.map", map);
	rec(100, ENTRY, 0, (uintptr_t)a_function_of_this_program & 0xFFFFFFFFFFFF);
	rec(150, EXIT, 0, (uintptr_t)a_function_of_this_program & 0xFFFFFFFFFFFF);
	dat_write("1.dat");
}

/*
 * Without .sym and .dbg the binary's symbols and debug information tell names and lines, the latter
 * on demand.
 */
static void test_binary(void **state)
{
	struct spur_options opt = SPUR_OPTIONS(.source_lines = true);
	const struct event_class *c;
	const struct spur_event *rows;
	struct spur_error err;
	struct spur_trace *t;
	size_t n;

	(void)state;
	assert_int_equal(a_function_of_this_program(1), 2);
	for (int lines = 0; lines < 2; lines++) {
		put_self("");
		opt.source_lines = lines;
		assert_int_equal(spur_open(&t, dir, &opt, &err), SPUR_OK);
		assert_int_equal(spur_next(t, &rows, &n), SPUR_OK);
		c = trace_class(t, rows[0].cls);
		assert_string_equal(spur_string(t, c->name, NULL), "a_function_of_this_program");
		assert_int_equal(c->line > 0, lines);
		assert_int_equal(strstr(spur_string(t, c->file, NULL), "test_uftrace_names.c") !=
					 NULL,
				 lines);
		spur_close(t);
	}
	/* Another build of it tells nothing. */
	put_self(" build-id:00112233445566778899aabbccddeeff00112233");
	assert_int_equal(spur_open(&t, dir, &opt, &err), SPUR_OK);
	assert_int_equal(spur_next(t, &rows, &n), SPUR_OK);
	assert_int_equal(trace_class(t, rows[0].cls)->flags & CLASS_UNKNOWN, CLASS_UNKNOWN);
	spur_close(t);
}

/*
 * SPEC uftrace/libname: a library call is of the library that defines the function, not of the one
 * that calls, of one that calls too, or of one that has a function of its own of that name
 */
static void test_libraries(void **state)
{
	static const struct {
		uint64_t addr;
		const char *library;
	} calls[] = { { 0x101000, "/lib/libtwo.so" }, { 0x101010, "" },
		      { 0x101020, "/lib/late.so" }, { 0x100000, "" } };

	(void)state;
	put_info(4, 2, 1 << 5, "exename:x\n");
	put_text("task.txt",
		 "SESS timestamp=0.000000001 pid=1 sid=0123456789abcdef exename=\"/bin/prog\"\n"
		 "TASK timestamp=0.000000001 tid=1 pid=1\n"
		 "DLOP timestamp=0.000000500 tid=1 sid=0123456789abcdef base=7f0000000000 "
		 "libname=\"/lib/late.so\"\n");
	put_text("sid-0123456789abcdef.map",
		 "00100000-00200000 r-xp 0 00:00 0 /bin/prog\n"
		 "00200000-00300000 r-xp 0 00:00 0 /lib/libone.so\n"
		 "00300000-00400000 r-xp 0 00:00 0 /u/libmcount-fast.so\n"
		 "00400000-00500000 r-xp 0 00:00 0 /lib/libtwo.so\n");
	put_text("prog.sym", "0000000000000000 00000100 T main\n0000000000001000 00000010 P work\n"
			     "0000000000001010 00000010 P nowhere\n"
			     "0000000000001020 00000010 P late\n");
	put_text("libone.so.sym", "0000000000000000 00000010 P work\n"
				  "0000000000000100 00000010 t work\n");
	put_text("libmcount-fast.so.sym", "0000000000000000 00000010 T work\n");
	put_text("libtwo.so.sym", "0000000000000100 00000010 T work\n");
	put_text("late.so.sym", "0000000000000100 00000010 W late\n");
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		call(100 + 10 * i, calls[i].addr);
	dat_write("1.dat");
	for (int on = 0; on < 2; on++) {
		const struct spur_options opt = SPUR_OPTIONS(.call_libraries = on);
		const struct spur_event *rows;
		struct spur_error err;
		struct spur_trace *t;
		size_t n;

		assert_int_equal(spur_open(&t, dir, &opt, &err), SPUR_OK);
		assert_int_equal(spur_next(t, &rows, &n), SPUR_OK);
		assert_int_equal(n, 2 * sizeof(calls) / sizeof(calls[0]));
		for (size_t i = 0; i < n; i += 2)
			assert_string_equal(
				spur_string(t, class_library(trace_class(t, rows[i].cls)), NULL),
				on ? calls[i / 2].library : "");
		spur_close(t);
	}
}

/* SPEC uftrace/callsite: the line of a call, from the binary */
static void test_call_line(void **state)
{
	struct spur_options opt = SPUR_OPTIONS();
	struct spur_args args = { 0 };
	const struct spur_event *rows;
	struct spur_error err;
	struct spur_trace *t;
	size_t n;

	(void)state;
	for (int lines = 0; lines < 2; lines++) {
		const char *text;

		opt.source_lines = lines;
		put_self("");
		rec_more(90, EVENT, 0, 100013);
		raw_uint(8, 2);
		raw_uint((uintptr_t)a_function_of_this_program + 4, 8);
		raw_align(8);
		dat_write("1.dat");
		assert_int_equal(spur_open(&t, dir, &opt, &err), SPUR_OK);
		assert_int_equal(spur_next(t, &rows, &n), SPUR_OK);
		assert_int_equal(spur_args(t, &rows[0], &args), SPUR_OK);
		assert_int_equal(args.count, 1);
		assert_int_equal(args.items[0].type, SPUR_STRING);
		text = args.items[0].text;
		if (lines)
			assert_non_null(strstr(text, "test_uftrace_names.c:"));
		else
			assert_string_equal(text, "a_function_of_this_program+0x4");
		spur_close(t);
	}
	spur_args_free(&args);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, dir_make, dir_remove)
	static const struct CMUnitTest tests[] = {
		T(test_exec),
		T(test_fork),
		T(test_late_sessions),
		T(test_task_lines),
		T(test_binary_task),
		T(test_maps),
		T(test_absolute),
		T(test_dlopen),
		T(test_dlopen_again),
		T(test_sym_lines),
		T(test_name_clash),
		T(test_relative_path),
		T(test_python),
		T(test_kernel_addresses),
		T(test_perf),
		T(test_perf_damage),
		T(test_binary),
		T(test_libraries),
		T(test_call_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
