"""
A short run of each libFuzzer target, and a third of it with failing allocations and threads (fuzz_NAME-faults). It tries the
same inputs each time, so that a change is judged by what it changed; `make fuzz-NAME` looks for new ones.
"""
import glob
import os

# The seed of the choice of inputs, and a bound for machines that try more than others in the time.
FIXED = "-seed=1 -runs=20000"


def make(t, target, timeout, seconds=0):
    argv = ["make", "--no-print-directory", "BUILD=" + t.args.build, "FUZZ_SECONDS=%d" % seconds, "FUZZ_FIXED=%s" % FIXED, target]
    return t.run(argv, cwd=t.root, env={"MAKEFLAGS": "", "HOME": "/tmp"}, timeout=timeout, limit=False)


def one(t, name):
    seconds = max(1, t.args.fuzz_seconds // 3) if name.endswith("-faults") else t.args.fuzz_seconds
    r = make(t, "fuzz-" + name, seconds + 300, seconds)
    if r.code == 0:
        t.ok()
        return
    text = (r.out + r.err).decode("utf-8", "replace")
    lines = [line for line in text.splitlines() if "ERROR" in line or "error:" in line or "Test unit written" in line]
    t.fail("fuzz/" + name, "; ".join(lines[:3]) or "exit code %s" % r.code, text[-6000:])


def run(t):
    names = [os.path.basename(p)[len("fuzz_"):-2] for p in sorted(glob.glob(os.path.join(t.tests, "fuzz", "fuzz_*.c")))]
    names = [n for n in [*names, *(n + "-faults" for n in names)] if t.wanted("fuzz/" + n)]
    if not names:
        return
    # At once, as makes beside each other would build the library several times.
    r = make(t, "fuzzers", 1800)
    if r.code:
        t.fail("fuzz", "not built: exit code %s" % r.code, r.err.decode("utf-8", "replace")[-3000:])
        return
    for name in names:
        t.later(one, name)
