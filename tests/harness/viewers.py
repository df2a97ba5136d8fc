"""
Chrome JSON as viewers read it. Every golden trace is converted; what comes out is read by the rules of Perfetto's importer, written
down here, and must have the calls that `spur graph` counts: as many, with the same callers, of the same durations. Some are also
opened in speedscope in a headless browser (tests/viewers/speedscope.js), which must show the same.
"""
import collections
import glob
import json
import os
import shutil
from decimal import Decimal

from harness import core

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Of each format; with arguments, time off the CPU, exceptions, several processes and threads.
SPEEDSCOPE = ("uftrace/own-words", "uftrace/threads", "uftrace/args-auto", "uftrace/forkexec", "uftrace/own-cxx", "uftrace/own-signals", "xray/fdr-threads",
              "xray/basic-args", "fxt/all-records", "fxt/overlapping", "heph/nesting", "ctf/kernel-threads", "ctf/lttng213-functions")
NUMBERS = (int, Decimal)
# Traces that are not compared.
EXCEPT = {
    "ctf/v11-encrypted": "cannot be read without its key",
    "fxt/async-flows": "has async ends without a begin, on purpose",
    "fxt/ends-and-objects": "has async ends without a begin, on purpose",
    "uftrace/own-words-time": "has a least duration, which analyses apply to time off the CPU, too",
    "xray/own-profile-throws": "has samples, as xray/profile",
    "xray/profile": "has samples, which the graph counts and Chrome JSON has no slices for",
}


class Wrong(Exception):
    pass


def slices_of_thread(events):
    """
    [(names from the outermost call, duration in ns)] of one thread's B, E and X events. They are sorted by time, those of one time
    stay in the order of the file. An E ends the innermost open slice, whose name it must have; an X must lie within those that are
    open; each B has its E.
    """
    found, stack = [], []

    def end_until(ts):
        while stack and stack[-1][2] is not None and stack[-1][2] <= ts:
            stack.pop()

    for e in sorted(events, key=lambda e: e["ts"]):
        ts = e["ts"]
        end_until(ts)
        if e["ph"] == "E":
            if not stack or stack[-1][2] is not None:
                raise Wrong("an E at %s ends nothing" % ts)
            if e["name"] != stack[-1][0]:
                raise Wrong("an E of %s at %s, found %s open" % (e["name"], ts, stack[-1][0]))
            name, at, _, place = stack.pop()
            found[place] = (found[place][0], int((ts - at) * 1000))
            continue
        stack.append((e["name"], ts, ts + e["dur"] if e["ph"] == "X" else None, len(found)))
        ends = [s[2] for s in stack if s[2] is not None]
        if ends != sorted(ends, reverse=True):
            raise Wrong("an X at %s ends after the slice that it is in" % ts)
        found.append((tuple(s[0] for s in stack), int(e["dur"] * 1000) if e["ph"] == "X" else None))
    for s in stack:
        if s[2] is None:
            raise Wrong("the B of %s at %s never ends" % (s[0], s[1]))
    return found


def check_event(e):
    """The fields of one event."""
    def must(what, good):
        if not good:
            raise Wrong("%s: expected %s" % (json.dumps(e, default=str)[:200], what))

    must("a known ph", e.get("ph") in tuple("BEXiCbnestfM"))
    must("pid and tid", isinstance(e.get("pid"), int) and isinstance(e.get("tid"), int))
    must("a name", isinstance(e.get("name"), str))
    if e["ph"] == "M":
        return
    must("a ts of whole nanoseconds", isinstance(e.get("ts"), NUMBERS) and e["ts"] * 1000 == int(e["ts"] * 1000))
    if e["ph"] == "X":
        must("a dur of whole nanoseconds", e["dur"] >= 0 and e["dur"] * 1000 == int(e["dur"] * 1000))
    if e["ph"] in "bnestf":
        must("an id", isinstance(e.get("id"), str) or isinstance(e.get("id2"), dict))
    if e["ph"] == "C":
        must("numbers", all(isinstance(v, NUMBERS) for v in e["args"].values()))


def check_async(events):
    """An async event ends one of its category, id and name that has begun."""
    open_ = collections.Counter()
    for e in sorted((e for e in events if e["ph"] in "be"), key=lambda e: e["ts"]):
        key = e.get("cat"), e.get("id") or json.dumps(e["id2"]), e["name"], e["pid"]
        open_[key] += 1 if e["ph"] == "b" else -1
        if open_[key] < 0:
            raise Wrong("an e of %s at %s ends nothing" % (key, e["ts"]))


def perfetto_slices(document):
    threads = {}
    for e in document["traceEvents"]:
        check_event(e)
        if e["ph"] in "BEX":
            threads.setdefault((e["pid"], e["tid"]), []).append(e)
    return [s for events in threads.values() for s in slices_of_thread(events)]


def speedscope_slices(document, scale=1000):
    """The same of what speedscope saved; `scale`: ns of its unit. Names from Chrome JSON have the arguments behind them."""
    names = [f["name"] if scale == 1 else f["name"].split(" {", 1)[0] for f in document["shared"]["frames"]]
    names = ["off CPU" if name == "(off CPU)" else name for name in names]
    found = []
    for profile in document["profiles"]:
        stack = []
        for e in profile["events"]:
            if e["type"] == "O":
                stack.append((names[e["frame"]], e["at"], len(found)))
                found.append((tuple(s[0] for s in stack), None))
            else:
                name, at, place = stack.pop()
                found[place] = (found[place][0], round((e["at"] - at) * scale))
    return found


def sums(slices):
    """{names: (calls, total ns)}; total is None where a call never ends."""
    out = {}
    for names, ns in slices:
        calls, total = out.get(names, (0, 0))
        out[names] = (calls + 1, None if total is None or ns is None else total + ns)
    return out


def own_sums(t, trace):
    """The same of spur graph, and how many more slices there may be: time off the CPU that it does not count."""
    r = t.run([t.spur, "graph", "--json", "--no-args", "--demangle=full", trace])
    if r.code not in (0, 1, 3):
        raise Wrong("spur graph: exit code %s: %.200r" % (r.code, r.err))
    paths, out = {None: ()}, {}
    for n in json.loads(r.out)["nodes"]:
        name = "off CPU" if n["function"] == "(off CPU)" else n["function"]
        paths[n["id"]] = paths[n["parent"]] + (name,)
        calls, total, more = out.get(paths[n["id"]], (0, 0, 0))
        away = n["unfinished"] if name == "off CPU" else 0
        out[paths[n["id"]]] = (calls + n["calls"], None if total is None or away else total + n["total"], more + away)
    return out


def compare(who, want, got):
    """
    Raises where the sums differ. Time off the CPU whose end is not in the data is shown to the end of the trace, but counts nothing.
    Time off the CPU outside any call is no part of a call graph.
    """
    for names in sorted((set(want) | set(got)) - {("off CPU",)}):
        a, b = want.get(names, (0, 0, 0)), got.get(names, (0, 0))
        if not a[0] <= b[0] <= a[0] + a[2] or (a[1] is not None and b[1] is not None and a[1] != b[1]):
            raise Wrong("%s: %s: expected %s calls of %s ns, found %s of %s ns" % (who, " > ".join(names), *a[:2], *b))


def convert(t, trace, to, target="chrome"):
    r = t.run([t.spur, "convert", "-y", "--to=" + target, "--demangle=full", "-o", to, trace])
    if r.code not in (0, 3):
        raise Wrong("spur convert: exit code %s: %.200r" % (r.code, r.err))
    with open(to, encoding="utf-8") as f:
        return json.load(f, parse_float=Decimal)


def one(t, label, trace):
    why = None
    with t.temp() as tmp:
        try:
            document = convert(t, trace, os.path.join(tmp, "chrome.json"))
            check_async(document["traceEvents"])
            compare("by Perfetto's rules", own_sums(t, trace), sums(perfetto_slices(document)))
        except Wrong as e:
            why = str(e)
    t.verdict(label, why)


def in_speedscope(t, browser, modules):
    with t.temp() as tmp:
        traces = {}
        for name in SPEEDSCOPE:
            trace = os.path.join(t.tests, "golden", name, "in")
            for target, scale in (("chrome", 1000), ("speedscope", 1)):
                to = os.path.join(tmp, "%s.%s.json" % (name.replace("/", "-"), target))
                convert(t, trace, to, target)
                traces[name + " " + target] = (trace, to, scale)
        argv = ["node", os.path.join(t.tests, "viewers", "speedscope.js"), modules, browser, *(to for _, to, _ in traces.values())]
        r = t.run(argv, cwd=tmp, env={"HOME": tmp}, timeout=300, limit=False)
        if r.code:
            t.fail("viewers/speedscope", "exit code %s: %.500s" % (r.code, r.err.decode("utf-8", "replace")))
            return
        for name, (trace, to, scale) in traces.items():
            why = None
            try:
                saved = core.read(to + ".speedscope")
                if saved is None:
                    raise Wrong(r.out.decode("utf-8", "replace").strip()[:500])
                compare("speedscope", own_sums(t, trace), sums(speedscope_slices(json.loads(saved), scale)))
            except Wrong as e:
                why = str(e)
            t.verdict("viewers/speedscope/" + name, why)


def run(t):
    if t.wanted("viewers/speedscope"):
        browser = next((shutil.which(b) for b in BROWSERS if shutil.which(b)), None)
        modules = os.path.join(t.root, "build", "npm", "node_modules")
        missing = [what for what, there in (("a browser", browser), ("node", shutil.which("node")),
                                            ("speedscope", os.path.isdir(os.path.join(modules, "speedscope"))),
                                            ("playwright-core", os.path.isdir(os.path.join(modules, "playwright-core")))) if not there]
        if missing:
            t.skip("viewers/speedscope", "no %s: tools/install-deps" % ", ".join(missing))
        else:
            t.later(in_speedscope, browser, modules)
    for trace in sorted(glob.glob(os.path.join(t.tests, "golden", "*", "*", "in"))):
        name = os.path.relpath(os.path.dirname(trace), os.path.join(t.tests, "golden"))
        label = "viewers/" + name
        if t.wanted(label) and name not in EXCEPT:
            t.later(one, label, trace)
