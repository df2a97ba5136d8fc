"""Runs tests/record/provider.c and reads what was recorded of it, for tests of sessions and snapshots."""
import collections
import json
import os
import select
import subprocess
import time

SPUR = os.environ["SPUR"]
PATIENCE = 60
started = []


class Provider:
    def __init__(self, program="./provider", env=None, argv=None):
        self.p = subprocess.Popen(argv or [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
                                  env={**os.environ, **(env or {})})
        self.pid = self.p.pid
        started.append(self.p)

    def ask(self, line):
        """Does what the line says. Returns the answer."""
        self.p.stdin.write(line + "\n")
        self.p.stdin.flush()
        while True:
            if not select.select([self.p.stdout], [], [], PATIENCE)[0]:
                raise RuntimeError("no answer: " + line)
            answer = self.p.stdout.readline()
            if not answer:
                raise RuntimeError("the program has ended: " + line)
            if answer.split()[0] == line.split()[0]:
                return answer.strip()

    def end(self):
        self.p.stdin.close()
        rest = self.p.stdout.read()
        self.p.wait(PATIENCE)
        return rest.strip()


def kill_all():
    for p in started:
        if p.poll() is None:
            p.kill()
        p.wait()


def wait_for(what, why):
    """Waits until what() is true."""
    until = time.monotonic() + PATIENCE
    while not what():
        if time.monotonic() > until:
            raise RuntimeError("it takes too long: " + why)
        time.sleep(0.01)


def spur(*args, code=0):
    """Runs spur. Returns its standard output and error."""
    r = subprocess.run([SPUR, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
    if r.returncode != code:
        raise RuntimeError("spur %s: exit %d, expected %d: %s" % (" ".join(args), r.returncode, code, r.stderr))
    return r.stdout, r.stderr


class Recorded:
    """What a recording has: `numbers` by thread and name, `lost` events, `problems`."""
    def __init__(self, path):
        r = subprocess.run([SPUR, "cat", "--jsonl", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           timeout=PATIENCE)
        self.numbers = collections.defaultdict(list)
        self.lost = 0
        self.problems = r.stderr
        self.spans = 0
        for line in r.stdout.splitlines():
            e = json.loads(line)
            if e["kind"] == "INSTANT":
                self.numbers[(e["pid"], e["tid"], e["name"])].append(e["args"]["n"])
            elif e["kind"] == "LOST":
                self.lost += e["id"]
            elif e["kind"] in ("BEGIN", "END"):
                self.spans += 1

    def of(self, pid, name="number"):
        """The numbers that one process recorded on any thread."""
        return [n for key, numbers in self.numbers.items() if key[0] == pid and key[2] == name for n in numbers]

    def gaps(self):
        """True if the numbers of any thread are not consecutive."""
        return any(n != list(range(n[0], n[0] + len(n))) for n in self.numbers.values())
