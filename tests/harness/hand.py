"""Traces of three threads that wait for each other, made by hand: as FXT by its specification, and as CTF 1.8."""
import os
import struct

IDLE, A, B, C = 0, 11, 12, 13
# time, CPU, what, and whom it is about
EVENTS = [
    (1000, 0, "switch", IDLE, A, "running"), (1100, 0, "begin", A, "request"), (1500, 1, "switch", IDLE, B, "running"), (1600, 1, "begin", B, "serve"),
    (2000, 0, "begin", A, "wait"), (2100, 0, "switch", A, IDLE, "blocked"), (2500, 1, "begin", B, "compute"), (4000, 1, "end", B, "compute"),
    (4100, 1, "switch", B, C, "blocked"), (4200, 1, "begin", C, "disk"), (5000, 1, "wake", C, B), (5500, 1, "end", C, "disk"),
    (5600, 1, "switch", C, B, "running"), (5700, 1, "begin", B, "reply"), (6000, 1, "wake", B, A), (6200, 1, "end", B, "reply"),
    (6300, 0, "switch", IDLE, A, "running"), (6400, 0, "end", A, "wait"), (7000, 0, "end", A, "request"), (7100, 0, "switch", A, IDLE, "blocked"),
    (7200, 1, "end", B, "serve"), (7300, 1, "switch", B, IDLE, "blocked")]


def fxt(path):
    """The records of the specification, 64-bit words."""
    names = ["app", "waker", "request", "serve", "wait", "compute", "disk", "reply"]
    out = [0x0016547846040010, 1 | 2 << 4, 1000000000]
    for i, name in enumerate(names):
        b = name.encode()
        out += [2 | 2 << 4 | (i + 1) << 16 | len(b) << 32, int.from_bytes(b.ljust(8, b"\0"), "little")]
    for i, tid in enumerate((A, B, C)):
        out += [3 | 3 << 4 | (i + 1) << 16, 1, tid]
    ref = {A: 1, B: 2, C: 3}
    for ts, cpu, what, *who in EVENTS:
        if what == "switch":
            state = {"running": 2, "blocked": 4}[who[2]] - 1
            out += [8 | 4 << 4 | cpu << 20 | state << 36 | 1 << 60, ts, who[0], who[1]]
        elif what == "wake":
            # Of a wake-up the record has the CPU on which the thread is to run: not the waker's.
            out += [8 | 5 << 4 | 1 << 16 | (1 - cpu) << 20 | 2 << 60, ts, who[1], 8 | 2 << 4 | 2 << 16, who[0]]
        else:
            kind = {"begin": 2, "end": 3}[what]
            out += [4 | 2 << 4 | kind << 16 | ref[who[0]] << 24 | 1 << 32 | (names.index(who[1]) + 1) << 48, ts]
    with open(path, "wb") as f:
        f.write(struct.pack("<%dQ" % len(out), *out))


METADATA = """/* CTF 1.8 */
typealias integer { size = 16; align = 8; signed = false; } := u16;
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 32; align = 8; signed = true; } := s32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
typealias integer { size = 64; align = 8; signed = true; } := s64;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; u32 stream_id; }; };
clock { name = "monotonic"; freq = 1000000000; };
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := stamp;
stream { id = 0; packet.context := struct { stamp timestamp_begin; stamp timestamp_end; u64 content_size; u64 packet_size; u32 cpu_id; };
 event.header := struct { u16 id; stamp timestamp; }; };
event { name = "sched_switch"; id = 0; stream_id = 0; fields := struct { s32 _prev_tid; s64 _prev_state; string { encoding = UTF8; } _next_comm; s32 _next_tid; }; };
event { name = "sched_waking"; id = 1; stream_id = 0; fields := struct { s32 _tid; s32 _target_cpu; }; };
"""


def ctf(path):
    os.mkdir(path)
    names = sorted({e[4] for e in EVENTS if e[2] in ("begin", "end")})
    with open(path + "/metadata", "w") as f:
        f.write(METADATA)
        for i, name in enumerate(names):
            for k, word in enumerate(("entry", "exit")):
                f.write('event { name = "%s_%s"; id = %d; stream_id = 0; };\n' % (name, word, 2 + 2 * i + k))
    for cpu in (0, 1):
        body = b""
        mine = [e for e in EVENTS if e[1] == cpu]
        for ts, _, what, *who in mine:
            if what == "switch":
                state = {"running": 0, "blocked": 1}[who[2]]
                body += struct.pack("<HQiq", 0, ts, who[0], state) + b"t%d\0" % who[1] + struct.pack("<i", who[1])
            elif what == "wake":
                body += struct.pack("<HQii", 1, ts, who[1], 1 - cpu)
            else:
                body += struct.pack("<HQ", 2 + 2 * names.index(who[1]) + (what == "end"), ts)
        size = (8 + 36 + len(body)) * 8
        with open("%s/cpu%d" % (path, cpu), "wb") as f:
            f.write(struct.pack("<IIQQQQI", 0xC1FC1FC1, 0, mine[0][0], mine[-1][0], size, size, cpu) + body)
