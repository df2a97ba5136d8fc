#!/usr/bin/env python3
"""
peer.py UFTRACE [NAME...]: writes what that uftrace (0.19) prints into tests/style/uftrace/NAME.txt, for the commands that
stand there, a line `$ COMMAND` each. The data are tests/style/uftrace/NAME/; lines of advice ("Usage: ...") that uftrace
mixes into its output are left out. The name uftrace-diff stands for tests/style/uftrace-diff.txt: lines `$ A B OPTIONS` for
`uftrace report -d A --diff B OPTIONS` in tests/golden/uftrace, printed by uftrace 0.13, which recorded A and B.
"""
import os
import re
import shlex
import subprocess
import sys

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "style", "uftrace")


def output(uftrace, name, command):
    words = shlex.split(command)
    run = subprocess.run([uftrace, words[0], "--no-pager", "-d", name, *words[1:]], cwd=HERE, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return re.sub(r"^Usage: .*\n", "", run.stdout.decode("utf-8"), flags=re.M)


def differences(uftrace):
    path = os.path.join(HERE, "..", "uftrace-diff.txt")
    with open(path, encoding="utf-8") as f:
        commands = [line[2:].rstrip("\n") for line in f if line.startswith("$ ")]
    with open(path, "w", encoding="utf-8") as f:
        for command in commands:
            a, b, *options = shlex.split(command)
            run = subprocess.run([uftrace, "report", "--no-pager", "-d", a, "--diff", b, *options], stdin=subprocess.DEVNULL,
                                 cwd=os.path.join(HERE, "..", "..", "golden", "uftrace"), stdout=subprocess.PIPE, check=True)
            f.write("$ %s\n%s" % (command, run.stdout.decode("utf-8")))


def main():
    if sys.argv[2:] == ["uftrace-diff"]:
        differences(sys.argv[1])
        return
    for path in sys.argv[2:] or sorted(f[:-4] for f in os.listdir(HERE) if f.endswith(".txt")):
        with open(os.path.join(HERE, path + ".txt"), encoding="utf-8") as f:
            commands = [line[2:].rstrip("\n") for line in f if line.startswith("$ ")]
        with open(os.path.join(HERE, path + ".txt"), "w", encoding="utf-8") as f:
            for command in commands:
                f.write("$ %s\n%s" % (command, output(sys.argv[1], path, command)))


main()
