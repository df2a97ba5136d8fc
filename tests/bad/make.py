#!/usr/bin/env python3
"""
Makes the damaged inputs below bad/uftrace/ from golden ones: one function a case, named like its directory. Run it again
after adding a case; it rewrites all `in/` and leaves `expect/` alone.
"""
import os
import shutil
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "..", "golden", "uftrace")
TO = os.path.join(HERE, "uftrace")
ENTRY, EXIT, LOST, EVENT = range(4)
CASES = []


KEEP_PAGES = 2 * 4096  # of kernel data


class Dir:
    """A copy of a golden directory, to be damaged."""

    def __init__(self, name, golden):
        self.path = os.path.join(TO, name, "in")
        shutil.rmtree(self.path, ignore_errors=True)
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        if golden:
            shutil.copytree(os.path.join(GOLDEN, golden, "in"), self.path)
            for name in os.listdir(self.path):
                if name.startswith("kernel-cpu"):
                    self.edit(name, lambda b: b[:KEEP_PAGES])

    def file(self, name):
        return os.path.join(self.path, name)

    def read(self, name):
        with open(self.file(name), "rb") as f:
            return f.read()

    def write(self, name, data):
        with open(self.file(name), "wb") as f:
            f.write(data)

    def edit(self, name, change):
        self.write(name, change(self.read(name)))

    def patch(self, name, offset, data):
        self.edit(name, lambda d: d[:offset] + data + d[offset + len(data):])

    def remove(self, *names):
        for name in names:
            os.remove(self.file(name))

    def one(self, ending):
        """The largest file whose name ends so."""
        return max((n for n in os.listdir(self.path) if n.endswith(ending)), key=lambda n: (os.path.getsize(self.file(n)), n))

    def dat(self):
        names = [n for n in os.listdir(self.path) if n.endswith(".dat") and n[0].isdigit()]
        return max(names, key=lambda n: (os.path.getsize(self.file(n)), n))


def case(golden="abc"):
    def take(function):
        CASES.append((function.__name__.replace("_", "-"), golden, function))
        return function
    return take


def record(time, kind, addr, depth=0, more=0, magic=5):
    return struct.pack("<QQ", time, kind | more << 2 | magic << 3 | depth << 6 | addr << 16)


def records(data):
    return [struct.unpack_from("<QQ", data, i) for i in range(0, len(data) - 15, 16)]


def first(d):
    """Time and address of the first record."""
    time, word = records(d.read(d.dat()))[0]
    return time, word >> 16


# ---- records

@case()
def torn_record(d):
    d.edit(d.dat(), lambda b: b[:-5])


@case()
def torn_first_record(d):
    d.edit(d.dat(), lambda b: b[:9])


@case()
def empty_dat(d):
    d.write(d.dat(), b"")


@case()
def record_magic(d):
    d.patch(d.dat(), 3 * 16 + 8, bytes([d.read(d.dat())[3 * 16 + 8] ^ 0x38]))


@case("threads")
def records_zeroed(d):
    d.patch(d.dat(), 160, bytes(160))


@case("threads")
def records_ones(d):
    d.patch(d.dat(), 160, b"\xff" * 96)


@case("threads")
def records_shifted(d):
    """Three stray bytes in the middle: the framing is lost and found again."""
    d.edit(d.dat(), lambda b: b[:320] + b"abc" + b[320:])


@case("threads")
def garbage_tail(d):
    d.edit(d.dat(), lambda b: b + bytes(range(256)))


@case()
def all_garbage(d):
    d.write(d.dat(), bytes((i * 167 + 13) & 255 for i in range(4096)))


@case("threads")
def time_back(d):
    def change(b):
        r = records(b)
        r[6:10] = [(t - 1000000, w) for t, w in r[6:10]]
        return b"".join(struct.pack("<QQ", *x) for x in r)
    d.edit(d.dat(), change)


@case("threads")
def time_far(d):
    d.patch(d.dat(), 16 * 10, struct.pack("<Q", 1 << 63))


@case("threads")
def time_zero(d):
    d.patch(d.dat(), 16 * 5, bytes(8))


@case()
def lost_first(d):
    d.edit(d.dat(), lambda b: record(0, LOST, 42, 2) + b)


@case()
def lost_last(d):
    d.edit(d.dat(), lambda b: b + record(0, LOST, 7, 2))


@case()
def lost_only(d):
    d.write(d.dat(), record(0, LOST, 1, 2))


@case()
def lost_most(d):
    d.edit(d.dat(), lambda b: b[:64] + record(0, LOST, (1 << 48) - 1, 1023) * 3 + b[64:])


@case()
def exits_only(d):
    time, addr = first(d)
    d.write(d.dat(), b"".join(record(time + i, EXIT, addr, 5 - i) for i in range(6)))


@case()
def entries_only(d):
    time, addr = first(d)
    d.write(d.dat(), b"".join(record(time + i, ENTRY, addr, i & 1023) for i in range(200)))


@case()
def depth_jumps(d):
    time, addr = first(d)
    depths = [0, 900, 3, 1023, 0, 512]
    d.write(d.dat(), b"".join(record(time + i, ENTRY, addr, n) for i, n in enumerate(depths)))


@case()
def exit_other_function(d):
    def change(b):
        r = records(b)
        return b"".join(struct.pack("<QQ", t, w ^ (0x40 << 16) if w & 3 == EXIT else w) for t, w in r)
    d.edit(d.dat(), change)


@case()
def unknown_address(d):
    time, _ = first(d)
    d.write(d.dat(), record(time, ENTRY, 0x1234) + record(time + 9, EXIT, 0x1234) +
            record(time + 10, ENTRY, (1 << 48) - 1) + record(time + 20, EXIT, (1 << 48) - 1))


# ---- payloads

@case()
def more_without_spec(d):
    d.patch(d.dat(), 4 * 16 + 8, bytes([d.read(d.dat())[4 * 16 + 8] | 4]))


@case("args-spec")
def payload_torn(d):
    d.edit(d.dat(), lambda b: b[:-11])


@case("args-spec")
def payload_string_length(d):
    def change(b):
        at = b.index(b"\x05\x00hello") if b"\x05\x00hello" in b else next(
            i for i in range(16, len(b) - 8) if b[i + 1] == 0 and 3 < b[i] < 30 and all(32 <= c < 127 for c in b[i + 2:i + 2 + b[i]]))
        return b[:at] + b"\xff\xfe" + b[at + 2:]
    d.edit(d.dat(), change)


@case("own-args-spec")
def payload_cut_long_double(d):
    """The 80-bit argument of wide(): only six of its ten bytes are in the file."""
    pattern = bytes.fromhex("00000000000000e00040")
    d.edit(d.dat(), lambda b: b[:b.index(pattern) + 6])


@case("args-auto")
def payload_shifted(d):
    d.edit(d.dat(), lambda b: b[:600] + b[608:])


@case("ev-read")
def event_length(d):
    def change(b):
        at = next(i for i, (_, w) in enumerate(records(b)) if w & 3 == EVENT and w >> 2 & 1) * 16
        return b[:at + 16] + b"\xff\xff" + b[at + 18:]
    d.edit(d.dat(), change)


@case("ev-read")
def event_unknown(d):
    def change(b):
        at = next(i for i, (_, w) in enumerate(records(b)) if w & 3 == EVENT) * 16
        time, word = struct.unpack_from("<QQ", b, at)
        return b[:at] + struct.pack("<QQ", time, word & 0xffff | 100999 << 16) + b[at + 16:]
    d.edit(d.dat(), change)


@case("ev-read")
def event_short_payload(d):
    def change(b):
        at = next(i for i, (_, w) in enumerate(records(b)) if w & 3 == EVENT and w >> 2 & 1) * 16
        return b[:at + 16] + struct.pack("<H", 3) + b[at + 18:]
    d.edit(d.dat(), change)


@case("own-args-spec")
def spec_mangled(d):
    d.edit("info", lambda b: b.replace(b"argspec:ints@", b"argspec:@@%%/q99,;;ints@arg/,arg999999999999/x3;ints@").replace(b"/i8", b"/w8"))


@case("own-args-spec")
def spec_huge_struct(d):
    d.edit("info", lambda b: b.replace(b"ints@arg1/i8", b"ints@arg1/t4294967295:x"))


@case("own-args-spec")
def spec_bad_regex(d):
    d.edit("info", lambda b: b.replace(b"argspec:ints@arg1/i8", b"argspec:[(*@arg1/i8;ints@arg1/i8"))


@case("own-words-auto")
def dbg_mangled(d):
    d.edit("words.dbg", lambda b: b.replace(b"\nF: ", b"\nF: zz", 3).replace(b"A: @", b"A: @,,@;arg", 2) + b"E: enum\nE: enum x {A=,=3}\nL: -9\n\x00\xff\n")


# ---- info

@case()
def info_missing(d):
    d.remove("info")


@case()
def info_empty(d):
    d.write("info", b"")


@case()
def info_short(d):
    d.edit("info", lambda b: b[:25])


@case()
def info_magic(d):
    d.patch("info", 0, b"Gtrace!\0")


@case()
def info_version_2(d):
    d.patch("info", 8, struct.pack("<I", 2))


@case()
def info_version_99(d):
    d.patch("info", 8, struct.pack("<I", 99))


@case()
def info_endian(d):
    d.patch("info", 14, b"\x07")


@case()
def info_class(d):
    d.patch("info", 15, b"\x09")


@case()
def info_header_size(d):
    d.patch("info", 12, struct.pack("<H", 65535))


@case()
def info_unknown_bits(d):
    d.patch("info", 16, b"\xff" * 16)


@case("threads")
def info_no_tids(d):
    d.edit("info", lambda b: b.replace(b"taskinfo:nr_tid=5", b"taskinfo:nr_tid=0").replace(b"taskinfo:tids=", b"taskinfo:tid_="))


@case("threads")
def info_many_tids(d):
    d.edit("info", lambda b: b.replace(b"taskinfo:nr_tid=5", b"taskinfo:nr_tid=4294967295").replace(
        b"taskinfo:tids=", b"taskinfo:tids=-1,99999999999999999999,abc,,0,"))


@case()
def info_lines(d):
    d.edit("info", lambda b: b.replace(b"cpuinfo:lines=2", b"cpuinfo:lines=999999999").replace(b"usageinfo:lines=6", b"usageinfo:lines=-4"))


@case()
def info_text_garbage(d):
    d.edit("info", lambda b: b[:40] + bytes((i * 73 + 5) & 255 for i in range(900)))


@case()
def info_no_newline(d):
    d.edit("info", lambda b: b[:40] + b[40:].replace(b"\n", b" "))


# ---- task.txt, maps, symbols

@case("threads")
def task_missing(d):
    d.remove("task.txt")


@case("threads")
def task_empty(d):
    d.write("task.txt", b"")


@case("threads")
def task_mangled(d):
    d.write("task.txt", b"SESS timestamp=x pid=y sid= exename=\nTASK\nTASK timestamp=1 tid=\nFORK timestamp=99999999999999999999.999999999999 "
            b"pid=-5 ppid=99999999999\nDLOP timestamp=1.5 tid=1 sid=../../../../etc base=zzz libname=\"\n\xff\xfe\x00binary\nNOPE a=b\n")


@case("threads")
def task_cut(d):
    d.edit("task.txt", lambda b: b[:200])


@case("threads")
def task_cycle(d):
    """Every task is another's parent: nothing may walk for ever."""
    lines = [b"FORK timestamp=828.2154 pid=%d ppid=%d" % (3636 + i, 3636 + (i + 1) % 6) for i in range(6)]
    d.edit("task.txt", lambda b: b"\n".join(lines) + b"\n" + b)


@case("threads")
def task_long_line(d):
    d.edit("task.txt", lambda b: b.replace(b"prog/threads", b"p/" + b"long/" * 20000 + b"threads"))


@case()
def map_missing(d):
    d.remove(d.one(".map"))


@case()
def map_empty(d):
    d.write(d.one(".map"), b"")


@case()
def map_mangled(d):
    d.write(d.one(".map"), b"zzzz-yyyy r-xp\n\n-\n55f2cf4c6000\n55f2cf4c6000-55f2cf4c5000 r-xp 00000000 00:00 0 /backwards\n"
            b"ffffffffffffffffffff-1 r-xp 0 0 0 /huge\n0-ffffffffffffffff r-xp 00000000 00:00 0 /all of it\n\x00\x01\xff\n")


@case()
def sym_missing(d):
    d.remove("abc.sym")


@case()
def sym_empty(d):
    d.write("abc.sym", b"")


@case()
def sym_mangled(d):
    d.write("abc.sym", b"# symbols: 99999999999\n# path name: \n# build-id: xyz\nzz T a\n1 \n0000000000001000 T\n"
            b"ffffffffffffffff ffffffff T wraps\n0000000000001000 ffffffff T huge\n-5 T minus\n0000000000001200 00000010 \xff weird\n\xff\xfe\x00\n")


@case()
def sym_unsorted(d):
    def change(b):
        lines = b.splitlines(True)
        return b"".join(lines[:3] + lines[3:][::-1])
    d.edit("abc.sym", change)


@case()
def names_hostile(d):
    """Control characters, an escape sequence, invalid UTF-8, quotes and markup in symbol names and paths."""
    def change(b):
        return (b.replace(b" T main\n", b" T ma\x1b[31min\x07\xc3\x28\n").replace(b" t a\n", b" T <a>&\"\\'\n")
                .replace(b" t b\n", b" T b\x00b\x7f\xe2\x80\xae\n").replace(b" t c\n", b" T " + b"c" * 70000 + b"\n"))
    d.edit("abc.sym", change)
    d.edit("task.txt", lambda b: b.replace(b"/abc\"", b"/a\x1b]0;title\x07bc\xff\""))


@case()
def map_hostile_path(d):
    """Control characters and invalid UTF-8 in a module's path: its symbol file is not found."""
    d.edit(d.one(".map"), lambda b: b.replace(b"prog/abc", b"prog/a\x1bbc\xff", 1))


@case()
def names_demangle(d):
    """Mangled names that drive a demangler into depth or size."""
    d.edit("abc.sym", lambda b: b.replace(b" T main\n", b" T _Z" + b"N" * 5000 + b"E\n").replace(b" t a\n", b" T _Z1f" + b"P" * 20000 + b"i\n")
           .replace(b" t b\n", b" T _ZN1aIS_IS_IS_IS_IS_IS_EEEEEE\n").replace(b" t c\n", b" T _RNvC99999999999a\n"))


# ---- perf, kernel, other files

@case("threads")
def perf_torn(d):
    d.edit("perf-cpu1.dat", lambda b: b[:-13])


@case("threads")
def perf_size_zero(d):
    d.patch("perf-cpu1.dat", 6, b"\0\0")


@case("threads")
def perf_size_huge(d):
    d.patch("perf-cpu1.dat", 6, b"\xff\xff")


@case("threads")
def perf_size_small(d):
    """Each header says 9 bytes: less than the fields of its type."""
    d.patch("perf-cpu1.dat", 6, b"\x09\0")


@case("threads")
def perf_garbage(d):
    d.write("perf-cpu1.dat", bytes((i * 31 + 7) & 255 for i in range(1000)))


@case("threads")
def perf_unknown_type(d):
    d.patch("perf-cpu1.dat", 0, struct.pack("<I", 4711))


@case("k-graph1")
def kernel_page_commit(d):
    d.patch("kernel-cpu0.dat", 8, struct.pack("<Q", 0xfffff))


@case("k-graph1")
def kernel_page_torn(d):
    d.edit("kernel-cpu0.dat", lambda b: b[:6000])


@case("k-graph1")
def kernel_page_garbage(d):
    d.patch("kernel-cpu0.dat", 4096 + 16, bytes((i * 59 + 3) & 255 for i in range(2000)))


@case("k-graph1")
def kernel_header_missing(d):
    d.remove("kernel_header")


@case("k-graph1")
def kernel_header_mangled(d):
    d.edit("kernel_header", lambda b: b.replace(b"PAGE_SIZE: 4096", b"PAGE_SIZE: 0").replace(b"TRACEFS: events/header_page: ", b"TRACEFS: events/header_page: 9999999999"))


@case("k-graph1")
def kernel_format_mangled(d):
    d.edit("kernel_header", lambda b: b.replace(b"offset:8;", b"offset:-8;").replace(b"size:8;", b"size:99999;"))


@case("ev-kernel")
def kernel_print_mangled(d):
    d.edit("kernel_header", lambda b: b.replace(b"print fmt: \"", b"print fmt: \"%s%n%*.*q(((("))


@case("extern")
def extern_mangled(d):
    d.write("extern.dat", b"no time\n1.2.3 x\n99999999999999999999.5 far\n-1.5 minus\n\x1b[2J\n828.2155 " + b"y" * 5000 + b"\n\xff\xfe\x00\n")


@case("ev-sdt")
def events_mangled(d):
    d.write("events.txt", b"EVENT: x y\nEVENT: 1000000\nEVENT: 99999999999999999999 a:b\nEVENT: 1000000 \x1b[1m:\xff\nnothing\n")


@case()
def default_opts_hostile(d):
    d.write("default.opts", b"-t 99999999999999h --no-such-option \x1b[31m -F \xff " + b"x" * 10000 + b"\n")


@case("dlop")
def dlop_mangled(d):
    d.edit("task.txt", lambda b: b.replace(b"base=", b"base=ffffffffffffffffff").replace(b"libname=\"", b"libname=\"../../../../../../etc/passwd\x1b"))


@case("dlop")
def all_text_missing(d):
    """Only .dat files are left."""
    d.remove(*[n for n in os.listdir(d.path) if not n.endswith(".dat")])


@case("threads")
def dat_is_directory(d):
    name = d.dat()
    d.remove(name)
    os.mkdir(d.file(name))
    d.write(os.path.join(name, "keep"), b"")


@case()
def many_dats(d):
    """More files than info names, with names that are no task ids."""
    data = d.read(d.dat())
    for name in ("1.dat", "99999999999999999999.dat", "-5.dat", "x.dat", "007.dat", "31607.dat.dat"):
        d.write(name, data)


@case(None)
def empty_directory(d):
    os.makedirs(d.path)
    d.write(".keep", b"")


@case(None)
def not_a_directory(d):
    with open(d.path, "wb") as f:
        f.write(b"This is not a trace.\n")


@case(None)
def empty_file(d):
    with open(d.path, "wb"):
        pass


@case(None)
def other_files(d):
    os.makedirs(d.path)
    d.write("readme.txt", b"nothing here\n")
    d.write("info", b"Not a trace either\n")


def main():
    for name, golden, damage in CASES:
        if golden is None:
            old = os.path.join(TO, name, "in")
            if os.path.isfile(old):
                os.remove(old)
        damage(Dir(name, golden))


if __name__ == "__main__":
    main()
