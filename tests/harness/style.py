"""
--style=uftrace against the outputs that uftrace itself printed, byte for byte.

style/exceptions.tsv lists outputs (PATH<TAB>REASON) where uftrace is wrong or the output is out of scope; one that turns
out equal is a failure too, so that the list stays true.

Tested by them: SPEC uftrace/time-unit, SPEC uftrace/shown-levels (deep-maxstack), SPEC uftrace/range-column, SPEC uftrace/range-start
and SPEC uftrace/range-end (filters), SPEC uftrace/small-negative, SPEC uftrace/enum-text and SPEC uftrace/string-text (args-*), SPEC uftrace/dump-seconds, SPEC uftrace/dump-perf,
SPEC uftrace/dump-blank-line, SPEC uftrace/open-end, SPEC uftrace/recursion and SPEC uftrace/task-idle (report),
SPEC uftrace/sample-time (flame.txt).
"""
import glob
import os
import shlex

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
}
COMMANDS = ("replay", "report", "graph", "dump")


def exceptions(t):
    text = core.read(os.path.join(t.tests, "style", "exceptions.tsv")) or b""
    rows = [line.split("\t") for line in text.decode().splitlines() if line and not line.startswith("#")]
    return {path: reason for path, reason in rows}


def one(t, folder, path, argv, want, reason):
    r = t.run([t.spur] + argv[:1] + ["--style=uftrace"] + argv[1:], cwd=folder)
    why, detail = r.trouble(), r.err.decode("utf-8", "replace")
    if not why and r.code not in (0, 3) and not (reason and r.code == 2):
        why = "exit code: expected 0 or 3, found %s: %.200s" % (r.code, ascii(detail.strip()))
    if not why:
        why, detail = core.differ(want, r.out)
        if reason is not None:
            why = None if why else "stale exception: equal now"
    t.verdict("style/" + path, why, detail)


def run(t):
    folder = os.path.join(t.traces, "uftrace")
    if not os.path.isdir(folder):
        t.skip("style", "no recorded outputs: set SPUR_TRACES")
        return
    known = exceptions(t)
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
        t.later(one, folder, path, argv, want, known.get(path))
    for path in sorted(set(known) - seen):
        t.fail("style/" + path, "exception for an output that does not exist")
