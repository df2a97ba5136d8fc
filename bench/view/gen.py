#!/usr/bin/env python3
"""
gen.py threads N | deep N FILE: an FXT file with N threads of 100 calls each, or with one call inside the other, N deep, and
10 calls after it.
"""
import struct
import sys

INIT, THREAD, STRING = 1, 3, 2
BEGIN, END = 2, 3


def string(index, text):
    body = text.encode()
    words = (len(body) + 7) // 8
    return struct.pack("<Q", STRING | (1 + words) << 4 | index << 16 | len(body) << 32) + body.ljust(8 * words, b"\0")


def threads(f, n):
    names = [string(i + 1, "function_%d" % i) for i in range(64)]
    f.write(b"".join(names))
    for first in range(0, n, 255):
        some = range(first, min(n, first + 255))
        out = [struct.pack("<QQQ", THREAD | 3 << 4 | (t - first + 1) << 16, 100, 1000 + t) for t in some]
        for t in some:
            at = 1000 + 17 * t
            for i in range(25):
                for kind, name, step in ((BEGIN, i % 64, 100), (BEGIN, (i * 7) % 64, 1000), (END, (i * 7) % 64, 50), (BEGIN, (i * 3) % 64, 800), (END, (i * 3) % 64, 60), (END, i % 64, 5000 + t)):
                    out.append(struct.pack("<QQ", 4 | 2 << 4 | kind << 16 | (t - first + 1) << 24 | (name + 1) << 48, at))
                    at += step
        f.write(b"".join(out))


def deep(f, n):
    f.write(b"".join(string(i + 1, "level_%d" % i) for i in range(64)) + struct.pack("<QQQ", THREAD | 3 << 4 | 1 << 16, 100, 101))
    head = 4 | 2 << 4 | 1 << 24
    at = 1000
    for first in range(0, n, 65536):
        out = bytearray()
        for i in range(first, min(n, first + 65536)):
            out += struct.pack("<QQ", head | BEGIN << 16 | (i % 64 + 1) << 48, at)
            at += 10
        f.write(out)
    for first in range(0, n, 65536):
        out = bytearray()
        for i in range(first, min(n, first + 65536)):
            out += struct.pack("<QQ", head | END << 16 | ((n - 1 - i) % 64 + 1) << 48, at)
            at += 10
        f.write(out)
    for i in range(10):
        f.write(struct.pack("<QQQQ", head | BEGIN << 16 | 1 << 48, at, head | END << 16 | 1 << 48, at + 500))
        at += 1000


with open(sys.argv[3], "wb") as f:
    f.write(struct.pack("<QQQ", 0x0016547846040010, INIT | 2 << 4, 1000000000))
    {"threads": threads, "deep": deep}[sys.argv[1]](f, int(sys.argv[2]))
