"""Traces of one run as several tracers with clocks of their own would record it: for tests of related clocks."""
import os
import random
import struct


def run(count, seed, names=20, gap=10000):
    """Events (ns, name) of a run, at random times."""
    r, ts, events = random.Random(seed), 10 ** 9, []
    for _ in range(count):
        ts += 1 + int(r.expovariate(1 / gap))
        events.append((ts, "e%d" % r.randrange(names)))
    return events


def clock(events, offset=0, ppm=0, seed=1, drop=0.0, extra=0.0, noise=0):
    """
    The same on a clock that is ahead and faster by ppm (an integer), of which a share is missing, and others of the same
    names are added.
    """
    def ticks(ts):
        return ts + offset + ts * ppm // 10 ** 6 + (r.randrange(2 * noise + 1) - noise)

    r = random.Random(seed)
    out = [(ticks(ts), name) for ts, name in events if r.random() >= drop]
    for _ in range(int(len(events) * extra)):
        out.append((ticks(r.randrange(events[0][0], events[-1][0])), r.choice(events)[1]))
    return sorted(out)


def fxt(path, events, process=77, thread=78, base=None):
    """Instant events of a thread. base: ns since 1970 of the clock's zero."""
    names = sorted({name for _, name in events})
    out = [struct.pack("<Q", 0x0016547846040010)]
    if base is None:
        out.append(struct.pack("<QQ", 1 | 2 << 4, 10 ** 9))
    else:
        out.append(struct.pack("<QQQQ", 1 | 4 << 4, 10 ** 9, 0, base))
    for i, name in enumerate(names):
        text = name.encode() + b"\0" * (-len(name) % 8)
        out.append(struct.pack("<Q", 2 | (1 + len(text) // 8) << 4 | (i + 1) << 16 | len(name) << 32) + text)
    out.append(struct.pack("<QQQ", 3 | 3 << 4 | 1 << 16, process, thread))
    for ts, name in events:
        out.append(struct.pack("<QQ", 4 | 2 << 4 | 1 << 24 | (names.index(name) + 1) << 48, ts))
    with open(path, "wb") as f:
        f.write(b"".join(out))


def ctf(path, events, uuid=None, offset=None, clock_name="monotonic"):
    """A CTF 1.8 directory with a stream. offset: ns since 1970 of the clock's zero."""
    names = sorted({name for _, name in events})
    os.mkdir(path)
    with open(path + "/metadata", "w", encoding="utf-8") as f:
        f.write('/* CTF 1.8 */\ntypealias integer { size = 64; align = 8; } := u64;\n'
                'typealias integer { size = 32; align = 8; } := u32;\n'
                'trace { major = 1; minor = 8; byte_order = le; };\n')
        f.write("clock { name = %s; freq = 1000000000; offset = %d; %s};\n" %
                (clock_name, offset or 0, 'uuid = "%s"; ' % uuid if uuid else ""))
        f.write('typealias integer { size = 64; align = 8; map = clock.%s.value; } := ts;\n'
                'stream { event.header := struct { u32 id; ts timestamp; }; };\n' % clock_name)
        for i, name in enumerate(names):
            f.write("event { name = \"%s\"; id = %d; };\n" % (name, i))
    with open(path + "/stream", "wb") as f:
        for ts, name in events:
            f.write(struct.pack("<IQ", names.index(name), ts))
