"""
Allocations that fail: each test of tests/cli again, with tests/harness/faulty as its spur, which runs every command of the script
with the n-th allocation failing, once alone and once with all that follow it. n goes over all allocations where these are few, else
over a sample that is the same in each run.
"""
import os

from harness import core

# Of one command, of all commands of a script. ALLOC_SECONDS=60 tries every allocation of almost every command, which takes an hour.
SECONDS = float(os.environ.get("ALLOC_SECONDS", 0.1))
TOTAL = 5 * SECONDS
# Tests whose commands take long, wait for others, or record, which gives another file each time: what they run is tried by the rest.
SLOW = ("record-", "tracing", "live", "follow", "async", "progress", "ten-thousand-tasks", "ctf-many-classes", "memory-bounded", "ctf-bombs", "interrupt",
        "background", "install-deps", "memory-", "copies-exit", "example-", "pager", "ctf-sparse-stream", "ctf-slow-search", "view-", "join-names")


def one(t, name):
    case = os.path.join(t.tests, "cli", name)
    faulty = os.path.join(t.tests, "harness", "faulty")
    with t.temp() as tmp:
        work, log = os.path.join(tmp, "work"), os.path.join(tmp, "log")
        os.mkdir(work)
        env = {"SPUR": faulty, "FAULTY_SPUR": os.path.join(t.build, "tests", "spur-faults"), "FAULTY_LOG": log,
               "FAULTY_SECONDS": str(SECONDS), "FAULTY_TOTAL": str(TOTAL), "TESTS": t.tests, "EXAMPLES": "", "BUILD": t.build, "SPUR_TRACES": t.traces,
               "SANITIZED": "1" if t.args.sanitized else ""}
        t.run(["sh", os.path.join(case, "cmd")], cwd=work, env=env, timeout=300 + 2 * TOTAL, limit=False)
        lines = (core.read(log) or b"").decode("utf-8", "replace").splitlines()
    wrong = [line for line in lines if not line.startswith("tried ")]
    t.verdict("alloc/" + name, "; ".join(wrong[:3]) or None, "\n".join(wrong))
    with t.lock:
        t.tried = getattr(t, "tried", 0) + sum(int(line.split()[1]) for line in lines if line.startswith("tried "))


def enough(t, names):
    """A law that nothing was tried against would hold. With sanitizers a run takes several times as long."""
    if t.tried < (3 if t.args.sanitized else 10) * len(names):
        t.fail("alloc", "only %d runs with a failing allocation" % t.tried)


def run(t):
    if not os.path.exists(os.path.join(t.build, "tests", "spur-faults")):
        t.fail("alloc", "there is no spur-faults: make test-programs")
        return
    names = [n for n in sorted(os.listdir(os.path.join(t.tests, "cli"))) if t.wanted("alloc/" + n) and not n.startswith(SLOW)]
    for n in names:
        t.later(one, n)
    if len(names) > 20:
        t.at_end(enough, t, names)
