"""
Copies of uftrace data, and data that is converted to it.

whole: the copy of an undamaged directory has the same files and bytes. cut: the rows of a cut are those that pass the filter.
damaged: the copy of a damaged directory reads back with the same rows and no damage; a repaired one is read by uftrace.
written: traces of other formats become directories that uftrace replays, reports, graphs and dumps; the calls that it counts are
those of the source.
summed: a report of sums that the reader makes itself has the numbers of one that is made of rows, of any trace, damaged or changed.
merged: two directories joined have the rows of both, and uftrace replays both. rejoined: what was split becomes what it was.
"""
import collections
import glob
import json
import os
import random
import shutil

from harness import core, laws

LARGE = 1 << 20
# What a copy cannot mend: docs/formats/uftrace.md, Copies.
KEEPS_DAMAGE = ("kernel-format-mangled", "kernel-header-mangled", "kernel-print-mangled")
# Repaired, rows are others: named by symbols of a task.txt that was made, or in another order.
REPAIRED = ("task-missing", "task-empty", "task-mangled", "time-back", "time-zero")
# uftrace shows nothing of these: without a record, with a payload that it does not know, or of a newer version than itself.
UNREPLAYED = ("all-garbage", "empty-dat", "torn-first-record", "event-short-payload", "event-unknown", "payload-string-length",
              "payload-shifted", "payload-torn")
# A cut of these does not keep what records take from their neighbours.
NEIGHBOURS = ("k-lost", "lost", "own-deep", "deep-maxstack")
# Joined with another only by their rows: of another machine or recorder, with other options (-e, -t, --match), with files of the
# kernel, or with messages, whose times would have to be moved.
UNJOINED = ("deep-maxstack", "ev-kernel", "extern", "i386-abc", "i386-threads", "i386-watch", "k-graph1", "k-lost", "marks",
            "own-args-glob", "own-deep", "own-words-estimate", "own-words-time", "synth-be-events", "synth-be-threads", "synth-qemu-like", "v013-abc")
OFFSET = 3000000000
# The percentiles keep the reader from summing.
SUMS = "function,module,total,self,calls,avg,min,max,unfinished"
BY_ROWS = SUMS + ",p50"
CHANGED = 3  # copies of a trace that are changed
PEER = ("replay", "report", "graph", "dump")


def size_of(path):
    return sum(os.path.getsize(os.path.join(d, f)) for d, _, fs in os.walk(path) for f in fs)


def directories(t):
    """(name, path) of undamaged directories."""
    for path in sorted(glob.glob(os.path.join(t.tests, "golden", "uftrace", "*", "in"))):
        yield path.split(os.sep)[-2], path
    for path in sorted(glob.glob(os.path.join(t.traces, "uftrace", "*"))):
        name = os.path.basename(path)
        if os.path.isdir(path) and not name.endswith((".out", ".shm")) and name != "killed":
            yield name, path


def rows(t, path, *options):
    """Rows without their places in the files; None if the trace cannot be read. And the exit code."""
    r = t.run([t.spur, "cat", "--jsonl", *options, path])
    if r.trouble() or r.code not in (0, 1, 3):
        return None, r.code
    found = [json.loads(line) for line in r.out.decode().splitlines()]
    for row in found:
        del row["off"]
    return found, r.code


def copy(t, command, path, out, *options):
    r = t.run([t.spur, command, *options, path, "-o", out])
    return r.trouble()


def unpacked(name):
    return name[:-3] if name.endswith(".gz") else name[:-4] if name.endswith(".zst") else name


def whole(t, name, path):
    """SPEC uftrace/copy-whole"""
    with t.temp() as tmp:
        out = os.path.join(tmp, "out")
        why = copy(t, "cut", path, out)
        if not why and sorted(map(unpacked, os.listdir(path))) != sorted(os.listdir(out)):
            why = "files: expected %r, found %r" % (sorted(os.listdir(path)), sorted(os.listdir(out)))
        for f in sorted(os.listdir(path)) if not why else ():
            if f == unpacked(f) and core.read(os.path.join(path, f)) != core.read(os.path.join(out, f)):
                why = "%s differs" % f
        t.verdict("uftrace/whole %s" % name, why)


def filters(found):
    times = sorted(r["ts"] for r in found)
    yield ["--from=@%dns" % times[len(times) // 3], "--until=@%dns" % times[2 * len(times) // 3]]
    yield ["--where", "tid == %d" % found[-1]["tid"]]
    yield ["--where", 'kind == "SWITCH"']
    yield ["--where", 'kind == "BEGIN"']
    yield ["--limit=7"]


def cut(t, name, path):
    """SPEC uftrace/copy-cut"""
    found, _ = rows(t, path)
    for options in filters(found) if found else ():
        want, _ = rows(t, path, *options)
        with t.temp() as tmp:
            out = os.path.join(tmp, "out")
            why = copy(t, "cut", path, out, *options)
            if not why and not want:
                why = "an output without rows" if os.path.exists(out) else None
            elif not why:
                back, code = rows(t, out)
                why = "exit code %d" % code if code else None if back == want else "%d rows became %d, or others" % (len(want), len(back))
            t.verdict("uftrace/cut %s %s" % (name, " ".join(options)), why)


def damaged(t, name, path, command):
    """SPEC uftrace/copy-damage, SPEC uftrace/copy-sort, SPEC uftrace/copy-repair, SPEC uftrace/killed-specs"""
    want, _ = rows(t, path)
    if want is None:
        return
    with t.temp() as tmp:
        out = os.path.join(tmp, "out")
        why = copy(t, command, path, out)
        back, code = rows(t, out) if not why else (None, 0)
        for row in (want or []) + (back or []):
            row.pop("stream")
        if not why and (code or back is None):
            why = "reading back: exit code %d" % code
        if not why and back != want and not (command == "repair" and name in REPAIRED):
            why = "%d rows became %d, or others" % (len(want), len(back))
        if not why and command == "repair" and [r["ts"] for r in back] != sorted(r["ts"] for r in back):
            why = "times go back"
        if not why and command == "repair" and shutil.which("uftrace"):
            for peer in ("info",) if name in UNREPLAYED else ("info", "replay", "report"):
                r = t.run(["uftrace", peer, "--no-pager", "-d", out])
                if r.code and not why:
                    why = "uftrace %s: exit code %d: %.200r" % (peer, r.code, r.err)
        t.verdict("uftrace/%s %s" % (command, name), why)


def summed(t, name, path):
    rng = random.Random(name)
    with t.temp() as tmp:
        traces = [path]
        for i in range(0 if t.args.sanitized or size_of(path) > LARGE else CHANGED):
            traces.append(os.path.join(tmp, str(i)))
            laws.changed_copy(rng, path, traces[-1])
        why = next(filter(None, (sums_differ(t, trace) for trace in traces)), None)
    t.verdict("uftrace/summed %s" % name, why)


def sums_differ(t, path):
    want = t.run([t.spur, "report", "--csv", "--fields=" + BY_ROWS, "--threads=1", path])
    lines = [line.rpartition(b",")[0] for line in want.out.split(b"\n")]
    for options in (["--threads=1"], ["--threads=2"], ["--threads=5"], ["--threads=1", "--read-size=1"], ["--threads=2", "--read-size=7"],
                    ["--threads=1", "--read-size=4096"]):
        r = t.run([t.spur, "report", "--csv", "--fields=" + SUMS, *options, path])
        if r.trouble() or r.code != want.code or r.err != want.err:
            return "%s: exit code %d, not %d: %s" % (" ".join(options), r.code, want.code, r.trouble() or r.err[:200])
        if r.out.split(b"\n") != lines:
            return "%s: other sums" % " ".join(options)
    return None


def calls_of(found):
    """Name -> [least, most] calls that uftrace may count: it leaves out some of length 0, and counts ends without a begin."""
    counts, stacks = collections.defaultdict(lambda: [0, 0]), collections.defaultdict(list)
    for r in found:
        stack = stacks[r["tid"]]
        if r["kind"] == "BEGIN":
            stack.append(r)
            counts[r["name"]][1] += 1
        elif r["kind"] == "END" and stack:
            begin = stack.pop()
            counts[begin["name"]][0] += r["ts"] > begin["ts"]
        elif r["kind"] == "END":
            counts[r["name"]][1] += 1
    return counts


def reported(out):
    """Name -> calls of uftrace's table."""
    counts = collections.Counter()
    for line in out.decode("utf-8", "surrogateescape").splitlines()[2:]:
        words = line.split(None, 5)
        if len(words) == 6:
            counts[words[5]] += int(words[4])
    return counts


def written(t, name, path):
    """SPEC uftrace/made-modules, SPEC uftrace/made-depth, SPEC uftrace/made-events, SPEC uftrace/made-names"""
    with t.temp() as tmp:
        out = os.path.join(tmp, "out")
        r = t.run([t.spur, "convert", "--to=uftrace", path, "-o", out])
        if r.code == 2 and not r.trouble():
            t.ok()  # it has nothing that the format holds
            return
        why = r.trouble()
        for command in PEER if not why else ():
            r = t.run(["uftrace", command, "--no-pager", "-d", out])
            if r.code:
                why = "uftrace %s: exit code %d: %.200r" % (command, r.code, r.err)
                break
        if not why:
            found, _ = rows(t, out, "--demangle=no")
            want = calls_of(found or [])
            got = reported(t.run(["uftrace", "report", "--no-pager", "--demangle=no", "-d", out]).out)
            for n in sorted(want):
                if n.isprintable() and n[:2] not in ("_Z", "_R") and not set(n) & set("<>(@ ") and not want[n][0] <= got[n] <= want[n][1]:
                    why = "%s: expected %d to %d calls, uftrace counts %d" % (n, *want[n], got[n])
        t.verdict("uftrace/written %s" % name, why)


def comparable(row, offset):
    """A row as a joined trace has it, without what is not told apart here: ids, and the file."""
    args = {k: v for k, v in (row.get("args") or {}).items() if k not in ("pid", "ppid")}
    return json.dumps({**row, "ts": row["ts"] + offset, "args": args, "pid": 0, "tid": 0, "stream": ""}, sort_keys=True)


def replayed(t, path):
    """Sorted lines of uftrace's replay, without the threads' ids."""
    r = t.run(["uftrace", "replay", "--no-pager", "-f", "duration", "-d", path])
    return None if r.code else sorted(r.out.splitlines()[1:])


def merged(t, name, first, path):
    """SPEC uftrace/join-tasks, SPEC uftrace/join-info, SPEC uftrace/join-perf"""
    with t.temp() as tmp:
        out, why = os.path.join(tmp, "out"), None
        r = t.run([t.spur, "merge", "--same-clock", "--offset=3s", first, path, "-o", out])
        maps = {f for d in (first, path) for f in os.listdir(d) if f.endswith(".map")}
        why = r.trouble() or ("exit code %d: %.200r" % (r.code, r.err) if r.code else None)
        if not why and not maps <= set(os.listdir(out)):
            why = "it was merged by rows"
        if not why:
            a, b, both = (rows(t, d)[0] for d in (first, path, out))
            want = sorted([comparable(x, 0) for x in a] + [comparable(x, OFFSET) for x in b])
            got = sorted(comparable(x, 0) for x in both)
            why = None if got == want else "%d rows became %d, or others" % (len(want), len(got))
            if not why and len({x["tid"] for x in both}) != len({x["tid"] for x in a}) + len({x["tid"] for x in b}):
                why = "threads are not kept apart"
        if not why and shutil.which("uftrace"):
            a, b, both = (replayed(t, d) for d in (first, path, out))
            if a is not None and b is not None and both != sorted(a + b):
                why = "uftrace replays %s" % ("nothing" if both is None else "other lines")
        t.verdict("uftrace/merged %s" % name, why)


def rejoined(t, name, path):
    """SPEC uftrace/join-same"""
    why = None
    for by in ("thread", "process", "count=97"):
        with t.temp() as tmp:
            parts, out = os.path.join(tmp, "parts"), os.path.join(tmp, "out")
            r = t.run([t.spur, "split", "--by=" + by, path, "-o", parts])
            why = why or r.trouble() or ("split: exit code %d" % r.code if r.code else None)
            pieces = sorted(os.listdir(parts)) if not why else []
            if len(pieces) < 2:
                continue
            r = t.run([t.spur, "merge", *(os.path.join(parts, p) for p in pieces), "-o", out])
            why = r.trouble() or ("merge: exit code %d: %.200r" % (r.code, r.err) if r.code else None)
            for f in sorted(os.listdir(path)) if not why else ():
                if core.read(os.path.join(path, f)) != core.read(os.path.join(out, f)):
                    why = "--by=%s: %s differs" % (by, f)
    t.verdict("uftrace/rejoined %s" % name, why)


def run(t):
    if not os.path.isdir(t.traces):
        t.skip("uftrace/shared", "the shared traces are missing")
    for name, path in directories(t):
        if t.wanted("uftrace/whole %s" % name):
            t.later(whole, name, path)
        if t.wanted("uftrace/summed %s" % name):
            t.later(summed, name, path)
        if t.wanted("uftrace/cut %s" % name) and size_of(path) <= LARGE and name not in NEIGHBOURS:
            t.later(cut, name, path)
    goldens = os.path.join(t.tests, "golden", "uftrace")
    for name in sorted(os.listdir(goldens)):
        path = os.path.join(goldens, name, "in")
        if not os.path.exists(os.path.join(path, "info")) or name in UNJOINED or size_of(path) > LARGE:
            continue
        if t.wanted("uftrace/merged %s" % name):
            # Recorders before 0.14 give symbols no sizes.
            first = "own-busy" if name.startswith("own-") else "abc"
            t.later(merged, name, os.path.join(goldens, first, "in"), path)
        if t.wanted("uftrace/rejoined %s" % name):
            t.later(rejoined, name, path)
    for path in sorted(glob.glob(os.path.join(t.tests, "bad", "uftrace", "*", "in"))):
        name = path.split(os.sep)[-2]
        if t.wanted("uftrace/summed %s" % name):
            t.later(summed, name, path)
        for command in ("cut", "repair"):
            if os.path.isdir(path) and name not in KEEPS_DAMAGE and t.wanted("uftrace/%s %s" % (command, name)):
                t.later(damaged, name, path, command)
    if not shutil.which("uftrace"):
        t.skip("uftrace/written", "uftrace is not installed")
        return
    for path in sorted(glob.glob(os.path.join(t.tests, "golden", "*", "*", "in"))):
        name = "/".join(path.split(os.sep)[-3:-1])
        if not name.startswith("uftrace/") and size_of(path) <= LARGE and t.wanted("uftrace/written %s" % name):
            t.later(written, name, path)
