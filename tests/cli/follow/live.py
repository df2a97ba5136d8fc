"""For the cases of --follow: a program that runs, and bounded waits for what it writes."""
import os
import signal
import subprocess
import sys
import time

PATIENCE = 15  # seconds: only a failure takes that long


class Live:
    def __init__(self, *args, stdin=None):
        self.out, self.err = open("out.txt", "w+b"), open("err.txt", "w+b")
        self.p = subprocess.Popen([os.environ["SPUR"], *args], stdin=stdin or subprocess.DEVNULL, stdout=self.out, stderr=self.err)

    def lines(self, n):
        """Says so when there are `n` lines of output, no more and no less."""
        until = time.monotonic() + PATIENCE
        while True:
            ended = self.p.poll() is not None  # first: what is read then is all
            have = open("out.txt", "rb").read().count(b"\n")
            if have >= n or time.monotonic() > until or ended:
                break
            time.sleep(0.01)
        print("%d lines" % have if have == n else "expected %d lines, found %d, exit code %s" % (n, have, self.p.poll()))
        sys.stdout.flush()

    def catches(self):
        for line in open("/proc/%d/status" % self.p.pid):
            if line.startswith("SigCgt:"):
                return int(line.split()[1], 16) >> (signal.SIGINT - 1) & 1
        return False

    def waits(self):
        """Whether it is asleep: it has done what it could with what is there."""
        return open("/proc/%d/stat" % self.p.pid).read().rsplit(")", 1)[1].split()[0] == "S"

    def stop(self):
        """Ctrl-C, once it is there to be caught, and the program has come to where it waits for input."""
        until = time.monotonic() + PATIENCE
        quiet = 0
        while self.p.poll() is None and quiet < 4 and time.monotonic() < until:
            quiet = quiet + 1 if self.catches() and self.waits() else 0
            time.sleep(0.01)
        self.p.send_signal(signal.SIGINT)

    def end(self):
        """Exit code and what was said."""
        try:
            print("exit code", self.p.wait(PATIENCE))
        except subprocess.TimeoutExpired:
            self.p.kill()
            print("still running")
        print(open("err.txt").read(), end="")
        sys.stdout.flush()


def append(path, data):
    with open(path, "ab", buffering=0) as f:
        f.write(data)
