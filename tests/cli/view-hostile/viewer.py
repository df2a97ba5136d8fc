"""`spur view` in the background, for tests that ask it; it ends with the test in any case."""
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time


class Viewer:
    def __init__(self, *args, env=None, preexec_fn=None, cache=False, spur=None):
        options = ["--no-open", "--idle=100s"] + ([] if cache else ["--no-cache"])
        self.program = subprocess.Popen([spur or os.environ["SPUR"], "view", *options, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, **(env or {})}, preexec_fn=preexec_fn)
        self.said = self.program.stdout.readline()
        if not self.said:
            said = self.program.stderr.read()
            if "needs libmicrohttpd" in said:
                raise SystemExit(77)
            print("said:", said.strip())
        found = re.search(r"http://127\.0\.0\.1:(\d+)/#(\w+)", self.said)
        self.port, self.token = (int(found[1]), found[2]) if found else (0, "")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.program.poll() is None:
            self.program.kill()
        self.program.wait()

    def host(self):
        return "127.0.0.1:%d" % self.port

    def raw(self, data, wait=True):
        """Sends bytes as they are; returns the first line of the answer, or the open socket."""
        s = socket.create_connection(("127.0.0.1", self.port), timeout=40)
        s.sendall(data)
        if not wait:
            return s
        with s:
            try:
                answer = s.recv(4096)
            except ConnectionResetError:
                answer = b""
        return answer.split(b"\r\n")[0].decode("latin-1") or "closed"

    def ask(self, path, method="GET", body=None, **headers):
        """Returns status and bytes of the answer."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=40)
        try:
            c.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in {"Host": self.host(), "X_Spur_Token": self.token, **headers}.items():
                c.putheader(name.replace("_", "-"), value)
            c.endheaders()
            try:
                for i in range(0, len(body or b""), 65536):
                    c.sock.sendall(body[i : i + 65536])
            except (ConnectionResetError, BrokenPipeError):
                pass  # it has answered
            r = c.getresponse()
            return r.status, r.read()
        finally:
            c.close()

    def api(self, path):
        status, body = self.ask("/api/" + path)
        if status != 200:
            raise ValueError("%s: %s %s" % (path, status, body))
        return json.loads(body)

    def until(self, what, seconds=30):
        """Waits until what(meta) holds; returns that meta."""
        end = time.monotonic() + seconds
        while True:
            meta = self.api("meta")
            if what(meta) or time.monotonic() > end:
                return meta
            time.sleep(0.05)

    def done(self):
        return self.until(lambda m: m["done"] or m["error"])

    def end(self):
        """Ctrl-C; returns exit code and what was said."""
        self.program.send_signal(signal.SIGINT)
        _, said = self.program.communicate(timeout=40)
        return self.program.returncode, said.strip()
