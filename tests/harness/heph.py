"""
Heph files with their right reading (SPUR_TRACES/heph: NAME.heph, hand/NAME.heph, each with NAME.expect.jsonl: one object
a packet or diagnostic). `spur dump` must show each packet with its values, `spur cat` each event by time, `spur check`
what is wrong and no more; and all of it the same, read in any pieces and from a pipe.
"""
import glob
import json
import os
import re
import struct

INT64_MAX = 2**63 - 1
# Written before substreams: their expectation is that of a reader that knows the new layout only.
OLD = ("old_layout_2021", "old_no_substream")
DIAGS = (
    (r"bad magic", "bad-magic"),
    (r"packet size \d+ below", "packet-size"),
    (r"packet of \d+ bytes exceeds", "torn-packet"),
    (r"truncated packet header", "torn-header"),
    (r"(description|option name) exceeds", "name-length"),
    (r"unknown value type 0x[08]0;", "invalid-type"),
    (r"unknown value type", "unknown-type"),
    (r"\d+ trailing bytes after epoch|.* truncated; [12] bytes", "trailing-bytes"),
    (r".* truncated;", "torn-attribute"),
    (r"epoch value has", "epoch-length"),
    (r"epoch set again", "second-epoch"),
    (r"end before start", "end-before-start"),
    (r"stream \d+: counter restarted", "counter-restart"),
    (r"stream \d+: (\d+ events missing|starts at counter)", "lost-events"),
)
# What the expectation does not tell.
UNTOLD = ("far-time", "far-epoch", "unknown-option", "overlap")


class Wrong(Exception):
    pass


def same(what, want, found):
    if want != found:
        raise Wrong("%s: expected %.300s, found %.300s" % (what, json.dumps(want, default=repr), json.dumps(found, default=repr)))


def text(v):
    """What is no UTF-8 stands in the expectation as {"bytes": HEX}; in the output, bytes as lone surrogates."""
    return bytes.fromhex(v["bytes"]).decode("utf-8", "surrogateescape") if isinstance(v, dict) else v


def value(v):
    return [value(x) for x in v] if isinstance(v, list) else text(v)


def attributes(pairs, rest):
    """[[name, value]] as JSON output has them: those of one name become an array. `rest`: bytes left undecoded."""
    pairs = [[text(n) or "arg%d" % (i + 1), value(v)] for i, (n, v) in enumerate(pairs)] + ([["undecoded", rest.hex()]] if rest else [])
    out = {}
    for name in dict.fromkeys(n for n, _ in pairs):
        values = [v for n, v in pairs if n == name]
        out[name] = values if len(values) > 1 else values[0]
    return out


def load(path, data):
    """Packets in the order of the file, and diagnostics as [code, offset, bytes lost or None]."""
    packets, diags = [], []
    with open(path, encoding="utf-8") as f:
        for line in f:
            o = json.loads(line)
            if "diag" not in o:
                packets.append(dict(o, rest=b""))
                continue
            code = next(c for pattern, c in DIAGS if re.match(pattern, o["diag"]))
            left = re.search(r"; (\d+) bytes of attributes left", o["diag"])
            if left:
                packets[-1]["rest"] = data[o["offset"]:o["offset"] + int(left.group(1))]
            lost = re.search(r"(\d+) events missing|starts at counter (\d+)", o["diag"])
            diags.append({"code": code, "off": o["offset"], "lost": o.get("skipped", o.get("bytes")),
                          "events": int(lost.group(1) or lost.group(2)) if lost else 0})
    return packets, diags


def load_old(data):
    """The same of undamaged files with headers of 34 bytes and no attributes but strings and integers."""
    packets, at = [], 0
    while at < len(data):
        magic, size = struct.unpack_from(">II", data, at)
        if magic == 0x75D11D4D:
            packets.append({"meta": "epoch", "value": struct.unpack_from(">Q", data, at + 15)[0], "rest": b""})
        else:
            stream, counter, start, end, n = struct.unpack_from(">IIQQH", data, at + 8)
            attrs, q = [], at + 34 + n
            while q < at + size:
                n_name = struct.unpack_from(">H", data, q)[0]
                name, kind = data[q + 2:q + 2 + n_name].decode(), data[q + 2 + n_name]
                q += 3 + n_name
                if kind == 4:
                    length = struct.unpack_from(">H", data, q)[0]
                    v, q = data[q + 2:q + 2 + length].decode(), q + 2 + length
                else:
                    v, q = struct.unpack_from({1: ">Q", 2: ">q", 3: ">d"}[kind], data, q)[0], q + 8
                attrs.append([name, v])
            packets.append({"stream": stream, "counter": counter, "start": start, "end": end, "rest": b"", "attrs": attrs,
                            "name": data[at + 34:at + 34 + n].decode()})
        at += size
    return packets, []


def check_dump(packets, lines):
    for want, line in zip(packets, lines):
        f, at = line["fields"], "dump, packet at %d" % line["off"]
        same(at + ", size", line["len"], f["size"])
        if "meta" in want:
            same(at + ", kind", "NATIVE", line["kind"])
            same(at + ", option", text(want["meta"]), f["option"])
            same(at + ", value", want.get("value", want.get("raw")), f["value"])
            continue
        same(at + ", kind", "SPAN", line["kind"])
        for key in ("stream", "counter", "substream", "start", "end"):
            same("%s, %s" % (at, key), want.get(key), f.get(key))
        same(at + ", description", text(want["name"]), f["description"])
        same(at + ", attributes", attributes(want.get("attrs", []), want["rest"]), f.get("attributes", {}))
    same("packets in dump", len(packets), len(lines))


def check_cat(packets, lines, dump):
    """By start; of equal starts the longer span first, of equal spans the one written later."""
    epochs = [p["value"] for p in packets if p.get("meta") == "epoch"]
    rows = []
    for p, d in zip(packets, dump):
        if "stream" in p:
            ts = min(p["start"], INT64_MAX)
            rows.append((ts, -max(0, min(p["end"], INT64_MAX) - ts), -d["off"], p))
    rows.sort(key=lambda r: r[:3])
    found = [line for line in lines if line["kind"] == "SPAN"]
    same("events in cat", [-r[2] for r in rows], [line["off"] for line in found])
    for (ts, dur, _, p), line in zip(rows, found):
        same("cat, event at %d" % line["off"],
             [ts, -dur, text(p["name"]), p["stream"], attributes(p.get("attrs", []), p["rest"])],
             [line[k] for k in ("ts", "dur", "name", "pid", "args")])
    times = [line["ts"] for line in lines]
    same("cat, order", sorted(times), times)
    return epochs


def check_diags(diags, checked, events, lost_in_rows):
    found = {d["code"].split("/")[1]: d for part in ("damage", "warnings", "notes") for d in checked[part]}
    for code in sorted(set(found) - set(UNTOLD)):
        want = [d for d in diags if d["code"] == code]
        same("diagnostics " + code, len(want), found[code]["count"])
        if found[code]["first_offset"] not in [d["off"] for d in want]:
            raise Wrong("%s: expected offset %s, found %s" % (code, [d["off"] for d in want], found[code]["first_offset"]))
        if all(d["lost"] is not None for d in want):
            same(code + ", bytes lost", sum(d["lost"] for d in want), found[code]["bytes_lost"])
    same("codes", sorted({d["code"] for d in diags}), sorted(set(found) - set(UNTOLD)))
    lost = sum(d["events"] for d in diags)
    same("events lost", [lost, lost], [events, lost_in_rows])


def run_spur(t, command, path, *more, stdin=None, codes=(0, 3)):
    argv = [t.spur, command, "--input-format=heph", "-" if stdin else path, *more]
    r = t.run(argv, cwd=os.path.dirname(path), stdin=stdin)
    if r.trouble() or r.code not in codes:
        raise Wrong("%s: %s" % (command, r.trouble() or "exit code %s: %.200r" % (r.code, r.err)))
    return r


def lines_of(r):
    return [json.loads(line) for line in r.out.decode().splitlines()]


def without_path(r):
    return [{k: v for k, v in line.items() if k != "stream"} for line in lines_of(r)]


def one_file(t, label, path):
    with open(path, "rb") as f:
        data = f.read()
    name = os.path.basename(path)[:-5]
    try:
        packets, diags = load_old(data) if name in OLD else load(path[:-5] + ".expect.jsonl", data)
        dump, cat = run_spur(t, "dump", path, "--jsonl"), run_spur(t, "cat", path, "--jsonl")
        # Epochs that are too short are packets without a line in the expectation.
        shown = [d for d in lines_of(dump) if not (d["name"] == "epoch" and isinstance(d["fields"]["value"], str))]
        check_dump(packets, shown)
        epochs = check_cat(packets, lines_of(cat), shown)
        info = json.loads(run_spur(t, "info", path, "--json").out)
        checked = json.loads(run_spur(t, "check", path, "--json").out)
        lost = sum(line["id"] for line in lines_of(cat) if line["kind"] == "LOST")
        check_diags(diags, checked, info["discarded"], lost)
        same("epoch", epochs[0] if epochs and epochs[0] <= INT64_MAX else None, info["clock"]["epoch_ns"])
        for size in ("1", "7", "13", "4096") if len(data) < 200000 else ("4096",):
            for command, first in (("dump", dump), ("cat", cat)):
                again = run_spur(t, command, path, "--jsonl", "--read-size=" + size)
                same("%s with reads of %s" % (command, size), (first.out, first.err, first.code),
                     (again.out, again.err, again.code))
        for command, first in (("dump", dump), ("cat", cat)):
            with open(path, "rb") as f:
                same("%s from a pipe" % command, without_path(first),
                     without_path(run_spur(t, command, path, "--jsonl", stdin=f)))
        why = None
    except (Wrong, TypeError, StopIteration) as e:
        why = str(e) or repr(e)
    t.verdict(label, why)


def prefixes(t, label, path):
    """A file that ends early says what it says up to there, as stored and by time."""
    with open(path, "rb") as f:
        data = f.read()
    why = None
    try:
        whole = without_path(run_spur(t, "dump", path, "--jsonl"))
        with t.temp() as tmp:
            cut = os.path.join(tmp, "cut.heph")
            for n in range(len(data)):
                with open(cut, "wb") as f:
                    f.write(data[:n])
                found = without_path(run_spur(t, "dump", cut, "--jsonl"))
                want = [line for line in whole if line["off"] + line["len"] <= n]
                same("packets of the first %d bytes" % n, want, found)
                rows = [line for line in lines_of(run_spur(t, "cat", cut, "--jsonl")) if line["kind"] == "SPAN"]
                same("events of the first %d bytes" % n, sorted(line["off"] for line in want if line["kind"] == "SPAN"),
                     sorted(line["off"] for line in rows))
    except Wrong as e:
        why = str(e)
    t.verdict(label, why)


# Goldens that Heph itself cannot have written: with events out of their order, counters that begin anew, several epochs.
NOT_OWN = ("counter-restart", "counter-wrap", "dup-longer-first", "epoch-last", "nesting", "parent-child", "reordered", "second-epoch",
           "unknown-option")


def written_again(t, label, path):
    """SPEC heph/written-again: what Heph wrote comes out with the same bytes, in pieces and from a pipe too."""
    why = None
    with open(path, "rb") as f:
        data = f.read()
    try:
        for more in ([], ["--read-size=7", "--threads=2"]):
            same("bytes", data, run_spur(t, "convert", path, "--to=heph", "-o", "-", *more).out)
        with open(path, "rb") as f:
            same("bytes from a pipe", data, run_spur(t, "convert", path, "--to=heph", "-o", "-", stdin=f).out)
    except Wrong as e:
        why = str(e)
    t.verdict(label, why)


def events(r):
    """Rows of cat as values, without their places."""
    return [{k: v for k, v in line.items() if k not in ("stream", "off")} for line in lines_of(r)]


def kinds(found, but):
    return [line for line in found if line["kind"] not in but]


def spur_copies(t, command, path, out, *more):
    r = t.run([t.spur, command, "--input-format=heph", "-y", *more, path, "-o", out], cwd=os.path.dirname(path))
    if r.trouble() or r.code not in (0, 1, 3):
        raise Wrong("%s %s: %s" % (command, " ".join(more), r.trouble() or "exit code %s: %.200r" % (r.code, r.err)))
    return r


def filters(found):
    """Options that choose some of the events."""
    spans = kinds(found, ("LOST", "NATIVE"))
    times = sorted(line["ts"] for line in spans)
    names = [line["name"] for line in spans if line["name"].isidentifier() and len(line["name"]) < 1000]
    if spans:
        yield ["--tid=%d" % spans[len(spans) // 2]["tid"]], ("LOST", "NATIVE")
        yield ["--where=dur >= %dns" % sorted(line.get("dur", 0) for line in spans)[len(spans) // 2]], ("LOST", "NATIVE")
    if names:
        yield ["--where=name == '%s'" % names[0]], ("LOST", "NATIVE")
    if len(times) > 3 and times[-1] < 2**62:
        yield ["--from=@%dns" % times[len(times) // 4], "--until=@%dns" % times[3 * len(times) // 4]], ()


def copies_nothing(t, path, out):
    """Of a file without a readable packet there is no copy: an empty one would be no trace."""
    code = run_spur(t, "cut", path, "-o", out, codes=(0, 3, 4)).code
    if code == 4:
        same("exit code of repair", 4, run_spur(t, "repair", path, "-o", out, codes=(0, 3, 4)).code)
        same("files", [], os.listdir(os.path.dirname(out)))
    else:
        os.remove(out)
    return code == 4


def copied(t, label, path):
    """SPEC heph/copied: undamaged files byte for byte, others clean; of chosen events just these; sorted, the same events."""
    why = None
    with open(path, "rb") as f:
        data = f.read()
    try:
        with t.temp() as tmp:
            out = os.path.join(tmp, "out")
            cat = run_spur(t, "cat", path, "--jsonl")
            found = events(cat)
            damaged = run_spur(t, "check", path).code
            if damaged and not found and copies_nothing(t, path, out):
                t.verdict(label, None)
                return
            spur_copies(t, "cut", path, out)
            with open(out, "rb") as f:
                copy = f.read()
            if not damaged:
                same("bytes of a copy", data, copy)
            else:
                same("damage of the copy", 0, run_spur(t, "check", out).code)
                keys = ("kind", "ts", "dur", "name", "pid", "tid")
                same("events of the copy", [[line.get(k) for k in keys] for line in kinds(found, ("NATIVE",))],
                     [[line.get(k) for k in keys] for line in kinds(events(run_spur(t, "cat", out, "--jsonl")), ("NATIVE",))])
            for more, but in filters(found) if not damaged else ():
                want = kinds(events(run_spur(t, "cat", path, "--jsonl", *more, codes=(0, 1, 3))), but)
                if want:
                    spur_copies(t, "cut", path, out, *more)
                    same("events of cut " + " ".join(more), want, kinds(events(run_spur(t, "cat", out, "--jsonl")), but))
            spur_copies(t, "sort", path, out)
            if not damaged:
                same("events sorted", sorted(map(str, kinds(found, ("LOST", "NATIVE")))),
                     sorted(map(str, kinds(events(run_spur(t, "cat", out, "--jsonl")), ("LOST", "NATIVE")))))
                ends = [line["fields"]["end"] for line in lines_of(run_spur(t, "dump", out, "--jsonl")) if "end" in line["fields"]]
                if b"second-epoch" not in cat.err and max(ends, default=0) <= INT64_MAX and b"end-before-start" not in cat.err:
                    same("order of ends", sorted(ends), ends)
            spur_copies(t, "repair", path, out)
            same("damage of the repaired file", 0, run_spur(t, "check", out).code)
    except Wrong as e:
        why = str(e)
    t.verdict(label, why)


def run(t):
    top = os.path.join(os.path.abspath(t.traces), "heph")
    files = sorted(glob.glob(os.path.join(top, "*.heph")) + glob.glob(os.path.join(top, "hand", "*.heph")))
    if not files:
        t.skip("heph", "no Heph files below SPUR_TRACES")
    for path in files:
        name = os.path.relpath(path, top)[:-5]
        if not t.wanted("heph/" + name):
            continue
        if os.path.exists(path[:-5] + ".expect.jsonl"):
            t.later(one_file, "heph/" + name, path)
        else:
            t.skip("heph/" + name, "no expectation beside the file")
        if not name.startswith("hand/"):
            t.later(written_again, "heph/%s written again" % name, path)
        if os.path.getsize(path):
            t.later(copied, "heph/%s copied" % name, path)
        if name == "hand/doc_example_both":
            t.later(prefixes, "heph/%s prefixes" % name, path)
    for path in sorted(glob.glob(os.path.join(t.tests, "golden", "heph", "*", "in"))):
        name = os.path.basename(os.path.dirname(path))
        if name not in NOT_OWN and t.wanted("heph/golden " + name):
            t.later(written_again, "heph/golden %s written again" % name, path)
    for path in sorted(glob.glob(os.path.join(t.tests, "golden", "heph", "*", "in")) + glob.glob(os.path.join(t.tests, "bad", "heph", "*", "in"))):
        name = os.path.relpath(os.path.dirname(path), t.tests)
        if t.wanted("heph/" + name) and os.path.getsize(path):
            t.later(copied, "heph/%s copied" % name, path)
