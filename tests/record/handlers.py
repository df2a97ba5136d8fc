#!/usr/bin/env python3
"""Compares the calls of a recording with those that tests/record/handlers.c says it made.

	handlers.py SAID < RECORDED

SAID: what the program printed. RECORDED: `spur cat --jsonl`. Prints what differs.
"""
import json
import sys

AROUND = {"fib": {"fib", "main"}, "frame": {"on_plain"}}
OURS = {"main", "fib", "frame", "on_plain", "on_alternate", "on_end"}


def main():
	said = {a: int(b) for a, b in (line.split() for line in open(sys.argv[1]))}
	calls, stack, wrong = {}, [], {}

	def complain(what):
		wrong[what] = wrong.get(what, 0) + 1

	for line in sys.stdin:
		e = json.loads(line)
		if e["kind"] not in ("BEGIN", "END"):
			continue
		name = e["name"]
		if e["tid"] is None:
			complain("an event on the track of a fiber")
		if e["kind"] == "BEGIN":
			around = next((n for n in reversed(stack) if n in OURS), None)
			if name in AROUND and around not in AROUND[name]:
				complain("%s is called by %s" % (name, around))
			calls[name] = calls.get(name, 0) + 1
			stack.append(name)
		elif not stack:
			complain("an end without a begin")
		elif name != stack.pop():
			complain("%s ends where another call is open" % name)
	for name, count in (("on_plain", said["plain"]), ("frame", said["plain"]),
			    ("on_alternate", said["alternate"]), ("fib", said["fib"])):
		if calls.get(name, 0) != count:
			complain("%s: not as many calls as were made" % name)
	for what, times in sorted(wrong.items()):
		print("%s (%d)" % (what, times))
	print("handlers came" if said["plain"] + said["alternate"] > 10 else "no handlers came")


if __name__ == "__main__":
	main()
