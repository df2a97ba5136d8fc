"""
Copies of Spur's recordings. Every golden and damaged recording, and every golden of other formats as a recording, is cut whole, sorted,
repaired, cut by filters, and split; two are merged. What comes out has no damage and the rows that the filter lets pass, in the same
order; a whole copy of an undamaged recording has the same bytes. SPEC spur/copy

What a killed program never completed is a lost event in the original (RETIMED) and in a copy (a LOST record): flags are not compared.
"""
import collections
import filecmp
import glob
import json
import os

from harness.fxt import Wrong
from harness.fxt_copies import same_rows

FILTERS = (["--kind=INSTANT"], ["--kind=BEGIN,END,SPAN"], ["--where=kind != 'INSTANT' && kind != 'SPAN'"], ["--limit=3"], ["--until=2us"])


def spur(t, *args):
    r = t.run([t.spur, *args])
    if r.trouble() or r.code not in (0, 3):
        raise Wrong("%s: %s" % (args[0], r.trouble() or "exit code %s: %.200r" % (r.code, r.err)))
    return r


def rows(t, path, *args):
    """Rows without their places and flags."""
    r = t.run([t.spur, "cat", "--jsonl", "--input-format=spur", path, *args])
    if r.trouble() or r.code not in (0, 1, 3):
        raise Wrong("cat: %s" % (r.trouble() or "exit code %s: %.200r" % (r.code, r.err)))
    out = []
    for line in r.out.decode("utf-8", "surrogateescape").splitlines():
        row = json.loads(line)
        for key in ("stream", "off", "flags"):
            row.pop(key, None)
        if row["name"] != "unknown record":
            out.append(row)
    return out, r.code if r.code != 1 else 0  # 1: no row passes the filter


def equal_bytes(a, b):
    if os.path.isfile(a):
        return filecmp.cmp(a, b, shallow=False)
    names = sorted(os.listdir(a))
    return names == sorted(os.listdir(b)) and all(filecmp.cmp(os.path.join(a, n), os.path.join(b, n), shallow=False) for n in names)


def damaged_arguments(t, path):
    """How many records have arguments of which some cannot be read: the first ones of these recordings."""
    damage = json.loads(t.run([t.spur, "check", "--json", path]).out)["damage"]
    return sum(d["count"] for d in damage if d["code"] == "arguments/damaged")


def without_arguments(want, n):
    """A repaired record has no arguments if some cannot be read."""
    for i in [i for i, row in enumerate(want) if row.get("args")][:n]:
        want = want[:i] + [{**want[i], "args": {}}] + want[i + 1:]
    return want


def copies(t, path, out, filters):
    want, code = rows(t, path)
    for command in ("cut", "sort", "repair"):
        spur(t, command, "--input-format=spur", "--force", path, "-o", out)
        found = rows(t, out)
        if command == "repair":
            mended = damaged_arguments(t, path)
            if t.run([t.spur, "check", out]).code:
                raise Wrong("repair: the copy is not clean")
            same_rows(command, without_arguments(want, mended), *found)
        else:
            same_rows(command, want, *found)
        if command == "cut" and code == 0 and not equal_bytes(path, out):
            raise Wrong("cut: an undamaged recording has other bytes")
    # Sorted once is sorted.
    spur(t, "sort", "--force", path, "-o", out)
    spur(t, "sort", "--force", out, "-o", out + "2")
    if not equal_bytes(out, out + "2"):
        raise Wrong("sort: what is sorted has other bytes")
    for one in filters:
        want, _ = rows(t, path, *one)
        if want:
            spur(t, "cut", "--input-format=spur", "--force", path, "-o", out, *one)
            same_rows("cut %s" % one[0], want, *rows(t, out))


def counted(found):
    """
    Rows with their number. The end that a tail call implies is left out: it is no record of its own, and the part that has the call may
    lack the begin of the one before.
    """
    return collections.Counter(json.dumps(r, sort_keys=True) for r in found if r["name"] != "return")


def parts(t, path, out, ways):
    """All parts of a split have all rows."""
    want, _ = rows(t, path)
    if not want:
        return
    for by in ways:
        spur(t, "split", "--input-format=spur", "--force", "--by=" + by, path, "-o", out)
        found = collections.Counter()
        for name in os.listdir(out):
            got, code = rows(t, os.path.join(out, name))
            if code:
                raise Wrong("split: %s is damaged" % name)
            found += counted(got)
        if found != counted(want):
            raise Wrong("split by %s: expected %d rows, found others" % (by, len(want)))


def one(t, label, path, convert):
    why = None
    try:
        with t.temp() as tmp:
            if convert:
                r = t.run([t.spur, "convert", "--to=spur", path, "-o", os.path.join(tmp, "in.spur")])
                if r.code not in (0, 3):
                    t.ok()
                    return
                path = os.path.join(tmp, "in.spur")
                if t.run([t.spur, "check", path]).code:
                    raise Wrong("convert: the recording is damaged")
            copies(t, path, os.path.join(tmp, "out.spur"), FILTERS[-1:] if convert else FILTERS)
            parts(t, path, os.path.join(tmp, "parts"), ("thread",) if convert else ("thread", "count=3"))
    except Wrong as e:
        why = str(e)
    t.verdict(label, why)


def run(t):
    for group in ("golden", "bad"):
        for path in sorted(glob.glob(os.path.join(t.tests, group, "spur", "*", "in"))):
            name = "spur-copies/%s/%s" % (group, os.path.basename(os.path.dirname(path)))
            readable = t.run([t.spur, "cat", path]).code in (0, 3)
            if t.wanted(name) and readable:
                t.later(one, name, path, False)
    # SPEC spur/values: more structures without members than a descriptor may have
    name = "spur-copies/nothing-in-lots"
    if t.wanted(name):
        t.later(one, name, os.path.join(t.tests, "bad", "ctf", "nothing-in-lots", "in"), True)
    for path in sorted(glob.glob(os.path.join(t.tests, "golden", "*", "*", "in"))):
        name = "spur-copies/%s" % os.path.relpath(os.path.dirname(path), os.path.join(t.tests, "golden"))
        if t.wanted(name) and "/spur/" not in path:
            t.later(one, name, path, True)
