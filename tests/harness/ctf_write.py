"""
CTF as it is written and copied (docs/formats/ctf-write.md).

* What `convert --to=ctf` writes is parsed here, by the layout that the page states; babeltrace2, where it is installed, reads it
  without a word, and a copied LTTng trace as the original.
* `cut` without a filter gives the same bytes of what is undamaged, and a clean trace with the same events of what is damaged.
  With a filter it gives what `cat` shows through the same filter.
"""
import collections
import glob
import json
import os
import re
import shutil
import struct

from harness import core, ctf_v11

MAGIC, INDEX_MAGIC = 0xC1FC1FC1, 0xC1F1DCC1
# Rows that a cut cannot tell apart, or that depend on events that are left out (docs/formats/ctf-write.md, Copies).
LAW_EXCEPT = ("kernel", "counters-wrap", "lttng213-functions")
# What no copy can mend: arguments of one event that are damaged, keys that are missing, metadata.
BAD_EXCEPT = ("ctf2-idle-elements", "nothing-in-lots", "metadata", "archive-packed-cut", "v11-no-key", "v11-wrong-key", "v11-cipher-short",
              "ctf2-metadata")


def rows(t, path, *options):
    r = t.run([t.spur, "cat", "--jsonl", *options, path])
    out = []
    for line in r.out.decode("utf-8", "surrogateescape").splitlines():
        row = json.loads(line)
        for key in ("off", "len", "stream", "depth", "flags"):
            row.pop(key, None)
        out.append(row)
    return r, out


def files(path):
    return {os.path.relpath(os.path.join(d, f), path): core.read(os.path.join(d, f)) for d, _, fs in os.walk(path) for f in fs}


# -- what is written, byte by byte


def packets(data, order, cpu):
    """SPEC ctf/write-packet: each packet's values and the bytes of its events; `cpu`: the context has a CPU."""
    at, out = 0, []
    while at < len(data):
        magic, = struct.unpack_from(order + "I", data, at)
        uuid = data[at + 4:at + 20]
        klass, instance = struct.unpack_from(order + "IQ", data, at + 20)
        begin, end, content, total, sequence, discarded = struct.unpack_from(order + "6Q", data, at + 32)
        head = 80 + (4 if cpu else 0)
        out.append({"magic": magic, "uuid": uuid, "class": klass, "instance": instance, "begin": begin, "end": end, "at": at,
                    "content": content, "total": total, "sequence": sequence, "discarded": discarded,
                    "events": data[at + head:at + content // 8]})
        at += total // 8
    return out


def has_cpu(metadata, klass):
    text = re.search(r"stream \{\n\tid = %d;.*?\n\};" % klass, metadata, re.S).group(0)
    return "struct packet_context_cpu" in text


def uuid_of(metadata):
    return bytes.fromhex(re.search(r'uuid = "([0-9a-f-]+)"', metadata).group(1).replace("-", ""))


def layout(t, case, big):
    label = "ctf-write/layout%s %s" % ("-big" if big else "", os.path.basename(os.path.dirname(case)))
    order = ">" if big else "<"
    with t.temp() as tmp:
        out = os.path.join(tmp, "out")
        again = os.path.join(tmp, "again")
        for path, threads in ((out, "1"), (again, "2")):
            r = t.run([t.spur, "convert", "--to=ctf", "--set", "byte-order=" + ("big" if big else "little"), "--threads", threads, case,
                       "-o", path])
            if r.code not in (0, 3):
                return t.fail(label, "exit code %s: %.200r" % (r.code, r.err))
        found = files(out)
        if found != files(again):
            return t.fail(label, "the number of threads matters")
        metadata = found["metadata"].decode("utf-8", "replace")
        for name, data in found.items():
            if name.startswith("index") or name == "metadata":
                continue
            klass, = struct.unpack_from(order + "I", data, 20)
            ps = packets(data, order, has_cpu(metadata, klass))
            # SPEC ctf/write-uuid: version 4, the same in metadata and packets
            uuid = uuid_of(metadata)
            bad = [p for p in ps if p["magic"] != MAGIC or p["uuid"] != uuid or p["content"] > p["total"] or p["total"] % 8 or
                   p["begin"] > p["end"]]
            if bad or uuid[6] >> 4 != 4 or uuid[8] >> 6 != 2:
                return t.fail(label, "%s: %r" % (name, bad[:1] or uuid))
            # SPEC ctf/write-packets: each begins after the one before, or holds an earlier time; numbers are consecutive
            if [p["sequence"] for p in ps] != list(range(len(ps))):
                return t.fail(label, "%s: numbers of packets: %r" % (name, [p["sequence"] for p in ps]))
            entries = found["index/%s.idx" % name]
            want = struct.pack(">4I", INDEX_MAGIC, 1, 1, 72) + b"".join(
                struct.pack(">9Q", p["at"], p["total"], p["content"], p["begin"], p["end"], p["discarded"], p["class"], p["instance"],
                            p["sequence"]) for p in ps)
            if entries != want:
                return t.fail(label, "%s: the index file is not as its packets" % name)
    t.ok()


def blocks(metadata):
    """(name, URI, text) of each event class."""
    for text in re.findall(r"event \{\n.*?\n\};", metadata, re.S):
        name = re.search(r'name = "((?:[^"\\]|\\.)*)"', text).group(1)
        uri = re.search(r'model.emf.uri = "(.*)"', text)
        yield name, uri.group(1) if uri else None, text


def classes(t):
    """Names, URIs and fields of a golden of FXT, as the page says them."""
    label = "ctf-write/classes"
    with t.temp() as tmp:
        out = os.path.join(tmp, "out")
        t.run([t.spur, "convert", "--to=ctf", os.path.join(t.tests, "golden/fxt/all-records/in"), "-o", out])
        metadata = core.read(os.path.join(out, "metadata")).decode()
        named = collections.defaultdict(list)
        for name, uri, text in blocks(metadata):
            named[name].append((uri, text))
        # SPEC ctf/own-names SPEC ctf/own-uri: category `cat`; the category's length; a span's two sides
        for name, uri in (("cat:args_inline", "spur:INSTANT+0/3"), ("process:proc-a", "spur:OBJECT+0/7")):
            if not named[name] or named[name][0][0] != uri:
                return t.fail(label, "%s: expected %s, found %r" % (name, uri, named[name][:1]))
        sides = [(n, u) for n in named for u, _ in named[n] if u.startswith(("spur:BEGIN", "spur:END"))]
        wrong = [s for s in sides if not s[0].endswith("_entry" if "BEGIN" in s[1] else "_exit")]
        if wrong or not sides:
            return t.fail(label, "sides of spans: %r" % wrong[:2])
        text = named["cat:args_inline"][0][1]
        # SPEC ctf/own-types SPEC ctf/own-arguments SPEC ctf/write-names
        for want in ('enum : integer { size = 8; align = 8; signed = 0; encoding = none; base = 10; } { "false" = 0, "true" = 1 } _bool;',
                     "integer { size = 32; align = 8; signed = 0; encoding = none; base = 10; } __blob_length;",
                     "integer { size = 8; align = 8; signed = 0; encoding = none; base = 16; } _blob[ __blob_length ];",
                     "integer { size = 32; align = 8; signed = 1; encoding = none; base = 10; } _i32;",
                     "floating_point { exp_dig = 11; mant_dig = 53; align = 8; } _f64;", "string _str;"):
            if want not in text:
                return t.fail(label, "expected %s in %s" % (want, text))
        # SPEC ctf/own-id: counters have theirs as a context
        if "_id;" not in named["process:proc-a"][0][1]:
            return t.fail(label, "an object without its id")
        # SPEC ctf/own-env SPEC ctf/own-process
        for want in ('tracer_name = "spur";', "_vpid;", "_vtid;", "_procname[17];"):
            if want not in metadata:
                return t.fail(label, "expected %s" % want)
    t.ok()


def names_back(t):
    """SPEC ctf/own-uri: names that TSDL does not have come back."""
    label = "ctf-write/names"
    case = os.path.join(t.tests, "golden/heph/dup-attr-names/in")
    with t.temp() as tmp:
        out = os.path.join(tmp, "out")
        t.run([t.spur, "convert", "--to=ctf", case, "-o", out])
        a, b = rows(t, case)[1][0]["args"], rows(t, out)[1][0]["args"]
        t.verdict(label, None if a == b else "expected %r, found %r" % (a, b))


# -- headers of events, losses


def long_header(t):
    """SPEC ctf/write-header SPEC ctf/write-lost: on a Heph golden with losses, and one with times far from each other."""
    label = "ctf-write/events"
    with t.temp() as tmp:
        out = os.path.join(tmp, "out")
        case = os.path.join(t.tests, "golden/heph/counter-gap/in")
        t.run([t.spur, "convert", "--to=ctf", case, "-o", out])
        found = files(out)
        metadata = found["metadata"].decode()
        counts = []
        for name, data in sorted(found.items()):
            if name.startswith("channel"):
                klass, = struct.unpack_from("<I", data, 20)
                counts.append([p["discarded"] for p in packets(data, "<", has_cpu(metadata, klass))])
        # The golden loses 2 events, then 3.
        if [0, 2, 5] not in counts:
            return t.fail(label, "counts of discarded events: %r" % counts)
        shutil.rmtree(out)
        case = os.path.join(t.tests, "golden/fxt/ticks-24mhz/in")
        t.run([t.spur, "convert", "--to=ctf", case, "-o", out])
        times = sorted(r["ts"] for r in rows(t, case)[1])
        data = core.read(os.path.join(out, "channel0_0"))
        metadata = core.read(os.path.join(out, "metadata")).decode()
        klass, = struct.unpack_from("<I", data, 20)
        # The first event after the object's and thread's has the short form unless its time is 2^32 ns or more after that before.
        far = sum(b - a > 0xFFFFFFFF for a, b in zip(times, times[1:]))
        long = sum(p["events"].count(b"\xff\xff") > 0 for p in packets(data, "<", has_cpu(metadata, klass)))
        t.verdict(label, None if bool(far) == bool(long) else "%d far times, %d packets with long headers" % (far, long))


def both_losses(t):
    """SPEC ctf/write-lost: events and packets lost at one place, as in LTTng's overwrite mode: the times stay, no packet ends before it begins."""
    label = "ctf-write/both losses"
    whole = [small(1000, 1100, 0, 7, [(0, 1000 & 255, 1), (0, 1100 & 255, 2)]),
             small(1500, 1600, 4, 10, [(1, 1520 & 255, 3), (0, 1590 & 255, 4)]),
             small(1700, 1900, 9, 11, [(1, 1900 & 255, 5)])]
    with t.temp() as tmp:
        trace, out = os.path.join(tmp, "trace"), os.path.join(tmp, "out")
        os.mkdir(trace)
        for name, data in (("metadata", SMALL.encode()), ("s", b"".join(whole))):
            with open(os.path.join(trace, name), "wb") as f:
                f.write(data)
        t.run([t.spur, "convert", "--to=ctf", trace, "-o", out])
        for path in (trace, out):
            losses = [(r["ts"], r.get("dur", 0), r["args"]) for r in rows(t, path, "--where", 'kind == "LOST"')[1]]
            want = [(1100, 500, {"count": 4}), (1100, 400, {"packets": 2}), (1600, 300, {"count": 5})]
            if losses != want:
                return t.fail(label, "%s: expected %r, found %r" % (os.path.basename(path), want, losses))
        data = core.read(os.path.join(out, "channel0_0"))
        back = [p for p in packets(data, "<", False) if p["end"] < p["begin"]]
        t.verdict(label, "packets that end before they begin: %r" % back if back else None)


def last_packets_lost(t):
    """A filter that leaves only the loss of packets: it is told though no event follows. Then nothing at all: the metadata is still valid."""
    label = "ctf-write/nothing but a loss"
    whole = [small(1000, 1100, 0, 7, [(0, 1000 & 255, 1)]), small(1500, 1600, 0, 10, [(1, 1520 & 255, 3)])]
    with t.temp() as tmp:
        trace = os.path.join(tmp, "trace")
        os.mkdir(trace)
        for name, data in (("metadata", SMALL.encode()), ("s", b"".join(whole))):
            with open(os.path.join(trace, name), "wb") as f:
                f.write(data)
        for version in ("1.8", "2"):
            out, again, none = (os.path.join(tmp, name + version) for name in ("out", "again", "none"))
            t.run([t.spur, "convert", "--to=ctf", "--set", "version=" + version, "--where", 'kind == "LOST"', trace, "-o", out])
            t.run([t.spur, "convert", "--to=ctf", "--set", "version=" + version, out, "-o", again])
            for path in (out, again):
                got = [(r["ts"], r["dur"], r["args"]) for r in rows(t, path)[1]]
                if got != [(1100, 400, {"packets": 2})]:
                    return t.fail(label, "%s: %r" % (version, got))
            t.run([t.spur, "convert", "--to=ctf", "--set", "version=" + version, "--name", "none", trace, "-o", none])
            r = t.run([t.spur, "check", none])
            if r.code:
                return t.fail(label, "%s, no event: exit code %s: %.200r" % (version, r.code, r.out))
    t.ok()


def repaired_uuid(t):
    """SPEC ctf/copy-damage: another UUID in a packet is no damage, but other readers reject the trace: repair mends it, cut keeps it."""
    label = "ctf-write/repaired UUID"
    whole = small(1000, 1100, 0, 0, [(0, 1000 & 255, 1), (1, 1100 & 255, 2)]) + small(1150, 1160, 0, 1, [(0, 1155 & 255, 3)])
    wrong = whole.replace(SMALL_UUID, b"\x77" * 16, 1)
    with t.temp() as tmp:
        trace = os.path.join(tmp, "trace")
        os.mkdir(trace)
        for name, data in (("metadata", SMALL.encode()), ("s", wrong)):
            with open(os.path.join(trace, name), "wb") as f:
                f.write(data)
        for command, want in (("cut", wrong), ("repair", whole)):
            out = os.path.join(tmp, command)
            t.run([t.spur, command, trace, "-o", out])
            if core.read(os.path.join(out, "s")) != want:
                return t.fail(label, "%s: %r" % (command, core.read(os.path.join(out, "s"))))
    t.ok()


def shifted(t):
    """SPEC ctf/copy-shift: traces of different clocks are merged packet by packet; times are those of the traces read together."""
    for a, b, offset in (("lttng-ust-small", "lttng213-discarded", "1500us"), ("ctf2-small", "lttng215-ctf2", "-2s"),
                         ("lttng-ust-small", "lttng-ust-small", "-1ms")):
        label = "ctf-write/shifted %s %s" % (b, offset)
        first, second = (os.path.join(t.tests, "golden/ctf", name, "in") for name in (a, b))
        with t.temp() as tmp:
            out = os.path.join(tmp, "out")
            r = t.run([t.spur, "merge", first, second, "--offset", offset, "-o", out])

            def times(*paths):
                # The clock's zero is that of whichever trace is found first.
                found = rows(t, *paths)[1]
                zero = min(row["ts"] for row in found)
                return sorted((row["ts"] - zero, row["name"], str(row["args"])) for row in found)
            got, want = times(out), times(second, first, "--offset", offset)
            copied = os.path.isdir(os.path.join(out, "2-in"))
            # Packets stay; readers take traces of one UUID for one, so these are converted.
            same = not copied or all(data == files(os.path.join(out, "2-in"))[name] for name, data in files(second).items()
                                     if os.path.basename(name) != "metadata")
            why = None if got == want and same and copied == (a != b) else "%d rows for %d, copied: %s" % (len(got), len(want), copied)
            if not why and copied and a == "lttng-ust-small" and shutil.which("babeltrace2"):
                peer = t.run(["babeltrace2", out])
                why = "babeltrace2: %.200r" % peer.err if peer.code or b"ERROR" in peer.err else None
            t.verdict(label, why or r.trouble())


def in_order(t):
    """SPEC ctf/copy-order: events that step back are sorted, a packet's end is not before its last event; babeltrace2 reads that."""
    case = os.path.join(t.tests, "bad/ctf/event-time-steps-back/in")
    for name, source in (("event-time-steps-back", case), ("events-late", os.path.join(t.tests, "bad/ctf/events-late/in"))):
        label = "ctf-write/in order %s" % name
        with t.temp() as tmp:
            out = os.path.join(tmp, "out")
            r = t.run([t.spur, "repair", source, "-o", out])
            check, got, want = t.run([t.spur, "check", out]), rows(t, out)[1], rows(t, source)[1]
            same = sorted(json.dumps(row, sort_keys=True) for row in got) == sorted(json.dumps(row, sort_keys=True) for row in want)
            why = None if same and not r.code and not check.code and b"warning" not in check.out else "%s, %.200r" % (same, check.out)
            if not why and source == case and shutil.which("babeltrace2"):
                peer = t.run(["babeltrace2", out])
                why = None if not peer.code and len(peer.out.splitlines()) == len(want) else "babeltrace2: %.200r" % peer.err
            t.verdict(label, why)


def unpacked(data):
    """The text of metadata that may be in packets: 37 bytes of header (CTF 2: 44), sizes in bits."""
    if data[:4] != struct.pack("<I", 0x75D11D57):
        return data
    at, text = 0, b""
    while at < len(data):
        content, total = struct.unpack_from("<II", data, at + 24)
        text += data[at + (44 if data[at + 35] == 2 else 37):at + content // 8]
        at += total // 8
    return text


def metadata_pieces(t):
    """SPEC ctf/copy-metadata: an event class whose description is damaged is left out; everything else stays."""
    for name, pattern in (("ctf/lttng-ust-small", rb'\nevent \{\n\tname = "([^"]+)".*?\n\};\n'),
                          ("ctf/lttng215-ctf2", rb'\x1e\{\s*"[^\x1e]*?"name": "([^"]+)"[^\x1e]*"type": "event-record-class"\s*\}\s*'),
                          ("ctf/v11-sample-le", rb'\nevent \{\n  name = (\w+);.*?\n\}\n')):
        label = "ctf-write/metadata pieces %s" % name
        source = os.path.join(t.tests, "golden", name, "in")
        place = next(path for path in files(source) if os.path.basename(path) == "metadata")
        text = unpacked(core.read(os.path.join(source, place))).replace(b"\0", b"")
        if name.startswith("ctf/v11"):
            text = b"".join(p["stored"] for p in ctf_v11.packets(core.read(os.path.join(source, place)), "<")).replace(b"\0", b"")
        found = list(re.finditer(pattern, text, re.S))
        if len(found) < 2:
            t.fail(label, "%d event classes in %s" % (len(found), place))
            continue
        hurt = found[len(found) // 2]
        middle = (hurt.start() + hurt.end()) // 2
        want = re.sub(rb"\s+", b" ", text[:hurt.start()] + b"\n" + text[hurt.end():]).strip()
        for how, damaged in (("hole", text[:middle] + b"\n" + text[hurt.end():]), ("bytes", text[:middle] + b"\x01}{\x02" + text[middle:])):
            with t.temp() as tmp:
                trace, out = os.path.join(tmp, "trace"), os.path.join(tmp, "out")
                shutil.copytree(source, trace)
                with open(os.path.join(trace, place), "wb") as f:
                    f.write(damaged)
                r = t.run([t.spur, "repair", trace, "-o", out])
                got = re.sub(rb"\s+", b" ", core.read(os.path.join(out, place)) or b"").strip()
                lines = [line for line in r.err.splitlines() if b"ctf/metadata-piece" in line]
                if r.code != 3 or got != want or len(lines) != 1:
                    t.fail(label, "%s: exit code %s, %r, metadata %r" % (how, r.code, lines, os.path.commonprefix([got, want])[-60:]))
                    break
                check, rest = t.run([t.spur, "check", out]), rows(t, out)[1]
                kept = [row for row in rows(t, source)[1] if row["name"].encode() != hurt.group(1)]
                missing = [row for row in kept if row not in rest]
                # Behind an event of an unknown class, reading goes on where several events make sense.
                if check.code or any(row not in kept for row in rest) or len(missing) > len(kept) // 50:
                    t.fail(label, "%s: exit code %s, %d rows for %d" % (how, check.code, len(rest), len(kept)))
                    break
        else:
            t.ok()


def metadata_wholes(t):
    """SPEC ctf/copy-metadata SPEC ctf/copy-unreadable: what is left of damaged metadata is clean, and a trace without is left out."""
    source = os.path.join(t.tests, "golden", "ctf/lttng-ust-small", "in")
    place = next(path for path in files(source) if os.path.basename(path) == "metadata")
    text = unpacked(core.read(os.path.join(source, place))).replace(b"\0", b"").rstrip()
    events = list(re.finditer(rb"\nevent \{\n.*?\n\};\n?", text, re.S))
    stream = re.search(rb"\nstream \{.*?\n\};\n", text, re.S)
    middle, last = events[len(events) // 2], events[-1]
    other = middle.group().replace(b"stream_id = 0;", b"stream_id = 7;")
    # (name, damaged text, exit code, event that is left out)
    for name, damaged, code, gone in (
        ("stream of an event", text[:middle.start()] + other + text[middle.end():], 3, middle),
        ("cut end", text[:-1].replace(middle.group(), b"\nevent {\n"), 3, last),
        ("NULs before a cut end", text[:-1].replace(b"\nstruct packet_context {", b"\nstruct packet_context {\0\0\0"), 3, last),
        ("cut before the stream", text[:stream.start() + 12], 4, None),
        ("no stream", text.replace(stream.group(), b"\nstream {\n\tid = ;\n};\n"), 4, None),
    ):
        label = "ctf-write/metadata wholes %s" % name
        with t.temp() as tmp:
            trace, out = os.path.join(tmp, "trace"), os.path.join(tmp, "out")
            shutil.copytree(source, trace)
            with open(os.path.join(trace, place), "wb") as f:
                f.write(damaged)
            r = t.run([t.spur, "repair", trace, "-o", out])
            why = None if r.code == code and os.path.exists(out) == (code == 3) else "exit code %s, %.200r" % (r.code, r.err)
            if not why and code == 3:
                left = core.read(os.path.join(out, place))
                check, want = t.run([t.spur, "check", out]), len(events) - (2 if name == "cut end" else 1)
                if check.code or left.count(b"\nevent {") != want or gone.group().strip() in left or b"\0" in left:
                    why = "check says %s, %d events for %d: %.200r" % (check.code, left.count(b"\nevent {"), want, check.out)
            t.verdict(label, why)
    with t.temp() as tmp:
        trace, out = os.path.join(tmp, "trace"), os.path.join(tmp, "out")
        shutil.copytree(source, os.path.join(trace, "a"))
        shutil.copytree(source, os.path.join(trace, "b"))
        with open(os.path.join(trace, "b", place), "wb") as f:
            f.write(b"/* CTF 1.8 */\ntrace {\n\tmajor = ;\n")
        r = t.run([t.spur, "repair", trace, "-o", out])
        check, left = t.run([t.spur, "check", out]), [path for path in files(out) if path.startswith("b/")]
        why = None if r.code == 3 and not check.code and not left else "exit codes %s, %s, %r" % (r.code, check.code, left)
        if not why and rows(t, out)[1] != rows(t, source)[1]:
            why = "other rows than those of the trace that can be read"
        t.verdict("ctf-write/metadata wholes unreadable", why)


# -- records of FXT, for names and threads that no golden has


def fxt_event(ts, tid, category=b"c", name=b"e", args=()):
    """An instant with references in line; an argument is (name, text)."""
    def padded(text):
        return text + b"\0" * (-len(text) % 8)

    def ref(text):
        return 0x8000 | len(text) if text else 0
    body = struct.pack("<3Q", ts, 1, tid) + padded(category) + padded(name)
    for key, text in args:
        own = padded(key) + padded(text)
        body += struct.pack("<Q", 6 | (1 + len(own) // 8) << 4 | ref(key) << 16 | ref(text) << 32) + own
    return struct.pack("<Q", 4 | (1 + len(body) // 8) << 4 | len(args) << 20 | ref(category) << 32 | ref(name) << 48) + body


def fxt_write(path, events):
    with open(path, "wb") as f:
        f.write(struct.pack("<3Q", 0x0016547846040010, 1 | 2 << 4, 10 ** 9) + b"".join(events))


def fxt_thread(tid, name):
    """A thread of process 1 and its name."""
    text = name + b"\0" * (-len(name) % 8)
    body = struct.pack("<Q", tid) + text + struct.pack("<Q", 8 | 3 << 4 | 0x8007 << 16) + b"process\0" + struct.pack("<Q", 1)
    return struct.pack("<Q", 7 | (1 + len(body) // 8) << 4 | 2 << 16 | (0x8000 | len(name)) << 24 | 1 << 40) + body


def long_names(t):
    """SPEC ctf/own-process: of a thread's name 16 bytes are written; each event that loses the rest is counted."""
    label = "ctf-write/long thread names"
    with t.temp() as tmp:
        source, out = os.path.join(tmp, "in.fxt"), os.path.join(tmp, "out")
        fxt_write(source, [fxt_thread(5, b"sixteen-bytes-ok"), fxt_thread(6, b"seventeen-bytes-x"), fxt_event(1, 5), fxt_event(2, 6), fxt_event(3, 6)])
        r = t.run([t.spur, "convert", "--to=ctf", source, "-o", out])
        lines = [line.split() for line in r.err.decode().splitlines() if "16 bytes" in line]
        data = b"".join(data for name, data in files(out).items() if name.startswith("channel"))
        good = ["2", "INSTANT", "truncated"] in [line[:3] for line in lines] and b"sixteen-bytes-ok\0" in data and b"seventeen-bytes-\0" in data
        t.verdict(label, None if good else r.err.decode())


NAMES = (b'q"uote', b"back\\slash", b"new\nline", b"event", b"struct", "\u20ac".encode(), b"*/", b"a:b", b"x_exit", b"%s", b"??/", b"\x01",
         b"\x7f", b"_", b"__", b"___", b"x", b"_x", b"9x", b"a.b", b"id", b"vpid", b"x\\", b"${x}")


def hostile_names(t):
    """SPEC ctf/write-names: any two names beside each other come back, and babeltrace2 takes them for two."""
    label = "ctf-write/hostile names"
    events = [fxt_event(1000 + i, 2, a, b, ((a, b"1"), (b, b"2"))) for i, (a, b) in enumerate((a, b) for a in NAMES for b in NAMES if a != b)]
    with t.temp() as tmp:
        source = os.path.join(tmp, "names.fxt")
        fxt_write(source, events)
        want = rows(t, source)[1]
        for version in ("1.8", "2"):
            out = os.path.join(tmp, version)
            t.run([t.spur, "convert", "--to=ctf", "--set", "version=" + version, source, "-o", out])
            got = rows(t, out)[1]
            if got != want or len(got) != len(events):
                return t.fail(label, "%s: %d events, expected %d: %r" % (version, len(got), len(events), [p for p in zip(want, got) if p[0] != p[1]][:1]))
        if shutil.which("babeltrace2"):
            shown, err = peer(t, os.path.join(tmp, "1.8"))
            if err or shown.code:
                return t.fail(label, "babeltrace2: %s" % (err[:1] or shown.code))
    t.ok()


def bad_category(t):
    """A category that is not UTF-8, which JSON cannot have: its replaced bytes are still the category."""
    label = "ctf-write/category that is not UTF-8"
    with t.temp() as tmp:
        source, out = os.path.join(tmp, "bad.fxt"), os.path.join(tmp, "out")
        fxt_write(source, [fxt_event(1, 2, b"a\xff\xfeb", b"name")])
        t.run([t.spur, "convert", "--to=ctf", "--set", "version=2", source, "-o", out])
        got = [(r["cat"], r["name"]) for r in rows(t, out)[1]]
        t.verdict(label, None if got == [("a\ufffd\ufffdb", "name")] else "%r" % got)


def many_threads(t):
    """SPEC ctf/write-shared: 1,000 threads take 192 + 64 streams, and each keeps its events."""
    label = "ctf-write/many threads"
    with t.temp() as tmp:
        source, out = os.path.join(tmp, "threads.fxt"), os.path.join(tmp, "out")
        fxt_write(source, [fxt_event(1000 + i, 10 + i % 1000) for i in range(3000)])
        t.run([t.spur, "convert", "--to=ctf", source, "-o", out])
        streams = sum(name.startswith("channel") for name in os.listdir(out))
        same = rows(t, source)[1] == rows(t, out)[1]
        t.verdict(label, None if streams == 256 and same else "%d streams; events are %s" % (streams, "equal" if same else "other ones"))


# -- babeltrace2


def peer(t, path):
    r = t.run(["babeltrace2", path], limit=False)
    err = [line for line in r.err.decode("utf-8", "replace").splitlines() if not line.startswith("WARNING: Tracer discarded")]
    return r, err


def peer_same(t, case):
    """A copied LTTng trace is shown as the original."""
    label = "ctf-write/babeltrace2 %s" % os.path.basename(os.path.dirname(case))
    with t.temp() as tmp:
        out = os.path.join(tmp, "out")
        t.run([t.spur, "convert", "--to=ctf", case, "-o", out])
        (a, _), (b, err) = peer(t, case), peer(t, out)
        # babeltrace2 2.0.4 shows a text of length 0 as that of an event before (docs/formats/ctf.md).
        texts = [re.sub(rb'(_\w+_length = 0, \w+ = )"[^"]*"', rb'\1""', x.out) for x in (a, b)]
        t.verdict(label, None if not err and texts[0] == texts[1] else "%s" % (err[:1] or "the text is not equal"))


def peer_reads(t, case, like):
    label = "ctf-write/babeltrace2%s reads %s" % ("-lttng" if like else "", os.path.relpath(os.path.dirname(case), t.tests))
    with t.temp() as tmp:
        out = os.path.join(tmp, "out")
        r = t.run([t.spur, "convert", "--to=ctf", *(["--set", "like=lttng"] if like else []), case, "-o", out])
        if not os.path.exists(out):
            return t.fail(label, "exit code %s: %.200r" % (r.code, r.err))
        if like and not os.path.exists(os.path.join(out, "ust/uid/0/64-bit/metadata")):
            return t.fail(label, "no directory as LTTng's")
        b, err = peer(t, out)
        shown = len(b.out.decode("utf-8", "replace").splitlines())
        back = sum(r["kind"] != "LOST" for r in rows(t, out)[1])
        if err or b.code:
            return t.fail(label, "%s" % (err[:1] or b.code))
        t.verdict(label, None if shown >= back else "%d lines, %d events" % (shown, back))


# -- copies


def same_bytes(t, case):
    label = "ctf-write/same %s" % os.path.relpath(case, t.tests if case.startswith(t.tests) else t.traces)
    with t.temp() as tmp:
        out = os.path.join(tmp, "out")
        r = t.run([t.spur, "cut", case, "-o", out])
        if r.trouble() or r.code:
            return t.fail(label, "exit code %s: %.200r" % (r.code, r.err))
        a, b = files(case), files(out)
        # Notes beside a trace are no part of it.
        a = {k: v for k, v in a.items() if not k.endswith(".txt")}
        t.verdict(label, None if a == b else "not equal: %s" % sorted(k for k in a.keys() | b.keys() if a.get(k) != b.get(k))[:3])


def mended(t, case):
    """SPEC ctf/copy-damage: a damaged trace: the same events, and nothing is wrong any more."""
    label = "ctf-write/mended %s" % os.path.basename(os.path.dirname(case))
    with t.temp() as tmp:
        out = os.path.join(tmp, "out")
        before, a = rows(t, case)
        if before.code == 4:
            return t.skip(label, "the trace cannot be read at all")
        r = t.run([t.spur, "cut", case, "-o", out])
        if r.trouble() or r.code not in (0, 3):
            return t.fail(label, "exit code %s: %.200r" % (r.code, r.err))
        after, b = rows(t, out)
        t.verdict(label, None if a == b and after.code == 0 else "exit code %s, %d and %d events" % (after.code, len(a), len(b)))


def law(t, case):
    """A cut has what the filter shows."""
    name = os.path.basename(os.path.dirname(case))
    label = "ctf-write/law %s" % name
    everything = rows(t, case)[1]
    if not everything:
        return
    times = sorted(r["ts"] for r in everything)
    first, a, b = times[0], times[len(times) // 3], times[2 * len(times) // 3]
    names = collections.Counter(r["name"] for r in everything).most_common(2)
    filters = [["--name", n] for n, _ in names] + [["--from", "%dns" % (a - first), "--until", "%dns" % (b - first)],
                                                  ["--where", "ts >= %d" % a], ["--where", "ts < %d" % b]]
    tids = [r["tid"] for r in everything if r["tid"] is not None]
    filters += [["--tid", str(tids[0])]] if tids else []
    for options in filters:
        want = rows(t, case, *options)
        if want[0].code not in (0, 3) or not want[1]:
            continue
        with t.temp() as tmp:
            out = os.path.join(tmp, "out")
            r = t.run([t.spur, "cut", *options, case, "-o", out])
            got = rows(t, out)
            if r.code not in (0, 3) or got[0].code or want[1] != got[1]:
                return t.fail(label, "%s: exit codes %s and %s, %d events, expected %d" % (
                    " ".join(options), r.code, got[0].code, len(got[1]), len(want[1])))
    t.ok()


SMALL = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; } := u8; typealias integer { size = 32; align = 8; } := u32;
typealias integer { size = 64; align = 8; } := u64;
trace { major = 1; minor = 8; byte_order = le; uuid = "00112233-4455-6677-8899-aabbccddeeff";
	packet.header := struct { u32 magic; u8 uuid[16]; u32 stream_id; }; };
clock { name = c; };
typealias integer { size = 64; align = 8; map = clock.c.value; } := time;
stream { id = 0; packet.context := struct { time timestamp_begin; time timestamp_end; u32 content_size; u32 packet_size;
	u32 events_discarded; u32 packet_seq_num; };
	event.header := struct { u8 id; integer { size = 8; align = 8; map = clock.c.value; } timestamp; }; };
event { name = a; id = 0; stream_id = 0; fields := struct { u8 v; }; };
event { name = b; id = 1; stream_id = 0; fields := struct { u8 v; }; };
"""
SMALL_UUID = bytes.fromhex("00112233445566778899aabbccddeeff")


def small(begin, end, discarded, number, events):
    """A packet; an event is (id, low byte of its time, value)."""
    body = b"".join(bytes(e) for e in events)
    size = 8 * (24 + 32 + len(body))
    return struct.pack("<I", MAGIC) + SMALL_UUID + struct.pack("<I2Q4I", 0, begin, end, size, size, discarded, number) + body


def small_copies(t):
    """Bytes of cuts, worked out by hand: times have 8 bits here."""
    label = "ctf-write/cut"
    whole = [small(1000, 1700, 0, 7, [(0, 1000 & 255, 1), (1, 1200 & 255, 2), (0, 1400 & 255, 3), (0, 1600 & 255, 4), (0, 1700 & 255, 5)]),
             small(2000, 2010, 0, 8, [(1, 2000 & 255, 6)]),
             small(3000, 3010, 4, 9, [(0, 3000 & 255, 7), (0, 3010 & 255, 8)])]
    cuts = {
        # SPEC ctf/copy-clock: from 1000 to 1400 are 400 cycles, more than a byte tells: another packet. SPEC ctf/copy-counters: packets
        # are numbered on; the loss before the third one is not selected.
        "a": [small(1000, 1000, 0, 7, [(0, 1000 & 255, 1)]),
              small(1400, 1700, 0, 8, [(0, 1400 & 255, 3), (0, 1600 & 255, 4), (0, 1700 & 255, 5)]),
              small(3000, 3010, 0, 9, [(0, 3000 & 255, 7), (0, 3010 & 255, 8)])],
        # The first event is left out: the packet begins with the second one. The second packet stays as it is.
        "b": [small(1200, 1200, 0, 7, [(1, 1200 & 255, 2)]), whole[1]],
    }
    with t.temp() as tmp:
        trace = os.path.join(tmp, "trace")
        os.mkdir(trace)
        for name, data in (("metadata", SMALL.encode()), ("s", b"".join(whole))):
            with open(os.path.join(trace, name), "wb") as f:
                f.write(data)
        for name, want in cuts.items():
            out = os.path.join(tmp, "cut-" + name)
            r = t.run([t.spur, "cut", "--name", name, trace, "-o", out])
            got = core.read(os.path.join(out, "s"))
            if r.code or got != b"".join(want):
                return t.fail(label, "%s: exit code %s, expected %s, found %s" % (name, r.code, b"".join(want).hex(), (got or b"").hex()))
        # A loss that is kept keeps the end of the packet before it.
        out = os.path.join(tmp, "lost")
        t.run([t.spur, "cut", "--where", "kind == \"LOST\"", trace, "-o", out])
        want, got = rows(t, trace, "--where", "kind == \"LOST\"")[1], rows(t, out)[1]
        if want != got or not want:
            return t.fail(label, "losses: expected %r, found %r" % (want, got))
    t.ok()


def indexes(t):
    """SPEC ctf/copy-index: that of a cut is as its packets."""
    label = "ctf-write/index"
    case = os.path.join(t.tests, "golden/ctf/lttng-ust-small/in")
    with t.temp() as tmp:
        out = os.path.join(tmp, "out")
        t.run([t.spur, "cut", "--name", "tt:mixed", case, "-o", out])
        check = t.run([t.spur, "check", out])
        if check.code or b"ctf/stale-index" in check.out + check.err:
            return t.fail(label, "%.300r" % (check.out + check.err))
        for path, data in files(out).items():
            if not path.endswith(".idx"):
                continue
            stream = core.read(os.path.join(out, os.path.dirname(os.path.dirname(path)), os.path.basename(path)[:-4]))
            size = struct.unpack_from(">4I", data)[3]
            offs = [struct.unpack_from(">2Q", data, at) for at in range(16, len(data), size)]
            if sum(total // 8 for _, total in offs) != len(stream) or any(stream[o:o + 4] != struct.pack("<I", MAGIC) for o, _ in offs):
                return t.fail(label, path)
    t.ok()


def merged(t):
    """SPEC ctf/copy-merge: each trace in a directory of its own, with its bytes."""
    label = "ctf-write/merge"
    a, b = (os.path.join(t.tests, "golden/ctf/%s/in" % n) for n in ("lttng-ust-small", "user-spans"))
    with t.temp() as tmp:
        out = os.path.join(tmp, "out")
        r = t.run([t.spur, "merge", a, b, "--to=ctf", "-o", out])
        if r.code not in (0, 3):
            return t.fail(label, "exit code %s: %.200r" % (r.code, r.err))
        want = len(rows(t, a)[1]) + len(rows(t, b)[1])
        got = len(rows(t, out)[1])
        t.verdict(label, None if got == want else "expected %d events, found %d" % (want, got))


def run(t):
    goldens = sorted(glob.glob(os.path.join(t.tests, "golden", "ctf", "*", "in")))
    shared = sorted(glob.glob(os.path.join(t.traces, "ctf", "*", "")))
    others = sorted(glob.glob(os.path.join(t.tests, "golden", "*", "*", "in")))

    def add(name, function, *args):
        if t.wanted("ctf-write/" + name):
            t.later(function, *args)

    add("cut", small_copies)
    add("index", indexes)
    add("merge", merged)
    add("classes", classes)
    add("names", names_back)
    add("both losses", both_losses)
    add("nothing but a loss", last_packets_lost)
    add("repaired UUID", repaired_uuid)
    add("metadata pieces", metadata_pieces)
    add("metadata wholes", metadata_wholes)
    add("in order", in_order)
    add("shifted", shifted)
    add("long thread names", long_names)
    add("hostile names", hostile_names)
    add("category", bad_category)
    add("many threads", many_threads)
    add("events", long_header)
    ctf_v11.add_all(t, add)
    for case in goldens:
        if os.path.isdir(case) and "ring-buffer" not in case and "v11-encrypted" not in case:
            add("same " + case, same_bytes, case)
        if not any(word in case for word in LAW_EXCEPT):
            add("law " + case, law, case)
    for case in shared:
        if os.path.basename(case[:-1]) not in ("corrupt", "zephyr-style", "live-capture"):
            add("same " + case, same_bytes, case)
    if not shared:
        t.skip("ctf-write/shared", "the shared traces are missing")
    for case in sorted(glob.glob(os.path.join(t.tests, "bad", "ctf", "*", "in"))):
        if not any(word in case for word in BAD_EXCEPT):
            add("mended " + case, mended, case)
    for case in others:
        if os.sep + "demangle" + os.sep not in case and ("golden/fxt" in case or "golden/heph" in case):
            for big in (False, True):
                add("layout " + case, layout, case, big)
    if not shutil.which("babeltrace2"):
        t.skip("ctf-write/babeltrace2", "babeltrace2 is missing")
        return
    for case in goldens:
        if "lttng-ust" in case or "lttng213" in case:
            if not any(word in case for word in ("archive", "ring-buffer", "by-process", "marks")):
                add("babeltrace2 " + case, peer_same, case)
    for case in others:
        # Times of the year 2262 are beyond what babeltrace2 can show.
        if "golden/ctf" not in case and "ticks-24mhz" not in case:
            for like in (False, True):
                add("babeltrace2 reads " + case, peer_reads, case, like)
