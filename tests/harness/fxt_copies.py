"""
FXT written by Spur. Every golden and every shared FXT file is converted to FXT in both byte orders, cut whole, sorted, repaired, and cut by
filters. What comes out has no damage and the rows that the filter lets pass, in the same order; a whole copy of an undamaged file has the
same bytes. Filters of rows are not tried on switches, of which two rows are one record.
"""
import glob
import json
import os

from harness.fxt import Wrong

FILTERS = (["--tid=1001"], ["--kind=INSTANT"], ["--kind=OBJECT"], ["--kind=BLOB"], ["--cat=cat"], ["--where=kind != 'OBJECT'"])
HEADERLESS = ("empty", "short_3_bytes", "bad_magic_two_words", "bad_magic_value")  # no trace of a known format


def spur(t, *args):
    r = t.run([t.spur, *args])
    if r.trouble() or r.code not in (0, 3):
        raise Wrong("%s: %s" % (args[0], r.trouble() or "exit code %s: %.200r" % (r.code, r.err)))
    return r


def rows(t, path, *args, without=()):
    """What a copy must keep: rows but for their place, and for the note that arguments of theirs were damaged."""
    r = t.run([t.spur, "cat", "--jsonl", "--input-format=fxt", path, *args])
    if r.trouble() or r.code not in (0, 1, 3):
        raise Wrong("cat: %s" % (r.trouble() or "exit code %s: %.200r" % (r.code, r.err)))
    out = []
    for line in r.out.decode("utf-8", "surrogateescape").splitlines():
        row = json.loads(line)
        if row["kind"] in without:
            continue
        for key in ("stream", "off"):
            row.pop(key)
        if row["kind"] == "BLOB":
            row.pop("id", None)
        row["flags"] = [f for f in row.get("flags", ()) if f != "unreliable"]
        out.append(row)
    return out, r.code if r.code != 1 else 0  # 1: no row passes the filter


def same_rows(what, want, found, code):
    if code:
        raise Wrong("%s: the copy is damaged" % what)
    if want == found:
        return
    for a, b in zip(want, found):
        if a != b:
            raise Wrong("%s: expected %.250s, found %.250s" % (what, json.dumps(a), json.dumps(b)))
    raise Wrong("%s: expected %d rows, found %d" % (what, len(want), len(found)))


def copies(t, path, out):
    want, code = rows(t, path)
    for command in (["cut"], ["sort"], ["repair"]):
        spur(t, *command, "--input-format=fxt", "--force", path, "-o", out)
        same_rows(command[0], want, *rows(t, out))
        if command == ["cut"] and code == 0:
            with open(path, "rb") as a, open(out, "rb") as b:
                if a.read() != b.read():
                    raise Wrong("cut: an undamaged file has other bytes")
    for one in FILTERS:
        want, _ = rows(t, path, *one, without=("SWITCH",))
        if not want:
            continue
        spur(t, "cut", "--input-format=fxt", "--force", path, "-o", out, *one)
        same_rows("cut %s" % one[0], want, *rows(t, out, without=("SWITCH",)))


def conversions(t, path, out):
    """SPEC fxt/unknown-types: records of unknown type are kept where the byte order stays."""
    want, _ = rows(t, path)
    for order in ("little", "big"):
        with open(path, "rb") as f:
            swapped = (f.read(1) == b"\0") != (order == "big")
        spur(t, "convert", "--input-format=fxt", "--to=fxt", "--force", "--set", "byte-order=" + order, path, "-o", out)
        found, code = rows(t, out)
        if swapped:
            want = [r for r in want if r["kind"] != "NATIVE"]
            found = [r for r in found if r["kind"] != "NATIVE"]
        same_rows("convert to %s" % order, want, found, code)


def one_file(t, label, path):
    why = None
    try:
        with t.temp() as tmp:
            out = os.path.join(tmp, "out.fxt")
            copies(t, path, out)
            conversions(t, path, out)
    except Wrong as e:
        why = str(e)
    t.verdict(label, why)


def run(t):
    files = [(os.path.join("golden", os.path.basename(os.path.dirname(p))), p)
             for p in sorted(glob.glob(os.path.join(t.tests, "golden", "fxt", "*", "in")))]
    shared = sorted(glob.glob(os.path.join(t.traces, "fxt", "files", "*.fxt")) +
                    glob.glob(os.path.join(t.traces, "peer", "fxt-goldens", "*.fxt")))
    if not shared:
        t.skip("fxt-copies/shared", "no FXT files below SPUR_TRACES")
    files += [(os.path.basename(p)[:-4], p) for p in shared if os.path.basename(p)[:-4] not in HEADERLESS]
    for name, path in files:
        if t.wanted("fxt-copies/" + name):
            t.later(one_file, "fxt-copies/" + name, path)
