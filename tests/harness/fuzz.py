"""A short run of each libFuzzer target."""
import glob
import os


def one(t, name):
    env = {"BUILD": t.args.build, "MAKEFLAGS": "", "HOME": "/tmp"}
    r = t.run(["make", "BUILD=" + t.args.build, "FUZZ_SECONDS=%d" % t.args.fuzz_seconds, "fuzz-" + name], cwd=t.root,
              env=env, timeout=t.args.fuzz_seconds + 900, limit=False)
    text = (r.out + r.err).decode("utf-8", "replace")
    if r.code == 0:
        t.ok()
    else:
        lines = [line for line in text.splitlines() if "ERROR" in line or "error:" in line or "Test unit written" in line]
        t.fail("fuzz/" + name, "; ".join(lines[:3]) or "exit code %s" % r.code, text[-6000:])


def run(t):
    for source in sorted(glob.glob(os.path.join(t.tests, "fuzz", "fuzz_*.c"))):
        name = os.path.basename(source)[len("fuzz_"):-2]
        if t.wanted("fuzz/" + name):
            one(t, name)
