# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A socket whose every wait has an end and whose bytes are counted: what http_connection.connect() gives to http.client."""

from __future__ import annotations

import io
import socket
import ssl
import time

from .http_errors import Failure, is_cut

# What the head of an answer may take, and what goes around its body.
HEAD_BYTES = 1 << 20


class TimedSocket(object):
    """A socket for http.client whose every wait ends at `deadline` or after `stall_seconds` without a byte."""

    def __init__(self, sock, deadline, stall_seconds=None):
        self.sock = sock
        self.deadline = deadline
        self.stall_seconds = stall_seconds
        # Bytes that came, heads, chunk sizes and trailers among them; null as `most`: any number.
        self.received, self.most = 0, None
        # Those of them that arrived() took and nobody has read.
        self.early = b""
        # Whether the connection ended without the end of TLS: what counts for an answer's end may be none.
        self.cut = False
        self._readers = 0
        self._closed = False

    def arm(self):
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise Failure("timeout", "no end of it in time")
        self.sock.settimeout(left if self.stall_seconds is None else min(left, self.stall_seconds))

    def expired(self):
        """The Failure of a wait that has lasted as long as it may."""
        if self.stall_seconds is not None and time.monotonic() < self.deadline:
            return Failure("stalled", "no byte for %g s" % self.stall_seconds)
        return Failure("timeout", "no answer in time")

    def allow(self, body):
        """From now on an answer whose body has so many bytes may come (null: any number); Failure "protocol" for more than that takes."""
        self.most = None if body is None else self.received + HEAD_BYTES + body + body // 4

    def recv_into(self, buffer):
        if self.early:
            count = min(len(buffer), len(self.early))
            buffer[:count], self.early = self.early[:count], self.early[count:]
            return count
        if self.cut:
            return 0
        self.arm()
        try:
            count = self.sock.recv_into(buffer)
        except socket.timeout:
            raise self.expired()
        except ssl.SSLError as error:
            if not is_cut(error):
                raise
            self.cut, count = True, 0
        self._count(count)
        return count

    def arrived(self):
        """Takes what has come by now into `early` and waits for nothing; whether the other side has ended the connection."""
        while True:
            self.sock.settimeout(0)
            try:
                data = self.sock.recv(65536)
            except (BlockingIOError, ssl.SSLWantReadError):
                # Of TLS what came may be its own: a ticket, a part of a record.
                return False
            except OSError as error:
                self.cut = is_cut(error)
                # What came before a reset counts.
                if not self.early and not self.cut:
                    raise
                return True
            if not data:
                return True
            self._count(len(data))
            self.early += data

    def _count(self, count):
        self.received += count
        if self.most is not None and self.received > self.most:
            raise Failure("protocol", "the server sends more around its answer than belongs to it")

    def check_end(self, response):
        """Failure "short_body" where an answer that was read to its end is not whole: http.client tells that for read() only, and doesn't
        know that without a length nothing but TLS says where the end is (RFC 9112, 9.8)."""
        if response.length:
            raise Failure("short_body", "the answer ended %d bytes before its end" % response.length)
        if response.length is None and self.cut:
            raise Failure("short_body", "the connection was closed without the end of TLS: of an answer that says no length some may be missing. "
                          "The server has to send a Content-Length or chunks, or to end TLS (close_notify)")

    def send(self, data):
        self.arm()
        try:
            return self.sock.send(data)
        except socket.timeout:
            raise self.expired()

    def send_now(self, data):
        """Sends what the kernel takes and waits for nothing. -> bytes; after 0 of them TLS has to be given the same again."""
        self.arm()
        self.sock.settimeout(0)
        try:
            return self.sock.send(data)
        except (BlockingIOError, ssl.SSLWantWriteError):
            return 0
        except ssl.SSLWantReadError:
            # TLS has something to settle first.
            return self.send(data)

    def sendall(self, data):
        view = memoryview(data).cast("B")
        while view:
            view = view[self.send(view):]

    def makefile(self, mode="rb", buffering=None):
        """What http.client reads answers from."""
        return io.BufferedReader(Reader(self), 65536)

    def close(self):
        """Closes it as soon as no answer is being read from it: http.client closes the socket before the body of a last answer is read."""
        self._closed = True
        if not self._readers:
            self.sock.close()

    def abort(self):
        """Ends every wait on it at once, from another thread too."""
        self.deadline = 0
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def fileno(self):
        return self.sock.fileno()


class Reader(io.RawIOBase):
    """What an answer is read from; the socket stays open until the last of them is closed."""

    def __init__(self, timed):
        super(Reader, self).__init__()
        self.timed = timed
        timed._readers += 1

    def readable(self):
        return True

    def close(self):
        if not self.closed:
            self.timed._readers -= 1
            if self.timed._closed:
                self.timed.close()
        super(Reader, self).close()

    def readinto(self, buffer):
        return self.timed.recv_into(buffer)
