# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One client of a load test: a connection that is kept, one request after another on it, each with an end of its own."""

from __future__ import annotations

import http.client
import select
import ssl
import time

from . import http_connection
from .http_errors import Failure, of_status
from .request_stream import Answer

MAX_ANSWER_BYTES = 64 << 20
BUFFER_BYTES = 64 << 10
# RFC 9110, 9.2.2: what may be sent again when a kept connection ends without an answer.
IDEMPOTENT = ("GET", "HEAD", "PUT", "DELETE", "OPTIONS")
# What a request can raise; anything else is a fault of ours.
ERRORS = (Failure, OSError, http.client.HTTPException, ssl.SSLError)


class Asked(object):
    """What every request of a test is. `headers`: {name: value}; `body`: bytes."""

    def __init__(self, url, method, headers, body, timeout_seconds, streaming=False, keep_alive=True, **connecting):
        self.url, self.method, self.body = url, method, body
        self.timeout_seconds, self.streaming, self.keep_alive = timeout_seconds, streaming, keep_alive
        self.headers = headers
        # proxy, ca_path, validate_certs of http_connection.connect().
        self.connecting = connecting

    def message(self, opened):
        """The bytes of one request on a connection."""
        aim = http_connection.target(self.url)
        host = "[%s]" % aim.host if ":" in aim.host else aim.host
        if aim.port != (443 if aim.scheme == "https" else 80):
            host += ":%d" % aim.port
        headers = {"Host": host, "User-Agent": "trainops.gpu_audit", "Accept-Encoding": "identity",
                   "Accept": "text/event-stream" if self.streaming else "*/*"}
        if self.body or self.method not in ("GET", "HEAD", "DELETE", "OPTIONS"):
            headers["Content-Length"] = str(len(self.body))
        headers["Connection"] = "keep-alive" if self.keep_alive else "close"
        given = dict(opened.headers)
        given.update(self.headers)
        # A header that is given stands instead of ours, however it is spelled.
        names = set(name.lower() for name in given)
        lines = ["%s %s HTTP/1.1" % (self.method, opened.path)]
        lines += ["%s: %s" % pair for pair in headers.items() if pair[0].lower() not in names]
        lines += ["%s: %s" % pair for pair in given.items()]
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        # One system call where it is short; a long body isn't copied.
        return [head + self.body] if len(self.body) <= BUFFER_BYTES else [head, self.body]


class Client(object):
    """`ask(deadline)` sends one request. `opened`: http_connection.Opened of the last connection; `reconnects`: kept ones that had
    ended."""

    def __init__(self, asked):
        self._asked = asked
        self._buffer = memoryview(bytearray(BUFFER_BYTES))
        self._socket = self._message = self._hangup = None
        self._used = False
        self.opened = None
        self.reconnects = 0
        self.received = 0
        self.answer = None

    def connect(self, seconds):
        """A new connection; Failure."""
        self.close()
        self.opened = http_connection.connect(self._asked.url, max(0.001, seconds), **self._asked.connecting)
        self._socket, self._used = self.opened.socket, False
        self._message = self._asked.message(self.opened)
        self._hangup = select.poll()
        self._hangup.register(self._socket.fileno(), select.POLLRDHUP)

    def close(self):
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def abort(self):
        """Ends what it waits for; from another thread."""
        held = self._socket
        if held is not None:
            held.abort()

    def ask(self, deadline):
        """One request, whole by `deadline` (time.monotonic()); raises one of ERRORS.

        `received` has the bytes of the answer's body, `answer` its stream.
        """
        self.received, self.answer = 0, None
        if self._socket is not None and self._hangup.poll(0):
            # The server has closed a connection that nothing was sent on: it may, and nothing is lost.
            self.reconnects += 1
            self.close()
        if self._socket is None:
            self.connect(deadline - time.monotonic())
        again = self._used and self._asked.method in IDEMPOTENT
        try:
            try:
                refused = self._once(deadline)
            except (ConnectionError, ssl.SSLEOFError):
                if not again or self.received:
                    raise
                self.reconnects += 1
                self.connect(deadline - time.monotonic())
                refused = self._once(deadline)
        except BaseException:
            self.close()
            raise
        if refused is not None:
            raise refused

    def _once(self, deadline):
        """-> the Failure that the answer's status is, null for none; the connection lives on."""
        self._socket.deadline = deadline
        for part in self._message:
            self._socket.sendall(part)
        response = http.client.HTTPResponse(self._socket, method=self._asked.method)
        try:
            response.begin()
            refused = self._take(response)
        finally:
            # What the connection is kept for is decided here; http.client only lends its reader.
            # read1() leaves an answer open whose last byte it has read.
            ends = response.will_close or not (response.isclosed() or response.length == 0)
            response.close()
        self._used = True
        if ends or not self._asked.keep_alive:
            self.close()
        return refused

    def _take(self, response):
        """Reads the answer. -> as _once()."""
        status = response.status
        refused = None
        if status >= 400:
            refused = of_status(status, response.reason)
        elif 300 <= status < 400 and status != 304 or status == 101:
            refused = Failure("protocol", "HTTP %d: redirections aren't followed, give the URL that answers" % status, status)
        if refused is not None:
            try:
                self._body(response)
            except ERRORS:
                # The status is what failed; a body that isn't whole leaves the response open, and the connection is closed.
                pass
        elif self._asked.streaming:
            self._stream(response)
        else:
            self._body(response)
        return refused

    def _body(self, response):
        while True:
            count = response.readinto(self._buffer)
            if not count:
                break
            self._count(count)
        _whole(response)

    def _count(self, count):
        self.received += count
        if self.received > MAX_ANSWER_BYTES:
            raise Failure("protocol", "the answer is longer than %d bytes" % MAX_ANSWER_BYTES)

    def _stream(self, response):
        kind = (response.getheader("Content-Type") or "").partition(";")[0].strip().lower()
        if kind != "text/event-stream":
            raise Failure("protocol", "the answer is no event stream: does the server stream, at this URL?")
        answer = Answer()
        try:
            while True:
                data = response.read1(BUFFER_BYTES)
                if not data:
                    break
                self._count(len(data))
                answer.feed(data, time.monotonic())
            _whole(response)
        except ERRORS:
            # After [DONE] nothing is missing, however the connection ends.
            if not answer.done:
                raise
        answer.end(time.monotonic())
        self.answer = answer


def _whole(response):
    """Failure where fewer bytes came than the head said; http.client tells it only for read()."""
    if response.length:
        raise Failure("short_body", "the answer ended %d bytes before its end" % response.length)
