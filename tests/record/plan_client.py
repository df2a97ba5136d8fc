#!/usr/bin/env python3
"""
Asks `spur record` for plans as the library in a recorded program does (record/wire.h), and prints what it gets, a line for each
function: its name by nm, flags, arguments, and each point with its kind and what the file has there, by its own program headers. Runs
as the recorded program: plan_client.py [--main] FILE... Build-ids are not told, unless --id HEX stands before a file.
"""
import array
import os
import socket
import struct
import subprocess
import sys

HELLO, MODULE, DONE, SAY = 1, 2, 3, 4
KINDS = ["?", "entry", "sled-enter", "sled-exit", "sled-tail", "slot", "mcount", "called"]
PLACES = ["?", "int", "vec", "stack"]
READS = ["value", "text", "std::string", "memory"]
TYPES = ["?", "i64", "u64", "f64", "bool", "pointer", "text", "bytes", "string", "char"]


def talk():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(os.environ["SPUR_RECORD"])
    return s


def send(s, kind, body):
    s.send(struct.pack("<IIQ", kind, len(body), 0) + body)


def receive(s, kind):
    message, control, _, _ = s.recvmsg(16384, socket.CMSG_SPACE(4))
    got, size, _ = struct.unpack_from("<IIQ", message)
    assert got == kind and size == len(message) - 16, (got, size, len(message))
    fds = array.array("i")
    for level, what, data in control:
        if level == socket.SOL_SOCKET and what == socket.SCM_RIGHTS:
            fds.frombytes(data[:len(data) // 4 * 4])
    return message[16:], list(fds)


def file_bytes(path, address, size):
    """The bytes at an address of an ELF file's address space, by its program headers."""
    with open(path, "rb") as f:
        data = f.read()
    at, = struct.unpack_from("<Q", data, 32)
    each, count = struct.unpack_from("<HH", data, 54)
    for i in range(count):
        kind, _, off, addr, _, in_file, _, _ = struct.unpack_from("<IIQQQQQQ", data, at + i * each)
        if kind == 1 and addr <= address < addr + in_file:
            return data[off + address - addr:][:size].hex()
    return "?"


def names_of(path):
    lines = subprocess.run(["nm", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode().splitlines()
    return {int(w[0], 16): w[2] for w in map(str.split, lines) if len(w) == 3 and w[1] in "tTW"}


def code(data):
    """The instruction that the bytes are, and nothing else."""
    nops = ("9090909090", "0f1f440000", "0f1f440008")
    if data.startswith(nops):
        return "nops"
    if len(data) == 10 and data.startswith("e8") or len(data) == 12 and data.startswith(("ff15", "67e8")):
        return "call"
    if len(data) == 22 and data.startswith(("eb09", "c3")):
        return "sled"
    return data or "-"


def text_at(plan, texts, off):
    return plan[texts + off:plan.index(b"\0", texts + off)].decode()


def show(path, plan):
    magic, size, functions, nf, points, np, args, na, texts, nt, conditions, nc = struct.unpack_from("<8sQIIIIIIIIII", plan)
    assert magic == b"SPURPLN1" and size == len(plan) and plan[texts] == 0 and plan[texts + nt - 1] == 0
    assert all(off % 8 == 0 for off in (functions, points, args, texts, conditions))
    by_function, before, names = {}, 0, names_of(path)
    for i in range(np):
        address, function, kind, length, _ = struct.unpack_from("<QIBBH", plan, points + 16 * i)
        assert before <= address and function < nf
        before = address
        by_function.setdefault(function, []).append((address, KINDS[kind], length))
    for i in range(nf):
        address, name, flags, first, count, results, nwhen, least, when, _ = struct.unpack_from("<QIIIBBHQII", plan, functions + 40 * i)
        line = [names.get(address, "0x%x" % address) if address else text_at(plan, texts, name)]
        line += [word for bit, word in ((1, "on"), (2, "off"), (4, "keep"), (8, "hidden")) if flags & bit]
        for j in range(first, first + count + results):
            assert j < na
            aname, offset, place, read, kind, length, _ = struct.unpack_from("<IIBBBBI", plan, args + 16 * j)
            line.append("%s%s:%s%d/%s%s*%d" % ("=" if j >= first + count else "", text_at(plan, texts, aname), PLACES[place], offset,
                                               TYPES[kind], "" if READS[read] == "value" else "(%s)" % READS[read], length))
        for j in range(when, when + nwhen):
            assert j < nc
            value, text, how = struct.unpack_from("<QII", plan, conditions + 16 * j)
            line.append("%s%d(%s)" % (["?", ">", ">=", "#"][how], value, text_at(plan, texts, text)))
        for at, kind, length in by_function.get(i, []):
            line.append("%s:%s" % (kind, code(file_bytes(path, at, length))) if address else "%s:%d" % (kind, length))
        print(" ".join(line))


def main():
    s = talk()
    start = int(open("/proc/self/stat").read().rsplit(")", 1)[1].split()[19])
    send(s, HELLO, struct.pack("<IIQ", 3, os.getpid(), start))
    settings, _ = receive(s, HELLO)
    print("settings: version %d flags %d mode %d depth %d ring %d least %d signal %d counters %d"
          % struct.unpack_from("<IIIIQQII", settings))
    after, keeps, keep_signal = struct.unpack_from("<QII", settings, 40)
    if keeps:
        print("snapshots: %d after %d signal %d" % (keeps, after, keep_signal))
    is_main, build_id = 0, b""
    words = iter(sys.argv[1:])
    for word in words:
        if word == "--main":
            is_main = 1
            continue
        if word == "--id":
            build_id = bytes.fromhex(next(words))
            continue
        body = struct.pack("<QQQ20sIII", 0, 0, 0, build_id.ljust(20, b"\0"), len(build_id), is_main, 0) + word.encode() + b"\0"
        send(s, MODULE, body)
        answer, fds = receive(s, MODULE)
        assert answer == b""
        print("%s: %s" % (word, "plan" if fds else "nothing to change"))
        if fds:
            try:
                os.write(fds[0], b"x")
                print("the plan can be changed")
            except OSError:
                pass
            show(word, os.pread(fds[0], 1 << 24, 0))
            os.close(fds[0])
    send(s, SAY, b"a word from the program")
    send(s, DONE, struct.pack("<QQ", 12, 3))


if __name__ == "__main__":
    main()
