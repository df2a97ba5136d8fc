"""
The formats that are only written, of every golden: lines of CSV and JSON are those of `spur cat`; folded stacks sum up to those of
`spur flame`; speedscope's profiles and Firefox's have the calls that `spur graph` counts.
"""
import collections
import glob
import json
import os
import re
from decimal import Decimal

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
    """Below each thread, summed over threads."""
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
        if want[path] != found[path]:
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


# Tables of a thread of Firefox's processed profile, version 48: column to the table that its numbers are indices of, or None.
TABLES = {
    "samples": {"stack": "stackTable", "time": None, "weight": None},
    "markers": {"name": "stringArray", "startTime": None, "endTime": None, "phase": None, "category": None, "data": None},
    "stackTable": {"frame": "frameTable", "prefix": "stackTable", "category": None, "subcategory": None},
    "frameTable": {"address": None, "inlineDepth": None, "category": None, "subcategory": None, "func": "funcTable", "nativeSymbol": None,
                   "innerWindowID": None, "implementation": None, "line": None, "column": None},
    "funcTable": {"isJS": None, "relevantForJS": None, "name": "stringArray", "resource": None, "fileName": "stringArray",
                  "lineNumber": None, "columnNumber": None},
    "resourceTable": {"lib": None, "name": None, "host": None, "type": None},
    "nativeSymbols": {"libIndex": None, "address": None, "name": None, "functionSize": None},
}
NULLABLE = ("prefix", "fileName", "stack")


def check_tables(thread):
    """Columns are of one length, indices within their tables; a stack's prefix comes before it; samples are in order."""
    for table, columns in TABLES.items():
        n = thread[table]["length"]
        for column, target in columns.items():
            values = thread[table][column]
            size = 0 if target is None else len(thread[target]) if target == "stringArray" else thread[target]["length"]
            if len(values) != n:
                raise Wrong("firefox: %s.%s: expected %d values, found %d" % (table, column, n, len(values)))
            if target and any(not 0 <= v < size for v in values if not (v is None and column in NULLABLE)):
                raise Wrong("firefox: %s.%s: an index is not in %s" % (table, column, target))
    if any(v is not None and v >= i for i, v in enumerate(thread["stackTable"]["prefix"])):
        raise Wrong("firefox: a stack comes before its prefix")
    times = thread["samples"]["time"]
    if times != sorted(times) or thread["samples"]["weightType"] != "tracing-ms":
        raise Wrong("firefox: samples are not in order, or not weighed by time")
    for begin, end, phase in zip(*(thread["markers"][k] for k in ("startTime", "endTime", "phase"))):
        if (phase, end is None) not in ((0, True), (1, False)) or (phase and end < begin):
            raise Wrong("firefox: a marker of phase %s from %s to %s" % (phase, begin, end))


def names_of_stack(thread, stack):
    frames, stacks, funcs = thread["frameTable"], thread["stackTable"], thread["funcTable"]
    names = []
    while stack is not None:
        names.append(thread["stringArray"][funcs["name"][frames["func"][stacks["frame"][stack]]]])
        stack = stacks["prefix"][stack]
    return tuple("off CPU" if name == "(off CPU)" else name for name in reversed(names))


def firefox(t, trace):
    """Its samples weigh what is spent in each stack; interval markers are the calls that `spur graph` counts."""
    text = converted(t, trace, "firefox", "--demangle=full")
    document = json.loads(text, parse_float=Decimal)
    if document["meta"]["preprocessedProfileVersion"] != 48 or not any(c["color"] == "grey" for c in document["meta"]["categories"]):
        raise Wrong("firefox: the version, or the default category")
    total, calls, want_calls = (collections.Counter() for _ in range(3))
    for thread in document["threads"]:
        check_tables(thread)
        known = {}
        for stack, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"]):
            if stack not in known:
                known[stack] = names_of_stack(thread, stack)
            for n in range(1, len(known[stack]) + 1):
                total[known[stack][:n]] += int(weight * 1000000)
        for name, phase in zip(thread["markers"]["name"], thread["markers"]["phase"]):
            calls[thread["stringArray"][name].replace("(off CPU)", "off CPU")] += phase
    for names, (count, ns, _) in viewers.own_sums(t, trace).items():
        if "off CPU" not in names:
            want_calls[names[-1]] += count
            if ns is not None and ns != total[names]:
                raise Wrong("firefox: %s: expected %d ns, found %d" % (" > ".join(names), ns, total[names]))
    for name in want_calls:
        if calls[name] != want_calls[name]:
            raise Wrong("firefox: %s: expected %d markers, found %d" % (name, want_calls[name], calls[name]))
    if converted(t, trace, "firefox", "--demangle=full", "--read-size=7", "--threads=2") != text:
        raise Wrong("firefox: differs with --read-size=7 --threads=2")


def one(t, label, name, trace):
    why = None
    try:
        lines(t, trace)
        if name not in viewers.EXCEPT:
            folded(t, trace)
            speedscope(t, trace)
            firefox(t, trace)
    except Wrong as e:
        why = str(e)
    t.verdict(label, why)


def run(t):
    for trace in sorted(glob.glob(os.path.join(t.tests, "golden", "*", "*", "in"))):
        name = os.path.relpath(os.path.dirname(trace), os.path.join(t.tests, "golden"))
        if t.wanted("exports/" + name):
            t.later(one, "exports/" + name, name, trace)
