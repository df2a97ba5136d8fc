"""
Kills `spur record` itself at random moments: recorder_killed.py SPUR PROGRAM TRIALS. PROGRAM is built of many.c. It goes on, ends as
without a recorder, and its recording has each call of each thread, with its argument and in order, or says that it was lost. A recorder
that is killed before it has said what is to be recorded leaves no recording of calls.
"""
import collections
import ctypes
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
THREADS, CALLS = 2, 12000
WITHIN = 0.12  # s; the program needs about half of that
# The leak sanitizer looks from a process of its own, which is killed with the recorder: an orphan that is not the program.
NO_LEAKS = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "detect_leaks=0"]))


def orphan_end():
    """Waits for the program, whose parent is gone. Returns its exit code, or None if it was not started."""
    end = time.time() + 30
    code = None
    while time.time() < end:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if pid:
            code = os.waitstatus_to_exitcode(status)
        else:
            time.sleep(0.001)
    return "runs for 30 s"


def numbers(spur, path):
    """The arguments of all calls by thread, what was lost, and what was said."""
    r = subprocess.run([spur, "cat", "--jsonl", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    calls, ends, lost = collections.defaultdict(list), collections.Counter(), 0
    for line in r.stdout.splitlines():
        e = json.loads(line)
        if e["kind"] == "LOST":
            lost += e["id"]
        elif e.get("name") != "leaf":
            continue
        elif e["kind"] == "BEGIN":
            calls[e["tid"]].append(e["args"]["arg1"])
        else:
            ends[e["tid"]] += 1
    return calls, ends, lost, r.stderr.decode("utf-8", "replace")


def fault(spur, code):
    """What is wrong with the trial, or None, and whether calls were recorded."""
    if code not in (0, None):
        return "exit code %s" % code, False
    files = [f for f in os.listdir("killed.spur") if f.endswith(".spb")] if os.path.isdir("killed.spur") else []
    if not files:
        return None, False
    calls, ends, lost, said = numbers(spur, "killed.spur")
    if re.search("damage|warning", said):
        return said, True
    if not calls:
        return None, False
    whole = list(range(CALLS))
    if lost:
        return "lost %d" % lost, True
    if len(calls) != THREADS or any(c != whole for c in calls.values()) or any(n != CALLS for n in ends.values()):
        return "read %s" % {tid: len(c) for tid, c in calls.items()}, True
    return None, True


def main():
    spur, program, trials = sys.argv[1], sys.argv[2], int(sys.argv[3])
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    random.seed(11)
    recorded = 0
    os.makedirs("run", mode=0o700, exist_ok=True)
    for trial in range(trials):
        shutil.rmtree("killed.spur", ignore_errors=True)
        p = subprocess.Popen([spur, "record", "-q", "-o", "killed.spur", "-A", "leaf@arg1", program, str(THREADS), str(CALLS)],
                             env=dict(os.environ, XDG_RUNTIME_DIR=os.path.abspath("run"), ASAN_OPTIONS=NO_LEAKS), stdin=subprocess.DEVNULL,
                             stderr=subprocess.PIPE)
        time.sleep(random.random() * WITHIN)
        p.send_signal(signal.SIGKILL)
        p.wait()
        code = orphan_end()
        said = p.stderr.read().decode("utf-8", "replace")
        p.stderr.close()
        wrong, has_calls = fault(spur, code)
        recorded += has_calls
        if wrong or said:
            print("trial %d: %s%s" % (trial, wrong or "", said))
        shutil.rmtree("run")
        os.makedirs("run", mode=0o700)
    print("%d trials, some recorded" % trials if recorded else "%d trials" % trials)
    print(recorded, "recorded", file=sys.stderr)


main()
