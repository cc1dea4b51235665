# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A small HTTP/1.1 server to measure wires and hosts against, where no service runs yet. peer_process.py runs it as a process of its own.

    HEAD, GET /bytes/<n>      n bytes of peer_stream.py; X-Checksum-Sha256 is their digest. What of it isn't known yet is hashed before the
                              head is sent: ask with HEAD first, then hashing is not in the time of the transfer.
    PUT, POST /sink           reads all, answers {"bytes", "sha256", "is_stream"}. The stream's own bytes are compared, others hashed as
                              they come; ?checksum=none reads only (sha256 null).
    GET, POST /answer         ?delay_seconds=0.2&bytes=100: reads the body, waits, answers that many bytes.
    POST /end                 ends the server.
    POST /v1/chat/completions OpenAI-compatible: `max_tokens` tokens; ?first_token_seconds=0.1&tokens_per_second=50 is the pace.

Every request needs the token: `Authorization: Bearer <token>` or `X-Peer-Token: <token>`.
"""

from __future__ import annotations

import contextlib
import hmac
import select
import socket
import threading
import time
import urllib.parse

from . import peer_stream
from .peer_http import BadRequest, Connection, Gone
from .request_stream import read_json

MAX_BYTES = 1 << 40
MAX_BODY_BYTES = 64 << 20
MAX_DELAY_SECONDS = 300
MAX_TOKENS = 4096
# More than the 1,000 requests at once that a load test may send.
MAX_CONNECTIONS = 1200
# An authorised client may keep its connection open between requests; nobody else holds one for longer than a head may take.
IDLE_SECONDS = 75
HEAD_SECONDS = 10
# A vector of this many blocks a system call.
_SEND_BLOCKS = 4
# What a word of the stand-in's answer is.
TOKEN_TEXT = "word "


class Server(object):
    """Serves the connections of `listener` (a listening socket) until `end` is set or `lifetime_seconds` have passed.

    `slots`: how many /answer and completion requests are worked on at once, others wait (null: all of them).
    """

    def __init__(self, listener, token, lifetime_seconds, slots=None, max_connections=MAX_CONNECTIONS):
        self._listener = listener
        self._token = token.encode("utf-8")
        self._until = time.monotonic() + lifetime_seconds
        self._slots = threading.BoundedSemaphore(slots) if slots else contextlib.nullcontext()
        self._room = max_connections
        self._stream = peer_stream.Stream()
        self._lock = threading.Lock()
        # Connections in the order in which they came; those that have shown the token.
        self._open, self._known = {}, set()
        self._wake, self._woken = socket.socketpair()
        # A socketpair's ends must never hold a signal handler up.
        self._wake.setblocking(False)

    def stop(self):
        """Ends serve(); may be called from a signal handler or another thread."""
        try:
            self._wake.send(b"x")
        except OSError:
            pass

    def serve(self):
        """Returns when it ends; then every connection is closed."""
        threading.stack_size(256 << 10)
        self._listener.setblocking(False)
        try:
            waiting = select.poll()
            for sock in (self._listener, self._woken):
                waiting.register(sock, select.POLLIN)
            while time.monotonic() < self._until:
                ready = waiting.poll(1000 * max(0, min(60, self._until - time.monotonic())))
                if any(number == self._woken.fileno() for number, _event in ready):
                    return
                if ready:
                    self._accept()
        finally:
            self._listener.close()
            with self._lock:
                for sock in self._open:
                    _shut(sock)

    def _accept(self):
        try:
            sock = self._listener.accept()[0]
        except OSError:
            # The client has gone, or there is no descriptor left for it: the next one may fare better.
            time.sleep(0.01)
            return
        with self._lock:
            room = len(self._open) < self._room or self._make_room()
            if room:
                self._open[sock] = True
        if not room:
            _refuse(sock)
            return
        try:
            threading.Thread(target=self._client, args=(sock,), daemon=True).start()
        except RuntimeError:
            self._forget(sock)

    def _make_room(self):
        """Ends the oldest connection that hasn't shown the token; whether there was one. Strangers can't keep the others out."""
        for sock in self._open:
            if sock not in self._known:
                del self._open[sock]
                _shut(sock)
                return True
        return False

    def _forget(self, sock):
        with self._lock:
            self._open.pop(sock, None)
            self._known.discard(sock)
        sock.close()

    def _client(self, sock):
        """One connection, request after request."""
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(sock)
            idle = HEAD_SECONDS
            while True:
                request = connection.request(idle, HEAD_SECONDS)
                if request is not None and self._authorised(request):
                    with self._lock:
                        self._known.add(sock)
                if request is None or not self._handle(connection, request):
                    connection.linger()
                    return
                idle = IDLE_SECONDS
        except BadRequest as error:
            connection.try_to_answer(error.status, {"error": str(error)})
        except (Gone, OSError):
            pass
        finally:
            self._forget(sock)

    # ---------------------------------------------------------------- requests

    def _handle(self, connection, request):
        """Answers one request. -> whether the connection stays."""
        if not self._authorised(request):
            connection.answer(request, 401, {"error": "the token is missing or wrong"}, close=True)
            return False
        path, query = request.path, dict(urllib.parse.parse_qsl(request.query))
        if path.startswith("/bytes/") and request.method in ("GET", "HEAD"):
            return self._bytes(connection, request, path[len("/bytes/"):])
        if path == "/sink" and request.method in ("PUT", "POST"):
            return self._sink(connection, request, query)
        if path == "/answer" and request.method in ("GET", "POST", "PUT"):
            return self._answer(connection, request, query)
        if path == "/v1/chat/completions" and request.method == "POST":
            return self._complete(connection, request, query)
        if path == "/end" and request.method == "POST":
            connection.answer(request, 200, {"ends": True}, close=True)
            self.stop()
            return False
        known = path.startswith("/bytes/") or path in ("/sink", "/answer", "/v1/chat/completions", "/end")
        words = "%s is not for %s" % (path, request.method) if known else "there is no %s here" % path
        connection.answer(request, 405 if known else 404, {"error": words}, close=True)
        return False

    def _authorised(self, request):
        given = request.headers.get("x-peer-token")
        if given is None:
            scheme, _space, rest = request.headers.get("authorization", "").partition(" ")
            given = rest.strip() if scheme.lower() == "bearer" else ""
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._token)

    def _bytes(self, connection, request, text):
        size = _number(text, "the number of bytes", 0, MAX_BYTES, int)
        connection.skip_body(request, MAX_BODY_BYTES)
        digest = self._stream.digest(size, connection.check)
        connection.send_head(request, 200, "application/octet-stream", size, [("X-Checksum-Sha256", digest)])
        if request.method == "GET":
            sent, blocks = 0, [self._stream.block] * (_SEND_BLOCKS - 1)
            while sent < size:
                first = self._stream.slice(sent, size - sent)[:peer_stream.BLOCK_BYTES - sent % peer_stream.BLOCK_BYTES]
                more = blocks if size - sent - len(first) >= len(blocks) * peer_stream.BLOCK_BYTES else []
                sent += connection.send_some([first] + more)
        return request.keep

    def _sink(self, connection, request, query):
        check = None if query.get("checksum") == "none" else peer_stream.Check(self._stream)
        size = 0
        for view in connection.body(request, MAX_BYTES):
            size += len(view)
            if check:
                check.update(view)
        said = {"bytes": size, "sha256": check.digest() if check else None, "is_stream": check.is_stream if check else None}
        return connection.answer(request, 200, said)

    def _answer(self, connection, request, query):
        delay = _number(query.get("delay_seconds", "0"), "delay_seconds", 0, MAX_DELAY_SECONDS, float)
        size = _number(query.get("bytes", "0"), "bytes", 0, MAX_BODY_BYTES, int)
        connection.skip_body(request, MAX_BODY_BYTES)
        self._work(lambda: time.sleep(delay))
        if size <= peer_stream.BLOCK_BYTES:
            return connection.answer(request, 200, bytes(self._stream.slice(0, size)), content_type="application/octet-stream")
        connection.send_head(request, 200, "application/octet-stream", size)
        sent = 0
        while sent < size:
            sent += connection.send_some([self._stream.slice(sent, size - sent)])
        return request.keep

    def _work(self, function):
        with self._slots:
            return function()

    def _complete(self, connection, request, query):
        first = _number(query.get("first_token_seconds", "0.1"), "first_token_seconds", 0, MAX_DELAY_SECONDS, float)
        pace = _number(query.get("tokens_per_second", "50"), "tokens_per_second", 0.01, 100000, float)
        asked = _json(b"".join(bytes(view) for view in connection.body(request, MAX_BODY_BYTES)))
        count = asked.get("max_tokens") or asked.get("max_completion_tokens") or 128
        count = _number(str(count), "max_tokens", 1, MAX_TOKENS, int)
        usage = {"prompt_tokens": 1, "completion_tokens": count, "total_tokens": count + 1}
        base = {"id": "chatcmpl-peer", "created": int(time.time()), "model": str(asked.get("model") or "stand-in")[:200]}
        if not asked.get("stream"):
            self._work(lambda: time.sleep(first + (count - 1) / pace))
            message = {"role": "assistant", "content": TOKEN_TEXT * count}
            choice = {"index": 0, "message": message, "finish_reason": "length"}
            return connection.answer(request, 200, dict(base, object="chat.completion", choices=[choice], usage=usage))
        options = asked.get("stream_options")
        wanted = isinstance(options, dict) and options.get("include_usage")
        connection.send_head(request, 200, "text/event-stream", None)
        base["object"] = "chat.completion.chunk"
        self._work(lambda: _tokens(connection, base, count, first, pace))
        connection.send_event(dict(base, choices=[{"index": 0, "delta": {}, "finish_reason": "length"}]))
        if wanted:
            connection.send_event(dict(base, choices=[], usage=usage))
        connection.send_event("[DONE]")
        connection.send_last_chunk()
        return request.keep


def _tokens(connection, base, count, first, pace):
    """One event a token, each at its own moment: an answer that was late once isn't late for ever."""
    begun = time.monotonic()
    for number in range(count):
        ahead = begun + first + number / pace - time.monotonic()
        if ahead > 0:
            time.sleep(ahead)
        connection.send_event(dict(base, choices=[{"index": 0, "delta": {"content": TOKEN_TEXT}, "finish_reason": None}]))


def _number(text, what, least, most, kind):
    try:
        value = kind(text)
        if least <= value <= most:
            return value
    except (TypeError, ValueError, OverflowError):
        pass
    raise BadRequest(400, "%s must be a number from %s to %s" % (what, least, most))


def _json(text):
    try:
        found = read_json(text.decode("utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise BadRequest(400, "the body must be a JSON object")
    return found


def _shut(sock):
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


def _refuse(sock):
    """More connections than are served: say so and close, without waiting for anything."""
    try:
        sock.setblocking(False)
        sock.send(b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
    except OSError:
        pass
    sock.close()
