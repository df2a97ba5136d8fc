"""
What threads do, critical paths and losses on the page of `spur view`, driven in a browser (tests/viewers/lanes.js): numbers by hand
(harness/hand.py), and those of the command line.
"""
import json
import os

from harness import hand
from harness.fxt import Wrong

PATH = [["100 ns", "1.000 us", "A", "running", "request", ""], ["1.100 us", "2.000 us", "B", "running", "serve", ""],
        ["3.100 us", "900 ns", "C", "running", "", "wakes B, blocked for 900 ns, in disk"], ["4.000 us", "600 ns", "B", "runnable", "serve", "CPU held by C for 600 ns"],
        ["4.600 us", "400 ns", "B", "running", "serve", "wakes A, blocked for 3.900 us, in reply"],
        ["5.000 us", "300 ns", "A", "runnable", "wait", ""], ["5.300 us", "700 ns", "A", "running", "request", ""]]


def named(text, page):
    """With the letters of threads in place of their names."""
    for letter, tid in (("A", hand.A), ("B", hand.B), ("C", hand.C)):
        for track in page["meta"]["tracks"]:
            if track["tid"] == str(tid):
                text = text.replace("%s %d" % (track["name"] or "thread", tid), letter)
    return text


def expect(what, want, found):
    if want != found:
        raise Wrong("%s: expected %s, found %s" % (what, want, found))


def one(t, label, make, tools, saved):
    why = None
    with t.temp() as folder:
        path = os.path.join(folder, "hand." + make.__name__)
        make(path)
        page = os.path.join(folder, "page.html")
        made = t.run([t.spur, "convert", "-q", "-o", page, path]) if saved else None
        r = t.run(["node", os.path.join(t.tests, "viewers", "lanes.js"), *tools, t.spur, path, *(("", page) if saved else ())], timeout=300, limit=False)
    try:
        if made and made.code:
            raise Wrong("exit code %s: %.500s" % (made.code, made.err.decode("utf-8", "replace")))
        if r.code:
            raise Wrong("exit code %s: %.500s" % (r.code, r.err.decode("utf-8", "replace")))
        page = json.loads(r.out)
        expect("errors", [], page["errors"])
        expect("threads with states", 3, sum(k["states"] for k in page["meta"]["tracks"]))
        # The height tells the state, not the colour alone.
        expect("heights", {"running": 7, "runnable": 4, "blocked": 2}, page["heights"])
        tips = {k: named(v, page) for k, v in page["tips"].items()}
        expect("tooltips", {"woken": "runnable, 600 ns, woken by C, CPU held by C for 600 ns", "running": "running on CPU 0, 1.100 us",
                            "blocked": "blocked, 3.900 us"}, tips)
        expect("critical path", PATH, [[named(cell, page) for cell in row] for row in page["table"][1:]])
        expect("sums", "running 5.000 us, runnable 900 ns", page["sums"])
        # On the picture: the times of each thread, whose runnable parts are dashed.
        for drawn, least, most in zip(page["path"], (1650, 2350, 800), (2050, 3050, 1000)):
            if not least <= drawn <= most:
                raise Wrong("the path over the tracks: %s ns are drawn" % page["path"])
    except Wrong as e:
        why = str(e)
    t.verdict(label, why)


def later(t, there, tools):
    for make, saved in ((hand.fxt, False), (hand.ctf, False), (hand.fxt, True)):
        label = "page/states-" + make.__name__ + ("-file" if saved else "")
        if not t.wanted(label):
            continue
        if not there:
            t.skip(label, "no browser, node or playwright-core: tools/install-deps")
        else:
            t.later(one, label, make, tools, saved)
