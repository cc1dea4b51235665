# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One try of a transfer: one request, or several at once whose bytes are summed; and the small requests around it."""

from __future__ import annotations

import collections
import email.utils
import http.client
import re
import threading
import time
from urllib.parse import urljoin, urlsplit

from .http_connection import connect, target
from .http_errors import Failure, as_failure, check_length, endpoint, of_status, origin, start_thread
from .transfer_stream import Digester, Moved, Sender, receive

MOST_REDIRECTS = 5
ERROR_BODY_BYTES = 8192
# After its deadline a stream has this long to notice.
SPARE_SECONDS = 10
# Of an error's own code only these are repeated: a server may put what it was sent anywhere into its answer.
S3_CODES = frozenset("""AccessDenied AccountProblem AllAccessDisabled AuthorizationHeaderMalformed AuthorizationQueryParametersError
BadDigest BadRequest BucketNotFound EntityTooLarge EntityTooSmall ExpiredToken IllegalLocationConstraintException IncompleteBody InternalError
InvalidAccessKeyId InvalidArgument InvalidBucketName InvalidDigest InvalidObjectName InvalidObjectState InvalidRange InvalidRequest
InvalidSecurity InvalidToken InvalidURI KeyTooLongError MethodNotAllowed MissingContentLength MissingSecurityHeader NoSuchBucket NoSuchKey
NoSuchUpload NoSuchVersion NotImplemented NotSignedUp OperationAborted PermanentRedirect PreconditionFailed QuotaExceeded RequestExpired
RequestTimeout RequestTimeTooSkewed ServiceUnavailable SignatureDoesNotMatch SlowDown TemporaryRedirect TokenRefreshRequired
TooManyRequests XAmzContentSHA256Mismatch""".split())

Settings = collections.namedtuple("Settings", "proxy ca_path validate_certs stall_seconds")

Aim = collections.namedtuple("Aim", "url headers given", defaults=(None,))
Aim.__doc__ = """Where a request goes and what its headers hold beside ours; both may be secret. given: the URL that a redirect led here from;
null where this one was given itself."""

Answer = collections.namedtuple("Answer", "status headers body aim")

Part = collections.namedtuple("Part", "aim first last data")
Part.__doc__ = """What a stream moves: `first` and `last` byte of a range (null: all); an upload sends `last` + 1 bytes that repeat `data`."""


class Redirected(Exception):
    """The server answers with `status` and names another place; `number`: the stream's that was told so."""

    def __init__(self, aim, status, headers):
        super(Redirected, self).__init__("redirected")
        self.aim, self.status, self.headers = aim, status, headers
        self.number = 0


def shown(aim):
    """An Aim as it may be stored and shown: of a redirect's only where it goes."""
    return endpoint(aim.url) if aim.given is None else "%s -> %s" % (endpoint(aim.given), origin(aim.url))


def signed(url):
    """Whether this is a presigned URL of an S3-compatible storage (also of one that signs in the older way)."""
    return bool(re.search(r"[?&](X-Amz-Signature|AWSAccessKeyId)=", url, re.IGNORECASE))


def object_of(url):
    """(server, name) of the object that a URL means: both tell it from any other. A signature is no part of the name."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return (parts.scheme, parts.hostname, port), (parts.path or "/", "" if signed(url) else parts.query)


def redirected(aim, location):
    """The Aim that a Location header leads to; headers that were given go to the same scheme, host and port only. Failure."""
    try:
        url = urljoin(aim.url, location)
        before, after = urlsplit(aim.url), urlsplit(url)
        # An @ of its path would make the URL unclear, see http_errors.unclear().
        after = after._replace(path=after.path.replace("@", "%40"), query=after.query.replace("@", "%40"), fragment="")
        url = after.geturl()
        same = (before.scheme, before.hostname, before.port) == (after.scheme, after.hostname, after.port)
    except ValueError:
        raise Failure("protocol", "redirected to what is no URL")
    if after.scheme not in ("http", "https"):
        raise Failure("protocol", "redirected to what is no http or https URL")
    if before.scheme == "https" and after.scheme == "http":
        raise Failure("protocol", "redirected from https to http, to %s: not followed" % origin(url))
    if same and "@" not in after.netloc and "@" in before.netloc:
        url = after._replace(netloc=before.netloc.rpartition("@")[0] + "@" + after.netloc).geturl()
    try:
        target(url)
    except ValueError:
        raise Failure("protocol", "redirected to what is no URL")
    return Aim(url, aim.headers if same else {}, aim.given or aim.url)


def _retry_after(headers):
    """Seconds that a server asks to be left alone; null where it doesn't."""
    value = (headers.get("Retry-After") or "").strip()
    if re.match(r"[0-9]{1,9}\Z", value):
        return int(value)
    try:
        moment = email.utils.parsedate_to_datetime(value)
        return max(0.0, moment.timestamp() - time.time())
    except (TypeError, ValueError, IndexError, OverflowError):
        return None


def _refusal(response, aim, method):
    """The Failure or Redirected of an answer that isn't the wanted one."""
    status, location = response.status, response.headers.get("Location")
    follows = (307, 308) if method == "PUT" else (301, 302, 303, 307, 308)
    if status in follows and location:
        return Redirected(redirected(aim, location), status, response.headers)
    if status < 400:
        return Failure("protocol", "HTTP %d is no answer to a %s" % (status, method), status)
    failure = of_status(status, _retry_after(response.headers))
    try:
        said = re.search(br"<Code>([A-Za-z0-9]{3,60})</Code>", response.read(ERROR_BODY_BYTES))
    except (OSError, Failure, http.client.HTTPException, ValueError):
        said = None
    code = said.group(1).decode("ascii") if said else None
    if code not in S3_CODES:
        return failure
    return Failure(failure.kind, "%s (%s)" % (failure, code), status, failure.retry_after)


def _open(aim, settings, deadline, most):
    """Opened; `most`: bytes that the body of its answer may have."""
    opened = connect(aim.url, deadline - time.monotonic(), settings.proxy, settings.ca_path, settings.validate_certs,
                     settings.stall_seconds)
    opened.socket.allow(most)
    return opened


def _answer(opened):
    """The head of the answer, an http.client.HTTPResponse; Failure, OSError, HTTPException."""
    response = opened.connection.getresponse()
    check_length(response)
    return response


def _ask(opened, method, aim, more):
    """Sends a request's head; headers that were given go before ours of the same name."""
    names = {"accept-encoding": ("Accept-Encoding", "identity"), "user-agent": ("User-Agent", "trainops.gpu_audit"),
             "connection": ("Connection", "close")}
    for headers in (more, opened.headers, aim.headers):
        names.update((str(name).lower(), (str(name), value)) for name, value in headers.items())
    opened.connection.putrequest(method, opened.path, skip_host="host" in names, skip_accept_encoding=True)
    for name, value in names.values():
        opened.connection.putheader(name, str(value))
    opened.connection.endheaders()


def small(method, aim, settings, seconds, headers=None, most=0, follows=None):
    """A request without a body, redirects followed. -> Answer (its body up to `most` bytes), whatever its status below 400; Failure.

    `follows(aim)`: whether a redirect may be followed there; null: anywhere.
    """
    deadline = time.monotonic() + seconds
    for _number in range(MOST_REDIRECTS + 1):
        opened = _open(aim, settings, deadline, max(most, ERROR_BODY_BYTES))
        try:
            _ask(opened, method, aim, headers or {})
            response = _answer(opened)
            if response.status not in (200, 202, 204, 206):
                raise _refusal(response, aim, method)
            body = response.read(most) if most else b""
            if len(body) < most:
                opened.socket.check_end(response)
            return Answer(response.status, response.headers, body, aim)
        except Redirected as other:
            if follows is not None and not follows(other.aim):
                raise Failure("protocol", "redirected to %s" % origin(other.aim.url), other.status)
            aim = other.aim
        except (OSError, http.client.HTTPException, ValueError, MemoryError) as error:
            raise as_failure(error)
        finally:
            opened.socket.abort()
            opened.connection.close()
    raise Failure("protocol", "more than %d redirects" % MOST_REDIRECTS)


class Try(object):
    """Moves `parts` at once until all are through, one failed, or `deadline` (time.monotonic()) has come.

    run() raises Failure or Redirected; else: `moved` (Moved), `limited` (null | "bytes" | "seconds"), `answers` ({stream: Answer}, an
    upload's with the start of its body), `opened` (the first stream's), `first_byte_seconds`, `summed` (of `summer`), `waited_seconds`.
    """

    def __init__(self, direction, parts, settings, deadline, most, summer=None, only_new=()):
        self.direction, self.parts, self.settings, self.deadline, self.most = direction, parts, settings, deadline, most
        # Gives what sums a download, from its answer; null for nothing.
        self.summer = summer or (lambda response: None)
        # The streams of an upload that ask the server to store nothing where something lies already.
        self.only_new = only_new
        self.moved = Moved()
        self.limited = self.opened = self.first_byte_seconds = self.summed = None
        self.answers = {}
        self.waited_seconds = 0.0
        self._barrier = threading.Barrier(len(parts), action=self.moved.begin)
        self._sockets, self._failures, self._ended = [], [], threading.Semaphore(0)
        self._lock = threading.Lock()

    def run(self):
        threads = [threading.Thread(target=self._stream, args=(number,), daemon=True) for number in range(len(self.parts))]
        started = []
        try:
            for thread in threads:
                start_thread(thread)
                started.append(thread)
            for _thread in threads:
                if not self._ended.acquire(timeout=max(0.0, self.deadline - time.monotonic()) + SPARE_SECONDS):
                    raise Failure("timeout", "no end of it in time")
                if self._failures:
                    break
        finally:
            # A signal's exception ends the streams too.
            self.stop()
            for thread in started:
                thread.join(5)
        if self._failures:
            raise self._failures[0]

    def stop(self):
        self._barrier.abort()
        with self._lock:
            for timed in self._sockets:
                timed.abort()

    def _stream(self, number):
        try:
            most = ERROR_BODY_BYTES if self.direction == "upload" else self.most
            opened = _open(self.parts[number].aim, self.settings, self.deadline, most)
            with self._lock:
                self._sockets.append(opened.socket)
            try:
                self._barrier.wait(max(0.001, self.deadline - time.monotonic()))
                if number == 0:
                    self.opened = opened
                (self._upload if self.direction == "upload" else self._download)(number, opened, self.parts[number])
            finally:
                opened.socket.abort()
                opened.connection.close()
        except Failure as failure:
            self._failures.append(failure)
        except Redirected as other:
            other.number = number
            self._failures.append(other)
        except threading.BrokenBarrierError:
            # Another stream failed, or couldn't connect in time: that one's reason is the one to tell.
            self._failures.append(Failure("timeout", "not all streams were connected in time"))
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._failures.append(as_failure(error))
        except MemoryError:
            self._failures.append(Failure("local", "not enough memory"))
        except Exception as error:
            # What ends a stream's thread without a word would make the bytes of the others a whole transfer.
            self._failures.append(Failure("local", "a stream ended by %s" % type(error).__name__))
        finally:
            self._ended.release()

    def _download(self, number, opened, part):
        ranged = {} if part.first is None else {"Range": "bytes=%d-%d" % (part.first, part.last)}
        _ask(opened, "GET", part.aim, ranged)
        response = _answer(opened)
        if response.status != (206 if ranged else 200):
            raise _refusal(response, part.aim, "GET")
        if ranged and not (response.headers.get("Content-Range") or "").startswith("bytes %d-%d/" % (part.first, part.last)):
            raise Failure("protocol", "the server gave another range than the one that was asked for")
        most = self.most if part.first is None else part.last - part.first + 1
        self.answers[number] = Answer(response.status, response.headers, b"", part.aim)
        summed = self.summer(response) if len(self.parts) == 1 else None
        digester = Digester(summed)
        length = response.length
        try:
            count = receive(response, self.moved, digester, most, bool(ranged))
            if length is None:
                opened.socket.check_end(response)
            digester.end()
        except Failure as failure:
            if failure.kind != "timeout" or not self.moved.total:
                raise
            self._end_in_time()
            count = None
        finally:
            digester.close()
        self.waited_seconds = digester.waited_seconds
        if count is not None and not ranged and count == most and (length is None or length > most):
            self.limited = self.limited or "bytes"
        if number == 0:
            self.first_byte_seconds = None if self.moved.first is None else self.moved.first - self.moved.begun
        self.summed = summed

    def _end_in_time(self):
        """The time is over: what moved counts, over all of it. Failure where it stood still for as long as stalls, or half of its time."""
        still = self.moved.end()
        if still >= min(self.settings.stall_seconds, self.moved.seconds() / 2):
            raise Failure("stalled", "no byte for %.1f s" % still)
        self.limited = "seconds"

    def _upload(self, number, opened, part):
        total = part.last + 1
        head = {"Content-Length": str(total), "Content-Type": "application/octet-stream"}
        if number in self.only_new:
            head["If-None-Match"] = "*"
        _ask(opened, "PUT", part.aim, head)
        sender = Sender(opened.socket, part.data, total, self.moved, opened.tls is not None)
        try:
            early = sender.send()
            if not early:
                sender.await_answer()
        except Failure as failure:
            if failure.kind == "timeout" and sender.counted and sender.counted < total:
                return self._end_in_time()
            raise
        except OSError as error:
            # A server that refuses often says so before it closes.
            early, broken = True, as_failure(error)
        else:
            broken = None
        try:
            response = _answer(opened)
        except (OSError, Failure, http.client.HTTPException) as error:
            raise broken or as_failure(error)
        if response.status not in (200, 201, 202, 204):
            raise _refusal(response, part.aim, "PUT")
        if early:
            raise broken or Failure("protocol", "HTTP %d before all had been sent" % response.status, response.status)
        body = response.read(ERROR_BODY_BYTES)
        # What TLS adds may hide the last bytes from the count; the server has confirmed them all.
        self.moved.add(total - sender.counted)
        waited = sender.first_byte_seconds()
        with self._lock:
            self.first_byte_seconds = self.first_byte_seconds if waited is None else max(self.first_byte_seconds or 0.0, waited)
        self.answers[number] = Answer(response.status, response.headers, body, part.aim)
