"""
Traces of CTF 1.8 as a kernel tracer writes them, made from lists of events, for tests that say what comes out. One stream per
CPU, one packet each; every field is aligned to bytes and little-endian.
"""
import os
import struct

MAGIC = 0xC1FC1FC1
TYPES = {
    "u8": ("integer { size = 8; align = 8; } %s", "<B"),
    "u32": ("integer { size = 32; align = 8; } %s", "<I"),
    "i32": ("integer { size = 32; align = 8; signed = true; } %s", "<i"),
    "u64": ("integer { size = 64; align = 8; } %s", "<Q"),
    "x64": ("integer { size = 64; align = 8; base = 16; } %s", "<Q"),
    "i64": ("integer { size = 64; align = 8; signed = true; } %s", "<q"),
    "f64": ("floating_point { exp_dig = 11; mant_dig = 53; align = 8; } %s", "<d"),
    "string": ("string %s", None),
    "comm": ("integer { size = 8; align = 8; encoding = UTF8; } %s[16]", "16s"),
    "id20": ("integer { size = 8; align = 8; } %s[20]", "20s"),
    "state": ("enum : integer { size = 64; align = 8; signed = true; } { RUNNING = 0, SLEEPS = 1, EXIT_DEAD = 16, "
              "EXIT_ZOMBIE = 32, TASK_PARKED = 64, TASK_DEAD = 128 } %s", "<q"),
}
SWITCH = [("comm", "prev_comm"), ("i32", "prev_tid"), ("i64", "prev_state"), ("comm", "next_comm"), ("i32", "next_tid")]


def pack(kind, value):
    if kind == "string":
        return value.encode() + b"\0"
    return struct.pack(TYPES[kind][1], value.encode() if isinstance(value, str) else value)


def structure(fields):
    return "struct { %s }" % " ".join(TYPES[k][0] % n + ";" for k, n in fields)


class Trace:
    """events: name -> fields; context: fields of every event; env: name -> value."""

    def __init__(self, events, context=(), env=None, uuid=bytes(range(16)), offset=1700000000000000000):
        self.events, self.context, self.env, self.uuid, self.offset = events, context, env or {}, uuid, offset
        self.ids = {name: i for i, name in enumerate(events)}
        self.rows = {}

    def add(self, time, name, values=(), context=(), cpu=0):
        data = struct.pack("<IQ", self.ids[name], time)
        for (kind, _), value in zip(self.context, context, strict=True):
            data += pack(kind, value)
        for (kind, _), value in zip(self.events[name], values, strict=True):
            data += pack(kind, value)
        self.rows.setdefault(cpu, []).append((time, len(self.rows.get(cpu, ())), data))

    def metadata(self):
        u = self.uuid.hex()
        clock = "integer { size = 64; align = 8; map = clock.mono.value; }"
        out = "/* CTF 1.8 */\ntrace { major = 1; minor = 8; byte_order = le; uuid = \"%s\";\n" % "-".join(
            (u[:8], u[8:12], u[12:16], u[16:20], u[20:]))
        out += "packet.header := struct { %s integer { size = 8; align = 8; } uuid[16]; %s }; };\n" % (
            TYPES["u32"][0] % "magic;", TYPES["u32"][0] % "stream_id;")
        if self.env:
            out += "env { %s };\n" % " ".join("%s = %s;" % (k, v if isinstance(v, int) else '"%s"' % v) for k, v in self.env.items())
        out += "clock { name = mono; freq = 1000000000; offset = %d; };\n" % self.offset
        out += "stream { id = 0; packet.context := struct { %s timestamp_begin; %s timestamp_end; %s };\n" % (
            clock, clock, " ".join(TYPES[k][0] % n + ";" for k, n in (("u64", "content_size"), ("u64", "packet_size"), ("u32", "cpu_id"))))
        out += "event.header := struct { %s %s timestamp; };\n" % (TYPES["u32"][0] % "id;", clock)
        if self.context:
            out += "event.context := %s;\n" % structure(self.context)
        out += "};\n"
        for name, fields in self.events.items():
            out += 'event { name = "%s"; id = %d; stream_id = 0; fields := %s; };\n' % (name, self.ids[name], structure(fields))
        return out

    def write(self, path):
        os.makedirs(path)
        with open(os.path.join(path, "metadata"), "w", encoding="utf-8") as f:
            f.write(self.metadata())
        for cpu, rows in self.rows.items():
            body = b"".join(data for _, _, data in sorted(rows, key=lambda r: r[:2]))
            times = [time for time, _, _ in rows]
            size = 24 + 36 + len(body)
            with open(os.path.join(path, "channel_%d" % cpu), "wb") as f:
                f.write(struct.pack("<I16sI", MAGIC, self.uuid, 0) +
                        struct.pack("<QQQQI", min(times), max(times), 8 * size, 8 * size, cpu) + body)
