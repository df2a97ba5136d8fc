"""
FXT files with their right reading (SPUR_TRACES/fxt: files/NAME.fxt, expect/NAME.jsonl, one object a record or
diagnostic; peer/fxt-goldens the same way). `spur dump` must show each record with its values, `spur cat` each event by
time, `spur check` what is wrong and no more; and all of it the same in either byte order, read in any pieces.
"""
import glob
import json
import os

KINDS = {
    "instant": "INSTANT", "counter": "COUNTER", "begin": "BEGIN", "end": "END", "complete": "SPAN",
    "async_begin": "ASYNC_BEGIN", "async_instant": "ASYNC_INSTANT", "async_end": "ASYNC_END",
    "flow_begin": "FLOW_BEGIN", "flow_step": "FLOW_STEP", "flow_end": "FLOW_END",
    "legacy_switch": "SWITCH", "switch": "SWITCH", "wakeup": "WAKEUP", "log": "LOG", "backtrace": "SAMPLE",
    "module": "OBJECT", "mmap": "OBJECT", "userspace_object": "OBJECT", "kernel_object": "OBJECT",
    "blob": "BLOB", "large_blob": "BLOB",
}
BOOKS = ("magic", "provider_info", "provider_section", "init", "string", "thread")
STATES = ["new", "running", "suspended", "blocked", "dying", "dead"]
CODES = {
    "no_magic": "no-magic", "bad_magic": "bad-magic", "magic_with_payload": "bad-magic",
    "magic_not_first": "magic-not-first", "bad_record": "bad-record", "bad_arg": "bad-argument",
    "size_0": "size-zero", "size_past_end": "size-past-end", "truncated_tail": "truncated-tail",
    "string_not_registered": "unknown-string", "thread_not_registered": "unknown-thread",
    "string_index_0": "index-zero", "thread_index_0": "index-zero", "invalid_utf8": "bad-utf8",
    "nonzero_padding": "padding", "unknown_arg_type": "unknown-argument", "unknown_metadata": "unknown-metadata",
    "unknown_event_type": "unknown-event", "unknown_scheduling_type": "unknown-scheduling",
    "unknown_profiler_type": "unknown-profiler", "unknown_large_type": "unknown-large",
    "unknown_large_blob_format": "unknown-large", "unknown_record_type": "unknown-record",
    "unknown_provider_event": "unknown-provider-event", "provider_info_repeated": "provider-repeated",
    "provider_not_announced": "provider-not-announced", "negative_duration": "negative-duration",
}
INT64_MAX = 2**63 - 1
NONE = object()

# Where a file does not hold what its expectation says: the record's offset, the field, what the bytes say.
FILES_SAY = {("all_records", 2480, "cpu"): 255, ("all_records_be", 2480, "cpu"): 255}


class Wrong(Exception):
    pass


def same(what, want, found):
    if want != found:
        raise Wrong("%s: expected %.200s, found %.200s" % (what, json.dumps(want), json.dumps(found)))


def text(s):
    """As the expectation writes what is no UTF-8."""
    return s.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace") if isinstance(s, str) else s


def texts(v):
    if isinstance(v, dict):
        return {text(k): texts(x) for k, x in v.items()}
    return [texts(x) for x in v] if isinstance(v, list) else text(v)


def arg_value(v):
    if isinstance(v, dict):
        for key in ("koid", "blob", "raw"):
            if key in v:
                return v[key]
        return int(v["ptr"], 16)
    return v


def arg_object(args):
    """[[name, value]] as the JSON output has arguments: those of one name in an array, those without are argN."""
    out, seen = {}, {}
    for i, (name, v) in enumerate(args):
        name = name or "arg%d" % (i + 1)
        v = arg_value(v)
        if seen.get(name, 0) == 1:
            out[name] = [out[name], v]
        elif name in seen:
            out[name].append(v)
        else:
            out[name] = v
        seen[name] = seen.get(name, 0) + 1
    return out


class Clocks:
    """Ticks a second of each provider, as the records tell in their order."""

    def __init__(self):
        self.hz, self.base, self.provider = {}, {}, 0

    def see(self, rec):
        if rec["rec"] in ("provider_info", "provider_section"):
            self.provider = rec["id"]
        elif rec["rec"] == "init":
            self.hz[self.provider] = rec["tps"]
            self.base[self.provider] = rec.get("base_ticks", 0)

    def ns(self, ticks):
        hz = self.hz.get(self.provider, self.hz.get(0, 10**9))
        return (ticks - self.base.get(self.provider, self.base.get(0, 0))) * 10**9 // hz


def id_of(v):
    return None if isinstance(v, str) else v


def want_fields(rec):
    """What the fields of the record must be: name -> value."""
    kind, w = rec["rec"], {}
    if kind in ("provider_info", "provider_section", "provider_event"):
        w["id"] = rec["id"]
    if kind == "provider_info":
        w["name"] = rec["name"]
    elif kind == "provider_event":
        w["event"] = 0 if rec["event"] == "buffer_filled" else rec["event"]
    elif kind == "init":
        w["ticks_per_second"] = rec["tps"]
        w.update({k: rec[k] for k in ("base_ticks", "base_time_ns") if k in rec})
    elif kind in ("string", "thread"):
        w.update({k: rec[k] for k in ("index", "value", "pid", "tid") if k in rec})
    elif kind == "wakeup":
        w.update(cpu=rec["cpu"], tid=rec["tid"], args=arg_object(rec["args"]))
    elif kind == "switch":
        w.update(cpu=rec["cpu"], out=rec["out"], args=arg_object(rec["args"]))
        w["in"] = rec["in"]
    elif kind == "legacy_switch":
        w.update(cpu=rec["cpu"], out_priority=rec["out_prio"], in_priority=rec["in_prio"])
    elif kind == "log":
        w.update(message=rec["msg"], pid=id_of(rec["pid"]), tid=id_of(rec["tid"]))
    elif kind == "module":
        w.update(module=rec["id"], name=rec["name"], build_id=rec["build_id"], pid=id_of(rec["pid"]))
    elif kind == "mmap":
        w.update({k: int(rec[k], 16) for k in ("start", "range", "vaddr")}, module=rec["id"], flags=rec["flags"])
    elif kind == "backtrace":
        w.update(frames=[int(f, 16) for f in rec["frames"]], pid=id_of(rec["pid"]), tid=id_of(rec["tid"]))
    elif kind == "blob":
        w.update(name=rec["name"], size=rec["len"], type=rec["type"])
    elif kind == "large_blob":
        w.update(name=rec["name"], size=rec["len"], category=rec["cat"], format=rec["format"])
    elif kind == "userspace_object":
        w.update(pointer=int(rec["ptr"], 16), pid=id_of(rec["pid"]), name=rec["name"], args=arg_object(rec["args"]))
    elif kind == "kernel_object":
        w.update(koid=rec["koid"], type=rec["type"], name=rec["name"], args=arg_object(rec["args"]))
    elif "prov" in rec:
        w.update(category=rec["cat"], name=rec["name"], args=arg_object(rec["args"]), pid=id_of(rec["pid"]),
                 tid=id_of(rec["tid"]), provider=rec["prov"])
        if "id" in rec:
            w["id"] = rec["id"]
    if "extra" in rec:
        w["extra_words"] = rec["extra"]
    return w


def check_fields(rec, rows, clocks):
    f = texts(rows[0]["fields"])
    for key, v in want_fields(rec).items():
        found = f.get(key, NONE)
        if key == "value" and isinstance(v, str) and v.endswith(")") and "...(" in v:
            same("length of the string", int(v.rsplit("(", 1)[1][:-1]), len(found))
            found = found[:40] + v[40:]
        if found is NONE:
            raise Wrong("field %s: expected %.100r, found none" % (key, v))
        same("field " + key, v, found)
    if "ts" in rec:
        same("time", rec["ts"], clocks.ns(f["ticks"]))
    if "end" in rec:
        same("end", rec["end"], clocks.ns(f["end_ticks"]))
    if "state" in rec:
        same("state", STATES[rec["state"]] if rec["state"] < 6 else rec["state"], f["state"])
    if "data" in rec:
        same("data", rec["data"], f["data"][:len(rec["data"])])
    if rec["rec"] == "legacy_switch":
        for side in ("out", "in"):
            same(side, [id_of(v) for v in rec[side]], [f[side]["pid"], f[side]["tid"]])


def kind_of(rec):
    if rec["rec"] == "provider_event":
        return "LOST" if rec["event"] == "buffer_filled" else "NATIVE"
    return KINDS.get(rec["rec"], "NATIVE")


def check_dump(records, lines):
    """Every record stands in the dump, with its values."""
    by_off = {}
    for line in lines:
        by_off.setdefault(line["off"], []).append(line)
    clocks = Clocks()
    for rec in records:
        rows = by_off.pop(rec["off"], None)
        if not rows:
            raise Wrong("record at %d: expected %s, found none" % (rec["off"], rec["rec"]))
        clocks.see(rec)
        try:
            same("kind", kind_of(rec), rows[0]["kind"])
            same("rows", 1, len(rows))  # a switch, too, is one record
            check_fields(rec, rows, clocks)
        except Wrong as e:
            raise Wrong("record at %d: %s" % (rec["off"], e)) from e
    return by_off


def clamp(ns):
    return min(ns, INT64_MAX)


def check_event(rec, row):
    ts, kind = clamp(rec["ts"]), rec["rec"]
    same("ts", ts, row["ts"])
    same("kind", kind_of(rec), row["kind"])
    if "cat" in rec:
        same("cat", rec["cat"], text(row["cat"]))
        same("name", rec["name"], text(row["name"]))
    if "pid" in rec and kind not in ("module", "mmap"):
        same("pid", id_of(rec["pid"]), row["pid"])
        same("tid", id_of(rec["tid"]), row["tid"])
    if "id" in rec and kind not in ("module", "mmap"):
        same("id", rec["id"], row.get("id", 0))
    if "end" in rec:
        same("dur", max(0, clamp(rec["end"]) - ts), row["dur"])
    if "cpu" in rec and rec["cpu"] != 65535:
        same("cpu", rec["cpu"], row.get("cpu"))
    if "args" in rec and kind != "large_blob" and "switch" not in kind:
        same("args", arg_object(rec["args"]), texts(row["args"]))
    if kind == "log":
        same("message", rec["msg"], text(row["args"]["message"]))


def check_cat(records, lines):
    """Every record that says something of the program is a row; rows come by time."""
    by_off = {}
    for a, b in zip(lines, lines[1:]):
        if b["ts"] < a["ts"]:
            raise Wrong("order: ts %d behind %d" % (b["ts"], a["ts"]))
    for line in lines:
        by_off.setdefault(line["off"], []).append(line)
    for rec in records:
        rows = by_off.pop(rec["off"], [])
        if rec["rec"] in BOOKS:
            same("rows of %s at %d" % (rec["rec"], rec["off"]), 0, len(rows))
            continue
        if not rows:
            raise Wrong("event at %d: expected %s, found none" % (rec["off"], rec["rec"]))
        try:
            for row in rows:
                if "ts" in rec:
                    check_event(rec, row)
                else:
                    same("flags", True, "retimed" in row.get("flags", []))
            if "switch" in rec["rec"]:
                same("sides", [["out"], ["in"]], [[f for f in r["flags"] if f in ("out", "in")] for r in rows])
        except Wrong as e:
            raise Wrong("event at %d: %s" % (rec["off"], e)) from e
    return by_off


def want_codes(records, diags):
    """code -> [count, first offset, bytes lost] that must be told."""
    out = {}

    def add(code, off, lost=0):
        g = out.setdefault("fxt/" + code, [0, off, 0])
        g[0] += 1
        g[1] = min(g[1], off)
        g[2] += lost

    for d in diags:
        code = CODES.get(d["diag"])
        if d["diag"] == "bad_record" and d["why"].startswith("arg"):
            code = "bad-argument"
        if code:
            add(code, d["off"], d.get("lost", 0))
    for r in records:
        if r.get("event") == "buffer_filled":
            add("buffer-filled", r["off"])
        if r["rec"] == "blob" and isinstance(r["type"], int):
            add("unknown-blob", r["off"])
        if r.get("ts", 0) > INT64_MAX:
            add("time-overflow", r["off"])
    return out


def check_codes(records, diags, checked):
    want = want_codes(records, diags)
    found = {}
    for g in checked["damage"] + checked["warnings"] + checked["notes"]:
        found[g["code"]] = [g["count"], g["first_offset"], g["bytes_lost"]]
    for code, (count, off, lost) in want.items():
        if code not in found:
            raise Wrong("%s: expected %d, found none" % (code, count))
        same(code, [count, off], found[code][:2])
        if code.split("/")[1] in ("size-zero", "size-past-end", "truncated-tail"):
            same(code + ": bytes lost", lost, found[code][2])
    strange = sorted(set(found) - set(want))
    if strange:
        raise Wrong("expected nothing of %s" % strange)


def fall_back(records, diags):
    """SPEC fxt/provider-fallback: threads that were registered before all providers are found by later ones."""
    first = {}
    for r in records:
        if r["rec"] in ("provider_info", "provider_section"):
            break
        if r["rec"] == "thread":
            first[r["index"]] = {"pid": r["pid"], "tid": r["tid"]}
    found = {d["off"]: first[d["index"]] for d in diags if d["diag"] == "thread_not_registered" and d["index"] in first}
    for r in records:
        r.update(found.get(r["off"], {}))
    return records, [d for d in diags if d["off"] not in found or d["diag"] != "thread_not_registered"]


def load(name, path):
    records, diags = [], []
    with open(path, encoding="utf-8") as f:
        for line in f:
            o = json.loads(line)
            (diags if "diag" in o else records).append(o)
    for o in records:
        for (file, off, field), v in FILES_SAY.items():
            if (file, off) == (name, o["off"]):
                o[field] = v
    return fall_back(records, diags)


def lines_of(r):
    return [json.loads(line) for line in r.out.decode().splitlines()]


def run_spur(t, command, path, *more):
    r = t.run([t.spur, command, "--input-format=fxt", path, *more], cwd=os.path.dirname(path))
    if r.trouble() or r.code not in (0, 3):
        raise Wrong("%s: %s" % (command, r.trouble() or "exit code %s: %.200r" % (r.code, r.err)))
    return r


def left_overs(diags, rest, books):
    """Rows beyond the expected records: of those that were passed over by size, and events whose arguments are damaged."""
    kept = {d["off"] for d in diags if d["diag"].startswith("unknown_")}
    kept |= {d["off"] for d in diags if d["diag"] == "bad_record" and d["why"].startswith("arg")}
    if books:
        kept |= {d["off"] for d in diags if d["diag"].endswith("index_0") or d["diag"] == "bad_record"}
    return sorted(set(rest) - kept)


def one_file(t, label, name, path, expected):
    records, diags = load(name, expected)
    try:
        dump, cat = run_spur(t, "dump", path, "--jsonl"), run_spur(t, "cat", path, "--jsonl")
        strays = left_overs(diags, check_dump(records, lines_of(dump)), True)
        if strays:
            raise Wrong("dump: unexpected records, at %s" % strays)
        strays = left_overs(diags, check_cat(records, lines_of(cat)), False)
        if strays:
            raise Wrong("cat: unexpected rows, at %s" % strays)
        checked = json.loads(run_spur(t, "check", path, "--json").out)
        info = json.loads(run_spur(t, "info", path, "--json").out)
        check_codes(records, diags, checked)
        same("byte order", "big" if any(d["diag"] == "big_endian" for d in diags) else "little", info["byte_order"])
        for size in ("1", "7", "13", "4096"):
            for command, first in (("dump", dump), ("cat", cat)):
                again = run_spur(t, command, path, "--jsonl", "--read-size=" + size)
                same("%s with reads of %s" % (command, size), (first.out, first.err, first.code),
                     (again.out, again.err, again.code))
        why = None
    except (Wrong, TypeError) as e:
        why = str(e)
    t.verdict(label, why)


def without_path(r):
    return [{k: v for k, v in line.items() if k != "stream"} for line in lines_of(r)]


def other_order(t, label, path):
    """SPEC fxt/byte-order: the big-endian file says what the little-endian one says."""
    why = None
    try:
        for command in ("dump", "cat"):
            little = without_path(run_spur(t, command, path.replace("_be.fxt", ".fxt"), "--jsonl"))
            big = without_path(run_spur(t, command, path, "--jsonl"))
            same(command, little, [dict(line, off=line["off"]) for line in big])
    except Wrong as e:
        why = str(e)
    t.verdict(label, why)


def prefixes(t, label, path, step):
    """A file that ends early says what it says up to there."""
    with open(path, "rb") as f:
        data = f.read()
    why = None
    try:
        whole = [line for line in without_path(run_spur(t, "dump", path, "--jsonl"))]
        with t.temp() as tmp:
            cut = os.path.join(tmp, "cut.fxt")
            for n in range(8, len(data), step):
                with open(cut, "wb") as f:
                    f.write(data[:n])
                found = without_path(run_spur(t, "dump", cut, "--jsonl"))
                want = [line for line in whole if line["off"] + line["len"] <= n]
                same("records of the first %d bytes" % n, want, found[:len(want)])
                for line in found[len(want):]:
                    if line["off"] < (want[-1]["off"] if want else 0):
                        raise Wrong("the first %d bytes: a record at %d" % (n, line["off"]))
    except Wrong as e:
        why = str(e)
    t.verdict(label, why)


def run(t):
    top = os.path.join(os.path.abspath(t.traces), "fxt")
    files = sorted(glob.glob(os.path.join(top, "files", "*.fxt")))
    if not files:
        t.skip("fxt", "no FXT files below SPUR_TRACES")
    for path in files:
        name = os.path.basename(path)[:-4]
        expected = os.path.join(top, "expect", name + ".jsonl")
        if not t.wanted("fxt/" + name):
            continue
        if os.path.exists(expected):
            t.later(one_file, "fxt/" + name, name, path, expected)
        else:
            t.skip("fxt/" + name, "no expectation beside the file")
        if name.endswith("_be"):
            t.later(other_order, "fxt/%s as little-endian" % name, path)
        if name == "all_records":
            t.later(prefixes, "fxt/%s prefixes" % name, path, 21)
    peer = os.path.join(os.path.abspath(t.traces), "peer", "fxt-goldens")
    goldens = sorted(glob.glob(os.path.join(peer, "*.fxt")))
    if not goldens:
        t.skip("fxt/peer", "no files of other projects below SPUR_TRACES")
    for path in goldens:
        name = os.path.basename(path)[:-4]
        expected = os.path.join(peer, "expect", "golden_%s.jsonl" % name)
        if t.wanted("fxt/peer/" + name) and os.path.exists(expected):
            t.later(one_file, "fxt/peer/" + name, name, path, expected)
