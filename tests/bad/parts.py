"""The law of spur split for the goldens that are named: see tests/cli/split/cmd."""
import collections, json, os, subprocess, sys

SPUR, GOLDEN = os.environ["SPUR"], os.path.join(os.environ["TESTS"], "golden")
PLACE = ("off", "stream", "flags")


def events(path):
    out = subprocess.run([SPUR, "cat", "--jsonl", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    rows = [json.loads(line) for line in out.splitlines()]
    return collections.Counter(json.dumps({k: v for k, v in r.items() if k not in PLACE}, sort_keys=True) for r in rows)


for name in sys.argv[1:]:
    trace = os.path.join(GOLDEN, name, "in")
    whole = events(trace)
    stored = sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(trace) for f in files) or os.path.getsize(trace)
    switches = sum(n for e, n in whole.items() if '"SWITCH"' in e)
    times = [json.loads(e)["ts"] for e in whole]
    lengths = {"time": "%dns" % ((max(times) - min(times)) // 4 + 1), "count": sum(whole.values()) // 3 + 1, "size": max(500, stored // 8)}
    for by in ("thread", "process", *("%s=%s" % x for x in lengths.items())):
        out = "parts-%s-%s" % (name.replace("/", "-"), by)
        subprocess.run([SPUR, "split", "-q", "--by=" + by, trace, "-o", out], stderr=subprocess.DEVNULL, check=True)
        parts = sum((events(os.path.join(out, part)) for part in os.listdir(out)), collections.Counter())
        more = parts - whole
        twice = sum(more.values()) - (switches if "=" not in by else 0)
        if whole - parts or twice > 0 or any('"SWITCH"' not in e for e in more):
            print(name, by, "missing:", list(whole - parts)[:2], "extra:", list(more)[:2])
