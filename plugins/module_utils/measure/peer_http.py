# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The server's side of one HTTP/1.1 connection: heads with a deadline and a limit, bodies without copies, answers (RFC 9112)."""

from __future__ import annotations

import collections
import json
import select
import socket
import time

MAX_HEAD_BYTES = 16 << 10
BUFFER_BYTES = 1 << 20
# Without a byte for so long a transfer is over.
STALLED_SECONDS = 60
_WORDS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 405: "Method Not Allowed", 408: "Request Timeout",
          411: "Length Required", 413: "Content Too Large", 417: "Expectation Failed", 431: "Request Header Fields Too Large",
          501: "Not Implemented", 505: "HTTP Version Not Supported"}

Request = collections.namedtuple("Request", "method path query headers keep length")
Request.__doc__ = """`headers`: names in small letters; `keep`: whether the connection may go on; `length`: of the body, null where it
is chunked."""


class Gone(Exception):
    """The client has closed the connection, or sends nothing any more."""


class BadRequest(Exception):
    """A request that can't be served; `status` says why."""

    def __init__(self, status, words):
        Exception.__init__(self, words)
        self.status = status


def parse_head(head):
    """`head`: bytes before the empty line. -> Request; BadRequest.

    >>> parse_head(b"GET /bytes/5?a=b HTTP/1.1\\r\\nHost: x").path
    '/bytes/5'
    """
    lines = head.decode("latin-1").split("\r\n")
    words = lines[0].split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/"):
        raise BadRequest(400, "not a request line")
    method, target, version = words
    if version not in ("HTTP/1.1", "HTTP/1.0"):
        raise BadRequest(505, "HTTP/1.1 only")
    headers = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon or name != name.strip() or not name:
            raise BadRequest(400, "not a header line")
        name = name.lower()
        if name in headers and name in ("content-length", "transfer-encoding", "authorization", "x-peer-token"):
            raise BadRequest(400, "%s twice" % name)
        headers[name] = value.strip()
    path, _mark, query = target.partition("?")
    tokens = [token.strip().lower() for token in headers.get("connection", "").split(",")]
    keep = "close" not in tokens if version == "HTTP/1.1" else "keep-alive" in tokens
    return Request(method, path, query, headers, keep, _length(headers))


def _length(headers):
    coding = headers.get("transfer-encoding")
    if coding is not None:
        if coding.lower() != "chunked" or "content-length" in headers:
            raise BadRequest(501 if "content-length" not in headers else 400, "this transfer coding isn't understood")
        return None
    text = headers.get("content-length", "0")
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise BadRequest(400, "Content-Length is no length")
    return int(text)


class Connection(object):
    """One client. Everything raises Gone where it has gone."""

    def __init__(self, sock):
        self._sock = sock
        self._sock.settimeout(STALLED_SECONDS)
        self._kept = b""
        self._buffer = memoryview(bytearray(0))

    def check(self):
        """Gone where the client has closed its end."""
        waiting = select.poll()
        waiting.register(self._sock, select.POLLRDHUP)
        if waiting.poll(0):
            raise Gone("the client doesn't wait any more")

    def _receive(self, deadline, limit):
        self._sock.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            return self._sock.recv(limit)
        except socket.timeout:
            raise Gone("nothing came")
        finally:
            self._sock.settimeout(STALLED_SECONDS)

    def request(self, idle_seconds, head_seconds):
        """The next Request; null where the client has ended the connection. `head_seconds`: in all, however slowly its bytes come."""
        if not self._kept:
            self._kept = self._receive(time.monotonic() + idle_seconds, MAX_HEAD_BYTES)
            if not self._kept:
                return None
        deadline = time.monotonic() + head_seconds
        while True:
            # A client may send an empty line between requests.
            self._kept = self._kept.lstrip(b"\r\n") if self._kept[:1] in (b"\r", b"\n") else self._kept
            end = self._kept.find(b"\r\n\r\n")
            if end >= 0:
                break
            if len(self._kept) > MAX_HEAD_BYTES:
                raise BadRequest(431, "the head is longer than %d bytes" % MAX_HEAD_BYTES)
            if time.monotonic() >= deadline:
                raise BadRequest(408, "the head took longer than %d s" % head_seconds)
            more = self._receive(deadline, MAX_HEAD_BYTES)
            if not more:
                raise Gone("in the middle of a head")
            self._kept += more
        head, self._kept = self._kept[:end], self._kept[end + 4:]
        return parse_head(head)

    # -------------------------------------------------------------------- body

    def body(self, request, limit):
        """Views of the body's bytes in turn, each good until the next is asked for. BadRequest where it is longer than `limit`."""
        if (request.length or 0) > limit:
            raise BadRequest(413, "the body is longer than %d bytes" % limit)
        expects = request.headers.get("expect")
        if expects is not None:
            if expects.lower() != "100-continue":
                raise BadRequest(417, "this expectation isn't understood")
            self._send(b"HTTP/1.1 100 Continue\r\n\r\n")
        return self._plain(request.length) if request.length is not None else self._chunked(limit)

    def skip_body(self, request, limit):
        for _view in self.body(request, limit):
            pass

    def _into(self, size):
        """At most `size` bytes of the body -> a view."""
        if self._kept:
            part, self._kept = self._kept[:size], self._kept[size:]
            return memoryview(part)
        wanted = min(BUFFER_BYTES, size)
        if len(self._buffer) < wanted:
            self._buffer = memoryview(bytearray(BUFFER_BYTES if wanted > 4096 else 4096))
        try:
            count = self._sock.recv_into(self._buffer, min(size, len(self._buffer)))
        except socket.timeout:
            raise Gone("the body stopped")
        if not count:
            raise Gone("in the middle of a body")
        return self._buffer[:count]

    def _plain(self, left):
        while left:
            view = self._into(left)
            left -= len(view)
            yield view

    def _chunked(self, limit):
        total = 0
        while True:
            size = self._chunk_size()
            total += size
            if total > limit:
                raise BadRequest(413, "the body is longer than %d bytes" % limit)
            if not size:
                break
            yield from self._plain(size)
            if self._line():
                raise BadRequest(400, "a chunk is longer than it says")
        trailers = 0
        while self._line():
            trailers += 1
            if trailers > 64:
                raise BadRequest(431, "too many trailers")

    def _chunk_size(self):
        text = self._line().partition(b";")[0].strip()
        try:
            if not text or len(text) > 12 or not all(letter in b"0123456789abcdefABCDEF" for letter in text):
                raise ValueError
            return int(text, 16)
        except ValueError:
            raise BadRequest(400, "not the size of a chunk")

    def _line(self):
        deadline = time.monotonic() + STALLED_SECONDS
        while b"\r\n" not in self._kept:
            if len(self._kept) > MAX_HEAD_BYTES:
                raise BadRequest(400, "a line is too long")
            more = self._receive(deadline, BUFFER_BYTES)
            if not more:
                raise Gone("in the middle of a body")
            self._kept += more
        line, _end, self._kept = self._kept.partition(b"\r\n")
        return line

    # ----------------------------------------------------------------- answers

    def _send(self, data):
        try:
            self._sock.sendall(data)
        except socket.timeout:
            raise Gone("the client takes nothing")

    def send_some(self, views):
        """Sends what goes at once -> how many bytes."""
        try:
            return self._sock.sendmsg(views)
        except socket.timeout:
            raise Gone("the client takes nothing")

    def _head(self, request, status, content_type, length, more=(), close=False):
        lines = ["HTTP/1.1 %d %s" % (status, _WORDS.get(status, "")), "Content-Type: " + content_type]
        lines.append("Transfer-Encoding: chunked" if length is None else "Content-Length: %d" % length)
        lines += ["%s: %s" % pair for pair in more]
        lines.append("Connection: close" if close or request is None or not request.keep else "Connection: keep-alive")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def send_head(self, request, status, content_type, length, more=()):
        """`length` null: a chunked body follows."""
        self._send(self._head(request, status, content_type, length, more))

    def answer(self, request, status, content, content_type="application/json", close=False):
        """A whole answer; `content` is bytes, or what becomes JSON. -> whether the connection stays."""
        data = content if isinstance(content, bytes) else json.dumps(content).encode("utf-8")
        head = self._head(request, status, content_type, len(data), close=close)
        self._send(head if request is not None and request.method == "HEAD" else head + data)
        return not close and request is not None and request.keep

    def try_to_answer(self, status, content):
        """An answer to what is no request, where it still goes; the connection ends."""
        try:
            self.answer(None, status, content)
            self.linger()
        except (Gone, OSError):
            pass

    def linger(self, seconds=2, limit=8 << 20):
        """Closes our side and reads on for a moment: a close over unread bytes would take the answer away from the client."""
        try:
            self._sock.shutdown(socket.SHUT_WR)
            until, left = time.monotonic() + seconds, limit
            while left > 0:
                self._sock.settimeout(max(0.001, until - time.monotonic()))
                count = len(self._sock.recv(64 << 10))
                if not count:
                    return
                left -= count
        except OSError:
            pass

    def send_event(self, content):
        """One server-sent event in a chunk of its own."""
        data = ("data: %s\n\n" % (content if isinstance(content, str) else json.dumps(content))).encode("utf-8")
        self._send(b"%x\r\n%s\r\n" % (len(data), data))

    def send_last_chunk(self):
        self._send(b"0\r\n\r\n")
