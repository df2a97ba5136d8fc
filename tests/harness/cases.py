"""
Cases in directories.

golden/FORMAT/CASE, bad/FORMAT/CASE: `in` is a trace, a directory or a file; `expect/cmds`, or else FORMAT/cmds, has
lines `OUTPUT<TAB>ARGUMENTS` with @IN@ for the trace. expect/OUTPUT is the exact stdout, OUTPUT.err the exact stderr (none: empty), OUTPUT.rc the exit
code (none: 0). `cat` and `report` must say the same whatever the read size and number of threads, and through FIFOs.

cli/NAME: `cmd` is a shell script run in an empty directory with SPUR, TESTS, SPUR_TRACES and (for example-*) EXAMPLES set; exit
code 77 skips it. stdout.exact or stdout.glob, stderr.exact or stderr.glob, exit. A glob has one fnmatch pattern a line; `...` is
any lines.
"""
import fnmatch
import glob
import json
import os
import re
import shlex
import shutil
import stat
import threading
import time
import xml.dom.minidom

from harness import core, install

REREAD = ("cat", "report")
SKIPPED = 77  # exit code of a cmd that lacks something; its stderr says what
PLAIN_VARIANTS = ["--read-size=1", "--read-size=7", "--read-size=4096", "--threads=1", "--threads=2"]
SANITIZED_VARIANTS = ["--read-size=7", "--threads=2"]


def commands(case):
    """[(output, arguments)] of a case."""
    for path in (os.path.join(case, "expect", "cmds"), os.path.join(os.path.dirname(case), "cmds")):
        text = core.read(path)
        if text is not None:
            break
    else:
        raise FileNotFoundError("no cmds for " + case)
    lines = [line.split("\t") for line in text.decode().splitlines() if line and not line.startswith("#")]
    return [(out, [a.replace("@IN@", "in") for a in shlex.split(args)]) for out, args in lines]


def valid(out, data):
    """None, or what is wrong with the output as its file name promises it."""
    bad = core.control_bytes(data)
    if bad:
        return bad
    try:
        if out.endswith(".jsonl"):
            for line in data.decode().splitlines():
                json.loads(line)
        elif out.endswith(".json") and data:
            json.loads(data)
        elif out.endswith(".svg") and data:
            xml.dom.minidom.parseString(data)
    except Exception as e:
        return "not valid %s: %s" % (out.rsplit(".", 1)[1], e)
    return None


def feed(path, data, done):
    """Writes `data` into a FIFO once it has a reader; gives up when the reader has ended."""
    while True:
        try:
            fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
            break
        except OSError:
            if done.is_set():
                return
            time.sleep(0.001)
    os.set_blocking(fd, True)
    try:
        while data:
            data = data[os.write(fd, data[:5000]):]
    except BrokenPipeError:
        pass
    os.close(fd)


def with_fifos(t, case, argv):
    """Runs with every .dat file, or the one file that the trace is, replaced by a FIFO."""
    with t.temp() as tmp:
        done = threading.Event()
        writers = []
        trace = os.path.join(case, "in")
        if os.path.isfile(trace):
            os.mkfifo(os.path.join(tmp, "in"))
            writers.append(threading.Thread(target=feed, args=(os.path.join(tmp, "in"), core.read(trace), done)))
        for folder, _, files in os.walk(os.path.join(case, "in")):
            there = os.path.join(tmp, os.path.relpath(folder, case))
            os.makedirs(there, exist_ok=True)
            for name in files:
                source, to = os.path.join(folder, name), os.path.join(there, name)
                if name.endswith(".dat") and stat.S_ISREG(os.stat(source).st_mode):
                    os.mkfifo(to)
                    writers.append(threading.Thread(target=feed, args=(to, core.read(source), done)))
                else:
                    shutil.copy(source, to, follow_symlinks=False)
        for w in writers:
            w.start()
        r = t.run([t.spur] + argv, cwd=tmp, timeout=20)
        done.set()
        for w in writers:
            w.join()
        return r


def compare(t, name, case, out, r):
    """None, or (why, detail): against the three files of an output."""
    base = os.path.join(case, "expect", out)
    want = core.read(base)
    if want is None:
        return "no expected output: tests/run --set-exact %s" % name, None
    code = int(core.read(base + ".rc") or b"0")
    for what, a, b in (("stdout", want, r.out), ("stderr", core.read(base + ".err") or b"", r.err)):
        why, detail = core.differ(a, b)
        if why:
            return "%s: %s" % (what, why), detail
    if r.code != code:
        return "exit code: expected %d, found %s" % (code, r.code), None
    return None


def record(case, out, r):
    base = os.path.join(case, "expect", out)
    core.write(base, r.out)
    for suffix, data in ((".err", r.err), (".rc", b"%d\n" % r.code if r.code else b"")):
        if data:
            core.write(base + suffix, data)
        else:
            core.remove(base + suffix)


def again(t, name, case, argv, first):
    """The same command read in other ways must do the same."""
    variants = SANITIZED_VARIANTS if t.args.sanitized else PLAIN_VARIANTS
    runs = [(v, lambda v=v: t.run([t.spur] + argv + [v], cwd=case)) for v in variants]
    if os.path.isfile(os.path.join(case, "in")) or glob.glob(os.path.join(case, "in", "*.dat")):
        runs.append(("FIFOs", lambda: with_fifos(t, case, argv)))
    for how, run in runs:
        r = run()
        why = r.trouble()
        detail = None
        if not why and r.code != first.code:
            why = "exit code: expected %s, found %s" % (first.code, r.code)
        for what, a, b in (("stdout", first.out, r.out), ("stderr", first.err, r.err)):
            if not why:
                why, detail = core.differ(a, b)
                why = why and "%s: %s" % (what, why)
        t.verdict("%s %s" % (name, how), why, detail)


def one_command(t, case, out, argv, must_be_bad):
    name = "%s/%s" % (os.path.relpath(case, t.tests), out)
    r = t.run([t.spur] + argv, cwd=case)
    why, detail = r.trouble() or valid(out, r.out), None
    if not why:
        why = core.control_bytes(r.err)
    if not why and must_be_bad and r.code not in (0, 3, 4):
        why = "exit code: expected 0, 3 or 4, found %s: %r" % (r.code, r.err[:200])
    if not why and r.code != 0 and not r.err:
        why = "exit code %d without a message on stderr" % r.code
    if t.args.set_exact is not None and not why:
        record(case, out, r)
    if not why:
        why, detail = compare(t, name, case, out, r) or (None, None)
    t.verdict(name, why, detail)
    if argv[0] in REREAD and t.args.set_exact is None:
        again(t, name, case, argv, r)


def no_strays(t, case, names):
    expect = os.path.join(case, "expect")
    known = {"cmds"} | {n + s for n in names for s in ("", ".err", ".rc")}
    strays = [f for f in (os.listdir(expect) if os.path.isdir(expect) else []) if f not in known]
    for f in strays:
        t.fail("%s/%s" % (os.path.relpath(case, t.tests), f), "expected output of no command")


def run_kind(t, kind):
    for case in sorted(glob.glob(os.path.join(t.tests, kind, "*", "*", ""))):
        case = case.rstrip("/")
        cmds = commands(case)
        no_strays(t, case, [out for out, _ in cmds])
        for out, argv in cmds:
            if t.wanted("%s/%s" % (os.path.relpath(case, t.tests), out)):
                t.later(one_command, case, out, argv, kind == "bad")


def run_golden(t):
    run_kind(t, "golden")


def run_bad(t):
    run_kind(t, "bad")


def glob_match(patterns, lines):
    """Lines against patterns, where the pattern `...` stands for any number of lines."""
    if not patterns:
        return not lines
    if patterns[0] == "...":
        return any(glob_match(patterns[1:], lines[i:]) for i in range(len(lines) + 1))
    return bool(lines) and fnmatch.fnmatchcase(lines[0], patterns[0]) and glob_match(patterns[1:], lines[1:])


def check_stream(case, what, data):
    pattern = core.read(os.path.join(case, what + ".glob"))
    if pattern is not None:
        if glob_match(pattern.decode().splitlines(), data.decode("utf-8", "backslashreplace").splitlines()):
            return None, None
        return "%s does not match %s.glob: %.200s" % (what, what, ascii(data.decode("utf-8", "replace"))), data.decode("utf-8", "replace")
    why, detail = core.differ(core.read(os.path.join(case, what + ".exact")) or b"", data)
    return why and "%s: %s" % (what, why), detail


def set_cli(case, r):
    for what, data in (("stdout", r.out), ("stderr", r.err)):
        if core.read(os.path.join(case, what + ".glob")) is None:
            if data:
                core.write(os.path.join(case, what + ".exact"), data)
            else:
                core.remove(os.path.join(case, what + ".exact"))
    if r.code:
        core.write(os.path.join(case, "exit"), b"%d\n" % r.code)
    else:
        core.remove(os.path.join(case, "exit"))


def one_cli(t, name, examples):
    case = os.path.join(t.tests, "cli", name)
    with t.temp() as tmp:
        env = {"SPUR": t.spur, "TESTS": t.tests, "EXAMPLES": examples or "", "BUILD": t.build, "SPUR_TRACES": t.traces,
               "SANITIZED": "1" if t.args.sanitized else ""}
        r = t.run(["sh", os.path.join(case, "cmd")], cwd=tmp, env=env, limit=not os.path.exists(os.path.join(case, "unlimited")))
        for what in ("out", "err"):
            text = getattr(r, what)
            for path, sign in ((t.spur, b"$SPUR"), (t.tests, b"$TESTS"), (tmp, b"$TMP")):
                text = text.replace(path.encode(), sign)
            text = re.sub(rb"(?m)^\S*/cmd: \d+: ", b"cmd: ", text)
            setattr(r, what, text)
    if r.code == SKIPPED:
        t.skip("cli/" + name, r.err.decode("utf-8", "replace").strip())
        return
    why, detail = r.trouble(), r.err.decode("utf-8", "replace")
    if not why and t.args.set_exact is not None:
        set_cli(case, r)
    for what, data in (("stdout", r.out), ("stderr", r.err)):
        if not why:
            why, detail = check_stream(case, what, data)
    code = int(core.read(os.path.join(case, "exit")) or b"0")
    if not why and r.code != code:
        why, detail = "exit code: expected %d, found %s" % (code, r.code), r.err.decode("utf-8", "replace")
    t.verdict("cli/" + name, why, detail)


def run_cli(t):
    names = [n for n in sorted(os.listdir(os.path.join(t.tests, "cli"))) if t.wanted("cli/" + n)]
    if t.args.sanitized:  # the examples are others' programs: they link the plain library
        names = [n for n in names if not n.startswith("example-")]
    examples = None
    if any(n.startswith("example-") for n in names):
        examples = install.build_examples(t)
    for n in names:
        if os.path.exists(os.path.join(t.tests, "cli", n, "cmd")):
            t.later(one_cli, n, examples)
        else:
            t.fail("cli/" + n, "has no cmd")
    if examples:
        t.at_end(shutil.rmtree, examples)
