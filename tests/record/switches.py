"""
Categories that are switched by `spur record --switch` (tests/cli/record-switch*): runs the parts that the command line names.
SPEC spur/list
"""
import json
import os
import re
import signal
import subprocess
import sys
import time

from providers import PATIENCE, SPUR, Provider, kill_all, spur, started, wait_for

PROGRAM = "./categories"


def program(out=None, **env):
    return Provider(PROGRAM, env={**({"SPUR_TRACE": out} if out else {}), **env})


def switch_once(*args):
    """Runs spur record --switch. Returns its exit code and what it says, without what differs from run to run."""
    r = subprocess.run([SPUR, "record", "--switch", *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE)
    text = re.sub(r"process \d+, [^ ]*:", "process N:", re.sub(r"(?m)^spur: ", "", r.stdout.replace(os.getcwd() + "/", "")))
    # Whether a process has recorded for a second yet depends on the machine.
    text = re.sub(r"(\d+) process(es)? told(, (\d+) will go by it from (its|their) next event on)?", lambda m: "%d reached" % (int(m[1]) + int(m[4] or 0)), text)
    return r.returncode, text.strip()


def switch(*args):
    """The same again and again while a process that runs has no time to answer."""
    until = time.monotonic() + PATIENCE
    while True:
        code, text = switch_once(*args)
        if "or hangs" not in text or time.monotonic() > until:
            return code, text


def switch_until(*args):
    """The same until all have answered."""
    wait_for(lambda: switch_once(*args)[0] == 0, "the answer")


def events(out):
    """The switches and the names of events by time, of those that follow each other only one."""
    text = subprocess.run([SPUR, "cat", "--jsonl", out], stdout=subprocess.PIPE, text=True, timeout=PATIENCE, check=True).stdout
    names = [e["args"]["list"] if e["name"] == "categories" else e["name"] for e in map(json.loads, text.splitlines())]
    return [n for i, n in enumerate(names) if n not in names[max(i - 1, 0):i]]


def single():
    """One program, from each state to each other one."""
    a = program("single.spur")
    print(a.ask("look"))
    # It has recorded for no second, and has no thread of the library: its next event looks.
    print(*switch("disk", "single.spur"), "|", a.ask("look").split()[0], a.ask("look"))
    for to in "net", "disk", "net,disk", "none", "all", "default", "none", "unknown", "net,,disk,", "all,":
        print(*switch(to, "single.spur"), "|", a.ask("look"))
    print(*switch("later", "single.spur"), "|", a.ask("late later"), "|", a.ask("late other"))
    # What the program chooses counts again with "default".
    print(a.ask("disable net"), a.ask("enable disk"), a.ask("look"))
    print(*switch("default", "single.spur"), "|", a.ask("look"), "|", a.ask("enable net"), "|", a.ask("look"))
    print(a.ask("disable net"), a.ask("look"))
    a.end()
    said = events("single.spur")
    print(said[said.index("net"):])
    print(*switch("all", "single.spur"))
    # The directory keeps its list: so do programs that record into it later.
    b = program("single.spur")
    print(b.ask("look"))
    b.end()
    print([line.split(None, 1)[1] for line in spur("info", "single.spur")[0].splitlines() if line.startswith("categories ")])


def starts():
    """A program that the environment limits, and rings and oneshots, which are all off when they are told."""
    for mode in "stream", "ring", "oneshot":
        a = program(mode + ".spur", SPUR_TRACE_CATEGORIES="disk", SPUR_TRACE_MODE=mode, SPUR_TRACE_SIZE="1M")
        print(a.ask("look"), "|", *switch("net", mode + ".spur"), "|", a.ask("look"), "|", *switch("none", mode + ".spur"), "|",
              a.ask("look"), "|", *switch("default", mode + ".spur"), "|", a.ask("look"))
        a.end()
        print(events(mode + ".spur"))


def several():
    """Several processes of one recording; children, programs that they become, and those that come later."""
    a, b = program("several.spur"), program("several.spur")
    print(a.ask("look"), b.ask("look"))
    print(*switch("disk", "several.spur"), "|", a.ask("look").split()[0], b.ask("look").split()[0], a.ask("look"), b.ask("look"))
    print(a.ask("fork"), b.ask("exec"), b.ask("look"))
    c = program("several.spur")
    print(c.ask("look"))
    # The parent of the child counts too.
    print(*switch("net", "several.spur"), "|", a.ask("look"), b.ask("look"), c.ask("look"))
    b.p.kill()
    b.p.wait()
    print(*switch("all", "several.spur"), "|", a.ask("look"), c.ask("look"))
    c.p.send_signal(signal.SIGSTOP)
    code, text = switch_once("none", "several.spur")
    # The library's own thread stops with the process.
    print(code, text, a.ask("look"))
    c.p.send_signal(signal.SIGCONT)
    switch_until("none", "several.spur")
    print(c.ask("look"))
    a.end()
    c.end()


def alone():
    """Without a thread of the library: the list counts when a thread comes to the library."""
    a = program("alone.spur", SPUR_TRACE_HELPER="0")
    print(a.ask("look"), "|", *switch("net", "alone.spur"), "|", a.ask("look").split()[0], a.ask("look"))
    # Now something is off, which never comes to the library.
    code, text = switch("all", "alone.spur")
    print(code, text)
    a.ask("look")
    print(a.ask("look"))
    a.ask("stream")
    switch_until("disk", "alone.spur")
    print(a.ask("look"))
    a.end()


def runs():
    """Under spur record, which needs no program at the moment."""
    p = Provider(argv=[SPUR, "record", "-q", "-o", "run.spur", PROGRAM])
    print(p.ask("look"), "|", *switch("net", "run.spur"), "|", p.ask("look").split()[0], p.ask("look"))
    p.end()
    r = subprocess.Popen([SPUR, "record", "-q", "-o", "shell.spur", "sh", "-c", "echo go; read x; echo look | %s" % PROGRAM],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    started.append(r)
    r.stdout.readline()
    print(switch("disk", "shell.spur")[0], r.communicate("go\n", timeout=PATIENCE)[0].strip())


def hostile(rounds=40):
    """Points are registered, processes come and go, and some who switch are killed, while categories are switched."""
    rounds = int(os.environ.get("SWITCHES", rounds))
    a, b = program("hostile.spur"), program("hostile.spur", SPUR_TRACE_MODE="ring", SPUR_TRACE_SIZE="1M")
    victims = []
    a.ask("storm 4")
    b.ask("storm 2")
    lists = ["net", "none", "all", ",".join("c%d" % i for i in range(150)), "disk,c7", "default"]
    for i in range(rounds):
        if i % 4 == 0:
            victims.append(program("hostile.spur"))
            victims[-1].ask("storm 1")
        p = subprocess.Popen([SPUR, "record", "-q", "--switch", lists[i % len(lists)], "hostile.spur"], stderr=subprocess.DEVNULL)
        started.append(p)
        if i % 3 == 0:
            other = subprocess.Popen([SPUR, "record", "-q", "--switch", lists[i % 5], "hostile.spur"], stderr=subprocess.DEVNULL)
            started.append(other)
        if i % 4 == 3:
            victims[-1].p.kill()
        if i % 5 == 1:
            p.kill()
        p.wait(PATIENCE)
        other.wait(PATIENCE)
    for to in "disk", "net", "all", "none":
        a.ask("look"), b.ask("look")
        switch_until(to, "hostile.spur")
        print(a.ask("look"), "|", b.ask("look"))
    for v in victims:
        v.p.kill()
        v.p.wait()
    a.end()
    b.end()
    for path in sorted(os.listdir("hostile.spur")):
        if path.startswith(("%d-" % a.pid, "%d-" % b.pid)):
            r = subprocess.run([SPUR, "check", "hostile.spur/" + path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
            print(r.returncode, "good" in r.stdout)


def session():
    """Programs of a session: they go by the session's list and its switches, whatever they choose."""
    os.mkdir("runtime", 0o700)
    os.environ["XDG_RUNTIME_DIR"] = os.getcwd() + "/runtime"
    a = program()
    print(a.ask("look"))
    for i in range(2):
        s = subprocess.Popen([SPUR, "record", "--system", "--force", "-o", "all.spur", "--categories", "disk", "--providers", "categories"],
                             stderr=subprocess.PIPE, text=True)
        started.append(s)
        s.stderr.readline()
        print(*switch("net"))
        a.ask("look")
        print(a.ask("look"), "|", *switch("default"), "|", a.ask("look"), "|", *switch("all"), "|", a.ask("look"))
        b = program()
        b.ask("look")
        print(b.ask("look"), "|", *switch("net", "all.spur"), "|", a.ask("look"), b.ask("look"))
        b.end()
        s.send_signal(signal.SIGINT)
        s.wait(PATIENCE)
        wait_for(lambda: a.ask("look") == "look", "leaving")
    a.end()
    print(*switch("net", "all.spur"))


def refused():
    """What cannot be switched, and why."""
    os.mkdir("empty")
    open("file", "w").close()
    a = program("refused.spur")
    a.ask("look")
    for args in ["net", "empty"], ["net", "file"], ["net", "nothing"], ["", "refused.spur"], ["x" * 64, "refused.spur"], \
            [",".join(["name"] * 300), "refused.spur"], ["a\nb", "refused.spur"], ["net", "refused.spur", "more"], ["net", "--system"], \
            ["net", "--list"], ["net", "--categories", "net", "refused.spur"]:
        print(*switch(*args))
    print(*switch(",".join(["name"] * 204 + ["n"]), "refused.spur"), a.ask("look").split()[0], a.ask("look"))
    if os.geteuid():
        os.chmod("refused.spur/categories", 0o400)
        print(*switch("net", "refused.spur"), a.ask("look"))
    else:
        print("5 refused.spur/categories: Permission denied look")
    a.end()


try:
    for part in sys.argv[1:]:
        globals()[part]()
finally:
    kill_all()
