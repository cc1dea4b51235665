# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One client of a load test: a connection that is kept, one request after another on it, each with an end of its own."""

from __future__ import annotations

import http.client
import io
import select
import socket
import ssl
import time

from . import http_connection, http_interim
from .http_errors import Failure, check_length, of_status
from .request_stream import Answer, most_tokens
from .transfer_stream import unacknowledged

MAX_ANSWER_BYTES = 64 << 20
BUFFER_BYTES = 64 << 10
# What one call sends at most: how much of a request was sent is known that closely, should the connection end in it.
SEND_BYTES = 256 << 10
# What a request can raise; anything else is a fault of ours.
ERRORS = (Failure, OSError, http.client.HTTPException, ssl.SSLError)


class Asked(object):
    """What every request of a test is. `headers`: {name: value}; `body`: bytes."""

    def __init__(self, url, method, headers, body, timeout_seconds, streaming=False, keep_alive=True, **connecting):
        self.url, self.method, self.body = url, method, body
        self.timeout_seconds, self.streaming, self.keep_alive = timeout_seconds, streaming, keep_alive
        self.headers = headers
        # Of one answer; null where the request doesn't say.
        self.most_tokens = most_tokens(body) if streaming else None
        # proxy, ca_path, validate_certs of http_connection.connect().
        self.connecting = connecting

    def message(self, opened):
        """The bytes of one request on a connection."""
        aim = http_connection.target(self.url)
        host = "[%s]" % aim.host.partition("%")[0] if ":" in aim.host else aim.host
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


class Spent(Exception):
    """The bytes that the test may move are used up in the middle of an answer."""


class _Wire(io.RawIOBase):
    """Hands on what comes from a TimedSocket. `seen(count)` is told of all of it; `dry`: nothing more is taken from the socket."""

    def __init__(self, timed, seen):
        super(_Wire, self).__init__()
        self._timed, self._seen = timed, seen
        self.dry = False

    def readable(self):
        return True

    def readinto(self, buffer):
        if self.dry:
            return None
        count = self._timed.recv_into(buffer)
        self._seen(count)
        return count


class _Reader(io.BufferedReader):
    """Of one connection, for all its answers: bytes that came behind one of them aren't lost with it. http.client closes what it reads."""

    def close(self):
        pass

    def makefile(self, *_arguments):
        """What http.client asks a socket for."""
        return self

    def more(self):
        """Whether bytes have been read that belong to no answer."""
        self.raw.dry = True
        try:
            return bool(self.peek(1))
        finally:
            self.raw.dry = False


class Client(object):
    """`ask(deadline)` sends one request. `opened`: http_connection.Opened of the last connection; `reconnects`: those that had ended before
    a request was sent on them; `resent`: requests that were sent again, as _came_too_late() says. `spend(count)`: told of all bytes that
    the socket receives, heads as well; false where none may come any more."""

    def __init__(self, asked, spend=None):
        self._asked = asked
        self._spend = spend
        self._reader = None
        self._answer_bytes = self._sent = 0
        self._buffer = memoryview(bytearray(BUFFER_BYTES))
        self._socket = self._message = self._hangup = None
        self._used = False
        self.opened = None
        self.reconnects = self.resent = 0
        self.received = 0
        self.answer = None

    def connect(self, seconds):
        """A new connection; Failure."""
        self.close()
        self.opened = http_connection.connect(self._asked.url, max(0.001, seconds), **self._asked.connecting)
        self._socket, self._used = self.opened.socket, False
        self._message = self._asked.message(self.opened)
        self._hangup = select.poll()
        self._hangup.register(self._socket.fileno(), select.POLLRDHUP | select.POLLIN)
        self._reader = _Reader(_Wire(self._socket, self._seen), BUFFER_BYTES)

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
        """One request, whole by `deadline` (time.monotonic()); raises one of ERRORS, or Spent.

        `received` has the bytes of the answer's body, `answer` its stream.
        """
        self.received, self.answer, self._answer_bytes = 0, None, 0
        if self._socket is not None and self._has_ended():
            # The server has closed a connection that nothing was sent on: it may, and nothing is lost.
            self.reconnects += 1
            self.close()
        if self._socket is None:
            self.connect(deadline - time.monotonic())
        try:
            try:
                refused = self._once(deadline)
            except (ConnectionError, ssl.SSLEOFError) as error:
                if not self._came_too_late(error):
                    raise
                self.resent += 1
                if self._spend is not None and not self._spend(len(self._asked.body)):
                    raise Spent()
                self.connect(deadline - time.monotonic())
                refused = self._once(deadline)
        except BaseException:
            self.close()
            raise
        if refused is not None:
            raise refused

    def _came_too_late(self, error):
        """Whether the server had closed a kept connection before anything of the request got there: no failure, and whatever the method it
        can be sent again (RFC 9110, 9.2.2), because it was never taken.

        The server's end of the connection (FIN) says what had come until then. A reset doesn't: it may be of a request that was read. While
        sending, TLS doesn't tell them apart.
        """
        if not self._used or self._answer_bytes:
            return False
        left = unacknowledged(self._socket)
        if not self._sent and not left:
            return True
        has_ended = isinstance(error, http.client.RemoteDisconnected) or (isinstance(error, BrokenPipeError) and self.opened.tls is None)
        return has_ended and 0 < self._sent <= left

    def _has_ended(self):
        """Whether the server has closed the connection; Failure where it has sent something that nothing was asked for."""
        events = self._hangup.poll(0)
        if events and events[0][1] & ~select.POLLIN:
            return True
        sock, is_tls = self._socket.sock, self.opened.tls is not None
        extra = self._reader.more() or (is_tls and sock.pending() > 0)
        if events and not extra:
            try:
                sock.settimeout(0)
                # Of TLS it may be tickets, which nobody asks for either: they are taken note of by reading on.
                extra = bool(sock.recv(1) if is_tls else sock.recv(1, socket.MSG_PEEK))
                if not extra:
                    return True
            except (BlockingIOError, ssl.SSLWantReadError):
                pass
            except OSError:
                return True
        if extra:
            self.close()
            raise Failure("protocol", "bytes came that belong to no request")
        return False

    def _seen(self, count):
        self._answer_bytes += count
        left = self._spend is None or self._spend(count)
        if not left and self._answer_bytes > BUFFER_BYTES:
            raise Spent()
        if self._answer_bytes > MAX_ANSWER_BYTES:
            raise Failure("protocol", "the answer is longer than %d bytes" % MAX_ANSWER_BYTES)

    def _once(self, deadline):
        """-> the Failure that the answer's status is, null for none; the connection lives on."""
        self._socket.deadline = deadline
        self._send()
        if self.opened.tls is not None:
            self._await_answer()
        response = http_interim.Response(self._reader, method=self._asked.method)
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

    def _send(self):
        self._sent = 0
        for part in self._message:
            view = memoryview(part)
            while view:
                count = self._socket.send(view[:SEND_BYTES])
                self._sent += count
                view = view[count:]

    def _await_answer(self):
        """Waits until something has come, past TLS, which takes a reset for the connection's end."""
        sock = self._socket.sock
        if sock.pending():
            return
        sock.settimeout(max(0.001, self._socket.deadline - time.monotonic()))
        try:
            socket.socket.recv(sock, 1, socket.MSG_PEEK)
        except socket.timeout:
            raise self._socket.expired()

    def _take(self, response):
        """Reads the answer. -> as _once()."""
        status = response.status
        refused = None
        if status >= 400:
            refused = of_status(status)
        elif 300 <= status < 400 and status != 304:
            refused = Failure("protocol", "HTTP %d: redirections aren't followed, give the URL that answers" % status, status)
        if refused is not None:
            try:
                check_length(response)
                self._body(response)
            except ERRORS:
                # The status is what failed; nobody knows where the next answer begins.
                response.will_close = True
            return refused
        check_length(response)
        if self._asked.streaming:
            self._stream(response)
        else:
            self._body(response)
        return refused

    def _body(self, response):
        while True:
            count = response.readinto(self._buffer)
            if not count:
                break
            self.received += count
        self._socket.check_end(response)

    def _stream(self, response):
        kind = (response.getheader("Content-Type") or "").partition(";")[0].strip().lower()
        if kind != "text/event-stream":
            raise Failure("protocol", "the answer is no event stream: does the server stream, at this URL?")
        answer = Answer(self._asked.most_tokens)
        try:
            while True:
                data = response.read1(BUFFER_BYTES)
                if not data:
                    break
                self.received += len(data)
                answer.feed(data, time.monotonic())
            self._socket.check_end(response)
        except ERRORS:
            # After [DONE] nothing is missing, however the connection ends.
            if not answer.done:
                raise
        answer.end(time.monotonic())
        self.answer = answer
