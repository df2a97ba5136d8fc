"""make install into an empty directory: what is there, what the libraries show, programs built against them."""
import glob
import os
import re
import shutil
import stat
import tempfile

from harness import core


def make(t, target, root):
    return t.run(["make", "--no-print-directory", "BUILD=" + t.args.build, "DESTDIR=" + root, "PREFIX=/usr", target],
                 cwd=t.root, env={"HOME": "/tmp"}, timeout=900, limit=False)


def package(t, root, *options):
    env = {"PKG_CONFIG_PATH": os.path.join(root, "usr/lib/pkgconfig"), "PKG_CONFIG_SYSROOT_DIR": root}
    r = t.run(["pkg-config", *options, "spur"], env=env, limit=False)
    return r.out.decode().split() if r.code == 0 else None


def traces_itself(source):
    return b"spur_trace.h" in core.read(source)


def build_examples(t):
    """Compiles examples/*.c and *.cpp against the build's own library; the directory is the caller's to remove."""
    out = tempfile.mkdtemp(prefix="spur-examples-")
    for source in glob.glob(os.path.join(t.root, "examples", "*.c")):
        program = os.path.join(out, os.path.basename(source)[:-2])
        argv = ["cc", "-std=c17", "-Wall", "-Wextra", "-Werror", "-I", os.path.join(t.root, "include"), "-o", program, source,
                "-L" + t.build, "-Wl,-rpath," + t.build, "-lspur-trace" if traces_itself(source) else "-lspur", "-pthread"]
        r = t.run(argv, timeout=120, limit=False, env={"HOME": "/tmp"})
        if r.code:
            t.fail("example " + os.path.basename(source), "does not compile", r.err.decode("utf-8", "replace"))
        r = t.run(["c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-I", os.path.join(t.root, "include"), "-fsyntax-only", "-x", "c++",
                   source], timeout=120, limit=False, env={"HOME": "/tmp"})
        if r.code:
            t.fail("example " + os.path.basename(source), "does not compile as C++17", r.err.decode("utf-8", "replace"))
    for source in glob.glob(os.path.join(t.root, "examples", "*.cpp")):
        program = os.path.join(out, os.path.basename(source)[:-4])
        r = t.run(["c++", "-std=c++11", "-Wall", "-Wextra", "-Werror", "-I", os.path.join(t.root, "include"), "-o", program, source,
                   "-L" + t.build, "-Wl,-rpath," + t.build, "-lspur-trace"], timeout=120, limit=False, env={"HOME": "/tmp"})
        if r.code:
            t.fail("example " + os.path.basename(source), "does not compile", r.err.decode("utf-8", "replace"))
    return out


def defined(t, argv):
    """Names that nm lists as defined and global."""
    r = t.run(["nm", "-g", "--defined-only", *argv], limit=False)
    return {line.split()[-1] for line in r.out.decode().splitlines() if len(line.split()) == 3 and line.split()[1] not in "A"}


def check_symbols(t, root):
    headers = [os.path.join(t.root, "include", "spur.h"), *glob.glob(os.path.join(t.root, "include", "spur", "*.h"))]
    header = "".join(core.read(path).decode() for path in headers)
    declared = set(re.findall(r"\b(spur_[a-z_]+)\((?!\))", re.sub(r"/\*.*?\*/|static inline .*?\n}", "", header, flags=re.S)))
    lib = os.path.join(root, "usr", "lib")
    so = glob.glob(os.path.join(lib, "libspur.so.*.*.*"))
    for name, found in (("shared", defined(t, ["-D", *so])), ("static", defined(t, [os.path.join(lib, "libspur.a")]))):
        found = {re.sub("@.*", "", n) for n in found}
        why = None
        if found != declared:
            why = "against spur.h: missing %s, too many %s" % (sorted(declared - found), sorted(found - declared)[:20])
        t.verdict("install/symbols-" + name, why)
    r = t.run(["readelf", "-d", *so], limit=False)
    t.verdict("install/soname", None if re.search(rb"SONAME.*\[libspur\.so\.0\]", r.out) else "SONAME is not libspur.so.0")


def check_compile(t, root, source):
    name = os.path.basename(source)[:-2]
    traces = traces_itself(source)
    for kind in ("shared", "static"):
        flags = package(t, root, "--cflags", "--libs", *(["--static"] if kind == "static" else []))
        if flags is None:
            t.fail("install/pkg-config-" + kind, "pkg-config does not find spur.pc")
            return
        if kind == "static":
            at = flags.index("-lspur")
            flags[at] = "-l:libspur.a"
        if traces:
            flags.append("-lspur-trace" if kind == "shared" else "-l:libspur-trace.a")
        program = os.path.join(root, name + "-" + kind)
        r = t.run(["cc", "-std=c17", "-Wall", "-Wextra", "-Werror", "-o", program, source, *flags, "-pthread"], timeout=120, limit=False,
                  env={"HOME": "/tmp"})
        if r.code:
            t.fail("install/%s-%s" % (name, kind), "does not compile", r.err.decode("utf-8", "replace"))
            continue
        r = t.run([program], cwd=root, env={"LD_LIBRARY_PATH": os.path.join(root, "usr/lib")}, limit=False)
        t.verdict("install/%s-%s" % (name, kind), r.trouble() or (None if (r.code == 0 if traces else r.code in (1, 2) and r.err) else
                  "without arguments: expected a usage message and exit code 1 or 2, found %s" % r.code), r.err.decode("utf-8", "replace"))


def check_pages(t, root):
    commands = [os.path.basename(p)[4:-2] for p in glob.glob(os.path.join(t.root, "src/cli/cmd_*.c"))]
    man = os.path.join(root, "usr/share/man/man1")
    for page in ["spur"] + ["spur-" + c for c in sorted(commands)]:
        path = os.path.join(man, page + ".1")
        text = core.read(path) or b""
        why = None if text.startswith((b".TH", b".\\\"")) and b".SH" in text else "not a manual page"
        if not why and shutil.which("groff"):
            r = t.run(["groff", "-man", "-Tutf8", "-ww", "-Wbreak", "-z", path], limit=False)
            why = r.err.decode("utf-8", "replace").splitlines()[0] if r.err else None
        t.verdict("install/%s.1" % page, why)
    for page in ("spur_open", "spur_trace", "spur_trace_start_with", "spur_trace_string"):
        text = core.read(os.path.join(root, "usr/share/man/man3", page + ".3")) or b""
        library = b"\\-lspur\\-trace" if page.startswith("spur_trace") else b"\\-lspur)"
        t.verdict("install/%s.3" % page, None if text.startswith(b".TH " + page.encode()) and library in text else "not its manual page")
    completion = os.path.join(root, "usr/share/bash-completion/completions/spur")
    r = t.run(["bash", "-n", completion], limit=False)
    for path in ("zsh/site-functions/_spur", "fish/vendor_completions.d/spur.fish"):
        text = core.read(os.path.join(root, "usr/share", path))
        t.verdict("install/" + os.path.basename(path), None if text and b"report" in text else "missing or empty")
    t.verdict("install/completion", None if r.code == 0 and os.path.getsize(completion) else r.err.decode() or "empty")


def package_file(t, target, suffix):
    """Path of what `make deb` or `make tarball` made; None after a failure."""
    r = t.run(["make", "--no-print-directory", "QUIET=1", "BUILD=" + t.args.build, target], cwd=t.root, env={"HOME": "/tmp"},
              timeout=300, limit=False)
    path = r.out.decode().strip().rsplit("\n", 1)[-1]
    if r.code or not path.endswith(suffix):
        t.fail("install/" + target, "exit code %s: %.300s" % (r.code, r.err.decode("utf-8", "replace")))
        return None
    return os.path.join(t.root, path)


def runs(t, program):
    """None, or why an unpacked program does not work."""
    trace = os.path.join(t.tests, "golden", "uftrace", "abc", "in")
    mine, theirs = t.run([t.spur, "report", trace]), t.run([program, "report", trace])
    return None if theirs.code == 0 and mine.out == theirs.out else "exit code %s: %.200r" % (theirs.code, theirs.err)


def records(t, program):
    """None, or why an unpacked program does not find what it loads into programs that it records."""
    if os.uname().machine != "x86_64":
        return None
    with t.temp() as tmp:
        r = t.run([program, "record", "-q", "-o", os.path.join(tmp, "true.spur"), "true"], limit=False)
        wrong = r.code or r.err or not glob.glob(os.path.join(tmp, "true.spur", "*.spb"))
    return "exit code %s: %.200r" % (r.code, r.err) if wrong else None


def packages(t):
    """What can be given to others: a Debian package, and an archive whose program needs the C library alone."""
    with t.temp() as root:
        path = package_file(t, "tarball", ".tar.gz")
        if path:
            t.run(["tar", "-C", root, "-xzf", path], limit=False)
            program = glob.glob(os.path.join(root, "*", "bin", "spur"))
            t.verdict("install/tarball", runs(t, program[0]) or records(t, program[0]) if program else "has no bin/spur")
    if not shutil.which("dpkg-shlibdeps"):
        t.skip("install/deb", "no dpkg-shlibdeps: tools/install-deps")
        return
    with t.temp() as root:
        path = package_file(t, "deb", ".deb")
        if not path:
            return
        t.run(["dpkg-deb", "-x", path, root], limit=False)
        program = os.path.join(root, "usr/bin/spur")
        t.verdict("install/deb", runs(t, program) or records(t, program))
        r = t.run(["dpkg-deb", "-f", path, "Package", "Depends"], limit=False)
        t.verdict("install/deb control", None if re.fullmatch(rb"Package: spur\nDepends: .*libc6 .*libdw1.*\n", r.out) else "%r" % r.out)
        if shutil.which("lintian"):
            r = t.run(["lintian", "--allow-root", path], limit=False, timeout=120, env={"HOME": "/tmp"})
            # The address is the packager's to give, by DEBEMAIL; long lists of columns cannot be broken.
            wrong = [l for l in r.out.decode().splitlines() if l[:2] in ("E:", "W:") and "bogus-mail-host" not in l and "break line" not in l]
            t.verdict("install/lintian", wrong[0] if wrong else None)


def run(t):
    if t.wanted("install"):
        t.later(both)


def both(t):
    """One behind the other, as both write the manual below --build."""
    one(t)
    packages(t)


def one(t):
    root = tempfile.mkdtemp(prefix="spur-install-")
    try:
        r = make(t, "install", root)
        if r.code:
            t.fail("install", "make install: exit code %s" % r.code, (r.out + r.err).decode("utf-8", "replace")[-3000:])
            return
        r = t.run([os.path.join(root, "usr/bin/spur"), "--version"])
        t.verdict("install/version", None if r.code == 0 and r.out.startswith(b"spur ") else "spur --version: %r" % r.out[:80])
        check_symbols(t, root)
        for source in sorted(glob.glob(os.path.join(t.root, "examples", "*.c"))):
            check_compile(t, root, source)
        check_pages(t, root)
        make(t, "uninstall", root)
        left = [os.path.join(d, f) for d, _, fs in os.walk(os.path.join(root, "usr")) for f in fs]
        t.verdict("install/uninstall", "leaves %s" % left[:5] if left else None)
    finally:
        os.chmod(root, stat.S_IRWXU)
        shutil.rmtree(root)
