"""tools/check-floors finds what it is there for: each leak is put into a small copy of the tree and must be rejected."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import shutil
import tempfile

CLEAN = """#include "base/os.h"

/* Comments may say open() and "write(". */
static int write_all(int fd)
{
\tconst char *text = "call close() and read(fd)";

\treturn text && self->open(fd) && os_close(fd) == 0 && x.read(fd) && reopen(fd);
}
"""


def load(root):
    loader = importlib.machinery.SourceFileLoader("check_floors", os.path.join(root, "tools", "check-floors"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_floors", loader))
    loader.exec_module(module)
    return module


def complaints(floors, root, path, text):
    """The lines that check-floors prints if the tree has this one file more."""
    full = os.path.join(root, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w", encoding="utf-8") as f:
        f.write(text)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = floors.main(root)
    os.remove(full)
    lines = said.getvalue().splitlines()
    return lines if code or not lines else ["exit code 0, but: " + lines[0]]


def leaks(floors, root):
    """(file, text, part of the complaint) of everything that must be rejected."""
    for name in sorted(floors.SYSTEM | floors.seam_calls(root)):
        yield "src/flow/leak.c", "static int leak(int fd)\n{\n\treturn %s(fd);\n}\n" % name, "calls %s()" % name
    for path in ("src/base/leak.c", "src/format/leak/leak.c", "src/api/leak.c", "src/cli/leak.c", "src/pass/leak.h"):
        yield path, "static void leak(void)\n{\n\tif (x)\n\t\tclose(1);\n}\n", "calls close()"
    yield "src/flow/leak.c", "int (*leak)(int);\nvoid f(void)\n{\n\tint n = read (0, 0, 0);\n}\n", "calls read()"


def run(t):
    if not t.wanted("lint/floors-leaks"):
        return
    floors = load(t.root)
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, "src/base"))
        shutil.copy(os.path.join(t.root, floors.SEAM), os.path.join(root, floors.SEAM))
        said = complaints(floors, root, "src/flow/clean.c", CLEAN)
        if said:
            t.fail("lint/floors-leaks", "rejects what is right: " + said[0])
            return
        for path, text, part in leaks(floors, root):
            said = complaints(floors, root, path, text)
            if len(said) != 1 or part not in said[0]:
                t.fail("lint/floors-leaks", "%s with %r: %s" % (path, text, said or "accepted"))
                return
    t.ok()
