# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One step of a load test: so many clients at once, in a closed loop (each asks again when it has its answer) or an open one.

In an open loop request n is due at n / rate, whether or not a client is free. Its latency counts from that moment: waiting for a free
client is part of it, as it is part of what users of a busy service see (a closed loop asks less of a slow server and hides it: "coordinated
omission").
"""

from __future__ import annotations

import array
import errno
import gc
import os
import random
import resource
import threading
import time

from .http_errors import Failure, as_failure
from .request_worker import ERRORS, Client, Spent

# So many requests at least before the share of failed ones decides anything.
MIN_JUDGED = 20
# Distinct texts of errors that are kept for each kind.
MAX_WORDS = 3
# What a thread may be late by at its end.
SPARE_SECONDS = 2
# Of each client's thread.
STACK_BYTES = 512 << 10


def due_moments(requests, rate, irregular=False):
    """Seconds after the begin at which each request of an open loop is due. The same ones each time, irregular or not.

    >>> list(due_moments(3, 10))
    [0.0, 0.1, 0.2]
    """
    if not irregular:
        return array.array("d", (number / float(rate) for number in range(requests)))
    source, moment, moments = random.Random(1), 0.0, array.array("d")
    for _number in range(requests):
        moments.append(moment)
        moment += source.expovariate(rate)
    return moments


class Step(object):
    """What the clients of a step share: which request is next, when to stop, and why it stopped.

    rate: requests a second in an open loop, null for a closed one; irregular: they come like those of many strangers (Poisson) instead of
    evenly; seconds: after these no request is sent any more; bytes_left: what may
    still be sent and received. local: null, or the Failure of this host (no free port, file or thread) that ended it: the service has no
    part in it.
    """

    def __init__(self, asked, concurrency, requests, seconds, rate=None, bytes_left=None, irregular=False):
        self.asked, self.concurrency, self.requests, self.seconds, self.rate = asked, concurrency, requests, seconds, rate
        self.bytes_left = bytes_left
        self.due = due_moments(requests, rate, irregular) if rate else None
        self.stopped = self.local = None
        self.begun = None
        self._next = 0
        self._lock = threading.Lock()
        self.workers = [_Worker(self) for _number in range(concurrency)]

    def claim(self):
        """The number of the next request; null when there is none any more."""
        with self._lock:
            if self.stopped is not None or self._next >= self.requests:
                return None
            now = time.monotonic() - self.begun
            if now >= self.seconds:
                self.stopped = "time"
                return None
            if self.bytes_left is not None:
                if self.bytes_left < len(self.asked.body):
                    self.stopped = "bytes"
                    return None
                self.bytes_left -= len(self.asked.body)
            number, self._next = self._next, self._next + 1
            return number

    @property
    def begun_any(self):
        """Whether a request was sent."""
        return self._next > 0

    def spend(self, received):
        """Whether more may come."""
        if self.bytes_left is None:
            return True
        with self._lock:
            self.bytes_left -= received
            if self.bytes_left <= 0 and self.stopped is None:
                self.stopped = "bytes"
            return self.bytes_left > 0

    def stop(self, why):
        with self._lock:
            if self.stopped is None:
                self.stopped = why

    def give_up(self, failure):
        """Ends it for a reason of this host."""
        with self._lock:
            self.local = self.local or failure
            self.stopped = self.stopped or "local"

    def judge_errors(self):
        """Stops the step when more than half of its requests fail."""
        failed = sum(sum(worker.errors.values()) for worker in self.workers)
        done = failed + sum(len(worker.latencies) for worker in self.workers)
        if done >= max(MIN_JUDGED, self.requests // 10) and failed * 2 > done:
            self.stop("errors")

    def run(self):
        """Runs it to its end: at most `seconds` and the time that a request may take. -> how many clients haven't come back."""
        ready = time.monotonic() + self.asked.timeout_seconds
        if self.asked.keep_alive:
            self._together([worker.prepare for worker in self.workers], ready)
        # Connecting beforehand and our own objects are no part of what is measured.
        gc.collect()
        gc.freeze()
        processor, since = _processor_seconds(), time.monotonic()
        self.begun = since + 0.02
        left = self._together([worker.run for worker in self.workers] if self.local is None else [],
                              self.begun + self.seconds + self.asked.timeout_seconds + SPARE_SECONDS)
        ended = [worker.ended for worker in self.workers if worker.ended is not None]
        self.ended = max(ended) if ended and not left else time.monotonic()
        # Starting the clients is part of both: what a step of a few requests costs isn't told as if it had been spent within them.
        self.processor_fraction = (_processor_seconds() - processor) / max(time.monotonic() - since, 1e-9)
        gc.unfreeze()
        for worker in self.workers:
            (worker.client.abort if left else worker.client.close)()
        return left

    def _together(self, functions, until):
        """Calls each in a thread of its own and waits until `until` (time.monotonic()). -> how many are still at it then.

        One that can't be started, or that ends with an exception, ends the step.
        """
        def call(function):
            try:
                function()
            except BaseException as error:  # pylint: disable=broad-except
                self.give_up(Failure("local", "a client of the test broke off (%s)" % type(error).__name__))

        threads = [threading.Thread(target=call, args=(function,), daemon=True) for function in functions]
        before = threading.stack_size(STACK_BYTES)
        begun = []
        try:
            for thread in threads:
                thread.start()
                begun.append(thread)
        except (RuntimeError, MemoryError):
            self.give_up(Failure("local", "this host lets the test have %d threads, not the %d that it needs: fewer at once, or a higher "
                                          "limit of processes and memory" % (len(begun), len(threads))))
        finally:
            threading.stack_size(before)
        for thread in begun:
            thread.join(max(0.0, until - time.monotonic()))
        return sum(thread.is_alive() for thread in begun)


class _Worker(object):
    """One client and what it has seen.

    latencies: seconds of the requests that worked, answered: their numbers; waits: of all in an open loop, seconds until a client was free.
    """

    def __init__(self, step):
        self.step = step
        self.client = Client(step.asked, step.spend)
        self.latencies = array.array("d")
        self.answered, self.waits = array.array("L"), array.array("d")
        self.first_token, self.gaps, self.rates = array.array("d"), array.array("d"), array.array("d")
        self.tokens = self.tokens_from_usage = self.miscounted = self.received = self.sent = 0
        self.errors, self.words = {}, {}
        self.opened = self.ended = None

    def prepare(self):
        """Connects, so that it isn't part of the first latency. What goes wrong goes wrong again with that request, and counts there."""
        try:
            self.client.connect(self.step.asked.timeout_seconds)
            self.opened = self.client.opened
        except Exception:  # pylint: disable=broad-except
            pass

    def run(self):
        step, sleep, clock = self.step, time.sleep, time.monotonic
        while True:
            number = step.claim()
            if number is None:
                return
            due = step.begun + (step.due[number] if step.due else 0)
            now = clock()
            if now < due:
                if due - step.begun >= step.seconds:
                    step.stop("time")
                    return
                sleep(due - now)
                if step.stopped not in (None, "time"):
                    return
                now = clock()
            if step.rate:
                self.waits.append(now - due)
                if now - due > step.asked.timeout_seconds:
                    # Nobody waits longer than that, and it has only been growing.
                    step.stop("queue")
                    self._fail("timeout", "it was due for longer than a request may take, with no connection free")
                    return
            self._ask(number, due if step.rate else now, now)

    def _ask(self, number, since, now):
        try:
            self.client.ask(now + self.step.asked.timeout_seconds)
        except ERRORS as error:
            failure = _told(as_failure(error))
            if failure.kind == "local":
                self.step.give_up(failure)
            else:
                self.ended = time.monotonic()
                self._fail(failure.kind, str(failure))
        except Spent:
            # Neither an answer nor a failure of the service.
            pass
        except Exception as error:  # pylint: disable=broad-except
            # "can't start new thread" is a RuntimeError, and so is too deep a recursion.
            if isinstance(error, (MemoryError, RuntimeError)) and not isinstance(error, RecursionError):
                self.step.give_up(Failure("local", "this host has no threads or memory left for the test"))
                return
            # Whatever a server may send that nobody has thought of.
            self.ended = time.monotonic()
            self._fail("protocol", "the answer can't be read (%s)" % type(error).__name__)
        else:
            self.ended = time.monotonic()
            self.latencies.append(self.ended - since)
            self.answered.append(number)
            self._tokens(since)
        self.opened = self.client.opened or self.opened
        self.sent += len(self.step.asked.body)
        self.received += self.client.received

    def _fail(self, kind, words):
        self.errors[kind] = self.errors.get(kind, 0) + 1
        said = self.words.setdefault(kind, [])
        if words not in said and len(said) < MAX_WORDS:
            said.append(words)
        self.step.judge_errors()

    def _tokens(self, since):
        answer = self.client.answer
        if answer is None:
            return
        count = answer.chunks if answer.tokens is None else answer.tokens
        self.first_token.append(answer.first - since)
        self.gaps.extend(answer.gaps)
        self.tokens += count
        self.tokens_from_usage += answer.tokens is not None
        self.miscounted += answer.miscounted
        self.rates.append(count / max(self.ended - since, 1e-9))


def _told(failure):
    """The Failure with what to do about it, where it is this host's."""
    said = str(failure)
    if failure.kind != "local":
        return failure
    if os.strerror(errno.ENOTCONN) in said:
        # The server has ended a connection just when it was made.
        return Failure("reset", said)
    if os.strerror(errno.EADDRNOTAVAIL) in said:
        return Failure("local", "%s: no local port of this host is free (keep connections, or widen net.ipv4.ip_local_port_range), or "
                                "it has no address of that kind" % said)
    return failure


def _processor_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
