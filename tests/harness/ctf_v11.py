#!/usr/bin/env python3
"""
The RFC v1.1 as `convert --to=ctf --set version=1.1` writes it (docs/formats/ctf-v11.md, ctf-write.md): packets are taken apart here, by
the layout of the page, with Python's zlib, bz2 and hashlib and the program openssl; and Spur reads back what it reads of CTF 1.8.
"""
import bz2
import gzip
import hashlib
import json
import os
import shutil
import struct
import subprocess
import zlib

from harness import core

MAGIC, HEAD = 0xC1FC1FC1, 48
DIGESTS = {1: lambda p, o: struct.unpack(o + "I", hashlib.md5(p).digest()[:4])[0],
           2: lambda p, o: struct.unpack(o + "I", hashlib.sha1(p).digest()[:4])[0],
           3: lambda p, o: zlib.crc32(p)}
SCHEMES = ({}, {"checksum": "crc32", "byte-order": "big"}, {"compression": "gzip", "checksum": "md5"},
           {"compression": "bzip2", "checksum": "sha1", "byte-order": "big"}, {"key": 16}, {"key": 24, "byte-order": "big"},
           {"key": 32, "compression": "gzip", "checksum": "crc32"})
EXPECTED = {"compression": {"bzip2": 1, "gzip": 2}, "checksum": {"md5": 1, "sha1": 2, "crc32": 3}}


def packets(data, order):
    """SPEC ctf-v11/packet-header: header fields and stored bytes of each packet."""
    at = 0
    while at < len(data):
        names = "magic session content total checksum sequence begin end discarded bits compression encryption scheme"
        p = dict(zip(names.split(), struct.unpack_from(order + "6I2QI4B", data, at)))
        p["stored"] = data[at + HEAD:at + p["content"]]
        at += p["total"]
        yield p


def plain(p, order, key):
    """SPEC ctf-v11/unpack SPEC ctf-v11/digest SPEC ctf-v11/aes: the events of a packet, or what is wrong."""
    stored = p["stored"]
    if p["scheme"] and DIGESTS[p["scheme"]](stored, order) != p["checksum"]:
        raise ValueError("checksum %08x does not fit" % p["checksum"])
    if p["encryption"]:
        stored = subprocess.run(["openssl", "enc", "-d", "-aes-%d-ctr" % (8 * len(key)), "-K", key.hex(), "-iv", stored[:16].hex()],
                                input=stored[16:], stdout=subprocess.PIPE, check=True).stdout
    return {0: bytes, 1: bz2.decompress, 2: gzip.decompress}[p["compression"]](stored)


def events(body, order):
    """SPEC ctf-v11/header2 SPEC ctf/own-process: times, ids and contexts of events without fields, each of a thread."""
    at, out = 0, []
    while at < len(body):
        time, ident = struct.unpack_from(order + "IH", body, at)
        at += 6
        if ident == 0xFFFF:
            time, ident = struct.unpack_from(order + "QI", body, at)
            at += 12
        pid, tid = struct.unpack_from(order + "ii", body, at)
        end = body.index(b"\0", at + 8)
        out.append((time, ident, pid, tid, body[at + 8:end]))
        at = end + 1
    return out


def settings_of(scheme, tmp):
    """The value of --set, options to read it back, and the key."""
    key = bytes(range(7, 7 + scheme["key"])) if "key" in scheme else b""
    values = ["version=1.1"] + ["%s=%s" % item for item in sorted(scheme.items()) if item[0] != "key"]
    if key:
        path = os.path.join(tmp, "key")
        with open(path, "wb") as f:
            f.write(key)
        values.append("key-file=" + path)
    return ",".join(values), ["--key-file", os.path.join(tmp, "key")] if key else [], key


def layout(t, scheme):
    """SPEC ctf/write-v11-packets SPEC ctf/write-v11-aes SPEC ctf/write-v11-lost: the golden loses 2 events, then 3."""
    label = "ctf-write/v11 layout %s" % ",".join("%s=%s" % item for item in sorted(scheme.items()))
    case = os.path.join(t.tests, "golden/heph/counter-gap/in")
    order = ">" if scheme.get("byte-order") == "big" else "<"
    if "key" in scheme and not shutil.which("openssl"):
        return t.skip(label, "openssl is missing")
    with t.temp() as tmp:
        values, _, key = settings_of(scheme, tmp)
        out, again = os.path.join(tmp, "out"), os.path.join(tmp, "again")
        for path, threads in ((out, "1"), (again, "2")):
            t.run([t.spur, "convert", "--to=ctf", "--set", values, "--threads", threads, case, "-o", path])
        found = {name: core.read(os.path.join(out, name)) for name in os.listdir(out)}
        if found != {name: core.read(os.path.join(again, name)) for name in os.listdir(again)}:
            return t.fail(label, "two runs differ")
        metadata = list(packets(found.pop("metadata"), order))
        text = b"".join(p["stored"] for p in metadata)
        if not text.startswith(b"trace {\n\tmajor = 1;\n\tminor = 1;\n}\n") or text[-1:] != b"\0":
            return t.fail(label, "metadata: %.80r" % text)
        times, counts, blocks = [], [], set()
        for name, data in sorted(found.items()):
            if not name.startswith("channel0_"):
                return t.fail(label, "file %s" % name)
            last = None
            for number, p in enumerate(packets(data, order)):
                want = {"magic": MAGIC, "session": metadata[0]["session"], "sequence": number, "bits": 32, "content": p["total"]}
                if p["stored"]:
                    want["compression"] = EXPECTED["compression"].get(scheme.get("compression"), 0)
                    want["encryption"] = int(bool(key))
                want["scheme"] = EXPECTED["checksum"].get(scheme.get("checksum"), 0)
                wrong = {k: (p[k], v) for k, v in want.items() if p[k] != v}
                if wrong or (last and p["begin"] < last["begin"]) or p["end"] < p["begin"]:
                    return t.fail(label, "%s packet %d: %r" % (name, number, wrong or p))
                if p["encryption"] and p["stored"][:16] in blocks:
                    return t.fail(label, "a counter block is used twice")
                blocks.add(p["stored"][:16])
                got = events(plain(p, order, key), order)
                times += [(p["begin"] & ~0xFFFFFFFF) | e[0] for e in got]
                # SPEC ctf-v11/packet-header: the counter is that before the packet's first event
                if last and p["discarded"] != last["discarded"]:
                    counts.append((last["begin"], p["discarded"] - last["discarded"]))
                last = p
        r = t.run([t.spur, "cat", "--jsonl", case])
        source = [json.loads(line) for line in r.out.decode().splitlines()]
        spans = [row for row in source if row["kind"] != "LOST"]
        if sorted(times) != sorted([row["ts"] for row in spans] + [row["ts"] + row["dur"] for row in spans]):
            return t.fail(label, "times of events: %r" % sorted(times))
        want = [(row["ts"], row["id"]) for row in source if row["kind"] == "LOST"]
        t.verdict(label, None if counts == want else "losses: expected %r, found %r" % (want, counts))


def rows(t, path, *options):
    r = t.run([t.spur, "cat", "--jsonl", *options, path])
    out = []
    for line in r.out.decode("utf-8", "surrogateescape").splitlines():
        row = json.loads(line)
        for key in ("off", "len", "stream", "depth", "flags", "cpu"):
            row.pop(key, None)
        if row["kind"] == "LOST":
            row.pop("dur", None)
        out.append(json.dumps(row, sort_keys=True))
    return r, sorted(out)


def back(t, case, scheme):
    """SPEC ctf/write-v11-names SPEC ctf/write-v11-events SPEC ctf-v11/base SPEC ctf-v11/uri: the rows of a CTF 1.8 trace, but for CPUs."""
    label = "ctf-write/v11 back %s" % os.path.relpath(case, t.tests)
    with t.temp() as tmp:
        values, options, _ = settings_of(scheme, tmp)
        old, new = os.path.join(tmp, "old"), os.path.join(tmp, "new")
        for path, setting in ((old, values), (new, "version=1.8")):
            t.run([t.spur, "convert", "--to=ctf", "--set", setting, case, "-o", path])
        r, got = rows(t, old, *options)
        want = rows(t, new)[1]
        if r.code:
            return t.fail(label, "exit code %d: %.200r" % (r.code, r.err))
        both = set(got) & set(want)
        t.verdict(label, None if got == want else "of 1.8 only %.300r, of 1.1 only %.300r" % (
            [row for row in want if row not in both][:1], [row for row in got if row not in both][:1]))


def zeros(t):
    """SPEC ctf-v11/unpacked-size: what compresses more than a hundred times stays as it is, as readers unpack no more."""
    label = "ctf-write/v11 zeros"
    metadata = b"""section { name = chan; event { header_type = type2; } }
event { name = e; id = 7; fields = type { parent = struct; fields = { { type { parent = array; length = 60000; elem_type = u8; }, x } }; }; }
type u8 { parent = integer; size = 8; }
"""
    with t.temp() as tmp:
        trace, out = os.path.join(tmp, "trace"), os.path.join(tmp, "out")
        os.mkdir(trace)
        body = struct.pack("<IH", 1, 7) + bytes(60000)
        head = struct.pack("<6I2QI4B", MAGIC, 5, HEAD + len(body), HEAD + len(body), 0, 0, 0, 9, 0, 0, 0, 0, 0)
        for name, data in (("metadata", metadata), ("chan", head + body)):
            with open(os.path.join(trace, name), "wb") as f:
                f.write(data)
        t.run([t.spur, "convert", "--to=ctf", "--set", "version=1.1,compression=gzip", trace, "-o", out])
        found = [(p["compression"], len(p["stored"])) for p in packets(core.read(os.path.join(out, "channel0_0")), "<")]
        # An array of numbers is a sequence: its length is in front.
        t.verdict(label, None if found == [(0, len(body) + 4)] and rows(t, out)[1] == rows(t, trace)[1] else "packets %r" % found)


def sealed(t):
    """SPEC ctf/copy-damage: a packet that cannot be read without its key stays; a wrong checksum and magic number do not, a right checksum does."""
    label = "ctf-write/v11 sealed"
    metadata = b"section { name = chan; }\nevent { name = e; }\n"
    content = bytes(range(40, 90))

    def packet(magic, checksum, scheme):
        head = (magic, 5, HEAD + len(content), HEAD + len(content), checksum, 0, 9, 9, 0, 0, 0, 1, scheme)
        return struct.pack("<6I2QI4B", *head) + content

    right = zlib.crc32(content)
    with t.temp() as tmp:
        trace, out = os.path.join(tmp, "trace"), os.path.join(tmp, "out")
        os.mkdir(trace)
        data = packet(MAGIC, right, 3) + packet(MAGIC, right ^ 1, 3) + packet(MAGIC ^ 1, right, 3)
        for name, content_of in (("metadata", metadata), ("chan", data)):
            with open(os.path.join(trace, name), "wb") as f:
                f.write(content_of)
        t.run([t.spur, "repair", trace, "-o", out])
        want = packet(MAGIC, right, 3) + packet(MAGIC, 0, 0) + packet(MAGIC, right, 3)
        found = core.read(os.path.join(out, "chan"))
        t.verdict(label, None if found == want else "%r" % found)


def add_all(t, add):
    add("v11 sealed", sealed)
    add("v11 zeros", zeros)
    for scheme in SCHEMES:
        add("v11 layout", layout, scheme)
    cases = ["fxt/all-records", "fxt/async-flows", "fxt/max-record-32760", "fxt/koids-64bit", "heph/arrays", "heph/scalars", "heph/escape", "heph/nonutf8",
             "uftrace/own-threads", "ctf/v11-natural", "ctf/v11-schemes", "ctf/ctf2-all-classes", "ctf/several-classes"]
    for i, case in enumerate(cases):
        path = os.path.join(t.tests, "golden", case, "in")
        if os.path.exists(path):
            add("v11 back " + case, back, path, SCHEMES[i % len(SCHEMES)])
