"""
Writes recordings as docs/formats/spur.md says, for goldens and damaged cases. `spb.py DIR` makes those of tests/golden/spur and
tests/bad/spur below DIR.
"""
import os
import struct
import sys

CHUNK = 4096
BEGIN, END, EVENT, ENTER, EXIT, TAIL, UNWIND, TIME, FIBER, LOST, SWITCH, RESERVED, PAD = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14, 15
SPAN, INSTANT, COUNTER, ASYNC_BEGIN, ASYNC_INSTANT, ASYNC_END, FLOW_BEGIN, FLOW_STEP, FLOW_END, LOG = range(1, 11)
I64, U64, F64, BOOL, POINTER, TEXT, BYTES, STRING, CHAR = range(1, 10)
HZ = 2_500_000_000
T0, MONO0, REAL0 = 1_000_000_000_000, 400_000_000_000, 1_700_000_000_000_000_000


def text(s):
    b = s if isinstance(s, bytes) else s.encode()
    return struct.pack("<H", len(b)) + b


def pad(b):
    return b + bytes(-len(b) % 8)


def descriptor(kind, body):
    body = pad(body)
    return struct.pack("<II", 8 + len(body), kind) + body


def args(types):
    return b"".join(bytes([t]) + text(n) for t, n in types)


def site(number, kind, cat, name, file="main.c", line=1, entry=(), leave=()):
    return descriptor(1, struct.pack("<IBBBBI", number, kind, len(entry), len(leave), 0, line) + text(cat) + text(name) + text(file) +
                      args(entry) + args(leave))


def function(number, address, name="", module=0, entry=(), leave=()):
    return descriptor(2, struct.pack("<IIQBBH", number, module, address, len(entry), len(leave), 0) + text(name) + args(entry) + args(leave))


def module(number, begin, end, shift, path, loaded=0, build_id=b""):
    return descriptor(3, struct.pack("<IIQQQQ", number, 0, begin, end, shift, loaded) + text(build_id) + text(path))


def unload(number, ticks):
    return descriptor(4, struct.pack("<IIQ", number, 0, ticks))


def thread_name(number, name):
    return descriptor(5, struct.pack("<II", number, 0) + text(name))


def process_name(name):
    return descriptor(6, text(name))


def fiber_name(ident, name):
    return descriptor(7, struct.pack("<Q", ident) + text(name))


def string(ident, s):
    return descriptor(8, struct.pack("<Q", ident) + text(s))


def record(kind, ident, ticks, payload=b""):
    words = len(pad(payload)) // 8
    head = struct.pack("<Q", kind | min(words, 15) << 4 | ident << 8 | (ticks & 0xFFFFFFFF) << 32)
    if words >= 15:
        head += struct.pack("<Q", words)
    return head + pad(payload)


def u64(*values):
    return b"".join(struct.pack("<Q", v & (1 << 64) - 1) for v in values)


def arg_text(s):
    return pad(text(s))


def paged(pieces, first):
    """Pieces put so that none crosses a page; `first` bytes are before them."""
    out = bytearray()
    for p in pieces:
        left = -(first + len(out)) % 4096 or 4096
        if len(p) > left:
            out += bytes(left)
        out += p
    return bytes(out)


def chunk(kind, pieces, seq, ticks, tid=0, thread=0, lost=0, state=1, close=0, size=CHUNK):
    mono = MONO0 + (ticks - T0) * 10**9 // HZ
    end = MONO0 + (close - T0) * 10**9 // HZ if close else 0
    head = struct.pack("<4sHHQIIQQQQQ", b"SPBC", kind, state, seq, tid, thread, ticks, mono, close, end, lost)
    body = head + paged(pieces, 64)
    assert len(head) == 64 and len(body) <= size, len(body)
    return body + bytes(size - len(body))


def header(pid=100, mode=0, clock=1, hz=HZ, end=0, lost=0, program="/usr/bin/prog", argv=("prog", "-v"), size=CHUNK, boot=b"\x11" * 16):
    h = bytearray(4096)
    struct.pack_into("<8sIIIIQIIQQQQ", h, 0, b"SPURSPB1", size, mode, pid, 1, 123456, clock, 1, hz, T0, MONO0, REAL0)
    if end:
        ns = (end - T0) * 10**9 // HZ
        struct.pack_into("<QQQ", h, 72, end, MONO0 + ns, REAL0 + ns)
    struct.pack_into("<16sQQQI", h, 96, boot, 0, 0, lost, 0)
    h[256:256 + len(program)] = program.encode()
    words = b"\0".join(a.encode() for a in argv) + b"\0"
    h[512:512 + len(words)] = words
    return bytes(h)


class Clock:
    """Ticks that go on by whole microseconds."""

    def __init__(self, at=T0):
        self.at = at

    def us(self, n):
        self.at += n * HZ // 10**6
        return self.at


def golden_events():
    """Every kind of site and type of argument."""
    c = Clock()
    sites = [site(1, SPAN, "app", "work", line=10, entry=[(I64, "n"), (TEXT, "what")], leave=[(BOOL, "good")]),
             site(2, INSTANT, "app", "tick", line=11), site(3, COUNTER, "mem", "heap", line=12, entry=[(U64, "bytes"), (F64, "share")]),
             site(4, ASYNC_BEGIN, "io", "read", entry=[(POINTER, "buffer")]), site(5, ASYNC_END, "io", "read"),
             site(6, ASYNC_INSTANT, "io", "retry"), site(7, FLOW_BEGIN, "net", "request"), site(8, FLOW_STEP, "net", "request"),
             site(9, FLOW_END, "net", "request"), site(10, LOG, "app", "log", entry=[(STRING, "message"), (BYTES, "data"), (CHAR, "level")])]
    names = [process_name("demo"), thread_name(1, "main"), thread_name(2, "worker"), string(77, "disk is full")]
    one = [record(BEGIN, 1, c.us(0), u64(-5) + arg_text("été")), record(EVENT, 2, c.us(1)),
           record(EVENT, 3, c.us(1), u64(4096) + struct.pack("<d", 0.25)), record(EVENT, 4, c.us(1), u64(0xabc, 0x7fff0000)),
           record(EVENT, 6, c.us(1), u64(0xabc)), record(EVENT, 5, c.us(1), u64(0xabc)), record(EVENT, 7, c.us(1), u64(9)),
           record(EVENT, 10, c.us(1), u64(77) + arg_text(b"\0\xff") + u64(ord("W"))), record(SWITCH, 3 << 1 | 1, c.us(1), u64(1)),
           record(SWITCH, 2 << 1, c.us(5)), record(LOST, 0, c.us(1), u64(12)), record(END, 1, c.us(1), u64(1))]
    c = Clock(T0 + 5000)
    two = [record(EVENT, 8, c.us(0), u64(9)), record(EVENT, 9, c.us(3), u64(9)), record(BEGIN, 1, c.us(1), u64(1) + arg_text("")),
           record(PAD, 0, 0, u64(1, 2)), record(END, 0, c.us(2))]
    return header(end=c.at + HZ) + chunk(2, sites + names, 1, T0) + chunk(1, one, 2, T0, 100, 1) + chunk(1, two, 3, T0 + 5000, 101, 2, lost=3)


def golden_calls():
    """Functions by number and by address, tail calls, unwinding; a payload of 15 words and more."""
    c = Clock()
    funcs = [function(1, 0x1000, "main"), function(2, 0x1100, "_ZN3app4workEi", entry=[(I64, "n")], leave=[(I64, "retval")]),
             function(3, 0x1200, "last"), function(4, 0x1300, "thrower", entry=[(TEXT, "long")])]
    rec = [record(ENTER, 1, c.us(0)), record(ENTER, 2, c.us(1), u64(7)), record(ENTER, 0, c.us(1), u64(0x5000)),
           record(EXIT, 0, c.us(1)), record(TAIL, 3, c.us(1)), record(EXIT, 3, c.us(2)), record(ENTER, 2, c.us(1), u64(8)),
           record(ENTER, 4, c.us(1), arg_text("x" * 200)), record(UNWIND, 0, c.us(1), u64(2)), record(ENTER, 2, c.us(1), u64(9)),
           record(EXIT, 2, c.us(4), u64(-1)), record(EXIT, 1, c.us(1))]
    return header(end=c.at) + chunk(2, funcs, 1, T0) + chunk(1, rec, 2, T0, 100, 1, state=2, close=c.at)


def golden_time():
    """Times that pass 2^32 ticks, records of handlers before others, chunks of a ring that came round."""
    sites = [site(1, SPAN, "", "outer"), site(2, SPAN, "", "handler")]
    c = Clock()
    a, h0, h1, b = c.us(1), c.us(1), c.us(1), c.us(1)
    far = T0 + 3 * 2**32
    first = [record(BEGIN, 2, h0), record(END, 2, h1), record(BEGIN, 1, a), record(END, 1, b), record(TIME, 0, far, u64(far)),
             record(BEGIN, 1, far + 10), record(END, 1, far + 2**31 - 10)]
    later = far + 2**33
    second = [record(BEGIN, 1, later + 100), record(END, 1, later + 2600)]
    return (header(mode=1) + chunk(2, sites, 1, T0) + chunk(1, second, 9, later, 100, 1) + chunk(1, first, 4, T0, 100, 1, state=2) +
            bytes(CHUNK))


def golden_fibers():
    """A fiber that moves from one thread to another, and one without a name."""
    sites = [site(1, SPAN, "", "job"), site(2, SPAN, "", "loop")]
    names = [fiber_name(500, "reader"), thread_name(1, "first"), thread_name(2, "second")]
    c = Clock()
    one = [record(BEGIN, 2, c.us(0)), record(FIBER, 0, c.us(1), u64(500)), record(BEGIN, 1, c.us(1)), record(FIBER, 0, c.us(1), u64(0)),
           record(END, 2, c.us(1)), record(FIBER, 0, c.us(1), u64(9)), record(BEGIN, 1, c.us(1)), record(END, 1, c.us(1))]
    two = [record(FIBER, 0, c.us(10), u64(500)), record(END, 1, c.us(1)), record(FIBER, 0, c.us(1))]
    return header() + chunk(2, sites + names, 1, T0) + chunk(1, one, 2, T0, 100, 1) + chunk(1, two, 3, T0, 101, 2)


def golden_killed():
    """A program that was killed: no end, a record that was begun, one that was reserved, events without a chunk."""
    sites = [site(1, SPAN, "", "step"), site(2, INSTANT, "", "tick", entry=[(U64, "n")])]
    c = Clock()
    rec = [record(BEGIN, 1, c.us(0)), bytes(16), record(EVENT, 2, c.us(2), u64(1)), record(RESERVED, 0, 0, u64(0x1234)),
           record(EVENT, 2, c.us(1), u64(2)), record(BEGIN, 1, c.us(1))]
    return header(lost=41) + chunk(2, sites, 1, T0) + chunk(1, rec, 2, T0, 100, 1) + bytes(100)


def golden_pages():
    """Chunks of 16 KiB whose records end before each page does."""
    sites = [site(1, SPAN, "", "step"), site(2, INSTANT, "", "note", entry=[(TEXT, "text")])]
    c = Clock()
    rec = [record(EVENT, 2, c.us(1), arg_text("%04d " % i + "y" * (i * 37 % 900))) for i in range(20)]
    return header(size=16384, clock=2, hz=0) + chunk(2, sites, 1, T0, size=16384) + chunk(1, rec, 2, T0, 100, 1, size=16384)


def process(pid, start):
    c = Clock(T0 + start * 2500)
    rec = [record(BEGIN, 1, c.us(1)), record(END, 1, c.us(10))]
    return header(pid=pid, program="/bin/p%d" % pid) + chunk(2, [site(1, SPAN, "", "run %d" % pid)], 1, T0) + chunk(1, rec, 2, T0, pid, 1)


GOLDEN = {"events": golden_events, "calls": golden_calls, "time": golden_time, "fibers": golden_fibers, "killed": golden_killed,
          "pages": golden_pages}


def bad_cases():
    good = golden_events()
    sites, recs = 4096, 8192

    def patch(off, data, base=good):
        return base[:off] + data + base[off + len(data):]
    yield "cut-header", good[:4000]
    yield "header-only", good[:4096]
    yield "cut-head", good[:recs + 40]
    yield "cut-chunk", good[:recs + 64 + 44]
    yield "chunk-size", patch(8, struct.pack("<I", 5000))
    yield "chunk-magic", patch(recs, b"XXXX")
    yield "chunk-kind", patch(recs + 4, struct.pack("<H", 7))
    yield "record-long", patch(recs + 64, struct.pack("<Q", 0x1f1 | 5 << 32) + u64(1 << 31))
    yield "record-kind", patch(recs + 64, record(13, 5, T0))
    yield "record-site", patch(recs + 64, record(EVENT, 999, T0))
    yield "descriptor-size", patch(sites + 64, struct.pack("<I", 4100))
    yield "descriptor-odd", patch(sites + 64, struct.pack("<I", 13))
    yield "descriptor-short", patch(sites + 64 + 8 + 5, b"\xff")
    yield "descriptor-text", patch(sites + 64 + 8 + 12, b"\xff\xff")
    yield "descriptor-zero-site", patch(sites + 64 + 8, struct.pack("<I", 0))
    yield "arguments-short", patch(recs + 64, record(BEGIN, 1, T0, u64(5)) + record(PAD, 0, 0, u64(0)))
    yield "no-frequency", header(hz=0) + good[4096:]
    yield "unwind-many", header() + chunk(1, [record(ENTER, 0, T0, u64(0x10)), record(UNWIND, 0, T0, u64(1 << 63))], 1, T0, 1, 1)
    yield "no-descriptors", header() + chunk(1, [record(BEGIN, 1, T0), record(EXIT, 3, T0)], 1, T0, 1, 1)


def put(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)


def main():
    root = sys.argv[1]
    for name, make in GOLDEN.items():
        put(os.path.join(root, "golden", "spur", name, "in"), make())
    for pid, start in ((200, 3), (300, 1)):
        put(os.path.join(root, "golden", "spur", "processes", "in", "%d-5000.spb" % pid), process(pid, start))
    for name, data in bad_cases():
        put(os.path.join(root, "bad", "spur", name, "in"), data)


if __name__ == "__main__":
    main()
