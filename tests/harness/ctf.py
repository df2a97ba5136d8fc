"""
CTF against other projects' conformance sets (peer/ctf below SPUR_TRACES, never copied): every trace that they accept is
read with the values that they expect, every one that they refuse is refused with a located message. A fault of a stream
is no refusal here: it is damage (exit code 3), and what is beside it is read.

ctf/exceptions.tsv lists the cases (CASE<TAB>WHY) where the specification says otherwise; one that is not needed is a
failure too.
"""
import json
import math
import os
import re
import shutil

from harness import core

LOCATED = re.compile(r"^spur: (?:warning: |note: )?\S.*: .*expected .+, found .+$", re.M)
EMPTY, ABSENT = "\u2205", "~"


def exceptions(t):
    text = core.read(os.path.join(t.tests, "ctf", "exceptions.tsv")) or b""
    return dict(line.split("\t", 1) for line in text.decode().splitlines() if line and not line.startswith("#"))


def objects(data):
    return [json.loads(line) for line in data.decode().splitlines()]


# -- what the reader gave


def leaf_of(name, field):
    return {"path": name, "at": field["at"], "bits": field["bits"], "value": field.get("number", field["value"]),
            "label": field["value"] if "number" in field else None}


def leaves(row):
    """The basic fields of a dumped record, in order. Fields of one path (shared names) are lists."""
    out = []
    for name, field in row["fields"].items():
        for one in field if isinstance(field, list) else [field]:
            out.append(leaf_of(name, one))
    return sorted(out, key=lambda leaf: leaf["at"])


def dump(t, case):
    """Packets of all streams, each a list of events of leaves: {stream: [(packet's leaves, [event's leaves])]}."""
    r = t.run([t.spur, "dump", "--jsonl", case])
    streams = {}
    for row in objects(r.out):
        packets = streams.setdefault(row["stream"], [])
        if row["kind"] == "NATIVE" and row["name"] == "packet":
            packets.append((leaves(row), []))
        elif row["kind"] != "LOST":
            packets[-1][1].append(leaves(row))
    return r, streams


def problem(r, wanted):
    """Why a run is not what it should be: `wanted` exit codes, and messages that say where and what."""
    text = r.err.decode("utf-8", "replace")
    if r.trouble():
        return r.trouble()
    if r.code not in wanted:
        return "exit code: expected %s, found %s: %s" % (wanted, r.code, text.strip().split("\n")[0])
    if r.code and not LOCATED.search(text):
        return "expected a located message, found: %s" % text.strip().split("\n")[0]
    return None


# -- bt-field: NAME.expect is the event's field `root`, in a subset of YAML


class Yaml:
    """Lines (indentation, text) to values: dicts as lists of pairs, lists, and scalars as they are written."""

    def __init__(self, text):
        self.lines = []
        for line in text.split("\n"):
            if line.strip():
                stripped = line.lstrip(" ")
                self.lines.append((len(line) - len(stripped), stripped))
        self.at = 0

    def block(self, indent):
        text = self.lines[self.at][1]
        if text.startswith("- ") or text == "-":
            return self.items(indent)
        if self.is_pair(text):
            return self.pairs(indent)
        self.at += 1
        return text

    @staticmethod
    def is_pair(text):
        return bool(re.match(r"[A-Za-z_][\w -]*:( |$)", text))

    def items(self, indent):
        out = []
        while self.at < len(self.lines) and self.lines[self.at][0] == indent and self.lines[self.at][1].startswith("-"):
            if self.lines[self.at][1] == "-":
                self.at += 1
            else:
                self.lines[self.at] = (indent + 2, self.lines[self.at][1][2:])
            out.append(self.block(indent + 2))
        return out

    def pairs(self, indent):
        out = {}
        while self.at < len(self.lines) and self.lines[self.at][0] == indent and self.is_pair(self.lines[self.at][1]):
            name, value = self.lines[self.at][1].split(":", 1)
            self.at += 1
            out[name] = value.strip() if value.strip() else self.block(self.lines[self.at][0])
        return out


def scalar_matches(want, leaf):
    value, bits = leaf["value"], leaf["bits"]
    if want.startswith("["):
        number = int(value, 16) if isinstance(value, str) else int(value)
        return [int(b) for b in re.findall(r"[01]", want)] == [number >> i & 1 for i in reversed(range(bits))]
    if want in ("yes", "no"):
        return value is (want == "yes")
    if want.startswith('"'):
        return value == json.loads(want)
    if want == EMPTY:
        return value == ""
    if re.fullmatch(r"[0-9a-f]{2}( [0-9a-f]{2})*", want) and isinstance(value, str):
        return value == want.replace(" ", "")
    if re.fullmatch(r"-?(\d+|0[xbo][0-9a-f]+)", want):
        return not isinstance(value, (bool, str)) and int(want, 0) == value
    try:
        return math.isclose(float(want), float(value), abs_tol=5e-7, rel_tol=1e-9)
    except ValueError:
        return False


def match_tree(want, got, rest, path="root"):
    """None, or where the tree of values differs. `rest`: leaves still to come, which have the numbers."""
    if isinstance(want, dict):
        if not isinstance(got, dict) or list(got) != list(want):
            return "%s: expected members %s, found %.80s" % (path, list(want), got)
        for name, value in want.items():
            why = match_tree(value, got[name], rest, "%s.%s" % (path, name))
            if why:
                return why
        return None
    if isinstance(want, list):
        if not isinstance(got, list) or len(got) != len(want):
            return "%s: expected %d elements, found %.80s" % (path, len(want), got)
        for i, value in enumerate(want):
            why = match_tree(value, got[i], rest, "%s[%d]" % (path, i))
            if why:
                return why
        return None
    if want == ABSENT or (want == EMPTY and got in ({}, [])):
        return None if want == EMPTY or got is None else "%s: expected no field, found %.80s" % (path, got)
    if not rest:
        return "%s: expected %s, found no field" % (path, want)
    leaf = rest.pop(0)
    return None if scalar_matches(want, leaf) else "%s: expected %s, found %.80s" % (path, want, leaf["value"])


def field_pass(t, case, expect):
    r, streams = dump(t, case)
    c = t.run([t.spur, "cat", "--jsonl", case])
    why = problem(r, (0,)) or problem(c, (0,))
    if why:
        return why
    rows = objects(c.out)
    if len(rows) != 1 or len(streams) != 1:
        return "expected one event, found %d" % len(rows)
    events = [e for packets in streams.values() for _, events in packets for e in events]
    rest = [leaf for leaf in events[0] if re.match(r"payload\.root\b", leaf["path"])]
    tree = Yaml(expect.decode())
    why = match_tree(tree.block(0), rows[0]["args"]["root"], rest)
    return why or ("expected no more fields, found %s" % rest[0]["path"] if rest else None)


# -- yactfr-iter: each element with its bit in the data stream

ELEMENT = re.compile(r"^ *(\d+) ( *)(.*)$")
INTEGERS = ("FLUI", "FLSI", "FLBA", "VLUI", "VLSI", "FLBM")
TEXTS = ("NTS", "SLS", "DLS")
BYTES = ("SLB", "DLB")


class Expected:
    """Elements of a .expect file: packets with the leaves that are whole, and where the error is."""

    def __init__(self, text):
        self.packets = []
        self.error = None  # (bit, text, bit where the last element began, those where open arrays began)
        self.open = []  # of the text at hand: its element
        self.arrays = []  # where open elements began; None: no array
        last = 0
        for line in text.decode("utf-8").split("\n"):
            m = ELEMENT.match(line)
            if not m:
                continue
            at, element = int(m.group(1)), m.group(3)
            if re.match(r"[A-Z][a-z]", element):
                self.error = (at, element, last, [begin for begin in self.arrays if begin is not None])
                continue
            if element == "}":
                self.arrays.pop()
            elif element.endswith("{"):
                self.arrays.append(at if element.startswith(("SLA", "DLA")) else None)
            self.element(at, element)
            if not element.startswith("RD:"):
                last = at

    def element(self, at, element):
        kind, _, rest = element.rstrip(" {").partition(":")
        if element == "P {":
            self.packets.append((at, [], []))
        elif kind == "ER":
            self.packets[-1][2].append([])
        elif kind in TEXTS + BYTES:
            self.open = [kind, rest.split(":")[0], at, b""]
            if not element.endswith("{"):
                self.leaf(at, self.open[1], b"")
                self.open = []
        elif kind == "RD" and self.open:
            self.open[3] += raw_bytes(self.open[0], rest)
        elif element == "}" and self.open:
            self.leaf(self.open[2], self.open[1], self.open[3])
            self.open = []
        elif kind in INTEGERS + ("FLFPN", "FLB"):
            self.number(at, kind, rest)

    def number(self, at, kind, rest):
        parts = rest.split(":")
        if kind == "FLBM":
            self.leaf(at, parts[0], int(parts[1]), [n for n in parts[2].split(",") if n])
            return
        name = ":".join(parts[:-1])
        value = parts[-1]
        self.leaf(at, name, value == "true" if kind == "FLB" else float(value) if kind == "FLFPN" else int(value))

    def leaf(self, at, name, value, labels=None):
        base, head, events = self.packets[-1]
        (events[-1] if events else head).append((at - base, name, value, labels))


def raw_bytes(kind, text):
    count, _, rest = text.partition(":")
    if kind in BYTES:
        return bytes.fromhex(rest)
    data = re.sub(rb"\$([0-9a-f]{2})", lambda m: bytes([int(m.group(1), 16)]), rest.encode())
    assert len(data) == int(count), text
    return data


def text_matches(raw, value):
    """`raw` is in any encoding; the reader gives the text up to the first NUL."""
    for encoding in ("utf-8", "utf-16-be", "utf-16-le", "utf-32-be", "utf-32-le"):
        try:
            if raw.decode(encoding).split("\0")[0] == value:
                return True
        except UnicodeDecodeError:
            pass
    return raw.hex() == value


def element_matches(want, leaf):
    at, name, value, labels = want
    if at != leaf["at"] or (name and not re.search(r"(^|\.)%s$" % re.escape(name), leaf["path"])):
        return False
    if labels is not None and labels != [n for n in (leaf["label"] or "").split("|") if n]:
        return False
    if isinstance(value, bytes):
        return text_matches(value, leaf["value"])
    if isinstance(value, float):
        return float("%g" % leaf["value"]) == value
    return leaf["value"] == value and isinstance(leaf["value"], bool) == isinstance(value, bool)


def match_leaves(want, got, where):
    for i in range(max(len(want), len(got))):
        if i >= len(want) or i >= len(got) or not element_matches(want[i], got[i]):
            return "%s: expected %s, found %s" % (where, want[i] if i < len(want) else "no more",
                                                  got[i] if i < len(got) else "no more")
    return None


def match_packets(want, packets, cut):
    """`cut`: the last packet ends with an error, so its last event is not there; what was found behind it may be."""
    if cut and want and want[-1][2]:
        want[-1][2].pop()
    if len(want) > len(packets) or (len(want) < len(packets) and not cut):
        return "expected %d packets, found %d" % (len(want), len(packets))
    for i, ((_, head, events), (got_head, got_events)) in enumerate(zip(want, packets)):
        last = cut and i == len(want) - 1
        why = match_leaves(head, got_head, "packet %d" % i)
        if not why and (len(got_events) < len(events) or (len(got_events) > len(events) and not last)):
            why = "packet %d: expected %d events, found %d" % (i, len(events), len(got_events))
        for k, event in enumerate(events):
            why = why or match_leaves(event, got_events[k], "packet %d, event %d" % (i, k))
        if why:
            return why
    return None


def iter_case(t, case, expect, refuse):
    want = Expected(expect)
    r, streams = dump(t, case)
    why = problem(r, (3,) if refuse else (0,))
    if why:
        return why
    packets = next(iter(streams.values())) if streams else []
    base = want.packets[-1][0] if want.packets else 0
    if not refuse:
        return match_packets(want.packets, packets, False)
    at, text, last, arrays = want.error
    why = match_error(r.err.decode(), at - base, last - base, [begin - base for begin in arrays], text)
    if "packet total length" in text or "packet content length" in text or "Data stream type" in text:
        return why
    return why or match_packets(want.packets, packets, True)


def match_error(err, at, last, arrays, text):
    """
    The field that cannot be read begins where they say, or, for text and arrays of which they read a part, where those
    begin.
    """
    if "packet total length" in text or "packet content length" in text or "Data stream type" in text:
        return None if re.search(r":0x[0-9a-f]+: packet", err) else "expected a message about a packet, found %.200s" % err
    m = re.search(r"event.* at bit (\d+) of its packet(?:: .* at bit (\d+))?: expected", err)
    if not m:
        return "expected a message with bits, found %.200s" % err
    found = int(m.group(2) or m.group(1))
    if "Event record type ID" in text:
        return None if int(m.group(1)) <= at else "expected an event at most at bit %d: %.200s" % (at, err)
    exact = "would move" in text or "Changing" in text or "Selector" in text
    if found == at or found in arrays or (last <= found <= at and not exact):
        return None
    return "expected the error at bit %d, found %.200s" % (at, err)


# -- yactfr-metadata-text


def metadata_case(t, case, refuse):
    r = t.run([t.spur, "metadata", "-v", case])
    return problem(r, (3, 4) if refuse else (0,))


# -- actf-ctf2: refs/out.ref has the events that could be read


def actf_scalars(text):
    """Scalars of actf's lines, in order; None where no field is."""
    out = []
    token = re.compile(r'\s*(?:(nil)|("(?:[^"\\]|\\.)*")|(-?0x[0-9a-f]+|-?0b[01]+|-?\d[\d.]*(?:e[+-]?\d+)?)|([0-9a-f]{2,}))?'
                       r'((?:: (?:nil|"[^"]*"(?:,"[^"]*")*))?)(?=[,\]}]| \})')
    at = 0
    while at < len(text):
        m = re.compile(r"[{\[,] *(?:[^{}\[\]\"]*?: )?(?=[^ ])").match(text, at)
        if not m:
            at += 1
            continue
        at = m.end()
        value = token.match(text, at)
        if value and value.end() > at:
            out.append(actf_value(value))
            at = value.end()
    return out


def actf_value(m):
    if m.group(1):
        return None
    if m.group(2):
        return json.loads(m.group(2))
    if m.group(4):
        return m.group(4)
    text = m.group(3)
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
    if digits.startswith("0x"):
        return sign * int(digits, 16)
    if digits.startswith("0b"):
        return sign * int(digits, 2)
    if "." in digits or "e" in digits:
        return sign * float(digits)
    return sign * int(digits, 8 if len(digits) > 1 and digits.startswith("0") else 10)


def actf_same(want, got):
    if isinstance(want, float):
        return not isinstance(got, str) and abs(want - got) < 1e-6 * max(1, abs(want))
    if isinstance(want, int) and isinstance(got, (bool, int)):
        return want == int(got)
    if isinstance(want, str) and isinstance(got, (int, str)):
        return want == got or want == str(got)
    return want == got


def actf_case(t, case, refuse):
    r, streams = dump(t, case)
    why = problem(r, (3, 4) if refuse else (0,))
    if why or r.code == 4:
        return why
    lines = (core.read(os.path.join(case, "refs", "out.ref")) or b"").decode().splitlines()
    events = [(head, event) for packets in streams.values() for head, list_ in packets for event in list_]
    if len(events) < len(lines) or (len(events) > len(lines) and not refuse):
        return "expected %d events, found %d" % (len(lines), len(events))
    # They are merged by time there, and stand stream by stream here.
    found = {actf_key(head, event, lines[0] if lines else ""): (head, event) for head, event in reversed(events)}
    for i, line in enumerate(lines):
        want = [v for v in actf_scalars(line[line.find("{"):]) if v is not None]
        got = [] if "[" in line.split("{")[0] and len(streams) > 1 else actf_got(events[i], line)
        if actf_equal(want, got) or (not got and any(actf_equal(want, actf_got(e, line)) for e in found.values())):
            continue
        return "event %d: expected %.300s, found %.300s" % (i, want, got)
    return None


def actf_key(head, event, line):
    return str(actf_got((head, event), line))


def actf_got(pair, line):
    head, event = pair
    fields = (head if "packet-context" in line or "packet-header" in line else []) + event
    return [f["value"] for f in fields if "event-header" in line or not f["path"].startswith("event.header")]


def actf_equal(want, got):
    if len(want) == len(got) and all(actf_same(a, b) for a, b in zip(want, got)):
        return True
    return bool(got) and "".join(map(str, want)) == "".join(map(str, got))


# -- bt-traces: whole traces; bt-expect has what babeltrace's sink.text.details says of some


# What the project's own tests say of traces without a text: events in all, messages about lost packets.
BT_COUNTS = {
    "1/intersection/3eventsintersect": (8, []),
    "1/intersection/3eventsintersectreverse": (8, []),
    "1/intersection/nointersect": (6, []),
    "1/intersection/onestream": (3, []),
    "1/intersection/nostream": (0, []),
    "1/packet-seq-num/no-lost": (None, []),
    "1/packet-seq-num/no-lost-not-starting-at-0": (None, []),
    "1/packet-seq-num/2-lost-before-last": (None, [2]),
    "1/packet-seq-num/2-streams-lost-in-1": (None, [2]),
    "1/packet-seq-num/2-streams-lost-in-2": (None, [1, 2, 3]),
    "1/packet-seq-num/7-lost-between-2-with-index": (None, [7]),
}
BT_TIME = re.compile(r"^\[([\d,]+)(?: cycles,)? ([\d,]+)(?: ns from origin)?\]")
BT_EVENT = re.compile(r"Event (?:`(.*)` )?\((?:Class ID )?\d+\):?$")


def bt_events(text):
    """Events of sink.text.details: (ns or None, name, scalars)."""
    out, ns, inside = [], None, False
    for line in text.split("\n"):
        m = BT_TIME.match(line)
        if m:
            ns = int(m.group(2).replace(",", ""))
        e = BT_EVENT.search(line)
        if e and not line.startswith("    "):
            out.append((ns, e.group(1), []))
            inside = True
        elif not line.startswith(" "):
            inside = False
            ns = ns if m else None
        elif inside:
            value = re.match(r" +(?:\[\d+\]|[^:]+): (.+)$", line)
            if value and not re.fullmatch(r"Length \d+.*:|Empty", value.group(1)):
                out[-1][2].append(bt_scalar(value.group(1)))
    return out


def bt_scalar(text):
    if re.fullmatch(r"-?[\d,]+", text):
        return int(text.replace(",", ""))
    if re.fullmatch(r"0x[0-9a-f:]+", text):
        return int(text.replace(":", ""), 16)
    if re.fullmatch(r"-?\d+\.\d+", text):
        return float(text)
    return text


def own_events(t, case):
    """The same of ours, and the run of `cat`."""
    c = t.run([t.spur, "cat", "--jsonl", "--no-spans", case])
    d = t.run([t.spur, "dump", "--jsonl", "--no-spans", case])
    fields = {}
    for row in objects(d.out):
        if row["kind"] not in ("NATIVE", "LOST"):
            values = [f["value"] for f in leaves(row) if not re.match(r"event\.header", f["path"])]
            fields[row["stream"], row["off"]] = values
    rows = [(r["ts"], r["name"], fields[r["stream"], r["off"]]) for r in objects(c.out) if r["kind"] != "LOST"]
    return c, rows


def bt_compare(want, got):
    if len(want) != len(got):
        return "expected %d events, found %d" % (len(want), len(got))
    timed = want and all(e[0] is not None for e in want)
    first = (min(e[0] for e in want), min(e[0] for e in got)) if timed else (0, 0)
    a = sorted((e[0] - first[0] if timed else 0, e[1] or "", str(e[2])) for e in want)
    b = sorted((e[0] - first[1] if timed else 0, "" if e[1].startswith("event#") else e[1], str(e[2])) for e in got)
    for x, y in zip(a, b):
        if x != y:
            return "expected %s, found %s" % (x, y)
    return None


def bt_expected(root, name):
    """The .expect files that are about the trace bt-traces/VERSION/KIND/NAME."""
    version, kind, trace, *inside = name.split("/")[1:]
    if [x for x in inside if x not in ("trace", "kernel")]:
        return []
    folder = os.path.join(root, "bt-expect", "src.ctf.fs")
    names = []
    if kind == "succeed":
        plain = "trace-" + trace
        for mip in ("-mip0", "-mip1", ""):
            names += [os.path.join("succeed", plain + "-ctf" + version + mip), os.path.join("succeed", plain + mip)]
    elif trace in ("valid-events-then-invalid-events",):
        names.append(trace)
    return [p for p in (os.path.join(folder, n + ".expect") for n in names) if os.path.exists(p)]


def bt_trace(t, root, name, case, refuse):
    c, rows = own_events(t, case)
    why = problem(c, (3, 4) if refuse else (0,))
    if why:
        return why
    count, lost = BT_COUNTS.get(name.partition("/")[2], (None, None))
    if count is not None and count != len(rows):
        return "expected %d events, found %d" % (count, len(rows))
    if lost is not None and lost != sorted(map(int, re.findall(r"(\d+) packets are lost", c.err.decode()))):
        return "expected lost packets %s: %.200s" % (lost, c.err.decode())
    whole = os.path.dirname(case) if name.endswith("/trace") else case
    for path in bt_expected(root, name):
        text = core.read(path).decode()
        if "Packet end\n" in text and "Event" not in text:
            continue  # only where packets end, after corrections that this reader does not make
        why = bt_compare(bt_events(text), rows)
        if why:
            return "%s: %s (%s)" % (os.path.basename(path), why, os.path.basename(whole))
    return None


def bt_together(t, root):
    """Traces that are read as one, and a text of sink.text.pretty."""
    for version in ("1", "2"):
        for trace in ("session-rotation", "multi-domains", "lttng-tracefile-rotation"):
            case = os.path.join(root, "bt-traces", version, "succeed", trace)
            c, rows = own_events(t, case)
            why = problem(c, (0,))
            for path in bt_expected(root, "bt-traces/%s/succeed/%s" % (version, trace)):
                why = why or bt_compare(bt_events(core.read(path).decode()), rows)
            t.verdict("ctf/bt-traces/%s/succeed/%s" % (version, trace), why)
    r = t.run([t.spur, "cat", "--style=babeltrace2", os.path.join(root, "bt-traces", "2", "succeed", "fl-bm")])
    why, _ = core.differ(core.read(os.path.join(root, "bt-expect", "sink.text.pretty", "fl-bm-ctf2.expect")), r.out)
    t.verdict("ctf/bt-expect/sink.text.pretty/fl-bm", r.trouble() or why)
    events = []
    for name in ("b-not-corrupted", "c-corrupted"):
        events += own_events(t, os.path.join(root, "bt-traces", "1", "deterministic-ordering", name))[1]
    want = bt_events(core.read(os.path.join(root, "bt-traces", "1", "deterministic-ordering", "b-c.expect")).decode())
    t.verdict("ctf/bt-traces/1/deterministic-ordering", None if len(events) >= len(want) else "%d events" % len(events))


def same_text(t, case):
    """What Debian's babeltrace2 reads, Spur prints in the same words."""
    theirs = t.run(["babeltrace2", case])
    ours = t.run([t.spur, "cat", "--style=babeltrace2", case])
    if theirs.code == 0 and theirs.out != ours.out:
        pairs = [(a, b) for a, b in zip(theirs.out.split(b"\n"), ours.out.split(b"\n")) if a != b]
        return "expected, as babeltrace2 says: %r, found: %r" % (pairs or [(theirs.out[-200:], ours.out[-200:])])[0]
    return None


def one(t, root, name, refuse):
    case = os.path.join(root, name)
    kind = name.split("/")[0]
    expect = core.read(case + ".expect")
    if kind == "bt-field":
        why = problem(t.run([t.spur, "dump", case]), (3,)) if refuse else field_pass(t, case, expect)
    elif kind == "yactfr-iter":
        why = iter_case(t, case, expect, refuse)
    elif kind == "yactfr-metadata-text":
        why = metadata_case(t, case, refuse)
    elif kind == "actf-ctf2":
        why = actf_case(t, case, refuse)
    else:
        why = bt_trace(t, root, name, case, refuse)
    reason = exceptions(t).get(name)
    if reason is None:
        t.verdict("ctf/" + name, why)
        if not refuse and os.path.isdir(case) and "ctf-2" not in name and "/2/" not in name and shutil.which("babeltrace2"):
            t.verdict("ctf/%s text" % name, same_text(t, case))
    elif why:
        t.ok()
    else:
        t.fail("ctf/" + name, "needs no exception any more: %s" % reason)


def run(t):
    root = os.path.join(t.traces, "peer", "ctf")
    manifest = core.read(os.path.join(root, "MANIFEST.tsv"))
    if manifest is None:
        t.skip("ctf", "no conformance sets: set SPUR_TRACES")
        return
    names = set()
    for line in manifest.decode().splitlines():
        name, verdict = line.split("\t")
        names.add(name)
        if t.wanted("ctf/" + name):
            t.later(one, root, name, verdict.split()[-1] == "fail")
    if t.wanted("ctf/bt-traces") or t.wanted("ctf/bt-expect"):
        t.later(bt_together, root)
    for name in exceptions(t):
        if name not in names:
            t.fail("ctf/" + name, "is an exception, and there is no such case")
