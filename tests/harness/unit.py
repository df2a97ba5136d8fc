"""The cmocka programs of tests/unit: their own counts."""
import glob
import os
import re

# The exhaustive search of the recorder's orders takes minutes, more on a machine with much else to do.
SECONDS = 600


def one(t, name):
    program = os.path.join(t.build, "tests", name)
    if not os.path.exists(program):
        t.fail(name, "not built")
        return
    env = {"CMOCKA_MESSAGE_OUTPUT": "TAP", "SPUR_TRACES": t.traces}
    if t.args.sanitized:
        env["SANITIZED"] = "1"
    r = t.run([program], cwd=t.root, env=env, timeout=SECONDS, limit=False)
    text = (r.out + b"\n" + r.err).decode("utf-8", "replace")
    results = re.findall(r"^(ok|not ok) \d+ - (\S+)(.*)$", text, re.M)
    for status, test, rest in results:
        if "# SKIP" in rest or "# skip" in rest:
            t.skip("%s/%s" % (name, test), "unit test says so")
        elif status == "ok":
            t.ok()
        else:
            note = re.search(r"not ok \d+ - %s\n((?:#.*\n)*)" % re.escape(test), text)
            t.fail("%s/%s" % (name, test), "; ".join(note.group(1).replace("#", "").split("\n")).strip("; ")[:300] if note else "failed")
    if r.trouble():
        t.fail(name, r.trouble(), text[-4000:])
    elif not results:
        t.fail(name, "ran no test", text[-2000:])
    elif r.code != 0 and all(s == "ok" for s, _, _ in results):
        t.fail(name, "exit code %d though every test passed" % r.code, text[-2000:])


def run(t):
    for source in sorted(glob.glob(os.path.join(t.tests, "unit", "test_*.c"))):
        name = os.path.basename(source)[:-2]
        if t.wanted("unit/" + name):
            t.later(one, name)
