"""Checks of the sources: each program is one test."""
import os

from harness import floors, leaks

CHECKS = [
    ["tools/check-floors"],
    ["tools/check-formats"],
    ["tools/check-style"],
    ["tools/check-words"],
    ["tools/check-unused"],
    ["tools/spec-coverage"],
    ["tools/check-page"],
    ["tools/man3", "--check"],
    ["tools/check-musl"],
    ["tools/run-cppcheck"],
]
SKIPPED = 77


def one(t, argv):
    if argv[0] == "tools/check-unused":
        argv = [*argv, t.build]
    r = t.run(argv, cwd=t.root, timeout=900, limit=False)
    if r.code == 0:
        t.ok()
        return
    if r.code == SKIPPED:
        t.skip("lint/" + os.path.basename(argv[0]), r.out.decode("utf-8", "replace").strip())
        return
    text = (r.out + r.err).decode("utf-8", "replace").strip()
    for line in text.splitlines():
        print("  " + line)
    t.fail(os.path.basename(argv[0]), "exit code %s" % r.code)


def run(t):
    for argv in CHECKS:
        if t.wanted("lint/" + os.path.basename(argv[0])):
            t.later(one, argv)
    floors.run(t)
    leaks.run(t)
