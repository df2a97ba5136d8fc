"""
Each golden, and each readable trace of the shared ones, in every format that is both written and read: converted, read back, compared
event by event. What the target says it carries (`spur formats --json`) is equal; what is not is in the loss table, kind by kind.

Spans are compared as (process, thread, name, time, duration, arguments), however the two formats write them; other events as (kind,
process, thread, name, time, id, arguments). Times are compared as they are, but for one shift of a whole trace.

Masked copies (`spur anonymize`) have the same events, each name replaced by one token, and no name of the original.
"""
import collections
import glob
import json
import os

from harness import core

LARGE = 128 << 10  # bytes from which on a trace is left to others
SPANS = ("BEGIN", "END", "SPAN")
# Sources whose spans cannot be told from names and times alone.
EXCEPT = {
    "golden/uftrace/own-cxx/in": "longjmp() leaves calls that END rows end by their depth",
    "golden/uftrace/own-cxx-auto/in": "longjmp() leaves calls that END rows end by their depth",
    "golden/uftrace/own-cxx-clang/in": "longjmp() leaves calls that END rows end by their depth",
    "golden/xray/own-fork-open/in": "two processes have one process id",
}
FORMATS = ("ctf", "fxt", "heph", "spur", "uftrace", "xray")


def traces(t):
    """(name, path) of goldens and of the shared traces of a moderate size."""
    found = sorted(glob.glob(os.path.join(t.tests, "golden", "*", "*", "in")))
    for pattern in ("uftrace/*", "fxt/files/*", "heph/*.heph", "xray/*/*", "ctf/*"):
        found += sorted(glob.glob(os.path.join(t.traces, pattern)))
    for path in found:
        files = [path] if os.path.isfile(path) else [os.path.join(d, f) for d, _, fs in os.walk(path) for f in fs]
        if files and sum(os.path.getsize(f) for f in files) <= LARGE:
            yield path


def lines(r):
    return [json.loads(line) for line in r.out.decode().splitlines()]


def value(v):
    """An argument without what no format tells apart in JSON."""
    if isinstance(v, dict):
        return tuple(sorted((k, value(x)) for k, x in v.items()))
    if isinstance(v, list):
        return ("list", *[value(x) for x in v])
    return (type(v).__name__, v)


def spans(rows):
    """(key, arguments) of each span, by stacks of threads; what has no begin or no end is no span."""
    stacks, out = collections.defaultdict(list), []
    for r in rows:
        who = (r["pid"], r["tid"])
        flags = r.get("flags", ())
        if r["kind"] == "SPAN":
            out.append(((*who, r["name"], r["ts"], r["dur"]), value(r["args"])))
        elif r["kind"] == "BEGIN":
            stacks[who].append(r)
        elif r["kind"] == "END":
            stack = stacks[who]
            at = len(stack) - 1
            while "any" not in flags and at >= 0 and stack[at]["name"] != r["name"]:
                at -= 1
            if at < 0:
                continue
            while len(stack) > at:
                begin = stack.pop()
                args = dict(begin["args"])
                if len(stack) == at:
                    args.update(r["args"])
                out.append(((*who, begin["name"], begin["ts"], r["ts"] - begin["ts"]), value(args)))
    return out


def others(rows, kind):
    return [((r["pid"], r["tid"], r["name"], r["ts"], r.get("id", 0)), value(r["args"])) for r in rows if r["kind"] == kind]


def events(rows):
    """Kind -> list of (key, arguments)."""
    out = {"SPAN": spans(rows)}
    for kind in {r["kind"] for r in rows} - set(SPANS):
        out[kind] = others(rows, kind)
    return out


def shifted(found, by):
    return {kind: [((*k[:3], k[3] - by, *k[4:]), a) for k, a in rows] for kind, rows in found.items()}


def first_time(found):
    times = [k[3] for rows in found.values() for k, _ in rows]
    return min(times) if times else 0


def losses(err):
    """Kind -> [dropped, all] of the loss table."""
    out = collections.defaultdict(lambda: [0, 0])
    for line in err.decode().splitlines():
        if not line.startswith('{"schema"'):
            continue
        for loss in json.loads(line)["losses"]:
            kind = "SPAN" if loss["kind"] in SPANS else loss["kind"]
            out[kind][0] += loss["count"] if loss["what"] == "dropped" else 0
            out[kind][1] += loss["count"]
    return out


# An event without ids, with its thread, and with its process: a source that does not know an id says nothing about the target's.
VIEWS = (
    lambda key, args: (key[2], *key[3:], args),
    lambda key, args: (key[2], key[3], ("tid", key[1])) if key[1] is not None else None,
    lambda key, args: (key[2], key[3], ("pid", key[0])) if key[0] is not None else None,
)


def compare(source, back, lost, fits):
    """
    Why the two readings do not agree with the loss table, or None. Times are as they were, or shifted to the first event of the
    source or to the first one that the target holds.
    """
    want, found = events(source), events(back)
    shifts = [0, first_time(found) - first_time(want)]
    if source and back:
        shifts.append(min(r["ts"] for r in back) - min(r["ts"] for r in source))
    reasons = [compare_shifted(want, shifted(found, shift), lost, fits) for shift in shifts]
    return None if None in reasons else reasons[0]


def compare_shifted(want, found, lost, fits):
    for kind, rows in sorted(want.items()):
        if fits["BEGIN" if kind == "SPAN" else kind] == "dropped":
            if len(rows) > len(found.get(kind, [])) and not lost[kind][0] and kind != "SPAN":
                return "%s: %d events are dropped, but not in the loss table" % (kind, len(rows))
            continue
        if fits["BEGIN" if kind == "SPAN" else kind] == "degraded":
            continue
        for view in VIEWS:
            a = collections.Counter(view(key, args) for key, args in rows)
            missing = a - collections.Counter(view(key, args) for key, args in found.get(kind, []))
            missing.pop(None, None)
            if sum(missing.values()) > lost[kind][1]:
                first = min(missing, key=repr)
                near = [x for x in found.get(kind, []) if x[0][3] == first[1]][:1]
                return "%s: %d of %d events are not equal, %d in the loss table: expected %.300r, found %.300r" % (
                    kind, sum(missing.values()), len(rows), lost[kind][1], first, near)
        if len(rows) - len(found.get(kind, [])) > lost[kind][0]:
            return "%s: %d events became %d, %d dropped in the loss table" % (kind, len(rows), len(found.get(kind, [])), lost[kind][0])
    return None


def one(t, path, target, fits):
    name = os.path.relpath(path, t.tests if path.startswith(t.tests) else t.traces)
    if name in EXCEPT:
        t.skip("matrix/" + name, EXCEPT[name])
        return
    label = "matrix/%s -> %s" % (name, target)
    source = t.run([t.spur, "cat", "--jsonl", path])
    if source.code not in (0, 3):
        return
    with t.temp() as tmp:
        out = os.path.join(tmp, "out")
        r = t.run([t.spur, "convert", "--json", "--to=" + target, path, "-o", out])
        if r.code == 2 and not r.trouble():
            t.ok()  # an error before work: the target cannot hold it at all
            return
        if r.trouble() or r.code not in (0, 3):
            t.fail(label, r.trouble() or "exit code %d: %.200r" % (r.code, r.err))
            return
        if not os.path.exists(out):
            t.fail(label, "no output: %.200r" % r.err)
            return
        back = t.run([t.spur, "cat", "--jsonl", "--input-format=" + target, out])
        if back.trouble() or (back.code not in (0, source.code) and source.out):
            t.fail(label, back.trouble() or "reading back: exit code %d: %.300r" % (back.code, back.err))
            return
        t.verdict(label, compare(lines(source), lines(back), losses(r.err), fits))


OWN_WORDS = {"name", "off CPU", "sched", "process_name", "thread_name", "process_sort_index"}  # of the target, not of the trace


def texts(v):
    """All strings in a value."""
    if isinstance(v, str):
        yield v
    elif isinstance(v, dict):
        for k, x in v.items():
            yield k
            yield from texts(x)
    elif isinstance(v, list):
        for x in v:
            yield from texts(x)


def masked(t, path):
    label = "matrix/%s masked" % os.path.relpath(path, t.tests if path.startswith(t.tests) else t.traces)
    plain = t.run([t.spur, "convert", "--to=chrome", path, "-o", "-"])
    hidden = [t.run([t.spur, "anonymize", "--to=chrome", "--key=k", threads, path, "-o", "-"]) for threads in ("--threads=1", "--threads=2")]
    if plain.code not in (0, 3):
        return
    if hidden[0].out != hidden[1].out or hidden[0].code != plain.code:
        t.fail(label, "exit codes %s, %s and %s, or threads matter" % (plain.code, hidden[0].code, hidden[1].code))
        return
    a, b = (json.loads(r.out)["traceEvents"] for r in (plain, hidden[0]))
    tokens, why = {}, None if len(a) == len(b) else "%d events became %d" % (len(a), len(b))
    for x, y in zip(a, b) if not why else ():
        same = all(x.get(k) == y.get(k) for k in ("ph", "ts", "dur", "s"))
        token = tokens.setdefault(x["name"], y["name"])
        if not same or token != y["name"] or (x["name"] == y["name"] and x["name"] not in OWN_WORDS | {""}):
            why = "expected %.200r without names, found %.200r" % (x, y)
            break
    if not why and len(set(tokens.values())) != len(tokens):
        why = "two names have one token"
    if not why:
        original = {w for e in a for w in texts([e.get("name"), e.get("cat"), (e.get("args") or {}).get("name")]) if len(w) > 3} - OWN_WORDS
        found = original & {w for e in b for w in texts([e.get("name"), e.get("cat"), e.get("args")])}
        why = "names of the original: %r" % sorted(found)[:5] if found else None
    t.verdict(label, why)


# Of each format, traces whose names, paths, texts and ids stand in different places.
HIDDEN = (
    "ctf/ctf2-small", "ctf/kernel", "ctf/lttng213-contexts", "ctf/lttng213-libc", "ctf/zephyr-good", "fxt/all-records", "fxt/koids-64bit",
    "fxt/multi-provider", "heph/nesting", "heph/scalars", "uftrace/ev-sdt", "uftrace/extern", "uftrace/own-args-spec", "uftrace/threads",
    "xray/fdr-events", "xray/own-profile-throws", "xray/profile",
)
# Words of the formats themselves, which a trace may use as names too.
FORMAT_WORDS = {
    "addr", "address", "arg1", "arg2", "arg3", "arg4", "arg5", "arg6", "arg7", "arg8", "args", "array", "begin", "boottime", "channel", "channel0_0",
    "clock", "comm", "count", "data", "domain", "duration", "empty", "event", "events", "file", "flag", "flags", "frame", "frames", "func",
    "function", "heph", "index", "line", "metadata", "monotonic", "name", "null", "number", "path", "port", "perf-cpu0.dat", "perf-cpu1.dat", "process",
    "procname", "profile", "sort_index", "range", "read", "realtime", "regex", "retval", "self", "size", "spur", "start", "state", "string", "text", "thread",
    "threads", "ticks", "time", "total", "trace", "type", "uftrace", "unknown", "value", "values", "version", "vpid", "vtid", "weight", "xray",
    "0.1.0", "-inf", "koid", "pointer", "stack", "calls", "eight", "inner", "host", "bool", "status",
}


def secrets(t, path):
    """Names, texts and facts of a trace, of at least 4 letters."""
    found = set()
    for options in ([], ["--demangle=no"]):
        for row in lines(t.run([t.spur, "cat", "--jsonl", *options, path])):
            found |= set(texts([row.get(k) for k in ("name", "cat", "module", "args")]))
    for event in json.loads(t.run([t.spur, "convert", "--to=chrome", path, "-o", "-"]).out)["traceEvents"]:
        found |= set(texts(event["args"])) if event["ph"] == "M" else set()
    info = json.loads(t.run([t.spur, "info", "--json", path]).out)["info"]
    info.pop("recorded on", None)  # the epoch, which stays
    found |= set(texts(list(info.values())))
    return {w for w in found if len(w) >= 4 and not w.replace(".", "").isdigit()} - OWN_WORDS - FORMAT_WORDS


def tree(path):
    """Names and bytes of a file, or of all below a directory, and of files beside it."""
    found = [path] if os.path.isfile(path) else [os.path.join(d, f) for d, _, fs in os.walk(path) for f in fs]
    out = b""
    for f in found + glob.glob(path + ".*"):
        with open(f, "rb") as file:
            out += f[len(path):].encode() + b"\n" + file.read() + b"\n"
    return out


def hidden(t, name, target):
    """No byte of a masked copy is a name of the trace, whatever its format is; and threads do not matter."""
    label = "matrix/golden/%s masked -> %s" % (name, target)
    path = os.path.join(t.tests, "golden", name, "in")
    with t.temp() as tmp:
        outs = []
        for threads in ("1", "2"):
            out = os.path.join(tmp, threads, "o")
            os.mkdir(os.path.dirname(out))
            r = t.run([t.spur, "anonymize", "--key=k", "--threads=" + threads, "--to=" + target, path, "-o", out])
            if r.code == 2 and not r.trouble():
                t.ok()  # the target cannot hold it at all
                return
            if r.trouble() or r.code not in (0, 3):
                t.fail(label, r.trouble() or "exit code %d: %.200r" % (r.code, r.err))
                return
            outs.append(tree(out))
    found = sorted(w for w in secrets(t, path) if w.encode("utf-8", "surrogateescape") in outs[0])
    t.verdict(label, "names of the original: %r" % found[:8] if found else None if sorted(outs[0]) == sorted(outs[1]) else "threads matter")


def run(t):
    listed = json.loads(t.run([t.spur, "formats", "--json"]).out)
    targets = {f["name"]: f["kinds"] for f in listed["formats"] if "kinds" in f}
    for name in FORMATS:
        if name not in targets:
            t.skip("matrix/%s" % name, "the format is not written")
    for name in HIDDEN:
        for target in [*targets, *(f["name"] for f in listed["targets"])]:
            if t.wanted("matrix/golden/%s masked -> %s" % (name, target)):
                t.later(hidden, name, target)
    if not os.path.isdir(t.traces):
        t.skip("matrix/shared", "the shared traces are missing")
    for path in traces(t):
        if t.wanted("matrix/%s masked" % path):
            t.later(masked, path)
        for target, fits in targets.items():
            if t.wanted("matrix/%s -> %s" % (path, target)):
                t.later(one, path, target, fits)
