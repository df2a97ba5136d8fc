"""
Perfetto traces as trace_processor reads them. Every golden trace is converted and decoded by protoc with a schema of our own
(tests/viewers/perfetto.proto), which knows only the field numbers of the public definition. Slices are paired by Perfetto's rules and
must be the calls that `spur graph` counts; counters, flows, logs and scheduler events must be those of `spur cat --jsonl`.
"""
import collections
import glob
import json
import os
import re
import shutil

from harness import viewers

Wrong = viewers.Wrong
TOKEN = re.compile(r'^\s*(?:(\w+) \{|(\w+): (.*)|(\}))$')
ESCAPE = re.compile(rb'\\([0-7]{3}|.)')
CONTROL, LONE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]"), re.compile("[\udc80-\udcff]")
PLAIN = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b'"': b'"', b"'": b"'", b"\\": b"\\"}


def text_of(quoted):
    """The string that protoc writes with escapes."""
    raw = quoted[1:-1].encode("utf-8", "surrogateescape")
    raw = ESCAPE.sub(lambda m: PLAIN.get(m[1]) or bytes([int(m[1], 8)]), raw)
    return raw.decode("utf-8", "surrogateescape")


def message(text):
    """protoc's text as dictionaries of lists."""
    top = collections.defaultdict(list)
    stack = [top]
    for line in text.split("\n"):
        m = TOKEN.match(line)
        if not m:
            if line.strip():
                raise Wrong("protoc: %.200r is no field of the schema" % line)
            continue
        if m[1]:
            stack.append(collections.defaultdict(list))
            stack[-2][m[1]].append(stack[-1])
        elif m[4]:
            stack.pop()
        else:
            v = m[3]
            stack[-1][m[2]].append(text_of(v) if v[:1] in "\"'" else v)
    return top


class Names:
    """Interned names of one sequence."""
    def __init__(self):
        self.of = {}

    def learn(self, packet):
        for data in packet["interned_data"]:
            for kind in ("event_names", "event_categories", "debug_annotation_names"):
                for entry in data[kind]:
                    key = kind, entry["iid"][0]
                    if key in self.of:
                        raise Wrong("%s %s is declared twice" % key)
                    self.of[key] = entry["name"][0]

    def name(self, kind, iid):
        if (kind, iid) not in self.of:
            raise Wrong("%s %s is not declared" % (kind, iid))
        return self.of[kind, iid]


def events_of(packets):
    """[(ts, place in the file, track, type, name)] of all track events, in the order of time."""
    sequences, events = {}, []
    for place, p in enumerate(packets):
        sequence = p["trusted_packet_sequence_id"][0]
        if sequence not in sequences and p["sequence_flags"]:
            if not int(p["sequence_flags"][0]) & 1:
                raise Wrong("sequence %s does not begin by clearing its state" % sequence)
            sequences[sequence] = Names()
        if p["sequence_flags"]:
            sequences[sequence].learn(p)
        for e in p["track_event"]:
            names = sequences[sequence]
            name = names.name("event_names", e["name_iid"][0]) if e["name_iid"] else None
            for iid in e["category_iids"]:
                names.name("event_categories", iid)
            for a in e["debug_annotations"]:
                names.name("debug_annotation_names", a["name_iid"][0]) if a["name_iid"] else None
            events.append((int(p["timestamp"][0]), place, e["track_uuid"][0], e["type"][0], name, e))
    return sorted(events, key=lambda e: e[:2])


def slices_of(events, tracks):
    """[(names from the outermost slice, duration in ns)] of all threads: async slices are on tracks of their own."""
    found, stacks = [], collections.defaultdict(list)
    for ts, _, track, kind, name, _ in events:
        stack = stacks[track]
        if kind == "TYPE_SLICE_BEGIN":
            stack.append((name, ts, len(found)))
            found.append([tuple(s[0] for s in stack), None, track])
        elif kind == "TYPE_SLICE_END":
            if not stack:
                if int(track) >> 63:
                    continue
                raise Wrong("an end at %d on track %s ends nothing" % (ts, track))
            _, at, place = stack.pop()
            found[place][1] = ts - at
    for track, stack in stacks.items():
        if stack and not int(track) >> 63:
            raise Wrong("%s on track %s never ends" % (stack[-1][0], track))
    return [(names, ns) for names, ns, track in found if not int(track) >> 63]


def escaped(text):
    """Control characters as out_safe() writes them."""
    return CONTROL.sub(lambda m: "\\x%02x" % ord(m[0]), text.replace("\n", "\\n").replace("\t", "\\t"))


def shown(text):
    """A text as the targets write it that hold UTF-8 alone: if it is not, other bytes and control characters are escaped."""
    if not LONE.search(text):
        return text
    return LONE.sub(lambda m: "\\x%02x" % (ord(m[0]) - 0xdc00), escaped(text))


def rows_of(t, trace):
    """Kinds of `spur cat --jsonl`, counted."""
    r = t.run([t.spur, "cat", "--jsonl", trace])
    kinds = collections.Counter()
    for line in r.out.decode("utf-8", "surrogateescape").splitlines():
        row = json.loads(line)
        kinds[row.get("kind")] += 1
    return kinds


def check_counts(t, trace, packets, events):
    kinds = rows_of(t, trace)
    logs = sum(len(p["android_log"]) for p in packets)
    flows = sum(bool(e[5]["flow_ids"]) + bool(e[5]["terminating_flow_ids"]) for e in events)
    want = kinds["FLOW_BEGIN"] + kinds["FLOW_STEP"] + kinds["FLOW_END"]
    if logs != kinds["LOG"]:
        raise Wrong("expected %d logs, found %d" % (kinds["LOG"], logs))
    if flows != want:
        raise Wrong("expected %d flows, found %d" % (want, flows))


def one(t, label, trace):
    why = None
    with t.temp() as tmp:
        try:
            to = os.path.join(tmp, "trace.perfetto-trace")
            r = t.run([t.spur, "convert", "--force", "--to=perfetto", "--demangle=full", "-o", to, trace])
            if r.code not in (0, 3):
                raise Wrong("spur convert: exit code %s: %.200r" % (r.code, r.err))
            r = t.run(["sh", "-c", 'protoc --decode=Trace -I "$0" perfetto.proto <"$1"', os.path.join(t.tests, "viewers"), to])
            if r.code:
                raise Wrong("protoc: exit code %s: %.200r" % (r.code, r.err))
            packets = message(r.out.decode("utf-8", "surrogateescape"))["packet"]
            events = events_of(packets)
            tracks = {p["track_descriptor"][0]["uuid"][0] for p in packets if p["track_descriptor"]}
            missing = {e[2] for e in events} - tracks
            if missing:
                raise Wrong("tracks without a descriptor: %s" % ", ".join(sorted(missing)[:5]))
            own = {tuple(map(shown, k)): v for k, v in viewers.own_sums(t, trace).items() if k[-1] != "off CPU"}
            got = {k: v for k, v in viewers.sums(slices_of(events, tracks)).items() if k[-1] != "off CPU"}
            viewers.compare("by Perfetto's rules", own, got)
            check_counts(t, trace, packets, events)
        except Wrong as e:
            why = str(e)
    t.verdict(label, why)


def run(t):
    if not shutil.which("protoc"):
        if t.wanted("perfetto/"):
            t.skip("perfetto", "no protoc: tools/install-deps")
        return
    for trace in sorted(glob.glob(os.path.join(t.tests, "golden", "*", "*", "in"))):
        name = os.path.relpath(os.path.dirname(trace), os.path.join(t.tests, "golden"))
        label = "perfetto/" + name
        if t.wanted(label) and name not in viewers.EXCEPT:
            t.later(one, label, trace)
