"""
For the cases of net://: a relay daemon that answers as a real one did. What it was asked and what it said stand in
client.bin and server.bin (LTTng 2.13, two streams, one session); each question is answered by the next recorded answer
to it, the last one again and again.
"""
import os
import socket
import struct
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
CONNECT, LIST, ATTACH, INDEX, PACKET, METADATA, STREAMS, CREATE, DETACH = range(1, 10)
SESSION, STREAM = 339, 4371


def answer_size(command, data):
    """Bytes of the answer that `data` begins with."""
    fixed = {CONNECT: 20, CREATE: 4, DETACH: 4, INDEX: 64}
    if command in fixed:
        return fixed[command]
    if command == LIST:
        return 4 + SESSION * struct.unpack_from(">I", data)[0]
    if command in (ATTACH, STREAMS):
        return 8 + STREAM * struct.unpack_from(">I", data, 4)[0]
    if command == METADATA:
        return 12 + struct.unpack_from(">Q", data)[0]
    return 12 + struct.unpack_from(">I", data, 4)[0]


def recording():
    """{(command, what follows it): [answers]}; an index that only says again what it said before is left out."""
    asked = open(os.path.join(HERE, "client.bin"), "rb").read()
    said = open(os.path.join(HERE, "server.bin"), "rb").read()
    answers = {}
    while asked:
        size, command, _ = struct.unpack_from(">QII", asked)
        key, asked = (command, asked[16 : 16 + size]), asked[16 + size :]
        n = answer_size(command, said)
        known = answers.setdefault(key, [])
        if command != INDEX or not known or known[-1] != said[:n]:
            known.append(said[:n])
        said = said[n:]
    return answers


class Relay:
    """
    Listens on a port of this machine. `change(command, body, answer)` may give another answer: bytes, None for the end
    of the connection, or a tuple of bytes behind which it ends. `log`: the commands that came.
    """

    def __init__(self, answers=None, change=None):
        self.answers = answers or recording()
        self.change = change
        self.log = []
        self.served = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            s, _ = self.listener.accept()
            self.served.append(threading.Thread(target=self.serve, args=(s,), daemon=True))
            self.served[-1].start()

    def wait(self):
        """Until the connections so far have ended."""
        for thread in self.served:
            thread.join(30)

    def serve(self, s):
        answers = {key: list(value) for key, value in self.answers.items()}
        with s:
            while True:
                head = self.take(s, 16)
                if head is None:
                    return
                size, command, _ = struct.unpack(">QII", head)
                body = self.take(s, size)
                if body is None:
                    return
                self.log.append(command)
                known = answers.get((command, body)) or []
                answer = known.pop(0) if len(known) > 1 else known[0] if known else None
                if self.change:
                    answer = self.change(command, body, answer)
                if answer is None:
                    return
                try:
                    s.sendall(answer[0] if isinstance(answer, tuple) else answer)
                except OSError:
                    return
                if isinstance(answer, tuple):
                    return

    @staticmethod
    def take(s, n):
        data = b""
        while len(data) < n:
            try:
                more = s.recv(n - len(data))
            except OSError:
                return None
            if not more:
                return None
            data += more
        return data

    def url(self, session="/host/vm/livet3"):
        return "net://127.0.0.1:%d%s" % (self.port, session)
