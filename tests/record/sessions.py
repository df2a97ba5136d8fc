"""Sessions of several programs (tests/cli/record-system*): runs the parts that the command line names."""
import json
import os
import re
import signal
import socket
import subprocess
import sys

from providers import PATIENCE, SPUR, Provider, Recorded, kill_all, spur, started, wait_for


# Other programs of this user may record too, also for this test.
ID = os.getpid()
PROVIDER, STRANGER = "./provider-%d" % ID, "./stranger-%d" % ID
for name in (PROVIDER, STRANGER):
    os.link("provider", name)


def base(path):
    return os.path.basename(path).replace("-%d" % ID, "")


class Session:
    def __init__(self, out, *args):
        names = [] if "--providers" in args else ["--providers", "provider-%d,stranger-%d" % (ID, ID)]
        self.p = subprocess.Popen([SPUR, "record", "--system", "-o", out, *names, *args], stderr=subprocess.PIPE, text=True)
        started.append(self.p)
        self.first = self.p.stderr.readline()

    def end(self, sig=signal.SIGINT):
        self.p.send_signal(sig)
        return self.rest()

    def rest(self):
        text = self.p.communicate(timeout=PATIENCE)[1]
        return self.p.returncode, re.sub(r"; [0-9.]+ s\n", "\n", text.replace(os.getcwd() + "/", "").removeprefix("spur: ").replace("\nspur: ", "\n")).strip()


def row(n):
    """First and last number and how many, if none is missing."""
    return (n[0], n[-1], len(n)) if n and n == list(range(n[0], n[-1] + 1)) else n[:5]


def stopped(pid):
    """True if no thread of the process goes on."""
    return all(open("/proc/%d/task/%s/stat" % (pid, t)).read().rsplit(")", 1)[1].split()[0] == "T" for t in os.listdir("/proc/%d/task" % pid))


def left(*programs):
    """Waits until no program records, and none has a thread of the library."""
    for a in programs:
        wait_for(lambda: a.ask("on") == "on 0", "leaving")
        wait_for(lambda: len(os.listdir("/proc/%d/task" % a.pid)) == 1, "the helper's end")


def around():
    """Programs that are started before, during and after the session, or by others."""
    a, b = Provider(PROVIDER), Provider(PROVIDER)
    a.ask("run 10")
    s = Session("around.spur")
    print(oct(os.stat("run/spur").st_mode & 0o777), oct(os.stat("run/spur/session").st_mode & 0o777))
    a.ask("run 40000")
    c = Provider(PROVIDER)
    c.ask("run 5")
    c.ask("fork 7")
    c.ask("exec")
    c.ask("run 11")
    b.ask("on")
    b.ask("other 3")
    b.ask("span 4")
    print(spur("record", "--stop")[1].count("around.spur: "))
    print(*s.rest())
    left(a, b, c)
    a.ask("run 100"), b.ask("run 100"), c.ask("run 100")
    d = Provider(PROVIDER)
    d.ask("run 9")
    r = Recorded("around.spur")
    print(row(r.of(a.pid)), sorted(r.of(c.pid)) == sorted([*range(1, 6), *range(1, 12)]), row(r.of(b.pid, "other")), r.spans, r.lost, len(r.of(d.pid)))
    print([row(n) for key, n in r.numbers.items() if key[0] not in (a.pid, b.pid, c.pid)], r.problems)
    # Another session: they join that too.
    s = Session("again.spur")
    a.ask("run 20"), b.ask("run 30"), d.ask("run 40")
    print(*s.end(signal.SIGTERM))
    r = Recorded("again.spur")
    print(row(r.of(a.pid)), row(r.of(b.pid)), row(r.of(d.pid)), r.lost)
    for x in (a, b, c, d):
        x.end()


def chosen():
    """Categories, programs by name, and how much is kept."""
    a, b = Provider(PROVIDER), Provider(STRANGER)
    s = Session("chosen.spur", "--categories", "app,none", "--providers", "pro*er-%d" % ID)
    for x in (a, b):
        x.ask("other 10"), x.ask("run 20"), x.ask("other 10"), x.ask("run 20")
    print(b.ask("on"))
    rows = [line.split()[1:4] for line in spur("record", "--list")[0].splitlines() if os.getcwd() in line]
    print([[base(r[0]), *r[1:]] for r in rows])
    listed = json.loads(spur("record", "--list", "--json")[0])
    print([(base(x["program"]), x["state"], x["categories"]) for x in listed["rows"] if x["pid"] in (a.pid, b.pid)])
    s.end()
    r = Recorded("chosen.spur")
    print(row(r.of(a.pid)), len(r.of(a.pid, "other")), len(r.of(b.pid)))
    # One that was not wanted is in the next session.
    s = Session("all.spur", "--ring", "1M")
    a.ask("run 90000"), b.ask("run 5")
    a.ask("other 5")
    spur("snapshot", "-q", "-o", "ring.spur", "all.spur")
    s.end()
    for path in ("ring.spur", "all.spur"):
        r = Recorded(path)
        n = r.of(a.pid)
        print(n[-1], 3 * 16380 < len(n) <= 4 * 16380, row(n)[1:2] == (90040,), row(r.of(b.pid)), row(r.of(a.pid, "other")))
    s = Session("first.spur", "--oneshot", "1M")
    a.ask("run 60000"), b.ask("run 5")
    s.end()
    r = Recorded("first.spur")
    n = r.of(a.pid)
    # A record of the whole time may take the place of an event.
    print(n[0] == 90041, 3 * 16380 - 9 < len(n) <= 3 * 16380, len(n) + r.lost, row(r.of(b.pid)))
    left(a, b)
    # A recording of a program's own goes before; it does not come back to a session that it left.
    s = Session("left.spur")
    a.ask("run 3"), b.ask("run 3")
    print(a.ask("own mine.spur"))
    a.ask("run 6"), a.ask("end"), b.ask("end")
    a.ask("run 8"), b.ask("run 8")
    s.end()
    n = Recorded("left.spur")
    print(row(Recorded("mine.spur").of(a.pid)), row(n.of(a.pid)[:3]), row(n.of(a.pid)[3:]), row(n.of(b.pid)))
    a.end(), b.end()


def harmed():
    """Programs and sessions that are killed or hang."""
    a, b, c = Provider(PROVIDER), Provider(PROVIDER), Provider(PROVIDER, env={"SPUR_TRACE": "own.spur"})
    c.ask("run 5")
    s = Session("killed.spur")
    a.ask("run 50")
    print(spur("record", "--system", "-o", "no.spur", code=2)[1].count("a session is going on already: process %d " % s.p.pid), os.path.exists("no.spur"))
    s.p.kill()
    s.p.wait()
    # The session's lock has gone: programs leave, and none joins.
    left(a)
    b.ask("run 5"), a.ask("run 5")
    print(b.ask("on"), row(Recorded("killed.spur").of(a.pid)), os.path.exists("run/spur/session"))
    print(spur("record", "--stop", code=2)[1], end="")
    s = Session("harmed.spur")
    a.ask("run 60"), b.ask("run 70"), c.ask("run 5")
    a.p.kill()
    a.p.wait()
    os.kill(b.pid, signal.SIGSTOP)
    # Until the signal has reached a thread that runs, the others go on.
    wait_for(lambda: stopped(b.pid), "the stop")
    # What does not speak the session's language, and a file that is none.
    junk = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(20)]
    for j in junk:
        j.connect("run/spur/session")
    junk[-1].send(b"x" * 5000)
    with open("harmed.spur/1-1.spb", "wb") as f:
        f.write(b"SPURSPB1" + b"\xff" * 9000)
    os.mkfifo("harmed.spur/2-2.spb")
    code, text = s.end()
    # One that hangs is not waited for long, and ends its recording when it goes on.
    print(code, "ended without completing" in text, "did not end the recording" in text, "on its own" in text)
    os.kill(b.pid, signal.SIGCONT)
    left(b)
    os.unlink("harmed.spur/1-1.spb"), os.unlink("harmed.spur/2-2.spb")
    r = Recorded("harmed.spur")
    print(row(r.of(a.pid)), row(r.of(b.pid)), row(r.of(c.pid)), r.lost, r.problems)
    b.end(), c.end()


def many():
    programs = [Provider(PROVIDER) for _ in range(100)]
    s = Session("many.spur")
    for i, a in enumerate(programs):
        a.ask("run %d" % (i + 1))
    code, text = s.end()
    print(code, text)
    r = Recorded("many.spur")
    print([a.pid for i, a in enumerate(programs) if row(r.of(a.pid)) != (1, i + 1, i + 1)], r.lost)
    for a in programs:
        a.end()


def again():
    """A session is killed, and another one begins at once in its place: no program goes on with what is replaced."""
    programs = [Provider(PROVIDER) for _ in range(3)]
    for _ in range(3):
        s = Session("again.spur", "--force")
        for a in programs:
            a.ask("run 100")
        s.p.kill()
        s.p.wait(PATIENCE)
    s = Session("again.spur", "--force")
    for a in programs:
        a.ask("run 5000")
    print(*s.end())
    r = Recorded("again.spur")
    print([row(r.of(a.pid)) for a in programs], r.lost)
    for a in programs:
        a.end()


try:
    for part in sys.argv[1:]:
        print("--", part)
        {"around": around, "chosen": chosen, "harmed": harmed, "many": many, "again": again}[part]()
finally:
    kill_all()
