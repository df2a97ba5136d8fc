"""
The page of `spur view`, driven in a headless browser by keys and mouse (tests/viewers/page.js): what it shows must be what the
commands print for the same range, the same span, the same query.
"""
import csv
import importlib
import io
import json
import os
import re
import shutil
import struct
import subprocess
import sys

from harness import page_flames, page_lanes, page_own, viewers
from harness.fxt import Wrong

TRACES = ("uftrace/own-words", "fxt/all-records", "xray/fdr-threads", "ctf/lttng213-functions", "heph/parent-child", "spur/calls", "ctf/lttng-ust-small")


# Those that are compared as pages of one file, request by request: of each format, with all that stores have.
SAVED = (*TRACES, "fxt/counters-mixed", "uftrace/threads", "uftrace/lost", "uftrace/own-spawn", "uftrace/own-cxx", "uftrace/own-signals", "fxt/async-flows", "fxt/overlapping", "fxt/ends-and-objects",
         "xray/own-profile-throws", "xray/basic-args", "ctf/kernel-threads", "ctf/v11-natural", "heph/nesting", "spur/events", "spur/killed")
SAVED_BROWSER = ("uftrace/own-words", "fxt/all-records")


def spur(t, *args):
    r = t.run([t.spur, *args])
    if r.code not in (0, 1, 3):
        raise Wrong("spur %s: exit code %s: %.200r" % (" ".join(args), r.code, r.err))
    return r.out.decode("utf-8", "surrogateescape")


def rows(t, trace, *args):
    return [json.loads(line) for line in spur(t, "cat", "--jsonl", "-q", trace, *args).split("\n") if line]


def begins(events):
    return [e for e in events if e.get("kind") in ("BEGIN", "SPAN")]


def close(what, a, b, slack):
    if abs(a - b) > slack:
        raise Wrong("%s: expected %s, found %s" % (what, b, a))


def between(what, low, found, high):
    if not low - 1e-6 * abs(low) <= found <= high + 1e-6 * abs(high):
        raise Wrong("%s: expected %s to %s, found %s" % (what, low, high, found))


def moving(m):
    width = m["whole"]["width"]
    held = {k: ms / 1000 for k, ms in m["held"].items()}
    # A key acts at once, and then, while it is held, by 4 times 1.5 or by 1.5 pictures a second.
    between("W", m["whole"]["nspp"] * 0.7 * 1.5 ** (-4 * held["w"]), m["near"]["nspp"], m["whole"]["nspp"] * 0.7)
    step = 0.1 * width * m["near"]["nspp"]
    between("D", m["near"]["start"] + step, m["right"]["start"], m["near"]["start"] + step * (1 + 15 * held["d"]))
    if m["right"]["nspp"] != m["near"]["nspp"]:
        raise Wrong("D: zooms: %s" % m["right"])
    if not m["back"]["start"] < m["right"]["start"] or not m["back"]["nspp"] > m["right"]["nspp"]:
        raise Wrong("A, S: do not go back: %s" % m["back"])
    if m["back"]["start"] < -0.501 * width * m["back"]["nspp"]:
        raise Wrong("A, S: the trace leaves the picture: %s" % m["back"])
    if m["fit"] != m["whole"]:
        raise Wrong("0: expected %s, found %s" % (m["whole"], m["fit"]))
    close("drag on the axis: begin", m["axis"]["start"], m["fit"]["start"] + 100 * m["fit"]["nspp"], 2 * m["fit"]["nspp"])
    close("drag on the axis: width", m["axis"]["nspp"] * width, 200 * m["fit"]["nspp"], 4 * m["fit"]["nspp"])
    if not m["wheel"]["nspp"] < m["axis"]["nspp"]:
        raise Wrong("Ctrl+wheel: does not zoom in")
    close("Alt+drag", m["dragged"]["start"], m["wheel"]["start"] + 100 * m["wheel"]["nspp"], 2 * m["wheel"]["nspp"])
    close("Backspace", m["history"]["nspp"], m["fit"]["nspp"], 1e-6 * m["fit"]["nspp"])


def picking(p, meta):
    longest = p["longest"]["span"]
    close("F", p["fitted"]["nspp"] * p["fitted"]["width"], longest["dur"] * 1.1 + 2, longest["dur"] * 0.01 + 20)
    if p["clicked"] != longest and p["clicked"]["depth"] != longest["depth"]:
        raise Wrong("click: expected %s, found %s" % (longest, p["clicked"]))
    if p["longest"]["calls"] and p["walk"]["ArrowDown"] != p["longest"]["children"][0]:
        raise Wrong("arrow down: expected %s, found %s" % (p["longest"]["children"][0], p["walk"]["ArrowDown"]))
    if p["longest"]["calls"] and p["walk"]["ArrowUp"] != longest:
        raise Wrong("arrow up: expected %s, found %s" % (longest, p["walk"]["ArrowUp"]))
    if longest["ts"] + longest["dur"] > meta["length"]:
        raise Wrong("the longest span ends after the trace")


def flame(r):
    """Each level of the flame graph that fits the panel is painted, from its left edge on."""
    depth, node = 1, r["flame"]
    while node["children"]:
        node, depth = max(node["children"], key=lambda n: n["total"]), depth + 1
    levels, painted = r["painted"]["levels"], r["painted"]["painted"]
    if painted < min(depth, levels) or not painted:
        raise Wrong("flame graph: expected %d of %d levels at its left edge, found %d" % (min(depth, levels), levels, painted))


def queries(t, trace, found):
    name, plain, where = found
    text = spur(t, "cat", "--jsonl", "-q", "--where", "dur > 1us", trace)
    want = len(begins([json.loads(line) for line in text.split("\n") if line]))
    # The page finds time off the CPU too.
    found_it = int(plain["text"].split()[0].replace(",", ""))
    if found_it != want and not (found_it > want and any(e["kind"] == "SWITCH" for e in rows(t, trace))):
        raise Wrong("find %s: expected %d, found %s" % (plain["query"], want, plain["text"]))
    want = len([e for e in rows(t, trace) if e["kind"] not in ("END",) and name["query"].lower() in e.get("name", "").lower()])
    if name["text"].split()[0].replace(",", "") != str(want):
        raise Wrong("find %s: expected %d, found %s" % (name["query"], want, name["text"]))
    text = spur(t, "cat", "--jsonl", "-q", "--where", where["query"], trace)
    want = len(begins([json.loads(line) for line in text.split("\n") if line]))
    if where["text"].split()[0].replace(",", "") != str(want):
        raise Wrong("find %s: expected %d, found %s" % (where["query"], want, where["text"]))


def sums(t, trace, shown):
    r = shown["range"]
    columns = ("calls", "total", "self", "avg", "min", "max", "unfinished")
    text = spur(t, "report", "--csv", "--raw", "-q", "-f", "function," + ",".join(columns), "--from=%dns" % r["from"], "--until=%dns" % r["to"], trace)
    # What is no UTF-8 is U+FFFD in a browser.
    want = {}
    for row in csv.DictReader(io.StringIO(text, newline="")):
        want[re.sub(r"\\udc[89a-f][0-9a-f]", "\ufffd", row["function"].replace("\\u0000", "\0"))] = [int(row[k] or 0) for k in columns]
    got = {re.sub("[\udc80-\udcff]", "\ufffd", s["name"]): [s[k] for k in columns] for s in shown["sums"]}
    for name in sorted(set(want) | set(got)):
        if want.get(name) != got.get(name):
            raise Wrong("functions of the range: %s: spur report has %s, the page %s" % (name, want.get(name), got.get(name)))


def cells(t, trace, shown):
    """Durations have the digits of the command's table; what is below a microsecond is shown in ns."""
    r = shown["range"]
    columns = ("total", "self", "avg", "min", "max")
    text = spur(t, "report", "-q", "-f", ",".join(columns) + ",function", "--limit=2000", "--from=%dns" % r["from"], "--until=%dns" % r["to"], trace)
    want = {}
    for line in text.split("\n\n")[0].splitlines()[1:]:
        words = line.split(None, 2 * len(columns))
        if len(words) <= 2 * len(columns):
            continue
        want[words[-1].rstrip()] = ["%d ns" % int(words[i].replace(".", "")) if words[i + 1] == "us" and words[i].startswith("0.") else
                                    "%s %s" % (words[i], words[i + 1]) for i in range(0, 2 * len(columns), 2)]
    got = {c[0]: [*c[1:3], *c[4:7]] for c in shown["cells"]}
    for name in set(want) & set(got):
        if want[name] != got[name]:
            raise Wrong("cells of %s: spur report has %s, the page %s" % (name, want[name], got[name]))
    if want and not set(want) & set(got):
        raise Wrong("cells: spur report has %s, the page %s" % (sorted(want), sorted(got)))


def modules(t, trace, shown):
    """A module is as if its functions were one: what is left if the calls of all others are taken away. Its total is their self time then."""
    for s in shown:
        if not s["module"]:
            continue
        where = "module == '%s'" % s["module"]
        left = list(csv.DictReader(io.StringIO(spur(t, "report", "--csv", "--raw", "-q", "-f", "function,calls,self,min,max", "--where", where, trace))))
        want = {"calls": sum(int(r["calls"]) for r in left), "total": sum(int(r["self"]) for r in left),
                "min": min(int(r["min"] or 0) for r in left), "max": max(int(r["max"] or 0) for r in left)}
        whole = csv.DictReader(io.StringIO(spur(t, "report", "--csv", "--raw", "-q", "-f", "function,self", trace)))
        names = {r["function"] for r in left}
        want["self"] = sum(int(r["self"]) for r in whole if r["function"] in names)
        if any(s[k] != want[k] for k in want):
            raise Wrong("module %r: spur report has %s, the page %s" % (s["module"], want, s))


def threads(t, trace, shown):
    """A thread is a line of `spur report --by task`, whose command stands above; a process is what its threads are together."""
    if not shown["threadCommand"].startswith("spur report --by task ") or shown["processCommand"]:
        raise Wrong("commands of threads and processes: %s, %s" % (shown["threadCommand"], shown["processCommand"]))
    columns = ("total", "self", "calls", "unfinished", "avg", "min", "max")
    text = spur(t, "report", "--by=task", "--csv", "--raw", "-q", "-f", ",".join(columns) + ",tid,pid,task", trace)
    want = sorted([int(r[k] or 0) for k in columns] for r in csv.DictReader(io.StringIO(text, newline="")))
    got = sorted([int(s[k]) for k in columns] for s in shown["thread"])
    if want != got:
        raise Wrong("threads: spur report --by task has %s, the page %s" % (want, got))
    for k in ("total", "self", "calls", "unfinished"):
        if sum(int(s[k]) for s in shown["process"]) != sum(int(s[k]) for s in shown["thread"]):
            raise Wrong("processes: %s differs from that of threads: %s, %s" % (k, shown["process"], shown["thread"]))


def counters(t, trace, shown):
    for c in shown:
        r = c["range"]
        text = spur(t, "counters", "--by", "track", "--csv", "--raw", "-q", "--from=%dns" % r["from"], "--until=%dns" % r["to"], trace)
        want = {}
        for row in csv.DictReader(io.StringIO(text)):
            key = (row["tid"], " ".join(x for x in (row["name"], row["argument"]) if x))
            want[key] = [row[k] for k in ("samples", "min", "max", "mean", "last")]
        got = {(s["tid"], s["name"]): [str(s[k]) for k in ("samples", "min", "max", "mean", "last")] for s in c["sums"]}
        for key in sorted(set(want) | set(got)):
            # NaN is NaN here.
            if [str(float(x)) for x in want.get(key, [])] != [str(float(x)) for x in got.get(key, [])] or c["rows"] != len(got):
                raise Wrong("counters of %s: %s: spur counters has %s, the page %s in %d rows" % (r, key, want.get(key), got.get(key), c["rows"]))
        if "counters --by track" not in c["command"]:
            raise Wrong("the command of counters: %s" % c["command"])


def touching(m):
    close("two fingers", m["pinched"]["nspp"], m["whole"]["nspp"] / 2, m["whole"]["nspp"] * 0.05)
    close("two fingers: the middle stays", m["pinched"]["start"] + 500 * m["pinched"]["nspp"], m["whole"]["start"] + 500 * m["whole"]["nspp"],
          30 * m["whole"]["nspp"])
    if m.get("at") and m["tapped"] != m["pressed"]:
        raise Wrong("a tap picks %s, a finger that stays %s" % (m["tapped"], m["pressed"]))
    close("one finger", m["panned"]["start"], m["pinched"]["start"] + 100 * m["pinched"]["nspp"], 25 * m["pinched"]["nspp"])


def tracks(k):
    if k["pinned"][0] != k["all"][1 if len(k["all"]) > 1 else 0]:
        raise Wrong("P: the second track is not at the top: %s of %s" % (k["pinned"], k["all"]))
    if len(k["hidden"]) >= len(k["all"]) or k["shown"] != k["all"] or k["filtered"]:
        raise Wrong("H, Shift+H, the filter: %s" % k)


def markup(t, label, tools):
    """A trace whose names are markup: calls, arguments, the file itself."""
    evil = '<img src=x onerror="window.hacked=1"><b class=evil>&amp;'

    def string(index, text):
        body = text.encode()
        words = (len(body) + 7) // 8
        return struct.pack("<Q", 2 | (1 + words) << 4 | index << 16 | len(body) << 32) + body.ljust(8 * words, b"\0")

    def event(kind, name, at, arg):
        head = 4 | (3 if arg else 2) << 4 | kind << 16 | (1 if arg else 0) << 20 | 1 << 24 | name << 48
        return struct.pack("<QQ", head, at) + (struct.pack("<Q", 6 | 1 << 4 | 1 << 16 | 2 << 32) if arg else b"")

    with t.temp() as tmp:
        trace = os.path.join(tmp, "<img src=x onerror='window.hacked=2'>.fxt")
        with open(trace, "wb") as f:
            f.write(struct.pack("<QQQ", 0x0016547846040010, 1 | 2 << 4, 1000000000) + string(1, evil) + string(2, evil + " 2"))
            f.write(struct.pack("<QQQ", 3 | 3 << 4 | 1 << 16, 100, 101))
            f.write(struct.pack("<QQ", 7 | 4 << 4 | 2 << 16 | 1 << 24 | 1 << 40, 101) + struct.pack("<QQ", 8 | 2 << 4 | 2 << 16, 100))
            for i in range(4):
                f.write(event(2, 1, 1000 + 10000 * i, True) + event(2, 2, 2000 + 10000 * i, True) + event(3, 2, 5000 + 10000 * i, False) +
                        event(3, 1, 9000 + 10000 * i, False))
        one(t, label, trace, tools)


def one(t, label, trace, tools):
    t.verdict(label, driven(t, trace, tools, None))


def one_file(t, label, trace, tools):
    """The page as one file does the same without a server."""
    with t.temp() as tmp:
        page = os.path.join(tmp, "page.html")
        spur(t, "convert", "-q", "-o", page, trace)
        t.verdict(label, driven(t, trace, tools, page))


def saved(t, label, trace):
    """The page as one file answers what the server answers."""
    why = None
    with t.temp() as tmp:
        page, cache = os.path.join(tmp, "page.html"), {"XDG_CACHE_HOME": tmp}
        try:
            spur(t, "convert", "-q", "-o", page, trace)
            r = t.run(["node", os.path.join(t.tests, "viewers", "saved.mjs"), os.path.join(t.root, "src", "view", "web"), t.spur, trace, page],
                      env=cache, timeout=300, limit=False)
            if r.code:
                raise Wrong("exit code %s: %.500s" % (r.code, r.err.decode("utf-8", "replace")))
            got = json.loads(r.out)
            if got["questions"] < 100 or got["differ"]:
                raise Wrong("%d of %d answers differ: %.1000s" % (got["differ"], got["questions"], got["first"]))
        except (Wrong, json.JSONDecodeError) as e:
            why = str(e)
    t.verdict(label, why)


def saved_own(t, label, make):
    """The same of a trace that is made here."""
    with t.temp() as folder:
        path, w = os.path.join(folder, "made.fxt"), page_own.Fxt()
        make(w)
        with open(path, "wb") as f:
            f.write(w.out)
        saved(t, label, path)


def beside(t, label, before, after, tools):
    """A second trace below the first one: what both have is what spur diff says, and what is moved stands where it belongs."""
    why = None
    with t.temp() as tmp:
        page = os.path.join(tmp, "page.html")
        spur(t, "convert", "-q", "-o", page, after)
        r = t.run(["node", os.path.join(t.tests, "viewers", "beside.js"), *tools, t.spur, before, page], timeout=300, limit=False)
        try:
            if r.code:
                raise Wrong("exit code %s: %.500s" % (r.code, r.err.decode("utf-8", "replace")))
            got = json.loads(r.out)
            text = spur(t, "diff", "--csv", "--raw", "-q", "-f", "calls_a,self_a,calls_b,self_b,function", before, after)
            want = {row["function"]: [int(row[k] or 0) for k in ("calls_a", "self_a", "calls_b", "self_b")] for row in csv.DictReader(io.StringIO(text))}
            if got["sums"] != want or got["rows"] != len(want):
                raise Wrong("functions: spur diff has %s, the page %s in %d rows" % (want, got["sums"], got["rows"]))
            if got["errors"] or got["names"] != ["…" + w[-27:] for w in (before, after)] or not got["command"].startswith("spur diff %s %s --from" % (before, after)):
                raise Wrong("errors %s, traces %s, command %s" % (got["errors"], got["names"], got["command"]))
            # Edges are whole 32nds of a pixel, and so is the way by which they are moved.
            if got["begin"]["worst"] >= 2 or got["aligned"]["worst"] >= 4 or got["begin"]["seen"] < 20 or not got["offset"]:
                raise Wrong("places: %s, %s moved by %s" % (got["begin"], got["aligned"], got["offset"]))
            if got["left"] >= 0:
                raise Wrong("expected the second trace to be moved to the left, found %s" % got["left"])
            if got["found"]["sides"] != 2 or got["found"]["seen"] != got["found"]["total"]:
                raise Wrong("find: %s" % got["found"])
        except (Wrong, json.JSONDecodeError) as e:
            why = str(e)
    t.verdict(label, why)


def pairs(t, label):
    """Functions of one name in two traces are paired as spur diff does it, and have the names that its table has."""
    with t.temp() as tmp:
        traces = []
        for after in (False, True):
            w = page_own.Fxt()
            page_own.shared(w, after)
            traces.append(os.path.join(tmp, "after.fxt" if after else "before.fxt"))
            with open(traces[-1], "wb") as f:
                f.write(w.out)
            spur(t, "convert", "-q", "-o", traces[-1] + ".html", traces[-1])
        r = t.run(["node", os.path.join(t.tests, "viewers", "pairs.mjs"), os.path.join(t.root, "src", "view", "web"), *(p + ".html" for p in traces)], limit=False)
        got = sorted(json.loads(r.out)) if not r.code else r.err
        columns = ["%s_%s" % (what, side) for side in "ab" for what in ("calls", "total", "self")]
        text = spur(t, "diff", "--raw", "-q", "-f", ",".join(columns) + ",function", *traces)
        want = sorted([words[-1], *words[:-1]] for words in (line.split(None, len(columns)) for line in text.splitlines()[1:]) if len(words) > len(columns))
    t.verdict(label, None if got == want else "spur diff has %s, the page %s" % (want, got))


def driven(t, trace, tools, page):
    """What is wrong with the page of a trace, driven in a browser; `page`: a file that it is, None: the server's."""
    why = None
    r = t.run(["node", os.path.join(t.tests, "viewers", "page.js"), *tools, t.spur, trace, *(("", page) if page else ())], timeout=300, limit=False)
    try:
        if r.code:
            raise Wrong("exit code %s: %.500s" % (r.code, r.err.decode("utf-8", "replace")))
        hosts = [""] if page else ["127.0.0.1"]
        page = json.loads(r.out)
        if page["errors"] or page["hosts"] != hosts:
            raise Wrong("errors %s, hosts %s" % (page["errors"], page["hosts"]))
        if not page["rects"]:
            raise Wrong("nothing is drawn")
        moving(page["moving"])
        if page["meta"]["spans"]:
            picking(page["picking"], page["meta"])
            sums(t, trace, page["ranges"])
            cells(t, trace, page["ranges"])
            modules(t, trace, page["ranges"]["modules"])
            threads(t, trace, page["ranges"])
            flame(page["ranges"])
            queries(t, trace, page["finding"])
        if page["meta"]["series"]:
            counters(t, trace, page["counters"])
        touching(page["touching"])
        tracks(page["tracks"])
        if page["markup"] != [None, 0, None]:
            raise Wrong("markup or direction marks of the trace are those of the page: %s" % page["markup"])
        if page["help"]["lines"] < 40 or page["help"]["unnamed"]:
            raise Wrong("help: %s" % page["help"])
        n = page["narrow"]
        if n["head"] > 130 or n["stage"] < 180 or n["name"] < 60 or n["reach"] > 300:
            raise Wrong("window of 300 pixels: %s" % n)
        n = page["notes"]
        if len(n["note"]) != 1 or n["left"] or n["listed"] != 1 or not n["ruler"][0] < n["ruler"][1] or not n["kept"] or not n["file"].endswith(".view.json"):
            raise Wrong("notes: %s" % n)
    except Wrong as e:
        why = str(e)
    return why


def grow(t, tools, put):
    """Lets a program write calls while the page shows them; returns what it showed after each step."""
    for folder in ("cli/follow-spur", "record", "cli/view-hostile"):
        sys.path.append(os.path.join(t.tests, folder))
    spb, recording, viewer = (importlib.import_module(n) for n in ("spb", "recording", "viewer"))
    with t.temp() as tmp:
        os.mkdir(os.path.join(tmp, "t"))
        program = recording.Program()
        try:
            r = recording.Recording(os.path.join(tmp, "t"), program)
            r.chunk(0, thread=0)
            r.describe(0, spb.site(1, spb.SPAN, "app", "call"))
            r.chunk(1, thread=1)
            begin = r.now()

            def calls(first, n):
                for i in range(first, first + n):
                    for kind, at in ((spb.BEGIN, i * 10000), (spb.END, i * 10000 + 5000)):
                        r.put(r.reserve(1, 1), kind | 1 << 8 | ((begin + at) & 0xFFFFFFFF) << 32)

            calls(0, 10)
            with viewer.Viewer("--follow", os.path.join(tmp, "t"), spur=t.spur, env={"TMPDIR": tmp}) as v:
                node = subprocess.Popen(["node", os.path.join(t.tests, "viewers", "follow.js"), *tools, v.said.strip()], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                try:
                    for spans in (10, 40, 70, 100, -1):
                        if spans > 10:
                            calls(spans - 30, 30)
                        elif spans < 0:
                            r.end()
                            program.kill()
                        node.stdin.write("%d\n" % spans)
                        node.stdin.flush()
                        line = node.stdout.readline()
                        if not line:
                            raise Wrong("step %d: %.500s" % (spans, node.stderr.read()))
                        put(json.loads(line))
                finally:
                    node.kill()
                    node.communicate()
        finally:
            program.kill()


def follow(t, label, tools):
    why = None
    steps = []
    try:
        grow(t, tools, steps.append)
        first, second, left, back, end = steps
        for n, s in zip((10, 40, 70, 100, 100), steps):
            if s["spans"] != n or s["rects"] != n or s["errors"]:
                raise Wrong("expected %d calls, each drawn, found %s" % (n, s))
        for s in (first, second, back):
            if not s["on"] or not s["growing"] or "live" not in s["status"] or not s["start"] < s["length"] <= s["end"] or s["pressed"] != "true":
                raise Wrong("does not follow the end: %s" % s)
        if left["on"] or "not followed" not in left["status"] or left["pressed"] != "false":
            raise Wrong("A: goes on following: %s" % left)
        if end["growing"] or not end["done"] or "live" in end["status"] or end["button"]:
            raise Wrong("is still live: %s" % end)
    except Wrong as e:
        why = str(e)
    t.verdict(label, why)


def earlier(t, label, tools):
    """An event that is earlier than all others comes: times count from it, and what the page keeps stays where it was."""
    def span(begin, end, thread):
        return b"".join(n.to_bytes(8, "little") for n in (5 << 4 | 4 | 4 << 16 | 1 << 32 | 1 << 48, begin, 7, thread, end))

    why = None
    sys.path.append(os.path.join(t.tests, "cli/view-hostile"))
    viewer = importlib.import_module("viewer")
    with t.temp() as folder, open(os.path.join(folder, "z.fxt"), "wb", buffering=0) as f:
        f.write(b"".join(n.to_bytes(8, "little") for n in (0x0016547846040010, 1 | 2 << 4, 10**9, 2 | 2 << 4 | 1 << 16 | 2 << 32)) + b"fn".ljust(8, b"\0"))
        f.write(span(5000, 6000, 8) + span(3000, 9000, 8) + span(9500, 9600, 8))
        with viewer.Viewer("--follow", f.name, spur=t.spur, env={"TMPDIR": folder}) as v:
            node = subprocess.Popen(["node", os.path.join(t.tests, "viewers", "earlier.js"), *tools, v.said.strip()], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True)
            try:
                found = [node.stdout.readline()]
                f.write(span(1000, 2000, 9))
                found.append(node.stdout.readline())
                times = [1000, 10, 6500, 20, 30, 40, 50]
                want = [{"start": "3000", "times": times}, {"start": "1000", "times": [n + 2000 for n in times]}]
                if not all(found):
                    why = "%.500s" % node.stderr.read()
                elif [json.loads(line) for line in found] != want:
                    why = "expected %s, found %s" % (want, found)
            finally:
                node.kill()
                node.communicate()
    t.verdict(label, why)


def building(t, label, trace, tools):
    """A thread's file is a pipe that nothing comes from for now: the page shows the spans of the other threads."""
    why = None
    with t.temp() as folder:
        path = os.path.join(folder, "trace")
        shutil.copytree(trace, path)
        last = os.path.join(path, max(f for f in os.listdir(path) if f.endswith(".dat") and f[0].isdigit()))
        with open(last, "rb") as f:
            data = f.read()
        os.remove(last)
        os.mkfifo(last)
        end = os.open(last, os.O_RDWR)
        os.write(end, data[:64])
        viewer = subprocess.Popen(["timeout", "100", t.spur, "view", "--no-open", "--no-cache", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        page = subprocess.Popen(["node", os.path.join(t.tests, "viewers", "building.js"), *tools, viewer.stdout.readline().strip()],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            first = json.loads(page.stdout.readline() or '""')
            os.write(end, data[64:])
            os.close(end)
            out, err = page.communicate("\n", timeout=120)
            last = json.loads(out or '""')
            if not first or not last:
                raise Wrong("the page ended: %.500s" % err)
            if first["done"] or not first["drawn"] or not first["status"].startswith("reading: "):
                raise Wrong("expected spans while the trace is read, found %s" % first)
            if not last["done"] or last["spans"] <= first["spans"] or not last["drawn"]:
                raise Wrong("expected more spans than %s at the end, found %s" % (first, last))
        except Wrong as e:
            why = str(e)
        finally:
            for p in (page, viewer):
                p.terminate()
                p.wait()
    t.verdict(label, why)


def times(t, label):
    """Requests for times that are no doubles have all digits, and no time that 63 bits do not hold."""
    r = t.run(["node", os.path.join(t.tests, "viewers", "times.mjs"), os.path.join(t.root, "src", "view", "web")], limit=False)
    all_of = "from=0&to=9223372036854775807"
    want = {"held": True, "asked": ["/api/sums?" + all_of, "/api/calls?" + all_of, "/api/counters?" + all_of,
                                    "/api/span?track=1&depth=0&t=4611686018427387904&dur=9223372036854774784",
                                    "/api/sums?from=9007199254740991&to=1152921504606848000"],
            "beyond": [[1, 2, 0, 0], 3 * 1024, True]}
    got = json.loads(r.out) if not r.code else r.err
    t.verdict(label, None if got == want else "expected %s, found %s" % (want, got))


def many(t, label):
    """300,000 threads: their rows, in another order, filtered and folded; who is in whom is found out once."""
    r = t.run(["node", os.path.join(t.tests, "viewers", "many.mjs"), os.path.join(t.root, "src", "view", "web")], limit=False)
    # A process of 20 px and its threads of one lane; the third one is pinned, the second hidden.
    want = {"plain": [3, 0, 1, 4], "rows": 300000, "height": 300000 * 24, "looks": 0, "order": [3, 0, 9, 7], "filter": [3, 0, 300000], "folded": [3, 0],
            "beside": 2 * 300002}
    got = json.loads(r.out) if not r.code else r.err
    t.verdict(label, None if got == want else "expected %s, found %s" % (want, got))


def run(t):
    browser = next((shutil.which(b) for b in viewers.BROWSERS if shutil.which(b)), None)
    modules = os.path.join(t.root, "build", "npm", "node_modules")
    there = browser and shutil.which("node") and os.path.isdir(os.path.join(modules, "playwright-core"))
    for name in TRACES:
        label = "page/" + name
        trace = os.path.join(t.tests, "golden", name, "in")
        if not t.wanted(label):
            continue
        if not there:
            t.skip(label, "no browser, node or playwright-core: tools/install-deps")
        else:
            t.later(one, label, trace, [modules, browser])
    for name in SAVED_BROWSER:
        if t.wanted("page/file/" + name):
            trace = os.path.join(t.tests, "golden", name, "in")
            if there:
                t.later(one_file, "page/file/" + name, trace, [modules, browser])
            else:
                t.skip("page/file/" + name, "no browser, node or playwright-core: tools/install-deps")
    label = "page/beside"
    if t.wanted(label):
        before, after = (os.path.join(t.tests, "golden", "uftrace", "own-compare-" + w, "in") for w in ("before", "after"))
        if there:
            t.later(beside, label, before, after, [modules, browser])
        else:
            t.skip(label, "no browser, node or playwright-core: tools/install-deps")
    for name in SAVED:
        if t.wanted("page/saved/" + name):
            if shutil.which("node"):
                t.later(saved, "page/saved/" + name, os.path.join(t.tests, "golden", name, "in"))
            else:
                t.skip("page/saved/" + name, "no node: tools/install-deps")
    for name in (*page_flames.OWN, "huge-samples"):
        if t.wanted("page/saved/" + name) and shutil.which("node"):
            t.later(saved, "page/saved/" + name, os.path.join(t.tests, "viewers", "traces", name))
    for make in (page_own.mixed, page_own.late):
        label = "page/saved/" + make.__name__
        if t.wanted(label) and shutil.which("node"):
            t.later(saved_own, label, make)
        elif t.wanted(label):
            t.skip(label, "no node: tools/install-deps")
    page_flames.later(t)
    page_lanes.later(t, there, [modules, browser])
    page_own.later(t, there, [modules, browser], driven)
    if t.wanted("page/building"):
        if there:
            t.later(building, "page/building", os.path.join(t.tests, "golden", "uftrace", "own-words", "in"), [modules, browser])
        else:
            t.skip("page/building", "no browser, node or playwright-core: tools/install-deps")
    if t.wanted("page/times"):
        if shutil.which("node"):
            t.later(times, "page/times")
        else:
            t.skip("page/times", "no node: tools/install-deps")
    if t.wanted("page/pairs"):
        if shutil.which("node"):
            t.later(pairs, "page/pairs")
        else:
            t.skip("page/pairs", "no node: tools/install-deps")
    if t.wanted("page/many"):
        if shutil.which("node"):
            t.later(many, "page/many")
        else:
            t.skip("page/many", "no node: tools/install-deps")
    if t.wanted("page/markup") and there:
        t.later(markup, "page/markup", [modules, browser])
    if t.wanted("page/follow"):
        if there:
            t.later(follow, "page/follow", [modules, browser])
        else:
            t.skip("page/follow", "no browser, node or playwright-core: tools/install-deps")
    if t.wanted("page/earlier") and there:
        t.later(earlier, "page/earlier", [modules, browser])
