#!/usr/bin/env python3
"""
Records tests/record/attach.c while it runs, and compares the process before and after: its code, its global offset tables,
its threads, and how it takes signals.

attach.py SPUR PROGRAM OUTPUT [--commands LIST] [--times N] [--end for|signal] [--kill one|all] [--lazy] [-- OPTION...]
"""
import argparse
import os
import re
import select
import signal
import struct
import subprocess
import sys
import time

PATIENCE = 60
CONTROL_AT = 36  # in the header of a recording


def fail(text):
    print("FAILED:", text)
    sys.exit(1)


class Program:
    def __init__(self, path, lazy):
        # Else the linker changes slots when functions are called for the first time.
        env = dict(os.environ) if lazy else dict(os.environ, LD_BIND_NOW="1")
        self.lazy = lazy and path
        self.process = subprocess.Popen([path], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = self.process.pid

    def command(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
            fail("the program does not answer")
        return self.process.stdout.readline()

    def end(self):
        try:
            out = self.process.communicate(b"quit\n", timeout=PATIENCE)[0]
        except subprocess.TimeoutExpired:
            fail("the program does not end")
        return out.decode().strip(), self.process.returncode

    def maps(self):
        with open(f"/proc/{self.pid}/maps") as f:
            for line in f:
                m = re.match(r"(\w+)-(\w+) (\S+) (\w+) \S+ (\d+) *(.*)", line)
                yield int(m[1], 16), int(m[2], 16), m[3], int(m[4], 16), m[6]

    def read(self, at, size):
        with open(f"/proc/{self.pid}/mem", "rb") as f:
            f.seek(at)
            return f.read(size)

    def wait_started(self):
        """Waits until no thread has all signals blocked, as threads have at their beginning."""
        until = time.monotonic() + PATIENCE
        while any(self.blocked(tid) | 1 << 8 | 1 << 18 == (1 << 64) - 1 for tid in self.threads()):
            if time.monotonic() > until:
                fail("the program's threads do not start")
            time.sleep(0.01)

    def wait_for(self, before):
        """Waits until all is as it was."""
        until = time.monotonic() + PATIENCE
        while self.facts() != before and time.monotonic() < until:
            time.sleep(0.05)

    def facts_of_waiting(self, before):
        """
        What must be as it was at once, and the signals that threads have blocked. The kernel unblocks those that a thread
        waits for in sigtimedwait(), which goes on, after the thread was stopped, when it gets a CPU.
        """
        until = time.monotonic() + PATIENCE
        first = after = self.facts()
        while after != before and time.monotonic() < until:
            time.sleep(0.01)
            after = self.facts()
        return {**first, **{key: value for key, value in after.items() if key[-1] == "SigBlk"}}

    def threads(self):
        return os.listdir(f"/proc/{self.pid}/task")

    def blocked(self, tid):
        with open(f"/proc/{self.pid}/task/{tid}/status") as f:
            return next(int(line.split()[1], 16) for line in f if line.startswith("SigBlk"))

    def facts(self):
        """What must be the same before and after."""
        found = {}
        bases = {}
        for first, end, rights, offset, path in self.maps():
            if not path.startswith("/") or "libspur" in path or "libgcc_s" in path:
                continue
            if offset == 0:
                bases.setdefault(path, first)
            if "x" in rights:
                found["code", path, offset] = self.read(first, end - first)
        for path, base in bases.items():
            for at in slots(path) if self.lazy in (False, path) else ():
                found["slot", path, at] = self.read(at + (base if is_relative(path) else 0), 8)
        with open(f"/proc/{self.pid}/status") as f:
            for line in f:
                if re.match("Sig(Blk|Ign|Cgt)|TracerPid|State: *[tT]", line):
                    found["status", line.split(":")[0]] = line.split(":")[1].strip()
        for tid in self.threads():
            with open(f"/proc/{self.pid}/task/{tid}/status") as f:
                for line in f:
                    if re.match("Sig(Blk|Ign|Cgt)|TracerPid", line):
                        found["thread", tid, line.split(":")[0]] = line.split(":")[1].strip()
        return found


def is_relative(path):
    with open(path, "rb") as f:
        return struct.unpack_from("<H", f.read(18), 16)[0] == 3


def slots(path):
    """The addresses of slots of functions, as readelf sees them."""
    text = subprocess.run(["readelf", "-rW", path], capture_output=True, text=True).stdout
    return [int(m[1], 16) for m in re.finditer(r"^([0-9a-f]+) .*R_X86_64_(?:JUMP_SLO|GLOB_DAT)", text, re.M)]


def file_code(path):
    """Offset and bytes of the executable segments of a file."""
    with open(path, "rb") as f:
        data = f.read()
    at, size, n = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    for i in range(n):
        kind, flags, offset, _, _, length = struct.unpack_from("<IIQQQQ", data, at + i * size)
        if kind == 1 and flags & 1:
            yield offset, data[offset:offset + length]


def compare(before, after):
    for key in sorted(set(before) | set(after), key=str):
        if before.get(key) != after.get(key):
            have, found = before.get(key), after.get(key)
            if isinstance(have, bytes) and isinstance(found, bytes):
                at = next(i for i, (a, b) in enumerate(zip(have, found)) if a != b)
                fail(f"{key}: differs at {at:#x}: {have[at:at + 16].hex()} {found[at:at + 16].hex()}")
            fail(f"{key}: expected {have}, found {found}")


class Recorder:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.said = []

    def wait_begin(self):
        for line in self.process.stderr:
            self.said.append(line)
            if "is being recorded" in line:
                return
        code = self.process.wait()
        said = "".join(self.said)
        if re.search("does not let you trace|lets no process trace|Operation not permitted", said):
            print(said, file=sys.stderr)
            sys.exit(77)
        fail(f"not attached, exit code {code}: {said}")

    def wait_end(self):
        try:
            said = self.process.communicate(timeout=PATIENCE)[1]
        except subprocess.TimeoutExpired:
            fail("the recorder does not end")
        self.said.append(said)
        if self.process.returncode:
            fail(f"exit code {self.process.returncode}: {''.join(self.said)}")


def wait_off(output, pid):
    """Waits until the process has seen that its recorder is gone: bit 0 of its file's control word."""
    name = next(n for n in os.listdir(output) if n.startswith(f"{pid}-"))
    until = time.monotonic() + PATIENCE
    while True:
        with open(os.path.join(output, name), "rb") as f:
            f.seek(CONTROL_AT)
            if not f.read(1)[0] & 1:
                return
        if time.monotonic() > until:
            fail("the process goes on recording")
        time.sleep(0.05)


def compare_children(program, path):
    """Forked children have the program's code too."""
    with open(f"/proc/{program.pid}/task/{program.pid}/children") as f:
        for child in f.read().split():
            for offset, data in file_code(path):
                with open(f"/proc/{child}/maps") as maps:
                    first = next(int(m.split("-")[0], 16) for m in maps
                                 if path in m and f" {offset & ~4095:08x} " in m and "x" in m.split()[1])
                with open(f"/proc/{child}/mem", "rb") as mem:
                    mem.seek(first + (offset & 4095))
                    if mem.read(len(data)) != data:
                        fail("the code of a child is not that of the file")
            print("a child has the code of the file")


def record(program, args, output, end):
    command = [args.spur, "record", "-p", str(program.pid), "-o", output] + args.options
    if end == "for":
        command += ["--for", "1s"]
    recorder = Recorder(command)
    try:
        recorder.wait_begin()
        for line in args.commands.split(","):
            program.command(line)
        if end == "signal":
            recorder.process.send_signal(signal.SIGTERM)
        elif end == "one":
            recorder.process.kill()
            recorder.process.wait()
            return
        elif end == "all":
            os.killpg(recorder.process.pid, signal.SIGKILL)
            recorder.process.wait()
            wait_off(output, program.pid)
            for line in args.commands.split(","):
                program.command(line)
            return
        recorder.wait_end()
    finally:
        if recorder.process.poll() is None:
            recorder.process.kill()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("spur")
    p.add_argument("program")
    p.add_argument("output")
    p.add_argument("--commands", default="mark")
    p.add_argument("--times", type=int, default=1)
    p.add_argument("--end", choices=["signal", "for"], default="signal")
    p.add_argument("--kill", choices=["one", "all"], help="kill the first recorder, or also its child, which would detach")
    p.add_argument("--lazy", action="store_true")
    argv = sys.argv[1:]
    cut = argv.index("--") if "--" in argv else len(argv)
    args = p.parse_args(argv[:cut])
    args.options = argv[cut + 1:]
    path = os.path.realpath(args.program)
    program = Program(path, args.lazy)
    try:
        # Every function that is called later is bound before.
        for line in args.commands.split(","):
            program.command(line)
        program.wait_started()
        before = program.facts()
        for i in range(args.times):
            end = args.kill if args.kill and i == 0 else args.end
            record(program, args, args.output if i == 0 else f"{args.output}.{i}", end)
            if end == "all":
                continue
            if end == "one":
                program.wait_for(before)
            after = program.facts_of_waiting(before)
            if before != after:
                print(program.end()[0])
            compare(before, after)
        compare_children(program, path)
        for offset, data in file_code(path):
            found = before["code", path, offset & ~4095][offset & 4095:][:len(data)]
            if found != data:
                fail("the code is not that of the file")
        for line in args.commands.split(","):
            program.command(line)
        said, code = program.end()
        print(said.replace("\n", "; ") + f"; exit code {code}")
    finally:
        program.process.kill()
        program.process.wait()


if __name__ == "__main__":
    main()
