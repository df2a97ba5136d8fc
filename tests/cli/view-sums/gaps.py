"""uftrace data with lost records: calls whose begin, or end, is missing, at any depth."""
import os
import random
import struct

BASE = 0x550000000000
ENTRY, EXIT, LOST = range(3)


def record(at, kind, depth, address):
    return struct.pack("<QQ", at, kind | 5 << 3 | depth << 6 | address << 16)


def write(path, seed, n=400):
    """A thread's calls of four functions, some recursive, of which parts are cut out, with or without a LOST record."""
    r = random.Random(seed)
    os.mkdir(path)
    with open(path + "/info", "wb") as f:
        f.write(struct.pack("<8sIHBBQQHxxxxxx", b"Ftrace!", 4, 40, 1, 2, 1 << 5, 0, 1024))
    with open(path + "/task.txt", "w") as f:
        f.write('SESS timestamp=0.000000001 pid=10 sid=aaaaaaaaaaaaaaaa exename="/no/prog"\nTASK timestamp=0.000000001 tid=10 pid=10\n')
    with open(path + "/sid-aaaaaaaaaaaaaaaa.map", "w") as f:
        f.write("%x-%x r-xp 00000000 00:00 0    /no/prog\n" % (BASE, BASE + 0x10000))
    with open(path + "/prog.sym", "w") as f:
        f.write("".join("%016x T f%d\n" % (0x1000 + 0x100 * i, i) for i in range(4)) + "%016x T __end\n" % 0x1400)
    out, stack, at, cut, times = [], [], 1000, 0, []
    for _ in range(n):
        at += r.randrange(1, 50)
        if stack and (len(stack) > 7 or r.random() < 0.5):
            what = record(at, EXIT, len(stack) - 1, stack.pop())
        else:
            stack.append(BASE + 0x1000 + 0x100 * r.randrange(4))
            what = record(at, ENTRY, len(stack) - 1, stack[-1])
        if not cut and r.random() < 0.03:
            cut = r.randrange(1, 12)
            if r.random() < 0.7:
                out.append(record(0, LOST, 0, cut))
        if cut:
            cut -= 1
        else:
            out.append(what)
            times.append(at)
    with open(path + "/10.dat", "wb") as f:
        f.write(b"".join(out))
    return [t - times[0] for t in times]
