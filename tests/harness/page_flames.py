"""
Flame graphs of `spur view`: the tree of a range has the paths, calls and times of `spur graph` of that range. It is asked for by HTTP,
as the page does.
"""
import json
import os
import random
import re
import subprocess
import sys
import time
import urllib.request

from harness.fxt import Wrong

# Made by a script: calls without length where one ends and the next begins; switches, wake-ups, calls and events of one time, and time
# off the CPU that no row ends; names of odd bytes.
OWN = ("ties", "kernel-ties", "names")
# uftrace/lost and own-spawn lack begins of calls that are around others.
TRACES = ("uftrace/own-words", "uftrace/threads", "uftrace/lost", "uftrace/own-spawn", "ctf/kernel-threads", "ctf/lttng213-functions", "heph/nesting",
          "fxt/all-records", "spur/calls", "xray/fdr-threads")
RANGES = 12


class Server:
    """`spur view` of a trace, once it has read all of it."""

    def __init__(self, t, trace, tmp):
        self.process = subprocess.Popen([t.spur, "view", "--no-open", "--no-cache", trace], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, env={**os.environ, "XDG_CACHE_HOME": tmp})
        found = re.search(rb"(http://\S+/)#(\w{32})", self.process.stdout.readline())
        if not found:
            self.close()
            raise Wrong("spur view tells no address")
        self.url, self.token = (text.decode() for text in found.groups())
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        for _ in range(3000):
            if self.ask("meta")["done"]:
                return
            time.sleep(0.01)

    def ask(self, what):
        return json.loads(self.opener.open(urllib.request.Request(self.url + "api/" + what, headers={"X-Spur-Token": self.token}), timeout=60).read())

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


def of_graph(t, trace, start, end):
    """(calls, total, self) by path."""
    r = t.run([t.spur, "graph", "-q", "--jsonl", "--no-cache", "--from=%dns" % start, "--until=%dns" % end, trace])
    if r.code not in (0, 1, 3):
        raise Wrong("spur graph: exit code %s: %.200r" % (r.code, r.err))
    paths, out = {None: ()}, {}
    for node in (json.loads(line) for line in r.out.decode("utf-8", "surrogateescape").splitlines()):
        path = paths[node["id"]] = (*paths[node["parent"]], node["function"])
        out[path] = tuple(a + node[k] for a, k in zip(out.get(path, (0, 0, 0)), ("calls", "total", "self")))
    return {path: sums for path, sums in out.items() if sums[0]}


def of_view(server, names, start, end):
    out, left = {}, [((), server.ask("flame?from=%d&to=%d" % (start, end)))]
    while left:
        above, node = left.pop()
        for child in node["children"]:
            path = (*above, names[child["label"]])
            out[path] = tuple(a + child[k] for a, k in zip(out.get(path, (0, 0, 0)), ("calls", "total", "self")))
            left.append((path, child))
    return out


def flames(t, label, trace):
    why = None
    times = [json.loads(line)["ts"] for line in t.run([t.spur, "cat", "--jsonl", "-q", trace]).out.splitlines()]
    first, rng = min(times), random.Random(label)
    with t.temp() as tmp:
        server = None
        try:
            server = Server(t, trace, tmp)
            names = [known["name"] for known in server.ask("labels?from=0")]
            ranges = [(0, max(times) - first + 1)] + [sorted(rng.choice(times) - first + rng.choice((0, 0, 1)) for _ in "ab") for _ in range(RANGES)]
            for start, end in ranges:
                want, found = of_graph(t, trace, start, end), of_view(server, names, start, end)
                for path in sorted(want.keys() | found.keys()):
                    if want.get(path) != found.get(path):
                        raise Wrong("%d to %d: %s: spur graph has %s, the viewer %s" % (start, end, ";".join(path), want.get(path), found.get(path)))
        except Wrong as e:
            why = str(e)
        finally:
            if server:
                server.close()
    t.verdict(label, why)


def later(t):
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 10000))
    for name in TRACES:
        if t.wanted("page/flames/" + name):
            t.later(flames, "page/flames/" + name, os.path.join(t.tests, "golden", name, "in"))
    for name in OWN:
        if t.wanted("page/flames/" + name):
            t.later(flames, "page/flames/" + name, os.path.join(t.tests, "viewers", "traces", name))
