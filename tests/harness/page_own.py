"""
Traces that are made to be hard for the page of `spur view`: names of all sorts, times near the ends of what 64 bits hold, sums that are
longer than 2^53 ns, and values of counters that no double has. The page is driven as for other traces (harness/page.py).
"""
import os
import random
import struct

NAMES = ("<img src=x onerror='window.hacked=1'>", "\u202eright to left \u05d0\u05d1", "x" * 10000, "nul\0inside", b"not \xff\xfe UTF-8", "a\nb\tc", "\u2028", "%s%n",
         "\U0001f600")
DAY = 86400 * 10**9


class Fxt:
    """Writes records of FXT: events with inline threads and names by index."""

    def __init__(self):
        self.out = bytearray(struct.pack("<QQQ", 0x0016547846040010, 1 | 2 << 4, 1000000000))
        self.names = {}

    def string(self, text):
        raw = text.encode() if isinstance(text, str) else text
        if raw not in self.names:
            self.names[raw] = len(self.names) + 1
            words = (len(raw) + 7) // 8
            self.out += struct.pack("<Q", 2 | (1 + words) << 4 | self.names[raw] << 16 | len(raw) << 32) + raw.ljust(8 * words, b"\0")
        return self.names[raw]

    def event(self, kind, name, ts, tid=1, args=(), more=b"", cat=""):
        index, category = self.string(name), self.string(cat) if cat else 0
        body = b"".join(struct.pack("<Q", code | (1 + len(value) // 8) << 4 | self.string(key) << 16 | (0 if value else self.string(key) << 32)) + value
                        for key, code, value in args)
        head = 4 | (4 + (len(body) + len(more)) // 8) << 4 | kind << 16 | len(args) << 20 | category << 32 | index << 48
        self.out += struct.pack("<QQQQ", head, ts, 1, tid) + body + more

    def call(self, name, begin, end, tid=1, args=(), cat=""):
        self.event(4, name, begin, tid, args, struct.pack("<Q", end), cat)

    def counter(self, name, ts, number, code, value):
        self.event(1, name, ts, 1, [("value", code, value)], struct.pack("<Q", number))


def shared(w, after):
    """Functions that share a name: some in two categories, some whose category differs between two traces."""
    for i, (name, end, cat) in enumerate((("x", 90, "a"), ("x", 40, "b"), ("y", 30, "new" if after else "old"), ("z", 20, "a"), ("z", 10, "b" if after else "c"))):
        for turn in range(2):
            w.call(name, 1000 * i + 100 * turn, 1000 * i + 100 * turn + end * (2 if after else 1), cat=cat)
    if after:
        w.call("y", 9000, 9001, cat="newer")


def odd(w):
    """Names of all sorts, as arguments too; spans without a length; flows; values at the ends of their types."""
    for turn in range(3):
        at = 1000 + 1000 * turn
        for i, name in enumerate(NAMES):
            w.event(2, name, at + 10 * i, args=[(name, 6, b"")])
        for i, name in enumerate(reversed(NAMES)):
            w.event(3, name, at + 200 + 10 * i)
        for i, name in enumerate(NAMES):
            w.call(name, at + 400 + i, at + 400 + i)
            w.event(0, name, at + 400 + i)
    for i, v in enumerate((float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 0.0, 5e-324)):
        w.counter("<b class=evil>", 2000 + 100 * i, 1, 5, struct.pack("<d", v))
    for i, v in enumerate((2**64 - 1, 0, 2**63, 2**53 + 1, 1)):
        w.counter("u", 2000 + 100 * i, 2, 4, struct.pack("<Q", v))
    for i, v in enumerate((-2**63, 2**63 - 1, 0)):
        w.counter("i", 2000 + 100 * i, 3, 3, struct.pack("<q", v))
    for i in range(5):
        at = 5000 + 100 * i
        w.event(2, "from", at)
        w.event(8, "flow", at + 1, more=struct.pack("<Q", i))
        w.event(3, "from", at + 5)
        w.event(2, "to", at + 10, tid=2)
        w.event(10, "flow", at + 11, tid=2, more=struct.pack("<Q", i))
        w.event(3, "to", at + 15, tid=2)


def late(w):
    """The last microseconds that 63 bits hold."""
    for i in range(100):
        at = 2**63 - 1 - 10**6 + 100 * i
        w.call("outer", at, at + 50)
        w.call("inner", at + 1, at + 3)


def apart(w):
    """Short calls with years between them."""
    w.call("early", 1, 11)
    for i in range(10):
        w.call("late", 10**15 + 10 * i, 10**15 + 10 * i + 7)


def years(w):
    """The calls of fifty threads, of a hundred days each, last longer than 2^53 ns together."""
    for i in range(50):
        w.event(2, "day", 1000, tid=i + 1)
        w.event(2, "half", 1001, tid=i + 1)
        w.event(3, "half", 50 * DAY + i, tid=i + 1)
        w.event(3, "day", 100 * DAY + i, tid=i + 1)


def late(w):
    """Tracks are found in another order than they are shown in: calls of threads with high numbers come first, and overlap."""
    for i in range(20):
        for tid in (3, 1, 2):
            at = 1000 + 100 * i + tid
            w.call("outer", at, at + 50, tid)
            w.call("across", at + 20, at + 90, tid)


def mixed(w):
    """Calls with a length and calls with an end are in each other, outlast each other, begin and end at one time; some ends are missing."""
    r = random.Random(5)
    for tid in (1, 2, 3):
        at, opened = 1000, []
        for _ in range(1500):
            what = r.random()
            at += r.choice((0, 0, 1, 7, 100))
            if what < 0.4 and len(opened) < 12:
                opened.append("g%d" % r.randrange(9))
                w.event(2, opened[-1], at, tid)
            elif what < 0.8 and opened:
                name = opened.pop()
                w.event(3, name if r.random() < 0.95 else "other", at, tid)
            elif what < 0.85:
                w.event(3, "g%d" % r.randrange(9), at, tid)
            elif what < 0.9:
                w.event(0, "instant", at, tid)
            else:
                w.call("x%d" % r.randrange(5), at, at + r.choice((0, 1, 5)), tid)


def later(t, there, tools, driven):
    """Drives the page of each of them, served and as one file."""
    def one(t, label, make, tools, saved):
        with t.temp() as folder:
            path, page = os.path.join(folder, make.__name__ + ".fxt"), os.path.join(folder, "page.html")
            w = Fxt()
            make(w)
            with open(path, "wb") as f:
                f.write(w.out)
            if saved:
                t.run([t.spur, "convert", "-q", "-o", page, path])
            t.verdict(label, driven(t, path, tools, page if saved else None))

    for make, saved in ((odd, False), (odd, True), (late, False), (late, True), (apart, True), (years, False), (years, True)):
        label = "page/own/%s%s" % (make.__name__, "-file" if saved else "")
        if not t.wanted(label):
            continue
        if there:
            t.later(one, label, make, tools, saved)
        else:
            t.skip(label, "no browser, node or playwright-core: tools/install-deps")
