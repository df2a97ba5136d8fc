#!/usr/bin/env python3
"""
Makes the damaged inputs below bad/ctf/ and the small ones below golden/ctf/ that no tracer wrote: one function a case, named
like its directory. Run it again after adding a case; it rewrites their `in/` and leaves `expect/` alone.
"""
import bz2
import gzip
import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = []
MAGIC, META_MAGIC, INDEX_MAGIC = 0xC1FC1FC1, 0x75D11D57, 0xC1F1DCC1
UUID = bytes.fromhex("0123456789abcdef0011223344556677")
KEY = bytes(range(16))  # of AES


def case(kind="bad"):
    def take(function):
        CASES.append((kind, function.__name__.replace("_", "-"), function))
        return function
    return take


class Dir:
    """The directory `in` of a case."""

    def __init__(self, kind, name):
        self.path = os.path.join(HERE, "..", kind, "ctf", name, "in")
        shutil.rmtree(self.path, ignore_errors=True)
        os.makedirs(self.path)

    def write(self, name, data):
        path = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data.encode() if isinstance(data, str) else data)


# ---- CTF 1.8, like LTTng's: two classes of events, whole bytes, packets of 256 bytes

LTTNG = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; } := uint8_t;
typealias integer { size = 16; align = 8; } := uint16_t;
typealias integer { size = 32; align = 8; } := uint32_t;
typealias integer { size = 32; align = 8; signed = true; } := int32_t;
typealias integer { size = 64; align = 8; base = 16; } := uint64_t;
trace {
	major = 1;
	minor = 8;
	uuid = "01234567-89ab-cdef-0011-223344556677";
	byte_order = le;
	packet.header := struct {
		uint32_t magic;
		uint8_t uuid[16];
		uint32_t stream_id;
		uint64_t stream_instance_id;
	};
};
clock {
	name = monotonic;
	freq = 1000000000;
	offset = 1700000000000000000;
};
typealias integer { size = 64; align = 8; map = clock.monotonic.value; } := time64_t;
struct packet_context {
	time64_t timestamp_begin;
	time64_t timestamp_end;
	uint64_t content_size;
	uint64_t packet_size;
	uint64_t packet_seq_num;
	uint64_t events_discarded;
	uint32_t cpu_id;
};
struct event_header {
	enum : uint16_t { compact = 0 ... 65534, extended = 65535 } id;
	variant <id> {
		struct {
			integer { size = 32; align = 8; map = clock.monotonic.value; } timestamp;
		} compact;
		struct {
			uint32_t id;
			time64_t timestamp;
		} extended;
	} v;
} align(8);
stream {
	id = 0;
	packet.context := struct packet_context;
	event.header := struct event_header;
};
event {
	name = "t:ints";
	id = 0;
	stream_id = 0;
	fields := struct {
		int32_t a;
		uint64_t b;
	};
};
event {
	name = "t:text";
	id = 1;
	stream_id = 0;
	fields := struct {
		string s;
		uint64_t n;
		uint32_t v[n];
	};
};
event {
	name = "t:choice";
	id = 2;
	stream_id = 0;
	fields := struct {
		enum : uint8_t { one = 1, two = 2 } tag;
		variant <tag> {
			uint8_t one;
			string two;
		} value;
	};
};
"""
SIZE = 256  # bytes of a packet
HEAD = 84  # bytes of header and context
AT = {"magic": 0, "uuid": 4, "class": 20, "begin": 32, "end": 40, "content": 48, "size": 56, "seq": 64, "discarded": 72}


def ints(time, a, b):
    return struct.pack("<HIiQ", 0, time & 0xFFFFFFFF, a, b)


def text(time, s, values, count=None):
    s = s.encode() if isinstance(s, str) else s
    return struct.pack("<HI", 1, time & 0xFFFFFFFF) + s + b"\0" + struct.pack(
        "<Q%dI" % len(values), len(values) if count is None else count, *values)


def choice(time, tag, value):
    return struct.pack("<HIB", 2, time & 0xFFFFFFFF, tag) + value


def packet(events, seq=0, **kw):
    """Times are 1000 * seq to 1000 * seq + 999 where `begin` and `end` say nothing else."""
    v = {"begin": 1000 * seq, "end": 1000 * seq + 999, "discarded": 0, "cpu": 0, "size": SIZE, "instance": 0, "class": 0}
    v.update(kw)
    content = HEAD + sum(len(e) for e in events)
    head = struct.pack("<I16sIQ", MAGIC, UUID, v["class"], v["instance"])
    head += struct.pack("<QQQQQQI", v["begin"], v["end"], 8 * content, 8 * v["size"], seq, v["discarded"], v["cpu"])
    return (head + b"".join(events)).ljust(v["size"], b"\0")


def full(seq):
    """A packet with five events; the last byte of the last one is byte 195."""
    t = 1000 * seq
    return packet([ints(t + 10, -seq, 1), ints(t + 20, seq, 2), text(t + 30, "hello", [seq, 7]), ints(t + 40, 3, 4), text(t + 50, "", [])], seq)


def stream(n=3):
    return [full(i) for i in range(n)]


def patch(data, at, new):
    return data[:at] + new + data[at + len(new):]


def field(data, name, value):
    """Sets a u64 of the packet's head."""
    return patch(data, AT[name], struct.pack("<Q", value))


def index_of(packets, minor=1, entry=None, **kw):
    """The index file that a tracer would have written; kw: column -> function of the packet's number and value."""
    columns = "off", "size", "content", "begin", "end", "discarded", "class", "instance", "seq"
    out = struct.pack(">IIII", INDEX_MAGIC, 1, minor, entry or (72 if minor else 56))
    off = 0
    for i, p in enumerate(packets):
        v = dict(zip(columns, (off, 8 * len(p)) + struct.unpack_from("<Q", p, AT["content"]) +
                     struct.unpack_from("<QQ", p, AT["begin"]) + struct.unpack_from("<Q", p, AT["discarded"]) + (0, 0, i)))
        for name, change in kw.items():
            v[name] = change(i, v[name])
        out += struct.pack(">9Q", *(v[c] for c in columns))[:72 if minor else 56]
        off += len(p)
    return out


def lttng(d, packets, index=None, metadata=LTTNG):
    d.write("metadata", metadata)
    d.write("ch_0", b"".join(packets))
    if index is not None:
        d.write("index/ch_0.idx", index)


# ---- right ones

@case("golden")
def lttng_like(d):
    """SPEC ctf/index-file: version 1.0 for one stream, 1.1 for the other; both right."""
    lttng(d, stream(), index_of(stream()))
    other = [packet([choice(5, 1, b"\x2a"), choice(6, 2, b"two\0"), ints(7, 1, 1)], 0, cpu=1, instance=1)]
    d.write("ch_1", b"".join(other))
    d.write("index/ch_1.idx", index_of(other, 0))


@case("golden")
def counters_wrap(d):
    """
    SPEC ctf/counter-wrap, SPEC ctf/discarded: discarded events of 8 bits go from 250 to 3 (9 lost), numbers of packets of 4 bits
    from 15 to 1 (packet 0 is lost), and back, which is no loss.
    """
    d.write("metadata", """/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = be; packet.header := struct { integer { size = 32; } magic; }; };
clock { name = c; freq = 1000; };
stream {
	packet.context := struct {
		integer { size = 32; map = clock.c.value; } timestamp_begin;
		integer { size = 32; map = clock.c.value; } timestamp_end;
		integer { size = 16; } content_size;
		integer { size = 16; } packet_size;
		integer { size = 8; } events_discarded;
		integer { size = 4; align = 4; } packet_seq_num;
		integer { size = 4; align = 4; } cpu_id;
	};
	event.header := struct { integer { size = 8; map = clock.c.value; } timestamp; };
};
event { name = tick; fields := struct { integer { size = 8; signed = true; } v; }; };
""")
    out = b""
    for i, (discarded, seq) in enumerate(((250, 14), (250, 15), (3, 1), (3, 2), (1, 3))):
        t = 1000 + 200 * i  # 8 bits of time wrap inside the packet
        events = b"".join(struct.pack(">Bb", (t + 60 * k) & 255, k - i) for k in range(4))
        out += struct.pack(">IIIHHBB", MAGIC, t, t + 199, 8 * (18 + len(events)), 8 * 32, discarded, seq << 4) + events.ljust(14, b"\0")
    d.write("stream", out)


@case("golden")
def no_packets(d):
    """SPEC ctf/no-sizes, SPEC ctf/no-time, SPEC ctf/event-id, SPEC ctf/row-place: the file is one packet; no times, no ids, fields of bits."""
    d.write("metadata", """/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; };
event {
	name = bits;
	fields := struct {
		integer { size = 3; align = 1; } a;
		integer { size = 7; align = 1; signed = true; } b;
		integer { size = 1; align = 1; } c;
	};
};
""")
    word = sum((i & 7 | (i * 9 - 40 & 127) << 3 | (i & 1) << 10) << 11 * i for i in range(8))
    d.write("only", word.to_bytes(11, "little"))


@case("golden")
def several_classes(d):
    """SPEC ctf/several-classes, SPEC ctf/one-stream-class: packets of two stream classes take turns in one file."""
    d.write("metadata", """/* CTF 1.8 */
typealias integer { size = 32; } := u32;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; u32 stream_id; }; };
clock { name = c; freq = 1000000; };
struct context { integer { size = 32; map = clock.c.value; } timestamp_begin; u32 content_size; u32 packet_size; };
struct header { integer { size = 32; map = clock.c.value; } timestamp; };
stream { id = 4; packet.context := struct context; event.header := struct header; };
stream { id = 9; packet.context := struct context; event.header := struct header; };
event { name = four; stream_id = 4; fields := struct { u32 v; }; };
event { name = nine; stream_id = 9; fields := struct { string s; }; };
""")

    def one(number, begin, events):
        return struct.pack("<IIIII", MAGIC, number, begin, 8 * (20 + len(events)), 8 * (20 + len(events))) + events

    d.write("mixed", one(4, 0, struct.pack("<IIII", 1, 11, 5, 12)) + one(9, 2, struct.pack("<I", 2) + b"a\0" + struct.pack("<I", 6) + b"b\0") +
            one(4, 7, struct.pack("<II", 8, 13)) + one(9, 9, struct.pack("<I", 9) + b"\0"))


KERNEL = """/* CTF 1.8 */
typealias integer { size = 32; align = 8; signed = true; } := int;
typealias integer { size = 64; align = 8; } := u64;
trace { major = 1; minor = 8; byte_order = le; };
env { domain = "kernel"; hostname = "box"; tracer_name = "lttng-modules"; tracer_major = 2; tracer_minor = 13; };
clock { name = mono; freq = 1000000000; };
stream {
	packet.context := struct {
		integer { size = 64; align = 8; } packet_size;
		integer { size = 64; align = 8; } content_size;
		integer { size = 32; align = 8; } cpu_id;
	};
	event.header := struct {
		integer { size = 16; align = 8; } id;
		integer { size = 64; align = 8; map = clock.mono.value; } timestamp;
	};
};
event { name = sched_switch; id = 0; fields := struct {
	integer { size = 8; align = 8; encoding = UTF8; } _prev_comm[16]; int _prev_tid; int _prev_prio; int _prev_state;
	integer { size = 8; align = 8; encoding = UTF8; } _next_comm[16]; int _next_tid; int _next_prio; }; };
event { name = sched_wakeup; id = 1; fields := struct {
	integer { size = 8; align = 8; encoding = UTF8; } _comm[16]; int _tid; int _prio; int _target_cpu; }; };
event { name = syscall_entry_read; id = 2; fields := struct { int _fd; }; };
event { name = syscall_exit_read; id = 3; fields := struct { int _ret; }; };
event { name = irq_handler_entry; id = 4; fields := struct { int _irq; }; };
event { name = irq_handler_exit; id = 5; fields := struct { int _irq; int _ret; }; };
event { name = lone_entry; id = 6; };
"""


def kernel_event(time, number, form="", *values):
    values = [v.encode() if isinstance(v, str) else v for v in values]
    return struct.pack("<HQ" + form, number, time, *values)


def switch(time, before, state, after):
    names = {0: "swapper", 7: "seven", 8: "eight"}
    return kernel_event(time, 0, "16siii16sii", names[before], before, 20, state, names[after], after, 20)


@case("golden")
def kernel(d):
    """SPEC ctf/rules, SPEC ctf/track-names: switches, wake-ups, system calls and interrupts of two processors."""
    d.write("metadata", KERNEL)
    one = [switch(100, 0, 0, 7), kernel_event(150, 2, "i", 3), kernel_event(160, 4, "i", 19), kernel_event(190, 5, "ii", 19, 0),
           kernel_event(240, 3, "i", 512), kernel_event(245, 6), switch(300, 7, 1, 0), switch(520, 0, 0, 7), switch(640, 7, 0, 8), switch(700, 8, 2, 0)]
    two = [switch(110, 0, 0, 8), kernel_event(500, 1, "16siii", "seven", 7, 20, 0), switch(610, 8, 0, 0)]
    for cpu, events in enumerate((one, two)):
        body = b"".join(events)
        d.write("kernel_%d" % cpu, struct.pack("<QQI", 8 * (20 + len(body)), 8 * (20 + len(body)), cpu) + body)


@case("golden")
def user_spans(d):
    """SPEC ctf/rules: functions by address, X_entry and X_exit, log events; threads by the contexts of events."""
    d.write("metadata", """/* CTF 1.8 */
typealias integer { size = 32; align = 8; signed = true; } := int;
typealias integer { size = 64; align = 8; base = 16; } := ptr;
trace { major = 1; minor = 8; byte_order = be; };
clock { name = mono; freq = 1000000000; offset_s = 1600000000; };
stream {
	event.header := struct {
		integer { size = 16; align = 8; } id;
		integer { size = 64; align = 8; map = clock.mono.value; } timestamp;
	};
	event.context := struct { int _vpid; int _vtid; integer { size = 8; align = 8; encoding = UTF8; } _procname[16]; };
};
event { name = "lttng_ust_cyg_profile:func_entry"; id = 0; fields := struct { ptr _addr; ptr _call_site; }; };
event { name = "lttng_ust_cyg_profile:func_exit"; id = 1; fields := struct { ptr _addr; ptr _call_site; }; };
event { name = "app:work_entry"; id = 2; loglevel = 13; fields := struct { int _n; }; };
event { name = "app:work_exit"; id = 3; loglevel = 13; fields := struct { int _n; }; };
event { name = "lttng_ust_tracef:event"; id = 4; loglevel = 6; fields := struct { string _msg; }; };
""")

    def event(time, number, tid, form, *values):
        return struct.pack(">HQii16s" + form, number, time, 50, tid, b"app" if tid == 50 else b"helper", *values)

    d.write("channel0_0", b"".join([
        event(100, 0, 50, "QQ", 0x401000, 0x400100), event(120, 2, 51, "i", 1), event(150, 0, 50, "QQ", 0x402000, 0x401010),
        event(170, 4, 50, "6s", b"hello\0"), event(180, 1, 50, "QQ", 0x402000, 0x401010), event(220, 3, 51, "i", 1),
        event(240, 1, 50, "QQ", 0x401000, 0x400100), event(260, 3, 51, "i", 2)]))


CTF2_CLOCK = {"type": "clock-class", "id": "c", "frequency": 1000000000, "origin": "unix-epoch",
              "offset-from-origin": {"seconds": 1700000000, "cycles": 5}}


def ctf2(*fragments):
    return "".join("\x1e" + json.dumps(f) + "\n" for f in fragments)


def uint(bits, roles=(), **kw):
    out = {"type": "fixed-length-unsigned-integer", "length": bits, "alignment": 8, "byte-order": "little-endian"}
    return dict(out, **({"roles": list(roles)} if roles else {}), **kw)


def struct_of(*members):
    return {"type": "structure", "member-classes": [{"name": n, "field-class": c} for n, c in members]}


def in_payload(*path):
    return {"origin": "event-record-payload", "path": list(path)}


def ctf2_classes():
    """Metadata with every kind of field class."""
    fixed = {"alignment": 8, "byte-order": "big-endian"}
    payload = struct_of(
        ("array", {"type": "fixed-length-bit-array", "length": 12, **fixed}),
        ("map", {"type": "fixed-length-bit-map", "length": 4, "byte-order": "big-endian", "flags": {"low": [[0, 1]], "high": [[3, 3]]}}),
        ("yes", {"type": "fixed-length-boolean", "length": 8, **fixed}),
        ("u", {"type": "fixed-length-unsigned-integer", "length": 16, "preferred-display-base": 16, **fixed}),
        ("s", {"type": "fixed-length-signed-integer", "length": 8, "mappings": {"few": [[-3, -1]], "many": [[1, 100]]}, **fixed}),
        ("f", {"type": "fixed-length-floating-point-number", "length": 64, **fixed}),
        ("vu", {"type": "variable-length-unsigned-integer"}),
        ("vs", {"type": "variable-length-signed-integer"}),
        ("text", {"type": "null-terminated-string", "encoding": "utf-16le"}),
        ("four", {"type": "static-length-string", "length": 4}),
        ("n", uint(8)),
        ("dyn", {"type": "dynamic-length-string", "length-field-location": in_payload("n")}),
        ("raw", {"type": "static-length-blob", "length": 3, "media-type": "image/png"}),
        ("rawn", {"type": "dynamic-length-blob", "length-field-location": in_payload("n")}),
        ("pair", {"type": "static-length-array", "length": 2, "element-field-class": uint(16)}),
        ("list", {"type": "dynamic-length-array", "length-field-location": in_payload("n"), "element-field-class": struct_of(("x", uint(8)))}),
        ("maybe", {"type": "optional", "selector-field-location": in_payload("yes"), "field-class": uint(32)}),
        ("either", {"type": "variant", "selector-field-location": in_payload("n"), "options": [
            {"name": "low", "selector-field-ranges": [[0, 1]], "field-class": uint(8)},
            {"selector-field-ranges": [[2, 200]], "field-class": {"type": "null-terminated-string"}}]}))
    return ctf2(
        {"type": "preamble", "version": 2, "uuid": list(UUID)},
        {"type": "trace-class", "namespace": "tests", "name": "classes", "uid": "1", "packet-header-field-class": struct_of(
            ("magic", uint(32, ["packet-magic-number"])),
            ("uuid", {"type": "static-length-blob", "length": 16, "roles": ["metadata-stream-uuid"]}))},
        CTF2_CLOCK,
        {"type": "data-stream-class", "default-clock-class-id": "c",
         "packet-context-field-class": struct_of(
             ("begin", uint(64, ["default-clock-timestamp"])), ("end", uint(64, ["packet-end-default-clock-timestamp"])),
             ("size", uint(32, ["packet-total-length"])), ("content", uint(32, ["packet-content-length"])),
             ("seq", uint(16, ["packet-sequence-number"])), ("lost", uint(16, ["discarded-event-record-counter-snapshot"]))),
         "event-record-header-field-class": struct_of(
             ("id", uint(8, ["event-record-class-id"])), ("time", uint(16, ["default-clock-timestamp"])))},
        {"type": "event-record-class", "id": 0, "name": "all", "payload-field-class": payload},
        {"type": "event-record-class", "id": 1, "name": "small", "payload-field-class": struct_of(("v", uint(8)))})


CTF2 = ctf2_classes()


def all_classes(time, n, yes, texts):
    return (struct.pack("<BH", 0, time & 0xFFFF) + bytes.fromhex("abc9") + bytes([yes]) + struct.pack(">Hbd", 0xBEEF, -2, 0.1) +
            b"\xe5\x8e\x26" + b"\xff\x7e" + "h\u00e9".encode("utf-16le") + b"\0\0" + b"ab\0\0" + bytes([n]) + b"x" * n + b"PNG" +
            bytes(range(n)) + struct.pack("<HH", 7, 8) + bytes(range(n)) + (struct.pack("<I", 99) if yes else b"") + texts)


def small(time, v):
    return struct.pack("<BHB", 1, time & 0xFFFF, v)


def packet2(events, seq, size=SIZE):
    content = 48 + sum(len(e) for e in events)
    head = struct.pack("<I16sQQIIHH", MAGIC, UUID, 1000 * seq, 1000 * seq + 999, 8 * size, 8 * content, seq, 0)
    return (head + b"".join(events)).ljust(size, b"\0")


def stream2():
    return [packet2([small(1000 * i + 1, i), all_classes(1000 * i + 2, i, 1, b"\x11" if i < 2 else b"more\0"), small(1000 * i + 3, 9)], i) for i in range(3)]


@case("golden")
def ctf2_all_classes(d):
    d.write("metadata", CTF2)
    d.write("stream", b"".join(stream2()))


# ---- RFC v1.1

V11_TYPES = """trace { major = 1; minor = 1; };
type uint8_t { parent = integer; size = 8; signed = false; align = 8; };
type uint16_t { parent = integer; size = 16; signed = false; align = %(a16)d; };
type uint32_t { parent = integer; size = 32; signed = false; align = %(a32)d; };
type uint64_t { parent = integer; size = 64; signed = false; align = %(a64)d; };
"""
V11_SECTION = """section { name = low; event { header_type = type2; context { event_size = %s; }; }; };
section { name = high; event { header_type = type1; }; };
event { name = tick; id = 5; section = low; fields = type { parent = struct; fields = { { uint64_t, jiffies } }; }; };
event { name = far; id = 70000; section = low; fields = type { parent = struct; fields = {
	{ type { parent = string; encoding = UTF8; }, s },
	{ type { parent = sequence; length_type = uint8_t; elem_type = uint16_t; }, v } }; }; };
event { name = irq; id = 1; section = high; fields = type { parent = struct; fields = { { uint32_t, n } }; }; };
"""
V11 = V11_TYPES % {"a16": 8, "a32": 8, "a64": 8} + V11_SECTION % "true"
V11_NATURAL = V11_TYPES % {"a16": 16, "a32": 32, "a64": 64} + V11_SECTION % "false"
NONE, BZIP2, GZIP = range(3)
MD5, SHA1, CRC32 = 1, 2, 3


def aes(data):
    """A counter block, then AES in counter mode."""
    block = bytes(range(100, 116))
    return block + subprocess.run(["openssl", "enc", "-aes-128-ctr", "-K", KEY.hex(), "-iv", block.hex()],
                                  input=data, stdout=subprocess.PIPE, check=True).stdout


def v11_packet(body, seq=0, order="<", compression=NONE, encryption=0, checksum=0, size=SIZE, **kw):
    """`damage` changes what is stored after the checksum; `sum` is another checksum."""
    if compression:
        body = bz2.compress(body) if compression == BZIP2 else gzip.compress(body, mtime=0) if compression == GZIP else body
    if encryption:
        body = aes(body)
    digest = {0: lambda b: 0, CRC32: zlib.crc32, MD5: lambda b: struct.unpack(order + "I", hashlib.md5(b).digest()[:4])[0],
              SHA1: lambda b: struct.unpack(order + "I", hashlib.sha1(b).digest()[:4])[0]}.get(checksum, lambda b: 1)(body)
    body = kw.get("damage", lambda b: b)(body)
    return (struct.pack(order + "IIIIIIQQIBBBB", MAGIC, kw.get("session", 7), 48 + len(body), size, kw.get("sum", digest), seq,
                        kw.get("begin", 1000 * seq), 1000 * seq + 999, kw.get("discarded", 0), 16, compression, encryption, checksum) +
            body).ljust(size, b"\0")


def tick(time, jiffies, order="<"):
    return struct.pack(order + "IHHQ", time & 0xFFFFFFFF, 5, 8, jiffies)


def far(time, s, values, order="<"):
    body = s.encode() + b"\0" + struct.pack(order + "B%dH" % len(values), len(values), *values)
    return struct.pack(order + "IHQIH", time & 0xFFFFFFFF, 65535, time, 70000, len(body)) + body


def irq(time, number, n, order="<"):
    word = time & 0x7FFFFFF
    word = number | word << 5 if order == "<" else number << 27 | word
    return struct.pack(order + "II", word, n)


def v11_body(t, order="<"):
    return tick(t + 1, 11, order) + far(t + 2, "far", [1, 2, 3], order) + tick(t + 3, 12, order)


@case("golden")
def v11_schemes(d):
    """SPEC ctf-v11/digest, SPEC ctf-v11/packed, SPEC ctf-v11/byte-order: each checksum and compression, in big-endian order."""
    d.write("metadata", V11)
    schemes = [(NONE, 0, 0), (GZIP, 0, CRC32), (BZIP2, 0, MD5), (NONE, 0, SHA1)]
    d.write("low_0", b"".join(v11_packet(v11_body(1000 * i, ">"), i, ">", *s) for i, s in enumerate(schemes)))


@case("golden")
def v11_encrypted(d):
    """SPEC ctf-v11/aes"""
    d.write("metadata", V11)
    d.write("low_0", v11_packet(v11_body(0), 0, "<", GZIP, 1, CRC32) + v11_packet(v11_body(1000), 1, "<", NONE, 1))
    d.write("../key", KEY)


@case("golden")
def v11_natural(d):
    """SPEC ctf-v11/align, SPEC ctf-v11/header1, SPEC ctf-v11/header2: fields at their natural places."""
    d.write("metadata", V11_NATURAL)
    low = struct.pack("<IHxxQ", 1, 5, 11) + struct.pack("<IHxxQI", 2, 65535, 2, 70000) + b"s\0" + struct.pack("<BxH", 1, 9)
    d.write("low", v11_packet(low))
    d.write("high", v11_packet(irq(5, 1, 3) + struct.pack("<IIQ", 31 | 6 << 5, 1, 1 << 40) + struct.pack("<I", 4)))


# ---- packets

@case()
def cut_last_packet(d):
    """Three whole events of the last packet are kept."""
    lttng(d, [b"".join(stream())[:2 * SIZE + 155]])


@case()
def cut_last_packet_index(d):
    """SPEC ctf/index-checked: the index file still has the whole packet."""
    lttng(d, [b"".join(stream())[:2 * SIZE + 155]], index_of(stream()))


@case()
def cut_head(d):
    lttng(d, [b"".join(stream())[:2 * SIZE + 50]])


@case()
def cut_first_head(d):
    lttng(d, [full(0)[:21]])


@case()
def cut_padding(d):
    """Only what stood behind the last event is gone: nothing is lost."""
    lttng(d, [b"".join(stream())[:2 * SIZE + 200]])


@case()
def bad_magic(d):
    """SPEC ctf/bad-magic"""
    p = stream()
    lttng(d, [p[0], patch(p[1], 0, bytes(4)), p[2]])


@case()
def bad_magic_all(d):
    lttng(d, [patch(p, 0, b"\1\2\3\4") for p in stream()])


@case()
def bad_magic_swapped(d):
    lttng(d, [patch(p, 0, p[3::-1]) for p in stream()])


@case()
def zero_padding(d):
    lttng(d, stream() + [bytes(8192)])


@case()
def zero_padding_short(d):
    """Fewer zeros than a head has bytes."""
    lttng(d, stream() + [bytes(7)])


@case()
def zeros_between(d):
    p = stream()
    lttng(d, [p[0], bytes(300), p[1], p[2]])


@case()
def zeros_only(d):
    lttng(d, [bytes(4096)])


@case()
def garbage_between(d):
    p = stream()
    lttng(d, [p[0], bytes(i * 73 + 5 & 255 for i in range(333)), p[1], p[2]])


@case()
def garbage_tail(d):
    lttng(d, stream() + [bytes(range(256))])


@case()
def magic_tail(d):
    """A magic number alone is no packet."""
    lttng(d, stream() + [struct.pack("<I", MAGIC)])


def sized(name, value, index=False):
    def make(d):
        p = stream()
        lttng(d, [p[0], field(p[1], name, value), p[2]], index_of(p) if index else None)
    make.__name__ = "%s_%s%s" % (name, "most" if value == (1 << 64) - 1 else value, "_index" if index else "")
    make.__doc__ = "SPEC ctf/sizes, SPEC ctf/index-used: absurd sizes; the next magic number, or the index file, tells where to go on."
    case()(make)


for _name, _value in (("size", (1 << 64) - 1), ("size", 0), ("size", 8), ("size", 2049), ("size", 8 * SIZE - 8), ("size", 8 * SIZE * 2),
                      ("size", 1 << 40), ("content", (1 << 64) - 1), ("content", 0), ("content", 8 * SIZE + 8), ("content", 8 * HEAD),
                      ("content", 8 * HEAD + 8 * 40)):
    sized(_name, _value)
for _name, _value in (("size", (1 << 64) - 1), ("size", 0), ("content", (1 << 64) - 1)):
    sized(_name, _value, True)


@case()
def size_of_last(d):
    p = stream()
    lttng(d, [p[0], p[1], field(p[2], "size", (1 << 64) - 8)])


@case()
def unknown_stream_class(d):
    p = stream()
    lttng(d, [p[0], patch(p[1], AT["class"], struct.pack("<I", 77)), p[2]])


@case()
def uuid_mismatch(d):
    p = stream()
    lttng(d, [p[0], patch(p[1], AT["uuid"], b"\xff" * 16), p[2]])


@case()
def packet_time_back(d):
    """SPEC ctf/time-back: packets out of order."""
    p = stream()
    lttng(d, [p[1], p[0], p[2]])


@case()
def packets_lost(d):
    """SPEC ctf/discarded"""
    p = stream(5)
    lttng(d, [p[0], field(p[3], "discarded", 12), field(p[4], "discarded", 12)])


@case()
def counters_back(d):
    p = [field(x, "discarded", 50 - i) for i, x in enumerate(stream())]
    lttng(d, [p[0], p[1], field(p[2], "seq", 1)])


@case()
def stray_files(d):
    """SPEC ctf/stray-file"""
    lttng(d, stream())
    d.write("README.txt", "no trace\n")
    d.write("empty", b"")
    d.write(".hidden", "no trace\n")
    d.write("core", bytes(range(256)) * 8)
    d.write("sub/notes", "no trace\n")


@case()
def only_stray(d):
    d.write("metadata", LTTNG)
    d.write("README.txt", "no trace\n")


@case()
def no_streams(d):
    d.write("metadata", LTTNG)


# ---- index files

def index_case(name, make, why):
    def run(d):
        lttng(d, stream(), make(stream()))
    run.__name__ = "index_" + name
    run.__doc__ = "SPEC ctf/index-file, SPEC ctf/index-checked: " + why
    case()(run)


index_case("magic", lambda p: b"\0" + index_of(p)[1:], "another magic number: not used")
index_case("version", lambda p: patch(index_of(p), 4, struct.pack(">I", 2)), "version 2: not used")
index_case("entry_size", lambda p: patch(index_of(p), 12, bytes(4)), "entries of no bytes: not used")
index_case("entry_size_most", lambda p: index_of(p, 1, 0xFFFFFFF8), "entries of 4 GiB: there is none")
index_case("short", lambda p: index_of(p)[:16 + 72 + 9], "cut off: not as many packets as the stream")
index_case("empty", lambda p: b"", "no bytes")
index_case("order", lambda p: index_of(p, off=lambda i, v: 512 - v), "packets in another order: not used")
index_case("offset", lambda p: index_of(p, off=lambda i, v: v + 1), "places beside the packets'")
index_case("offset_most", lambda p: index_of(p, off=lambda i, v: v if i < 2 else (1 << 64) - 1), "a place behind the file")
index_case("size_most", lambda p: index_of(p, size=lambda i, v: (1 << 64) - 8), "absurd sizes")
index_case("content", lambda p: index_of(p, content=lambda i, v: v + 8), "another content")
index_case("times", lambda p: index_of(p, begin=lambda i, v: v + 1), "other times")
index_case("more", lambda p: index_of(p + [full(3)]), "more packets than the stream")
index_case("longer_entries", lambda p: patch(index_of(p), 8, struct.pack(">I", 7)), "a later minor version: used")


# ---- events

def damaged_event(name, event, why):
    def run(d):
        events = [ints(1010, 1, 1), event, ints(1030, 3, 3), ints(1040, 4, 4)]
        p = stream()
        lttng(d, [p[0], packet(events, 1), p[2]])
    run.__name__ = "event_" + name
    run.__doc__ = "SPEC ctf/event-damage: " + why
    case()(run)


damaged_event("unknown_id", struct.pack("<HIiQ", 99, 1020, 2, 2), "the id of no class; the next event is found")
damaged_event("unknown_id_extended", struct.pack("<HIQiQ", 65535, 99, 1020, 2, 2), "a long id of no class")
damaged_event("sequence_most", text(1020, "x", [1, 2], (1 << 64) - 1), "2^64 - 1 elements")
damaged_event("sequence_wraps", text(1020, "x", [1, 2], 1 << 59), "as many elements as have 2^64 bits")
damaged_event("sequence_too_long", text(1020, "x", [1, 2], 200), "more elements than the packet holds")
damaged_event("no_option", choice(1020, 9, b"??"), "a tag that chooses nothing")
damaged_event("time_back", ints(500, 2, 2), "SPEC ctf/late-damage: earlier than the packet, so 2^32 later and too late")
damaged_event("time_steps_back", ints(1005, 2, 2), "SPEC ctf/clock-back: earlier than the event before, but of this packet")
damaged_event("zeros", bytes(18), "SPEC ctf/late-damage: zeros look like an event of class 0")
damaged_event("zeros_many", ints(1020, 2, 2)[:14] + bytes(100), "SPEC ctf/late-damage: zeros from inside an event on")
damaged_event("late", ints(1020000, 2, 2) + ints(1020001, 5, 5), "SPEC ctf/late-damage: later than the packet's end; others are not")
damaged_event("ones", b"\xff" * 23, "ones")
damaged_event("invalid_utf8", text(1020, b"\xff\xfe\x1b[31m\xc0\x80", [1]), "no UTF-8, and an escape sequence: shown harmlessly")


@case()
def events_late(d):
    """SPEC ctf/late-event: all others are later, too: the packet's end is wrong."""
    p = stream()
    lttng(d, [p[0], packet([ints(1010, 1, 1), *(ints(t, t, 2) for t in range(2100, 2500, 50))], 1), p[2]])


@case()
def event_unknown_last(d):
    """Nothing plausible follows: the rest of the packet is lost, the next packet is read."""
    p = stream()
    lttng(d, [p[0], packet([ints(1010, 1, 1), struct.pack("<HI", 99, 1020) + b"\xee" * 40], 1), p[2]])


@case()
def event_alone_at_end(d):
    """SPEC ctf/event-damage: the tail of what cannot be read looks like one event that ends with the packet: no proof."""
    p = stream()
    lttng(d, [p[0], packet([ints(1010, 1, 1), struct.pack("<HI", 99, 1020) + b"\xee" * 40 + ints(1500, 7, 7)], 1), p[2]])


@case()
def event_alone_in_time(d):
    """SPEC ctf/event-damage: the same, but for its time, which is the packet's end exactly."""
    p = stream()
    lttng(d, [p[0], packet([ints(1010, 1, 1), struct.pack("<HI", 99, 1020) + b"\xee" * 40 + ints(1999, 7, 7)], 1), p[2]])


@case()
def event_string_without_end(d):
    p = stream()
    lttng(d, [p[0], packet([ints(1010, 1, 1), struct.pack("<HI", 1, 1020) + b"never ends"], 1).replace(b"ends\0", b"ends!"), p[2]])


@case()
def event_cut_by_content(d):
    p = stream()
    lttng(d, [p[0], field(p[1], "content", 8 * (HEAD + 30)), p[2]])


@case()
def event_time_most(d):
    """A clock that no row's time can hold."""
    events = [struct.pack("<HIQiQ", 65535, 0, t, 1, 1) for t in (2000, (1 << 63) + 5, (1 << 64) - 1)]
    lttng(d, [full(0), packet(events, 1, end=(1 << 64) - 1)])


@case()
def packet_times_most(d):
    lttng(d, [packet([ints(10, 1, 1)], 0, begin=(1 << 64) - 1, end=0), packet([ints(20, 1, 1)], 1, begin=1 << 63, end=(1 << 64) - 1)])


@case()
def event_of_nothing(d):
    """Events without a bit cannot be counted."""
    d.write("metadata", "/* CTF 1.8 */\ntrace { major = 1; minor = 8; byte_order = le; };\nevent { name = nothing; };\n")
    d.write("stream", b"bytes")


@case()
def nothing_in_lots(d):
    """SPEC ctf/idle-elements: 2^64 - 1 elements without a bit."""
    d.write("metadata", """/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; };
event { name = lots; fields := struct { integer { size = 64; align = 8; } n; struct { } v[n]; struct { } w[4000000000][4000000000]; }; };
""")
    d.write("stream", struct.pack("<QQ", (1 << 64) - 1, 3))


# ---- CTF 2

@case()
def ctf2_idle_elements(d):
    """SPEC ctf/idle-elements: 2^64 - 1 options that are not there, empty arrays, variants of nothing; and those in each other."""
    def many(element, length="n"):
        return {"type": "dynamic-length-array", "length-field-location": in_payload(length), "element-field-class": element}

    absent = {"type": "optional", "selector-field-location": in_payload("no"), "field-class": uint(8)}
    nothing = {"type": "variant", "selector-field-location": in_payload("zero"), "options": [
        {"selector-field-ranges": [[0, 0]], "field-class": struct_of()}, {"selector-field-ranges": [[1, 1]], "field-class": uint(8)}]}
    d.write("metadata", ctf2(
        {"type": "preamble", "version": 2},
        {"type": "data-stream-class"},
        {"type": "event-record-class", "name": "idle", "payload-field-class": struct_of(
            ("n", uint(64)), ("zero", uint(8)), ("no", {"type": "fixed-length-boolean", "length": 8, "byte-order": "little-endian"}),
            ("a", many(absent)), ("b", many(many(uint(8), "zero"))), ("c", many(nothing)), ("d", many(many(many(absent)))), ("last", uint(8)))}))
    d.write("stream", struct.pack("<QBBB", (1 << 64) - 1, 0, 0, 7))


@case()
def ctf2_bad_events(d):
    """A number of 11 bytes in LEB128; a selector without an option; more text than there is."""
    p = stream2()
    long = all_classes(1002, 1, 0, b"\x11").replace(b"\xe5\x8e\x26", b"\x80" * 10 + b"\1")
    none = all_classes(1003, 250, 1, b"?")[:150]
    d.write("metadata", CTF2)
    d.write("stream", p[0] + packet2([small(1001, 1), long, small(1004, 2), small(1005, 3), small(1006, 4)], 1) +
            packet2([small(2001, 1), none], 2) + p[1].replace(b"PNG", b"GIF"))


@case()
def ctf2_uuid_mismatch(d):
    """SPEC ctf/uuid: in CTF 2 the UUID of a packet must be that of the preamble."""
    p = stream2()
    d.write("metadata", CTF2)
    d.write("stream", p[0] + patch(p[1], AT["uuid"], b"\xff" * 16) + p[2])


@case()
def ctf2_cut(d):
    d.write("metadata", CTF2)
    d.write("stream", b"".join(stream2())[:-SIZE + 80])


def ctf2_metadata(name, change, why):
    def run(d):
        d.write("metadata", change(CTF2))
        d.write("stream", b"".join(stream2()))
    run.__name__ = "ctf2_metadata_" + name
    run.__doc__ = why
    case()(run)


ctf2_metadata("cut", lambda m: m[:m.index('"small"')], "the last fragment is not whole: its events are unknown")
ctf2_metadata("cut_class", lambda m: m[:m.index('"event-record-class"') - 30], "the fragment of the stream class is not whole")
ctf2_metadata("cut_early", lambda m: m[:400], "cut in the second fragment")
ctf2_metadata("syntax", lambda m: m.replace('"length": 12,', '"length": 12;'), "no JSON")
ctf2_metadata("wrong_type", lambda m: m.replace('"fixed-length-boolean"', '"fixed-length-maybe"'), "no such class")
ctf2_metadata("no_target", lambda m: m.replace('["n"]', '["m"]'), "a length of nothing")
ctf2_metadata("version", lambda m: m.replace('"version": 2', '"version": 3'), "version 3")
ctf2_metadata("length_0", lambda m: m.replace('"length": 12,', '"length": 0,'), "fields of no bits")
ctf2_metadata("length_most", lambda m: m.replace('"length": 12,', '"length": 18446744073709551615,'), "fields of 2^64 bits")
ctf2_metadata("length_beyond", lambda m: m.replace('"length": 12,', '"length": 99999999999999999999999,'), "beyond 64 bits")
ctf2_metadata("deep", lambda m: m.replace('"payload-field-class": {', '"payload-field-class": ' + '[' * 5000 + '{', 1), "5,000 levels")
ctf2_metadata("alias", lambda m: m.replace('{"type": "null-terminated-string"}', '"later"'), "an undefined alias")
ctf2_metadata("no_preamble", lambda m: m[m.index("\x1e", 1):], "the preamble is gone")
ctf2_metadata("binary", lambda m: m[:300] + "\x00\x01\x1e\xff" * 20, "other bytes behind the preamble")


# ---- metadata of 1.8

def metadata_case(name, change, why):
    def run(d):
        text_of = change(LTTNG)
        lttng(d, stream(), None, text_of)
    run.__name__ = "metadata_" + name
    run.__doc__ = why
    case()(run)


def deep(n):
    return "struct { " * n + "uint8_t x; " + "} x; " * n


metadata_case("empty", lambda m: b"", "nothing was written yet")
metadata_case("blank", lambda m: "/* CTF 1.8 */\n\n", "only a comment")
metadata_case("cut_block", lambda m: m[:m.index("t:text")], "half-written: inside an event's block")
metadata_case("cut_token", lambda m: m[:m.index("packet_seq_num") + 6], "half-written: before any stream is known")
metadata_case("cut_comment", lambda m: m[:m.index("trace {")] + "/* never ends", "half-written: in a comment")
metadata_case("syntax", lambda m: m.replace("freq = 1000000000;", "freq 1000000000;"), "no `=`: line and column are told")
metadata_case("unknown_type", lambda m: m.replace("int32_t a;", "int33_t a;"), "a type that nobody declared")
metadata_case("unknown_length", lambda m: m.replace("v[n]", "v[m]"), "the length of nothing")
metadata_case("self_length", lambda m: m.replace("v[n]", "v[v]"), "its own length")
metadata_case("same_id", lambda m: m.replace("id = 1;", "id = 0;", 1), "two events of one id")
metadata_case("size_0", lambda m: m.replace("size = 16;", "size = 0;"), "integers of no bits")
metadata_case("size_most", lambda m: m.replace("size = 16;", "size = 18446744073709551615;"), "integers of 2^64 bits")
metadata_case("align_3", lambda m: m.replace("align = 8;", "align = 3;", 1), "an alignment that is none")
metadata_case("array_most", lambda m: m.replace("int32_t a;", "int32_t a[18446744073709551615][18446744073709551615];"), "arrays of 2^128 elements")
metadata_case("array_negative", lambda m: m.replace("int32_t a;", "int32_t a[-1];"), "-1 elements")
metadata_case("deep", lambda m: m.replace("int32_t a;", deep(5000)), "5,000 levels of structures")
metadata_case("deep_arrays", lambda m: m.replace("int32_t a;", "int32_t a" + "[1]" * 5000 + ";"), "5,000 dimensions")
metadata_case("deep_braces", lambda m: m + "{" * 100000, "100,000 braces")
metadata_case("doubles", lambda m: m.replace("event {", "".join(
    "struct s%d { %s a; %s b; };\n" % (i, "struct s%d" % (i - 1) if i else "uint8_t", "struct s%d" % (i - 1) if i else "uint8_t")
    for i in range(60)) + "event {", 1).replace("int32_t a;", "struct s59 a;"), "2^60 fields, by structures of structures")
metadata_case("freq_0", lambda m: m.replace("freq = 1000000000", "freq = 0"), "a clock that stands still")
metadata_case("binary", lambda m: bytes(i * 167 + 13 & 255 for i in range(3000)), "no metadata at all")
metadata_case("hostile_names", lambda m: m.replace('"t:ints"', '"\\x1b[31m\\n,\\"]}"'), "names that a terminal would obey")
metadata_case("missing_stream", lambda m: m.replace("stream_id = 0;\n\tfields := struct {\n\t\tint32_t", "stream_id = 5;\n\tfields := struct {\n\t\tint32_t"),
              "an event of no stream class")
metadata_case("crlf", lambda m: m.replace("\n", "\r\n") + "\0\0\0", "other line ends, and zeros behind: nothing is wrong")


def packed_metadata(text_of, size=4096, **kw):
    """Metadata in packets as LTTng writes them."""
    out, text_of = b"", text_of.encode()
    for at in range(0, len(text_of), size - 37):
        piece = text_of[at:at + size - 37]
        out += (struct.pack("<I16sIIIBBBBB", META_MAGIC, UUID, 0, 8 * (37 + len(piece)), 8 * size, 0, 0, 0, 1, 8) + piece).ljust(size, b"\0")
    for at, new in kw.get("patches", []):
        out = patch(out, at, new)
    return out[:kw.get("cut")]


def packed_case(name, why, **kw):
    def run(d):
        lttng(d, stream(), None, packed_metadata(LTTNG, 512, **kw))
    run.__name__ = "metadata_packets_" + name
    run.__doc__ = why
    case()(run)


packed_case("cut", "the last packet is not whole", cut=-300)
packed_case("cut_head", "a head is not whole", cut=512 * 2 + 20)
packed_case("magic", "the second packet has another magic number", patches=[(512, b"\0")])
packed_case("size_most", "a packet of 4 GiB", patches=[(512 + 28, b"\xff\xff\xff\xff")])
packed_case("content_most", "a content of 4 GiB", patches=[(512 + 24, b"\xff\xff\xff\xff")])
packed_case("content_0", "a content of no bits", patches=[(512 + 24, bytes(4))])
packed_case("uuid", "a packet of another trace", patches=[(512 + 4, b"\xff" * 16)])
packed_case("compressed", "compression scheme 1", patches=[(512 + 32, b"\1")])


@case()
def metadata_one_of_two(d):
    """One of two directories has metadata that cannot be read: the other one is."""
    d.write("a/metadata", LTTNG)
    d.write("a/ch_0", b"".join(stream()))
    d.write("b/metadata", LTTNG[:100])
    d.write("b/ch_0", b"".join(stream()))


@case()
def no_metadata(d):
    d.write("ch_0", b"".join(stream()))


# ---- RFC v1.1, damaged

def v11_case(name, packets, why, metadata=V11):
    def run(d):
        d.write("metadata", metadata)
        d.write("low_0", b"".join(packets()))
        if name in ("wrong_key", "cipher_short"):
            d.write("../key", bytes(16))
    run.__name__ = "v11_" + name
    run.__doc__ = why
    case()(run)


def around(make):
    return lambda: [v11_packet(v11_body(0), 0), make(), v11_packet(v11_body(2000), 2)]


LONG = b"".join(tick(1000 + i, i * 0x9E3779B97F4A7C15 & (1 << 64) - 1) for i in range(40))
v11_case("gzip_cut", around(lambda: v11_packet(LONG, 1, compression=GZIP, checksum=CRC32, size=1024, damage=lambda b: b[:300])),
         "cut gzip data, and hence a wrong checksum: what comes out before the cut is kept")
v11_case("bzip2_cut", around(lambda: v11_packet(LONG, 1, compression=BZIP2, size=1024, damage=lambda b: b[:300])), "cut bzip2 data: nothing comes out")
v11_case("gzip_none", around(lambda: v11_packet(v11_body(1000), 1, compression=GZIP, damage=lambda b: b"x" * len(b))), "no gzip data")
v11_case("gzip_nothing", around(lambda: v11_packet(v11_body(1000), 1, compression=GZIP, damage=lambda b: b"")), "no data at all")
v11_case("bzip2_nothing", around(lambda: v11_packet(v11_body(1000), 1, compression=BZIP2, damage=lambda b: b"")), "no data at all")
v11_case("checksum", around(lambda: v11_packet(v11_body(1000), 1, checksum=CRC32, sum=1)), "crc32 is wrong: the events are shown all the same")
v11_case("checksum_md5", around(lambda: v11_packet(v11_body(1000), 1, checksum=MD5, sum=1)), "SPEC ctf-v11/digest: md5 is wrong")
v11_case("checksum_sha1", around(lambda: v11_packet(v11_body(1000), 1, checksum=SHA1, sum=1)), "SPEC ctf-v11/digest: sha1 is wrong")
v11_case("schemes_unknown", around(lambda: v11_packet(v11_body(1000), 1, compression=200, checksum=9)), "schemes that nobody knows")
v11_case("cipher_unknown", around(lambda: v11_packet(v11_body(1000), 1, encryption=2)), "a cipher that nobody knows")
v11_case("no_key", around(lambda: v11_packet(v11_body(1000), 1, encryption=1, checksum=CRC32)), "encrypted, and no key is given")
v11_case("wrong_key", around(lambda: v11_packet(v11_body(1000), 1, encryption=1, compression=GZIP)), "SPEC ctf-v11/aes: the key is another one")
v11_case("cipher_short", around(lambda: v11_packet(b"", 1, encryption=1, damage=lambda b: b[:5])), "no whole counter block")
v11_case("session", around(lambda: v11_packet(v11_body(1000), 1, session=8)), "another session (the text of metadata says none)")
v11_case("event_size", around(lambda: v11_packet(
    tick(1001, 1) + struct.pack("<IHH5s", 1002, 77, 5, b"\xee" * 5) + tick(1003, 2) + far(1004, "x", [1]) + tick(1005, 3), 1)),
         "SPEC ctf-v11/event-size: an unknown id whose size is told")
v11_case("time_back", around(lambda: v11_packet(far(1500, "late", []) + far(1400, "early", []) + tick(1600, 1), 1)), "times of 64 bits that go back")
v11_case("lost", lambda: [v11_packet(v11_body(0), 0xFFFE, begin=0), v11_packet(v11_body(1000), 1, discarded=5),
                          v11_packet(v11_body(2000), 2, discarded=5)],
         "SPEC ctf-v11/packet-header: numbers of 16 bits wrap; packets 65535 and 0 are lost")
v11_case("cut", lambda: [v11_packet(v11_body(0), 0), v11_packet(v11_body(1000), 1)[:100]], "the last packet is cut")
v11_case("padding", lambda: [v11_packet(v11_body(0), 0), bytes(5000)], "zeros behind the last packet")
v11_case("metadata_wrong", around(lambda: v11_packet(v11_body(1000), 1)), "a type that nobody declared", V11.replace("{ uint64_t, jiffies }", "{ uint65_t, jiffies }"))
v11_case("metadata_cut", around(lambda: v11_packet(v11_body(1000), 1)), "half-written", V11[:-40])


@case()
def v11_no_section(d):
    """SPEC ctf/stray-file: a file that no section is named like."""
    d.write("metadata", V11)
    d.write("low_0", v11_packet(v11_body(0)))
    d.write("other_0", v11_packet(v11_body(0)))


def main():
    for kind, name, make in CASES:
        if len(sys.argv) < 2 or name in sys.argv[1:]:
            make(Dir(kind, name))


if __name__ == "__main__":
    main()
