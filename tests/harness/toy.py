"""
A format, a writer, an analysis, a layout, a command, each with what belongs to it, is a file or a folder more, and no file of others
changes: tests/toy has one of each, which are put beside a copy of the sources. The copy is built, and what it has of toys is run.
"""
import os
import shutil
import subprocess

from harness import core

# The checks that look at every source.
CHECKS = ["check-floors", "check-formats", "check-style", "spec-coverage"]


def copy_tree(t, to):
    """The files that are or could be committed; returns the paths of toys."""
    r = subprocess.run(["git", "-C", t.root, "ls-files", "-co", "--exclude-standard"], stdout=subprocess.PIPE, check=False)
    for path in r.stdout.decode().splitlines():
        traces = ("/in/" in path or "/expect/" in path or path.startswith("tests/style/")) and not path.endswith("cmds")
        if not traces and os.path.isfile(os.path.join(t.root, path)):
            os.makedirs(os.path.dirname(os.path.join(to, path)), exist_ok=True)
            shutil.copy2(os.path.join(t.root, path), os.path.join(to, path))
    toys = []
    top = os.path.join(t.tests, "toy")
    for folder, _, files in os.walk(top):
        for name in files:
            path = os.path.relpath(os.path.join(folder, name), top)
            toys.append(path)
            os.makedirs(os.path.dirname(os.path.join(to, path)), exist_ok=True)
            shutil.copy2(os.path.join(top, path), os.path.join(to, path))
    return toys


def step(t, name, argv, tree, want=b"", timeout=900):
    """Runs a program in the copy; its output must have `want`. Returns whether all is well."""
    env = {"HOME": "/tmp", "MAKEFLAGS": "", "CC": os.environ.get("CC", "cc"), "SPUR_TRACES": t.traces}
    env.update({k: v for k, v in os.environ.items() if k.startswith("CCACHE")})
    r = t.run(argv, cwd=tree, env=env, timeout=timeout, limit=False)
    text = (r.out + r.err).decode("utf-8", "replace")
    why = r.trouble() or (None if r.code == 0 else "exit code %s: %s" % (r.code, text[-300:]))
    if not why and want not in r.out:
        why = "found %.200r" % r.out[-200:]
    t.verdict("toy/" + name, why, text[-4000:])
    return not why


# A column of report, as one line of the list of columns, and the line that it follows.
COLUMN = '	NUMBER(TOYS, "toys", COUNT, false, table_u64(3 * s->calls))     \\\n'
BEHIND = "	NUMBER(UNFINISHED, "


def add_column(t, tree):
    """Adds the column to the list in the copy."""
    path = os.path.join(tree, "src/pass/report.h")
    lines = core.read(path).decode().splitlines(keepends=True)
    at = [i for i, line in enumerate(lines) if line.startswith(BEHIND)]
    t.verdict("toy/column list", None if len(at) == 1 else "expected one line %r, found %s" % (BEHIND, at))
    with open(path, "w", encoding="utf-8") as f:
        f.write("".join(lines[:at[0] + 1] + [COLUMN] + lines[at[0] + 1:]))


def check_column(t, tree):
    """The line is all that text, CSV, JSON, --fields, --sort, help and completion need."""
    spur, trace = os.path.join(tree, "build/spur"), os.path.join(t.tests, "golden/uftrace/forkexec/in")
    r = t.run([spur, "report", "--csv", "-f", "toys,calls,function", "-s", "-toys", trace], timeout=60)
    rows = [line.split(",") for line in r.out.decode().splitlines()]
    good = len(rows) > 3 and rows[0] == ["toys", "calls", "function"] and all(int(x[0]) == 3 * int(x[1]) > 0 for x in rows[1:])
    good = good and sorted(rows[1:], key=lambda x: int(x[0])) == rows[1:]
    t.verdict("toy/column csv", None if good else "found %s" % rows[:5])
    for name, argv, want in (
            ("text", [spur, "report", "-n", "1", "-f", "toys,function", trace], b"toys  function\n"),
            ("json", [spur, "report", "--jsonl", "-n", "1", "-f", "toys", trace], b'{"toys":'),
            ("help", [spur, "report", "--help"], b"toys"),
            ("completion", [spur, "completion", "bash"], b"toys")):
        step(t, "column " + name, argv, tree, want)


def one(t):
    with t.temp() as tree:
        toys = copy_tree(t, tree)
        over = [path for path in toys if os.path.exists(os.path.join(t.root, path))]
        t.verdict("toy/files", "exist: %s" % over[:3] if over else None)
        add_column(t, tree)
        make = ["make", "--no-print-directory", "QUIET=1", "-j2", "OPT=-O0"]
        if not step(t, "build", [*make, "all", "build/gen-toy", "build/tests/test_toy", "build/tests/spur-faults"], tree):
            return
        run = ["tests/run", "--build=build", "-j2"]
        step(t, "tests", [*run, "-k", "toy", "golden", "cli", "unit", "alloc"], tree, b" 0 failed")
        for check in CHECKS:
            step(t, check, ["tools/" + check], tree)
        check_column(t, tree)
        step(t, "fuzzer", ["make", "-n", "fuzz-toy"], tree, b"fuzz_toy.c")
        step(t, "help", ["make", "help"], tree, b"make fuzz-toy")
        step(t, "bench", ["bench/run", "--build=build", "--quick", "--runs=1", "--threads=1", "--format=toy"], tree, b"| count | spur, 1 thread |")
        step(t, "man", [*make, "man"], tree)
        t.verdict("toy/man page", None if core.read(os.path.join(tree, "build/man/spur-plaything.1")) else "no page of the command")


def run(t):
    if t.wanted("toy"):
        t.later(one)
