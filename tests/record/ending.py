#!/usr/bin/env python3
"""Compares the calls of a recording with those that tests/record/ending.c says it made.

	ending.py SAID < RECORDED

SAID: what the program printed. RECORDED: `spur cat --jsonl`. Prints what differs.
"""
import json
import sys


def main():
	said = {a: int(b) for a, b in (line.split() for line in open(sys.argv[1]))}
	begins, ends, lost = {}, {}, 0
	for line in sys.stdin:
		e = json.loads(line)
		if e["kind"] == "LOST":
			lost += int(e["id"])
		elif e["kind"] in ("BEGIN", "END"):
			counts = begins if e["kind"] == "BEGIN" else ends
			counts[e["name"]] = counts.get(e["name"], 0) + 1
	for name in ("call", "destroy"):
		for what, counts in (("begins", begins), ("ends", ends)):
			if counts.get(name, 0) != said[name]:
				print("%s: %d of %d %s" % (name, counts.get(name, 0), said[name], what))
	# A signal while its thread takes or gives back memory is lost, and so are both of its calls.
	handlers = sum(counts.get(name, 0) for name in ("handle", "on_signal") for counts in (begins, ends))
	if handlers + lost != 4 * said["handle"]:
		print("handlers: %d events and %d lost of %d" % (handlers, lost, 4 * said["handle"]))
	print("signals came" if said["handle"] else "no signals came")


if __name__ == "__main__":
	main()
