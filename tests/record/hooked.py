#!/usr/bin/env python3
"""Compares the calls of a recording with those that tests/record/hooked.cc says it made.

	hooked.py SAID < RECORDED

SAID: what the program printed. RECORDED: `spur convert --to=chrome`. Prints the first difference of each track.
"""
import json
import sys

NAMES = {"thrower", "after", "catcher", "rethrower", "jumper", "jumps", "handled", "signals", "swap", "descend",
	 "runner", "exiter"}


def simple(name):
	return name.split(" [")[0].split("(")[0].split("::")[-1].split(" ")[-1]


def main():
	said = [t.splitlines() for t in open(sys.argv[1]).read().split("track\n")[1:]]
	tracks, depths = {}, {}
	document = json.load(sys.stdin)
	for e in document["traceEvents"] if isinstance(document, dict) else document:
		if e["ph"] not in "BE":
			continue
		lines, stack = tracks.setdefault(e["tid"], []), depths.setdefault(e["tid"], [])
		name = simple(e.get("name", "return"))
		if e["ph"] == "B":
			if name in NAMES:
				lines.append("%d %s" % (sum(n in NAMES for n in stack), name))
			stack.append(name)
		elif not stack:
			print("an end without a begin")
		elif name not in (stack.pop(), "return"):
			print("%s ends where another call is open" % name)
	recorded = [t for t in tracks.values() if t]
	for one in said:
		if one in recorded:
			recorded.remove(one)
			continue
		best = max(recorded, key=lambda t: sum(a == b for a, b in zip(t, one)), default=[])
		at = next((i for i, (a, b) in enumerate(zip(one + [None], best + [None])) if a != b), 0)
		print("a track of %d calls differs at %d: said %s, recorded %s" % (
			len(one), at, one[max(0, at - 2):at + 3], best[max(0, at - 2):at + 3]))
	for t in recorded:
		print("a track of %d calls was recorded that was not said" % len(t))
	for stack in depths.values():
		if stack:
			print("open at the end: %s" % stack)
	print("%d tracks with %d calls" % (len(said), sum(map(len, said))))


if __name__ == "__main__":
	main()
