"""
The formats that are only written, of every golden: lines of CSV and JSON are those of `spur cat`; folded stacks sum up to those of
`spur flame`; speedscope's profiles have the calls that `spur graph` counts.
"""
import collections
import glob
import json
import os
import re

from harness import viewers
from harness.viewers import Wrong


def converted(t, trace, target, *more):
    r = t.run([t.spur, "convert", "-q", "--to=" + target, "-o", "-", *more, trace])
    if r.trouble() or r.code not in (0, 3):
        raise Wrong("convert --to=%s: %s" % (target, r.trouble() or "exit code %s: %.200r" % (r.code, r.err)))
    return r.out


def lines(t, trace):
    for target, option in (("csv", "--csv"), ("jsonl", "--jsonl")):
        want = t.run([t.spur, "cat", option, trace]).out
        for more in ([], ["--read-size=7", "--threads=2"]):
            if converted(t, trace, target, *more) != want:
                raise Wrong("%s %s: differs from spur cat %s" % (target, " ".join(more), option))


def stacks(text):
    """(path, value) of folded lines."""
    for line in text.decode("utf-8", "replace").splitlines():
        path, value = line.rsplit(" ", 1)
        yield path, int(value)


def folded(t, trace):
    """Below each thread, summed over threads. Time off the CPU outside any call is no part of spur flame."""
    want, found, text = collections.Counter(), collections.Counter(), converted(t, trace, "folded", "--demangle=full")
    paths = [path for path, _ in stacks(text)]
    if sorted(set(paths)) != sorted(paths):
        raise Wrong("folded: a path comes twice")
    for path, value in stacks(text):
        found[path.split(";", 1)[1]] += value
    # Functions of one name in several modules have these behind their names.
    for path, value in stacks(t.run([t.spur, "flame", "--no-args", "--demangle=full", trace]).out):
        want[re.sub(r" \[[^;]*?\](?=;|$)", "", path)] += value
    for path in sorted(set(want) | set(found)):
        if not path.endswith("(off CPU)") and want[path] != found[path]:
            raise Wrong("folded: %.300s: expected %d, found %d" % (path, want[path], found[path]))
    if converted(t, trace, "folded", "--demangle=full", "--read-size=7", "--threads=2") != text:
        raise Wrong("folded: differs with --read-size=7 --threads=2")


def speedscope(t, trace):
    text = converted(t, trace, "speedscope", "--demangle=full")
    document = json.loads(text)
    for p in document["profiles"]:
        times = [e["at"] for e in p["events"]]
        if times != sorted(times) or (times and (p["startValue"], p["endValue"]) != (times[0], times[-1])):
            raise Wrong("speedscope: %s: times are not in order within its start and end" % p["name"])
    viewers.compare("speedscope", viewers.own_sums(t, trace), viewers.sums(viewers.speedscope_slices(document, 1)))
    if converted(t, trace, "speedscope", "--demangle=full", "--read-size=7", "--threads=2") != text:
        raise Wrong("speedscope: differs with --read-size=7 --threads=2")


def one(t, label, name, trace):
    why = None
    try:
        lines(t, trace)
        if name not in viewers.EXCEPT:
            folded(t, trace)
            speedscope(t, trace)
    except Wrong as e:
        why = str(e)
    t.verdict(label, why)


def run(t):
    for trace in sorted(glob.glob(os.path.join(t.tests, "golden", "*", "*", "in"))):
        name = os.path.relpath(os.path.dirname(trace), os.path.join(t.tests, "golden"))
        if t.wanted("exports/" + name):
            t.later(one, "exports/" + name, name, trace)
