"""
Targets of `spur convert` by readers of their own, for every golden. pprof: decoded by protoc with a schema of our own
(tests/viewers/profile.proto), and read by Go's pprof where it is installed; calls and self times are those of `spur graph` and
`spur report`. dot: read by Graphviz, which must know the same functions and edges, with the sums of `spur graph`.
otlp: checked by the rules of OTLP's JSON; the spans have the calls of `spur graph`, and each event of `spur cat` is there once.
parquet: read by hyparquet (npm); events and arguments are those of `spur cat`, spans fit their events, statistics their columns.
"""
import base64
import collections
import glob
import gzip
import json
import os
import re
import shutil

from harness import perfetto, viewers
from harness.perfetto import escaped, shown
from harness.viewers import Wrong

# Go's pprof and Graphviz's layout, which take a moment, are tried with these.
SOME = ("uftrace/threads", "uftrace/forkexec", "uftrace/own-cxx", "xray/fdr-threads", "fxt/all-records", "heph/nesting", "ctf/lttng213-functions")
GO_NUMBERS = re.compile(r"^\s*([\d.]+)ns\s+[\d.]+%\s+[\d.]+%\s+([\d.]+)ns\s+[\d.]+%  (.*)$")

# Traces that are not compared.
EXCEPT = {
    "ctf/v11-encrypted": "cannot be read without its key",
    "uftrace/own-words-time": viewers.EXCEPT["uftrace/own-words-time"],
}


def converted(t, trace, target, *more):
    r = t.run([t.spur, "convert", "-q", "--to=" + target, "-o", "-", *more, trace])
    if r.trouble() or r.code not in (0, 3):
        raise Wrong("convert --to=%s: %s" % (target, r.trouble() or "exit code %s: %.200r" % (r.code, r.err)))
    return r.out


def same_always(t, trace, target, want, *more):
    """The bytes do not depend on threads, nor on how much is read at once."""
    if converted(t, trace, target, *more, "--read-size=7", "--threads=2") != want:
        raise Wrong("%s: differs with --read-size=7 --threads=2" % target)


def equal(what, want, got):
    """Compares two dictionaries; a missing entry is all zero."""
    for key in sorted(set(want) | set(got), key=repr):
        a, b = want.get(key, (0, 0)), got.get(key, (0, 0))
        if tuple(a) != tuple(b):
            raise Wrong("%s: %s: expected %s calls and %s ns, found %s and %s" % (what, key, *a, *b))


def add(sums, key, calls, ns):
    before = sums.get(key, (0, 0))
    sums[key] = before[0] + calls, before[1] + ns


def paths_of(t, trace):
    """{path of names: (calls, self)} of spur graph; paths that have neither are left out."""
    r = t.run([t.spur, "graph", "--json", "--no-args", "--demangle=full", trace])
    if r.code not in (0, 1, 3):
        raise Wrong("spur graph: exit code %s: %.200r" % (r.code, r.err))
    paths, out = {None: ()}, {}
    for n in json.loads(r.out)["nodes"]:
        paths[n["id"]] = paths[n["parent"]] + (shown(n["function"]),)
        if n["calls"] or n["self"]:
            add(out, paths[n["id"]], n["calls"], n["self"])
    return out


def functions_of(t, trace):
    """{name: (calls, self)} of spur report."""
    r = t.run([t.spur, "report", "--json", "--no-args", "--demangle=full", trace])
    if r.code not in (0, 1, 3):
        raise Wrong("spur report: exit code %s: %.200r" % (r.code, r.err))
    out = {}
    for row in json.loads(r.out)["rows"]:
        if row["calls"] or row["self"]:
            add(out, shown(row["function"]), row["calls"], row["self"])
    return out


def decode_profile(t, data):
    with t.temp() as tmp:
        path = os.path.join(tmp, "profile.pb")
        with open(path, "wb") as f:
            f.write(gzip.decompress(data))
        r = t.run(["sh", "-c", 'protoc --decode=Profile -I "$0" profile.proto <"$1"', os.path.join(t.tests, "viewers"), path])
    if r.code:
        raise Wrong("protoc: exit code %s: %.200r" % (r.code, r.err))
    return perfetto.message(r.out.decode("utf-8", "surrogateescape"))


def number(message, field):
    return int(message[field][0]) if message[field] else 0


class Profile:
    """What the samples of a profile refer to, checked as pprof does."""
    def __init__(self, p):
        self.strings = p["string_table"]
        if not self.strings or self.strings[0]:
            raise Wrong("pprof: the first string is not empty")
        self.functions = {number(f, "id"): f for f in p["function"]}
        self.locations = {number(x, "id"): x for x in p["location"]}
        mappings = {number(m, "id") for m in p["mapping"]}
        if 0 in self.functions or 0 in self.locations or 0 in mappings:
            raise Wrong("pprof: an id is 0")
        if len(self.functions) != len(p["function"]) or len(self.locations) != len(p["location"]):
            raise Wrong("pprof: an id comes twice")
        for x in p["location"]:
            if number(x, "mapping_id") and number(x, "mapping_id") not in mappings:
                raise Wrong("pprof: a location without its mapping")
        self.types = [(self.strings[number(v, "type")], self.strings[number(v, "unit")]) for v in p["sample_type"]]
        self.samples = [self.sample(s) for s in p["sample"]]

    def name(self, location):
        line = self.locations[int(location)]["line"][0]
        return self.strings[number(self.functions[number(line, "function_id")], "name")]

    def sample(self, s):
        labels = {}
        for label in s["label"]:
            key = self.strings[number(label, "key")]
            labels[key] = self.strings[number(label, "str")] if label["str"] else number(label, "num")
        return tuple(self.name(x) for x in reversed(s["location_id"])), [int(v) for v in s["value"]], labels


def pprof(t, trace):
    data = converted(t, trace, "pprof", "--demangle=full")
    p = Profile(decode_profile(t, data))
    if p.types != [("calls", "count"), ("time", "nanoseconds")]:
        raise Wrong("pprof: sample types are %s" % p.types)
    paths, functions = {}, {}
    for path, (calls, ns), labels in p.samples:
        if not set(labels) <= {"process", "thread", "pid", "tid"}:
            raise Wrong("pprof: labels are %s" % labels)
        add(paths, path, calls, ns)
        add(functions, path[-1], calls, ns)
    equal("pprof and spur graph", paths_of(t, trace), paths)
    equal("pprof and spur report", functions_of(t, trace), functions)
    same_always(t, trace, "pprof", data, "--demangle=full")


def go_pprof(t, label, trace):
    """What Go's pprof says of each function."""
    why = None
    with t.temp() as tmp:
        path = os.path.join(tmp, "trace.pb.gz")
        with open(path, "wb") as f:
            f.write(converted(t, trace, "pprof", "--demangle=full"))
        r = t.run(["go", "tool", "pprof", "-top", "-unit=ns", "-nodecount=100000", "-nodefraction=0", path],
                  env={"HOME": tmp, "PPROF_TMPDIR": tmp}, limit=False)
        got = {}
        for line in r.out.decode("utf-8", "replace").splitlines():
            m = GO_NUMBERS.match(line)
            if m:
                add(got, m[3], 0, int(float(m[1])))
        try:
            if r.code:
                raise Wrong("go tool pprof: exit code %s: %.300r" % (r.code, r.err))
            equal("go tool pprof -top", {k: (0, ns) for k, (_, ns) in functions_of(t, trace).items() if ns},
                  {k: v for k, v in got.items() if v[1]})
        except Wrong as e:
            why = str(e)
    t.verdict(label, why)


def graph_of(t, trace):
    """{function or (caller, callee): [calls, total, self]} of spur graph; a call inside another one of the same adds no total."""
    r = t.run([t.spur, "graph", "--json", "--no-args", "--demangle=full", trace])
    paths, out = {None: ()}, {}
    for n in json.loads(r.out)["nodes"]:
        name = escaped(shown(n["function"]))
        path = paths[n["id"]] = paths[n["parent"]] + (name,)
        edges = list(zip(path, path[1:]))
        for key, inner in ((name, name in path[:-1]), (edges[-1:] and edges[-1], edges[-1:] and edges[-1] in edges[:-1])):
            if key != []:
                s = out.setdefault(key, [0, 0, 0])
                s[0] += n["calls"]
                s[1] += 0 if inner else n["total"]
                s[2] += n["self"]
    return out


def dot_json(t, data):
    """Graphviz's own reading."""
    with t.temp() as tmp:
        with open(os.path.join(tmp, "graph.dot"), "wb") as f:
            f.write(data)
        # The layout is not looked at: a quick one does.
        r = t.run(["dot", "-Kpatchwork", "-Tdot_json", f.name])
    if r.code or r.err:
        raise Wrong("dot -Tdot_json: exit code %s: %.300r" % (r.code, r.err))
    return json.loads(r.out)


def dot(t, trace):
    data = converted(t, trace, "dot", "--demangle=full", "--set=vertices=none,edges=max")
    g, got = dot_json(t, data), {}

    def sums(key, x):
        s = got.setdefault(key, [0, 0, 0])
        for i, name in enumerate(("calls", "total", "self")):
            s[i] += int(x[name])
        if int(x["max"]) and not int(x["avg"]) <= int(x["max"]):
            raise Wrong("dot: %s: avg is above max" % (key,))

    names = {x["_gvid"]: x["label"].replace('\\"', '"').replace("\\\\", "\\") for x in g.get("objects", ())}
    for x in g.get("objects", ()):
        sums(names[x["_gvid"]], x)
    for e in g.get("edges", ()):
        sums((names[e["tail"]], names[e["head"]]), e)
    want = graph_of(t, trace)
    for key in sorted(set(want) | set(got), key=repr):
        if want.get(key) != got.get(key):
            raise Wrong("dot: %s: expected calls, total, self %s, found %s" % (key, want.get(key), got.get(key)))
    same_always(t, trace, "dot", data, "--demangle=full", "--set=vertices=none,edges=max")


# OTLP's messages in proto3's JSON: the type of each field.
HEX16, HEX32 = re.compile(r"[0-9a-f]{16}"), re.compile(r"[0-9a-f]{32}")
DECIMAL = re.compile(r"-?[0-9]+")
OTLP = {
    "request": {"resourceSpans": ["resourceSpans"]},
    "resourceSpans": {"resource": "resource", "scopeSpans": ["scopeSpans"]},
    "resource": {"attributes": ["attribute"]},
    "scopeSpans": {"scope": "scope", "spans": ["span"]},
    "scope": {"name": "string", "version": "string"},
    "span": {"traceId": HEX32, "spanId": HEX16, "parentSpanId": HEX16, "name": "string", "kind": "int", "startTimeUnixNano": "uint64",
             "endTimeUnixNano": "uint64", "attributes": ["attribute"], "events": ["event"], "status": "status"},
    "status": {},
    "event": {"timeUnixNano": "uint64", "name": "string", "attributes": ["attribute"]},
    "attribute": {"key": "string", "value": "any"},
    "any": {"stringValue": "string", "intValue": "int64", "doubleValue": "double", "boolValue": "bool", "bytesValue": "bytes",
            "arrayValue": "array", "kvlistValue": "kvlist"},
    "array": {"values": ["any"]},
    "kvlist": {"values": ["attribute"]},
}


def otlp_check(kind, v):
    """Raises unless a value is of that type."""
    if isinstance(kind, list):
        good = isinstance(v, list)
        for item in v if good else ():
            otlp_check(kind[0], item)
    elif kind in OTLP:
        good = isinstance(v, dict) and set(v) <= set(OTLP[kind]) and (kind != "any" or len(v) < 2)
        for key in v if good else ():
            otlp_check(OTLP[kind][key], v[key])
    elif isinstance(kind, re.Pattern):
        good = isinstance(v, str) and kind.fullmatch(v) and int(v, 16)
    elif kind in ("uint64", "int64"):
        good = isinstance(v, str) and DECIMAL.fullmatch(v) and -(kind == "int64") << 63 <= int(v) < 1 << (64 if kind == "uint64" else 63)
    elif kind == "double":
        good = v in ("NaN", "Infinity", "-Infinity") or (isinstance(v, (int, float)) and not isinstance(v, bool))
    elif kind == "bytes":
        good = base64.b64encode(base64.b64decode(v, validate=True)).decode() == v
    elif kind == "string":
        good = isinstance(v, str) and shown(v) == v
    else:
        good = isinstance(v, {"int": int, "bool": bool}[kind])
    if not good:
        raise Wrong("otlp: expected %s, found %.200r" % (kind, v))


def otlp_spans(data):
    """[span with its kind, pid and attributes as dictionary], checked."""
    spans = []
    for line in data.decode("utf-8").splitlines():
        request = json.loads(line)
        otlp_check("request", request)
        for rs in request["resourceSpans"]:
            for s in rs["scopeSpans"][0]["spans"]:
                s["values"] = {a["key"]: a["value"] for a in s["attributes"]}
                s["what"] = s["values"].get("spur.kind", {}).get("stringValue")
                s["times"] = int(s["startTimeUnixNano"]), int(s["endTimeUnixNano"])
                spans.append(s)
    by_id = {s["spanId"]: s for s in spans}
    if len(by_id) != len(spans):
        raise Wrong("otlp: a span id comes twice")
    for s in spans:
        if s["times"][0] > s["times"][1]:
            raise Wrong("otlp: %s ends before it begins" % s["name"])
        parent = by_id[s["parentSpanId"]] if "parentSpanId" in s else None
        if parent and (parent["traceId"] != s["traceId"] or (s["what"] is None and not
                       parent["times"][0] <= s["times"][0] <= s["times"][1] <= parent["times"][1])):
            raise Wrong("otlp: %s does not lie in its parent %s" % (s["name"], parent["name"]))
        for e in s.get("events", ()):
            if not s["times"][0] <= int(e["timeUnixNano"]) <= s["times"][1]:
                raise Wrong("otlp: the event %s does not lie in %s" % (e["name"], s["name"]))
    return spans, by_id


def otlp_path(s, by_id):
    names = []
    while s:
        names.append("off CPU" if s["name"] == "(off CPU)" else s["name"])
        s = by_id.get(s.get("parentSpanId"))
    return tuple(reversed(names))


def otlp_kinds(spans):
    """How many events of each kind there are, but for calls and time off the CPU."""
    kinds = collections.Counter()
    for s in spans:
        for e in s.get("events", ()):
            kinds[next(a["value"]["stringValue"] for a in e["attributes"] if a["key"] == "spur.kind")] += 1
        if s["what"] == "ASYNC":
            kinds["ASYNC_BEGIN"] += 1
            kinds["ASYNC_END"] += "spur.end" not in s["values"]
        elif s["what"]:
            kinds[s["what"]] += 1
    return kinds


def otlp(t, trace):
    data = converted(t, trace, "otlp", "--demangle=full")
    spans, by_id = otlp_spans(data)
    if os.path.relpath(os.path.dirname(trace), os.path.join(t.tests, "golden")) not in viewers.EXCEPT:
        own = {tuple(shown(name) for name in path): s for path, s in viewers.own_sums(t, trace).items()}
        calls = [(otlp_path(s, by_id), s["times"][1] - s["times"][0]) for s in spans if not s["what"]]
        viewers.compare("otlp", own, viewers.sums(calls))
    want = perfetto.rows_of(t, trace)
    for kind in ("BEGIN", "END", "SPAN", "SWITCH"):
        want.pop(kind, None)
    if +want != +otlp_kinds(spans):
        raise Wrong("otlp: expected %s, found %s" % (dict(want), dict(otlp_kinds(spans))))
    same_always(t, trace, "otlp", data, "--demangle=full")


def parquet_statistics(table):
    """Least and most values and nulls of each group are those of its rows."""
    at = 0
    for group in table["groups"]:
        rows = table["rows"][at:at + int(group["rows"])]
        at += len(rows)
        for c in group["columns"]:
            values = [r[c["name"]] for r in rows]
            st, there = c["statistics"], [v for v in values if v is not None]
            if int(st["null_count"]) != len(values) - len(there):
                raise Wrong("parquet: %s: expected %d nulls, found %s" % (c["name"], len(values) - len(there), st["null_count"]))
            if "min_value" not in st:
                continue
            number = c["name"] not in ("kind", "name", "category", "type")
            key = int if number else (lambda v: v.encode("utf-8"))
            if [str(st["min_value"]), str(st["max_value"])] != [str(min(there, key=key)), str(max(there, key=key))]:
                raise Wrong("parquet: %s: least and most are %s" % (c["name"], st))
    if at != len(table["rows"]):
        raise Wrong("parquet: %d rows, but %d in groups" % (len(table["rows"]), at))


def parquet_events(t, trace, tables):
    """Events and their arguments against spur cat, in its order."""
    r = t.run([t.spur, "cat", "--jsonl", "--demangle=full", trace])
    rows = [json.loads(line) for line in r.out.decode("utf-8", "surrogateescape").splitlines()]
    rows = [row for row in rows if "kind" in row]
    events, values = tables["events"]["rows"], collections.defaultdict(list)
    for a in tables["arguments"]["rows"]:
        if a["type"] in ("i64", "u64", "string") and a["name"]:
            values[a["event"]].append((a["name"], a["text"] if a["type"] == "string" else int(a["int"] or a["uint"])))
    if len(rows) != len(events):
        raise Wrong("parquet: expected %d events, found %d" % (len(rows), len(events)))
    shift = int(events[0]["ts"]) - rows[0]["ts"] if rows else 0
    for i, (row, e) in enumerate(zip(rows, events)):
        want = row["ts"] + shift, row["kind"], shown(row["name"]), shown(row["cat"]), row.get("cpu"), row.get("id"), i
        got = (int(e["ts"]), e["kind"], e["name"], e["category"] or "", e["cpu"] and int(e["cpu"]), e["id"] and int(e["id"]), int(e["event"]))
        if want != got:
            raise Wrong("parquet: expected %s, found %s" % (want, got))
        args = {shown(k): shown(v) if isinstance(v, str) else v for k, v in row["args"].items()}
        for name, v in values[e["event"]]:
            if [n for n, _ in values[e["event"]]].count(name) == 1 and args.get(name) != v:
                raise Wrong("parquet: event %d: expected %s=%r, found %r" % (i, name, args.get(name), v))
    return events


def parquet_spans(tables, events):
    """Each event that begins a span has one, which fits it, the event that ends it and the span around it."""
    spans = {s["event"]: s for s in tables["spans"]["rows"]}
    begins = {e["event"] for e in events if e["kind"] in ("BEGIN", "SPAN")}
    if set(spans) != begins or len(spans) != len(tables["spans"]["rows"]):
        raise Wrong("parquet: %d spans of %d events" % (len(spans), len(begins)))
    for s in spans.values():
        e, last = events[int(s["event"])], s["end_event"] and events[int(s["end_event"])]
        begin, end = int(s["ts"]), int(s["ts"]) + int(s["dur"])
        if [e[k] for k in ("ts", "name", "category", "track")] != [s[k] for k in ("ts", "name", "category", "track")]:
            raise Wrong("parquet: a span differs from its event: %s, %s" % (s, e))
        if e["kind"] == "SPAN" and e["dur"] != s["dur"]:
            raise Wrong("parquet: a span is not as long as its event: %s, %s" % (s, e))
        if last and (last["kind"] != "END" or max(int(last["ts"]), begin) != end or last["track"] != s["track"]):
            raise Wrong("parquet: a span differs from its end: %s, %s" % (s, last))
        outer = s["parent"] and spans[s["parent"]]
        if outer and (outer["track"] != s["track"] or int(outer["ts"]) > begin or int(outer["depth"]) != int(s["depth"]) - 1):
            raise Wrong("parquet: a span does not lie in its parent: %s, %s" % (s, outer))


def parquet(t, trace):
    with t.temp() as tmp:
        out = [os.path.join(tmp, name) for name in ("one", "two")]
        for directory, more in zip(out, ([], ["--read-size=7", "--threads=2"])):
            r = t.run([t.spur, "convert", "-q", "--to=parquet", "--demangle=full", "-o", directory, *more, trace])
            if r.trouble() or r.code not in (0, 3):
                raise Wrong("convert --to=parquet: %s" % (r.trouble() or "exit code %s: %.200r" % (r.code, r.err)))
        if t.run(["diff", "-r", *out]).code:
            raise Wrong("parquet: differs with --read-size=7 --threads=2")
        r = t.run(["node", os.path.join(t.tests, "viewers", "parquet.mjs"), modules_of(t), out[0]], limit=False)
        if r.code:
            raise Wrong("hyparquet: exit code %s: %.400r" % (r.code, r.err))
        tables = json.loads(r.out)
    for table in tables.values():
        parquet_statistics(table)
    parquet_spans(tables, parquet_events(t, trace, tables))
    known = {k["track"] for k in tables["tracks"]["rows"]}
    if not {e["track"] for e in tables["events"]["rows"]} | {k["parent"] for k in tables["tracks"]["rows"]} <= known | {None}:
        raise Wrong("parquet: a track is missing")


def modules_of(t):
    return os.path.join(t.root, "build", "npm", "node_modules")


def dot_svg(t, label, trace):
    """Graphviz lays it out."""
    with t.temp() as tmp:
        with open(os.path.join(tmp, "graph.dot"), "wb") as f:
            f.write(converted(t, trace, "dot", "--set=edges=total,vertices=avg,color=calls"))
        r = t.run(["dot", "-Tsvg", f.name])
    t.verdict(label, None if r.code == 0 and r.out.rstrip().endswith(b"</svg>") and not r.err else
              "dot -Tsvg: exit code %s: %.200r" % (r.code, r.err))


def one(t, label, name, trace, checks):
    why = None
    try:
        for check in checks:
            check(t, trace)
    except Wrong as e:
        why = str(e)
    t.verdict(label, why)


def run(t):
    checks = [otlp]
    if shutil.which("protoc"):
        checks.append(pprof)
    elif t.wanted("targets/"):
        t.skip("targets/pprof", "no protoc: tools/install-deps")
    if shutil.which("node") and os.path.isdir(os.path.join(modules_of(t), "hyparquet")):
        checks.append(parquet)
    elif t.wanted("targets/"):
        t.skip("targets/parquet", "no node or no hyparquet: tools/install-deps")
    if shutil.which("dot"):
        checks.append(dot)
    elif t.wanted("targets/"):
        t.skip("targets/dot", "no dot: tools/install-deps")
    for trace in sorted(glob.glob(os.path.join(t.tests, "golden", "*", "*", "in"))):
        name = os.path.relpath(os.path.dirname(trace), os.path.join(t.tests, "golden"))
        if t.wanted("targets/" + name) and name not in EXCEPT:
            t.later(one, "targets/" + name, name, trace, checks)
    for name in SOME if shutil.which("go") else ():
        if t.wanted("targets/go/" + name):
            t.later(go_pprof, "targets/go/" + name, os.path.join(t.tests, "golden", name, "in"))
    for name in SOME if shutil.which("dot") else ():
        if t.wanted("targets/svg/" + name):
            t.later(dot_svg, "targets/svg/" + name, os.path.join(t.tests, "golden", name, "in"))
    if not shutil.which("go") and t.wanted("targets/go"):
        t.skip("targets/go", "no go: tools/install-deps")
