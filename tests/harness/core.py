"""Counting, running programs, comparing outputs."""
import concurrent.futures
import difflib
import os
import resource
import subprocess
import sys
import tempfile
import threading

TIMEOUT = 60
MEMORY = 2 << 30


class Result:
    """What a program did. `code` is negative for a signal, None for a timeout."""

    def __init__(self, code, out, err, timeout):
        self.code, self.out, self.err, self.timeout = code, out, err, timeout

    def trouble(self):
        """Why this can never be right, whatever was expected."""
        if self.code is None:
            return "still running after %d s" % self.timeout
        if self.code < 0:
            return "killed by signal %d" % -self.code
        if b"AddressSanitizer" in self.err or b"runtime error:" in self.err or b"LeakSanitizer" in self.err:
            return "sanitizer: " + next(
                line for line in self.err.decode("utf-8", "replace").splitlines() if "Sanitizer" in line or "runtime error" in line)
        return None


class Tests:
    def __init__(self, args, root):
        self.args = args
        self.root = root
        self.tests = os.path.join(root, "tests")
        self.build = os.path.abspath(args.build)
        self.spur = os.path.abspath(args.spur or os.path.join(self.build, "spur"))
        self.traces = os.environ.get("SPUR_TRACES") or os.path.join(root, "..", "shared", "traces")
        self.suite = ""
        self.passed = self.failed = 0
        self.skips = []
        self.lock = threading.Lock()
        self.pool = concurrent.futures.ThreadPoolExecutor(max(1, args.jobs))
        self.pending = []

    # -- names and counting

    def wanted(self, name):
        return not self.args.only or self.args.only in name

    def ok(self):
        with self.lock:
            self.passed += 1

    def fail(self, name, why, detail=None):
        with self.lock:
            self.failed += 1
            print("FAIL %s: %s" % (name, why))
            if detail and self.args.verbose:
                print(detail)
            sys.stdout.flush()

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
        self.pending.append((function.__name__, args, self.pool.submit(function, self, *args)))

    def drain(self):
        for what, args, future in self.pending:
            try:
                future.result()
            except Exception as e:
                self.fail("%s %s" % (what, args[:1]), "the test itself failed: %s: %s" % (type(e).__name__, e))
        self.pending = []

    def finish(self):
        reasons = {}
        for name, why in self.skips:
            reasons.setdefault(why, []).append(name)
        for why, names in reasons.items():
            print("SKIP %s: %s" % (names[0] if len(names) == 1 else "%d tests" % len(names), why))
            if self.args.verbose and len(names) > 1:
                print("     " + " ".join(names))
        if self.args.summary:
            with open(self.args.summary, "a", encoding="utf-8") as f:
                f.write("%s\t%d\t%d\t%d\n" % (self.args.title, self.passed, self.failed, len(self.skips)))
        print("%s: " % self.args.title if self.args.summary else "", end="")
        print("%d passed, %d failed, %d skipped" % (self.passed, self.failed, len(self.skips)))
        return 1 if self.failed or not (self.passed or self.skips) else 0

    # -- running

    def run(self, argv, cwd=None, env=None, stdin=None, timeout=TIMEOUT, limit=True):
        limit = limit and not self.args.sanitized

        def before():
            if limit:
                resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))

        full = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": "/nonexistent", "LC_ALL": "C", "TZ": "UTC"}
        full.update(env or {})
        p = subprocess.Popen(argv, cwd=cwd, env=full, stdin=stdin or subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, preexec_fn=before)
        try:
            out, err = p.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            p.kill()
            out, err = p.communicate()
            return Result(None, out, err, timeout)
        return Result(p.returncode, out, err, timeout)

    def temp(self):
        return tempfile.TemporaryDirectory(prefix="spur-test-")


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
    for i, c in enumerate(text):
        if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0:
            return "control character %r at %d" % (c, i)
    return None
