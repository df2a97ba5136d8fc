#!/usr/bin/env python3
"""
Makes the damaged inputs below bad/xray/ from golden ones: one function a case, named like its directory. Run it again
after adding a case; it rewrites all `in` and leaves `expect/` alone.
"""
import os
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "..", "golden", "xray")
TO = os.path.join(HERE, "xray")
CASES = []

# of fdr-threads: five buffers, little endian
HEADER, META = 32, 16


def case(golden):
    """The function gets the golden's bytes and gives back the damaged ones."""
    def wrap(make):
        CASES.append((make.__name__.replace("_", "-"), golden, make))
        return make
    return wrap


def patch(data, offset, new):
    return data[:offset] + new + data[offset + len(new):]


def buffers(data):
    """[(offset of BufferExtents, its size)] of a log of version 2 to 5."""
    found, at = [], HEADER
    while at + META <= len(data):
        size = struct.unpack_from("<Q", data, at + 1)[0]
        found.append((at, size))
        at += META + size
    return found


def extents(data, n, size):
    return patch(data, buffers(data)[n][0] + 1, struct.pack("<Q", size))


@case("fdr-threads")
def header_only(d):
    return d[:HEADER]


@case("basic-threads")
def header_only_basic(d):
    return d[:HEADER]


@case("fdr-threads")
def header_torn(d):
    return d[:HEADER - 3]


@case("fdr-threads")
def version_9(d):
    return patch(d, 0, b"\x09")


@case("fdr-threads")
def type_2(d):
    return patch(d, 2, b"\x02")


@case("fdr-threads")
def no_frequency(d):
    return patch(d, 8, bytes(8))


@case("fdr-threads")
def flags_junk(d):
    return patch(d, 4, b"\xff" * 4)


@case("fdr-threads")
def cut_in_record(d):
    return d[:-3]


@case("fdr-threads")
def cut_between_records(d):
    return d[:-64]


@case("fdr-threads")
def cut_in_head(d):
    return d[:buffers(d)[4][0] + 40]


@case("fdr-custom")
def cut_in_payload(d):
    return d[:d.rindex(b"custom event") + 5]


@case("fdr-args")
def cut_in_argument(d):
    return d[:d.rindex(b"\x0d") + 7]


@case("fdr-threads")
def extents_short(d):
    return extents(d, 1, buffers(d)[1][1] - 20)


@case("fdr-threads")
def extents_long(d):
    return extents(d, 1, buffers(d)[1][1] + 20)


@case("fdr-threads")
def extents_zero(d):
    return extents(d, 1, 0)


@case("fdr-threads")
def extents_huge(d):
    return extents(d, 0, (1 << 64) - 1)


@case("fdr-threads")
def extents_over_two(d):
    b = buffers(d)
    return extents(d, 0, b[0][1] + META + b[1][1])


@case("fdr-threads")
def extents_over_all(d):
    return extents(d, 0, len(d) - HEADER - META)


@case("fdr-threads")
def extents_mangled(d):
    return patch(d, buffers(d)[2][0], b"\x40")


@case("fdr-threads")
def new_buffer_mangled(d):
    return patch(d, buffers(d)[1][0] + META, b"\xff" * META)


@case("fdr-threads")
def wall_time_mangled(d):
    return patch(d, buffers(d)[1][0] + 2 * META, bytes(META))


@case("fdr-threads")
def pid_mangled(d):
    return patch(d, buffers(d)[1][0] + 3 * META, b"\xee" * META)


@case("fdr-threads")
def cpu_mangled(d):
    return patch(d, buffers(d)[1][0] + 4 * META, b"\xee" * META)


@case("fdr-threads")
def head_twice(d):
    at = buffers(d)[1][0] + META
    return extents(d[:at] + d[at:at + 4 * META] + d[at:], 1, buffers(d)[1][1] + 4 * META)


@case("fdr-threads")
def records_zeroed(d):
    return patch(d, buffers(d)[1][0] + 200, bytes(64))


@case("fdr-threads")
def records_ones(d):
    return patch(d, buffers(d)[1][0] + 200, b"\xff" * 64)


@case("fdr-threads")
def records_shifted(d):
    at = buffers(d)[1][0] + 202
    return d[:at] + b"shift" + d[at:]


@case("fdr-threads")
def record_kind_7(d):
    return patch(d, buffers(d)[0][0] + 104, b"\x1e")


@case("fdr-threads")
def record_kind_unknown(d):
    return patch(d, buffers(d)[0][0] + 104, b"\x7f")


@case("fdr-threads")
def end_of_buffer_inside(d):
    return patch(d, buffers(d)[0][0] + 104, b"\x03")


@case("fdr-threads")
def garbage_between(d):
    at = buffers(d)[1][0]
    return d[:at] + bytes(range(256)) + d[at:]


@case("fdr-threads")
def garbage_tail(d):
    return d + b"what follows is no buffer" * 20


@case("fdr-threads")
def garbage_all(d):
    return d[:HEADER] + bytes((i * 37 + i // 7) & 0xff for i in range(2000))


@case("fdr-threads")
def zeros_tail(d):
    return d + bytes(8192)


@case("fdr-threads")
def buffers_lost(d):
    return d[:HEADER] + d[buffers(d)[2][0]:]


@case("fdr-threads")
def buffers_twice(d):
    return d + d[HEADER:]


@case("fdr-threads")
def time_back(d):
    at = buffers(d)[0][0] + 5 * META + 16
    cpu = b"\x05\x00\x00" + struct.pack("<Q", 1000) + bytes(5)
    return extents(d[:at] + cpu + d[at:], 0, buffers(d)[0][1] + META)


@case("fdr-threads")
def time_far(d):
    at = buffers(d)[0][0] + 5 * META + 16
    wrap = b"\x07" + b"\xff" * 8 + bytes(7)
    return extents(d[:at] + wrap + d[at:], 0, buffers(d)[0][1] + META)


@case("fdr-custom")
def event_size_huge(d):
    return patch(d, d.index(b"custom event") - META + 3, b"\x40")


@case("fdr-custom")
def event_size_negative(d):
    return patch(d, d.index(b"custom event") - META + 1, b"\xff" * 4)


@case("fdr-custom")
def event_size_small(d):
    return patch(d, d.index(b"custom event") - META + 1, b"\x03")


@case("fdr-custom")
def event_control_characters(d):
    return d.replace(b"custom event", b"\x1b[31m\x00\xff\n\t\"\\~")


@case("fdr-args")
def argument_stray(d):
    at = d.index(b"\x0d", HEADER + 6 * META)
    return extents(d[:at - 8] + d[at:], 0, buffers(d)[0][1] - 8)


@case("fdr-threads")
def ids_large(d):
    at = buffers(d)[0][0] + 5 * META
    return patch(d, at, b"\xf0\xff\xff\xff")


@case("old-release-50-plain")
def v1_size_0(d):
    return patch(d, 16, bytes(8))


@case("old-release-50-plain")
def v1_size_huge(d):
    return patch(d, 16, b"\xff" * 8)


@case("old-release-50-plain")
def v1_size_twice(d):
    return patch(d, 16, struct.pack("<Q", 512))


@case("old-release-50-plain")
def v1_size_small(d):
    return patch(d, 16, struct.pack("<Q", 200))


@case("old-release-50-plain")
def v1_no_end(d):
    return patch(d, HEADER + 0xe0, b"\x12\0\0\0" * 8)


@case("old-release-50-plain")
def v1_first_lost(d):
    return d[:HEADER] + d[HEADER + 256:]


@case("old-release-50-plain")
def v1_cut(d):
    return d[:HEADER + 256 + 100]


@case("old-release-60-custom")
def v2_cut_in_overwritten(d):
    return d[:0x304]


@case("old-release-70-typed")
def v3_extents_mangled(d):
    return patch(d, 0x132, b"\x00")


@case("synth-fdr-v5-be")
def big_endian_cut(d):
    return d[:-70]


@case("synth-fdr-v5-be")
def big_endian_mangled(d):
    return patch(d, 120, b"\xf7" * 9)


@case("basic-threads")
def basic_cut(d):
    return d[:-11]


@case("basic-threads")
def basic_zeroed(d):
    return patch(d, HEADER + 96, bytes(64))


@case("basic-threads")
def basic_shifted(d):
    return d[:HEADER + 96] + b"shift" + d[HEADER + 96:]


@case("basic-args")
def basic_argument_first(d):
    at = d.index(b"\x01\x00", HEADER)
    while (at - HEADER) % 32:
        at = d.index(b"\x01\x00", at + 1)
    return d[:HEADER] + d[at:]


@case("basic-threads")
def basic_garbage(d):
    return d[:HEADER] + bytes((i * 91 + i // 5) & 0xff for i in range(1000))


@case("profile")
def profile_cut(d):
    return d[:-9]


@case("profile")
def profile_block_size_0(d):
    return patch(d, 32, bytes(4))


@case("profile")
def profile_block_size_huge(d):
    return patch(d, 32, b"\xff" * 4)


@case("profile")
def profile_no_end(d):
    return patch(d, 48 + 4, b"\x01\0\0\0" * 99)


@case("profile")
def profile_version(d):
    return patch(d, 8, b"\x01")


def main():
    for name, golden, make in CASES:
        with open(os.path.join(GOLDEN, golden, "in"), "rb") as f:
            data = make(f.read())
        os.makedirs(os.path.join(TO, name), exist_ok=True)
        with open(os.path.join(TO, name, "in"), "wb") as f:
            f.write(data)


if __name__ == "__main__":
    main()
