# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A server whose answers are written out byte by byte, and the load tests that are run against it and against the peer server."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time

from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import peer_process, request_benchmark

TOKEN = "a-token-of-the-tests"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
SHORT = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nonly"
GARBAGE = b"what do you want from me\r\n\r\n"


def status(number, words="Of Some Kind"):
    return b"HTTP/1.1 %d %s\r\nContent-Length: 3\r\n\r\nno\n" % (number, words.encode())


# What `answer(number)` may give instead of bytes.
RESET, SILENT, CLOSE = "reset", "silent", "close"


class Scripted:
    """`answer(number)`: of the number-th request (bytes, or RESET, SILENT, CLOSE, or a function that is given the socket).

    `hangs_up`: closes the connection after each answer without having said so. `tls`: a server's context. `seen`: the heads of the requests.
    """

    def __init__(self, answer, hangs_up=False, tls=None):
        self._answer, self._hangs_up, self._tls = answer, hangs_up, tls
        self._lock = threading.Lock()
        self.seen = []
        self.connections = 0
        # Python 3.7 has no socket.create_server.
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self._socket.listen(200)
        self._held = []
        self.port = self._socket.getsockname()[1]
        self.url = "%s://127.0.0.1:%d/" % ("https" if tls else "http", self.port)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                sock = self._socket.accept()[0]
                self.connections += 1
                self._held.append(sock)
                threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock):
        with contextlib.suppress(OSError), sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._tls.wrap_socket(sock, server_side=True) if self._tls else sock as used:
                while self._request(used):
                    pass

    def _request(self, sock):
        data = b""
        while b"\r\n\r\n" not in data:
            more = sock.recv(65536)
            if not more:
                return False
            data += more
        head, _mark, rest = data.partition(b"\r\n\r\n")
        length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")), 0)
        while len(rest) < length:
            rest += sock.recv(65536)
        with self._lock:
            number = len(self.seen)
            self.seen.append(head.decode("latin-1"))
        said = self._answer(number)
        if callable(said):
            said(sock)
            return True
        if said == SILENT:
            time.sleep(30)
        if said == RESET:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if isinstance(said, str):
            return False
        sock.sendall(said)
        # Nothing can follow an answer that isn't whole.
        return not self._hangs_up and said not in (SHORT, GARBAGE)

    def close(self):
        self._socket.close()
        for sock in self._held:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def scripted(answer, **more):
    server = Scripted(answer, **more)
    try:
        yield server
    finally:
        server.close()


@contextlib.contextmanager
def peer(**more):
    """The URL of a peer server, a process of its own."""
    note = peer_process.start("127.0.0.1", range(1), 120, TOKEN, **more)
    try:
        yield "http://127.0.0.1:%d" % note["port"]
    finally:
        peer_process.stop([note["port"]])


DEFAULTS = {"concurrency": [1], "requests": 20, "duration_seconds": 20.0, "warm_up": 0, "timeout_seconds": 5.0, "bytes": 1 << 30,
            "proxy": "none", "headers": {"X-Peer-Token": TOKEN}, "keep_alive": True, "streaming": "none"}


def load(url, **more):
    """The result of a test."""
    options = dict(DEFAULTS, url=url, **more)
    return request_benchmark.run(options, request_benchmark.plan(options))


def step(url, **more):
    """Of a test with one step, that step."""
    made = load(url, **more)
    assert len(made["steps"]) == 1
    return made["steps"][0]


def noted(made, *words):
    """Whether one of a test's notes has all these words. Which others stand beside it depends on this machine's speed."""
    return any(all(word in note for word in words) for note in made["notes"])


def undisturbed(measure, good, tries=3):
    """What `measure()` gives, again while it isn't good(): other work on this machine spoils a time now and then, a mistake every time."""
    for _try in range(tries):
        made = measure()
        if good(made):
            break
    return made


def stream(*events, done=True, length=True):
    """An answer with these events (text: as it is, else JSON)."""
    import json
    data = "".join("data: %s\n\n" % (event if isinstance(event, str) else json.dumps(event)) for event in events)
    data = (data + ("data: [DONE]\n\n" if done else "")).encode()
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
    return (head + ("Content-Length: %d\r\n\r\n" % len(data) if length else "Connection: close\r\n\r\n")).encode() + data


def piece(text, finish=None):
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]}
