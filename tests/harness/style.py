"""
--style=uftrace and --style=llvm-xray against the outputs that these tools themselves printed, byte for byte; and against the
installed llvm-xray on generated logs.

style/exceptions.tsv lists outputs (PATH<TAB>REASON) where the tool is wrong or the output is out of scope; one that turns
out equal is a failure too, so that the list stays true. Paths of XRay logs begin with xray/.

Tested by them: SPEC uftrace/time-unit, SPEC uftrace/shown-levels (deep-maxstack), SPEC uftrace/range-column, SPEC uftrace/range-start
and SPEC uftrace/range-end (filters), SPEC uftrace/small-negative, SPEC uftrace/enum-text and SPEC uftrace/string-text (args-*), SPEC uftrace/dump-seconds, SPEC uftrace/dump-perf,
SPEC uftrace/dump-blank-line, SPEC uftrace/open-end, SPEC uftrace/recursion and SPEC uftrace/task-idle (report),
SPEC uftrace/sample-time (flame.txt), SPEC uftrace/task-start (info-task.txt); SPEC uftrace/focus, SPEC uftrace/quiet-events,
SPEC uftrace/off-events, SPEC uftrace/hidden-fork and SPEC uftrace/flat (own); SPEC uftrace/diff-policy, SPEC uftrace/diff-order,
SPEC uftrace/diff-sign, SPEC uftrace/diff-heading, SPEC uftrace/diff-size and SPEC uftrace/diff-events (uftrace-diff).
SPEC xray/account-calls, SPEC xray/account-ranks, SPEC xray/account-seconds, SPEC xray/account-text, SPEC xray/account-csv.
"""
import glob
import os
import re
import shlex
import shutil

from harness import core

RECORDED = {
    "replay.txt": "replay",
    "replay-fields.txt": "replay -f all",
    "replay-flat.txt": "replay --flat",
    "report.txt": "report",
    "report-fields.txt": "report -f total,total-avg,total-min,total-max,self,self-avg,self-min,self-max,call,size,total-stdv,self-stdv",
    "report-task.txt": "report --task",
    "graph.txt": "graph",
    "graph-task.txt": "graph --task",
    "dump.txt": "dump",
    "dump-v.txt": "dump -v",
    "chrome.json": "dump --format=chrome",
    "flame.txt": "dump --format=flame-graph",
    "mermaid.html": "dump --format=mermaid",
    "graph.dot": "dump --format=graphviz",
    "info.txt": "info",
    "info-task.txt": "info --task",
}
COMMANDS = ("replay", "report", "graph", "dump", "info")
# What llvm-xray account printed, as options of ours. The CSV was made with -sort=sum -sortorder=dsc.
ACCOUNTS = {"account.txt": [], "account-d.txt": [], "account.csv": ["--csv", "--sort=-sum"]}
# What is asked of the installed llvm-xray and of ours.
QUESTIONS = [
    ("text", [], []),
    ("csv", ["-format=csv"], ["--csv"]),
    ("sum", ["-sort=sum", "-sortorder=dsc"], ["--sort=-sum"]),
    ("top", ["-top=10"], ["--limit=10"]),
]
# Logs without a program that the installed llvm-xray reads right.
LOGS = ("repro-account-17-buffers/one2", "repro-account-17-buffers/one10", "own-recorder-v5", "old-writers/v4-plain",
        "synth/basic-v1-be", "synth/basic-v1-le", "synth/basic-v2-le", "synth/basic-v3-be", "synth/basic-v3-le",
        "synth/fdr-v2-le", "synth/fdr-v3-le", "synth/fdr-v5-le")


# Goldens of which llvm-xray graph-diff reads both: one thread, several, exceptions, versions, two builds.
GRAPH_PAIRS = (("own-compare-before", "own-compare-after"), ("own-compare-after", "own-compare-before"), ("fdr-threads", "basic-threads"),
               ("fdr-cxx", "fdr-simple-emu"), ("fdr-tail", "fdr-simple-emu"), ("synth-fdr-v5-le", "synth-basic-v3-le"), ("fdr-cxx", "fdr-cxx"))


def exceptions(t, xray):
    text = core.read(os.path.join(t.tests, "style", "exceptions.tsv")) or b""
    rows = [line.split("\t") for line in text.decode().splitlines() if line and not line.startswith("#")]
    return {path: reason for path, reason in rows if path.startswith("xray/") == xray}


def one(t, folder, path, argv, want, reason, codes=(0, 3)):
    r = t.run([t.spur] + argv, cwd=folder)
    why, detail = r.trouble(), r.err.decode("utf-8", "replace")
    if not why and r.code not in codes and not (reason and r.code == 2):
        why = "exit code: expected one of " + str(codes) + ", found %s: %.200s" % (r.code, ascii(detail.strip()))
    if not why:
        why, detail = core.differ(want, r.out)
        if reason is not None:
            why = None if why else "stale exception: equal now"
    t.verdict("style/" + path, why, detail)


def run_xray(t):
    folder = os.path.join(t.traces, "xray")
    if not os.path.isdir(folder):
        t.skip("style/xray", "no recorded outputs: set SPUR_TRACES")
        return
    known = exceptions(t, True)
    seen = set()
    for out in sorted(glob.glob(os.path.join(folder, "*", "account*"))):
        name, file = os.path.relpath(out, folder).split("/")
        path = "xray/%s/%s" % (name, file)
        if file not in ACCOUNTS:
            continue
        seen.add(path)
        if t.wanted("style/" + path):
            argv = ["report", "--style=llvm-xray", "--binary=" + name + "/prog", *ACCOUNTS[file], name + "/trace.xray"]
            t.later(one, folder, path, argv, core.read(out), known.get(path))
    for path in sorted(set(known) - seen):
        t.fail("style/" + path, "exception for an output that does not exist")


def compare(t, name, log, program):
    """llvm-xray against ours, now."""
    for what, theirs, ours in QUESTIONS:
        path = "xray/%s/%s" % (name, what)
        peer = t.run(["llvm-xray", "account", *theirs, *(["-instr_map=" + program] if program else []), log])
        if peer.code != 0:
            t.fail("style/" + path, "llvm-xray: %.200s" % ascii(peer.err.decode("utf-8", "replace")))
            continue
        argv = ["report", "--style=llvm-xray", *ours, *(["--binary=" + program] if program else []), log]
        one(t, t.root, path, argv, peer.out, None)


def generated(t):
    """A log of one thread in few buffers; names where clang makes the program."""
    with t.temp() as d:
        log, program = os.path.join(d, "log"), os.path.join(d, "program")
        made = [t.run([os.path.join(t.build, "gen-xray"), "-n", "600000", "-t", "1", "-b", "1000000", log])]
        made.append(t.run([os.path.join(t.build, "gen-xray"), "-c", program + ".c"]))
        if shutil.which("clang"):
            made.append(t.run(["clang", "-g", "-fxray-instrument", "-o", program, program + ".c"]))
        wrong = [r for r in made if r.code != 0]
        if wrong:
            t.fail("style/xray/generated", "not made: %.200s" % ascii(wrong[0].err.decode("utf-8", "replace")))
        else:
            compare(t, "generated", log, program if os.path.exists(program) else None)


def run_llvm_xray(t):
    logs = [(name, os.path.join(t.traces, "xray", name + ".xray")) for name in LOGS]
    logs = [(name, path) for name, path in logs if os.path.exists(path) and t.wanted("style/xray/" + name)]
    if not shutil.which("llvm-xray"):
        t.skip("style/xray/generated", "no llvm-xray")
        return
    if t.wanted("style/xray/generated"):
        t.later(generated)
    for name, path in logs:
        t.later(compare, name, path, None)


def graph_parts(text):
    """Of the DOT of llvm-xray graph-diff, whatever the order and the numbers: heading, vertices, edges between vertices."""
    vertices, edges, rest = {}, [], []
    for line in text.splitlines():
        edge = re.match(r"(F\d+) -> (F\d+) \[(.*)\]$", line)
        vertex = re.match(r"(F\d+) \[(.*)\]$", line)
        if edge:
            edges.append(edge.groups())
        elif vertex:
            vertices[vertex.group(1)] = vertex.group(2)
        else:
            rest.append(line)
    lines = sorted("%s\n  -> %s\n  %s" % (vertices[a], vertices[b], text) for a, b, text in edges)
    return "\n".join(rest + sorted(vertices.values()) + lines).encode()


def graph_diff(t, a, b, stats):
    """llvm-xray graph-diff against ours, now. SPEC xray/graph-ranks, SPEC xray/graph-change, SPEC xray/graph-color."""
    path = "xray-diff/%s/%s/%s" % (a, b, "-".join(stats))
    logs = [os.path.join(t.tests, "golden", "xray", name, "in") for name in (a, b)]
    options = ["--%s=%s" % pair for pair in zip(("vertex-label", "vertex-color", "edge-label", "edge-color"), stats)]
    peer = t.run(["llvm-xray", "graph-diff", "-d", "-k", *options, *logs])
    ours = t.run([t.spur, "diff", "-q", "--style=llvm-xray", *options, *logs])
    why = ours.trouble() or (None if peer.code == ours.code == 0 else "exit codes %s and %s" % (peer.code, ours.code))
    t.verdict("style/" + path, why or core.differ(graph_parts(peer.out.decode()), graph_parts(ours.out.decode()))[0])


def run_graph_diff(t):
    if not shutil.which("llvm-xray"):
        t.skip("style/xray-diff", "no llvm-xray")
        return
    words = ("none", "count", "min", "med", "90p", "99p", "max", "sum")
    for a, b in GRAPH_PAIRS:
        for i in range(len(words)):
            if t.wanted("style/xray-diff/%s/%s" % (a, b)):
                t.later(graph_diff, a, b, [words[(i + k * (i | 1)) % len(words)] for k in range(4)])


def own_outputs(t):
    """(recording, command, output) of tests/style/uftrace/NAME.txt: what uftrace 0.19 prints of NAME/, see record/peer.py."""
    for path in sorted(glob.glob(os.path.join(t.tests, "style", "uftrace", "*.txt"))):
        name = os.path.basename(path)[:-len(".txt")]
        command, text = None, []
        for line in (core.read(path) or b"").splitlines(keepends=True) + [b"$ "]:
            if line.startswith(b"$ "):
                if command:
                    yield name, command, b"".join(text)
                command, text = line[2:].decode().strip(), []
            else:
                text.append(line)


def run_own(t):
    folder = os.path.join(t.tests, "style", "uftrace")
    known = {path: why for path, why in exceptions(t, False).items() if path.startswith("own/")}
    seen = set()
    for name, command, want in own_outputs(t):
        path = "own/%s/%s" % (name, command)
        seen.add(path)
        if t.wanted("style/" + path):
            argv = shlex.split(command)
            t.later(one, folder, path, argv[:1] + ["--style=uftrace", "-q", "-d", name] + argv[1:], want, known.get(path), (0, 1))
    for path in sorted(set(known) - seen):
        t.fail("style/" + path, "exception for an output that does not exist")


def run_diff(t):
    """What uftrace 0.13 prints of two goldens, see record/peer.py."""
    text = (core.read(os.path.join(t.tests, "style", "uftrace-diff.txt")) or b"").decode()
    for part in re.split(r"(?m)^\$ ", text)[1:]:
        command, want = part.split("\n", 1)
        path = "uftrace-diff/" + command
        if t.wanted("style/" + path):
            argv = ["diff", "--style=uftrace", "-q", *shlex.split(command)]
            t.later(one, os.path.join(t.tests, "golden", "uftrace"), path, argv, want.encode(), None)


def of_spur(argv):
    """The same question to spur: `uftrace report -d A --diff B` is `spur diff A B`."""
    if "--diff" not in argv:
        return argv[:1] + ["--style=uftrace"] + argv[1:]
    rest = list(argv[1:])
    pair = []
    for option in ("-d", "--diff"):
        at = rest.index(option)
        pair.append(rest[at + 1])
        del rest[at:at + 2]
    return ["diff", "--style=uftrace", *rest, *pair]


def run(t):
    run_uftrace(t)
    run_own(t)
    run_diff(t)
    run_xray(t)
    run_llvm_xray(t)
    run_graph_diff(t)


def run_uftrace(t):
    folder = os.path.join(t.traces, "uftrace")
    if not os.path.isdir(folder):
        t.skip("style", "no recorded outputs: set SPUR_TRACES")
        return
    known = {path: why for path, why in exceptions(t, False).items() if not path.startswith("own/")}
    seen = set()
    tests = []
    for out in sorted(glob.glob(os.path.join(folder, "*.out", "*"))):
        name, file = os.path.relpath(out, folder).split("/")
        if name == "filters.out":
            first, rest = core.read(out).split(b"\n", 1)
            argv = shlex.split(first.decode())[1:]
            want = rest[:rest.rstrip(b"\n").rfind(b"\nrc=") + 1] if b"\nrc=" in rest else b""
        elif file in RECORDED:
            argv = shlex.split(RECORDED[file])
            argv = argv[:1] + ["-d", name[:-len(".out")]] + argv[1:]
            want = core.read(out)
        else:
            continue
        tests.append((name + "/" + file, argv, want))
    for path, argv, want in tests:
        seen.add(path)
        if not t.wanted("style/" + path):
            continue
        if argv[0] not in COMMANDS:
            t.verdict("style/" + path, None if path in known else "uftrace %s is not listed as an exception" % argv[0])
            continue
        data = argv[argv.index("-d") + 1]
        if not os.path.isdir(os.path.join(folder, data)):
            t.skip("style/" + path, "its data directory is not kept")
            continue
        t.later(one, folder, path, of_spur(argv), want, known.get(path))
    for path in sorted(set(known) - seen):
        t.fail("style/" + path, "exception for an output that does not exist")
