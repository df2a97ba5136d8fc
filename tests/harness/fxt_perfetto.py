"""
FXT written by Spur against what Perfetto's trace_processor recorded of the original files (SPUR_TRACES/fxt/perfetto-sql): each file is
converted to FXT, and what comes out has the same slices, at the same depth of the same thread, with the same arguments, and the same
counters. Where Perfetto sees less or something else, the difference is listed here with its reason, and nothing else may differ.
"""
import collections
import csv
import glob
import io
import json
import os

from harness.fxt import Wrong

HEADERLESS = ("empty", "magic_only", "short_3_bytes", "no_magic", "bad_magic_two_words", "bad_magic_value")
# Perfetto's reader ends at a record whose size is impossible, or does not take the file at all.
STOPS = ("bad_size0", "bad_large_size0", "bad_huge_record_in_middle", "large_blob_40kb", "sched_cpu_4096", "tps_zero", "all_records_be")
# Names of slices that only Spur has: Perfetto drops records that have damaged parts, that end before they begin, whose time does not
# fit, or whose provider is not announced.
DROPPED = {
    "bad_arg_value_past_record": ["avp"],
    "bad_inline_argstr_past_record": ["iap"],
    "bad_string_unregistered_argname": ["name"],
    "bad_string_unregistered_argvalue": ["name"],
    "bad_string_unregistered_cat": ["name"],
    "bad_string_unregistered_name": ["<string 999>"],
    "durations_odd": ["negative_duration"],
    "section_unknown_provider": ["e1"],
    "ticks_24mhz": ["t2^63", "tmax"],
    "ticks_3hz": ["b"],
    "ts_overflow": ["over"],
}
# Names of slices that Perfetto has at another time, or with other arguments: it does not know the base of the clock, rounds ticks as
# double precision does, forgets threads that were registered before their provider, and takes the words of an argument whose size is
# wrong for its value.
MOVED = {
    "init_extended_jane": ["jane_extended_init_1us_after_base"],
    "ticks_24mhz": ["t30d"],
    "thread_before_provider_info": ["outer"],
    "bad_arg_past_record": ["apr"],
    "bad_arg_size0": ["as0"],
    "bad_arg_size_too_small": ["ast"],
}
NULL = "[NULL]"
NAME_MOST = 60  # characters of a name that the tables show


def tables_of(path):
    """The tables of a file, by their second column: lists of rows."""
    tables = {}
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as f:
        for part in f.read().split("\n\n"):
            lines = list(csv.reader(io.StringIO(part.strip("\n"))))
            if lines and len(lines[0]) > 1:
                tables[lines[0][1]] = lines[1:]
    return collections.defaultdict(list, tables)


def number(text):
    return None if text == NULL else int(text)


def their_slices(tables):
    args = collections.defaultdict(list)
    for slice_id, key, i, s, r, kind, _ in tables["key"]:
        value = s if kind == "string" else float(r) if kind == "real" else int(i) % 2 ** 64
        args[slice_id].append((key or "arg%d" % (len(args[slice_id]) + 1), value))
    return collections.Counter((int(ts), int(dur), int(depth), cat, name, number(tid), number(pid), tuple(sorted(args[i], key=repr)))
                               for i, ts, dur, depth, _, cat, name, tid, pid in tables["ts"])


def arg_of(key, value, unknown):
    """An argument as Perfetto keeps it: of some types nothing but that there is one."""
    if key in unknown:
        return key, "unknown"
    if value is None:
        return key, "null"
    value = value[-1] if isinstance(value, list) else value  # several of one name
    if isinstance(value, (bool, int)):
        return key, int(value) % 2 ** 64
    return key, round(value, 6) if isinstance(value, float) else value


class Slices:
    """Slices of rows by Perfetto's rules: each has a depth on its thread, or on the track of the asynchronous events of its name."""
    def __init__(self):
        self.stacks = collections.defaultdict(list)
        self.done = []

    def begin(self, track, row, end, thread):
        stack = self.stacks[track]
        while stack and stack[-1][1] is not None and stack[-1][1] <= row["ts"]:
            stack.pop()
        slot = [row["ts"], -1 if end is None else end - row["ts"], len(stack), row.get("cat", ""),
                row.get("name", "").split("\0")[0][:NAME_MOST],
                *(thread or (None, None)), list(row["args"].items())]
        self.done.append(slot)
        return stack, slot

    def add(self, row):
        thread, kind = (row["tid"], row["pid"]), row["kind"]
        track = thread if "ASYNC" not in kind else ("async", row.get("cat"), row.get("name"), row.get("id"))
        if "ASYNC" in kind:
            thread = None
        if kind in ("BEGIN", "ASYNC_BEGIN"):
            stack, slot = self.begin(track, row, None, thread)
            stack.append([slot, None])
        elif kind in ("INSTANT", "ASYNC_INSTANT"):
            self.begin(track, row, row["ts"], thread)
        elif kind == "SPAN":
            stack, slot = self.begin(track, row, row["ts"] + row["dur"], thread)
            stack.append([slot, row["ts"] + row["dur"]])
        elif kind in ("END", "ASYNC_END"):
            stack = self.stacks[track]
            while stack and stack[-1][1] is not None:
                stack.pop()
            if stack:
                slot = stack.pop()[0]
                slot[1] = row["ts"] - slot[0]
                slot[7] += list(row["args"].items())

    def counted(self, unknown):
        return collections.Counter((*s[:7], tuple(sorted((arg_of(*a, unknown[s[0]]) for a in s[7]), key=repr))) for s in self.done)


def counters_of(rows):
    found = collections.Counter()
    for row in rows:
        if row["kind"] == "COUNTER":
            for key, value in row["args"].items():
                if isinstance(value, (int, float)):
                    found[row["ts"], "%s:%s:%d" % (row["name"], key, row["id"]), round(float(value), 6)] += 1
    return found


def names_of(slices):
    return sorted(s[4] for s in slices.elements())


def compare(name, rows, tables):
    ours, theirs = Slices(), their_slices(tables)
    for row in rows:
        ours.add(row)
    unknown = collections.defaultdict(set)
    for s in theirs:
        unknown[s[0]] |= {key for key, value in s[7] if value == "unknown"}
    ours = ours.counted(unknown)
    if name in STOPS:
        if theirs - ours:
            raise Wrong("only Perfetto has %r" % list(theirs - ours)[:2])
        return
    moved = MOVED.get(name, [])
    for side, found, want in (("Spur", ours - theirs, DROPPED.get(name, []) + moved), ("Perfetto", theirs - ours, moved)):
        if names_of(found) != sorted(want):
            raise Wrong("only %s has %.600r; expected the names %r" % (side, list(found)[:2], want))
    want = collections.Counter((int(ts), key, float(value)) for ts, key, value in tables["counter"])
    if counters_of(rows) != want:
        raise Wrong("counters: expected %r, found %r" % (want, counters_of(rows)))


def one_file(t, label, name, expected, path):
    why = None
    try:
        with t.temp() as tmp:
            out = os.path.join(tmp, "out.fxt")
            r = t.run([t.spur, "convert", "--input-format=fxt", "--to=fxt", path, "-o", out])
            if r.trouble() or r.code not in (0, 3):
                raise Wrong("convert: %s" % (r.trouble() or "exit code %s: %.200r" % (r.code, r.err)))
            r = t.run([t.spur, "cat", "--jsonl", out])
            if r.trouble() or r.code:
                raise Wrong("cat: %s" % (r.trouble() or "exit code %s: %.200r" % (r.code, r.err)))
            rows = [json.loads(line) for line in r.out.decode("utf-8", "surrogateescape").splitlines()]
            compare(name, rows, tables_of(expected))
    except Wrong as e:
        why = str(e)
    t.verdict(label, why)


def run(t):
    recorded = sorted(glob.glob(os.path.join(t.traces, "fxt", "perfetto-sql", "*.csv")))
    if not recorded and t.wanted("fxt-perfetto/"):
        t.skip("fxt-perfetto", "no fxt/perfetto-sql below SPUR_TRACES")
    for expected in recorded:
        name = os.path.basename(expected)[:-4]
        path = os.path.join(t.traces, "fxt", "files", name + ".fxt")
        if name not in HEADERLESS and os.path.exists(path) and t.wanted("fxt-perfetto/" + name):
            t.later(one_file, "fxt-perfetto/" + name, name, expected, path)
