"""
Laws that hold for every trace, over the goldens and changed copies of them; all choices are made with fixed seeds.

mutants: each command on traces with bytes flipped, cut off, put in: a stated exit code, in bounded time and memory, and the same
output with one and two threads and in pieces of 7 bytes.
laws: pieces of any size give what the whole gives; one thread what two give; the rows of a trace that is cut are those of the whole
up to there; a flipped byte changes no row before it (as stored); a range of time is the sum of its parts.
"""
import glob
import json
import os
import random
import resource
import shutil
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
    env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": "/nonexistent", "LC_ALL": "C", "TZ": "UTC"}
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


def run(t):
    for law, formats in ((pieces, None), (ranges, None), (cuts, ONE_FILE), (mutants, None)):
        if t.args.sanitized and law is not mutants:
            continue
        for name, case in goldens(t, formats):
            if t.wanted("laws/%s %s" % (law.__name__, os.path.relpath(case, os.path.join(t.tests, "golden")))):
                if law is not cuts or os.path.isfile(case):
                    t.later(law, name, case)
