"""Each leak between the floors that once was there is put back into a copy of the sources: the checks must find it."""
import os
import shutil

from harness import core

# What a clean place may have: comments and text name formats and tools.
CLEAN = """/* As xray does; "ctf" stands in a comment. */
#include "pass/pass.h"

const char *const help = "of CTF and uftrace data", *const option = "--style=uftrace";
"""
# (checking program, file, text put in front of it, part of the complaint)
LEAKS = [
    ("check-floors", "src/pass/report.c", '#include "cli/run.h"\n', "points up"),
    ("check-floors", "src/base/text.c", '#include "model/event.h"\n', "points up"),
    ("check-floors", "src/model/args.c", '#include "format/format.h"\n', "points up"),
    ("check-floors", "src/format/fxt.c", '#include "format/ctf/reader.h"\n', "is another format's"),
    ("check-floors", "src/format/heph.c", '#include "flow/pipe.h"\n', "points up"),
    ("check-floors", "src/flow/merge.c", '#include "render/table.h"\n', "points up"),
    ("check-floors", "src/format/xray/wire.h", '#include "base/bits.h"\n', "needs <stdint.h> alone"),
    ("check-floors", "src/spur.c", "", "stands on no floor"),
    ("check-floors", "src/cursor/cursor.c", "", "stands on no floor"),
    ("check-formats", "src/pass/report.c", '#include "format/ctf/reader.h"\n', "is private to the format ctf"),
    ("check-formats", "src/pass/sched/cpu.c", '#include "format/uftrace/data.h"\n', "is private to the format uftrace"),
    ("check-formats", "src/cli/cmd_cat.c", '#include "format/xray/map.h"\n', "is private to the format xray"),
    ("check-formats", "src/flow/join.c", '#include "format/fxt/rows.h"\n', "is private to the format fxt"),
    ("check-formats", "src/api/error.c", '#include "format/heph/rows.h"\n', "is private to the format heph"),
    ("check-formats", "src/style/llvm-xray/report.c", '#include "format/ctf/reader.h"\n', "is private to the format ctf"),
    ("check-formats", "src/style/llvm-xray/report.c", '#include "style/uftrace/text/args.h"\n', "only layouts of uftrace"),
    ("check-formats", "src/pass/replay.c", '#include "style/uftrace/text/args.h"\n', "only layouts of uftrace"),
    ("check-formats", "src/pass/report.c", '#include "style/uftrace/options.h"\n', "only layouts of uftrace"),
    ("check-formats", "src/flow/pair.c", '#include "api/trace.h"\n', "src/api is for the program"),
    ("check-formats", "src/pass/stats.c", "static struct uftrace_options *o;\n", "uftrace_options names the format uftrace"),
    ("check-formats", "src/pass/report.c", 'static bool a(void)\n{\n\treturn !strcmp(t->format->name, "ctf");\n}\n', "names the format ctf"),
    ("check-formats", "src/render/cell.c", "static struct xray_sled *sled;\n", "xray_sled names the format xray"),
    ("check-formats", "src/flow/filter.c", "enum { FILTER_FXT };\n", "FILTER_FXT names the format fxt"),
    ("check-formats", "src/cli/cmd_dump.c", 'static const char f[] = "heph";\n', "heph names the format heph"),
    ("check-formats", "src/export/chrome.c", "static bool is_uftrace;\n", "is_uftrace names the format uftrace"),
    ("check-formats", "src/style/uftrace/info.c", "static struct ctf_trace *t;\n", "ctf_trace names the format ctf"),
    ("check-formats", "src/pass/report.c", "void spur_close(struct spur_trace *t)\n{\n}\n", "spur_close() is defined outside src/api"),
    ("check-formats", "src/flow/pair.c", "static int f(void)\n{\n\treturn !spur_string(t, 1, NULL);\n}\n", "spur_string() is for programs"),
    ("check-formats", "src/base/text.c", "const char *\nspur_version(void);\n", None),
]


def said(t, copy, program):
    r = t.run([os.path.join(copy, "tools", program)], cwd=copy)
    return r.code, (r.out + r.err).decode("utf-8", "replace").splitlines()


def one(t):
    with t.temp() as tmp:
        copy = os.path.join(tmp, "tree")
        for part in ("src", "include", "tools"):
            shutil.copytree(os.path.join(t.root, part), os.path.join(copy, part))
        shutil.copy(os.path.join(t.root, "Makefile"), copy)
        core.write(os.path.join(copy, "src/style/clean.c"), CLEAN.encode())
        for program in ("check-floors", "check-formats"):
            code, lines = said(t, copy, program)
            t.verdict("leaks/%s as it is" % program, "finds: " + lines[0] if code or lines else None)
        for program, path, text, part in LEAKS:
            full = os.path.join(copy, path)
            before = core.read(full)
            core.write(full, text.encode() + (before or b""))
            code, lines = said(t, copy, program)
            found = [line for line in lines if line.startswith(path) and (part or "") in line]
            why = None
            if part and not (code and found):
                why = "accepted; it says %s" % lines[:2]
            if not part and (code or lines):
                why = "rejected: %s" % lines[:2]
            t.verdict("leaks/%s %s %s" % (program, path, part), why)
            if before is None:
                os.remove(full)
            else:
                core.write(full, before)


def run(t):
    if t.wanted("leaks"):
        t.later(one)
