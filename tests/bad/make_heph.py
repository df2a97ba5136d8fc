#!/usr/bin/env python3
"""
Makes the damaged and odd inputs below bad/heph/, and those below golden/heph/ that no runtime wrote: one function a case,
named like its directory. Run it again after adding a case; it rewrites all `in` and leaves `expect/` alone.
"""
import os
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "..", "golden", "heph")
META, EVENT = 0x75D11D4D, 0xC1FC1FB7
CASES = []


def case(kind):
    def add(f):
        CASES.append((kind, f.__name__.replace("_", "-"), f))
        return f
    return add


def golden(name):
    with open(os.path.join(GOLDEN, name, "in"), "rb") as f:
        return f.read()


def text(s):
    s = s.encode() if isinstance(s, str) else s
    return struct.pack(">H", len(s)) + s


def meta(name, value):
    body = text(name) + value
    return struct.pack(">II", META, 8 + len(body)) + body


def epoch(v=1610113734118010000):
    return meta("epoch", struct.pack(">Q", v))


def event(counter, start, end, name="My event", attrs=b"", stream=0, substream=1):
    body = struct.pack(">IIQQQ", stream, counter, substream, start, end) + text(name) + attrs
    return struct.pack(">II", EVENT, 8 + len(body)) + body


def u64(name, v):
    return text(name) + b"\1" + struct.pack(">Q", v)


def string(name, s):
    return text(name) + b"\4" + text(s)


def resized(packet, size):
    return packet[:4] + struct.pack(">I", size) + packet[8:]


# --- what a right reader has to get right

@case("golden")
def second_epoch():
    return epoch(10**18) + event(0, 100, 200) + event(1, 50, 300) + epoch(10**18 + 1000) + event(0, 10, 20) + event(1, 5, 30)


@case("golden")
def nesting():
    """Three levels, two substreams that take turns, a long span from before all others, and equal ones."""
    out, n = epoch(), 0
    for i in range(40):
        t = 1000 * i + 500
        for start, end, name, sub in ((300, 400, "leaf", 7), (200, 500, "middle", 7), (200, 500, "around middle", 7),
                                      (350, 380, "elsewhere", 8), (100, 600, "outer", 7)):
            out += event(n, t + start, t + end, name, u64("i", i), substream=sub)
            n += 1
    return out + event(n, 0, 10**6, "all", substream=7) + event(n + 1, 5, 10**6 + 1, "overlaps all", substream=7)


@case("golden")
def reordered():
    """Stream 0 is written by several threads: counters within the window of 1,024 are late, not lost."""
    return epoch() + b"".join(event(c, 10 * i, 10 * i + 5) for i, c in enumerate([1, 0, 2, 5, 3, 4, 8, 7, 6, 9]))


@case("golden")
def counter_wrap():
    return b"".join(event(c & 0xFFFFFFFF, 10 * i, 10 * i + 5) for i, c in enumerate(range(2**32 - 3, 2**32 + 4)))


@case("golden")
def wide_ids():
    return event(0, 1, 2, stream=2**32 - 1, substream=2**63 - 2) + event(0, 3, 4, stream=7, substream=2**63 - 1)


@case("golden")
def unknown_option():
    return meta("clock", b"monotonic\0") + epoch() + event(0, 5, 6) + meta("", b"") + event(1, 3, 9)


# --- damage

@case("bad")
def unknown_type():
    return epoch() + event(0, 1, 2, attrs=u64("a", 1) + text("b") + b"\5" + bytes(8)) + event(1, 3, 4)


@case("bad")
def invalid_types():
    return epoch() + event(0, 1, 2, attrs=text("b") + b"\0" + bytes(8)) + event(1, 3, 4, attrs=text("b") + b"\x80" + bytes(4))


@case("bad")
def nested_array():
    """As the writer makes of [[u8; 2]; 2]: type 0x81, each element with a length of its own."""
    return golden("empty") + event(0, 1, 2, "nested array", text("aa") + b"\x81\0\2" + (b"\0\2" + struct.pack(">QQ", 1, 2)) * 2)


@case("bad")
def array_overrun():
    return epoch() + event(0, 1, 2, attrs=text("a") + b"\x81" + b"\xff\xff" + bytes(16)) + event(1, 3, 4)


@case("bad")
def attribute_overrun():
    return epoch() + event(0, 1, 2, attrs=u64("a", 1) + struct.pack(">H", 500) + b"name") + event(1, 3, 4)


@case("bad")
def trailing_bytes():
    return epoch() + event(0, 1, 2, attrs=u64("a", 1) + b"\0") + event(1, 3, 4, attrs=b"xy") + meta("epoch", bytes(7) + b"\1zz")


@case("bad")
def epoch_short():
    return meta("epoch", b"\1\2\3\4") + event(0, 1, 2)


@case("bad")
def epoch_far():
    return epoch(2**64 - 1) + event(0, 2**64 - 2, 2**64 - 1)


@case("bad")
def end_before_start():
    return epoch() + event(0, 200, 100) + event(1, 100, 200)


@case("bad")
def far_times():
    return event(0, 5, 2**64 - 1, "long") + event(1, 2**63, 2**63 + 5, "far") + event(2, 2**63 - 1, 2**63 - 1, "last")


@case("bad")
def garbage_first():
    return b"garbage" + epoch() + event(0, 1, 2)


@case("bad")
def garbage_between():
    return epoch() + event(0, 1, 2) + b"\xC1\xFC\x1F\xB7 not a packet \x75\xD1\x1D\x4D" + event(1, 3, 4) + b"tail"


@case("bad")
def garbage_only():
    return epoch() + bytes(i * 7 & 255 for i in range(4000))


@case("bad")
def size_zero():
    return epoch() + resized(event(0, 1, 2), 0) + event(1, 3, 4)


@case("bad")
def size_small():
    return epoch() + resized(event(0, 1, 2), 41) + event(1, 3, 4)


@case("bad")
def size_huge():
    return epoch() + resized(event(0, 1, 2), 2**32 - 1) + event(1, 3, 4)


@case("bad")
def size_short_by_one():
    return epoch() + resized(event(0, 1, 2, attrs=u64("a", 1)), 61) + event(1, 3, 4)


@case("bad")
def size_of_all():
    """Each packet's size reaches to the end of the file."""
    packets = [event(i, i, i + 1, "%d" % i) for i in range(200)]
    left = sum(map(len, packets))
    out = b""
    for p in packets:
        out += resized(p, left)
        left -= len(p)
    return out


@case("bad")
def name_long():
    p = event(0, 1, 2)
    return epoch() + p[:40] + b"\xff\xff" + p[42:] + event(1, 3, 4) + meta("x", b"")[:8] + b"\0\x09x" + event(2, 5, 6)


@case("bad")
def cut_packets():
    """The disk was full for a while: each of these was cut at another place, and writing went on."""
    out, counter = epoch(), 0
    whole = event(0, 0, 0, "whole", string("message", "Hello Mars!"))
    for cut in range(1, len(whole), 3):
        out += event(counter, 10 * counter, 10 * counter + 5, "whole", string("message", "Hello Mars!"))
        out += event(counter + 1, 0, 0, "whole", string("message", "Hello Mars!"))[:cut]
        counter += 3
    return out


@case("bad")
def torn_tail():
    return epoch() + event(0, 1, 2) + event(1, 3, 4)[:-1]


@case("bad")
def torn_header():
    return epoch() + event(0, 1, 2) + event(1, 3, 4)[:7]


@case("bad")
def zero_tail():
    return epoch() + event(0, 1, 2) + bytes(5000)


@case("bad")
def long_string():
    """As the writer makes of 70,000 bytes: a length modulo 65,536, and all bytes."""
    body = struct.pack(">IIQQQ", 0, 0, 1, 5, 6) + struct.pack(">H", 70000 & 0xFFFF) + b"x" * 70000
    return epoch() + struct.pack(">II", EVENT, 8 + len(body)) + body + event(1, 7, 8)


@case("bad")
def one_byte():
    return b"\xC1"


@case("bad")
def empty_file():
    return b""


@case("bad")
def many_epochs():
    return b"".join(epoch(i * 1000) + event(0, 5, 6) for i in range(300))


@case("bad")
def losses_everywhere():
    return b"".join(event(3 * i, i, i, stream=i % 3) for i in range(300))


@case("bad")
def hostile_names():
    names = ["", "\x1b[31mred", "a\nb", "\u202e", "\"}],{", "\\", b"\xff\xfe", "x" * 3000, "\0"]
    return b"".join(event(i, i, i + 1, n, string(n, n)) for i, n in enumerate(names))


@case("bad")
def all_ones():
    return event(0, 1, 2) + b"\xff" * 300


def main():
    for kind, name, make in CASES:
        folder = os.path.join(HERE, "..", kind, "heph", name)
        data = make()
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "in"), "wb") as f:
            f.write(data)


if __name__ == "__main__":
    main()
