"""
A terminal for programs under test: runs one in a pseudo-terminal and keeps the screen that it draws. Knows what the terminfo entries
`vt100`, `linux` and `xterm-256color` use for drawing, and refuses anything else, so that nothing is drawn unseen.
"""
import codecs
import fcntl
import os
import pty
import re
import resource
import select
import signal
import struct
import termios
import time
import unicodedata

SEQUENCE = re.compile(r"\x1b(?:\[([?>]?)([0-9;]*)([@-~])|([()][A-Z0-9])|([78=>MHDEc])|\][0-9;]*\x07)")
BACKGROUND = {**{40 + i: i for i in range(8)}, 49: None}


class Screen:
    """What a terminal shows: `text[y][x]` and `look[y][x]`, a tuple of (background or None, set of attributes)."""

    def __init__(self, width, height):
        self.x = self.y = 0
        self.background, self.attributes = None, frozenset()
        self.cursor = True
        self.alternate = False
        self.rest = ""
        self.resize(width, height)

    def resize(self, width, height):
        self.width, self.height = width, height
        self.text = [[" "] * width for _ in range(height)]
        self.look = [[(None, frozenset())] * width for _ in range(height)]
        self.top, self.bottom = 0, height - 1
        self.x = self.y = 0
        self.wrap = False

    def line(self, y):
        return "".join(self.text[y])

    def lines(self):
        return [self.line(y).rstrip() for y in range(self.height)]

    def feed(self, data):
        data = self.rest + data
        self.rest = ""
        i = 0
        while i < len(data):
            c = data[i]
            if c == "\x1b":
                m = SEQUENCE.match(data, i)
                if not m:
                    if len(data) - i < 24:
                        self.rest = data[i:]
                        return
                    raise ValueError("unknown sequence %r" % data[i:i + 12])
                self.escape(m)
                i = m.end()
                continue
            self.put(c)
            i += 1

    def put(self, c):
        if c == "\r":
            self.x = 0
        elif c == "\n":
            self.down()
        elif c == "\b":
            self.x = max(0, self.x - 1)
        elif c == "\t":
            self.x = min(self.width - 1, self.x // 8 * 8 + 8)
        elif c in "\x07\x0f\x0e\x00":
            pass
        elif ord(c) < 32 or 0x7F <= ord(c) < 0xA0:
            raise ValueError("control character %r" % c)
        else:
            wide = unicodedata.east_asian_width(c) in "WF"
            if self.wrap or self.x + wide >= self.width:
                self.x = 0
                self.down()
            self.set(self.x, c)
            if wide:
                self.set(self.x + 1, "")
            self.x += 1 + wide
            self.wrap = self.x >= self.width
            if self.wrap:
                self.x = self.width - 1
            return
        self.wrap = False

    def set(self, x, c):
        self.text[self.y][x] = c
        self.look[self.y][x] = (self.background, self.attributes)

    def down(self):
        if self.y == self.bottom:
            self.scroll(1)
        elif self.y < self.height - 1:
            self.y += 1

    def scroll(self, n):
        """Moves the lines of the region up, or down for n < 0."""
        for _ in range(abs(n)):
            out, into = (self.top, self.bottom) if n > 0 else (self.bottom, self.top)
            for rows, blank in ((self.text, " "), (self.look, (None, frozenset()))):
                del rows[out]
                rows.insert(into, [blank] * self.width)

    def erase(self, y, a, b):
        for x in range(max(a, 0), min(b, self.width)):
            self.text[y][x] = " "
            self.look[y][x] = (self.background, frozenset())

    def escape(self, m):
        private, numbers, final, charset, plain = m.groups()
        if not final:
            if plain == "M":
                if self.y == self.top:
                    self.scroll(-1)
                else:
                    self.y -= 1
            return
        n = [int(p) if p else 0 for p in numbers.split(";")]
        first = max(n[0], 1)
        self.wrap = False
        if private:
            if final not in "hlmnc":
                raise ValueError("unknown sequence %r" % m.group())
            if 25 in n:
                self.cursor = final == "h"
            if 1049 in n:
                self.alternate = final == "h"
        elif final in "Hf":
            self.y = min(first, self.height) - 1
            self.x = min(max(n[1] if len(n) > 1 else 1, 1), self.width) - 1
        elif final in "ABCDGdEF":
            self.move(final, first)
        elif final == "J":
            for y in range(self.height):
                if n[0] == 2 or y > self.y or (n[0] == 1 and y < self.y):
                    self.erase(y, 0, self.width)
            if n[0] != 2:
                self.erase(self.y, *((self.x, self.width) if n[0] == 0 else (0, self.x + 1)))
        elif final == "K":
            self.erase(self.y, *{0: (self.x, self.width), 1: (0, self.x + 1), 2: (0, self.width)}[n[0]])
        elif final == "X":
            self.erase(self.y, self.x, self.x + first)
        elif final in "@P":
            for row, blank in ((self.text[self.y], " "), (self.look[self.y], (self.background, frozenset()))):
                for _ in range(first):
                    row.insert(self.x if final == "@" else self.width, blank)
                    del row[self.width if final == "@" else self.x]
        elif final in "LM":
            top, self.top = self.top, self.y
            self.scroll(first if final == "M" else -first)
            self.top = top
        elif final in "ST":
            self.scroll(first if final == "S" else -first)
        elif final == "b":
            for _ in range(first):
                self.put(self.text[self.y][self.x - 1])
        elif final == "m":
            self.attribute(n)
        elif final == "r":
            self.top, self.bottom = first - 1, (n[1] if len(n) > 1 and n[1] else self.height) - 1
            self.x = self.y = 0
        elif final not in "hltnc":
            raise ValueError("unknown sequence %r" % m.group())

    def move(self, final, n):
        if final in "AF":
            self.y = max(0, self.y - n)
        elif final in "BE":
            self.y = min(self.height - 1, self.y + n)
        elif final == "C":
            self.x = min(self.width - 1, self.x + n)
        elif final == "D":
            self.x = max(0, self.x - n)
        elif final == "G":
            self.x = min(n, self.width) - 1
        else:
            self.y = min(n, self.height) - 1
        if final in "EF":
            self.x = 0

    def attribute(self, n):
        on = {1: "bold", 2: "dim", 4: "underline", 5: "blink", 7: "reverse"}
        off = {22: "bold", 24: "underline", 25: "blink", 27: "reverse"}
        i = 0
        while i < len(n):
            k = n[i]
            if k == 0:
                self.background, self.attributes = None, frozenset()
            elif k in on:
                self.attributes |= {on[k]}
            elif k in off:
                self.attributes -= {off[k]}
            elif k in BACKGROUND:
                self.background = BACKGROUND[k]
            elif 100 <= k <= 107:
                self.background = k - 92
            elif k in (38, 48):
                if n[i + 1] != 5:
                    raise ValueError("colours by %s" % n)
                if k == 48:
                    self.background = n[i + 2]
                i += 2
            elif not (30 <= k <= 39 or 90 <= k <= 97 or k == 10):
                raise ValueError("attribute %d" % k)
            i += 1


class Terminal:
    """A program that runs in a terminal."""

    def __init__(self, argv, env, width=80, height=24, cwd=None):
        self.screen = Screen(width, height)
        self.raw = b""
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.code = None
        self.pid, self.fd = pty.fork()
        if not self.pid:
            try:
                size(0, width, height)
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                if cwd:
                    os.chdir(cwd)
                os.execve(argv[0], argv, env)
            finally:
                os._exit(127)

    def read(self, seconds):
        """Takes in what the program draws within the time. Returns False if it has ended, or nothing came."""
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.raw += data
        self.screen.feed(self.decoder.decode(data))
        return bool(data)

    def until(self, what, good, seconds=40):
        """Waits until the screen is good. Raises TimeoutError with the screen."""
        end = time.monotonic() + seconds
        while not good(self.screen):
            if time.monotonic() > end or (not self.read(0.2) and self.ended()):
                self.read(0)
                if good(self.screen):
                    return
                raise TimeoutError("%s: the screen is\n%s" % (what, "\n".join(self.screen.lines())))

    def quiet(self, seconds=0.3):
        """Takes in what comes until nothing came for so long."""
        while self.read(seconds):
            pass

    def type(self, text):
        os.write(self.fd, text.encode())

    def resize(self, width, height):
        self.screen.resize(width, height)
        size(self.fd, width, height)

    def signal(self, number):
        os.kill(self.pid, number)

    def ended(self):
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is not None

    def end(self, seconds=40):
        """Waits for the end. Returns the exit code."""
        end = time.monotonic() + seconds
        while not self.ended():
            self.read(0.05)
            if time.monotonic() > end:
                self.close()
                raise TimeoutError("the program did not end: the screen is\n%s" % "\n".join(self.screen.lines()))
        self.quiet(0.05)
        return self.code

    def modes(self):
        """The terminal's modes, as the program left them."""
        return termios.tcgetattr(self.fd)

    def close(self):
        if self.fd < 0:
            return
        if not self.ended():
            os.kill(self.pid, signal.SIGKILL)
            os.kill(self.pid, signal.SIGCONT)
            os.waitpid(self.pid, 0)
            self.code = -9
        os.close(self.fd)
        self.fd = -1


def size(fd, width, height):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
