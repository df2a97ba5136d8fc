"""A recording that is written in place, as a running program does: docs/formats/spur.md."""
import os
import struct
import subprocess
import time

STREAM, RING = 0, 1
MAGIC = 0x3142505352555053
CHUNK = 16384
PAGE = 4096


class Program:
    """A process that lives until it is killed."""

    def __init__(self):
        self.p = subprocess.Popen(["sleep", "300"])
        self.pid = self.p.pid
        self.start = int(open("/proc/%d/stat" % self.pid).read().rsplit(")", 1)[1].split()[19])

    def kill(self):
        self.p.kill()
        self.p.wait()


class Recording:
    count = 0

    def __init__(self, directory, program, mode=STREAM, boot=None):
        Recording.count += 1
        self.path = "%s/%d-%d-%d.spb" % (directory, program.pid, program.start, Recording.count)
        self.fd = os.open(self.path, os.O_RDWR | os.O_CREAT)
        self.sequence = 0
        self.places = {}
        if boot is None:
            boot = bytes.fromhex(open("/proc/sys/kernel/random/boot_id").read().strip().replace("-", ""))
        now = self.now()
        head = struct.pack("<IIIIQIIQ", CHUNK, mode, program.pid, 1, program.start, 2, 1, 10**9)
        head += struct.pack("<QQQ", now, now, 1_700_000_000_000_000_000) + bytes(24) + boot + bytes(144) + b"/bin/program"
        os.pwrite(self.fd, head, 8)
        os.ftruncate(self.fd, PAGE)
        self.put(0, MAGIC)

    @staticmethod
    def now():
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC)

    def put(self, off, word):
        os.pwrite(self.fd, struct.pack("<Q", word), off)

    def chunk(self, number, thread):
        off = PAGE + number * CHUNK
        self.put(off + 8, 0)
        os.pwrite(self.fd, bytes(CHUNK - 64), off + 64)
        os.pwrite(self.fd, struct.pack("<4sHH", b"SPBC", 1 if thread else 2, 1), off)
        os.pwrite(self.fd, struct.pack("<IIQQ", 7, thread, self.now(), self.now()), off + 16)
        self.sequence += 1
        self.put(off + 8, self.sequence)
        self.places[number] = off + 64

    def describe(self, number, descriptor):
        at = self.places[number]
        os.pwrite(self.fd, descriptor[4:], at + 4)
        os.pwrite(self.fd, descriptor[:4], at)
        self.places[number] += len(descriptor)

    def page(self, number):
        self.places[number] = (self.places[number] // PAGE + 1) * PAGE

    def reserve(self, number, words):
        """Room for a record. With a payload it says its length."""
        at = self.places[number]
        if words > 1:
            self.put(at, 14 | (words - 1) << 4)
        self.places[number] += 8 * words
        return at

    def complete(self, number, at, n, site=1, when=None):
        words = 2 if site == 1 else 1
        if words > 1:
            self.put(at + 8, n)
        self.put(at, 3 | (words - 1) << 4 | site << 8 | ((when or self.now()) & 0xFFFFFFFF) << 32)

    def event(self, number, n=0, site=1, at=None):
        self.complete(number, self.reserve(number, 2 if site == 1 else 1), n, site, at)

    def end(self, lost=0):
        now = self.now()
        self.put(128, lost)
        os.pwrite(self.fd, struct.pack("<QQ", now, 1_700_000_001_000_000_000), 80)
        self.put(72, now)
