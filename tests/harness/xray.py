"""
XRay logs that Spur writes. Every golden, and every shared log, is converted to each type, version and byte order and read back; copied
(the bytes of an undamaged log stay the same); cut (what is read of a cut is what a filter leaves of the log); and damaged logs are copied
and repaired, and are then read clean. A decoder of our own, made from the format's page, reads what is written. Where llvm-xray is
installed, it says the same of a converted log as of the original.
"""
import collections
import glob
import json
import os
import shutil
import struct

from harness import core

LLVM = shutil.which("llvm-xray-14") or shutil.which("llvm-xray")
# Settings, and whether the target has events and processes.
TARGETS = [("type=fdr,version=%d" % v, True, v > 2) for v in (1, 2, 3, 4, 5)]
TARGETS += [("type=basic,version=%d" % v, False, v > 2) for v in (1, 2, 3)]
# Functions of a log without its program are called by their numbers.
FILTERS = ('name != "fn#1"', 'kind == "BEGIN"', 'name == "fn#2" || kind == "INSTANT"', 'name == "fn#1" || name == "fn#3"')
NOT_FACTS = ("retimed", "back", "gap")  # flags that tell how a log was read


def logs(t):
    found = sorted(glob.glob(os.path.join(t.tests, "golden", "xray", "*", "in")))
    for pattern in ("*.xray", "*/*.xray"):
        found += sorted(glob.glob(os.path.join(t.traces, "xray", pattern)))
    return [p for p in found if os.path.isfile(p)]


def label(t, what, path):
    return "xray/%s %s" % (what, os.path.relpath(path, t.tests if path.startswith(t.tests) else t.traces))


def rows(r):
    """What was read, without places and names: names stand in another file."""
    out = []
    for line in r.out.decode("utf-8", "surrogateescape").splitlines():
        d = json.loads(line)
        if d["kind"] == "NATIVE":
            continue
        for key in ("stream", "off"):
            d.pop(key, None)
        if d["kind"] in ("BEGIN", "END"):
            d["name"] = ""
        flags = [f for f in d.pop("flags", []) if f not in NOT_FACTS]
        out.append(json.dumps(dict(d, flags=flags), sort_keys=True))
    return out


def differ(want, found):
    a, b = collections.Counter(want), collections.Counter(found)
    if a == b:
        return None
    return "%d rows became %d: lacks %.300r, has %.300r" % (
        len(want), len(found), sorted((a - b).elements())[:1], sorted((b - a).elements())[:1])


def cat(t, path, *args):
    return t.run([t.spur, "cat", "--jsonl", *args, path])


def without(line, events, processes, tails):
    """A row as a target without events, processes or tail exits holds it."""
    d = json.loads(line)
    if d["kind"] not in ("BEGIN", "END") and not events:
        return None
    if not processes:
        d.pop("pid")
    if not events and d["cpu"] is None:
        d["cpu"] = 0
    if not tails:
        d["flags"] = [f for f in d["flags"] if f != "tail"]
    return json.dumps(d, sort_keys=True)


def round_trips(t, path, targets):
    """SPEC xray/written-times, SPEC xray/written-walls: every event comes back with its time."""
    targets = [(label(t, "%s %s" % x[:2], path), *x) for x in targets]
    targets = [x for x in targets if t.wanted(x[0])]
    if not targets:
        return
    with t.temp() as tmp:
        # SPEC xray/exact-mark: typed events, and threads of several processes, come back as they are.
        log, out = os.path.join(tmp, "in"), os.path.join(tmp, "out")
        shutil.copy(path, log)
        source = cat(t, log)
        if source.code not in (0, 3) or b'"SAMPLE"' in source.out:
            return
        wanted = rows(source)
        for name, setting, order, events, processes in targets:
            core.remove(out)
            argv = [t.spur, "convert", "--to=xray", "-o", out, log, "--set=byte-order=" + order]
            r = t.run(argv + ["--set=" + s for s in setting.split(",")])
            if r.trouble() or r.code not in (0, 3):
                t.fail(name, r.trouble() or "exit code %d: %.200r" % (r.code, r.err))
                continue
            back = cat(t, out)
            if back.code:
                t.fail(name, "reading back: exit code %d: %.300r" % (back.code, back.err))
                continue
            tails = setting != "type=basic,version=1"
            processes = processes and (events or b'"pid":null' not in source.out)
            want, found = ([x for x in (without(line, events, processes, tails) for line in p) if x] for p in (wanted, rows(back)))
            if b"overwritten" in r.err or b"typed events" in r.err:
                want, found = ([x for x in w if '"INSTANT"' not in x] for w in (want, found))
            t.verdict(name, differ(want, found))


def copies(t, path):
    """SPEC xray/copied-buffers: an undamaged log, however odd, keeps its bytes; a damaged one is read clean."""
    if not any(t.wanted(label(t, command, path)) for command in ("cut", "sort", "repair")):
        return
    with t.temp() as tmp:
        log, out = os.path.join(tmp, "in"), os.path.join(tmp, "out")
        shutil.copy(path, log)
        source = cat(t, log)
        if source.code not in (0, 3) or not (source.out or source.code == 0):
            return
        for command in ("cut", "sort", "repair"):
            name = label(t, command, path)
            core.remove(out)
            r = t.run([t.spur, command, log, "-o", out])
            if r.trouble() or not os.path.exists(out):
                t.fail(name, r.trouble() or "exit code %d: %.200r" % (r.code, r.err))
                continue
            if command == "cut" and source.code == 0 and core.read(path) != core.read(out):
                t.fail(name, "the copy has other bytes")
                continue
            back = cat(t, out)
            want, found = rows(source), rows(back)
            # SPEC xray/repaired: an event without its payload has one of no bytes.
            if b"sizes were wrong" in r.err or b"size was wrong" in r.err:
                want, found = ([x for x in w if '"INSTANT"' not in x] for w in (want, found))
            t.verdict(name, "reading back: exit code %d: %.300r" % (back.code, back.err) if back.code else differ(want, found))


def cuts(t, path):
    """SPEC xray/copied-calls, SPEC xray/copied-arguments: a cut has what a filter leaves, with the same times."""
    with t.temp() as tmp:
        log, out = os.path.join(tmp, "in"), os.path.join(tmp, "out")
        shutil.copy(path, log)
        for where in FILTERS:
            name = label(t, "cut %s" % where, path)
            if not t.wanted(name):
                continue
            core.remove(out)
            want = cat(t, log, "--where", where)
            if want.code == 2:
                t.fail(name, "no filter: %.300r" % want.err)
            # SPEC xray/copied-stacks: the ticks of callees that are left out are the caller's.
            if want.code not in (0, 3) or not rows(want) or b'"SAMPLE"' in want.out:
                continue
            r = t.run([t.spur, "cut", "--where", where, log, "-o", out])
            if r.trouble() or not os.path.exists(out):
                t.fail(name, r.trouble() or "exit code %d: %.200r" % (r.code, r.err))
                continue
            back = cat(t, out)
            # What follows a tail exit was called by it; a cut may lack that exit.
            mended = b"were mended" in r.err or b"was mended" in r.err
            want, found = ([line.replace('"tail"', "") for line in rows(x) if not (mended and '"INSTANT"' in line)] for x in (want, back))
            t.verdict(name, "reading back: exit code %d: %.300r" % (back.code, back.err) if back.code else differ(want, found))


# --- a decoder of our own ---


def decode(data):
    """The buffers of a flight data recorder log of version 2 and later: (thread, process, wall us, [(what, ticks, ...)])."""
    e = "<" if data[1] == 0 else ">"
    version, kind, flags, hz, size, mark = struct.unpack(e + "HHIQQ8s", data[:32])
    meta = (lambda b: b >> 1 if b & 1 else None) if e == "<" else (lambda b: b & 0x7F if b & 0x80 else None)
    off, buffers = 32, []
    while off < len(data):
        assert meta(data[off]) == 7, "BufferExtents at 0x%x" % off
        (length,) = struct.unpack(e + "Q", data[off + 1:off + 9])
        end, off, items, ticks, head = off + 16 + length, off + 16, [], None, []
        assert end <= len(data) and length <= size, "extents at 0x%x" % off
        tid = pid = wall = None
        while off < end:
            m = meta(data[off])
            if m is None:
                w, delta = struct.unpack(e + "II", data[off:off + 8])
                ticks += delta
                call, number = (w >> 1 & 7, w >> 4) if e == "<" else (w >> 28 & 7, w & 0xFFFFFFF)
                items.append(("call", ticks, call, number))
                off += 8
                continue
            p = data[off + 1:off + 16]
            off += 16
            head.append(m)
            if m == 0:
                tid = struct.unpack(e + "i", p[:4])[0]
            elif m == 2:
                ticks = struct.unpack(e + "Q", p[2:10])[0]
            elif m == 3:
                ticks = struct.unpack(e + "Q", p[:8])[0]
                items.append(("wrap", ticks))
            elif m == 4:
                s, us = struct.unpack(e + "qi", p[:12])
                wall = s * 1000000 + us
            elif m == 5 or m == 8:
                n, passed = struct.unpack(e + "ii", p[:8])
                own = struct.unpack(e + "Q", p[4:12])[0]
                ticks = ticks + passed if version == 5 else ticks
                items.append(("event", ticks if version == 5 else own, data[off:off + n]))
                off += n
            elif m == 6:
                items.append(("argument", struct.unpack(e + "Q", p[:8])[0]))
            elif m == 9:
                pid = struct.unpack(e + "i", p[:4])[0]
        assert off == end and head[:4 if version > 2 else 3] == ([0, 4, 9, 2] if version > 2 else [0, 4, 2]), head[:5]
        buffers.append((tid, pid, wall, items))
    return version, hz, buffers


def source_log():
    """Two calls far apart, arguments, an event, two CPUs: of version 5, 10^9 Hz."""
    def meta(kind, body):
        return (bytes([kind << 1 | 1]) + body).ljust(16, b"\0")

    head = meta(0, struct.pack("<i", 7)) + meta(4, struct.pack("<qi", 1, 2)) + meta(9, struct.pack("<i", 5))
    body = head + meta(2, struct.pack("<HQ", 1, 1000))
    body += struct.pack("<II", 1 << 4 | 3 << 1, 10) + meta(6, struct.pack("<Q", 2**64 - 1))
    body += meta(3, struct.pack("<Q", 1010 + 2**33)) + struct.pack("<II", 2 << 4, 0)
    body += meta(5, struct.pack("<ii", 5, 4)) + b"hello"
    body += meta(2, struct.pack("<HQ", 2, 1020 + 2**33)) + struct.pack("<II", 2 << 4 | 2, 1) + struct.pack("<II", 1 << 4 | 1 << 1, 2**31 - 1)
    return struct.pack("<HHIQQQ", 5, 1, 3, 10**9, 16384, 0) + meta(7, struct.pack("<Q", len(body))) + body


def decoder(t, version, order):
    name = "xray/decoder version %d %s" % (version, order)
    far = 1010 + 2**33
    want = [("call", 1010, 3, 1), ("argument", 2**64 - 1), ("call", far, 0, 2), ("event", far + 4, b"hello"),
            ("call", far + 11, 1, 2), ("call", far + 11 + 2**31 - 1, 1, 1)]
    with t.temp() as tmp:
        log, out = os.path.join(tmp, "in"), os.path.join(tmp, "out")
        core.write(log, source_log())
        r = t.run([t.spur, "convert", "--to=xray", "--set=version=%d" % version, "--set=byte-order=" + order, "-o", out, log])
        if r.code:
            t.fail(name, "exit code %d: %.200r" % (r.code, r.err))
            return
        try:
            got = decode(core.read(out))
        except (AssertionError, struct.error) as e:
            t.fail(name, "the log is no log: %s" % e)
            return
        items = [x for x in got[2][0][3] if x[0] != "wrap"]
        ok = got[0] == version and got[1] == 10**9 and len(got[2]) == 1 and got[2][0][0] == 7 and got[2][0][1] == (5 if version > 2 else None)
        t.verdict(name, None if ok and items == want else "expected %r, found %r" % (want, got))


def walls(t):
    """SPEC xray/written-walls, SPEC xray/written-threads: small buffers of one moment differ; threads begin by time."""
    path = os.path.join(t.tests, "golden", "xray", "fdr-threads", "in")
    with t.temp() as tmp:
        out = os.path.join(tmp, "out")
        t.run([t.spur, "convert", "--to=xray", "--set=buffer-size=1024", "-o", out, path])
        buffers = decode(core.read(out))[2]
        last, first = {}, {}
        for tid, _, wall, items in buffers:
            if wall <= last.get(tid, -1):
                t.fail("xray/walls", "thread %d: %d us after %d us" % (tid, wall, last[tid]))
                return
            last[tid] = wall
            first.setdefault(tid, min(x[1] for x in items if x[0] == "call"))
        t.verdict("xray/walls", None if list(first.values()) == sorted(first.values()) and len(first) > 2 else "threads: %r" % first)


# --- llvm-xray ---

SAYS = (["account", "-d", "-k"], ["account", "-d", "-k", "-f", "csv"], ["stack", "-k"],
        ["stack", "-k", "-all-stacks", "-stack-format=flame", "-aggregation-type=time"], ["graph", "-d", "-k", "-e", "sum", "-v", "count"],
        ["convert", "-sort", "-symbolize", "-output-format=yaml"], ["convert", "-sort", "-symbolize", "-output-format=trace_event"])


def says(t, command, log, binary, out):
    t.run([LLVM, *command, "-m", binary, log, "-o", out])
    data = core.read(out) if os.path.exists(out) else b""
    # A binary without code has no source lines.
    return b"\n".join(line.split(b": ", 1)[-1] if b":0:0: " not in line else line.split(b":0:0: ", 1)[-1] for line in data.splitlines())


def peer(t, path):
    """What llvm-xray says of a log and of its conversion, with the program's map and with ours."""
    binary = os.path.join(os.path.dirname(path), "prog")
    with t.temp() as tmp:
        out = os.path.join(tmp, "out")
        t.run([t.spur, "convert", "--to=xray", "-o", out, path])
        for command in SAYS:
            name = label(t, "llvm-xray " + command[0], path)
            want = says(t, command, path, binary, os.path.join(tmp, "a"))
            for m in (binary, out + ".elf"):
                found = says(t, command, out, m, os.path.join(tmp, "b"))
                t.verdict(name, None if found == want else "with %s: expected %.300r, found %.300r" % (os.path.basename(m), want, found))


def run(t):
    for path in logs(t):
        shared = not path.startswith(t.tests)
        targets = []
        for i, (setting, events, processes) in enumerate(TARGETS):
            latest = setting in ("type=fdr,version=5", "type=basic,version=3")
            if latest or not shared:
                targets.append((setting, "big" if i % 2 else "little", events, processes))
            if latest and not shared:
                targets.append((setting, "little" if i % 2 else "big", events, processes))
        t.later(round_trips, path, targets)
        t.later(copies, path)
        t.later(cuts, path)
    for path in sorted(glob.glob(os.path.join(t.tests, "bad", "xray", "*", "in"))):
        if os.path.isfile(path):
            t.later(copies, path)
            t.later(cuts, path)
    for version in (2, 3, 4, 5):
        for order in ("little", "big"):
            t.later(decoder, version, order)
    t.later(walls)
    if not os.path.isdir(t.traces):
        t.skip("xray/shared", "the shared traces are missing")
    elif not LLVM:
        t.skip("xray/llvm-xray", "llvm-xray is not installed")
    else:
        for kind in ("args", "custom", "cxx", "simple", "tail", "threads"):
            for path in glob.glob(os.path.join(t.traces, "xray", "fdr19-%s-tsc" % kind, "trace.xray")):
                t.later(peer, path)
