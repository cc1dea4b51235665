# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Moves the bytes of one HTTP request and counts them by the second: sending a repeated block, receiving, digests beside it."""

from __future__ import annotations

import fcntl
import hashlib
import http.client
import queue
import select
import struct
import termios
import threading
import time

from . import http_interim
from .http_errors import Failure, as_failure, start_thread

# Of TLS one call sends all it is given: in smaller pieces a slow link's seconds are told apart.
_SEND_BYTES = {False: 256 << 10, True: 64 << 10}
_BUFFER_BYTES = 256 << 10
_BUFFERS = 16
_LOOK_SECONDS = 0.01
# How closely the moment is looked for at which the last byte leaves the host.
_LEAVING_LOOK_SECONDS = 0.001
# linux/sockios.h: bytes that the kernel hasn't sent yet. TIOCOUTQ counts those too that were sent and aren't confirmed.
_SIOCOUTQNSD = 0x894B


class Moved(object):
    """Bytes moved by all streams of one try, by whole seconds since begin()."""

    def __init__(self):
        self.begun = None
        self.first = self.last = None
        self.total = 0
        self._seconds = []
        self._lock = threading.Lock()

    def begin(self):
        self.begun = self.last = time.monotonic()

    def add(self, count):
        now = time.monotonic()
        with self._lock:
            self.last = now
            if count <= 0:
                return
            self.total += count
            if self.first is None:
                self.first = now
            second = int(now - self.begun)
            if len(self._seconds) <= second:
                self._seconds.extend([0] * (second + 1 - len(self._seconds)))
            self._seconds[second] += count

    def end(self):
        """The time that has passed by now counts, moved or not. -> seconds without a byte at its end."""
        with self._lock:
            before, self.last = self.last, time.monotonic()
        return self.last - before

    def seconds(self):
        return 0.0 if self.begun is None else self.last - self.begun

    def series(self):
        """Bytes in each whole second that has passed; of a transfer's last, unfinished second nothing."""
        whole = int(self.seconds())
        return (self._seconds + [0] * whole)[:whole]


# -------------------------------------------------------------------- bodies


def new_hash(algorithm):
    """A hash of hashlib; null where this Python has none (md5 on a FIPS host)."""
    try:
        return hashlib.new(algorithm)
    except ValueError:
        return None


def body_digest(data, count, algorithm):
    """The digest (bytes) of `count` bytes of an upload, which repeats `data`."""
    summed = new_hash(algorithm)
    if summed is None:
        return None
    view = memoryview(data)
    for _number in range(count // len(data)):
        summed.update(view)
    summed.update(view[:count % len(data)])
    return summed.digest()


class Digester(object):
    """Sums what is received in a thread of its own, so that receiving goes on. `summed`: has update(view); null only lends a buffer."""

    def __init__(self, summed=None):
        self._summed = summed
        self.waited_seconds = 0.0
        self._view, self._filled, self._thread = memoryview(bytearray(_BUFFER_BYTES)), 0, None
        if summed is not None:
            self._free, self._full = queue.Queue(), queue.Queue()
            for _number in range(_BUFFERS - 1):
                self._free.put(memoryview(bytearray(_BUFFER_BYTES)))
            thread = threading.Thread(target=self._work, daemon=True)
            start_thread(thread)
            self._thread = thread

    def _work(self):
        while True:
            view, count = self._full.get()
            if view is None:
                return
            self._summed.update(view[:count])
            self._free.put(view)

    def room(self, most):
        """Where the next bytes are to be received."""
        return self._view[self._filled:self._filled + most]

    def received(self, count):
        if self._thread is None:
            return
        self._filled += count
        if self._filled == len(self._view):
            self._hand_over()

    def _hand_over(self):
        self._full.put((self._view, self._filled))
        begun = time.monotonic()
        self._view, self._filled = self._free.get(), 0
        self.waited_seconds += time.monotonic() - begun

    def end(self):
        """All that was received is in `summed` afterwards."""
        if self._thread is not None:
            self._full.put((self._view, self._filled))
            self.close()

    def close(self):
        if self._thread is not None:
            self._full.put((None, 0))
            self._thread.join()
            self._thread = None


# ------------------------------------------------------------------ receiving


def receive(response, moved, digester, most, ranged=False):
    """Reads an answer's body, at most `most` bytes of it (of a range: no less). -> bytes read; Failure (short_body, stalled, timeout, reset,
    protocol)."""
    expected, count = most if ranged else response.length, 0
    while count < most:
        view = digester.room(most - count)
        try:
            number = _some(response, view)
        except (OSError, Failure) as error:
            # Within the body even a closed connection is a body cut short; a reset stays one.
            raise as_failure(error)
        except Exception as error:
            raise _body_failure(error)
        if not number:
            # The end of a body whose length nobody said may come long after its last byte.
            moved.end()
            break
        moved.add(number)
        digester.received(number)
        count += number
    if expected is not None and count < min(expected, most):
        raise Failure("short_body", "%d bytes of %d came before the connection was closed" % (count, expected))
    return count


def _some(response, view):
    """At least one byte of the body into `view`, 0 at its end. http.client's own readinto() waits until a buffer is full."""
    if response.fp is None:
        return 0
    if response.chunked:
        data = response.read1(len(view))
        if (response.chunk_left or 0) < 0:
            raise Failure("protocol", "the chunks of the answer are no proper HTTP")
        view[:len(data)] = data
        return len(data)
    if response.length is not None:
        view = view[:response.length]
        if not len(view):
            return 0
    number = response.fp.readinto1(view)
    if response.length is not None:
        response.length -= number
    return number


def _body_failure(error):
    if isinstance(error, http.client.HTTPException):
        failure = as_failure(error)
        return Failure("short_body", "the connection was closed within a chunked answer") if failure.kind == "short_body" else failure
    if isinstance(error, ValueError):
        # A chunk's length that is no number.
        return Failure("protocol", "the chunks of the answer are no proper HTTP")
    raise error


# -------------------------------------------------------------------- sending


def _queued(sock, request):
    """Bytes in the kernel's queue of a socket; null where that can't be asked."""
    try:
        return struct.unpack("i", fcntl.ioctl(sock.fileno(), request, b"\0" * 4))[0]
    except (OSError, ValueError):
        return None


def unacknowledged(sock):
    """Bytes that the kernel holds and the other side hasn't confirmed (SIOCOUTQ, tcp(7)); 0 where that can't be asked."""
    return _queued(sock, termios.TIOCOUTQ) or 0


def unsent(sock):
    """Bytes that the kernel holds and hasn't sent; null where that can't be asked."""
    return _queued(sock, _SIOCOUTQNSD)


class Sender(object):
    """Sends `total` bytes of a repeated block; counts what the other side has confirmed, not what lies in the kernel."""

    def __init__(self, timed, data, total, moved, encrypted):
        self.timed, self.data, self.total, self.moved, self.encrypted = timed, memoryview(data), total, moved, encrypted
        self.sent = self.counted = 0
        self._interim = 0
        # The last moment at which bytes were known to be on this host yet (null: that can't be seen), and that of the answer's first byte.
        self.leaving_at = self.answered_at = None

    def count(self):
        confirmed = max(self.counted, self.sent - unacknowledged(self.timed))
        if confirmed > self.counted:
            self.moved.add(confirmed - self.counted)
            self.counted = confirmed

    def send(self):
        """Sends all of it. -> whether the server began to answer before that; Failure, OSError."""
        size = len(self.data)
        poll = select.poll()
        poll.register(self.timed.fileno(), select.POLLIN | select.POLLOUT)
        while self.sent < self.total:
            if self._answered(poll):
                return True
            at = self.sent % size
            self.leaving_at = time.monotonic()
            self.sent += self.timed.send_now(self.data[at:min(at + _SEND_BYTES[self.encrypted], size, at + self.total - self.sent)])
            self.count()
        return False

    def _answered(self, poll):
        """Waits until the connection takes more; whether the server answers instead: one that refuses may stop reading first."""
        began = time.monotonic()
        while True:
            ready = poll.poll(_LOOK_SECONDS * 1000)
            events = ready[0][1] if ready else 0
            if events & select.POLLIN and self._is_answering():
                return True
            if events & ~select.POLLIN:
                return False
            now = time.monotonic()
            if now >= self.timed.deadline or self.timed.stall_seconds and now - began >= self.timed.stall_seconds:
                raise self.timed.expired()
            self.count()

    def _is_answering(self):
        """Whether the answer has begun, or none can come any more; interim ones are passed over."""
        ended = self.timed.arrived()
        self.timed.early, count = http_interim.passed_over(self.timed.early)
        self._interim += count
        if self._interim > http_interim.MOST_INTERIM:
            raise http_interim.too_many()
        return ended or http_interim.is_final(self.timed.early)

    def await_answer(self):
        """Waits until the answer begins, counting what is confirmed meanwhile; Failure where nothing moves any more."""
        poll, moved_at = select.poll(), time.monotonic()
        poll.register(self.timed.fileno(), select.POLLIN)
        while not (poll.poll((_LEAVING_LOOK_SECONDS if self._is_leaving() else _LOOK_SECONDS) * 1000) and self._is_answering()):
            before = self.counted
            self.count()
            now = time.monotonic()
            if self.counted > before:
                moved_at = now
            if now >= self.timed.deadline:
                raise Failure("timeout", "no answer in time")
            if self.counted < self.sent and self.timed.stall_seconds and now - moved_at >= self.timed.stall_seconds:
                raise Failure("stalled", "no byte for %g s" % self.timed.stall_seconds)
        self.answered_at = time.monotonic()

    def _is_leaving(self):
        """Whether a part of what was sent is on this host yet."""
        left = unsent(self.timed)
        if left is None:
            self.leaving_at = None
        elif left:
            self.leaving_at = time.monotonic()
        return bool(left)

    def first_byte_seconds(self):
        """Seconds from the last byte's leaving to the answer's first: a round trip and what the server takes; null where nobody saw it leave."""
        return None if self.leaving_at is None or self.answered_at is None else self.answered_at - self.leaving_at
