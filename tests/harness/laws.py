"""
Laws that hold for every trace, over the goldens and changed copies of them; all choices are made with fixed seeds.

mutants: each command on traces with bytes flipped, cut off, put in: a stated exit code, in bounded time and memory, and the same
output with one and two threads and in pieces of 7 bytes.
laws: pieces of any size give what the whole gives, byte for byte, on the screen and in each target; so do one, two and three threads,
and another locale; a store answers the same whoever wrote it; lines of a table that tie stand in one order; the rows of a trace that is
cut are those of the whole up to there; a flipped byte changes no row before it (as stored) and none beyond the window in which the format finds its
framing again; a range of time is the sum of its parts; a trace of the other byte order has the same rows.
"""
import bisect
import glob
import json
import os
import random
import resource
import shutil
import struct
import subprocess

from harness import core

SECONDS = 10  # of CPU, for a mutant of a few kilobytes
MEMORY = 1 << 30  # of addresses; the reserved range of a pipe is most of it
LARGE = 256 << 10  # bytes from which on a golden is left to others
STATED = {0, 1, 3, 4}
MUTANTS = 1  # of each golden
COMMANDS = [["report"], ["cat", "--jsonl"], ["replay"], ["graph"], ["flame"], ["stats"], ["check"], ["dump"], ["info", "--json"], ["sched"],
            ["counters"], ["events"], ["blobs"], ["convert", "--to=chrome", "-o", "-"], ["hist", "in", "main"], ["metadata"],
            ["report", "--kind=async"]]
READ_SIZES = (1, 2, 7, 37)
ONE_FILE = ("xray", "fxt", "heph")  # formats whose records stand in one file, in their order


def goldens(t, formats=None):
    """(format, path of `in`) of goldens of a moderate size."""
    for case in sorted(glob.glob(os.path.join(t.tests, "golden", "*", "*", "in"))):
        name = case.split(os.sep)[-3]
        files = [case] if os.path.isfile(case) else [os.path.join(d, f) for d, _, fs in os.walk(case) for f in fs]
        if (formats is None or name in formats) and sum(os.path.getsize(f) for f in files) <= LARGE:
            yield name, case


def limits():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


def limited(t, argv, cwd):
    """Runs under limits of CPU time and memory, unless the build has sanitizers."""
    env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": core.HOME, "LC_ALL": "C", "TZ": "UTC"}
    p = subprocess.run([t.spur, *argv], cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       preexec_fn=None if t.args.sanitized else limits, timeout=120, check=False)
    return core.Result(p.returncode, p.stdout, p.stderr, 120)


def mutate(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(data) + 1) if data else 0
        how = rng.randrange(4)
        if how == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif how == 1 and at < len(data):
            data[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF))
        elif how == 2:
            del data[at:at + rng.choice((1, 7, 8, 64, len(data)))]
        else:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice((1, 4, 8, 16))))
    return bytes(data)


def changed_copy(rng, source, to):
    """A copy of a trace with one file changed."""
    if os.path.isfile(source):
        core.write(to, mutate(rng, core.read(source)))
        return
    shutil.copytree(source, to, symlinks=True)
    files = sorted(os.path.join(d, f) for d, _, fs in os.walk(to) for f in fs if not os.path.islink(os.path.join(d, f)))
    if files:
        path = rng.choice(files)
        os.chmod(path, 0o600)
        core.write(path, mutate(rng, core.read(path)))


def commands_of(t, name, case):
    """Three commands for a golden, so that the goldens of each format meet all of them."""
    number = [path for _, path in goldens(t, (name,))].index(case)
    return [COMMANDS[(3 * number + i) % len(COMMANDS)] for i in range(3)]


def mutants(t, name, case):
    label = "laws/mutants %s" % os.path.relpath(case, os.path.join(t.tests, "golden"))
    rng = random.Random(label)
    for n in range(1 if t.args.sanitized else MUTANTS):
        with t.temp() as tmp:
            changed_copy(rng, case, os.path.join(tmp, "in"))
            for argv in commands_of(t, name, case):
                why = one_mutant(t, argv, tmp)
                t.verdict("%s %d: %s" % (label, n, " ".join(argv)), why)


def one_mutant(t, argv, cwd):
    place = [] if "in" in argv else ["in"]
    first = limited(t, [*argv, *place, "--threads=1"], cwd)
    why = first.trouble()
    if not why and first.code not in STATED and b"expected clocks that can be related" not in first.err and argv[0] != "metadata":
        why = "exit code %s: %.200r" % (first.code, first.err)
    if why or first.code == 4:
        return why
    for option in ("--threads=2", "--read-size=7"):
        r = limited(t, [*argv, *place, option], cwd)
        why = r.trouble() or core.differ(first.out, r.out)[0] or core.differ(first.err, r.err)[0]
        if not why and r.code != first.code:
            why = "exit code %d" % r.code
        if why:
            return "%s: %s" % (option, why)
    return None


def rows(t, path, *options):
    """The rows as stored: (place, everything that a row says of itself); None if it cannot be read."""
    r = t.run([t.spur, "dump", "--jsonl", *options, path])
    if r.trouble() or r.code not in (0, 3):
        return None
    return [dict(json.loads(line), stream="") for line in r.out.decode().splitlines()]


def pieces(t, name, case):
    label = "laws/pieces %s" % os.path.relpath(case, os.path.join(t.tests, "golden"))
    rng = random.Random(label)
    for argv in (["dump"], ["report"], ["cat", "--jsonl"]):
        first = t.run([t.spur, *argv, case])
        for option in ["--read-size=%d" % n for n in rng.sample(READ_SIZES, 2)] + ["--threads=%d" % rng.choice((1, 2))]:
            r = t.run([t.spur, *argv, case, option])
            why = r.trouble() or core.differ(first.out, r.out)[0] or core.differ(first.err, r.err)[0]
            t.verdict("%s %s %s" % (label, argv[0], option), why or (None if r.code == first.code else "exit code %d" % r.code))


# All that is written of a trace. `html` comes first: it has classes in the order in which they were found.
SHOWN = [["cat"], ["report", "--json"], ["replay"], ["graph"], ["flame", "--folded"], ["dump", "--jsonl"], ["stats", "--json"], ["info"],
         ["events"], ["sched"], ["counters"], ["top"], ["report", "--by=path"], ["report", "--style=llvm-xray"],
         ["replay", "--style=uftrace"], ["report", "--style=uftrace"], ["graph", "--style=uftrace"], ["dump", "--style=uftrace"]]
WAYS = [["--read-size=1"], ["--read-size=7"], ["--read-size=4096"], ["--read-size=65536"], ["--threads=1"], ["--threads=2"], ["--threads=3"],
        ["--threads=3", "--read-size=7"], ["LC_ALL=C.UTF-8"]]


def written(t, argv, case, way, tmp):
    """(exit code, standard output, standard error, {name: bytes} of what `-o` names) of a command that reads in this way."""
    place = os.path.join(tmp, "o")
    env = dict(word.split("=", 1) for word in way if not word.startswith("-"))
    r = t.run([t.spur, *argv, *[word for word in way if word.startswith("-")], case], env=env, cwd=tmp)
    files = [place] if os.path.isfile(place) else [os.path.join(d, f) for d, _, fs in os.walk(place) for f in fs]
    files += glob.glob(place + ".*")
    made = {os.path.relpath(f, tmp): core.read(f) for f in files}
    if os.path.isdir(place):
        shutil.rmtree(place)
    for f in files:
        if os.path.exists(f):
            os.remove(f)
    return r, (r.code, r.out, r.err, made)


def ways(t, name, case):
    """
    What commands print and write is a function of the input alone. Each golden meets the page and, in turn, five other commands and
    targets, so that all of them meet some goldens of each format.
    """
    label = "laws/ways %s" % os.path.relpath(case, os.path.join(t.tests, "golden"))
    rng = random.Random(label)
    targets = [["convert", "--to=" + to, "-o", "o"] for to in t.targets]
    number = [path for _, path in goldens(t, (name,))].index(case)
    others = SHOWN + [argv for argv in targets if argv[1] != "--to=html"]
    chosen = [(["convert", "--to=html", "-o", "o"], WAYS)]
    chosen += [(others[(5 * number + i) % len(others)], rng.sample(WAYS, 3)) for i in range(5)]
    with t.temp() as tmp:
        for argv, among in chosen:
            r, first = written(t, argv, case, [], tmp)
            why = r.trouble()
            for way in among if not why and r.code != 2 else ():
                again, found = written(t, argv, case, way, tmp)
                part = next((i for i in range(4) if first[i] != found[i]), None)
                why = again.trouble() or (None if part is None else "%s differs" % ("exit code", "stdout", "stderr", "the file")[part])
                if why:
                    why = "%s: %s" % (" ".join(way), why)
                    break
            t.verdict("%s %s" % (label, " ".join(argv)), why)


def stores(t, name, case):
    """
    A store that several threads write has its classes in an order that depends on chance; what it answers has not, and is what the
    trace says. SPEC store/same-bytes: a store that `-o` names has the same bytes whatever the threads.
    """
    label = "laws/stores %s" % os.path.relpath(case, os.path.join(t.tests, "golden"))
    within = ["--from=20%", "--until=80%"]
    asked = (["report", "--json"], ["graph"], ["flame"], ["top", "--json"])
    with t.temp() as tmp:
        first = [(r.code, r.out, r.err) for r in (t.run([t.spur, *argv, *within, "--no-cache", case], cwd=tmp) for argv in asked)]
        whole = None
        for way in (["--threads=1"], ["--threads=3"], ["--threads=3", "--read-size=7"]):
            t.run([t.spur, "index", *way, case, "-y", "-o", "store"], cwd=tmp)
            store = core.read(os.path.join(tmp, "store"))
            whole = whole or store
            if store != whole:
                t.fail(label, "%s: another store" % way)
                return
            env = {"XDG_CACHE_HOME": os.path.join(tmp, "cache")}
            r = t.run([t.spur, "index", *way, case], env=env, cwd=tmp)
            kept = glob.glob(os.path.join(tmp, "cache", "spur", "*.store"))
            if r.trouble() or r.code not in (0, 3) or len(kept) != 1:
                t.verdict(label, r.trouble() or "exit code %d, %d stores" % (r.code, len(kept)))
                return
            before = os.stat(kept[0]).st_ctime_ns
            found = [(a.code, a.out, a.err) for a in (t.run([t.spur, *argv, *within, case], env=env, cwd=tmp) for argv in asked)]
            if found != first:
                t.fail(label, "%s: another answer to %s" % (way, next(a for a, x, y in zip(asked, first, found) if x != y)))
                return
            # Its status changes when it is used: SPEC store/identity.
            if os.stat(kept[0]).st_ctime_ns == before:
                t.fail(label, "%s: the store was not used" % way)
                return
            os.remove(kept[0])
    t.ok()


def two_of_a_name(path, first):
    """An FXT file of two functions that llvm-xray's table shows alike but for their times; `first` is the category of the earlier one."""
    words = [0x0016547846040010, 1 | 2 << 4, 1000000000, 3 | 3 << 4 | 1 << 16, 1, 2]
    for i, text in enumerate((b"slow", b"fast", b"f")):
        words += [2 | 2 << 4 | (i + 1) << 16 | len(text) << 32, int.from_bytes(text.ljust(8, b"\0"), "little")]
    for at, cat in ((1000000, first), (2000000, 3 - first)):
        for kind, ts in ((2, at), (3, at + (100000, 300000)[cat == 1])):
            words += [4 | 2 << 4 | kind << 16 | 1 << 24 | cat << 32 | 3 << 48, ts]
    core.write(path, struct.pack("<%dQ" % len(words), *words))


def ties(t):
    """Lines of a table that are equal in what it is sorted by stand in an order that does not depend on which class was found first."""
    with t.temp() as tmp:
        found = []
        for first in (1, 2):
            two_of_a_name(os.path.join(tmp, "in"), first)
            found.append(t.run([t.spur, "report", "--style=llvm-xray", "in"], cwd=tmp))
    lines = found[0].out.count(b": f\n")
    t.verdict("laws/ties", found[0].trouble() or ("expected 2 lines, found %d" % lines if lines != 2 else None) or
              core.differ(found[0].out, found[1].out)[0])


def cuts(t, name, case):
    """A file that is cut gives the rows that are whole before the cut; a flipped byte no other row before it."""
    label = "laws/cuts %s" % os.path.relpath(case, os.path.join(t.tests, "golden"))
    data = core.read(case)
    rng = random.Random(label)
    whole = rows(t, case)
    if whole is None or len(data) < 2 or data[:2] == b"\x1f\x8b" or data[:4] == b"\x28\xb5\x2f\xfd":
        return
    with t.temp() as tmp:
        path = os.path.join(tmp, os.path.basename(case))
        for how in ("cut", "flip") * (1 if t.args.sanitized else 3):
            at = rng.randrange(32, len(data)) if len(data) > 40 else len(data) - 1
            changed = data[:at] if how == "cut" else data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1:]
            core.write(path, changed)
            got = rows(t, path)
            t.verdict("%s %s at %d" % (label, how, at), None if got is None else prefix(whole, got, at))


def prefix(whole, got, at):
    """None if the rows of records that end at or before byte `at` are those of the whole file."""
    def before(all_rows):
        return [r for r in all_rows if isinstance(r.get("off"), int) and r["off"] + r.get("len", 0) <= at - 64]

    a, b = before(whole), before(got)
    if a == b:
        return None
    for x, y in zip(a, b):
        if x != y:
            return "expected %.200s, found %.200s" % (x, y)
    return "expected %d rows before, found %d" % (len(a), len(b))


def ranges(t, name, case):
    """The rows from a to c are those from a to b and those from b to c."""
    label = "laws/ranges %s" % os.path.relpath(case, os.path.join(t.tests, "golden"))
    r = t.run([t.spur, "info", "--json", case])
    if r.code not in (0, 3):
        return
    info = json.loads(r.out)
    if info["start"] is None or info["end"] - info["start"] < 4:
        return
    length = info["end"] - info["start"]
    rng = random.Random(label)
    a, b, c = sorted(rng.sample(range(length + 1), 3))

    def count(low, high):
        out = t.run([t.spur, "cat", "--jsonl", "--from=%dns" % low, "--to=%dns" % high, case])
        return out.trouble(), [line for line in out.out.decode().splitlines() if '"implied"' not in line]
    trouble, both = count(a, c)
    why, first = count(a, b)
    worse, second = count(b, c)
    t.verdict(label, trouble or why or worse or (None if both == first + second else "%d rows, but %d and %d" % (
        len(both), len(first), len(second))))


# (generator, its arguments, bytes after a changed one beyond which all is as before): the largest record and a chain of records
# behind it for FXT and Heph; the rest of the buffer, and one more, for XRay.
GENERATED = (("fxt", ["-n", "9000"], 65536), ("fxt", ["-n", "9000", "-p", "2", "-e"], 65536), ("heph", ["-n", "4000"], 65536),
             ("xray", ["-n", "12000", "-t", "3", "-b", "4096"], 8192))
SPANS = ("BEGIN", "END", "SPAN")


def generate(t, tmp, name, options, file):
    path = os.path.join(tmp, file)
    r = t.run([os.path.join(t.build, "gen-" + name), *options, path])
    return path, r.trouble() or ("exit code %s" % r.code if r.code else None)


def windows(t, name, options, window):
    """
    A flipped byte of a span's record changes nothing beyond the window, unless a record of a table stands in it: a size that is now
    too large may swallow that, which later records refer to.
    """
    label = "laws/windows %s %s" % (name, " ".join(options))
    rng = random.Random(label)
    with t.temp() as tmp:
        path, why = generate(t, tmp, name, options, "trace")
        whole = None if why else rows(t, path)
        if not whole or whole[-1]["off"] < 2 * window:
            t.verdict(label, why or "too short")
            return
        data = core.read(path)
        tables = [r["off"] for r in whole if r["kind"] == "NATIVE"] if name == "fxt" else []
        spans = [r for r in whole if r["kind"] in SPANS and r["off"] + window < whole[-1]["off"] and
                 bisect.bisect(tables, r["off"]) == bisect.bisect(tables, r["off"] + window)]
        for _ in range(8):
            row = rng.choice(spans)
            at = row["off"] + rng.randrange(row["len"])
            core.write(path, data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1:])
            t.verdict("%s at %d" % (label, at), beyond(whole, rows(t, path), at + window))


def beyond(whole, got, at):
    """None if the rows of records that begin at or after byte `at` are those of the whole file."""
    a, b = ([{k: r[k] for k in ("off", "len", "kind", "name", "fields")} for r in some if r["off"] >= at] for some in (whole, got or []))
    for x, y in zip(a, b):
        if x != y:
            return "expected %.200s, found %.200s" % (x, y)
    return None if len(a) == len(b) else "expected %d rows beyond, found %d" % (len(a), len(b))


def order_pairs(t):
    """Goldens that are the same trace in both byte orders."""
    for big in sorted(glob.glob(os.path.join(t.tests, "golden", "*", "*-be", "in"))):
        stem = os.path.dirname(big)[:-len("-be")]
        for little in (stem + "-le", stem):
            if os.path.exists(os.path.join(little, "in")):
                yield os.path.join(little, "in"), big
                break


def same_rows(t, little, big):
    """By value: the rows without the name of the file, and what report makes of them."""
    for argv in (["cat", "--jsonl"], ["report", "--csv"]):
        a, b = (t.run([t.spur, *argv, path]) for path in (little, big))
        why = a.trouble() or b.trouble() or core.differ(a.out.replace(little.encode(), b"IN"), b.out.replace(big.encode(), b"IN"))[0]
        if why or not a.out:
            return "%s: %s" % (argv[0], why or "nothing to compare")
    return None


def orders(t):
    pairs = list(order_pairs(t))
    t.verdict("laws/orders pairs", None if len(pairs) >= 9 else "only %d" % len(pairs))
    for little, big in pairs:
        t.verdict("laws/orders %s" % os.path.relpath(big, os.path.join(t.tests, "golden")), same_rows(t, little, big))
    for options in ([], ["-e"], ["-w"], ["-p", "3"]):
        with t.temp() as tmp:
            little, why = generate(t, tmp, "fxt", ["-n", "5000", *options], "little")
            big, worse = generate(t, tmp, "fxt", ["-n", "5000", "-b", *options], "big")
            t.verdict("laws/orders gen-fxt %s" % " ".join(options), why or worse or same_rows(t, little, big))


def run(t):
    if t.wanted("laws/orders") and not t.args.sanitized:
        t.later(orders)
    if t.wanted("laws/ties") and not t.args.sanitized:
        t.later(ties)
    for name, options, window in GENERATED:
        if t.wanted("laws/windows %s" % name) and not t.args.sanitized:
            t.later(windows, name, options, window)
    listed = json.loads(t.run([t.spur, "formats", "--json"]).out)
    t.targets = [f["name"] for f in listed["formats"] if "kinds" in f] + [f["name"] for f in listed["targets"]]
    for law, formats in ((pieces, None), (ways, None), (stores, None), (ranges, None), (cuts, ONE_FILE), (mutants, None)):
        if t.args.sanitized and law is not mutants:
            continue
        for name, case in goldens(t, formats):
            if t.wanted("laws/%s %s" % (law.__name__, os.path.relpath(case, os.path.join(t.tests, "golden")))):
                if law is not cuts or os.path.isfile(case):
                    t.later(law, name, case)
