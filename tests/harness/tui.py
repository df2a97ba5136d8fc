"""
`spur tui`, driven by keys in a terminal (terminal.py): what it shows must be what the commands print for the same range, the same
span, the same query. The cells of the picture are computed again from the events that `spur cat` prints.
"""
import json
import os
import random
import re
import shutil
import signal
import termios
import time

from harness.fxt import Wrong
from harness.terminal import Terminal

TRACES = ("uftrace/own-words", "fxt/all-records", "xray/fdr-threads", "ctf/lttng213-functions", "heph/parent-child", "spur/calls")
UP, DOWN, RIGHT, LEFT, ENTER, ESCAPE, TAB = "\033OA", "\033OB", "\033OC", "\033OD", "\r", "\033", "\t"
WIDE = (200, 60)
FUNCTION = re.compile(r" *(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) (.*)")


# ncurses keeps what newterm() allocates before it looks for a terminal that there is not.
LEAKS = "suppressions=%s:print_suppressions=0" % os.path.join(os.path.dirname(os.path.abspath(__file__)), "tui.supp")


def environment(**more):
    return {"LSAN_OPTIONS": LEAKS, "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "HOME": "/dev/null", "TZ": "UTC",
            **more}


class Session(Terminal):
    """A running `spur tui`. Ends with the `with` block, whatever comes."""

    def __init__(self, t, trace, *options, size=WIDE, argv=None, **env):
        super().__init__(argv or [t.spur, "tui", *options, trace], environment(**env), *size)
        self.keys = 0

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def ready(self):
        """Waits until all of the trace is read."""
        self.until("reading", lambda s: " span" in s.line(0) and ", from " in s.line(0) and "so far" not in s.line(0))
        self.settled()

    def settled(self):
        """Waits until the keys so far are answered: they are read in their order, and a mark says so."""
        self.keys += 1
        text = "settled%d" % self.keys
        self.type("t" + text)
        self.until("typing " + text, lambda s: s.line(s.height - 1).startswith("tracks: " + text))
        self.type(ESCAPE)
        self.until("leaving " + text, lambda s: text not in s.line(s.height - 1))

    def press(self, *keys):
        for k in keys:
            self.type(k)
        self.settled()

    def panel(self):
        """The lines of the panel, without its head, once it is complete."""
        names = ("Details", "Functions", "Longest calls", "Damage", "Keys")

        def head(s):
            return next((y for y in range(3, s.height) if s.line(y).startswith(names)), None)

        self.until("a panel", lambda s: head(s) is not None and " ..." not in s.line(head(s)))
        y = head(self.screen)
        return self.screen.line(y).rstrip(), [line for line in self.screen.lines()[y + 1:self.screen.height - 1] if line]

    def quit(self):
        self.type("q")
        return self.end()


def spur(t, *args):
    r = t.run([t.spur, *args])
    if r.code not in (0, 1, 3):
        raise Wrong("spur %s: exit code %s: %.200r" % (" ".join(args), r.code, r.err))
    return r.out.decode("utf-8", "surrogateescape")


def expect(what, want, found):
    if want != found:
        raise Wrong("%s: expected %s, found %s" % (what, want, found))


# --- functions and calls

def report(t, trace, first, last):
    out = {}
    rows = json.loads(spur(t, "report", "--json", "-q", "-f", "function,calls,total,self,min,max", "--from=%s" % first, "--until=%s" % last, trace))
    for row in rows["rows"]:
        if row["calls"]:
            out[row["function"]] = [row[k] for k in ("total", "self", "calls", "min", "max")]
    return out


def functions(s):
    """What the panel shows, all of it, and the range."""
    head, _ = s.panel()
    first, last = re.search(r"--from (-?\d+ns) --until (-?\d+ns)", head).groups()
    count = int(re.search(r"Functions: (\d+)", head).group(1))
    out = {}
    for _ in range(count + 2):
        for line in s.panel()[1][1:]:
            m = FUNCTION.match(line)
            if m:
                total, own, calls, _, least, most, name = m.groups()
                out[name] = [int(n) for n in (total, own, calls, least, most)]
        if len(out) >= count:
            break
        s.press("\033[6~")
    return first, last, out


def same_functions(t, trace, s, what):
    first, last, found = functions(s)
    want = report(t, trace, first, last)
    for name in sorted(set(want) | set(found)):
        short = name
        if want.get(short) != found.get(short) and name != "(off CPU)" and not name.startswith("linux:"):
            raise Wrong("%s: %s in %s to %s: spur report has %s, the panel %s" % (what, name, first, last, want.get(short), found.get(short)))
    return len(found)


def ranges(t, trace, s):
    s.press("2", "e")
    n = same_functions(t, trace, s, "functions of all")
    s.press(TAB, "w", "w", "w", "d")
    same_functions(t, trace, s, "functions of the screen")
    s.press("0", ESCAPE, RIGHT)
    if s.screen.line(s.screen.height - 1).startswith("no span"):
        return
    s.press("[", "]", "2")
    head, _ = s.panel()
    if "(marked)" not in head:
        raise Wrong("[ ]: no range is marked: %s" % head)
    same_functions(t, trace, s, "functions of the marked range")
    s.press(TAB, "\\", ESCAPE)
    if not n:
        raise Wrong("no functions are shown")


def calls(t, trace, s):
    s.press(ESCAPE, ESCAPE, "0", "4")
    _, lines = s.panel()
    found = [int(line.split()[0]) for line in lines[1:]]
    want = [row["duration"] for row in json.loads(spur(t, "top", "--longest=20", "--json", "-q", trace))["rows"]]
    n = min(len(found), len(want))
    expect("the longest calls", want[:n], found[:n])
    begin = int(lines[1].split()[1])
    s.press(ENTER, TAB, "1")
    _, details = s.panel()
    values = dict(line.split(None, 1) for line in details if re.match(r"\S+ +\S", line))
    expect("duration of the longest call", want[0], int(values["duration"].split()[0]))
    expect("begin of the longest call", begin, int(values["begin"].split()[0]))


# --- the picture

def begins(events):
    return [e for e in events if e.get("kind") in ("BEGIN", "SPAN")]


def finding(t, trace, s):
    name = begins([json.loads(line) for line in spur(t, "cat", "--jsonl", "-q", trace).splitlines()])[0]["name"]
    for query in (name[:4], "dur > 1us && depth >= 0"):
        s.press(ESCAPE, ESCAPE)
        s.type("/" + query + ENTER)
        s.until("find " + query, lambda sc: " found: " in sc.line(sc.height - 1) or "no event" in sc.line(sc.height - 1))
        found = int(s.screen.line(s.screen.height - 1).split()[0])
        if "&&" in query:
            text = spur(t, "cat", "--jsonl", "-q", "--where", query, trace)
            want = len([e for e in map(json.loads, text.splitlines()) if e["kind"] != "END"])
        else:
            events = [json.loads(line) for line in spur(t, "cat", "--jsonl", "-q", trace).splitlines()]
            want = len([e for e in events if e["kind"] != "END" and query.lower() in e.get("name", "").lower()])
        expect("hits of " + query, want, found)
    expect("a wrong expression", True, wrong_query(s))


def wrong_query(s):
    s.press(ESCAPE, ESCAPE)
    s.type("/dur >" + ENTER)
    s.until("an error", lambda sc: "expected" in sc.line(sc.height - 1))
    return True


# --- cells

def cells(t, trace):
    """
    Each cell shows the span that takes most of it: made of the spans that `spur cat` prints, and compared where one span takes all
    of the cell or nothing is in it.
    """
    with Session(t, trace, LC_ALL="C", TERM="vt100") as s:
        s.ready()
        count = 200 - 32
        spans = calls_of(t, trace)
        step = max(end for _, _, end, _ in spans) // count + 1
        seen = 0
        rows = {}
        for depth, begin, end, name in spans:
            rows.setdefault(depth, []).append((begin, end, name))
        for depth, items in rows.items():
            line = s.screen.line(3 + first_row(s) + depth)[32:]
            look = s.screen.look[3 + first_row(s) + depth][32:]
            for begin, end, name in items:
                for x in range(-(-begin // step), end // step):
                    expect("cell %d of depth %d, %r" % (x, depth, line), True, "reverse" in look[x][1])
                    seen += 1
                if end // step - begin // step > len(name) + 1 and name not in line:
                    raise Wrong("%s is not in %r" % (name, line))
            for x in range(count):
                if all(end <= x * step or begin >= (x + 1) * step for begin, end, _ in items):
                    expect("empty cell %d of depth %d, %r" % (x, depth, line), " ", line[x])
        if not seen:
            raise Wrong("no cell was compared")
        s.quit()


def calls_of(t, trace):
    """(depth, begin, end, name) of all calls of a trace with one thread and no args, from its lines."""
    out, stack = [], []
    events = [json.loads(line) for line in spur(t, "cat", "--jsonl", "-q", trace).splitlines()]
    zero = min(e["ts"] for e in events)
    for e in events:
        if e["kind"] == "BEGIN":
            stack.append(e)
        elif e["kind"] == "END" and stack:
            b = stack.pop()
            out.append((len(stack), b["ts"] - zero, e["ts"] - zero, b["name"]))
    return out


def first_row(s):
    """The first row of the picture with something in it."""
    return next(y for y in range(s.screen.height) if s.screen.line(3 + y)[32:].strip())


# --- the terminal

def sizes(t, trace):
    with Session(t, trace, size=(80, 24)) as s:
        s.ready()
        before = s.screen.lines()
        for width, height in ((200, 60), (41, 11), (30, 5), (80, 24)):
            s.resize(width, height)
            s.until("%d x %d" % (width, height), lambda sc: ("at least" in sc.line(0)) == (width < 40 or height < 10) and
                    (width < 40 or "keys" in sc.line(height - 1)))
        s.settled()
        expect("the screen after its size was changed and changed back", before, s.screen.lines())
        s.quit()


def restored(t, trace):
    """The terminal is as it was after a key, after signals and after Ctrl-Z, whatever was shown."""
    for how in ("q", "\003", signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        with Session(t, trace, size=(80, 24)) as s:
            s.ready()
            if not s.screen.alternate or s.modes()[3] & termios.ECHO:
                raise Wrong("the terminal was not taken over")
            if not s.modes()[3] & termios.NOFLSH:
                raise Wrong("Ctrl-Z would empty the terminal's queues")
            s.press("2")
            if isinstance(how, str):
                s.type(how)
            else:
                s.signal(how)
            code = s.end()
            if code not in (0, -signal.SIGQUIT) or (code < 0) != (how == signal.SIGQUIT):
                raise Wrong("%r: exit code %s" % (how, code))
            if s.screen.alternate or not s.screen.cursor or s.modes()[3] & (termios.ECHO | termios.ICANON) != termios.ECHO | termios.ICANON:
                raise Wrong("%r: the terminal is not as it was" % how)


def suspended(t, trace):
    """Ctrl-Z in a shell with job control, and back."""
    script = "set -m; '%s' tui '%s'; echo stopped; read x; fg >/dev/null; echo code $?" % (t.spur, trace)
    with Session(t, trace, size=(80, 24), argv=["/bin/sh", "-c", script]) as s:
        s.ready()
        before = s.screen.lines()
        s.type("\x1a")
        s.until("the shell", lambda sc: "stopped" in "".join(sc.lines()) and not sc.alternate and sc.cursor)
        s.type("\n")
        s.until("taking it over again", lambda sc: sc.alternate)
        s.settled()
        expect("the screen behind a suspension", before, s.screen.lines())
        expect("exit code", 0, s.quit())
        if "code 0" not in "".join(s.screen.lines()):
            raise Wrong("behind fg: %s" % s.screen.lines())


def suspended_often(t, trace):
    """Ctrl-Z at random moments, most of them while a key makes the picture anew: each stops the viewer, once."""
    script = "set -m; '%s' tui '%s'; while [ $? -gt 128 ]; do echo stopped; read x; fg >/dev/null; done; echo over" % (t.spur, trace)
    moments = random.Random(1)
    with Session(t, trace, size=(80, 24), argv=["/bin/sh", "-c", script]) as s:
        s.ready()
        for i in range(300):
            s.type(moments.choice("?ws012"))
            time.sleep(moments.random() * 0.0005)
            s.type("\x1a")
            s.until("the shell, stop %d" % i, lambda sc: "stopped" in "".join(sc.lines()) and not sc.alternate)
            s.type("\n")
            s.until("taking it over again, stop %d" % i, lambda sc: sc.alternate)
        s.press("0")
        expect("exit code", 0, s.quit())


def continued(t, trace):
    """A SIGSTOP gives no time to give the terminal back; what the shell does to it is undone when the viewer goes on."""
    script = "set -m; '%s' tui '%s'; stty icanon echo; printf '\\033[2Jstopped'; read x; fg >/dev/null; echo code $?" % (t.spur, trace)
    with Session(t, trace, size=(80, 24), argv=["/bin/sh", "-c", script]) as s:
        s.ready()
        before = s.screen.lines()
        os.killpg(os.tcgetpgrp(s.fd), signal.SIGSTOP)
        s.until("the shell", lambda sc: "stopped" in "".join(sc.lines()))
        s.type("\n")
        s.until("taking it over again", lambda sc: sc.lines() == before)
        s.settled()
        expect("the screen behind a stop", before, s.screen.lines())
        expect("exit code", 0, s.quit())


def refused(t, trace):
    for why, env, want in (("TERM=dumb", {"TERM": "dumb"}, "TERM=dumb"), ("TERM=nonsense", {"TERM": "nonsense"}, "TERM=nonsense"),
                           ("no TERM", {"TERM": ""}, "TERM=")):
        with Session(t, trace, size=(120, 24), **env) as s:
            expect(why + ": exit code", 2, s.end())
            if want not in s.screen.line(0) or "spur report" not in "".join(s.screen.lines()):
                raise Wrong("%s: %s" % (why, s.screen.lines()))
    r = t.run([t.spur, "tui", trace])
    expect("no terminal: exit code", 2, r.code)
    if b"expected a terminal" not in r.err or b"spur report" not in r.err:
        raise Wrong("no terminal: %r" % r.err)


def no_library(t, trace):
    """Where ncurses is not installed, the message says what to install: a library of that name that is no library."""
    with t.temp() as folder:
        with open(os.path.join(folder, "libncursesw.so.6"), "w", encoding="ascii") as f:
            f.write("no library")
        with Session(t, trace, size=(200, 24), LD_LIBRARY_PATH=folder) as s:
            expect("without ncurses: exit code", 5, s.end())
            if "apt install libncursesw6" not in "".join(s.screen.lines()):
                raise Wrong("without ncurses: %s" % s.screen.lines())


def damaged(t, _):
    with Session(t, os.path.join(t.tests, "bad", "fxt", "missing-bytes", "in"), size=(120, 30)) as s:
        s.ready()
        s.press("!")
        head, lines = s.panel()
        if not head.startswith("Damage") or not any("fxt/" in line or "damage" in line for line in lines):
            raise Wrong("damage: %s" % lines)
        expect("a damaged trace: exit code", 3, s.quit())


def lost(t, trace):
    """Lost events are listed with their times, which Enter goes to, and marked in the overview and in the picture."""
    rows = [e for e in map(json.loads, spur(t, "cat", "--jsonl", "-q", trace).splitlines())]
    zero = min(e["ts"] for e in rows)
    want = sorted("at %d ns: %s" % (e["ts"] - zero, "%d events" % e["id"] if e.get("id") else "number of events unknown")
                  for e in rows if e["kind"] == "LOST")
    with Session(t, trace, size=(120, 30)) as s:
        s.ready()
        if "!" not in s.screen.line(1)[24:] or not any("!" in s.screen.line(y)[24:] for y in range(3, 29)):
            raise Wrong("no losses are marked: %s" % s.screen.lines())
        s.press("w", "w", "w", "w", "!")
        _, lines = s.panel()
        expect("lost events", want, sorted(line[7:] for line in lines if line.startswith("lost")))
        before = s.screen.line(2)
        s.press("\033OF", ENTER)
        if s.screen.line(2) == before:
            raise Wrong("Enter does not go to the loss")
        s.quit()


def single(t, _):
    """One span and one lost event are told in the singular."""
    with t.temp() as folder:
        path = os.path.join(folder, "one.data")
        os.mkdir(path)
        with open(os.path.join(path, "1.dat"), "wb") as f:
            for at, what in ((10**12, 0x500000 << 16 | 5 << 3), (0, 1 << 16 | 5 << 3 | 2), (10**12 + 500, 0x500000 << 16 | 5 << 3 | 1)):
                f.write(at.to_bytes(8, "little") + what.to_bytes(8, "little"))
        with Session(t, path, size=(120, 30)) as s:
            s.ready()
            if " 1 span, from 0" not in s.screen.line(0):
                raise Wrong("the title: %s" % s.screen.line(0))
            s.press("!")
            _, lines = s.panel()
            expect("the lost event", [True], [line.rstrip().endswith(" ns: 1 event") for line in lines if line.startswith("lost")])
            s.quit()


def hostile(t, _):
    """Names with control characters, wide and bidirectional ones, and bytes that are no UTF-8, on terminals of both kinds."""
    names = (b"a\x1b[2Jb", b"w\xe4\xb8\xad\xe6\x96\x87e", b"r\xe2\x80\xaetl", b"bad\xff\xfe", b"tab\tnl\nz")
    words = [0x0016547846040010, 1 | 2 << 4, 1000000000]
    data = b"".join(w.to_bytes(8, "little") for w in words)
    for i, name in enumerate(names):
        n = -(-len(name) // 8)
        data += (2 | (1 + n) << 4 | (i + 1) << 16 | len(name) << 32).to_bytes(8, "little") + name.ljust(8 * n, b"\0")
        begin = 1000 * i
        data += (4 | 5 << 4 | 4 << 16 | 1 << 32 | (i + 1) << 48).to_bytes(8, "little")
        data += b"".join(w.to_bytes(8, "little") for w in (begin, 7, 7, begin + 900))
    with t.temp() as folder:
        path = os.path.join(folder, "names.fxt")
        with open(path, "wb") as f:
            f.write(data)
        for lang, want in (("C.UTF-8", ("a\\x1b[2Jb", "w\u4e2d\u6587e", "r\\xe2\\x80\\xaetl", "bad\\xff\\xfe", "tab\\tnl\\nz")),
                           ("C", ("a\\x1b[2Jb", "w??e", "r\\xe2\\x80\\xaetl", "bad\\xff\\xfe", "tab\\tnl\\nz"))):
            with Session(t, path, LC_ALL=lang) as s:
                s.ready()
                text = "\n".join(s.screen.lines())
                for name in want:
                    if name not in text:
                        raise Wrong("%s: %r is not in\n%s" % (lang, name, text))
                if lang == "C" and not text.isascii():
                    raise Wrong("LC_ALL=C: not ASCII:\n%s" % text)
                s.press("2", "4", ESCAPE, RIGHT, ENTER)
                expect("exit code", 0, s.quit())


def of_process(t, _):
    """An event that belongs to a process and none of its threads: the name of a process, by FXT's specification."""
    words = (0x0016547846040010, 2 | 2 << 4 | 1 << 16 | 3 << 32, int.from_bytes(b"app", "little"), 7 | 2 << 4 | 1 << 16 | 1 << 24, 100)
    with t.temp() as folder:
        path = os.path.join(folder, "t.fxt")
        with open(path, "wb") as f:
            f.write(b"".join(w.to_bytes(8, "little") for w in words))
        with Session(t, path) as s:
            s.ready()
            s.press(RIGHT, ENTER)
            _, lines = s.panel()
            expect("thread or process", [["process", "pid", "100"]], [line.split() for line in lines if line.startswith(("thread ", "process "))])
            s.quit()


def joined(t, trace):
    """Tracks of two traces tell which one they are of."""
    with t.temp() as folder:
        for name in ("before", "after"):
            shutil.copy(trace, os.path.join(folder, name))
        with Session(t, os.path.join(folder, "before"), "--same-clock", os.path.join(folder, "after")) as s:
            s.ready()
            tops = [line[:31] for line in s.screen.lines()[3:-1] if re.match(r".(after|before): ", line)]
            expect("traces of tracks", ["after", "before"], [name[1:].split(":")[0] for name in tops])
            s.press("tafter" + ENTER)
            text = "\n".join(line[:31] for line in s.screen.lines()[3:-1])
            if "after: " not in text or "before: " in text:
                raise Wrong("tracks filtered by the name of a trace:\n%s" % text)
            s.press(RIGHT, ENTER)
            _, lines = s.panel()
            expect("the trace of a span", ["after"], [line.split()[1] for line in lines if line.startswith("trace ")])
            s.quit()


def tracks(t, trace):
    with Session(t, trace) as s:
        s.ready()

        def names():
            return [line[:31].strip() for line in s.screen.lines()[3:-1] if line[:31].strip() and "state" not in line[:31]]

        every = names()
        s.press("J", "J", "J", "p")
        pinned = names()
        expect("p: the pinned track is the first one", every[2].lstrip("\u25be\u25b8 "), pinned[0].lstrip("\u25be\u25b8 *"))
        s.press("p", "h")
        if len(names()) != len(every) - 1:
            raise Wrong("h: expected one track less than %s, found %s" % (every, names()))
        s.press("H")
        expect("H: all tracks", every, names())
        s.press("J", " ")
        if len(names()) >= len(every):
            raise Wrong("Space: nothing is folded: %s" % names())
        s.press(" ")
        number = re.search(r"(\d+)$", every[-1]).group(1)
        s.press("t" + number + ENTER)
        if not 0 < len(names()) < len(every) or number not in names()[-1]:
            raise Wrong("t%s: %s" % (number, names()))
        s.press("t" + ENTER)
        expect("t: all tracks", every, names())
        s.quit()


def views(t, trace):
    """Zooming, panning and going back: the axis and the title say where."""
    with Session(t, trace) as s:
        s.ready()
        whole = s.screen.lines()[:3]
        s.press("w", "w")
        near = s.screen.lines()[:3]
        s.press("d")
        right = s.screen.lines()[:3]
        if len({tuple(v) for v in (whole, near, right)}) != 3:
            raise Wrong("w, d: %s" % [whole, near, right])
        s.press("\177")
        expect("Backspace", near, s.screen.lines()[:3])
        s.press("0")
        expect("0", whole, s.screen.lines()[:3])
        s.press("m", "w", "w", "w", "D", "D", "'")
        if "mark 1 of 1" in s.screen.line(s.screen.height - 1):
            raise Wrong("the message of a mark stays behind the next key")
        s.type("?")
        s.until("help", lambda sc: "Moving" in "".join(sc.lines()))
        s.quit()


def caught(label, function):
    """Returns a test of the function."""
    def test(t, trace):
        why = None
        try:
            function(t, trace)
        except (Wrong, TimeoutError, ValueError) as e:
            why = str(e)
        t.verdict(label, why)
    return test


def one(t, label, trace):
    why = None
    try:
        with Session(t, trace) as s:
            s.ready()
            ranges(t, trace, s)
            calls(t, trace, s)
            finding(t, trace, s)
            code = s.quit()
            if code not in (0, 3):
                raise Wrong("exit code %s: %s" % (code, s.screen.lines()))
    except (Wrong, TimeoutError, ValueError) as e:
        why = str(e)
    t.verdict(label, why)


def run(t):
    for name in TRACES:
        label = "tui/" + name
        if t.wanted(label):
            t.later(one, label, os.path.join(t.tests, "golden", name, "in"))
    for function, name in ((cells, "spur/calls"), (sizes, "uftrace/own-words"), (restored, "spur/calls"), (suspended, "spur/calls"), (suspended_often, "spur/calls"), (continued, "spur/calls"),
                           (refused, "spur/calls"), (no_library, "spur/calls"), (damaged, ""), (lost, "ctf/counters-wrap"), (hostile, ""), (joined, "fxt/overlapping"),
                           (single, ""), (of_process, ""), (tracks, "uftrace/own-words"), (views, "uftrace/own-words")):
        label = "tui/" + function.__name__
        if t.wanted(label):
            t.later(caught(label, function), os.path.join(t.tests, "golden", name, "in"))
