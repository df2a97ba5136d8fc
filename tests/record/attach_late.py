#!/usr/bin/env python3
"""
Has the recorder leave tests/record/attach_late.c while a child is in fork(), while one was made without it, and while a library
is being loaded, and compares the code of all of them with that of their files.

attach_late.py SPUR PROGRAM LIBRARY
"""
import os
import re
import signal
import subprocess
import sys
import time

from attach import Program, Recorder, file_code


def changed(pid, path):
    """How many bytes of a file's code are others in the process."""
    count = 0
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        maps = [re.match(r"(\w+)-(\w+) (\S+) (\w+) \S+ \d+ *(.*)", line) for line in f]
    for offset, data in file_code(path):
        first = next(int(m[1], 16) for m in maps if m[5] == path and "x" in m[3] and int(m[4], 16) == offset & ~4095)
        with open(f"/proc/{pid}/mem", "rb") as mem:
            mem.seek(first + (offset & 4095))
            count += sum(a != b for a, b in zip(mem.read(len(data)), data))
    return count


def left(spur, path, output, commands, wait):
    """Records the program while it gets the commands. Returns it, and its answers if it is waited for them."""
    program = Program(path, False)
    recorder = Recorder([spur, "record", "-p", str(program.pid), "-o", output])
    recorder.wait_begin()
    print(output, "recorded", changed(program.pid, path) > 0)
    answers = []
    for line in commands:
        if wait:
            answers.append(int(program.command(line)))
        else:
            program.process.stdin.write(line.encode() + b"\n")
            program.process.stdin.flush()
            time.sleep(0.2)
    recorder.process.send_signal(signal.SIGTERM)
    recorder.wait_end()
    if "warning" in "".join(recorder.said):
        print("".join(recorder.said))
    print(output, "left", changed(program.pid, path))
    return program, answers


def main():
    spur, program, library = sys.argv[1], os.path.realpath(sys.argv[2]), os.path.realpath(sys.argv[3])
    process, children = left(spur, program, "forks.spur", ["fork 0", "fork 2500", "clone"], True)
    for name, child in zip(["forked", "forking", "cloned"], children):
        print(name, changed(child, program))
    # It can be recorded like any other when it has come out of fork(), and records nothing before.
    again = subprocess.run([spur, "record", "-q", "--for", "100ms", "-p", str(children[1]), "-o", "again.spur"], check=False)
    print("recorded again", again.returncode, changed(children[1], program))
    process.end()
    process, _ = left(spur, program, "loads.spur", ["load " + library], False)
    print("loaded", int(process.process.stdout.readline()), changed(process.pid, library))
    process.end()


if __name__ == "__main__":
    main()
