#!/usr/bin/env python3
"""
Records tests/record/levels.c twice while it runs. Calls that were open when the first recording ended return before, in and after
the second one, and others begin where they were on the stack.

levels.py SPUR PROGRAM
"""
import json
import signal
import subprocess
import sys

from attach import Recorder


def main():
	spur, path = sys.argv[1:]
	p = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
	p.stdout.readline()

	def go(*steps):
		for step in steps:
			p.stdin.write(step + "\n")
			p.stdin.flush()
			p.stdout.readline()

	def record(to, *steps):
		r = Recorder([spur, "record", "-p", str(p.pid), "-o", to, "--no-library-calls"])
		r.wait_begin()
		go(*steps)
		r.process.send_signal(signal.SIGTERM)
		r.wait_end()
		rows = subprocess.run([spur, "cat", "--jsonl", to], capture_output=True, text=True).stdout.splitlines()
		print(" ".join(e["kind"] + (" !" if e["name"] != "level" else "") for e in map(json.loads, rows)))

	go("down", "down", "down")
	record("levels-1.spur", "down", "down", "down")
	go("up", "down", "up", "up", "down", "down")
	record("levels-2.spur", "up", "up", "up", "down", "down", "up", "up", "up")
	go("up")
	p.communicate()
	print("exit code", p.returncode)


if __name__ == "__main__":
	main()
