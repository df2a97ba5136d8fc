"""
What README, CONTRIBUTING and docs/ tell a reader to type is run as it stands: command lines in blocks and in `code`, transcripts
(`$ command` and what it writes), blocks of C; and the examples of each command's help. Commands run in a folder with traces of the
names that documents use (TRACES); words that stand for something are filled in (WORDS).

`<!-- not run: reason -->` behind `code`, or on the line before a block, leaves it out; their number is printed.
"""
import glob
import json
import os
import re
import shutil

from harness import core

# Name in documents: golden or file of tests/.
TRACES = {
    "prog.spur": "golden/spur/calls/in", "uftrace.data": "golden/uftrace/own-words/in", "trace.data": "golden/uftrace/own-words/in", "trace": "golden/ctf/kernel/in",
    "TRACE": "golden/ctf/kernel/in", "A": "golden/xray/fdr-threads/in", "B": "golden/xray/fdr-threads/in", "LOG": "golden/xray/fdr-simple-emu/in",
    "out.spur": "golden/spur/processes/in", "trace.fxt": "golden/fxt/all-records/in", "trace.heph": "golden/heph/nesting/in", "xray-log.prog.x7Ga": "golden/xray/fdr-threads/in",
    "xray-log.a.out.x7Ga": "golden/xray/fdr-threads/in", "s": "golden/ctf/lttng-ust-small/in", "prog": "record/xray_prog",
    "before": "golden/uftrace/own-compare-before/in", "after": "golden/uftrace/own-compare-after/in", "libx.so": "record/xray_lines",
    "BINARY": "record/xray_prog", "tests": ".",
}
# What stands for something: (pattern, what is run instead).
WORDS = [
    (r"/tmp/s\b", "s"), (r"\[(--\w+)\]", r"\1"), (r"\bCOMMAND\b", "report"), (r"--to=NAME\b", "--to=chrome"),
    (r"~/\.config/fish/completions/", ""), (r"\bman -l -", "cat"), (r" docs/words\.svg", " words.svg"),
    (r"--tid([ =])1234\b", r"--tid\g<1>22127"), (r"--cat screenshot\b", "--cat blobname"), (r"\\\.pftrace\$", "^attach"), (r"parse\.\*", "wo.*"),
    (r"--tid=12 trace 'sys_", "--tid=7 trace 're"), (r"--from 1\.5s --until 1\.6s", "--from 1ms --until 2ms"), (r"dur > 1ms", "dur > 50ns"),
    (r"^spur record\b", "spur record --list"), (r"'Parser::\.\*'", "."),  # tests/cli/record-* record
    (r"^make\b", "make -n"),  # the rest of what make would do is tested by make check itself
]
# What is read where a document names a command alone, or with options only.
OPERANDS = [
    (r"^spur diff", "before after"), (r"^spur (help|formats|man|completion)\b|--version|--help|--clear", ""), (r"--style=llvm-xray", "LOG"),
    (r"--style=babeltrace2|^spur metadata", "s"),
    (r"--kind=|^spur (counters|sched)", "trace.fxt"), (r"^spur blobs", "trace.fxt"), (r"^spur symbols", "prog"), (r"^spur record", "./prog"),
    (r"^spur (cut|repair|sort)", "trace.fxt --force -o copy.fxt"), (r"^spur split", "trace.fxt --by=thread --force -o parts"),
    (r"^spur anonymize", "trace.fxt --to=chrome -o -"),
    (r"^spur hist", "uftrace.data main"), (r"^spur convert", "uftrace.data --to=chrome"),
    (r"^spur merge", "A B --to=chrome"), (r"", "uftrace.data"),
]
# The C blocks of a document write a line for each row that this does.
LINES_OF = {"README.md": ["cat", "--jsonl"], "docs/library.md": ["cat", "--jsonl", "--where", "dur > 100us"]}
# Examples of the help that are not run: a word in them, and why.
EXAMPLES_NOT_RUN = {"net://": "needs a relay daemon: tests/cli/live", "--follow": "waits for the writer: tests/cli/follow",
                    "spur snapshot": "needs a recording that is going on: tests/cli/record-snapshot",
                    "spur tui": "needs a terminal: suite tui",
                    "spur view": "serves until a signal: tests/cli/view-refused, suite page",
                    "--system": "needs programs: tests/cli/record-system",
                    "--switch": "needs a recording that is going on: tests/cli/record-switch"}
OURS = ("spur ", "make", "tools/", "tests/run")
RECORDERS = ("gcc ", "clang ", "ffx ", "lttng ")  # whose lines are tried where they are complete
MARK = re.compile(r"<!-- not run: ([^>]+?) -->")


class Piece:
    """One thing to try: kind is command, transcript, c or lines."""

    def __init__(self, path, line, kind, text, reason):
        self.path, self.line, self.kind, self.text, self.reason = path, line, kind, text, reason
        self.label = "docs/%s:%d" % (path, line)


def documents(root):
    paths = [os.path.join(root, p) for p in ("README.md", "CONTRIBUTING.md")]
    paths += glob.glob(os.path.join(root, "docs", "**", "*.md"), recursive=True)
    return sorted(os.path.relpath(p, root) for p in paths)


def blocks(lines):
    """(line number, language, lines of the block, lines it takes) of fenced and indented blocks; lists are no blocks."""
    i = 0
    while i < len(lines):
        m = re.match(r"```(\w*)\s*$", lines[i])
        if m:
            end = next(k for k in range(i + 1, len(lines)) if lines[k].startswith("```"))
            yield i, m.group(1), lines[i + 1:end], end - i + 1
            i = end + 1
            continue
        if lines[i].startswith("    ") and (not i or not lines[i - 1].startswith((" ", "*", "1", "2", "3", "4", "5", "6", "7", "8", "9"))):
            end = i
            while end < len(lines) and lines[end].startswith("    "):
                end += 1
            yield i, "", [line[4:] for line in lines[i:end]], end - i
            i = end
            continue
        i += 1


def block_pieces(path, at, language, body, reason):
    if language == "c":
        yield Piece(path, at + 1, "c", "\n".join(body) + "\n", reason)
    elif any(line.startswith("$ ") for line in body):
        yield Piece(path, at + 1, "transcript", "\n".join(body) + "\n", reason)
    elif body and body[0].startswith("{"):
        yield Piece(path, at + 1, "lines", "\n".join(body) + "\n", reason)
    elif body and body[0].startswith(OURS):
        for n, line in enumerate(body):
            yield Piece(path, at + 1 + n, "command", re.split(r"\s{2,}", line.split(" # ")[0])[0].strip(), reason)


def code_pieces(path, text, taken):
    """`code` that begins with a program and has more than its name; it may go over the end of a line."""
    for m in re.finditer(r"(?<!`)`([^`]+)`(?!`)\s*(<!-- not run: [^>]+? -->)?", text):
        code = " ".join(m.group(1).split())
        line = text.count("\n", 0, m.start())
        recorder = code.startswith(RECORDERS) and ("&&" in code or "--output" in code)
        if line in taken or not (code.startswith(OURS) or recorder) or " " not in code:
            continue
        mark = MARK.search(m.group(2) or "")
        yield Piece(path, line + 1, "command", code, mark and mark.group(1))


def pieces(root, path):
    text = core.read(os.path.join(root, path)).decode()
    lines, taken = text.split("\n"), set()
    for at, language, body, count in blocks(lines):
        taken |= set(range(at, at + count))
        before = next((line for line in (lines[at - 1], lines[at - 2]) if line.strip()), "") if at > 1 else ""
        mark = MARK.search(before)
        yield from block_pieces(path, at, language, body, mark and mark.group(1))
    yield from code_pieces(path, text, taken)


def workshop(t, tmp):
    """A folder with all traces and programs that documents name; the environment for it."""
    work, programs = os.path.join(tmp, "work"), os.path.join(tmp, "bin")
    os.makedirs(work)
    os.makedirs(programs)
    for name, source in TRACES.items():
        os.symlink(os.path.normpath(os.path.join(t.tests, source)), os.path.join(work, name))
    os.symlink(t.spur, os.path.join(programs, "spur"))
    core.write(os.path.join(work, "before.json"), t.run([t.spur, "report", "--json", os.path.join(work, "before")]).out)
    core.write(os.path.join(work, "prog.c"), b"static int f(int n) { return n + 1; }\nint main(void) { return f(-1); }\n")
    return work, {"PATH": programs + ":" + os.environ.get("PATH", "/usr/bin:/bin"), "HOME": tmp, "PAGER": "cat", "SHELL": "/bin/bash"}


def missing(line):
    """A program that the line needs and this machine has not."""
    for part in re.split(r"\|\||&&|[|;]", re.sub(r"'[^']*'", "''", line)):
        words = [w for w in part.split() if not re.match(r"\w+=", w)]
        if words and re.match(r"[a-z][\w-]+$", words[0]) and words[0] not in ("spur", "eval", "echo") and not shutil.which(words[0]):
            return words[0]
    return None


def filled(line):
    for pattern, to in WORDS:
        line = re.sub(pattern, to, line)
    if re.match(r"spur [a-z]+( -\S+)*$", line):
        line = (line + " " + next(o for p, o in OPERANDS if re.search(p, line))).strip()
    return line


def run_line(t, line, work, env):
    return t.run(["bash", "-o", "pipefail", "-c", line], cwd=work, env=env, limit=False)


def run_command(t, label, text):
    if missing(text):
        t.skip(label, "%s is not installed" % missing(text))
        return
    line = filled(text)
    with t.temp() as tmp:
        work, env = workshop(t, tmp)
        before = set(os.listdir(work))
        r = run_line(t, line, t.root if line.startswith("make ") else work, env)
        wrote = [n for n in os.listdir(work) if n not in before] or r.out
    why = r.trouble()
    if not why and r.code != 0:
        why = "exit code %d: %.200r" % (r.code, r.err)
    elif not why and not wrote and not line.startswith(("eval ", "gcc", "clang")):
        why = "wrote nothing"
    t.verdict(label, why and "%s: %s" % (line, why))


def run_transcript(t, label, text):
    """Each command writes the lines behind it, first to stdout, then to stderr."""
    for part in re.split(r"(?m)^\$ ", text)[1:]:
        line, want = part.split("\n", 1)
        with t.temp() as tmp:
            work, env = workshop(t, tmp)
            r = run_line(t, line, work, env)
        t.verdict(label, r.trouble() or core.differ(want.encode(), r.out + r.err)[0])


WRAPPED = """#include <spur.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	const struct spur_event *rows;
	struct spur_trace *t;
	struct spur_error err;
	size_t n;

	if (argc != 2 || spur_open(&t, argv[1], NULL, &err) == SPUR_FAIL)
		return 1;
%s	spur_close(t);
	return 0;
}
"""


def run_c(t, label, text):
    """Compiles with all warnings as a program, with the opening of a trace around it if it has no main(), and runs it."""
    program = text if re.search(r"\bmain\s*\(", text) else WRAPPED % re.sub(r"(?m)^", "\t", text).rstrip("\t")
    golden = os.path.join(t.tests, "golden/uftrace/own-words/in")
    with t.temp() as tmp:
        core.write(os.path.join(tmp, "a.c"), program.encode())
        cc = ["gcc", "-std=c17", "-Wall", "-Wextra", "-Wno-sign-compare", "-Werror", "-I" + os.path.join(t.root, "include"), "-o", tmp + "/a",
              tmp + "/a.c", "-L" + t.build, "-lspur", "-Wl,-rpath," + t.build]
        r = t.run(cc, limit=False)
        if r.code:
            t.fail(label, "does not compile: %.300s" % r.err.decode("utf-8", "replace"))
            return
        r = t.run([tmp + "/a", golden], limit=False)
    why = r.trouble() or (None if r.code == 0 and r.out else "exit code %s, %d bytes of output" % (r.code, len(r.out)))
    same = LINES_OF[label.split("docs/", 1)[1].rsplit(":", 1)[0]]
    rows = t.run([t.spur, *same, golden]).out.count(b"\n")
    if not why and r.out.count(b"\n") != rows:
        why = "%d lines, but %s has %d" % (r.out.count(b"\n"), " ".join(same), rows)
    t.verdict(label, why)


def run_lines(t, label, text):
    """JSON lines of a document stand in an expected output; so the schema next to them is that of the program."""
    for line in text.splitlines():
        json.loads(line)
        found = any(line.encode() + b"\n" in core.read(p) for p in glob.glob(os.path.join(t.tests, "golden", "*", "*", "expect", "cat.jsonl")))
        t.verdict(label, None if found else "is in no golden's cat.jsonl: %.100s" % line)


RUN = {"command": run_command, "transcript": run_transcript, "c": run_c, "lines": run_lines}


def examples(t, command):
    """(line, example) of the command's help."""
    text = t.run([t.spur, command, "--help"]).out.decode()
    part = re.search(r"\nExamples:\n(.*?)\n\n", text, re.S)
    return re.findall(r"(?m)^ {2}(\S.*)$", part.group(1)) if part else []


def run_examples(t, command):
    label = "docs/%s --help" % command
    listed = examples(t, command)
    if not listed:
        t.fail(label, "has no example")
    manual = t.run([t.spur, "man", command]).out.decode().replace("\\-", "-").replace("\\&", "")
    for example in listed:
        if "\\fB%s\\fR" % example.replace("\\", "\\e") not in manual:
            t.fail(label, "not in the manual page: %s" % example)
        why = next((reason for word, reason in EXAMPLES_NOT_RUN.items() if word in example), None)
        if why:
            leave_out(t, label, why)
        else:
            run_command(t, "%s: %s" % (label, example), example)


def leave_out(t, label, reason):
    with t.lock:
        t.left_out = getattr(t, "left_out", []) + ["%s: %s" % (label, reason)]


def told(t):
    t.pool.say("docs     %d pieces of documents are not run, each with its reason" % len(getattr(t, "left_out", [])))
    if t.args.verbose:
        t.pool.say("\n".join("     " + text for text in t.left_out))


def kinds_table(t):
    """The table of kinds and targets is what the writers declare."""
    with open(os.path.join(t.root, "docs/conversion.md"), "rb") as f:
        page = f.read()
    made = t.run([os.path.join(t.root, "tools/kinds-table"), t.spur])
    t.verdict("docs/conversion.md table", None if made.code == 0 and made.out in page else "not what tools/kinds-table prints")


def run(t):
    if t.wanted("docs/conversion.md table"):
        t.later(kinds_table)
    for path in documents(t.root):
        for piece in pieces(t.root, path):
            if not t.wanted(piece.label):
                continue
            if piece.reason:
                leave_out(t, piece.label, piece.reason)
            else:
                t.later(RUN[piece.kind], piece.label, piece.text)
    for source in sorted(glob.glob(os.path.join(t.root, "src/cli/cmd_*.c"))):
        command = os.path.basename(source)[4:-2]
        if t.wanted("docs/%s --help" % command):
            t.later(run_examples, command)
    t.at_end(told, t)
