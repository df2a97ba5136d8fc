"""Counting, running programs, comparing outputs."""
import concurrent.futures
import difflib
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time

TIMEOUT = 400  # a test takes seconds, some of memory a minute or two; this is for machines with much else to do
MEMORY = 2 << 30
HOME = "/dev/null"  # nothing can be kept there: a folder that only is not there would be made by the first browser
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Result:
    """What a program did. `code` is negative for a signal, None for a timeout; `late` says then what took so long."""

    def __init__(self, code, out, err, timeout, late=None):
        self.code, self.out, self.err, self.late = code, out, err, late or "still running after %d s" % timeout

    def trouble(self):
        """Why this can never be right, whatever was expected."""
        if self.code is None:
            return self.late
        if self.code < 0:
            return "killed by signal %d" % -self.code
        if b"AddressSanitizer" in self.err or b"runtime error:" in self.err or b"LeakSanitizer" in self.err:
            return "sanitizer: " + next(
                line for line in self.err.decode("utf-8", "replace").splitlines() if "Sanitizer" in line or "runtime error" in line)
        return None


class Pool:
    """Runs the tests of all suites, in the order in which they were added, and prints what comes of them."""

    def __init__(self, jobs):
        self.executor = concurrent.futures.ThreadPoolExecutor(max(1, jobs))
        self.lock = threading.Lock()
        self.added = self.done = self.failed = 0
        self.durations = []  # (seconds, test)
        self.watched = sys.stdout.isatty()
        self.shown = 0.0
        self.groups = set()  # process groups of the programs that run now
        self.over = None  # why nothing is begun any more

    def end(self, why):
        """Kills what runs; what is called from now on fails with this reason."""
        self.over = why
        with self.lock:
            for group in self.groups:
                kill_group(group)

    def say(self, text):
        with self.lock:
            print("\r\033[K" * self.watched + text)
            sys.stdout.flush()

    def add(self, function, *args):
        self.added += 1
        return self.executor.submit(function, *args)

    def finished(self, seconds, name):
        """Counts one test that add() was told of; on a terminal the last line says how far the run is."""
        with self.lock:
            self.done += 1
            self.durations.append((seconds, name))
            now = time.monotonic()
            if self.watched and (now > self.shown + 0.2 or self.done == self.added):
                self.shown = now
                text = "%d of %d tests, %d failed" % (self.done, self.added, self.failed)
                print("\r\033[K" + text * (self.done < self.added), end="")
                sys.stdout.flush()

    def slowest(self, n):
        for seconds, name in sorted(self.durations, reverse=True)[:n]:
            self.say("%7.1f s  %s" % (seconds, name))


class Tests:
    """One suite on one build. It ends, with a line, when every test that later() got is done; see close()."""

    def __init__(self, args, root, pool, suite, title=""):
        self.args = args
        self.root = root
        self.tests = os.path.join(root, "tests")
        self.build = os.path.abspath(args.build)
        self.spur = os.path.abspath(args.spur or os.path.join(self.build, "spur"))
        self.traces = os.environ.get("SPUR_TRACES") or os.path.join(root, "..", "shared", "traces")
        self.pool = pool
        self.suite = suite
        self.title = title
        self.passed = self.failed = self.unrun = 0
        self.skips = []
        self.lock = threading.Lock()
        self.pending = []
        self.endings = []
        self.left = 1  # tests that are not done, plus one until close()
        self.began = None  # when the first test did
        self.ended = threading.Event()

    # -- names and counting

    def wanted(self, name):
        without = getattr(self.args, "without", None)
        return (not self.args.only or self.args.only in name) and not (without and re.match(without, name))

    def ok(self):
        with self.lock:
            self.passed += 1

    def fail(self, name, why, detail=None):
        with self.lock:
            self.failed += 1
            self.pool.failed += 1
        text = "FAIL %s%s: %s" % (self.title and self.title + ": ", name, why)
        self.pool.say(text + ("\n" + detail if detail and self.args.verbose else ""))

    def skip(self, name, why):
        with self.lock:
            self.skips.append((name, why))

    def verdict(self, name, why, detail=None):
        """`why` is None where the test passed."""
        if why is None:
            self.ok()
        else:
            self.fail(name, why, detail)

    def later(self, function, *args):
        """Runs a test on the pool; a fault of the test itself is a failure."""
        with self.lock:
            self.left += 1
        self.pending.append(self.pool.add(self.one, function, *args))

    def one(self, function, *args):
        began = time.monotonic()
        with self.lock:
            self.began = self.began or began
        name = " ".join([self.title, self.suite, *(os.path.relpath(a, self.root) if os.path.isabs(a) else a for a in args if isinstance(a, str))])
        try:
            if self.pool.over:
                with self.lock:
                    self.unrun += 1
            else:
                function(self, *args)
        except Exception as e:
            self.fail("%s %s" % (function.__name__, args[:1]), "the test itself failed: %s: %s" % (type(e).__name__, e))
        self.pool.finished(time.monotonic() - began, name.strip())
        self.close()

    def drain(self):
        """Waits for the tests so far. A suite that can do without leaves the pool to the next suites."""
        concurrent.futures.wait(self.pending)
        self.pending = []

    def at_end(self, function, *args):
        """Calls the function when the last test is done."""
        self.endings.append((function, args))

    def close(self):
        """Called when a test is done, and when all have been added; the last call ends the suite."""
        with self.lock:
            self.left -= 1
            if self.left:
                return
        for function, args in self.endings:
            function(*args)
        if self.unrun:
            self.fail(self.suite, "%d tests were not begun: %s" % (self.unrun, self.pool.over))
        if self.passed + self.failed + len(self.skips):
            seconds = time.monotonic() - (self.began or time.monotonic())
            self.pool.say("%s%-8s %6d passed, %d failed, %d skipped (%.0f s)" % (
                "%-11s " % self.title if self.title else "", self.suite, self.passed, self.failed, len(self.skips), seconds))
        self.ended.set()

    # -- running

    def run(self, argv, cwd=None, env=None, stdin=None, timeout=TIMEOUT, limit=True):
        """
        Runs a program, in a session of its own; what it leaves running there is killed. `limit`: with at most MEMORY of private
        memory, unless the build has sanitizers.
        """
        if self.pool.over:
            return Result(None, b"", b"", 0, self.pool.over)
        full = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": HOME, "LC_ALL": "C", "TZ": "UTC"}
        full.update(env or {})
        p = subprocess.Popen(argv, cwd=cwd, env=full, stdin=stdin or subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, start_new_session=True)
        with self.pool.lock:
            self.pool.groups.add(p.pid)
        if limit and not self.args.sanitized:
            limit_memory(p.pid)
        try:
            return outcome(p, timeout, self.pool)
        finally:
            with self.pool.lock:
                self.pool.groups.discard(p.pid)

    def temp(self):
        return tempfile.TemporaryDirectory(prefix="spur-test-")


def outcome(p, timeout, pool):
    """What the program did within the time, and all that it left in its session."""
    why = None
    try:
        out, err = p.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        why = "still running after %d s" % timeout
        if p.poll() is not None:
            why = "it ended, but a program that it left holds its output after %d s" % timeout
        kill_group(p.pid)
        try:
            out, err = p.communicate(timeout=10)
        except subprocess.TimeoutExpired as e:  # what holds the output is in another session
            out, err = e.stdout or b"", e.stderr or b""
            p.stdout.close()
            p.stderr.close()
    kill_group(p.pid)
    if pool.over:
        why = pool.over
    return Result(None if why else p.returncode, out, err, timeout, why)


def kill_group(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass  # all have ended


def limit_memory(pid):
    """From outside: a function between fork() and exec() would make Python copy its own page tables for each program."""
    try:
        resource.prlimit(pid, resource.RLIMIT_DATA, (MEMORY, MEMORY))
    except ProcessLookupError:
        pass  # it has ended


def default_signals():
    """
    Programs begin with the signals at their defaults. A shell without job control starts background commands (`make check &`, CI
    systems) with SIGINT ignored, which programs would inherit and tests of Ctrl-C wait for in vain. What is handled here, though
    to no effect, is at its default in programs.
    """
    for s in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM, signal.SIGTSTP, signal.SIGTTOU, signal.SIGUSR1):
        if signal.getsignal(s) == signal.SIG_IGN:
            signal.signal(s, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except FileNotFoundError:
        return None


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)


def remove(path):
    if os.path.lexists(path):
        os.remove(path)


def differ(want, got):
    """None where equal; else (one line, details)."""
    if want == got:
        return None, None
    a, b = want.decode("utf-8", "backslashreplace").splitlines(), got.decode("utf-8", "backslashreplace").splitlines()
    for i in range(max(len(a), len(b))):
        x = a[i] if i < len(a) else "(end)"
        y = b[i] if i < len(b) else "(end)"
        if x != y:
            line = "line %d: expected %.160s | found %.160s" % (i + 1, ascii(x), ascii(y))
            break
    else:
        line = "line ends differ"
    delta = list(difflib.unified_diff(a[:4000], b[:4000], "expected", "found", lineterm="", n=1))[:60]
    return line, "\n".join(delta)


def control_bytes(data):
    """Bytes that must not reach a terminal: control characters but newline and tab, and invalid UTF-8."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as e:
        return "invalid UTF-8 at byte %d" % e.start
    found = CONTROL.search(text)
    if found:
        return "control character %r at %d" % (found.group(), found.start())
    return None
